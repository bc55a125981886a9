/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/* The reader, with correct traces: model, order within a channel, pieces, gaps, chains, totals. */
#include <errno.h>
#include "decode/trace/stream.h"
#include "nvsnoop/decode.h"
#include "tests/unit/mktrace.h"

static int passed, failed;
static char dir[] = "/tmp/nvsnoop-reader-XXXXXX";
static char path[256];

#define CHECK(x)                                                       \
	do {                                                           \
		if (x) {                                               \
			passed++;                                      \
		} else {                                               \
			failed++;                                      \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #x); \
		}                                                      \
	} while (0)

/* What a pass over the trace hands out. */
struct seen {
	uint32_t n;
	struct {
		uint32_t thread, channel, marks, nentries;
		uint64_t sequence, number;
		size_t ndata;
		uint32_t first, last; /* dwords of the data */
		uint32_t state; /* of the first entry */
	} s[512];
	uint32_t records[64];
	uint64_t data_bytes;
	int stop_at;
};

static int on_submission(void *arg, struct nvs_trace *t, const struct nvs_submission *s)
{
	struct seen *seen = arg;
	const uint32_t *words = (const uint32_t *)(const void *)s->data;
	uint32_t i = seen->n++;

	if (i >= 512)
		return -E2BIG;
	seen->s[i].thread = s->thread->thread;
	seen->s[i].channel = s->channel->channel;
	seen->s[i].marks = s->marks;
	seen->s[i].nentries = s->nentries;
	seen->s[i].sequence = s->rec->sequence;
	seen->s[i].number = s->number;
	seen->s[i].ndata = s->ndata;
	seen->s[i].first = s->ndata ? words[0] : 0;
	seen->s[i].last = s->ndata ? words[s->ndata / 4 - 1] : 0;
	seen->s[i].state = s->nentries ? s->entries[0].state : 99;
	return seen->stop_at && seen->n == (uint32_t)seen->stop_at ? 7 : 0;
}

static int on_record(void *arg, struct nvs_trace *t, const struct nvs_rec *rec)
{
	struct seen *seen = arg;

	if (rec->type < 64)
		seen->records[rec->type]++;
	if (rec->type == NVS_REC_DATA)
		seen->data_bytes += ((const struct nvs_rec_data *)rec)->bytes;
	return 0;
}

static const struct nvs_stream_consumer whole = {NVS_READ_WHOLE, on_submission, on_record};
static const struct nvs_stream_consumer streaming = {0, on_submission, on_record};

static struct nvs_trace *open_trace(void)
{
	struct nvs_error err = {""};
	struct nvs_trace *t = NULL;
	int r = nvs_trace_open(&t, path, NULL, &err);

	if (r)
		printf("%s\n", err.text);
	CHECK(!r);
	if (r)
		exit(1);
	return t;
}

static int read_trace(struct nvs_trace *t, const struct nvs_stream_consumer *c, struct seen *seen)
{
	struct nvs_error err = {""};
	int r;

	memset(seen, 0, sizeof(*seen));
	r = nvs_stream_read(t, c, seen, &err);
	if (r < 0)
		printf("read: %s\n", err.text);
	return r;
}

static bool has_finding(struct nvs_trace *t, const char *text)
{
	const struct nvs_finding *f;

	for (uint32_t i = 0; (f = nvs_trace_finding(t, i)); i++)
		if (strstr(f->text, text))
			return true;
	return false;
}

static void print_findings(struct nvs_trace *t)
{
	const struct nvs_finding *f;

	for (uint32_t i = 0; (f = nvs_trace_finding(t, i)); i++)
		printf("  %s\n", f->text);
}

/* ---- what a trace says ---- */

