/* SPDX-License-Identifier: MIT */
/*
 * The pushbuffer walk: what Host makes of GPFIFO entries and of the dwords in their segments.
 *
 * One struct nvs_pb a channel, zeroed at first; it lives as long as the channel does, because a
 * header's data may go on in the next segment and the extended base stays until it is changed. For
 * every submission: nvs_pb_start, for every entry nvs_pb_entry and for its bytes nvs_pb_feed (as
 * often as they come in pieces), at last nvs_pb_finish. Whatever is wrong is told through fault(),
 * and the walk goes on at the next entry. Nothing is allocated, and nothing is read beyond what is
 * given.
 */
#ifndef NVSNOOP_DECODE_GPU_PB_H
#define NVSNOOP_DECODE_GPU_PB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nvs_pb_form {
	NVS_PB_INC, /* the method rises by one dword with each data word */
	NVS_PB_NON_INC, /* all data words to one method */
	NVS_PB_INC_ONCE, /* the first word to the method, all others to the one behind it */
	NVS_PB_IMMD, /* 13 bits of data in the header itself */
	NVS_PB_OLD_INC,
	NVS_PB_OLD_NON_INC,
	NVS_PB_SET_MASK, /* sub-device mask: data[0] */
	NVS_PB_STORE_MASK,
	NVS_PB_USE_MASK,
	NVS_PB_END_SEGMENT, /* the rest of the segment is ignored */
	NVS_PB_NOP, /* zero words; total says how many in a row */
};

/* Data words of one header that lie together; a header without data comes once, with count 0. */
struct nvs_pb_run {
	uint64_t address; /* GPU address of the header while index is 0, else of data[0] */
	uint32_t header;
	uint8_t form; /* enum nvs_pb_form */
	uint8_t subch;
	uint16_t method; /* bytes, as in the header */
	uint32_t total; /* data words that the header claims */
	uint32_t index; /* which of them data[0] is; 0: first time this header is seen */
	uint32_t count;
	const uint32_t *data;
};

/* Method that data word I of the run goes to, in bytes. */
static inline uint32_t nvs_pb_method(const struct nvs_pb_run *run, uint32_t i)
{
	uint32_t n = run->index + i;

	switch (run->form) {
	case NVS_PB_INC:
	case NVS_PB_OLD_INC:
		return (run->method + 4 * n) & 0x3ffc;
	case NVS_PB_INC_ONCE:
		return (run->method + 4 * !!n) & 0x3ffc;
	default:
		return run->method;
	}
}

enum nvs_pb_fault_kind {
	NVS_PB_SHORT_DATA = 1, /* a header claims more data than the submission has */
	NVS_PB_RESERVED_HEADER, /* no form of header there is */
	NVS_PB_RESERVED_CONTROL, /* no opcode of a control entry there is, or the illegal one */
	NVS_PB_NESTED, /* a subroutine begins inside a header's data */
	/* A segment overlaps an earlier one of its submission (a subroutine may be the same as a
	   whole). */
	NVS_PB_LOOP,
	NVS_PB_LENGTH, /* the segment is not as long as its entry says */
};

struct nvs_pb_fault {
	enum nvs_pb_fault_kind kind;
	uint64_t address; /* of the header, else of the segment */
	uint32_t header; /* or the entry's second dword */
	uint32_t wanted, had; /* dwords */
};

/* "short-data", ... */
const char *nvs_pb_fault_name(enum nvs_pb_fault_kind kind);
const char *nvs_pb_form_name(uint32_t form); /* "INC", ... */
/* The header word: METHOD in bytes, TOTAL its data words; IMMD: the data itself, SET_MASK and
 * STORE_MASK: the mask. */
uint32_t nvs_pb_header(uint8_t form, uint8_t subch, uint32_t method, uint32_t total);
/* "NOP", ... of a control entry, "?" where there is none such: enum nvs_gp_opcode. */
const char *nvs_gp_opcode_name(uint32_t opcode);

struct nvs_pb_sink {
	void (*run)(void *arg, const struct nvs_pb_run *run);
	void (*fault)(void *arg, const struct nvs_pb_fault *fault); /* may be NULL */
	void *arg;
};

enum nvs_gp_opcode {
	NVS_GP_NOP,
	NVS_GP_ILLEGAL,
	NVS_GP_CRC,
	NVS_GP_PB_CRC,
	NVS_GP_EXTENDED_BASE,
	NVS_GP_OPCODES,
};

/* One GPFIFO entry taken apart. */
struct nvs_gp {
	uint64_t address; /* of the segment, with the extended base */
	uint32_t dwords; /* 0: a control entry */
	uint32_t opcode, operand; /* of a control entry: enum nvs_gp_opcode, dword 0 */
	bool conditional; /* FETCH */
	bool subroutine; /* LEVEL */
	bool wait; /* SYNC */
};

#define NVS_PB_RANGES 64

struct nvs_pb {
	uint64_t extended_base; /* bits 56:40 of segment addresses */
	uint64_t address; /* of the next dword */
	struct nvs_pb_run run; /* header that lacks data: total - index words; index counts on */
	uint64_t header_address;
	uint32_t left; /* dwords that the entry's segment still lacks */
	bool pending; /* run lacks data */
	bool subroutine; /* the entry's level */
	bool ended; /* END_PB_SEGMENT or a fault: ignore what is left of it */
	uint32_t nranges; /* segments of this submission so far */
	uint64_t ranges[NVS_PB_RANGES][2]; /* the latest of them */
};

/* A submission begins. */
void nvs_pb_start(struct nvs_pb *pb);
/*
 * The next entry. EXTENDED: the channel's class knows extended bases (c86f and later). *gp is
 * filled; the entry's bytes are expected next where gp->dwords is not 0.
 */
void nvs_pb_entry(struct nvs_pb *pb, uint64_t entry, bool extended, const struct nvs_pb_sink *sink,
		  struct nvs_gp *gp);
/* The next N dwords of the entry's segment. */
void nvs_pb_feed(struct nvs_pb *pb, const uint32_t *data, size_t n, const struct nvs_pb_sink *sink);
/*
 * The same in steps, for a caller that takes some headers by itself: how many of N dwords the
 * segment has room for, all of which are to be taken then; and the next header, or what there is of
 * a header's data, out of N dwords (at least one): how many were taken. Between steps a caller may
 * take a header with all its data while neither pending nor ended is set, and moves address on.
 */
size_t nvs_pb_room(struct nvs_pb *pb, size_t n, const struct nvs_pb_sink *sink);
size_t nvs_pb_step(struct nvs_pb *pb, const uint32_t *data, size_t n,
		   const struct nvs_pb_sink *sink);
/* The entry's segment (or what is left of it) is not in the trace: forgets a header that waits for
 * data. */
void nvs_pb_skip(struct nvs_pb *pb);
/* The submission ends. */
void nvs_pb_finish(struct nvs_pb *pb, const struct nvs_pb_sink *sink);

#endif
