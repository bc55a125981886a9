/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/* After a kill: frames and spool together have every submission once, in order, with the doubtful
 * ones marked. */
#include <errno.h>
#include "decode/trace/stream.h"
#include "nvsnoop/decode.h"
#include "tests/unit/mktrace.h"

static int passed, failed;
static char dir[] = "/tmp/nvsnoop-spool-XXXXXX";
static char path[256], spool_path[300];

#define CHECK(x)                                                       \
	do {                                                           \
		if (x) {                                               \
			passed++;                                      \
		} else {                                               \
			failed++;                                      \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #x); \
		}                                                      \
	} while (0)

struct seen {
	uint32_t n;
	struct {
		uint32_t channel, marks;
		uint64_t sequence, time;
	} s[4096];
};

static int on_submission(void *arg, struct nvs_trace *t, const struct nvs_submission *s)
{
	struct seen *seen = arg;

	if (seen->n >= 4096)
		return -E2BIG;
	seen->s[seen->n].channel = s->channel->channel;
	seen->s[seen->n].marks = s->marks;
	seen->s[seen->n].sequence = s->rec->sequence;
	seen->s[seen->n++].time = s->rec->rec.time;
	return 0;
}

static uint32_t heads; /* of frames that were handed out, which none is to be */

static int on_record(void *arg, struct nvs_trace *t, const struct nvs_rec *rec)
{
	heads += rec->type == NVS_REC_FRAME || rec->type == NVS_REC_PAD;
	return 0;
}

static const struct nvs_stream_consumer consumer = {NVS_READ_WHOLE, on_submission, on_record};
static struct seen seen;

static struct nvs_trace *read_trace(const struct nvs_read_options *o)
{
	struct nvs_error err = {""};
	struct nvs_trace *t = NULL;
	int r = nvs_trace_open(&t, path, o, &err);

