/* SPDX-License-Identifier: MIT */
/*
 * Checks whether a store can be replaced by a jump to the trap, and which bytes to write: a short
 * jump over the store's first two bytes, into a cave of padding near it, and there a long jump to
 * the trampoline. If the trampoline is out of reach of the long jump, that leads to a hop in the
 * slack after the text, and the hop leads to the trampoline. Nothing is written here.
 */
#ifndef NVSNOOP_TRAP_CODE_STORE_SITE_H
#define NVSNOOP_TRAP_CODE_STORE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVS_SITE_HEAD 2 /* bytes of the short jump */
#define NVS_SITE_TAIL 5 /* bytes of the long one */
#define NVS_SITE_HOP 14 /* bytes of a jump to any address, which follows it */

/* The code around a store. */
struct nvs_site_text {
	const uint8_t *bytes; /* readable copy of the code at... */
	uint64_t address; /* ...this address */
	size_t size;
	/* Start of the function that contains the store (from its unwind table), 0: unknown. */
	uint64_t function;
	/* Bytes of the mapping's last page that are in no segment; space for hops. Empty: 0, 0. */
	uint64_t slack, slack_end;
};

enum nvs_site_verdict {
	NVS_SITE_OK,
	NVS_SITE_UNKNOWN, /* the instruction is unknown, or not within the text */
	NVS_SITE_TARGET, /* a jump may lead into the middle of the overwritten bytes */
	NVS_SITE_NO_CAVE, /* no padding near it that execution cannot reach */
	NVS_SITE_FAR /* the trampoline is more than 2 GiB away, and there is no slack for a hop */
};

struct nvs_site {
	uint64_t store; /* address of the instruction */
	uint64_t cave;
	uint64_t hop; /* 0: the cave's jump reaches the trampoline */
	uint64_t resume; /* the instruction after the store, to which the trampoline returns */
	uint8_t length; /* of the store; its bytes from the third on are unchanged and not run */
	uint8_t store_old[NVS_SITE_HEAD], store_new[NVS_SITE_HEAD];
	uint8_t cave_old[NVS_SITE_TAIL], cave_new[NVS_SITE_TAIL];
	uint8_t hop_new[NVS_SITE_HOP];
};

/*
 * Analyses the store at STORE, an address at which an instruction was seen to run. TEXT is all code
 * that may jump there directly: the module's whole executable mapping. Reads all of it once (about
 * 1 ns a byte), so call it outside the doorbell's path.
 *
 * NVS_SITE_OK relies on this:
 *
 * Boundaries: the store and the code after it are decoded from STORE, the code before it from
 * text->function; without that, only caves after the store are used.
 *
 * Targets: no direct branch leads after the store's first byte or into the cave's padding.
 * Branches with 32-bit displacement, and addresses taken with lea, are searched at every byte of
 * TEXT; those with 8 bits in the decoded neighbourhood, or at every byte where it is not decoded. A
 * jump to the store's first byte is harmless.
 *
 * Cave: it follows a jump or return and holds only NOPs or int3, and no multiple of 16: so it
 * cannot be the start of a function or of an aligned block that begins with NOPs. Indirect jumps
 * lead to labels; compilers put none in front of padding that follows a jump.
 *
 * Hop: it is after the end of the text's segment (p_vaddr + p_memsz), in the page in which that
 * segment ends. The page is mapped because mappings are whole pages, and contains what the file
 * happens to hold after the segment. No address of the module refers to these bytes: code, symbols,
 * unwind tables and relocations are all within segments, and if the next segment has the same bytes
 * of the file, it has its own mapping and addresses for them.
 */
enum nvs_site_verdict nvs_site_analyse(struct nvs_site *site, const struct nvs_site_text *text,
				       uint64_t store, uint64_t trampoline);

#endif
