/* SPDX-License-Identifier: MIT */
/*
 * The live pages of all processes that are recorded now, looked at again and again: of this user,
 * for root of all users. nvsnoop/live.h says what a page is. Nothing in one is believed: what
 * stands here is bounded, texts end, numbers that name rows lie within them, and counters do not go
 * back. Texts are as the process gave them, any bytes but 0: whoever prints them escapes them.
 *
 *	struct nvs_pages *pages;
 *
 *	nvs_pages_open(&pages, 0);
 *	for (;; sleep(1)) {
 *		nvs_pages_look(pages);
 *		for (uint32_t i = 0; i < nvs_pages_count(pages); i++)
 *			print(nvs_pages_at(pages, i));
 *	}
 *
 * What a page holds is valid until the next look. Not for several threads at a time.
 */
#ifndef NVSNOOP_LIVE_READ_PAGE_SET_H
#define NVSNOOP_LIVE_READ_PAGE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nvsnoop/trace.h"
#include "nvsnoop/live.h"

struct nvs_pages;

/* A counter. TOTAL never goes back while the process lives. */
struct nvs_sum {
	uint64_t total;
	uint64_t more; /* since the look before; at the first look at its process 0 */
};

/* An entry point. Row 0 is all that found no room, and has the name "". */
struct nvs_page_api {
	const char *name; /* "cuLaunchKernel" */
	const char *group; /* "launch" */
	struct nvs_sum calls; /* that are over; the buckets' sum */
	struct nvs_sum failed;
	struct nvs_sum ns; /* that they took */
	uint64_t buckets[NVS_LIVE_BUCKETS];
};

struct nvs_page_result {
	uint32_t api; /* row of apis */
	uint32_t result; /* CUresult; of row 0 any */
	struct nvs_sum count;
};

struct nvs_page_kernel {
	const char *name; /* mangled; "": not known, and row 0 what found no room */
	uint64_t function; /* handle it was seen with first */
	uint32_t registers, shared, local, max_threads; /* max_threads 0: none of these is known */
	struct nvs_sum direct, graph; /* launches by calls, and nodes of graphs launched */
};

struct nvs_page_copy {
	struct nvs_sum calls, bytes, ns;
};

/* Calls that took long, for one reason. */
struct nvs_page_stall {
	struct nvs_sum calls, ns;
};

struct nvs_page_gpu {
	uint8_t uuid[16];
	uint32_t instance;
	uint32_t ordinal; /* in the process; NVS_NONE: not known */
	char name[64];
};

struct nvs_page_memory {
	uint32_t gpu; /* row of gpus + 1; 0: of none, or not known */
	enum nvs_live_kind kind;
	uint64_t live, live_count, peak; /* these go up and down */
	struct nvs_sum allocs, bytes, frees, failed_allocs, failed_frees, ended, untracked,
		untracked_bytes, freed;
};

/* Where memory was asked for. Row 0 is all that found no room. */
struct nvs_page_site {
	const char *name; /* "": not known (yet) */
	uint32_t api; /* row of apis */
	uint32_t stack; /* number in the trace */
	uint32_t nframes;
	uint64_t frames[NVS_LIVE_FRAMES];
	uint64_t live, live_count, peak;
	struct nvs_sum allocs, bytes;
};

/* An allocation that is live. */
struct nvs_page_alloc {
	uint64_t address, bytes, serial;
	uint64_t mono_ns; /* CLOCK_MONOTONIC when it had been made */
	enum nvs_live_kind kind;
	uint32_t gpu; /* row of gpus + 1; 0 none */
	uint32_t tid;
	uint32_t site; /* row of sites */
};

struct nvs_page_channel {
	uint32_t channel; /* its number in the trace */
	uint32_t flags; /* NVS_LIVE_CHANNEL_* */
	uint32_t gpu; /* row of gpus + 1; 0 not known */
	uint32_t object_class, engine, token, entries, put, get, used; /* as in live.h */
	struct nvs_sum submitted;
	uint64_t completed, wanted, released; /* NVS_LIVE_UNKNOWN: not known */
	uint64_t pending; /* submitted and not completed; NVS_LIVE_UNKNOWN: not known */
	uint64_t release_address;
	uint64_t submitted_ns, completed_ns; /* CLOCK_MONOTONIC; 0: never */
	uint64_t seen_ns; /* CLOCK_MONOTONIC of all of this */
};

struct nvs_page_call {
	uint32_t api; /* row of apis */
	uint64_t number;
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
};

struct nvs_page_range {
	char name[56];
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
};

struct nvs_page_thread {
	uint32_t tid, thread; /* as the process sees it; its number in the trace */
	char name[16];
	uint32_t ncalls; /* in flight, the outermost first */
	struct nvs_page_call calls[NVS_LIVE_CALLS];
	uint32_t nranges; /* open, the outermost first; those that the page has no room for left out
			   */
	struct nvs_page_range ranges[NVS_LIVE_RANGES];
};

