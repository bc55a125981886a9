/* SPDX-License-Identifier: MIT */
/*
 * Writes the seeds of the fuzz targets that read traces and spools: mkseeds CORPUS. A trace with a
 * record of every type, in five lengths; one whose names are not text; one with invalid NVTX
 * ranges; two spools; and two live pages.
 */
#include <stdarg.h>
#include <sys/stat.h>
#include "tests/live/page.h"
#include "tests/unit/mktrace.h"

static char path[4096];
static const char *corpus;

__attribute__((format(printf, 1, 2))) static FILE *create(const char *format, ...)
{
	size_t n = (size_t)snprintf(path, sizeof(path), "%s/", corpus);
	va_list ap;
	FILE *file;

	va_start(ap, format);
	vsnprintf(path + n, sizeof(path) - n, format, ap);
	va_end(ap);
	file = fopen(path, "wb");
	MK_NEED(file);
	return file;
}

static void put(FILE *file, const void *bytes, size_t n)
{
	MK_NEED(fwrite(bytes, 1, n, file) == n);
}

/* ---- a trace with everything in it ---- */

static void objects(struct mk *m)
{
	struct nvs_rec_cpu_map *c;
	struct nvs_rec_gpu_map *g;
	struct nvs_rec_object *o;
	struct nvs_rec_gpu *gpu = mk_rec(m, NVS_REC_GPU, sizeof(*gpu));

	gpu->architecture = 0x180;
	strcpy(gpu->name, "NVIDIA H200");
	o = mk_rec(m, NVS_REC_OBJECT, sizeof(*o) + 16);
	o->client = o->parent = 0xc1000001;
	o->handle = 0x5c000001;
	o->object_class = 0xc661;
	o->params_length = 16;
	c = mk_rec(m, NVS_REC_CPU_MAP, sizeof(*c));
	c->map = 1;
	c->kind = NVS_MAP_DOORBELL;
	c->address = 0x7f0000000000;
	c->size = 65536;
	g = mk_rec(m, NVS_REC_GPU_MAP, sizeof(*g));
	g->map = 1;
	g->address = 0x200000000;
	g->size = 1 << 20;
	mk_channel(m, 0);
	mk_channel(m, 1)->entries = 0;
}

static void named(struct mk *m, uint32_t module, uint64_t address, const char *text)
{
	struct nvs_rec_name *rec = mk_rec(m, NVS_REC_NAME, sizeof(*rec) + strlen(text));

	rec->module = module;
	rec->address = address;
	rec->line = 12;
	rec->offset = rec->exported_offset = 16;
	rec->exported_length = 6;
	rec->file_length = 4;
	rec->name_length = (uint16_t)(strlen(text) - 10);
	memcpy(rec->text, text, strlen(text));
}

static void module(struct mk *m)
{
	static const char name[] = "/nowhere/libcuda.so.1";
	static const uint64_t pcs[] = {0x7f1000001010, 0x7f1000002020, 0x400000};
	struct nvs_rec_module *rec = mk_rec(m, NVS_REC_MODULE,
					    sizeof(*rec) + 20 + sizeof(name) - 1);

	rec->build_id_length = 20;
	rec->path_length = sizeof(name) - 1;
	rec->bias = rec->start = 0x7f1000000000;
	rec->end = rec->start + 0x10000;
	memcpy(rec->tail + 20, name, sizeof(name) - 1);
	mk_stack(m, 0, 3, pcs);
	named(m, 0, 0x1010, "launchcuLaunax.c");
	named(m, 0, 0x201f, "_ZN2ns1fEicuInitax.c");
	named(m, NVS_NONE, 0x3fffff, "py::madecuInitax.c");
}

