/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/* Traces truncated at every byte, with every byte flipped, foreign, newer, inconsistent: one
 * message, or the complete frames before the damage. */
#include <errno.h>
#include <sys/stat.h>
#include "decode/trace/stream.h"
#include "nvsnoop/decode.h"
#include "tests/unit/mktrace.h"

static int passed, failed;
static char dir[] = "/tmp/nvsnoop-damage-XXXXXX";
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

static uint64_t submissions;
static uint32_t gets[4]; /* GP_GET of the first ones */

static volatile uint32_t touched;

static int on_submission(void *arg, struct nvs_trace *t, const struct nvs_submission *s)
{
	struct nvs_segment_iter it = nvs_segments(s);
	struct nvs_segment seg;
	uint32_t sum = 0;

	/* Touches all that is handed out, for the sanitizers. */
	while (nvs_segment_next(&it, &seg))
		for (uint32_t i = 0; i < seg.bytes / 4; i++)
			sum += seg.data[i];
	touched = sum;
	if (submissions < 4)
		gets[submissions] = s->get;
	submissions++;
	return 0;
}

static const struct nvs_stream_consumer consumer = {NVS_READ_WHOLE, on_submission, NULL};

/* Opens and reads; the message in *ERR, problems in *PROBLEMS. */
static int read_all(bool partial, struct nvs_error *err, uint64_t *problems)
{
	struct nvs_read_options o = {.size = sizeof(o), .partial = partial};
	struct nvs_trace *t = NULL;
	int r;

	err->text[0] = 0;
	submissions = *problems = 0;
	r = nvs_trace_open(&t, path, &o, err);
	if (!r) {
		r = nvs_stream_read(t, &consumer, NULL, err);
		*problems = nvs_trace_problems(t);
	}
	nvs_trace_close(t);
	return r;
}

static uint8_t *bytes;
static size_t nbytes;

static void load(void)
{
	FILE *f = fopen(path, "rb");
	struct stat st;

	MK_NEED(f && fstat(fileno(f), &st) == 0);
	nbytes = (size_t)st.st_size;
	free(bytes);
	bytes = malloc(nbytes);
	MK_NEED(bytes && fread(bytes, 1, nbytes, f) == nbytes);
	fclose(f);
}

static void store(const void *data, size_t n)
{
	FILE *f = fopen(path, "wb");

	MK_NEED(f && fwrite(data, 1, n, f) == n && fclose(f) == 0);
}

/* Four frames of 0, 2, 3 and 4 submissions, and the seek table. */
static void make(struct mk *m)
{
	static const uint8_t seek[] = {0x5e, 0x2a, 0x4d, 0x18, 12, 0, 0, 0,  1,	 2,
				       3,    4,	   5,	 6,    7,  8, 9, 10, 11, 12};

	mk_open(m, path);
	mk_attr(m, NVS_ATTR_HOST, "h", 1);
	mk_channel(m, 0);
	for (uint32_t i = 2; i < 5; i++) {
		mk_next_frame(m);
		for (uint32_t k = 0; k < i; k++)
			mk_simple(m, 0, 0, 30);
	}
	mk_channel_gone(m, 0);
	mk_end(m);
	mk_frame_end(m);
	mk_write(m, seek, sizeof(seek));
	mk_close(m);
	load();
}

static void test_truncated(void)
{
	static const uint64_t held[] = {0, 0, 2, 5, 9};
	struct nvs_error err;
	uint64_t problems;
	struct mk m;

	make(&m);
	for (size_t n = 0; n < nbytes; n++) {
		uint32_t whole = 0;
		bool boundary = false;
		char offset[64];
		int r;

		while (whole < m.nends && m.ends[whole] <= n)
			whole++;
		for (uint32_t i = 0; i < m.nends; i++)
			boundary |= m.ends[i] == n;
		store(bytes, n);
		r = read_all(false, &err, &problems);
		if (boundary) {
			/* The last boundary only lacks the seek table. */
			CHECK(r == 0 && submissions == held[whole]);
			CHECK(!problems == (whole == m.nends));
			continue;
		}
		CHECK(r == -ENODATA && !strncmp(err.text, path, strlen(path)));
		snprintf(offset, sizeof(offset), "offset %llu",
			 (unsigned long long)(whole ? m.ends[whole - 1] : 0));
		CHECK(strstr(err.text, n ? offset : "is empty"));
		CHECK(!whole || strstr(err.text, "--partial"));
		r = read_all(true, &err, &problems);
		CHECK(whole ? r == 0 && problems && submissions == held[whole] : r == -ENODATA);
	}
	store(bytes, nbytes);
	CHECK(read_all(false, &err, &problems) == 0 && !problems && submissions == 9);
}