static void test_model(void)
{
	static const uint64_t pcs[] = {0x7000000000001000, 0x7000000000002000, 0x400123};
	struct nvs_rec_module *module;
	struct nvs_rec_object *object;
	struct nvs_rec_gpu_map *map;
	struct nvs_rec_gpu *gpu;
	struct nvs_trace *t;
	struct seen seen;
	struct mk m;
	int64_t ns;

	mk_open(&m, path);
	mk_attr(&m, NVS_ATTR_COMMAND, "./app\0a b", 9);
	mk_attr(&m, NVS_ATTR_HOST, "host", 4);
	gpu = mk_rec(&m, NVS_REC_GPU, sizeof(*gpu));
	gpu->gpu = 3;
	memset(gpu->name, 'x', sizeof(gpu->name));
	mk_thread(&m, 0, 77, "a-name-of-16-byt");
	module = mk_rec(&m, NVS_REC_MODULE, sizeof(*module) + 20 + 5);
	module->build_id_length = 20;
	module->path_length = 5;
	module->start = 0x400000;
	module->end = 0x500000;
	memcpy(module->tail + 20, "/a/bc", 5);
	mk_stack(&m, 9, 3, pcs);
	object = mk_rec(&m, NVS_REC_OBJECT, sizeof(*object) + 3);
	object->client = 1;
	object->handle = 2;
	object->parent = 1;
	object->object_class = 0xcbc0;
	object->params_length = 3;
	memcpy(object->params, "abc", 3);
	for (uint32_t i = 0; i < 100; i++) {
		/* Every second page, in a scrambled order. */
		uint64_t at = i * 37 % 100;

		map = mk_rec(&m, NVS_REC_GPU_MAP, sizeof(*map));
		map->map = i;
		map->vaspace = at % 3 ? 5 : 0;
		map->address = 0x100000 + at * 0x2000;
		map->size = 0x1000;
	}
	mk_channel(&m, 0);
	mk_simple(&m, 0, 0, 4);
	mk_channel_gone(&m, 0);
	mk_rec(&m, 250, 64); /* of a type that is not known */
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);

	t = open_trace();
	CHECK(read_trace(t, &whole, &seen) == 0);
	CHECK(nvs_trace_problems(t) == 0);
	print_findings(t);
	CHECK(seen.n == 1 && seen.s[0].ndata == 16 && seen.s[0].first == 4 && seen.s[0].last == 7);
	CHECK(nvs_trace_session(t)->end == NVS_END_ORDERLY);
	CHECK(nvs_trace_session(t)->unknown_records == 1);
	CHECK(nvs_trace_session(t)->attr_length[NVS_ATTR_COMMAND] == 9);
	CHECK(!memcmp(nvs_trace_session(t)->attr[NVS_ATTR_COMMAND], "./app\0a b", 10));
	CHECK(!strcmp(nvs_trace_thread_at(t, 0)->name, "a-name-of-16-by"));
	CHECK(nvs_trace_thread_at(t, 0)->tid == 77 && !nvs_trace_thread_at(t, 1));
	CHECK(!strcmp(nvs_trace_module_at(t, 0)->path, "/a/bc"));
	CHECK(nvs_trace_stack_at(t, 9)->nframes == 3 &&
	      nvs_trace_stack_at(t, 9)->pc[2] == 0x400123);
	CHECK(strlen(nvs_trace_gpu(t, 3)->name) == 63 && !nvs_trace_gpu(t, 0));
	CHECK(nvs_trace_object(t, 1, 2)->object_class == 0xcbc0);
	CHECK(!memcmp(nvs_trace_object(t, 1, 2)->params, "abc", 3));
	CHECK(!nvs_trace_object(t, 2, 1));
	for (uint32_t at = 0; at < 100; at++) {
		uint64_t a = 0x100000 + at * 0x2000;
		const struct nvs_mapping *found = nvs_trace_gpu_map(t, 5, a + 0xfff);

		CHECK(found && found->address == a);
		CHECK(!nvs_trace_gpu_map(t, 5, a + 0x1000));
		CHECK(!nvs_trace_gpu_map(t, 0, a) == !!(at % 3));
	}
	CHECK(nvs_clock_since_start(t, nvs_trace_session(t)->first_time + 123, &ns) && ns == 123);
	CHECK(nvs_clock_since_start(t, nvs_trace_session(t)->first_time + INT64_MAX, &ns) &&
	      ns == INT64_MAX / 2);
	CHECK(nvs_clock_since_start(t, nvs_trace_session(t)->first_time + INT64_MAX + 9, &ns) &&
	      ns == -(INT64_MAX / 2));
	/* A second pass hands out the same, and knows what the first has learnt. */
	CHECK(read_trace(t, &whole, &seen) == 0 && seen.n == 1 && nvs_trace_problems(t) == 0);
	CHECK(nvs_trace_session(t)->counts.submissions == 1);
	nvs_trace_close(t);
}

