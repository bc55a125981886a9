/* SPDX-License-Identifier: MIT */
/*
 * May the code of a store be changed so that it jumps to us? Looks only, and says which bytes to
 * write: a short jump over the store's first two bytes, into a cave of padding near it, and there a
 * long jump to the trampoline. Where the trampoline is out of the long jump's reach, that one leads
 * to a hop in the slack behind the text, and the hop to the trampoline.
 */
#ifndef NVSNOOP_TRAP_CODE_STORE_SITE_H
#define NVSNOOP_TRAP_CODE_STORE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVS_SITE_HEAD 2 /* bytes of the short jump */
#define NVS_SITE_TAIL 5 /* bytes of the long one */
#define NVS_SITE_HOP 14 /* bytes of a jump to anywhere: its address follows it */

/* The code around a store. */
struct nvs_site_text {
	const uint8_t *bytes; /* readable; as they are at... */
	uint64_t address; /* ...this address */
	size_t size;
	/* Start of the function that the store is in (from its unwind table), 0 if not known. */
	uint64_t function;
	/*
	 * Bytes of the mapping's last page that no segment contains; room for hops. Empty: 0, 0.
	 */
	uint64_t slack, slack_end;
};

enum nvs_site_verdict {
	NVS_SITE_OK,
	NVS_SITE_UNKNOWN, /* no instruction understood there, or not within the text */
	NVS_SITE_TARGET, /* something may jump into the middle of what is overwritten */
	NVS_SITE_NO_CAVE, /* no padding near it that nothing reaches */
	NVS_SITE_FAR /* the trampoline lies beyond 2 GiB, and there is no slack for a hop */
};

struct nvs_site {
	uint64_t store; /* the instruction */
	uint64_t cave;
	uint64_t hop; /* 0: the cave's jump reaches the trampoline */
	uint64_t resume; /* the instruction behind the store: where the trampoline goes back to */
	uint8_t length; /* of the store; its bytes from the third on stay and are not run */
	uint8_t store_old[NVS_SITE_HEAD], store_new[NVS_SITE_HEAD];
	uint8_t cave_old[NVS_SITE_TAIL], cave_new[NVS_SITE_TAIL];
	uint8_t hop_new[NVS_SITE_HOP];
};

/*
 * Judges the store at STORE, an address at which an instruction was seen to run. TEXT is everything
 * that may jump there directly: the module's whole executable mapping. Reads all of it once (about
 * 1 ns a byte), so do it away from the doorbell.
 *
 * What NVS_SITE_OK rests on.
 *
 * Boundaries: the store and what follows are decoded from STORE, what precedes from text->function;
 * without that, caves are taken only behind the store.
 *
 * Targets: no direct branch lands behind the store's first byte or in the cave's padding. Branches
 * with 32-bit displacement, and addresses taken with lea, are searched at every byte of TEXT; those
 * with 8 bits in the decoded neighbourhood, or at every byte where it is not decoded. A jump to the
 * store's first byte is fine.
 *
 * Cave: it follows a jump or return, holds nothing but NOPs or int3, and no multiple of 16: so it
 * cannot be the start of a function or of an aligned block that begins with NOPs. Indirect jumps
 * lead to labels; compilers put none in front of padding that follows a jump.
 *
 * Hop: it lies behind the end of the text's segment (p_vaddr + p_memsz), in the page in which that
 * segment ends. The page is mapped because mappings are whole pages; what it holds there is what
 * the file happens to hold behind the segment. No address of the module means these bytes: code,
 * symbols, unwind tables and relocations all lie within segments, and where the next segment has
 * the same bytes of the file, it has a mapping and addresses of its own for them.
 */
enum nvs_site_verdict nvs_site_analyse(struct nvs_site *site, const struct nvs_site_text *text,
				       uint64_t store, uint64_t trampoline);

const char *nvs_site_verdict_name(enum nvs_site_verdict verdict);

#endif
