/* SPDX-License-Identifier: MIT */
/* Reads all tables of a live page except slots and strings: names, results, memory, channels. */
#include <errno.h>
#include <string.h>
#include "live/read/page.h"

/* Maximum number of rows accepted in a table: far more than any writer allocates. */
#define MAX_APIS 8192
#define MAX_RESULTS 65536
#define MAX_FAULTS 1024
#define MAX_KERNELS 65536
#define MAX_GPUS 256
#define MAX_SITES 65536
#define MAX_ALLOCS (1u << 20)
#define MAX_CHANNELS 16384
#define TRIES 8 /* attempts to read a row that the process is changing */

/* The rows of a table as the process wrote them. */
struct raw_rows {
	const uint8_t *bytes;
	uint32_t n, step;
};

/* Reads a table into scratch buffer WHICH. Rejects the page if there are more than MOST rows, or if
 * they have less than LEAST bytes. */
static int read_table(struct nvs_page_file *file, enum nvs_live_table_number number, size_t least,
		      uint32_t most, int which, struct raw_rows *rows)
{
	const struct nvs_live_table *t = file->head.tables + number;
	uint32_t n = t->used < t->rows ? t->used : t->rows;

	*rows = (struct raw_rows){NULL, n, t->row_bytes};
	if (n > most)
		return nvs_page_reject(file, "a table has too many rows");
	if (n && t->row_bytes < least)
		return nvs_page_reject(file, "a table's rows are too short");
	rows->bytes = nvs_page_read_bytes(file, n ? t->offset : 0, (uint64_t)n * rows->step, which);
	return rows->bytes ? 0 : -EINVAL;
}

/* Appends zeroed rows until LIST has COUNT. Existing rows are kept. */
static int grow_list(struct nvs_page_list *list, uint32_t count, size_t size)
{
	while (list->n < count)
		if (!nvs_page_add_row(list, size))
			return -ENOMEM;
	return 0;
}

/* Reads a table, and makes LIST, whose elements have SIZE bytes, as long. */
static int read_rows(struct nvs_page_file *file, enum nvs_live_table_number number, size_t least,
		     uint32_t most, struct nvs_page_list *list, size_t size, struct raw_rows *rows)
{
	int r = read_table(file, number, least, most, 0, rows);

	return r ? r : grow_list(list, rows->n, size);
}

/* The type of ROW must be that of the rows. */
#define COPY_ROW(row, rows, i) \
	memcpy(row, (rows)->bytes + (size_t)(i) * (rows)->step, sizeof(*(row)))

/* ---- names, read before the slots ---- */

static int read_apis(struct nvs_page_file *file)
{
	struct raw_rows rows;
	int r = read_rows(file, NVS_LIVE_APIS, sizeof(struct nvs_live_api), MAX_APIS, &file->apis,
			  sizeof(struct nvs_page_api), &rows);

	for (uint32_t i = 0; !r && i < rows.n; i++) {
		struct nvs_page_api *api = (struct nvs_page_api *)file->apis.rows + i;
		struct nvs_live_api row;

		COPY_ROW(&row, &rows, i);
		api->name = i ? nvs_page_get_string(file, row.name) : "";
		api->group = nvs_page_get_string(file, row.group);
	}
	/* The page has fewer rows than before: the strings of the others may have moved. */
	for (uint32_t i = rows.n; !r && i < file->apis.n; i++)
		((struct nvs_page_api *)file->apis.rows)[i].name =
			((struct nvs_page_api *)file->apis.rows)[i].group = "";
	return r;
}

static int read_kernels(struct nvs_page_file *file)
{
	struct raw_rows rows;
	int r = read_rows(file, NVS_LIVE_KERNELS, sizeof(struct nvs_live_kernel), MAX_KERNELS,
			  &file->kernels, sizeof(struct nvs_page_kernel), &rows);

	for (uint32_t i = 0; !r && i < rows.n; i++) {
		struct nvs_page_kernel *kernel = (struct nvs_page_kernel *)file->kernels.rows + i;
		struct nvs_live_kernel row;

		COPY_ROW(&row, &rows, i);
		kernel->name = i ? nvs_page_get_string(file, row.name) : "";
		kernel->function = row.function;
		kernel->registers = row.registers;
		kernel->shared = row.shared;
		kernel->local = row.local;
		kernel->max_threads = row.max_threads;
	}
	for (uint32_t i = rows.n; !r && i < file->kernels.n; i++)
		((struct nvs_page_kernel *)file->kernels.rows)[i].name = "";
	return r;
}

