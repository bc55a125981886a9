/* SPDX-License-Identifier: MIT */
/*
 * Reads the live pages of all processes being recorded: of this user, or of all users for root.
 * Format: nvsnoop/live.h. Page contents are not trusted: values returned here are bounded, strings
 * are terminated, row indices are valid and counters never decrease. Strings come from the process
 * and may contain any byte but 0: escape them before printing.
 *
 *	struct nvs_pages *pages;
 *
 *	nvs_pages_open(&pages, 0);
 *	for (;; sleep(1)) {
 *		nvs_pages_update(pages);
 *		for (uint32_t i = 0; i < nvs_pages_count(pages); i++)
 *			print(nvs_pages_get(pages, i));
 *	}
 *
 * A page is valid until the next nvs_pages_update(). Not thread-safe.
 */
#ifndef NVSNOOP_LIVE_READ_PAGE_SET_H
#define NVSNOOP_LIVE_READ_PAGE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include "nvsnoop/trace.h"
#include "nvsnoop/live.h"

struct nvs_pages;

/* A counter. TOTAL never decreases while the process lives. */
struct nvs_page_counter {
	uint64_t total;
	uint64_t more; /* increase since the previous read; 0 at the first read of a process */
};

/* An API entry point. Row 0 collects the ones that did not fit in the table; its name is "". */
struct nvs_page_api {
	const char *name; /* "cuLaunchKernel" */
	const char *group; /* "launch" */
	struct nvs_page_counter calls; /* completed calls: the sum of the buckets */
	struct nvs_page_counter failed;
	struct nvs_page_counter ns; /* host time of these calls */
	uint64_t buckets[NVS_LIVE_BUCKETS];
};

struct nvs_page_result {
	uint32_t api; /* row of apis */
	uint32_t result; /* CUresult; row 0 collects any */
	struct nvs_page_counter count;
};

/* Faults of the GPU with one number, see live.h. */
struct nvs_page_fault {
	uint32_t number, channel;
	struct nvs_page_counter count;
	uint64_t mono_ns; /* CLOCK_MONOTONIC when the latest was seen; 0: unknown */
};

struct nvs_page_kernel {
	const char
		*name; /* mangled; "" if unknown, and in row 0, which collects what did not fit */
	uint64_t function; /* the first handle seen */
	uint32_t registers, shared, local, max_threads; /* all unknown if max_threads is 0 */
	struct nvs_page_counter direct,
		graph; /* launches by calls, and as nodes of launched graphs */
	struct nvs_live_gpu_time gpu; /* sums of the submissions that were timed, see live.h */
	struct nvs_page_counter gpu_ns; /* estimated GPU time of all */
};

struct nvs_page_copy {
	struct nvs_page_counter calls, bytes, ns;
};

/* Slow calls with one cause. */
struct nvs_page_stall {
	struct nvs_page_counter calls, ns;
};

struct nvs_page_gpu {
	uint8_t uuid[16];
	uint32_t instance;
	uint32_t ordinal; /* in the process; NVS_NONE if unknown */
	char name[64];
	/* estimated time of what its engines did for the process; may exceed the time that passed
	 */
	struct nvs_page_counter busy_ns[NVS_LIVE_ENGINES];
};

struct nvs_page_memory {
	uint32_t gpu; /* row of gpus + 1; 0: no GPU, or unknown */
	enum nvs_live_kind kind;
	uint64_t live, live_count, peak; /* gauges */
	struct nvs_page_counter allocs, bytes, frees, failed_allocs, failed_frees, ended, untracked,
		untracked_bytes, freed;
};

/* A call site that allocated memory. Row 0 collects those that did not fit. */
struct nvs_page_site {
	const char *name; /* "" if unknown (yet) */
	uint32_t api; /* row of apis */
	uint32_t stack; /* number in the trace */
	uint32_t nframes;
	uint64_t frames[NVS_LIVE_FRAMES];
	uint64_t live, live_count, peak;
	struct nvs_page_counter allocs, bytes;
};