static void in_pieces(struct mk *m)
{
	struct nvs_rec_submission *s = mk_rec(m, NVS_REC_SUBMISSION,
					      sizeof(*s) + sizeof(s->entries[0]));
	uint64_t sequence = m->channel[0].sequence++;

	s->rec.flags = NVS_SUB_MORE;
	s->sequence = sequence;
	s->old_put = m->channel[0].put;
	s->new_put = m->channel[0].put = (s->old_put + 1) % 1024;
	s->stack = NVS_NONE;
	s->nentries = 1;
	s->entries[0].entry = mk_entry(0x200800000, 4);
	s->entries[0].state = NVS_SEG_FOLLOWS;
	s->entries[0].bytes = 16;
	for (uint32_t i = 0; i < 2; i++) {
		struct nvs_rec_data *d = mk_rec(m, NVS_REC_DATA, sizeof(*d) + 8);

		d->rec.flags = i ? NVS_DATA_LAST : 0;
		d->sequence = sequence;
		d->bytes = 8;
		d->offset = i * 8;
	}
}

static void api(struct mk *m, uint32_t number, const char *text, uint32_t length, uint32_t nargs)
{
	struct nvs_rec_api *rec = mk_rec(m, NVS_REC_API, sizeof(*rec) + length);

	rec->api = number;
	rec->nargs = nargs;
	rec->length = length;
	memcpy(rec->text, text, length);
}

static void call(struct mk *m, uint32_t number, uint32_t depth, uint32_t nargs,
		 const uint64_t *args)
{
	struct nvs_rec_call *rec = mk_rec(m, NVS_REC_CALL, sizeof(*rec) + nargs * 8 + 4);

	rec->api = number;
	rec->depth = (uint16_t)depth;
	rec->nargs = (uint16_t)nargs;
	rec->bytes = 4;
	memcpy(rec->args, args, nargs * sizeof(*args));
	memcpy(rec->args + nargs, "k\033\"", 4);
}

/* A name for a function, a copy that submits inside another call, a launch, and one of a graph. */
static void calls(struct mk *m)
{
	static const uint64_t name[] = {0xf00, 4 | 4ull << 32}, copy[] = {0x7f00, 64, 0x5000},
			      exec[] = {0x6000};
	struct nvs_rec_call_begin *begin;
	struct nvs_rec_kernel *kernel;
	struct nvs_rec_graph_edges *edges;
	struct nvs_rec_graph *graph;

	api(m, 0, "cuModuleGetFunction\0module\0hfunc:function\0name:str", 51, 2);
	api(m, 1, "cuMemcpyHtoDAsync_v2\0copy\0srcHost:ptr\0ByteCount:u64\0hStream:stream", 67, 3);
	api(m, 2, "cuGraphLaunch\0graph-launch\0hGraphExec:exec", 43, 1);
	api(m, 3, "cuLaunchKernel\0launch\0f:function", 33, 1);
	call(m, 0, 1, 2, name);
	kernel = mk_rec(m, NVS_REC_KERNEL, sizeof(*kernel) + 8);
	kernel->function = 0xf00;
	kernel->length = 8;
	memcpy(kernel->name, "_Z1fv\t\0", 8);
	graph = mk_rec(m, NVS_REC_GRAPH, sizeof(*graph) + sizeof(graph->nodes[0]));
	graph->exec = 0x6000;
	graph->event = NVS_GRAPH_INSTANTIATED;
	graph->nnodes = 1;
	graph->nodes[0].function = 0xf00;
	edges = mk_rec(m, NVS_REC_GRAPH_EDGES, sizeof(*edges) + sizeof(edges->edges[0]));
	edges->exec = 0x6000;
	edges->nedges = 1;
	graph = mk_rec(m, NVS_REC_GRAPH, sizeof(*graph));
	graph->rec.flags = NVS_GRAPH_LAST;
	graph->exec = 0x6000;
	graph->event = NVS_GRAPH_INSTANTIATED;
	graph->first = 1;
	for (uint32_t depth = 1; depth < 3; depth++) {
		begin = mk_rec(m, NVS_REC_CALL_BEGIN, sizeof(*begin));
		begin->api = 3 - depth;
		begin->begin = begin->rec.time;
		begin->depth = depth;
		mk_simple(m, 0, 0, 5)->rec.flags |= (uint16_t)(depth << NVS_SUB_CALL_SHIFT);
	}
	call(m, 1, 2, 3, copy);
	call(m, 2, 1, 1, exec);
	call(m, 3, 1, 1, name);
}