int nvs_page_read_names(struct nvs_page_file *file)
{
	int r = read_apis(file);

	return r ? r : read_kernels(file);
}

/* ---- results and GPUs ---- */

static int read_results(struct nvs_page_file *file)
{
	struct nvs_page_api *apis = file->apis.rows;
	struct nvs_page *page = &file->page;
	struct raw_rows rows;
	int r = read_rows(file, NVS_LIVE_RESULTS, sizeof(struct nvs_live_result), MAX_RESULTS,
			  &file->results, sizeof(struct nvs_page_result), &rows);

	for (uint32_t i = 0; !r && i < rows.n; i++) {
		struct nvs_page_result *result = (struct nvs_page_result *)file->results.rows + i;
		struct nvs_live_result row;

		COPY_ROW(&row, &rows, i);
		result->api = i && row.api < file->apis.n ? row.api : 0;
		result->result = row.result;
		result->count.more = row.count;
		nvs_page_finish_counters(file, &result->count, 1);
	}
	for (uint32_t i = 0; !r && i < file->results.n; i++) {
		const struct nvs_page_result *result =
			(struct nvs_page_result *)file->results.rows + i;

		if (result->api < file->apis.n)
			apis[result->api].failed.more += result->count.total;
		page->failed.more += result->count.total;
	}
	for (uint32_t i = 0; !r && i < file->apis.n; i++)
		nvs_page_finish_counters(file, &apis[i].failed, 1);
	nvs_page_finish_counters(file, &page->failed, 1);
	return r;
}

/* The row of NUMBER, added if it is new. NULL: no memory, or there have been too many. */
static struct nvs_page_fault *get_fault(struct nvs_page_file *file, uint32_t number)
{
	struct nvs_page_fault *f = file->faults.rows;

	for (uint32_t i = 0; i < file->faults.n; i++, f++)
		if (f->number == number)
			return f;
	f = file->faults.n < MAX_FAULTS ? nvs_page_add_row(&file->faults, sizeof(*f)) : NULL;
	if (f)
		f->number = number;
	return f;
}

static int read_faults(struct nvs_page_file *file)
{
	struct raw_rows rows;
	int r = read_table(file, NVS_LIVE_FAULTS, sizeof(struct nvs_live_fault), MAX_FAULTS, 0,
			   &rows);

	for (uint32_t i = 0; !r && i < rows.n; i++) {
		struct nvs_live_fault row;
		struct nvs_page_fault *f;

		COPY_ROW(&row, &rows, i);
		f = get_fault(file, row.number);
		if (!f)
			return file->faults.n < MAX_FAULTS
				       ? -ENOMEM
				       : nvs_page_reject(file, "a table has too many rows");
		f->channel = row.channel;
		f->mono_ns = nvs_page_time(file, row.time);
		f->count.more += row.count;
	}
	for (uint32_t i = 0; !r && i < file->faults.n; i++)
		nvs_page_finish_counters(file,
					 &((struct nvs_page_fault *)file->faults.rows)[i].count, 1);
	return r;
}

static int read_gpus(struct nvs_page_file *file)
{
	struct raw_rows rows;
	int r;

	r = read_rows(file, NVS_LIVE_GPUS, sizeof(struct nvs_live_gpu), MAX_GPUS, &file->gpus,
		      sizeof(struct nvs_page_gpu), &rows);
	for (uint32_t i = 0; !r && i < rows.n; i++) {
		struct nvs_page_gpu *gpu = (struct nvs_page_gpu *)file->gpus.rows + i;
		struct nvs_live_gpu row;

		COPY_ROW(&row, &rows, i);
		memcpy(gpu->uuid, row.uuid, sizeof(gpu->uuid));
		memcpy(gpu->name, row.name, sizeof(gpu->name));
		gpu->name[sizeof(gpu->name) - 1] = 0;
		gpu->instance = row.instance;
		gpu->ordinal = row.ordinal;
	}
	return r;
}

/* ---- GPU times ---- */

static void set_estimate(const struct nvs_page_file *file, struct nvs_page_counter *sum,
			 uint64_t now)
{
	sum->more = now;
	nvs_page_finish_counters(file, sum, 1);
}