/* An allocation that has not been freed. */
struct nvs_page_alloc {
	uint64_t address, bytes, serial;
	uint64_t mono_ns; /* CLOCK_MONOTONIC when it was made */
	enum nvs_live_kind kind;
	uint32_t gpu; /* row of gpus + 1; 0: none */
	uint32_t tid;
	uint32_t site; /* row of sites */
};

struct nvs_page_channel {
	uint32_t channel; /* its number in the trace */
	uint32_t flags; /* NVS_LIVE_CHANNEL_* */
	uint32_t gpu; /* row of gpus + 1; 0 if unknown */
	uint32_t object_class, engine, token, entries, put, get, used; /* as in live.h */
	struct nvs_page_counter submitted;
	uint64_t completed, wanted, released; /* NVS_LIVE_UNKNOWN if unknown */
	uint64_t pending; /* submitted and not completed; NVS_LIVE_UNKNOWN if unknown */
	uint64_t release_address;
	uint64_t submitted_ns, completed_ns; /* CLOCK_MONOTONIC; 0: never */
	uint64_t seen_ns; /* CLOCK_MONOTONIC at which this row was read */
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
	uint32_t tid, thread; /* TID in the process' namespace; number in the trace */
	char name[16];
	uint32_t ncalls; /* in flight, outermost first */
	struct nvs_page_call calls[NVS_LIVE_CALLS];
	uint32_t nranges; /* open, outermost first; ranges that did not fit in the page are missing
			   */
	struct nvs_page_range ranges[NVS_LIVE_RANGES];
};

struct nvs_page {
	/* Identity. */
	const char *path; /* of the page's file, as it was found */
	uint32_t pid, uid;
	uint64_t start_time; /* field 22 of /proc/PID/stat */
	uint64_t pid_namespace; /* 0: this program's own */
	uint8_t session[16];
	uint32_t flags; /* NVS_LIVE_TRACED, ... */
	bool gone; /* the process has ended: these are its last totals, and the next pass drops the
		      page */
	bool fresh; /* first read of this page: MORE and SPAN_NS are 0 */
	char program[64], host[64], launcher[32], rank[16], size[16], local_rank[16], job[64],
		driver[64]; /* "" if unknown */
	const char *workload[NVS_LIVE_WORKLOADS]; /* "" if unknown */
	const char *exe, *trace; /* paths; "" if unknown or if there is no trace */

	/* Times. */
	uint64_t mono_ns; /* CLOCK_MONOTONIC of this read */
	uint64_t span_ns; /* since the previous read */
	uint64_t begun_ns; /* real time since 1970 */
	uint64_t heard_ns; /* CLOCK_MONOTONIC when the recorder's thread last ran */

	/* Counters, summed over all threads including ended ones. */
	struct nvs_page_counter counts[NVS_LIVE_COUNTS], gaps[NVS_LIVE_GAPS];
	struct nvs_page_counter submissions, entries, bytes; /* recorded, counted only, and lost */
	struct nvs_page_counter doorbells;
	struct nvs_page_counter calls, failed, call_ns; /* over all apis */
	struct nvs_page_counter launches; /* kernel launches by calls and by graphs */
	struct nvs_page_counter direct_launches, graph_launches, graph_kernels, graph_copies,
		graph_copy_bytes, graph_sets, graphs_unknown, left, captured;
	struct nvs_page_counter copied,
		copies; /* bytes and calls, all directions; copies in graphs not included */
	struct nvs_page_copy copy[NVS_LIVE_DIRECTIONS][NVS_LIVE_MODES];
	struct nvs_page_stall stalls[NVS_LIVE_STALLS];
	struct nvs_page_counter copy_sizes[NVS_LIVE_DIRECTIONS][NVS_LIVE_SIZES];
	struct nvs_page_counter sets, set_bytes;
	uint64_t failed_rows; /* items that did not fit in a table of the page */