static void test_flipped(void)
{
	struct nvs_error err;
	uint64_t problems;
	struct mk m;

	make(&m);
	for (size_t at = 0; at < m.ends[m.nends - 1]; at++)
		for (int bit = 0; bit < 8; bit += 3) {
			int r;

			bytes[at] ^= (uint8_t)(1 << bit);
			store(bytes, nbytes);
			r = read_all(false, &err, &problems);
			/* Checksums find it; only bits of a frame's header that say how it is to be
			 * unpacked (its window, or that there is a checksum) may change nothing. */
			CHECK(r < 0 || (!problems && submissions == 9));
			CHECK(r >= 0 || *err.text);
			CHECK(read_all(true, &err, &problems) == 0 || *err.text);
			bytes[at] ^= (uint8_t)(1 << bit);
		}
}

/* Frames whose checksum is right and whose contents lie. */
static void test_lying(void)
{
	uint64_t random = 1181783497276652981ull, problems;
	struct nvs_error err;

	for (int round = 0; round < 3000; round++) {
		static const uint32_t dwords[] = {5, 0, 9};
		static const uint64_t pcs[4] = {1, 2, 3, 4};
		struct nvs_rec_object *object;
		struct nvs_rec_module *module;
		struct mk m;
		int r;

		mk_open(&m, path);
		mk_attr(&m, NVS_ATTR_HOST, "hostname", 8);
		mk_thread(&m, 0, 5, "name");
		module = mk_rec(&m, NVS_REC_MODULE, sizeof(*module) + 16);
		module->path_length = 12;
		object = mk_rec(&m, NVS_REC_OBJECT, sizeof(*object) + 16);
		object->params_length = 16;
		mk_stack(&m, 0, 4, pcs);
		mk_channel(&m, 0);
		mk_submission(&m, 0, 0, 0, 3, dwords, 1);
		mk_submission(&m, 0, 0, 0, 3, dwords, 2)->rec.flags = NVS_SUB_MORE;
		mk_rec(&m, NVS_REC_DATA, sizeof(struct nvs_rec_data) + 8);
		mk_channel_gone(&m, 0);
		mk_end(&m);
		for (int i = 0; i < 1 + round % 5; i++) {
			size_t at;

			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			/* Behind the two heads, which have tests of their own. */
			at = sizeof(struct nvs_rec_frame) + sizeof(struct nvs_rec_header);
			at += random % (m.len - at);
			m.buf[at] = random >> 32 & 1 ? 0xff : (uint8_t)(random >> 40);
		}
		mk_frame_end(&m);
		mk_close(&m);
		r = read_all(round & 1, &err, &problems);
		CHECK(r == 0 || *err.text);
	}
}

static struct nvs_rec_header *header_of(struct mk *m)
{
	return (struct nvs_rec_header *)(m->buf + sizeof(struct nvs_rec_frame));
}

