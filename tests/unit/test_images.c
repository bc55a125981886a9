/* SPDX-License-Identifier: MIT */
/* Code in a trace, assembled from its records: loaded by two threads at the same time, truncated,
 * repeated, and as no recorder writes it. */
/* LINK: decode -lzstd */
#include "tests/unit/expect.h"
#include "tests/unit/mktrace.h"
#include "nvsnoop/decode.h"

static char path[] = "/tmp/nvsnoop-images-XXXXXX";

static struct nvs_rec_image *put(struct mk *m, uint32_t image, uint16_t flags, uint64_t size,
				 uint64_t offset, uint32_t bytes)
{
	struct nvs_rec_image *rec = mk_rec(m, NVS_REC_IMAGE, sizeof(*rec) + bytes);

	rec->rec.flags = flags;
	rec->image = image;
	rec->call = 7;
	rec->handle = 0xabc0 + image;
	rec->given = 2 * size;
	rec->size = size;
	rec->offset = offset;
	rec->bytes = bytes;
	rec->kind = NVS_CODE_CUBIN;
	for (uint32_t i = 0; i < bytes; i++)
		rec->data[i] = (uint8_t)(image * 31 + offset + i);
	return rec;
}

struct seen {
	uint32_t n;
	struct nvs_trace_image image[128];
	bool right[128]; /* its bytes are those of its number */
	int answer;
};

static int on_image(void *arg, struct nvs_trace *t, const struct nvs_trace_image *image)
{
	struct seen *seen = arg;

	if (seen->n == 128)
		return 0;
	seen->right[seen->n] = image->data != NULL;
	for (uint64_t i = 0; image->data && i < image->ndata; i++)
		seen->right[seen->n] &= image->data[i] == (uint8_t)(image->image * 31 + i);
	seen->image[seen->n++] = *image;
	return seen->answer;
}

static void begin(struct mk *m)
{
	memset(m, 0, sizeof(*m));
	mk_open(m, path);
	mk_thread(m, 0, 100, "main");
}

/* Ends the trace and reads it. */
static struct seen *read_back(struct mk *m, int answer)
{
	static struct seen seen;
	struct nvs_consumer c = {.size = sizeof(c), .image = on_image};
	struct nvs_error err = {""};
	struct nvs_trace *t;

	mk_end(m);
	mk_frame_end(m);
	mk_close(m);
	memset(&seen, 0, sizeof(seen));
	seen.answer = answer;
	EXPECT_EQ(nvs_trace_open(&t, path, NULL, &err), 0);
	EXPECT_EQ(nvs_trace_read(t, &c, &seen, &err), answer);
	nvs_trace_close(t);
	return &seen;
}

#define LOAD NVS_IMAGE_LOAD
#define LAST NVS_IMAGE_LAST

static void test_interleaved(void)
{
	struct seen *s;
	struct mk m;

	begin(&m);
	put(&m, 0, LOAD, 300, 0, 100);
	put(&m, 1, LOAD, 200, 0, 100)->thread = 1;
	put(&m, 0, 0, 300, 100, 100);
	put(&m, 0, LOAD, 300, 0, 0); /* another load meanwhile */
	mk_next_frame(&m);
	put(&m, 1, LAST, 200, 100, 100);
	put(&m, 0, LAST, 300, 200, 100);
	put(&m, 1, LOAD, 200, 0, 0);
	put(&m, 2, LOAD | LAST, 5, 0, 5)->kind = NVS_CODE_PTX;
	put(&m, NVS_NONE, LOAD | LAST | NVS_IMAGE_UNREAD, 0, 0, 0);
	s = read_back(&m, 0);
	EXPECT_EQ(s->n, 6);
	EXPECT(s->image[0].image == 0 && !s->image[0].data && !s->image[0].whole);
	EXPECT(s->image[1].image == 1 && s->image[1].whole && s->right[1]);
	EXPECT(s->image[1].thread == 1 && s->image[1].call == 7 && s->image[1].handle == 0xabc1);
	EXPECT(s->image[2].image == 0 && s->image[2].whole && s->right[2]);
	EXPECT(s->image[2].ndata == 300 && s->image[2].given == 600);
	EXPECT(s->image[3].image == 1 && !s->image[3].data);
	EXPECT(s->image[4].kind == NVS_CODE_PTX && s->image[4].ndata == 5 && s->right[4]);
	EXPECT(s->image[5].image == NVS_NONE && !s->image[5].data && !s->image[5].whole);
	EXPECT(s->image[5].flags & NVS_IMAGE_UNREAD);
}

static void test_cut(void)
{
	struct seen *s;
	struct mk m;

	begin(&m);
	put(&m, 0, LOAD, 300, 0, 100); /* its rest never comes */
	put(&m, 1, LOAD, 200, 0, 50); /* nor does this one's, but it is told anew */
	put(&m, 1, LOAD, 200, 0, 100);
	put(&m, 1, LAST, 200, 100, 100);
	put(&m, 2, LOAD, 300, 0, 100); /* a piece is missing */
	put(&m, 2, LAST, 300, 200, 100);
	s = read_back(&m, 0);
	EXPECT_EQ(s->n, 3);
	EXPECT(s->image[0].image == 1 && s->image[0].whole && s->right[0]);
	EXPECT(s->image[1].image == 2 && !s->image[1].whole && s->image[1].ndata == 100);
	EXPECT(s->right[1]);
	EXPECT(s->image[2].image == 0 && !s->image[2].whole && s->image[2].ndata == 100);
}

static void test_hostile(void)
{
	struct seen *s;
	struct mk m;

	begin(&m);
	put(&m, 5, 0, 100, 0, 50); /* of no load */
	put(&m, 6, LOAD | LAST, UINT64_MAX, 0, 50);
	put(&m, 7, LOAD | LAST, 10, 0, 50); /* more than it has */
	put(&m, 8, LOAD | LAST, 100, UINT64_MAX, 50);
	put(&m, 9, LOAD, 100, 0, 50);
	put(&m, 9, LAST, 200, 50, 50); /* of another size */
	for (uint32_t i = 0; i < 100; i++)
		put(&m, 100 + i, LOAD, 1000, 0, 8);
	s = read_back(&m, 0);
	for (uint32_t i = 0; i < s->n; i++)
		EXPECT(!s->image[i].whole);
	EXPECT_EQ(s->n, 103);
}

/* What a record holds is checked before anybody looks. */
static void test_past_its_end(void)
{
	struct nvs_error err = {""};
	struct nvs_trace *t;
	struct mk m;

	begin(&m);
	put(&m, 0, LOAD | LAST, 100, 0, 100)->bytes = 4096;
	mk_frame_end(&m);
	mk_close(&m);
	EXPECT_EQ(nvs_trace_open(&t, path, NULL, &err), 0);
	EXPECT(nvs_trace_read(t, NULL, NULL, &err) < 0);
	EXPECT(strstr(err.text, "past its end"));
	nvs_trace_close(t);
}

static void test_answer(void)
{
	struct mk m;

	begin(&m);
	put(&m, 0, LOAD | LAST, 8, 0, 8);
	put(&m, 1, LOAD | LAST, 8, 0, 8);
	EXPECT_EQ(read_back(&m, 3)->n, 1);
}

int main(void)
{
	close(mkstemp(path));
	test_interleaved();
	test_cut();
	test_hostile();
	test_past_its_end();
	test_answer();
	unlink(path);
	return expect_done();
}
