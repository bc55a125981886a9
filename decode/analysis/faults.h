/* SPDX-License-Identifier: MIT */
/*
 * GPU faults of a trace, and the launches that may have caused them.
 *
 * A fault is a group of channels whose error notifiers were written, or a call that returned an
 * error which ends its context although no notifier was (an assertion). Which launch it was follows
 * from what can have been in progress:
 *
 * - A channel executes in order. A launch is in progress if the channel's progress slot has its
 *   payload, but the semaphore that the grid releases at its end does not have its own: known if
 * the library recorded the memory of the semaphores (FAULT_MEMORY). Without it, only the last
 * launch that the slot has passed may be, and that is not certain.
 * - The first submission that the slot has not passed may be in progress, too, unless it still
 * waits for a semaphore.
 * - A program counter selects the launches whose code contains it.
 *
 * A launch is called certain only if it is the only one that is left.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_FAULTS_H
#define NVSNOOP_DECODE_ANALYSIS_FAULTS_H

#include "decode/analysis/allocations.h"
#include "decode/analysis/kernel_code.h"
#include "decode/calls/launch_parameters.h"
#include "decode/analysis/unfinished_work.h"

#define NVS_FAULT_SMS 512u /* kept per fault: SMs with an error */
#define NVS_FAULT_CALLS 64u /* failed calls that are kept */
#define NVS_MAX_FAULTS 64u
#define NVS_FAULT_CANDIDATES 64u /* kept per fault */

/* One grid of a submission. */
struct nvs_fault_grid {
	uint64_t program; /* address of its code; 0: unknown */
	uint32_t grid[3], block[3];
	uint32_t at, size; /* its parameters, in nvs_fault_work.params; size NVS_NONE: unknown */
	uint32_t cls; /* compute class */
};

/* What a submission does, beyond struct nvs_unfinished: nvs_unfinished.attached. */
struct nvs_fault_work {
	struct nvs_fault_grid *grids;
	uint8_t *params;
	uint32_t ngrids, room, nparams, params_room;
	bool partial; /* some grids were not kept, for lack of memory */
	struct nvs_faults *owner;
	uint64_t from, to, bytes; /* the first copy or memset; bytes 0: none */
	uint64_t given, updates, changes; /* of nvs_unfinished.exec, when it was launched */
};

/* A call that returned an error which ends its context. */
struct nvs_fault_call {
	const struct nvs_call_api *api; /* NULL: none */
	uint64_t end;
	uint32_t result, thread, stack;
};

enum nvs_fault_state {
	NVS_FAULT_RUNNING, /* launched, and not ended */
	NVS_FAULT_NEXT, /* the first one after those that have ended */
	NVS_FAULT_PERHAPS, /* launched; whether it has ended is unknown */
	NVS_FAULT_BEHIND, /* the first one after another that was launched and has not ended */
	NVS_FAULT_ENDED, /* nothing is unfinished: the last launch of its channel, which has ended
			  */
};

/* A submission that may have caused the fault. */
struct nvs_fault_candidate {
	const struct nvs_unfinished *u;
	uint32_t channel;
	enum nvs_fault_state state;
	bool matches; /* its code contains the program counter */
	bool sized; /* which is known from the size of the code */
	/* Grids: the most likely one, and how many match the program counter. FIRST is NVS_NONE if
	 * there are several and none stands out. */
	uint32_t first, n;
	bool one_node; /* FIRST is the only grid that can have faulted */
	bool one_kernel; /* all grids that can have faulted are of one kernel */
	bool novel; /* other kernels have run to their end before, this one has not */
	uint32_t freed; /* words of its parameters that point to freed memory */
	uint32_t stray; /* that point near an allocation, but into none */
};