static void test_gone(void)
{
	struct nvs_rec_object_gone *gone;
	struct nvs_rec_gpu_map_gone *unmap;
	struct nvs_rec_object *object;
	struct nvs_rec_gpu_map *map;
	struct nvs_trace *t;
	struct seen seen;
	struct mk m;

	mk_open(&m, path);
	for (uint32_t i = 0; i < 200; i++) {
		object = mk_rec(&m, NVS_REC_OBJECT, sizeof(*object));
		object->client = 1;
		object->handle = i;
		map = mk_rec(&m, NVS_REC_GPU_MAP, sizeof(*map));
		map->map = i;
		map->address = (i * 7919 % 200) * 4096;
		map->size = 4096;
	}
	for (uint32_t i = 0; i < 200; i += 2) {
		gone = mk_rec(&m, NVS_REC_OBJECT_GONE, sizeof(*gone));
		gone->client = 1;
		gone->handle = i;
		unmap = mk_rec(&m, NVS_REC_GPU_MAP_GONE, sizeof(*unmap));
		unmap->map = i;
	}
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);
	t = open_trace();
	CHECK(read_trace(t, &whole, &seen) == 0);
	for (uint32_t i = 0; i < 200; i++) {
		CHECK(!nvs_trace_object(t, 1, i) == !(i & 1));
		CHECK(!nvs_trace_gpu_map(t, 0, (i * 7919 % 200) * 4096 + 5) == !(i & 1));
	}
	nvs_trace_close(t);
}

static void test_clock(void)
{
	struct nvs_rec_clock *c;
	struct nvs_trace *t;
	struct seen seen;
	uint64_t ns;
	struct mk m;

	mk_open(&m, path);
	((struct nvs_rec_header *)(m.buf + sizeof(struct nvs_rec_frame)))->clock = NVS_CLOCK_TSC;
	for (uint64_t i = 0; i < 10000; i++) {
		c = mk_rec(&m, NVS_REC_CLOCK, sizeof(*c));
		c->rec.time = 1000 + i * 300;
		c->mono_ns = 5000 + i * 100;
		c->real_ns = 1000000 + i * 100;
	}
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);
	t = open_trace();
	CHECK(read_trace(t, &whole, &seen) == 0);
	CHECK(nvs_clock_mono(t, 1000 + 300 * 7 + 150, &ns) && ns == 5750);
	CHECK(nvs_clock_real(t, 1000 + 300 * 9999, &ns) && ns == 1000000 + 999900);
	CHECK(nvs_clock_mono(t, 1000 + 300 * 20000, &ns) && ns == 5000 + 2000000);
	CHECK(nvs_clock_mono(t, 700, &ns) && ns == 4900);
	nvs_trace_close(t);
}

/* ---- order and pieces ---- */

static struct nvs_rec_data *data(struct mk *m, uint32_t thread, uint32_t channel, uint64_t sequence,
				 uint32_t entry, uint64_t offset, uint32_t n)
{
	struct nvs_rec_data *d = mk_rec(m, NVS_REC_DATA, sizeof(*d) + n);

	d->thread = thread;
	d->channel = channel;
	d->sequence = sequence;
	d->entry = entry;
	d->bytes = n;
	d->offset = offset;
	for (uint32_t i = 0; i < n / 4; i++)
		((uint32_t *)(void *)d->data)[i] = (uint32_t)offset / 4 + i;
	return d;
}