struct nvs_page {
	/* Who it is. */
	uint32_t pid, uid;
	uint64_t start_time; /* field 22 of /proc/PID/stat */
	uint8_t session[16];
	uint32_t flags; /* NVS_LIVE_TRACED, ... */
	bool gone; /* has ended: these are the last totals, and the next look is without it */
	bool fresh; /* this is the first look at it: MORE and SPAN_NS are 0 */
	char program[64], host[64], launcher[32], rank[16], size[16], local_rank[16], job[64],
		driver[64]; /* "" where not known */
	const char *exe, *trace; /* paths; "" not known, or no trace */

	/* When. */
	uint64_t mono_ns; /* CLOCK_MONOTONIC of this look */
	uint64_t span_ns; /* since the look before */
	uint64_t begun_ns; /* real time since 1970 */
	uint64_t heard_ns; /* CLOCK_MONOTONIC when its own thread was last at work */

	/* What it has done, all threads together, those too that have ended. */
	struct nvs_sum counts[NVS_LIVE_COUNTS], gaps[NVS_LIVE_GAPS];
	struct nvs_sum submissions, entries, bytes; /* recorded, only counted and lost ones */
	struct nvs_sum doorbells;
	struct nvs_sum calls, failed, call_ns; /* of all apis */
	struct nvs_sum launches; /* of kernels: by calls and by graphs */
	struct nvs_sum direct_launches, graph_launches, graph_kernels, graph_copies,
		graph_copy_bytes, graph_sets, graphs_unknown, left, captured;
	struct nvs_sum copied, copies; /* bytes and calls of all directions, without graphs' */
	struct nvs_page_copy copy[NVS_LIVE_DIRECTIONS][NVS_LIVE_MODES];
	struct nvs_page_stall stalls[NVS_LIVE_STALLS];
	struct nvs_sum copy_sizes[NVS_LIVE_DIRECTIONS][NVS_LIVE_SIZES];
	struct nvs_sum sets, set_bytes;
	uint64_t failed_rows; /* what found no room in a table of the page */

	/* What it is in the middle of. */
	uint64_t pending; /* submissions of all channels; NVS_LIVE_UNKNOWN: no channel knows */
	uint64_t device_live, device_peak; /* bytes of memory on GPUs, of all kinds; the peak is the
					      sum of the kinds', and so an upper bound */
	uint64_t host_live, host_peak; /* likewise pinned memory of the host */

	/* Rows; those of apis, kernels and sites keep their places from look to look. */
	const struct nvs_page_api *apis;
	const struct nvs_page_result *results;
	const struct nvs_page_kernel *kernels;
	const struct nvs_page_gpu *gpus;
	const struct nvs_page_memory *memory; /* those ever used */
	const struct nvs_page_site *sites;
	const struct nvs_page_alloc *allocs; /* with NVS_PAGES_ALLOCS; any order */
	const struct nvs_page_channel *channels;
	const struct nvs_page_thread *threads; /* that are there now */
	uint32_t napis, nresults, nkernels, ngpus, nmemory, nsites, nallocs, nchannels, nthreads;
};

#define NVS_PAGES_ALLOCS (1u << 0) /* read the single allocations too */

/* 0 or -ENOMEM. FLAGS: NVS_PAGES_*. */
int nvs_pages_open(struct nvs_pages **pages, uint32_t flags);
void nvs_pages_close(struct nvs_pages *pages); /* NULL is fine */
/* Looks into this folder alone, whose owner is to be this user, or any for root. 0 or -errno. */
int nvs_pages_only(struct nvs_pages *pages, const char *folder);
/*
 * Looks at all that are there now. 0, or -ENOMEM: some are missing. Pages that nothing can be made
 * of are passed over; nvs_pages_refused() says how many of the folders' files that were, and why
 * the last one was (NULL: none was).
 */
int nvs_pages_look(struct nvs_pages *pages);
/*
 * For processes that live shorter than it is from look to look: a descriptor that can be read when
 * something has come into a folder that was looked into, -1 where that cannot be had; and what is
 * to be done then. It opens new pages and changes nothing else: the next look has them, with their
 * last totals if they have ended. True: one of them is not ready yet, or none; ask again soon.
 */
int nvs_pages_watch(struct nvs_pages *pages);
bool nvs_pages_notice(struct nvs_pages *pages);
uint32_t nvs_pages_count(const struct nvs_pages *pages);
/* By pid; each pid is there once. */
const struct nvs_page *nvs_pages_at(const struct nvs_pages *pages, uint32_t index);
uint32_t nvs_pages_refused(const struct nvs_pages *pages, const char **why);

/* ---- words ---- */

const char *nvs_live_direction_name(enum nvs_live_direction direction); /* "HtoD"; "?" */
const char *
nvs_live_stall_name(enum nvs_live_stall why); /* "ring full", as in --ring; NULL: none */
const char *nvs_live_mode_name(enum nvs_live_mode mode); /* "sync" */
const char *nvs_live_kind_name(enum nvs_live_kind kind); /* "device", as in --memory; "?" */
bool nvs_live_kind_on_gpu(enum nvs_live_kind kind); /* does it take memory of a GPU */
/* "GPU-01234567-89ab-...", as nvidia-smi has it. */
void nvs_live_uuid(char to[48], const uint8_t uuid[16]);

#endif