/* What says something went wrong, and what goes. */
static void troubles(struct mk *m)
{
	struct nvs_rec_gap *gap = mk_rec(m, NVS_REC_GAP, sizeof(*gap));
	struct nvs_rec_check *check;
	struct nvs_rec_remark *remark;
	struct nvs_rec_sm_error *error;
	struct nvs_rec_clock *clock;

	gap->sequence = m->channel[0].sequence++;
	gap->submissions = 1;
	gap->reason = NVS_GAP_DROPPED;
	gap->old_put = m->channel[0].put;
	gap->new_put = m->channel[0].put = gap->old_put + 1;
	mk_rec(m, NVS_REC_ORPHAN, sizeof(struct nvs_rec_orphan));
	check = mk_rec(m, NVS_REC_CHECK, sizeof(*check));
	check->kind = NVS_CHECK_HANDLER;
	check->value = 1;
	remark = mk_rec(m, NVS_REC_REMARK, sizeof(*remark));
	remark->kind = NVS_REMARK_IMPORTED;
	clock = mk_rec(m, NVS_REC_CLOCK, sizeof(*clock));
	clock->mono_ns = m->time + 1;
	clock->real_ns = 1700000000ull * 1000000000;
	mk_rec(m, NVS_REC_IOCTL, sizeof(struct nvs_rec_ioctl));
	mk_fault(m, 0, 13);
	memset(mk_fault_memory(m, 0, 0x204600000, 64)->data, 1, 64);
	mk_sm_error(m, 0, 0, 100, 0);
	error = mk_sm_error(m, 0, 100, 32, 2);
	error->sms[0] = (struct nvs_sm_error){
		.sm = 124, .warp_esr = 0x0502000f, .address = 0x7f0000001001, .pc = 0x7f0000200050};
	error->sms[1] = (struct nvs_sm_error){.sm = 125, .global_esr = 0x20};
	mk_rec(m, 99, 32); /* of a newer writer */
	mk_rec(m, NVS_REC_PAD, 24);
}

static void ends(struct mk *m)
{
	((struct nvs_rec_cpu_map_gone *)mk_rec(m, NVS_REC_CPU_MAP_GONE,
					       sizeof(struct nvs_rec_cpu_map_gone)))
		->map = 1;
	((struct nvs_rec_gpu_map_gone *)mk_rec(m, NVS_REC_GPU_MAP_GONE,
					       sizeof(struct nvs_rec_gpu_map_gone)))
		->map = 1;
	mk_rec(m, NVS_REC_MODULE_GONE, sizeof(struct nvs_rec_module_gone));
	mk_rec(m, NVS_REC_OBJECT_GONE, sizeof(struct nvs_rec_object_gone));
	mk_channel_gone(m, 0);
	mk_channel_gone(m, 1);
	mk_end(m);
}

/* Puts WITH where WHAT stands, which is as long. */
static void change(struct mk *m, const char *what, const char *with, size_t n)
{
	void *at = memmem(m->buf, m->len, what, n);

	MK_NEED(at);
	memcpy(at, with, n);
}

/* Names with what JSON and CSV have to quote, and with bytes that belong to no character: alone,
 * behind one, cut. */