/* A submission: 8 dwords here, 4096 that follow, 8 here, 2048 that follow. */
static void begin_pieces(struct mk *m, uint32_t thread, uint32_t channel)
{
	static const uint32_t dwords[] = {8, 8};
	struct nvs_rec_submission *s;
	struct nvs_gp_entry here[2];
	uint32_t words[16], at = (uint32_t)m->len;

	s = mk_submission(m, thread, channel, NVS_NONE, 2, dwords, 100);
	memcpy(here, s->entries, sizeof(here));
	memcpy(words, s->entries + 2, sizeof(words));
	/* Room for two more entries. */
	mk_rec(m, 0, 32);
	s = (struct nvs_rec_submission *)(m->buf + at);
	s->rec.size += 32;
	s->rec.flags = NVS_SUB_MORE;
	s->nentries = 4;
	s->new_put = m->channel[channel].put = (s->old_put + 4) % 1024;
	s->entries[0] = here[0];
	s->entries[1] = (struct nvs_gp_entry){mk_entry(0x300000000, 4096), NVS_SEG_FOLLOWS, 16384};
	s->entries[2] = here[1];
	s->entries[3] = (struct nvs_gp_entry){mk_entry(0x310000000, 2048), NVS_SEG_FOLLOWS, 8192};
	memcpy(s->entries + 4, words, sizeof(words));
	m->totals.entries += 2;
	m->totals.segments += 2;
	m->totals.bytes += 24576;
}

static void test_pieces(void)
{
	struct nvs_trace *t;
	struct seen seen;
	struct mk m;
	bool more;

	mk_open(&m, path);
	mk_thread(&m, 0, 1, "a");
	mk_thread(&m, 1, 2, "b");
	mk_channel(&m, 0);
	mk_channel(&m, 1);
	begin_pieces(&m, 0, 0);
	data(&m, 0, 0, 0, 1, 0, 8192);
	mk_simple(&m, 1, 1, 3); /* another thread, another channel: at once */
	mk_next_frame(&m);
	mk_simple(&m, 1, 0, 5); /* the same channel: after it */
	data(&m, 0, 0, 0, 1, 8192, 8192);
	data(&m, 0, 0, 0, 3, 0, 8192)->rec.flags = NVS_DATA_LAST;
	mk_simple(&m, 0, 0, 6);
	mk_channel_gone(&m, 0);
	mk_channel_gone(&m, 1);
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);

	t = open_trace();
	CHECK(read_trace(t, &whole, &seen) == 0);
	print_findings(t);
	CHECK(nvs_trace_problems(t) == 0);
	CHECK(seen.n == 4);
	CHECK(seen.s[0].channel == 1 && seen.s[1].channel == 0);
	for (uint32_t i = 1; i < 4; i++)
		CHECK(seen.s[i].sequence == i - 1 && seen.s[i].number == i);
	CHECK(seen.s[1].ndata == 64 + 24576 && seen.s[1].first == 100 && seen.s[1].last == 2047);
	CHECK(seen.records[NVS_REC_DATA] == 0);
	CHECK(nvs_trace_session(t)->counts.segments == 7);

	/* Streaming: at once, and the pieces as they come. */
	CHECK(read_trace(t, &streaming, &seen) == 0);
	CHECK(nvs_trace_problems(t) == 0);
	CHECK(seen.n == 4 && seen.s[0].channel == 0 && seen.s[0].ndata == 64);
	CHECK(seen.records[NVS_REC_DATA] == 3 && seen.data_bytes == 24576);
	CHECK(nvs_trace_session(t)->counts.bytes == 64 + 24576 + 14 * 4);
	nvs_trace_close(t);

	/* Pieces that never come, at the end and before the thread's next submission. */
	for (int last = 0; last < 2; last++) {
		mk_open(&m, path);
		mk_channel(&m, 0);
		begin_pieces(&m, 0, 0);
		data(&m, 0, 0, 0, 1, 0, 8192);
		more = !last;
		if (more)
			mk_simple(&m, 0, 0, 6);
		mk_end(&m);
		mk_frame_end(&m);
		mk_close(&m);
		t = open_trace();
		CHECK(read_trace(t, &whole, &seen) == 0);
		CHECK(seen.n == 1u + more && seen.s[0].marks & NVS_MARK_TORN);
		CHECK(seen.s[0].ndata == 64 && seen.s[0].last == 107);
		CHECK(has_finding(t, "incomplete"));
		CHECK(read_trace(t, &streaming, &seen) == 0);
		CHECK(has_finding(t, "incomplete"));
		nvs_trace_close(t);
	}
}