/* Tables without rows: nothing is timed. */
static int read_gpu_times(struct nvs_page_file *file)
{
	struct nvs_page_kernel *kernels = file->kernels.rows;
	struct nvs_page_gpu *gpus = file->gpus.rows;
	struct nvs_live_gpu_time row;
	struct raw_rows rows;
	int r = read_table(file, NVS_LIVE_GPU_TIMES, sizeof(row), MAX_KERNELS, 0, &rows);

	for (uint32_t i = 0; !r && i < rows.n && i < file->kernels.n; i++) {
		COPY_ROW(&kernels[i].gpu, &rows, i);
		set_estimate(file, &kernels[i].gpu_ns, kernels[i].gpu.ns);
	}
	r = r ? r
	      : read_table(file, NVS_LIVE_GPU_WORK, sizeof(row), MAX_GPUS * NVS_LIVE_ENGINES, 0,
			   &rows);
	for (uint32_t i = 0; !r && i < rows.n && i < file->gpus.n * NVS_LIVE_ENGINES; i++) {
		COPY_ROW(&row, &rows, i);
		set_estimate(file, &gpus[i / NVS_LIVE_ENGINES].busy_ns[i % NVS_LIVE_ENGINES],
			     row.ns);
	}
	return r;
}

/* ---- memory ---- */

/* Returns the entry of table row ROW. Creates it if USED; returns NULL if the row was never used.
 *  */
static struct nvs_page_memory *memory_entry(struct nvs_page_file *file, uint32_t row, bool used)
{
	uint32_t *place = (uint32_t *)file->memory_places.rows + row;
	struct nvs_page_memory *memory;

	if (*place || !used)
		return *place ? (struct nvs_page_memory *)file->memory.rows + *place - 1 : NULL;
	memory = nvs_page_add_row(&file->memory, sizeof(*memory));
	if (!memory)
		return NULL;
	memory->gpu = row / NVS_LIVE_KINDS;
	memory->kind = (enum nvs_live_kind)(row % NVS_LIVE_KINDS);
	*place = file->memory.n;
	return memory;
}

static void copy_memory(struct nvs_page_file *file, struct nvs_page_memory *to,
			const struct nvs_live_memory *from)
{
	to->live = from->live;
	to->live_count = from->live_count;
	to->peak = from->peak > from->live ? from->peak : from->live;
	to->allocs.more = from->allocs;
	to->bytes.more = from->bytes;
	to->frees.more = from->frees;
	to->failed_allocs.more = from->failed_allocs;
	to->failed_frees.more = from->failed_frees;
	to->ended.more = from->ended;
	to->untracked.more = from->untracked;
	to->untracked_bytes.more = from->untracked_bytes;
	to->freed.more = from->freed;
	nvs_page_finish_counters(file, &to->allocs, 9);
}

static void sum_memory(struct nvs_page_file *file)
{
	struct nvs_page *page = &file->page;

	page->device_live = page->device_peak = page->host_live = page->host_peak = 0;
	for (uint32_t i = 0; i < file->memory.n; i++) {
		const struct nvs_page_memory *m = (struct nvs_page_memory *)file->memory.rows + i;

		if (nvs_live_kind_on_gpu(m->kind)) {
			page->device_live += m->live;
			page->device_peak += m->peak;
		} else if (m->kind == NVS_LIVE_HOST) {
			page->host_live += m->live;
			page->host_peak += m->peak;
		}
	}
}

static int read_memory(struct nvs_page_file *file)
{
	struct raw_rows rows;
	int r = read_rows(file, NVS_LIVE_MEMORY, sizeof(struct nvs_live_memory),
			  (MAX_GPUS + 1) * NVS_LIVE_KINDS, &file->memory_places, sizeof(uint32_t),
			  &rows);

	for (uint32_t i = 0; !r && i < rows.n; i++) {
		struct nvs_page_memory *memory;
		struct nvs_live_memory row;
		bool used;

		COPY_ROW(&row, &rows, i);
		used = row.live | row.live_count | row.peak | row.allocs | row.frees |
		       row.failed_allocs | row.failed_frees | row.ended | row.untracked;
		memory = memory_entry(file, i, used);
		if (memory)
			copy_memory(file, memory, &row);
		else if (used)
			r = -ENOMEM;
	}
	sum_memory(file);
	return r;
}