static void test_foreign(void)
{
	struct nvs_error err;
	uint64_t problems;
	struct mk m;
	char zeros[100] = {0};

	store("hello, world: no trace at all", 29);
	CHECK(read_all(true, &err, &problems) == -EBADMSG &&
	      strstr(err.text, "not an nvsnoop trace"));
	store("", 0);
	CHECK(read_all(true, &err, &problems) == -ENODATA && strstr(err.text, "empty"));
	store(zeros, sizeof(zeros));
	CHECK(read_all(true, &err, &problems) == -EBADMSG);

	/* zstd, but something else within. */
	memset(&m, 0, sizeof(m));
	m.file = fopen(path, "wb");
	memcpy(mk_rec(&m, NVS_REC_PAD, 80), "a text file of eighty bytes", 27);
	mk_frame_end(&m);
	mk_close(&m);
	CHECK(read_all(true, &err, &problems) == -EBADMSG &&
	      strstr(err.text, "not an nvsnoop trace"));

	mk_open(&m, path);
	header_of(&m)->version = header_of(&m)->min_version = NVS_TRACE_VERSION + 1;
	mk_frame_end(&m);
	mk_close(&m);
	CHECK(read_all(true, &err, &problems) == -EPROTONOSUPPORT && strstr(err.text, "newer"));
	/* A newer writer whose traces older readers understand. */
	mk_open(&m, path);
	header_of(&m)->version = 9;
	mk_frame_end(&m);
	mk_close(&m);
	CHECK(read_all(false, &err, &problems) == 0);
	mk_open(&m, path);
	header_of(&m)->magic ^= 1;
	mk_frame_end(&m);
	mk_close(&m);
	CHECK(read_all(true, &err, &problems) == -EBADMSG);
}

/* Two traces one behind the other, junk behind a trace, a frame that claims to be huge. */
static void test_joined(void)
{
	static const uint8_t huge[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0,
				       0,    0,	   1,	 0,    0,    1, 0, 0};
	struct nvs_error err;
	uint64_t problems;
	uint8_t *twice;
	struct mk m;

	make(&m);
	twice = malloc(2 * nbytes);
	memcpy(twice, bytes, nbytes);
	memcpy(twice + nbytes, bytes, nbytes);
	store(twice, 2 * nbytes);
	CHECK(read_all(false, &err, &problems) == -EBADMSG && strstr(err.text, "second trace"));
	CHECK(read_all(true, &err, &problems) == 0 && submissions == 9 && problems);
	memcpy(twice + nbytes, "junk that goes on for a while", 29);
	store(twice, nbytes + 29);
	CHECK(read_all(false, &err, &problems) == -EBADMSG && strstr(err.text, "--partial"));
	memcpy(twice + nbytes, huge, sizeof(huge));
	store(twice, nbytes + sizeof(huge));
	CHECK(read_all(false, &err, &problems) < 0 && submissions == 9);
	free(twice);
}

/* A frame that does not say how large it is, as `zstd` makes from a pipe. */
static void test_unsized(void)
{
	struct nvs_error err;
	uint64_t problems;
	uint8_t *out;
	struct mk m;
	size_t n, room;
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_inBuffer in;
	ZSTD_outBuffer dst;

	mk_open(&m, path);
	mk_channel(&m, 0);
	for (uint32_t i = 0; i < 2000; i++)
		mk_simple(&m, 0, 0, 300);
	mk_channel_gone(&m, 0);
	mk_end(&m);
	room = ZSTD_compressBound(m.len);
	out = malloc(room);
	in = (ZSTD_inBuffer){m.buf, m.len, 0};
	dst = (ZSTD_outBuffer){out, room, 0};
	/* Flushed first: the size is not known when the head is written. */
	in.size = 1000;
	MK_NEED(!ZSTD_isError(ZSTD_compressStream2(c, &dst, &in, ZSTD_e_flush)));
	in.size = m.len;
	do {
		n = ZSTD_compressStream2(c, &dst, &in, ZSTD_e_end);
		MK_NEED(!ZSTD_isError(n));
	} while (n);
	MK_NEED(ZSTD_getFrameContentSize(out, dst.pos) == ZSTD_CONTENTSIZE_UNKNOWN);
	mk_write(&m, out, dst.pos);
	mk_close(&m);
	CHECK(read_all(false, &err, &problems) == 0 && submissions == 2000 && !problems);
	if (*err.text)
		printf("%s\n", err.text);
	ZSTD_freeCCtx(c);
	free(out);
}