/* Two threads on one channel whose records come in the wrong order. */
static void test_order(void)
{
	struct nvs_trace *t;
	struct seen seen;
	struct mk m;
	uint32_t i;

	mk_open(&m, path);
	mk_channel(&m, 0);
	for (i = 0; i < 40; i++) {
		/* 1 0 3 2 5 4 ... */
		m.channel[0].sequence = i ^ 1;
		m.channel[0].put = i ^ 1;
		mk_simple(&m, i & 1, 0, 2);
	}
	m.channel[0].sequence = m.channel[0].put = 40;
	mk_channel_gone(&m, 0);
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);
	t = open_trace();
	CHECK(read_trace(t, &streaming, &seen) == 0);
	print_findings(t);
	CHECK(nvs_trace_problems(t) == 0 && seen.n == 40);
	for (i = 0; i < 40; i++)
		CHECK(seen.s[i].sequence == i);
	nvs_trace_close(t);

	/* One that never comes must not hold up the others for ever. */
	mk_open(&m, path);
	mk_channel(&m, 0);
	for (i = 0; i < 300; i++) {
		m.channel[0].sequence = m.channel[0].put = i + (i >= 10);
		mk_simple(&m, 0, 0, 2);
	}
	mk_channel_gone(&m, 0);
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);
	t = open_trace();
	CHECK(read_trace(t, &streaming, &seen) == 0);
	CHECK(seen.n == 300 && seen.s[10].sequence == 11 && seen.s[299].sequence == 300);
	CHECK(nvs_trace_problems(t) == 1);
	CHECK(has_finding(t, "channel 0: submissions 10 to 10 are missing"));
	nvs_trace_close(t);
}

/* ---- what --verify looks at: each case breaks one thing of a whole trace ---- */

enum broken {
	WHOLE,
	SEQUENCE,
	PUT,
	FINAL_PUT,
	LAST_PUT,
	COUNT,
	NO_GONE,
	GAP,
	ORPHAN,
	TOTALS,
	UNARMED,
	MAPS,
	NO_DOORBELL,
	NO_END,
	FRAME,
	ENTRIES,
	UNKNOWN_CHANNEL,
	RANGE,
	CASES
};

static const char *const expected[CASES] = {
	[SEQUENCE] = "submissions 3 to 3 are missing",
	[PUT] = "begins at PUT 9, but the previous one ended at 3",
	[FINAL_PUT] = "GP_PUT was 8 at its end, but the last one seen was 6",
	[LAST_PUT] = "the last PUT seen was 5, the last one recorded is 6",
	[COUNT] = "7 submissions were made, 6 are recorded",
	[NO_GONE] = "its final GP_PUT is not in the trace",
	[GAP] = "100 bytes at 0x123 lost (fault)",
	[ORPHAN] = "token 0x5 at mapping",
	[TOTALS] = "counted 7 submissions, the trace has 6",
	[UNARMED] = "could not be armed",
	[MAPS] = "2 doorbell mappings were not armed",
	[NO_DOORBELL] = "class c06f has no doorbell",
	[NO_END] = "the trace has no end record and no spool",
	[FRAME] = "frame 7 found where frame 1 was expected",
	[ENTRIES] = "PUT 3 to 4, but 2 entries",
	[UNKNOWN_CHANNEL] = "channel 1: its allocation is not in the trace",
};