static int read_sites(struct nvs_page_file *file)
{
	struct raw_rows rows;
	int r = read_rows(file, NVS_LIVE_SITE_ROWS, sizeof(struct nvs_live_site), MAX_SITES,
			  &file->sites, sizeof(struct nvs_page_site), &rows);

	for (uint32_t i = 0; !r && i < file->sites.n; i++)
		((struct nvs_page_site *)file->sites.rows)[i].name = "";
	for (uint32_t i = 0; !r && i < rows.n; i++) {
		struct nvs_page_site *site = (struct nvs_page_site *)file->sites.rows + i;
		struct nvs_live_site row;

		COPY_ROW(&row, &rows, i);
		site->name = nvs_page_get_string(file, row.name);
		site->api = row.api < file->apis.n ? row.api : 0;
		site->stack = row.stack;
		site->nframes = row.nframes < NVS_LIVE_FRAMES ? row.nframes : NVS_LIVE_FRAMES;
		memcpy(site->frames, row.frames, sizeof(site->frames));
		site->live = row.live;
		site->live_count = row.live_count;
		site->peak = row.peak;
		site->allocs.more = row.allocs;
		site->bytes.more = row.bytes;
		nvs_page_finish_counters(file, &site->allocs, 2);
	}
	return r;
}

/* Adds an allocation that two reads returned unchanged: otherwise its row was being reused. */
static int add_alloc(struct nvs_page_file *file, const struct nvs_live_alloc *one,
		     const struct nvs_live_alloc *two)
{
	struct nvs_page_alloc *alloc;

	if (!two->address || memcmp(one, two, sizeof(*one)))
		return 0;
	alloc = nvs_page_add_row(&file->allocs, sizeof(*alloc));
	if (!alloc)
		return -ENOMEM;
	alloc->address = two->address;
	alloc->bytes = two->bytes;
	alloc->serial = two->serial;
	alloc->mono_ns = nvs_page_time(file, two->time);
	alloc->kind = two->kind < NVS_LIVE_KINDS ? (enum nvs_live_kind)two->kind : NVS_LIVE_DEVICE;
	alloc->gpu = two->gpu <= file->gpus.n ? two->gpu : 0;
	alloc->tid = two->tid;
	alloc->site = two->site < file->sites.n ? two->site : 0;
	return 0;
}

static int read_allocs(struct nvs_page_file *file)
{
	struct raw_rows first, second;
	int r = read_table(file, NVS_LIVE_ALLOCS, sizeof(struct nvs_live_alloc), MAX_ALLOCS, 0,
			   &first);

	if (!r)
		r = read_table(file, NVS_LIVE_ALLOCS, sizeof(struct nvs_live_alloc), MAX_ALLOCS, 1,
			       &second);
	for (uint32_t i = 0; !r && i < second.n; i++) {
		struct nvs_live_alloc one, two;

		COPY_ROW(&one, &first, i);
		COPY_ROW(&two, &second, i);
		r = add_alloc(file, &one, &two);
	}
	return r;
}

/* ---- channels ---- */

static void copy_channel(struct nvs_page_file *file, struct nvs_page_channel *to,
			 const struct nvs_live_channel *from)
{
	/* The row belongs to another channel now. */
	if (to->channel != from->channel || !to->seen_ns)
		memset(to, 0, sizeof(*to));
	to->channel = from->channel;
	to->flags = from->flags;
	to->gpu = from->gpu <= file->gpus.n ? from->gpu : 0;
	to->object_class = from->object_class;
	to->engine = from->engine;
	to->token = from->token;
	to->entries = from->entries;
	to->put = from->put;
	to->get = from->get;
	to->used = from->used;
	to->submitted.more = from->submitted;
	if (to->seen_ns)
		nvs_page_finish_counters(file, &to->submitted, 1);
	else
		to->submitted = (struct nvs_page_counter){.total = from->submitted};
	to->completed = from->completed;
	if (to->completed != NVS_LIVE_UNKNOWN && to->completed > to->submitted.total)
		to->completed = to->submitted.total;
	/* Both numbers were sampled at the same time. Later submissions are not known to be
	 * pending. */
	to->pending = from->completed == NVS_LIVE_UNKNOWN ||
				      from->completed_of == NVS_LIVE_UNKNOWN ||
				      from->completed_of < from->completed
			      ? NVS_LIVE_UNKNOWN
			      : from->completed_of - from->completed;
	to->wanted = from->wanted;
	to->released = from->released;
	to->release_address = from->release_address;
	to->submitted_ns = nvs_page_time(file, from->submitted_at);
	to->completed_ns = nvs_page_time(file, from->completed_at);
	to->seen_ns = file->clock.mono_ns < file->page.mono_ns ? file->clock.mono_ns
							       : file->page.mono_ns;
	to->seen_ns = to->seen_ns ? to->seen_ns : 1;
}