static void spoil(struct mk *m)
{
	change(m, "a\0\033[31mb", "\xc3\xa9\x80\0\"\\,\xe2", 8);
	change(m, "ho\nst", "\xc3\xa9\x80\xbf\r", 5);
	change(m, "thr\007ead", "\xc3\xa9\x80\",\\\xf0\x9f", 8);
	change(m, "libcuda.so.1", "\xc3\xa9\x80\xbf\xbf\xbf.so\xe2\x80\xff", 12);
	change(m, "cuGraphLaunch", "\xe2\x80\xa6\x80\x80raphL\xc0\xaf\"", 13);
	change(m, "cuLaunchKernel", "\xed\xa0\x80LaunchKe,\xf0\x9f\x98", 14);
	change(m, "ByteCount", "\xc3\xa9\x80\"Count", 9);
	change(m, "_Z1fv\t", "\xc3\xa9\x80\"\\\xf4", 6);
	change(m, "k\033\"", "\xa9\x80\"", 3);
}

/* The stream up to and with PARTS of it; written as it stands and with each choice of the report.
 *  */
static void trace(uint32_t parts)
{
	static const uint32_t dwords[] = {4, 0, 9};
	static const uint32_t words[] = {0x20010000, 0xcbc0, 0x20022062, 0, 0x200800, 0x80000000};
	struct nvs_rec_submission *s;
	struct mk m = {.time = 1000};
	FILE *file;

	for (int i = 0; i < 16; i++)
		m.session[i] = (uint8_t)(17 * i + 1);
	mk_frame_begin(&m, 0, NULL);
	mk_header(&m);
	mk_attr(&m, NVS_ATTR_COMMAND, "a\0\033[31mb\0", 9);
	mk_attr(&m, NVS_ATTR_HOST, "ho\nst", 5);
	mk_thread(&m, 0, 100, "thr\007ead");
	objects(&m);
	if (parts > 1)
		module(&m);
	s = mk_submission(&m, 0, 0, parts > 1 ? 0 : NVS_NONE, 3, dwords, 1);
	memcpy(s->entries + 3, words, sizeof(words));
	if (parts > 2)
		in_pieces(&m);
	mk_simple(&m, 1, 1, 6);
	if (parts > 3) {
		calls(&m);
		troubles(&m);
	}
	if (parts > 4)
		ends(&m);
	put(file = create("trace/made-%u", parts), m.buf, m.len);
	fclose(file);
	for (unsigned choice = 0; choice < 3 * 15; choice++) {
		if (parts < 5 && choice % 5 != parts)
			continue;
		put(file = create("report/made-%u-%u", parts, choice), m.buf, m.len);
		fputc((int)choice, file);
		fclose(file);
	}
	for (unsigned choice = 0x70; parts == 5 && choice < 0x78; choice++) {
		put(file = create("report/export-%u-%u", parts, choice), m.buf, m.len);
		fputc((int)choice, file);
		fclose(file);
	}
	/* As JSON, and some as CSV, which is all made in one place. */
	if (parts == 5)
		spoil(&m);
	for (unsigned choice = 15; parts == 5 && choice < 3 * 15; choice += choice < 30 ? 1 : 5) {
		put(file = create("report/spoilt-%u", choice), m.buf, m.len);
		fputc((int)choice, file);
		fclose(file);
	}
	mk_close(&m);
}

/* ---- instructions ---- */

static void counter(struct mk *m, uint32_t number, const char *name, const char *why)
{
	struct nvs_rec_counter *rec = mk_rec(m, NVS_REC_COUNTER,
					     sizeof(*rec) + strlen(name) + strlen(why));

	rec->rec.flags = *why ? 0 : NVS_COUNT_WARP | NVS_COUNT_THREAD;
	rec->counter = number;
	rec->instructions = 40;
	rec->length = (uint32_t)strlen(name);
	rec->reason_length = (uint32_t)strlen(why);
	memcpy(rec->text, name, rec->length);
	memcpy(rec->text + rec->length, why, rec->reason_length);
}

