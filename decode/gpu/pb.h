/* SPDX-License-Identifier: MIT */
/*
 * Parses pushbuffers as the GPU's Host unit does: GPFIFO entries, and the dwords in their segments.
 *
 * Use one zeroed struct nvs_pb for the lifetime of a channel: a header's data may continue in the
 * next segment, and the extended base persists. For every submission call nvs_pb_start, for every
 * entry nvs_pb_entry, and for each piece of its bytes nvs_pb_claim and nvs_pb_step until all is
 * consumed, then nvs_pb_finish.
 * Errors are reported to fault(), and parsing continues at the next entry. The parser allocates
 * nothing and reads nothing beyond its input.
 */
#ifndef NVSNOOP_DECODE_GPU_PB_H
#define NVSNOOP_DECODE_GPU_PB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nvs_pb_form {
	NVS_PB_INC, /* the method advances one dword with each data word */
	NVS_PB_NON_INC, /* all data words to one method */
	NVS_PB_INC_ONCE, /* the first word to the method, all others to the next one */
	NVS_PB_IMMD, /* 13 bits of data in the header itself */
	NVS_PB_OLD_INC,
	NVS_PB_OLD_NON_INC,
	NVS_PB_SET_MASK, /* sub-device mask: data[0] */
	NVS_PB_STORE_MASK,
	NVS_PB_USE_MASK,
	NVS_PB_END_SEGMENT, /* the rest of the segment is ignored */
	NVS_PB_NOP, /* zero words; total is the length of the sequence */
};

/* Contiguous data words of one header. A header without data is reported once, with count 0. */
struct nvs_pb_run {
	uint64_t address; /* GPU address of the header while index is 0, else of data[0] */
	uint32_t header;
	uint8_t form; /* enum nvs_pb_form */
	uint8_t subch;
	uint16_t method; /* bytes, as in the header */
	uint32_t total; /* data words that the header claims */
	uint32_t index; /* index of data[0] in them; 0: the header is new */
	uint32_t count;
	const uint32_t *data;
};

/* Returns the method in bytes that data word I of the run goes to. */
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
	NVS_PB_RESERVED_HEADER, /* an unknown header form */
	NVS_PB_RESERVED_CONTROL, /* an unknown opcode of a control entry, or the illegal one */
	NVS_PB_NESTED, /* a subroutine begins inside a header's data */
	/* A segment overlaps an earlier one of its submission (identical subroutines are
	 * allowed). */
	NVS_PB_LOOP,
	NVS_PB_LENGTH, /* the segment's length differs from its entry's */
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
/* Builds the header word. METHOD is in bytes; TOTAL is the number of data words, for IMMD the data,
 * for SET_MASK and STORE_MASK the mask. */
uint32_t nvs_pb_header(uint8_t form, uint8_t subch, uint32_t method, uint32_t total);
/* "NOP", ... of a control entry (enum nvs_gp_opcode), "?" if unknown. */
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

/* One decoded GPFIFO entry. */
struct nvs_gp {
	uint64_t address; /* of the segment, with the extended base */
	uint32_t dwords; /* 0: a control entry */
	uint32_t opcode, operand; /* of a control entry: enum nvs_gp_opcode, and dword 0 */
	bool conditional; /* FETCH */
	bool subroutine; /* LEVEL */
	bool wait; /* SYNC */
};

#define NVS_PB_RANGES 64

struct nvs_pb {
	uint64_t extended_base; /* bits 56:40 of segment addresses */
	uint64_t address; /* of the next dword */
	struct nvs_pb_run run; /* header whose data is incomplete: total - index words are
				* missing */
	uint64_t header_address;
	uint32_t left; /* dwords still missing in the entry's segment */
	bool pending; /* run is incomplete */
	bool subroutine; /* the entry's level */
	bool ended; /* END_PB_SEGMENT or a fault: ignore the rest of the segment */
	uint32_t nranges; /* segments of this submission */
	uint64_t ranges[NVS_PB_RANGES][2]; /* the latest of them */
};

/* Begins a submission. */
void nvs_pb_start(struct nvs_pb *pb);
/* Decodes the next entry into *gp. EXTENDED: the channel's class has extended bases (c86f and
 * later). If gp->dwords is not 0, the entry's bytes must follow. */
void nvs_pb_entry(struct nvs_pb *pb, uint64_t entry, bool extended, const struct nvs_pb_sink *sink,
		  struct nvs_gp *gp);
/* Returns how many of the next N dwords belong to the entry's segment; the caller must consume all
 * of them. */
size_t nvs_pb_claim(struct nvs_pb *pb, size_t n, const struct nvs_pb_sink *sink);
/* Parses the next header, or the data available for it, from N dwords (at least one), and returns
 * how many it consumed. Between steps, while neither pending nor ended is set, the caller may
 * handle a header with all its data and advance address. */
size_t nvs_pb_step(struct nvs_pb *pb, const uint32_t *data, size_t n,
		   const struct nvs_pb_sink *sink);
/* The entry's segment, or the rest of it, is not in the trace: drops a header with incomplete
 * data. */
void nvs_pb_skip(struct nvs_pb *pb);
/* Ends the submission. */
void nvs_pb_finish(struct nvs_pb *pb, const struct nvs_pb_sink *sink);

#endif