	/* Current state. */
	uint64_t pending; /* submissions of all channels; NVS_LIVE_UNKNOWN if unknown for every
			     channel */
	uint64_t device_live, device_peak; /* bytes of GPU memory of all kinds; the peak is the sum
					      of the kinds' peaks, an upper bound */
	uint64_t host_live, host_peak; /* the same for pinned host memory */

	/* Tables. Rows of apis, kernels and sites keep their indices between reads. */
	const struct nvs_page_api *apis;
	const struct nvs_page_result *results;
	const struct nvs_page_fault *faults; /* each number once */
	const struct nvs_page_kernel *kernels;
	const struct nvs_page_gpu *gpus;
	const struct nvs_page_memory *memory; /* rows that were ever used */
	const struct nvs_page_site *sites;
	const struct nvs_page_alloc
		*allocs; /* only with NVS_PAGES_ALLOCS; in no particular order */
	const struct nvs_page_channel *channels;
	const struct nvs_page_thread *threads; /* existing now */
	uint32_t napis, nresults, nfaults, nkernels, ngpus, nmemory, nsites, nallocs, nchannels,
		nthreads;
};

#define NVS_PAGES_ALLOCS (1u << 0) /* also read individual allocations */

/* FLAGS: NVS_PAGES_*. Returns 0 or -ENOMEM. */
int nvs_pages_open(struct nvs_pages **pages, uint32_t flags);
void nvs_pages_close(struct nvs_pages *pages); /* NULL is allowed */
/* Restricts the scan to FOLDER, which must belong to this user, or to anyone for root. Returns 0 or
 * -errno. */
int nvs_pages_restrict(struct nvs_pages *pages, const char *folder);
/*
 * Finds and reads all pages that exist now. Returns 0, or -ENOMEM if some are missing. Files that
 * are not valid pages are skipped: nvs_pages_refused() returns their number and sets WHY to the
 * reason for the last one, or NULL.
 */
int nvs_pages_update(struct nvs_pages *pages);
/*
 * For processes that live shorter than the interval between two passes. nvs_pages_watch() returns a
 * descriptor that becomes readable when a page appears in a scanned folder, or -1 if that is not
 * possible. Call nvs_pages_open_new() then: it opens new pages and changes nothing else; the next
 * pass reads them, with their last totals if they have ended. It returns true if a page is not
 * ready yet: call it again soon.
 */
int nvs_pages_watch(struct nvs_pages *pages);
bool nvs_pages_open_new(struct nvs_pages *pages);
uint32_t nvs_pages_count(const struct nvs_pages *pages);
/* Sorted by PID and namespace; each appears once. */
const struct nvs_page *nvs_pages_get(const struct nvs_pages *pages, uint32_t index);
/* Returns true for pages of the same PID and namespace. */
bool nvs_page_is(const struct nvs_page *page, const struct nvs_page *other);
uint32_t nvs_pages_refused(const struct nvs_pages *pages, const char **why);

/* ---- names ---- */

const char *nvs_live_direction_name(enum nvs_live_direction direction); /* "HtoD"; "?" */
const char *nvs_live_stall_name(
	enum nvs_live_stall why); /* "ring full", as in --ring; NULL for an unused number */
const char *nvs_live_workload_name(enum nvs_live_workload which); /* "pod"; NULL: unused number */
const char *nvs_live_mode_name(enum nvs_live_mode mode); /* "sync" */
const char *nvs_live_engine_name(enum nvs_live_engine engine); /* "compute" */
const char *nvs_live_kind_name(enum nvs_live_kind kind); /* "device", as in --memory; "?" */
bool nvs_live_kind_on_gpu(enum nvs_live_kind kind); /* does this kind occupy GPU memory */
/* Formats a UUID as nvidia-smi does: "GPU-01234567-89ab-...". */
void nvs_format_uuid(char to[48], const uint8_t uuid[16]);

/* CLOCK_MONOTONIC, by which pages have their times. */
static inline uint64_t nvs_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint64_t nvs_mono_ms(void)
{
	return nvs_mono_ns() / 1000000;
}

#endif
