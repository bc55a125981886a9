/* SPDX-License-Identifier: MIT */
/* --fault: one trace's faults, and their text. */
#ifndef NVSNOOP_DECODE_REPORT_FAULT_FAULT_H
#define NVSNOOP_DECODE_REPORT_FAULT_FAULT_H

#include "decode/analysis/faults.h"
#include "decode/report/core/report.h"

struct nvs_fault_trace {
	struct nvs_faults faults; /* first: the reader's argument */
	struct nvs_kernel_codes codes;
};

/* The instruction at a fault's program counter. */
struct nvs_fault_instruction {
	bool known; /* OFFSET is valid */
	uint64_t offset; /* from the beginning of the kernel's code */
	char name[40]; /* "STG"; its words if it has no name; "": no code */
	struct nvs_cubin_line line; /* line.line 0: unknown */
};

/* After the trace has been read: finds who faulted. Program counters need the code, which another
 * pass reads, unless the trace comes from a pipe. Returns 0 or -errno. */
int nvs_fault_attribute(struct nvs_fault_trace *t);
void nvs_fault_find_instruction(struct nvs_fault_trace *t, const struct nvs_fault *fault,
				const struct nvs_fault_candidate *c,
				struct nvs_fault_instruction *insn);

/* explanation.c; all print escaped text. */

/* What happened in a few words: "misaligned address", "MMU fault (Xid 31)". */
void nvs_fault_print_what(FILE *f, const struct nvs_fault *fault);
/* "kernel step", "node 3 (step) of graph 0", "a copy of 64 bytes". */
void nvs_fault_print_work(FILE *f, struct nvs_fault_trace *t, const struct nvs_fault *fault,
			  const struct nvs_fault_candidate *c);
/* "4 bytes behind the end of 64.0 MB allocated by cuMemAlloc_v2 at main+0x1f"; LAUNCHED: ticks. */
void nvs_fault_print_place(FILE *f, const struct nvs_fault_trace *t,
			   const struct nvs_memory_place *place, uint64_t address,
			   uint64_t launched);
/* The words of a candidate's parameters that point to memory: suspicious ones first. */
void nvs_fault_print_words(FILE *f, struct nvs_fault_trace *t, const struct nvs_fault *fault,
			   const struct nvs_fault_candidate *c);
/* The first sentences: kernel, instruction, address and memory; to be freed. Returns 0 or -ENOMEM.
 */
int nvs_fault_format_head(struct nvs_fault_trace *t, const struct nvs_fault *fault, char **text);
/* All sentences about one fault; to be freed. Returns 0 or -ENOMEM. */
int nvs_fault_format_text(struct nvs_fault_trace *t, const struct nvs_fault *fault, char **text);
/* Names the rank that faulted first. *TEXT is NULL if no rank, or only one trace, has a fault. */
int nvs_fault_format_ranks(const struct nvs_run *run, char **text);

#endif
