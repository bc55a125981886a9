/* SPDX-License-Identifier: MIT */
/* Builds the rows: user, GPUs, command line and current call of each process. Caches demangled
 * kernel names. */
#include <math.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "decode/base/compare.h"
#include "decode/trace/helper.h"
#include "live/top/columns.h"
#include "decode/query/estimate.h"

bool nvs_top_get_rate(const struct nvs_page *page, const struct nvs_page_counter *sum, double *rate)
{
	if (!page->span_ns)
		return false;
	*rate = (double)sum->more * 1e9 / (double)page->span_ns;
	return true;
}

const char *nvs_top_api_name(const struct nvs_page *page, uint32_t api)
{
	return api >= page->napis || !*page->apis[api].name ? "(other)" : page->apis[api].name;
}

/* ---- names of kernels ---- */

#define NAMES 4096 /* cache slots */

/* Cache of demangled names, by hash of the mangled name: demangling is slow. */
static struct {
	char *mangled, *plain;
} names[NAMES];

static uint32_t hash_name(const char *text)
{
	uint32_t h = 2166136261u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619u;
	return h;
}

const char *nvs_top_kernel_name(const struct nvs_page *page, uint32_t kernel)
{
	const char *mangled = page->kernels[kernel].name;
	uint32_t at = hash_name(mangled) % NAMES;

	if (!*mangled)
		return kernel ? "(no name)" : "(other)";
	if (names[at].mangled && !strcmp(names[at].mangled, mangled))
		return names[at].plain;
	free(names[at].mangled);
	free(names[at].plain);
	names[at].mangled = strdup(mangled);
	names[at].plain = nvs_helper_name(mangled);
	if (!names[at].plain)
		names[at].plain = strdup(mangled);
	return names[at].plain ? names[at].plain : mangled;
}

void nvs_top_kernel_names_free(void)
{
	for (uint32_t i = 0; i < NAMES; i++) {
		free(names[i].mangled);
		free(names[i].plain);
	}
	memset(names, 0, sizeof(names));
}

/* ---- rows ---- */

static void name_user(struct nvs_top_row *row)
{
	static uint32_t last = UINT32_MAX;
	static char name[sizeof(row->user)];
	struct passwd *user;

	if (last != row->page->uid) {
		user = getpwuid(row->page->uid);
		snprintf(name, sizeof(name), "%u", row->page->uid);
		if (user)
			snprintf(name, sizeof(name), "%s", user->pw_name);
		last = row->page->uid;
	}
	memcpy(row->user, name, sizeof(name));
}

static void name_gpus(struct nvs_top_row *row)
{
	const struct nvs_page *page = row->page;
	size_t at = 0;

	for (uint32_t i = 0; i < page->ngpus && at + 12 < sizeof(row->gpus); i++)
		if (page->gpus[i].ordinal != NVS_NONE)
			at += (size_t)sprintf(row->gpus + at, "%s%u", at ? "," : "",
					      page->gpus[i].ordinal);
}

/* The command line while the process exists, otherwise the program name. */
static void name_command(struct nvs_top_row *row)
{
	char path[64], *slash;
	ssize_t n = -1;
	int fd = -1;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", row->page->pid);
	if (!row->page->gone && !row->page->pid_namespace)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, row->command, sizeof(row->command) - 1);
		close(fd);
	}
	while (n > 0 && !row->command[n - 1])
		n--;
	/* A title set by the program contains blanks and has no directory. */
	row->command[n > 0 ? n : 0] = 0;
	slash = strrchr(row->command, '/');
	if (slash && slash[1] && !strchr(row->command, ' '))
		row->folder = (uint32_t)(slash + 1 - row->command);
	for (ssize_t i = 0; i < n; i++)
		row->command[i] = row->command[i] ? row->command[i] : ' ';
	/* In another PID namespace the PID may be a different process. */
	if (n <= 0 || (*row->page->program && !strstr(row->command, row->page->program))) {
		snprintf(row->command, sizeof(row->command), "%s",
			 *row->page->program ? row->page->program : "?");
		row->folder = 0;
	}
}

static void find_call(struct nvs_top_row *row)
{
	const struct nvs_page *page = row->page;
	uint64_t begin = UINT64_MAX;

	for (uint32_t i = 0; i < page->nthreads; i++) {
		const struct nvs_page_thread *thread = page->threads + i;

		if (!thread->ncalls || !thread->calls->begin_ns || thread->calls->begin_ns >= begin)
			continue;
		begin = thread->calls->begin_ns;
		row->call = nvs_top_api_name(page, thread->calls->api);
		row->call_ns = page->mono_ns - begin;
	}
}