/* Reads a channel row, which is a seqlock. Keeps the previous values if every attempt overlaps an
 * update. */
static int read_channel(struct nvs_page_file *file, uint64_t at, struct nvs_page_channel *channel)
{
	struct nvs_live_channel one, two;
	const uint8_t *bytes = nvs_page_read_bytes(file, at, sizeof(one), 0);

	for (int i = 0; i < TRIES && bytes; i++) {
		memcpy(&one, bytes, sizeof(one));
		bytes = nvs_page_read_bytes(file, at, sizeof(two), 0);
		if (!bytes)
			break;
		memcpy(&two, bytes, sizeof(two));
		if (one.sequence % 2 || memcmp(&one, &two, sizeof(one)))
			continue;
		copy_channel(file, channel, &two);
		return 0;
	}
	return bytes ? 0 : -EINVAL;
}

static int read_channels(struct nvs_page_file *file)
{
	const struct nvs_live_table *t = file->head.tables + NVS_LIVE_CHANNELS;
	uint32_t n = t->used < t->rows ? t->used : t->rows;
	struct nvs_page *page = &file->page;
	int r = 0;

	if (n > MAX_CHANNELS || (n && t->row_bytes < sizeof(struct nvs_live_channel)) ||
	    t->offset > file->size)
		return nvs_page_reject(file, "its channel table is malformed");
	page->pending = NVS_LIVE_UNKNOWN;
	file->channels.n = 0;
	r = grow_list(&file->channel_rows, n, sizeof(struct nvs_page_channel));
	for (uint32_t i = 0; !r && i < n; i++) {
		struct nvs_page_channel *channel =
			(struct nvs_page_channel *)file->channel_rows.rows + i;
		struct nvs_page_channel *shown;

		r = read_channel(file, t->offset + (uint64_t)i * t->row_bytes, channel);
		if (r || !channel->seen_ns || channel->channel == NVS_NONE ||
		    !(channel->flags & NVS_LIVE_CHANNEL_ALIVE))
			continue;
		shown = nvs_page_add_row(&file->channels, sizeof(*shown));
		if (!shown)
			return -ENOMEM;
		*shown = *channel;
		if (channel->pending != NVS_LIVE_UNKNOWN)
			page->pending = channel->pending +
					(page->pending == NVS_LIVE_UNKNOWN ? 0 : page->pending);
	}
	return r;
}

/* ---- publishing ---- */

/* Sets the pointers of the public view. The lists may have been reallocated. */
static void publish_lists(struct nvs_page_file *file)
{
	struct nvs_page *page = &file->page;

	page->apis = file->apis.rows;
	page->napis = file->apis.n;
	page->results = file->results.rows;
	page->nresults = file->results.n;
	page->faults = file->faults.rows;
	page->nfaults = file->faults.n;
	page->kernels = file->kernels.rows;
	page->nkernels = file->kernels.n;
	page->gpus = file->gpus.rows;
	page->ngpus = file->gpus.n;
	page->memory = file->memory.rows;
	page->nmemory = file->memory.n;
	page->sites = file->sites.rows;
	page->nsites = file->sites.n;
	page->allocs = file->allocs.rows;
	page->nallocs = file->allocs.n;
	page->channels = file->channels.rows;
	page->nchannels = file->channels.n;
	page->threads = file->threads.rows;
	page->nthreads = file->threads.n;
}

int nvs_page_read_tables(struct nvs_page_file *file, uint32_t flags)
{
	int r = read_results(file);

	r = r ? r : read_faults(file);
	r = r ? r : read_gpus(file);
	r = r ? r : read_gpu_times(file);
	r = r ? r : read_memory(file);
	r = r ? r : read_sites(file);
	file->allocs.n = 0;
	if (flags & NVS_PAGES_ALLOCS)
		r = r ? r : read_allocs(file);
	r = r ? r : read_channels(file);
	if (!r)
		publish_lists(file);
	return r;
}