static void count(struct mk *m, uint32_t flags, uint32_t thread, uint32_t cause, uint32_t n)
{
	struct nvs_rec_count *rec = mk_rec(m, NVS_REC_COUNT,
					   sizeof(*rec) + n * sizeof(rec->counts[0]));

	rec->rec.flags = (uint16_t)flags;
	rec->thread = thread;
	rec->cause = cause;
	rec->number = 3;
	rec->ncounts = n;
	for (uint32_t i = 0; i < n; i++)
		rec->counts[i] = (struct nvs_count){.counter = i,
						    .flags = i == 2 ? NVS_COUNT_WRAPPED : 0,
						    .warp = UINT64_MAX / 2,
						    .thread = 1ull << 60};
}

/* Kernels that count, that do not, and of no name; readings behind a launch and a graph's, in two
 * records, of a counter that there is not, and one that failed. */
static void instructions(void)
{
	struct mk m = {.time = 1000};
	FILE *file;

	mk_frame_begin(&m, 0, NULL);
	mk_header(&m);
	mk_thread(&m, 0, 100, "app");
	mk_channel(&m, 0);
	counter(&m, 0, "_Z1fv\t", "");
	counter(&m, 1, "_Z1gv", "it calls by table");
	counter(&m, NVS_NONE, "", "it has no code for this GPU");
	counter(&m, 2, "_Z1fv\t", "");
	calls(&m);
	count(&m, NVS_COUNT_MORE, 0, NVS_COUNT_LAUNCH, 1);
	count(&m, 0, 0, NVS_COUNT_LAUNCH, 3);
	count(&m, NVS_COUNT_UNREAD, NVS_NONE, NVS_COUNT_SYNC, 0);
	count(&m, 0, NVS_NONE, NVS_COUNT_EXIT, 5);
	mk_end(&m);
	put(file = create("trace/counts"), m.buf, m.len);
	fclose(file);
	/* As many reports as there are, once at least: a few of them tell of it. */
	for (unsigned choice = 0; choice < 3 * 15; choice++) {
		put(file = create("report/counts-%u", choice), m.buf, m.len);
		fputc((int)choice, file);
		fclose(file);
	}
	mk_close(&m);
}

/* ---- code ---- */

/* In two pieces, once more, and one that is cut. */
static void images(void)
{
	struct mk m = {.time = 1000};
	struct nvs_rec_image *image;
	FILE *file;

	mk_frame_begin(&m, 0, NULL);
	mk_header(&m);
	for (uint32_t i = 0; i < 4; i++) {
		image = mk_rec(&m, NVS_REC_IMAGE, sizeof(*image) + (i != 2) * 16);
		image->rec.flags = i == 1 ? NVS_IMAGE_LAST : NVS_IMAGE_LOAD;
		image->image = i == 3;
		image->size = image->given = 32;
		image->offset = i == 1 ? 16 : 0;
		image->bytes = i != 2 ? 16 : 0;
		image->kind = NVS_CODE_PTX;
	}
	put(file = create("trace/images"), m.buf, m.len);
	fclose(file);
	mk_close(&m);
}

/* ---- ranges and marks ---- */

static void name(struct mk *m, uint32_t kind, uint32_t number, uint32_t domain, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);
	struct nvs_rec_nvtx_name *rec = mk_rec(m, NVS_REC_NVTX_NAME, sizeof(*rec) + length);

	rec->kind = kind;
	rec->number = number;
	rec->domain = domain;
	rec->length = length;
	memcpy(rec->text, text, length);
}

static struct nvs_rec_nvtx *event(struct mk *m, uint32_t type, uint32_t flags, uint32_t domain,
				  uint64_t id, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);
	struct nvs_rec_nvtx *rec = mk_rec(m, (uint16_t)type, sizeof(*rec) + length);

	rec->rec.flags = (uint16_t)flags;
	rec->domain = domain;
	rec->id = id;
	rec->length = length;
	memcpy(rec->text, text, length);
	return rec;
}

static void range_ends(struct mk *m, uint32_t flags, uint32_t domain, uint64_t id)
{
	struct nvs_rec_nvtx_end *rec = mk_rec(m, NVS_REC_NVTX_END, sizeof(*rec));

	rec->rec.flags = (uint16_t)flags;
	rec->domain = domain;
	rec->id = id;
}