/*
 * One submission less and more than the channel says it gave out, at its free and at the end of the
 * process; and a GP_PUT that is ahead of the last one taken: at the end another thread may have
 * written it, and rung later.
 */
static void test_count_at_end(void)
{
	static const struct {
		uint16_t flags;
		int less, ahead;
		bool problem;
	} cases[] = {{0, 0, 0, false},
		     {0, 1, 0, true},
		     {0, -1, 0, true},
		     {0, 0, 1, true},
		     {NVS_CHAN_GONE_AT_EXIT, 0, 0, false},
		     {NVS_CHAN_GONE_AT_EXIT, 1, 0, false},
		     {NVS_CHAN_GONE_AT_EXIT, -1, 0, true},
		     {NVS_CHAN_GONE_AT_EXIT, 0, 1, true},
		     {NVS_CHAN_GONE_AT_EXIT, 2, 1, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nvs_rec_channel_gone *gone;
		struct nvs_error err;
		uint64_t problems;
		struct mk m;

		mk_open(&m, path);
		mk_channel(&m, 0);
		for (int k = 0; k < 10; k++)
			mk_simple(&m, 0, 0, 4);
		gone = mk_channel_gone(&m, 0);
		gone->rec.flags = cases[i].flags;
		gone->submissions -= (uint64_t)cases[i].less;
		gone->last_put -= (uint32_t)cases[i].less;
		gone->final_put -= (uint32_t)(cases[i].less - cases[i].ahead);
		mk_end(&m);
		mk_frame_end(&m);
		mk_close(&m);
		CHECK(read_all(false, &err, &problems) == 0 && !!problems == cases[i].problem);
	}
}

/* GP_GET behind N dwords of segment, and 8 bytes that this reader does not know. */
static void with_get(struct mk *m, uint32_t n, uint32_t get)
{
	struct nvs_rec_submission *s = mk_submission(m, 0, 0, NVS_NONE, 1, &n, n);
	uint32_t at = (uint32_t)((uint8_t *)s - m->buf);

	mk_rec(m, 0, 16);
	s = (struct nvs_rec_submission *)(m->buf + at);
	s->rec.flags |= NVS_SUB_GET;
	memcpy(m->buf + at + s->rec.size, (uint32_t[]){get, 0, 0, 0}, 16);
	s->rec.size += 16;
}

static void test_get(void)
{
	struct nvs_error err;
	uint64_t problems;
	struct mk m;

	for (int bad = 0; bad < 2; bad++) {
		mk_open(&m, path);
		mk_thread(&m, 0, 1, "a");
		mk_channel(&m, 0);
		mk_simple(&m, 0, 0, 4);
		with_get(&m, 4, 17);
		with_get(&m, 5, 18);
		if (bad)
			mk_simple(&m, 0, 0, 6)->rec.flags |= NVS_SUB_GET;
		mk_channel_gone(&m, 0);
		mk_end(&m);
		mk_frame_end(&m);
		mk_close(&m);
		CHECK(!read_all(false, &err, &problems) == !bad);
		CHECK(!bad || strstr(err.text, "GP_GET runs past its end"));
		CHECK(submissions == 3 && gets[0] == NVS_NONE && gets[1] == 17 && gets[2] == 18);
	}
}

static void test_not_files(void)
{
	struct nvs_error err;
	struct nvs_trace *t = NULL;

	CHECK(nvs_trace_open(&t, "/nonexistent/trace", NULL, &err) == -ENOENT && !t);
	CHECK(strstr(err.text, "/nonexistent/trace"));
	CHECK(nvs_trace_open(&t, dir, NULL, &err) == -EISDIR && !t);
}

int main(void)
{
	MK_NEED(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.zst", dir);
	test_truncated();
	test_flipped();
	test_lying();
	test_foreign();
	test_joined();
	test_unsized();
	test_count_at_end();
	test_get();
	test_not_files();
	unlink(path);
	rmdir(dir);
	free(bytes);
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