static void add_broken_record(struct mk *m, enum broken how)
{
	struct nvs_rec_cpu_map *map;
	struct nvs_rec_orphan *orphan;
	struct nvs_rec_check *check;
	struct nvs_rec_gap *gap;

	if (how == GAP) {
		gap = mk_rec(m, NVS_REC_GAP, sizeof(*gap));
		gap->sequence = 1;
		gap->reason = NVS_GAP_FAULT;
		gap->bytes = m->totals.lost_bytes = 100;
		gap->address = 0x123;
		m->totals.gaps = 1;
	} else if (how == ORPHAN) {
		orphan = mk_rec(m, NVS_REC_ORPHAN, sizeof(*orphan));
		orphan->token = 5;
		m->totals.orphans = 1;
	} else if (how == UNARMED) {
		map = mk_rec(m, NVS_REC_CPU_MAP, sizeof(*map));
		map->kind = NVS_MAP_DOORBELL;
		map->rec.flags = NVS_MAP_UNARMED;
	} else if (how == MAPS) {
		check = mk_rec(m, NVS_REC_CHECK, sizeof(*check));
		check->kind = NVS_CHECK_MAPS;
		check->value = 2;
	}
}

static void make_broken(enum broken how)
{
	struct nvs_rec_channel_gone *gone;
	struct nvs_rec_channel *channel;
	struct nvs_rec_submission *s;
	struct mk m;

	mk_open(&m, path);
	channel = mk_channel(&m, 0);
	if (how == NO_DOORBELL) {
		channel->object_class = 0xc06f;
		channel->flags = NVS_CHAN_NO_DOORBELL;
	}
	for (uint32_t i = 0; i < 6; i++) {
		if (how == SEQUENCE && i == 3)
			m.channel[0].sequence = 4;
		if (how == PUT && i == 3)
			m.channel[0].put = 9;
		s = mk_simple(&m, 0, 0, 4 + i);
		if (how == ENTRIES && i == 3) {
			static const uint32_t two[] = {4, 4};

			m.len -= s->rec.size;
			m.channel[0].sequence = m.channel[0].put = 3;
			m.totals.submissions--;
			m.totals.entries--;
			m.totals.segments--;
			m.totals.bytes -= 28;
			mk_submission(&m, 0, 0, NVS_NONE, 2, two, 0)->new_put = 4;
			m.channel[0].put = 4;
		}
		if (how == UNKNOWN_CHANNEL && i == 2) {
			mk_simple(&m, 0, 1, 3);
			mk_channel_gone(&m, 1);
		}
		if (i == 2)
			mk_frame_end(&m);
		if (i == 2 && how == FRAME)
			m.frame = 7;
		if (i == 2)
			mk_frame_begin(&m, 0, NULL);
	}
	add_broken_record(&m, how);
	if (how != NO_GONE) {
		gone = mk_channel_gone(&m, 0);
		if (how == FINAL_PUT)
			gone->final_put = 8;
		if (how == LAST_PUT)
			gone->last_put = gone->final_put = 5;
		if (how == COUNT)
			gone->submissions++;
	}
	if (how == TOTALS)
		m.totals.submissions++;
	if (how != NO_END)
		mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);
}

static void test_verify(void)
{
	for (enum broken how = WHOLE; how < CASES; how++) {
		struct nvs_trace *t;
		struct seen seen;

		make_broken(how);
		t = open_trace();
		CHECK(read_trace(t, &streaming, &seen) == 0);
		if (expected[how]) {
			CHECK(nvs_trace_problems(t) == 1);
			CHECK(has_finding(t, expected[how]));
			if (!has_finding(t, expected[how]))
				printf("case %d: %s\n", how, expected[how]);
		} else {
			CHECK(nvs_trace_problems(t) == 0);
		}
		if (nvs_trace_problems(t) != !!expected[how])
			print_findings(t);
		nvs_trace_close(t);
	}
}