/* Names that are odd, a thread that is known by its tid alone, ends that are missing, come twice or
 * lie, and depths that do. */
static void nvtx(void)
{
	enum { PUSH = NVS_NVTX_PUSHED | NVS_NVTX_DEPTH };
	struct nvs_rec_nvtx *rec;
	struct mk m = {.time = 1000};
	FILE *file;

	mk_frame_begin(&m, 0, NULL);
	mk_header(&m);
	mk_channel(&m, 0);
	name(&m, NVS_NVTX_DOMAIN, 1, 0, "do\033main,\"");
	name(&m, NVS_NVTX_STRING, 7, 1, "\xc3\xa9\x80\"\\,/");
	name(&m, NVS_NVTX_CATEGORY, 3, 1, "\xf0\x9f\n");
	name(&m, NVS_NVTX_LOST, 5, 0, "");
	name(&m, 99, NVS_NONE, NVS_NONE, "?");
	rec = event(&m, NVS_REC_NVTX_BEGIN, PUSH, 0, 0, "early");
	rec->thread = NVS_NONE;
	rec->tid = 100;
	rec->at = 900;
	mk_thread(&m, 0, 100, "main");
	rec = event(&m, NVS_REC_NVTX_BEGIN, PUSH | NVS_NVTX_COLOR, 1, 0, "");
	rec->string = 7;
	rec->category = 3;
	rec->payload_type = NVS_NVTX_PAYLOAD_DOUBLE;
	rec->payload = 0x7ff8000000000001;
	event(&m, NVS_REC_NVTX_BEGIN, PUSH, 0, 1, "inner")->payload_type = NVS_NVTX_PAYLOAD_SIGNED;
	calls(&m);
	event(&m, NVS_REC_NVTX_MARK, 0, 0, 0, "mark\r")->payload_type = 77;
	event(&m, NVS_REC_NVTX_BEGIN, PUSH, 0, UINT64_MAX, "far");
	event(&m, NVS_REC_NVTX_BEGIN, PUSH, 0, 1, "inner");
	range_ends(&m, PUSH, 0, 1);
	range_ends(&m, PUSH, 0, 1);
	range_ends(&m, PUSH, 0, UINT64_MAX);
	range_ends(&m, NVS_NVTX_PUSHED, 40, 0);
	event(&m, NVS_REC_NVTX_BEGIN, NVS_NVTX_PUSHED, 40, 0, "no depth");
	mk_simple(&m, 0, 0, 5);
	range_ends(&m, NVS_NVTX_PUSHED, 40, 0);
	event(&m, NVS_REC_NVTX_BEGIN, 0, NVS_NONE, 5, "started")->thread = NVS_NONE - 1;
	event(&m, NVS_REC_NVTX_BEGIN, 0, 0, 6, "started");
	event(&m, NVS_REC_NVTX_BEGIN, 0, 0, 6, "twice");
	range_ends(&m, 0, 0, 6);
	range_ends(&m, 0, 0, 6);
	range_ends(&m, PUSH, 0, 0);
	put(file = create("trace/nvtx"), m.buf, m.len);
	fclose(file);
	for (unsigned choice = 0x70; choice < 0x78; choice++) {
		put(file = create("report/nvtx-export-%u", choice), m.buf, m.len);
		fputc((int)choice, file);
		fclose(file);
	}
	/* The reports that tell of ranges, and those beside them, in each form. */
	for (unsigned choice = 0; choice < 3 * 19; choice++) {
		if (choice % 19 < 9 || choice % 19 > 14)
			continue;
		put(file = create("report/nvtx-%u", choice), m.buf, m.len);
		fputc((int)choice, file);
		fclose(file);
	}
	mk_close(&m);
}

/* ---- a spool, as fuzz_spool.c takes it ---- */