	memset(&seen, 0, sizeof(seen));
	if (!r)
		r = nvs_stream_read(t, &consumer, &seen, &err);
	if (r)
		printf("%s\n", err.text);
	CHECK(!r);
	if (r)
		exit(1);
	return t;
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

/* A buffer's records, made apart from the trace's but with its chains and clock. */
struct buffer {
	struct mk m;
	uint64_t sizes[4096]; /* of each record */
	uint32_t n;
};

static void add_to_buffer(struct buffer *r, struct mk *clock, uint32_t thread, uint32_t channel,
			  uint32_t n)
{
	r->m.time = clock->time;
	memcpy(r->m.channel, clock->channel, sizeof(r->m.channel));
	r->sizes[r->n++] = mk_simple(&r->m, thread, channel, n)->rec.size;
	memcpy(clock->channel, r->m.channel, sizeof(r->m.channel));
	clock->time = r->m.time;
}

/*
 * Two threads, a channel each. Frames hold the buffers up to HELD records, the file is cut behind
 * them, and the spool has the rest; START is where the buffers' positions stood at the beginning.
 */
struct setup {
	uint32_t records; /* a buffer */
	uint32_t framed; /* of them in frames */
	uint32_t drained; /* of them the spool says are in the trace */
	uint32_t rung; /* of them rung for certain */
	uint64_t start;
	bool foreign; /* the spool is another session's */
	uint32_t page; /* of its system, 0: 4096 */
};

static void make(const struct setup *s)
{
	static struct buffer buffers[2];
	uint64_t ranges[2][3], at[2][4] = {{0}};
	struct mk_spool spool;
	struct mk m;

	memset(buffers, 0, sizeof(buffers));
	mk_open(&m, path);
	mk_thread(&m, 0, 100, "one");
	mk_thread(&m, 1, 101, "two");
	mk_channel(&m, 0);
	mk_channel(&m, 1);
	if (s->start) {
		/* What came before: an earlier frame had it. */
		for (uint32_t k = 0; k < 2; k++) {
			ranges[k][0] = k;
			ranges[k][1] = 0;
			ranges[k][2] = s->start;
		}
		mk_frame_end(&m);
		mk_frame_begin(&m, 2, (const uint64_t(*)[3])ranges);
	}
	mk_frame_end(&m);
	for (uint32_t i = 0; i < s->records; i++)
		for (uint32_t k = 0; k < 2; k++)
			add_to_buffer(buffers + k, &m, k, k, 3 + i % 5);
	for (uint32_t k = 0; k < 2; k++) {
		uint64_t pos = s->start;

		for (uint32_t i = 0; i <= s->records; i++) {
			if (i == s->framed)
				at[k][0] = pos;
			if (i == s->drained)
				at[k][1] = pos;
			if (i == s->rung)
				at[k][2] = pos;
			pos += i < s->records ? buffers[k].sizes[i] : 0;
		}
		ranges[k][0] = k;
		ranges[k][1] = s->start;
		ranges[k][2] = at[k][0];
	}
	if (s->framed) {
		uint64_t from[2] = {0, 0};

		mk_frame_begin(&m, 2, (const uint64_t(*)[3])ranges);
		for (uint32_t i = 0; i < s->framed; i++)
			for (uint32_t k = 0; k < 2; k++) {
				memcpy(mk_rec(&m, 0, buffers[k].sizes[i]),
				       buffers[k].m.buf + from[k], buffers[k].sizes[i]);
				from[k] += buffers[k].sizes[i];
			}
		mk_frame_end(&m);
	}
	mk_spool_open_on(&spool, spool_path, m.session, 3, s->page);
	if (s->foreign)
		mk_at(spool.fd, "other session!!!", 16, 16);
	for (uint32_t k = 0; k < 2; k++) {
		mk_spool_buffer(&spool, k, s->start, at[k][1], at[k][2], buffers[k].m.buf,
				buffers[k].m.len);
		mk_close(&buffers[k].m);
	}
	close(spool.fd);
	mk_close(&m);
}

static void check_all(const struct setup *s, struct nvs_trace *t)
{
	uint32_t uncertain = 0, spooled = 0;

	CHECK(nvs_trace_problems(t) == 0);
	if (nvs_trace_problems(t))
		print_findings(t);
	CHECK(seen.n == 2 * s->records);
	for (uint32_t i = 0; i < seen.n; i++) {
		CHECK(seen.s[i].channel == i % 2 && seen.s[i].sequence == i / 2);
		CHECK(!i || seen.s[i].time > seen.s[i - 1].time);
		CHECK(!(seen.s[i].marks & NVS_MARK_UNCERTAIN) == (i / 2 < s->rung));
		CHECK(!(seen.s[i].marks & NVS_MARK_SPOOL) == (i / 2 < s->framed));
		uncertain += !!(seen.s[i].marks & NVS_MARK_UNCERTAIN);
		spooled += !!(seen.s[i].marks & NVS_MARK_SPOOL);
	}
	CHECK(nvs_trace_session(t)->counts.uncertain == uncertain);
	CHECK(nvs_trace_session(t)->counts.spooled == spooled);
	CHECK(nvs_trace_session(t)->end == NVS_END_CRASH);
}

static void test_merge(void)
{
	static const struct setup setups[] = {
		{20, 8, 8, 19, 0, false}, /* plain */
		{20, 0, 0, 20, 0, false}, /* nothing drained yet */
		{20, 8, 6, 20, 0, false}, /* killed between the frame and the tail */
		{20, 20, 20, 19, 0, false}, /* all drained; the last perhaps not rung */
		{200, 20, 20, 199, MK_BUFFER - 1024, false}, /* around the end of the buffer */
		{400, 100, 90, 400, 7 * MK_BUFFER + 4096, false},
		{20, 8, 8, 19, 0, false, 4096},
		{200, 20, 20, 199, MK_BUFFER - 1024, false, 65536},
	};
	struct nvs_trace *t;

	for (size_t i = 0; i < sizeof(setups) / sizeof(*setups); i++) {
		make(setups + i);
		t = read_trace(NULL);
		check_all(setups + i, t);
		/* Again: the spool is merged anew, not twice. */
		memset(&seen, 0, sizeof(seen));
		CHECK(nvs_stream_read(t, &consumer, &seen, NULL) == 0);
		check_all(setups + i, t);
		nvs_trace_close(t);
	}
}

static void test_lost_frame(void)
{
	static const struct setup s = {20, 4, 8, 20, 0, false};
	struct nvs_trace *t;

	/* The spool says that records went into frames which the file does not have. */
	make(&s);
	t = read_trace(NULL);
	CHECK(has_finding(t, "are in frames missing from the file"));
	CHECK(has_finding(t, "submissions 4 to 7 are missing"));
	CHECK(seen.n == 2 * 16);
	nvs_trace_close(t);
}

static void test_none(void)
{
	static const struct setup s = {20, 8, 8, 20, 0, true}, own = {20, 8, 8, 20, 0, false};
	struct nvs_read_options o = {.size = sizeof(o), .no_spool = true};
	struct nvs_trace *t;

	make(&s);
	t = read_trace(NULL);
	CHECK(seen.n == 16 && !nvs_trace_session(t)->spool_read);
	CHECK(nvs_trace_problems(t) == 1 && has_finding(t, "no end record and no spool"));
	nvs_trace_close(t);

	make(&own);
	t = read_trace(&o);
	CHECK(seen.n == 16);
	nvs_trace_close(t);
	/* Elsewhere, by option. */
	o = (struct nvs_read_options){.size = sizeof(o), .spool = "/tmp/nvsnoop-spool-elsewhere"};
	unlink(o.spool);
	CHECK(rename(spool_path, o.spool) == 0);
	t = read_trace(&o);
	CHECK(seen.n == 40);
	nvs_trace_close(t);
	unlink(o.spool);
}

/* Killed while a frame was being written: the spool still has what is in it. */
static void test_cut_frame(void)
{
	struct setup s = {20, 8, 0, 20, 0, false};
	struct nvs_trace *t;
	FILE *f;

	make(&s);
	f = fopen(path, "r+");
	MK_NEED(f && fseek(f, 0, SEEK_END) == 0);
	MK_NEED(ftruncate(fileno(f), ftell(f) - 5) == 0);
	fclose(f);
	t = read_trace(NULL);
	CHECK(has_finding(t, "its records are in the spool"));
	s.framed = 0;
	check_all(&s, t);
	nvs_trace_close(t);

	/* In the very first frame, and before it. */
	for (int i = 0; i < 2; i++) {
		MK_NEED(truncate(path, i ? 0 : 20) == 0);
		t = read_trace(NULL);
		CHECK(seen.n == 40);
		CHECK(nvs_trace_session(t)->header.pid == 4711);
		CHECK(nvs_trace_session(t)->header.clock == NVS_CLOCK_MONOTONIC);
		nvs_trace_close(t);
	}
}

static void test_losses(void)
{
	static const struct setup s = {20, 8, 8, 20, 0, false};
	struct nvs_spool_channel c = {.channel = 1,
				      .lost = 3,
				      .lost_from = 20,
				      .lost_bytes = 300,
				      .lost_reason = NVS_GAP_STALLED};
	struct nvs_trace *t;
	int fd;

	make(&s);
	fd = open(spool_path, O_RDWR);
	mk_at(fd, &c, sizeof(c), 4096 + 2 * sizeof(c));
	close(fd);
	t = read_trace(NULL);
	CHECK(nvs_trace_problems(t) == 1);
	CHECK(has_finding(t, "channel 1: 3 submissions from 20 on were lost (stalled)"));
	CHECK(nvs_trace_session(t)->counts.lost_submissions == 3);
	nvs_trace_close(t);
}

/* A frame's head where a buffer's next record is due: the buffer is lost from there on. */
static void test_frame_in_buffer(void)
{
	static const struct setup s = {20, 8, 8, 20, 0, false};
	struct nvs_rec_frame frame = {0};
	struct nvs_spool_buffer buffer;
	struct nvs_trace *t;
	int fd;

	make(&s);
	fd = open(spool_path, O_RDWR);
	MK_NEED(pread(fd, &buffer, sizeof(buffer), 8192) == sizeof(buffer));
	MK_NEED(pread(fd, &frame, sizeof(frame.rec), 8192 + 4096 + (off_t)buffer.tail) ==
		sizeof(frame.rec));
	frame.rec.type = NVS_REC_FRAME;
	mk_at(fd, &frame, sizeof(frame), 8192 + 4096 + buffer.tail);
	close(fd);
	t = read_trace(NULL);
	CHECK(heads == 0);
	CHECK(seen.n == 28);
	CHECK(has_finding(t, "a frame header inside a thread buffer"));
	nvs_trace_close(t);
}

static void test_late(void)
{
	struct mk m, late = {.time = 100000};
	struct nvs_trace *t;
	struct mk_spool s;

	mk_open(&m, path);
	mk_channel(&m, 0);
	mk_simple(&m, 0, 0, 4);
	mk_simple(&m, 0, 0, 5);
	mk_channel_gone(&m, 0);
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);
	memcpy(late.channel, m.channel, sizeof(m.channel));
	for (uint32_t i = 0; i < 5; i++)
		mk_simple(&late, 0, 0, 6)->rec.flags = NVS_SUB_LATE;
	mk_spool_open(&s, spool_path, m.session, 0);
	s.head.kind = NVS_SPOOL_LATE;
	mk_at(s.fd, &s.head, sizeof(s.head), 0);
	mk_at(s.fd, late.buf, late.len, s.head.buffer_offset);
	close(s.fd);
	t = read_trace(NULL);
	CHECK(nvs_trace_problems(t) == 0 && seen.n == 7);
	print_findings(t);
	CHECK(!(seen.s[1].marks & NVS_MARK_LATE) && seen.s[2].marks & NVS_MARK_LATE);
	CHECK(nvs_trace_session(t)->end == NVS_END_ORDERLY);
	CHECK(nvs_trace_session(t)->counts.late == 5);
	nvs_trace_close(t);
	/* Killed while it was being appended to. */
	MK_NEED(truncate(spool_path, (off_t)(s.head.buffer_offset + late.len - 24)) == 0);
	t = read_trace(NULL);
	CHECK(nvs_trace_problems(t) == 0 && seen.n == 6);
	nvs_trace_close(t);
	mk_close(&late);
}