/* A run of lost submissions is a gap in the chain, and no more than that. */
static void test_lost_run(void)
{
	struct nvs_rec_gap *gap;
	struct nvs_trace *t;
	struct seen seen;
	struct mk m;

	mk_open(&m, path);
	mk_channel(&m, 0);
	mk_simple(&m, 0, 0, 3);
	m.channel[0].sequence = m.channel[0].put = 6;
	/* The one behind the loss comes before the record that tells of it. */
	mk_simple(&m, 0, 0, 4);
	gap = mk_rec(&m, NVS_REC_GAP, sizeof(*gap));
	gap->sequence = 1;
	gap->submissions = 5;
	gap->reason = NVS_GAP_DROPPED;
	gap->entry = NVS_NONE;
	gap->bytes = 500;
	gap->old_put = 1;
	gap->new_put = 6;
	mk_simple(&m, 0, 0, 5);
	mk_channel_gone(&m, 0);
	m.totals.gaps = 1;
	m.totals.lost_submissions = 5;
	m.totals.lost_bytes = 500;
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);
	t = open_trace();
	CHECK(read_trace(t, &streaming, &seen) == 0);
	CHECK(seen.n == 3 && seen.s[1].sequence == 6 && seen.s[2].sequence == 7);
	CHECK(nvs_trace_problems(t) == 1 &&
	      has_finding(t, "5 submissions from 1 on lost (dropped)"));
	print_findings(t);
	CHECK(nvs_trace_session(t)->counts.lost_submissions == 5);
	nvs_trace_close(t);
}

/* A segment that failed half-way, with the next one whole behind it; one that failed as the last.
 *  */
static void test_failed_segment(void)
{
	struct nvs_rec_gap *gap;
	struct nvs_trace *t;
	struct seen seen;
	struct mk m;

	for (int last = 0; last < 2; last++) {
		mk_open(&m, path);
		mk_channel(&m, 0);
		begin_pieces(&m, 0, 0);
		if (last)
			data(&m, 0, 0, 0, 1, 0, 16384);
		data(&m, 0, 0, 0, last ? 3 : 1, 0, 4096);
		if (last)
			data(&m, 0, 0, 0, 3, 0, 0)->rec.flags = NVS_DATA_LAST;
		else
			data(&m, 0, 0, 0, 3, 0, 8192)->rec.flags = NVS_DATA_LAST;
		gap = mk_rec(&m, NVS_REC_GAP, sizeof(*gap));
		gap->entry = last ? 3 : 1;
		gap->reason = NVS_GAP_FAULT;
		gap->bytes = last ? 8192 : 16384;
		m.totals.gaps = 1;
		m.totals.lost_bytes = gap->bytes;
		m.totals.segments--;
		m.totals.bytes -= gap->bytes;
		mk_simple(&m, 0, 0, 3);
		mk_channel_gone(&m, 0);
		mk_end(&m);
		mk_frame_end(&m);
		mk_close(&m);
		t = open_trace();
		CHECK(read_trace(t, &whole, &seen) == 0);
		CHECK(seen.n == 2 && seen.s[0].ndata == 64u + (last ? 16384 : 8192));
		CHECK(!(seen.s[0].marks & NVS_MARK_TORN));
		CHECK(nvs_trace_problems(t) == 1 && has_finding(t, "lost (fault)"));
		print_findings(t);
		CHECK(read_trace(t, &streaming, &seen) == 0);
		CHECK(nvs_trace_problems(t) == 1);
		nvs_trace_close(t);
	}
}

/* What the user chose not to have is no loss; more entries of one doorbell are no submission of
 * their own. */