static void spool(bool with_trace)
{
	struct nvs_spool head = {.magic = NVS_SPOOL_MAGIC,
				 .version = NVS_SPOOL_VERSION,
				 .kind = NVS_SPOOL_BUFFERS,
				 .buffers = 2,
				 .buffer_bytes = 4096,
				 .buffer_offset = 8192,
				 .channel_offset = 4096,
				 .channels = 2,
				 .clock_mono_ns = {1000, 0}};
	struct nvs_spool_channel channels[4] = {
		{.channel = 0, .claim = 9ull << NVS_PUT_BITS | 9},
		{.channel = 1, .lost = 2, .lost_reason = NVS_GAP_DROPPED}};
	struct mk m = {.time = 1000};
	uint32_t length = 0;
	FILE *file = create("spool/made-%d", with_trace);

	for (int i = 0; i < 16; i++)
		m.session[i] = head.session[i] = (uint8_t)(17 * i + 1);
	mk_frame_begin(&m, 0, NULL);
	mk_header(&m);
	mk_channel(&m, 0);
	mk_simple(&m, 0, 0, 3);
	length = with_trace ? (uint32_t)m.len : 0;
	put(file, &length, 4);
	put(file, m.buf, length);
	put(file, &head, sizeof(head));
	put(file, channels, sizeof(channels));
	put(file, (char[256 - sizeof(channels) % 256]){0},
	    sizeof(channels) < 256 ? 256 - sizeof(channels) : 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct nvs_spool_buffer buffer = {
			.buffer = i, .thread = i, .tid = 100 + i, .generation = 1};

		m.len = 0;
		if (!with_trace && !i)
			mk_header(&m);
		mk_thread(&m, i, 100 + i, "x");
		mk_simple(&m, i, i, 5);
		mk_simple(&m, i, i, 4000 / 4 - 300);
		buffer.head = m.len;
		buffer.rung = m.len / 2 & ~7ull;
		put(file, &buffer, sizeof(buffer));
		put(file, m.buf, m.len);
		put(file, (char[4096]){0}, i ? 0 : 4096 - m.len);
	}
	fclose(file);
	mk_close(&m);
}

/* Bare dwords: two methods of a class, data, one that is not known, and a header that is none. */
static void raw(void)
{
	static const uint32_t words[] = {
		0x20012000, 0xcbc0,	0x20022062, 0, 0x200800,   0x60042000 | 0x1b4 / 4,
		1,	    2,		3,	    4, 0x2001a040, 7,
		0x80012040, 0xe0000000, 0x20082000};
	FILE *file;

	for (int json = 0; json < 2; json++) {
		put(file = create("report/raw-%d", json), words, sizeof(words));
		fputc(0x7e + json, file);
		fclose(file);
	}
}

/* ---- live pages: one with everything in it, and an empty one ---- */

static void live(void)
{
	static struct live_page page;
	FILE *file;

	live_clock_stands = 900000000000;
	live_page_example(&page, 1, 10);
	page.head.start_time = page.head.pid_namespace = page.head.uid = 0;
	memset(page.head.boot, 0, sizeof(page.head.boot));
	file = create("live/example");
	put(file, &page, sizeof(page));
	fclose(file);
	live_page_init(&page, 1);
	page.head.start_time = page.head.pid_namespace = page.head.uid = 0;
	memset(page.head.boot, 0, sizeof(page.head.boot));
	file = create("live/empty");
	put(file, &page, sizeof(page.head));
	fclose(file);
}

int main(int argc, char **argv)
{
	static const char *const folders[] = {"", "trace", "report", "spool", "live"};

	if (argc != 2) {
		fprintf(stderr, "usage: mkseeds CORPUS\n");
		return 2;
	}
	corpus = argv[1];
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", corpus, folders[i]);
		mkdir(path, 0777);
	}
	for (uint32_t parts = 1; parts <= 5; parts++)
		trace(parts);
	instructions();
	images();
	nvtx();
	raw();
	spool(false);
	spool(true);
	live();
	return 0;
}