/* The writer never came to its end: buffers and late records lie side by side, and a kill left
 * holes. */
static void test_buffers_and_late(void)
{
	static const struct setup s = {20, 8, 8, 20, 0, false};
	struct mk late = {.time = 900000};
	struct nvs_trace *t;
	struct mk_spool l;
	uint64_t half = 0;
	uint8_t session[16];
	char name[320];

	make(&s);
	for (uint32_t i = 0; i < 6; i++) {
		late.channel[0].sequence = late.channel[0].put = 20 + i;
		mk_simple(&late, 0, 0, 6)->rec.flags = NVS_SUB_LATE;
		if (i == 2)
			half = late.len;
	}
	snprintf(name, sizeof(name), "%s.late", spool_path);
	for (int i = 0; i < 16; i++)
		session[i] = (uint8_t)(17 * i + 1);
	mk_spool_open(&l, name, session, 0);
	l.head.kind = NVS_SPOOL_LATE;
	mk_at(l.fd, &l.head, sizeof(l.head), 0);
	mk_at(l.fd, late.buf, half, l.head.buffer_offset);
	/* Two records that were never written. */
	mk_at(l.fd, late.buf + half, late.len - half, l.head.buffer_offset + half + 272);
	close(l.fd);
	mk_close(&late);
	t = read_trace(NULL);
	CHECK(nvs_trace_problems(t) == 0 && seen.n == 46);
	print_findings(t);
	CHECK(seen.s[45].sequence == 25 && seen.s[45].marks & NVS_MARK_LATE);
	CHECK(seen.s[39].channel == 1 && seen.s[39].sequence == 19);
	CHECK(nvs_trace_session(t)->counts.late == 6);
	nvs_trace_close(t);
	unlink(name);
}