/* Calls that may take long without a GPU: they compile, or set up the device. */
static bool is_set_up(const char *api)
{
	static const char *const prefixes[] = {
		"cuInit",      "cuModuleLoad",	     "cuLibraryLoad",	   "cuLink",
		"cuCtxCreate", "cuDevicePrimaryCtx", "cuKernelGetFunction"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(api, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/*
 * A process hangs if it has been in a call for long, and no channel has received or completed a
 * submission meanwhile. Where calls are not observed, submissions that wait take their place. What
 * a stopped process would do is unknown: its time ends when it was last heard of.
 */
static void find_hang(struct nvs_top_row *row)
{
	const struct nvs_page *page = row->page;
	bool waits = row->call ? !is_set_up(row->call)
			       : !(page->flags & NVS_LIVE_API) && page->pending &&
					 page->pending != NVS_LIVE_UNKNOWN;
	uint64_t silent = page->mono_ns > page->heard_ns + NVS_TOP_SILENT_NS
				  ? page->mono_ns - page->heard_ns
				  : 0;
	uint64_t quiet = row->call ? row->call_ns : UINT64_MAX;

	for (uint32_t i = 0; i < page->nchannels && waits; i++) {
		const struct nvs_page_channel *c = page->channels + i;
		uint64_t last = c->completed_ns > c->submitted_ns ? c->completed_ns
								  : c->submitted_ns;

		if (last && page->mono_ns - last < quiet)
			quiet = page->mono_ns - last;
	}
	if (waits && !page->gone && quiet != UINT64_MAX && quiet >= silent + NVS_TOP_HANG_NS)
		row->hang_ns = quiet - silent;
}

static bool is_selected(const struct nvs_top *top, uint32_t pid)
{
	for (uint32_t i = 0; i < top->options->npids; i++)
		if (top->options->pids[i] == pid)
			return true;
	return !top->options->npids;
}

static struct nvs_order order;

static int compare_rows(const void *a, const void *b)
{
	const struct nvs_top_row *one = a, *two = b;

	return NVS_CMP(two->hang_ns > 0, one->hang_ns > 0) ?: nvs_table_compare(&order, one, two)
	       ?: NVS_CMP(one->page->pid, two->page->pid);
}

void nvs_top_sort(struct nvs_top *top)
{
	bool name = top->sort->of.flags & NVS_COLUMN_NAME;

	/* Numbers: largest first. Names: from A to Z. */
	order = (struct nvs_order){NULL, &top->sort->of, name != top->ascending ? 1 : -1};
	if (top->nrows)
		qsort(top->rows, top->nrows, sizeof(*top->rows), compare_rows);
}

int nvs_top_update(struct nvs_top *top)
{
	int r = nvs_pages_update(top->pages);
	uint32_t n = nvs_pages_count(top->pages);
	struct nvs_top_row *rows = realloc(top->rows, (n + 1) * sizeof(*rows));

	top->refused = nvs_pages_refused(top->pages, &top->why);
	top->nrows = 0;
	if (!rows)
		return -ENOMEM;
	top->rows = rows;
	memset(rows, 0, n * sizeof(*rows));
	for (uint32_t i = 0; i < n; i++) {
		struct nvs_top_row *row = rows + top->nrows;

		row->page = nvs_pages_get(top->pages, i);
		if (!is_selected(top, row->page->pid))
			continue;
		name_user(row);
		name_gpus(row);
		name_command(row);
		find_call(row);
		find_hang(row);
		top->nrows++;
	}
	nvs_top_sort(top);
	return r;
}

bool nvs_top_gpu_mean(const struct nvs_page_kernel *kernel, double *mean, double *half)
{
	const struct nvs_live_gpu_time *t = &kernel->gpu;
	struct nvs_estimate e = {.n = t->timed,
				 .weight = (double)t->weight,
				 .sum = (double)t->ns,
				 .squares = t->squares,
				 .rest = t->rest,
				 .rest_sum = t->rest_sum,
				 .rest_squares = t->rest_squares};

	if (!t->timed || !t->weight)
		return false;
	*mean = nvs_estimate_mean(&e);
	if (!nvs_estimate_error(&e, half))
		*half = NAN;
	return isfinite(*mean);
}

const struct nvs_top_row *nvs_top_find(const struct nvs_top *top, uint32_t pid,
				       const uint64_t *pid_namespace)
{
	for (uint32_t i = 0; i < top->nrows; i++)
		if (top->rows[i].page->pid == pid &&
		    (!pid_namespace || top->rows[i].page->pid_namespace == *pid_namespace))
			return top->rows + i;
	return NULL;
}