struct nvs_fault {
	uint32_t client, group; /* handles of the channel group */
	uint32_t channel, nchannels; /* the first channel, and how many died */
	uint32_t gpu; /* NVS_NONE: unknown */
	bool notified; /* there was an error notifier: NUMBER and GPU_NS are valid */
	uint32_t number; /* as the kernel log's Xid */
	uint64_t time, gpu_ns; /* ticks when it was seen; the notifier's own time */
	struct nvs_fault_call call; /* the first call that failed with it */
	/* Error states of SMs, those with a program counter first. */
	struct nvs_sm_error *sms;
	uint32_t nsms;
	bool asked, mmu; /* the driver asked for the error states; one of the MMU was valid */
	uint32_t mmu_info; /* nvs_rec_sm_error.mmu_fault */
	uint64_t pc, address; /* of the first SM that has one; 0: none */
	uint64_t warp_sm; /* index + 1 in SMS of the SM with PC */
	/* What may have caused it, the most likely first. */
	struct nvs_fault_candidate *candidates;
	uint32_t ncandidates;
	bool certain; /* it was the first candidate */
	bool unknown; /* the progress of a channel is unknown: there may be other candidates */
};

struct nvs_faults {
	struct nvs_unfinished_work work; /* first: its callbacks get this structure */
	struct nvs_pass_reader inner; /* those callbacks */
	struct nvs_allocs allocs;
	struct nvs_memory_ranges ranges;
	struct nvs_parameters parameters;
	struct nvs_rows programs; /* by address of their code: names of kernels */
	struct nvs_rows pages; /* by address: memory at the fault, 4 KiB each */
	struct nvs_fault *list;
	uint32_t n, room;
	struct nvs_fault_call calls[NVS_FAULT_CALLS];
	uint32_t ncalls;
	uint32_t cls; /* compute class of the latest launch */
	uint64_t steps; /* spent on attribution */
	bool ran; /* some kernel has run to its end */
};

void nvs_faults_begin(struct nvs_faults *f, struct nvs_source *s, struct nvs_pass_reader *reader);
/* After the trace has been read: collects the faults. Returns 0 or -ENOMEM. */
int nvs_faults_end(struct nvs_faults *f);
/* Finds the candidates of each fault. CODES may be empty. Returns 0 or -ENOMEM. */
int nvs_faults_attribute(struct nvs_faults *f, const struct nvs_kernel_codes *codes);
/* Names of all kernels that may be candidates, for CODES. */
int nvs_faults_want_code(struct nvs_faults *f, struct nvs_kernel_codes *codes);
void nvs_faults_free(struct nvs_faults *f);

/* True for results after which a context cannot be used: 700, 710, 719 ... */
bool nvs_is_fault_result(uint32_t result);
/* The 4 bytes at ADDRESS when the fault was seen, if they were recorded. */
bool nvs_fault_read_memory(const struct nvs_faults *f, uint64_t address, uint32_t *value);
/* Mangled name of the kernel whose code begins at ADDRESS, from direct launches; NULL: unknown. */
const char *nvs_fault_program_name(const struct nvs_faults *f, uint64_t address);
/* True if a launch of it has ended before the faults. */
bool nvs_fault_program_ran(const struct nvs_faults *f, uint64_t address);
void nvs_fault_note_ran(struct nvs_faults *f, const struct nvs_fault_work *work);
void nvs_fault_name_program(struct nvs_faults *f, uint64_t address, const char *kernel);

/* Mangled name of the kernel of grid INDEX of U; NULL: unknown. */
const char *nvs_fault_kernel(struct nvs_faults *f, const struct nvs_unfinished *u, uint32_t index);
/* The graph's node that grid INDEX is, if the trace has the nodes: returns how many nodes it may
 * be, and sets *NODE to the first of them. 0: unknown. */
uint32_t nvs_fault_node(struct nvs_faults *f, const struct nvs_unfinished *u, uint32_t index,
			uint32_t *node);
const struct nvs_fault_grid *nvs_fault_grid_at(const struct nvs_unfinished *u, uint32_t index);

/* A word of the parameters of grid INDEX that concerns memory. *W is zeroed before the first call;
 * it returns false at the end. PLACE is as of the time of the fault. */
struct nvs_fault_word {
	uint32_t at, next;
	uint64_t value;
	struct nvs_memory_place place;
};
bool nvs_fault_word_next(struct nvs_faults *f, const struct nvs_fault *fault,
			 const struct nvs_unfinished *u, uint32_t index, struct nvs_fault_word *w);

#endif