/* A spool from a stranger: whatever stands in it, reading ends, in order. */
static void test_hostile(void)
{
	static const struct setup s = {60, 8, 8, 50, 0, false};
	uint64_t random = 88172645463325252ull;
	uint32_t opened = 0;

	for (int round = 0; round < 400; round++) {
		struct nvs_error err = {""};
		struct nvs_trace *t = NULL;
		int fd;

		if (round % 50 == 0)
			make(&s);
		fd = open(spool_path, O_RDWR);
		for (int i = 0; i < 4; i++) {
			uint8_t byte;
			uint64_t at;

			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			/* Heads of spool and buffers mostly. */
			at = random % 3 ? 32 + random % 160
					: 8192 + random % 2 * (4096 + MK_BUFFER);
			if (random % 7 > 2)
				at = 8192 + random % 2 * (4096 + MK_BUFFER) + (random >> 8) % 128;
			if (random % 11 > 8)
				at = 12288 + (random >> 8) % 8192;
			byte = (uint8_t)(random >> 40);
			mk_at(fd, &byte, 1, at);
		}
		close(fd);
		memset(&seen, 0, sizeof(seen));
		if (nvs_trace_open(&t, path, NULL, &err) == 0) {
			opened++;
			nvs_stream_read(t, &consumer, &seen, &err);
		}
		nvs_trace_close(t);
	}
	CHECK(opened == 400);
}

int main(void)
{
	MK_NEED(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.zst", dir);
	snprintf(spool_path, sizeof(spool_path), "%s.spool", path);
	test_merge();
	test_lost_frame();
	test_none();
	test_cut_frame();
	test_losses();
	test_frame_in_buffer();
	test_late();
	test_buffers_and_late();
	test_hostile();
	unlink(path);
	unlink(spool_path);
	rmdir(dir);
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