static void test_choice(void)
{
	static const uint32_t dwords[] = {5, 6};
	struct nvs_rec_submission *s;
	struct nvs_rec_gap *gap;
	struct nvs_trace *t;
	struct seen seen;
	struct mk m;

	mk_open(&m, path);
	mk_channel(&m, 0);
	mk_submission(&m, 0, 0, NVS_NONE, 2, dwords, 1);
	mk_submission(&m, 0, 0, NVS_NONE, 2, dwords, 1)->rec.flags = NVS_SUB_CONTINUED;
	m.totals.submissions--;
	s = mk_submission(&m, 0, 0, NVS_NONE, 2, dwords, 1);
	s->entries[0].state = s->entries[1].state = NVS_SEG_SKIPPED;
	s->rec.size -= 48;
	m.len -= 48;
	gap = mk_rec(&m, NVS_REC_GAP, sizeof(*gap));
	gap->reason = NVS_GAP_CHOICE;
	gap->entry = NVS_NONE;
	gap->sequence = 3;
	gap->submissions = 4;
	gap->bytes = 400;
	gap->old_put = 6;
	gap->new_put = m.channel[0].put = 14;
	m.channel[0].sequence = 7;
	m.totals.gaps = 0; /* not a loss */
	mk_simple(&m, 0, 0, 3);
	mk_channel_gone(&m, 0);
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);
	t = open_trace();
	CHECK(read_trace(t, &streaming, &seen) == 0);
	print_findings(t);
	CHECK(nvs_trace_problems(t) == 0 && has_finding(t, "4 submissions were only counted"));
	CHECK(seen.n == 4 && seen.s[2].state == NVS_SEG_SKIPPED && seen.s[2].ndata == 0);
	CHECK(nvs_trace_session(t)->counts.submissions == 3);
	CHECK(nvs_trace_session(t)->counts.bytes == 3 * 44 + 12);
	CHECK(nvs_trace_session(t)->counts.skipped_submissions == 4);
	CHECK(nvs_trace_session(t)->counts.lost_submissions == 0);
	nvs_trace_close(t);
}

static void test_stop(void)
{
	struct nvs_error err;
	struct nvs_trace *t;
	struct seen seen = {.stop_at = 3};

	make_broken(WHOLE);
	t = open_trace();
	CHECK(nvs_stream_read(t, &streaming, &seen, &err) == 7 && seen.n == 3);
	/* And from the beginning again. */
	CHECK(read_trace(t, &streaming, &seen) == 0 && seen.n == 6);
	CHECK(nvs_trace_problems(t) == 0);
	nvs_trace_close(t);
}

static void test_escape(void)
{
	char out[64];

	CHECK(!strcmp(nvs_escape(out, sizeof(out), "a\033[31mb", 7), "a\\x1b[31mb"));
	CHECK(!strcmp(nvs_escape(out, sizeof(out), "\xc3\xa9\xff\n", 4), "\xc3\xa9\\xff\\x0a"));
	CHECK(!strcmp(nvs_escape(out, sizeof(out), "\xc2\x9b", 2), "\\xc2\\x9b"));
	CHECK(!strcmp(nvs_escape(out, sizeof(out), "\xe2\x80\xae", 3), "\\xe2\\x80\\xae"));
	CHECK(!strcmp(nvs_escape(out, 6, "ab\ncd", 5), "ab"));
	CHECK(!strcmp(nvs_escape(out, sizeof(out), "\xe2\x82", 2), "\\xe2\\x82"));
}

/* What is appended once a trace has been opened is not read, in no pass. */
static void test_growing(void)
{
	struct nvs_trace *t;
	struct seen seen;
	struct mk m;
	FILE *f;

	mk_open(&m, path);
	mk_channel(&m, 0);
	mk_simple(&m, 0, 0, 4);
	mk_channel_gone(&m, 0);
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);
	t = open_trace();
	f = fopen(path, "a");
	MK_NEED(f && fputs("what comes later", f) >= 0 && !fclose(f));
	for (int pass = 0; pass < 2; pass++)
		CHECK(read_trace(t, &whole, &seen) == 0 && seen.n == 1 &&
		      nvs_trace_problems(t) == 0);
	nvs_trace_close(t);
}

int main(void)
{
	MK_NEED(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.zst", dir);
	test_model();
	test_growing();
	test_gone();
	test_clock();
	test_pieces();
	test_order();
	test_verify();
	test_lost_run();
	test_failed_segment();
	test_choice();
	test_stop();
	test_escape();
	unlink(path);
	rmdir(dir);
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
