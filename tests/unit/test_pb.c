/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/* The pushbuffer decoder: every header form, segments that split headers and data anywhere, and
 * every fault. */
#include <stdlib.h>
#include "tests/unit/expect.h"
#include "tests/unit/pbfeed.h"

/* Headers as hosts from Fermi on take them. */
#define HDR(op, subch, method, count) \
	((uint32_t)(op) << 29 | (count) << 16 | (subch) << 13 | (method) >> 2)
#define INC(s, m, n) HDR(1, s, m, n)
#define NON_INC(s, m, n) HDR(3, s, m, n)
#define IMMD(s, m, v) HDR(4, s, m, v)
#define INC_ONCE(s, m, n) HDR(5, s, m, n)
#define OLD(op, s, m, n) ((uint32_t)(op) << 29 | (n) << 18 | (s) << 13 | (m))

/* What came out: one line a word, and headers without data. */
struct seen {
	uint32_t nwords, nruns, nfaults;
	struct {
		uint32_t form, subch, method, value;
	} words[512];
	struct nvs_pb_run runs[512];
	struct nvs_pb_fault faults[64];
};

static void on_run(void *arg, const struct nvs_pb_run *run)
{
	struct seen *s = arg;

	s->runs[s->nruns++ % 512] = *run;
	for (uint32_t i = 0; i < run->count; i++) {
		uint32_t k = s->nwords++ % 512;

		s->words[k].form = run->form;
		s->words[k].subch = run->subch;
		s->words[k].method = nvs_pb_method(run, i);
		s->words[k].value = run->data[i];
	}
}

static void on_fault(void *arg, const struct nvs_pb_fault *fault)
{
	struct seen *s = arg;

	s->faults[s->nfaults++ % 64] = *fault;
}

static uint64_t entry(uint64_t address, uint32_t dwords)
{
	return (address & 0xfffffffffcull) | (uint64_t)dwords << 42;
}

/* One submission of one segment. */
static void walk(struct nvs_pb *pb, const uint32_t *words, uint32_t n, struct seen *seen)
{
	struct nvs_pb_sink sink = {on_run, on_fault, seen};
	struct nvs_gp gp;

	nvs_pb_start(pb);
	nvs_pb_entry(pb, entry(0x200000000ull, n), true, &sink, &gp);
	pb_feed(pb, words, n, &sink);
	nvs_pb_finish(pb, &sink);
}

#define WORD(i, f, s, m, v)                         \
	do {                                        \
		EXPECT_EQ(seen.words[i].form, f);   \
		EXPECT_EQ(seen.words[i].subch, s);  \
		EXPECT_EQ(seen.words[i].method, m); \
		EXPECT_EQ(seen.words[i].value, v);  \
	} while (0)

static void forms(void)
{
	static const uint32_t words[] = {
		INC(1, 0x1b00, 3),
		10,
		11,
		12,
		NON_INC(1, 0x1b4, 2),
		20,
		21,
		INC_ONCE(2, 0x1b0, 3),
		30,
		31,
		32,
		IMMD(4, 0x300, 0x1fff),
		OLD(0, 5, 0x100, 2),
		40,
		41,
		OLD(2, 6, 0x200, 2),
		50,
		51,
		0x00010000 | 0xabc << 4, /* SET_SUB_DEV_MASK */
		0x00020000 | 0x123 << 4, /* STORE_SUB_DEV_MASK */
		0x00030000, /* USE_SUB_DEV_MASK */
		0,
		0,
		0,
		INC(3, 0x108, 0),
		INC(3, 0x3ffc, 2),
		60,
		61,
	};
	static struct seen seen;
	struct nvs_pb pb = {0};

	memset(&seen, 0, sizeof(seen));
	walk(&pb, words, sizeof(words) / 4, &seen);
	EXPECT_EQ(seen.nfaults, 0);
	EXPECT_EQ(seen.nwords, 3 + 2 + 3 + 1 + 2 + 2 + 2 + 2);
	WORD(0, NVS_PB_INC, 1, 0x1b00, 10);
	WORD(2, NVS_PB_INC, 1, 0x1b08, 12);
	WORD(3, NVS_PB_NON_INC, 1, 0x1b4, 20);
	WORD(4, NVS_PB_NON_INC, 1, 0x1b4, 21);
	WORD(5, NVS_PB_INC_ONCE, 2, 0x1b0, 30);
	WORD(6, NVS_PB_INC_ONCE, 2, 0x1b4, 31);
	WORD(7, NVS_PB_INC_ONCE, 2, 0x1b4, 32);
	WORD(8, NVS_PB_IMMD, 4, 0x300, 0x1fff);
	WORD(9, NVS_PB_OLD_INC, 5, 0x100, 40);
	WORD(10, NVS_PB_OLD_INC, 5, 0x104, 41);
	WORD(11, NVS_PB_OLD_NON_INC, 6, 0x200, 50);
	WORD(12, NVS_PB_OLD_NON_INC, 6, 0x200, 51);
	WORD(13, NVS_PB_SET_MASK, 0, 0, 0xabc);
	WORD(14, NVS_PB_STORE_MASK, 0, 0, 0x123);
	WORD(15, NVS_PB_INC, 3, 0x3ffc, 60);
	WORD(16, NVS_PB_INC, 3, 0, 61); /* the method space goes round */
	EXPECT_EQ(seen.runs[8].form, NVS_PB_USE_MASK);
	EXPECT_EQ(seen.runs[9].form, NVS_PB_NOP);
	EXPECT_EQ(seen.runs[9].total, 3);
	EXPECT_EQ(seen.runs[10].form, NVS_PB_INC);
	EXPECT_EQ(seen.runs[10].total, 0);
	EXPECT_EQ(seen.runs[0].address, 0x200000000ull);
	EXPECT_EQ(seen.runs[1].address, 0x200000010ull);
	EXPECT_EQ(nvs_pb_method(&seen.runs[10], 0), 0x108);
	EXPECT_STR(nvs_pb_form_name(NVS_PB_END_SEGMENT), "END_PB_SEGMENT");
}

/* However the words are cut into pieces and segments, the same comes out. */
static void cuts(void)
{
	static uint32_t words[256];
	static struct seen whole, cut;
	struct nvs_pb pb = {0};
	uint32_t n = 0, seed = 12345;

	for (uint32_t i = 0; n < 200; i++) {
		uint32_t count = i * 7 % 9;

		words[n++] = HDR(1 + 2 * (i % 3), i % 8, 0x100 + 4 * i, count);
		for (uint32_t k = 0; k < count; k++)
			words[n++] = i << 16 | k;
	}
	memset(&whole, 0, sizeof(whole));
	walk(&pb, words, n, &whole);
	EXPECT_EQ(whole.nfaults, 0);
	for (int round = 0; round < 200; round++) {
		struct nvs_pb_sink sink = {on_run, on_fault, &cut};
		uint32_t at = 0;

		memset(&cut, 0, sizeof(cut));
		nvs_pb_start(&pb);
		while (at < n) {
			uint32_t seg, fed = 0;
			struct nvs_gp gp;

			seed = seed * 1664525 + 1013904223;
			seg = 1 + (seed >> 16) % 12;
			if (seg > n - at)
				seg = n - at;
			nvs_pb_entry(&pb, entry(0x300000000ull + 4096 * at, seg), true, &sink, &gp);
			while (fed < seg) {
				uint32_t piece;

				seed = seed * 1664525 + 1013904223;
				piece = 1 + (seed >> 16) % 5;
				if (piece > seg - fed)
					piece = seg - fed;
				pb_feed(&pb, words + at + fed, piece, &sink);
				fed += piece;
			}
			at += seg;
		}
		nvs_pb_finish(&pb, &sink);
		EXPECT_EQ(cut.nfaults, 0);
		EXPECT_EQ(cut.nwords, whole.nwords);
		EXPECT(!memcmp(cut.words, whole.words, sizeof(cut.words)));
	}
}

static void entries(void)
{
	static struct seen seen;
	struct nvs_pb_sink sink = {on_run, on_fault, &seen};
	struct nvs_pb pb = {0};
	struct nvs_gp gp;

	memset(&seen, 0, sizeof(seen));
	nvs_pb_start(&pb);
	nvs_pb_entry(&pb, 0x0000220202800004ull, true, &sink, &gp);
	EXPECT_EQ(gp.address, 0x202800004ull);
	EXPECT_EQ(gp.dwords, 8);
	EXPECT(gp.subroutine && !gp.wait && !gp.conditional); /* CUDA's are all of that level */
	nvs_pb_skip(&pb);
	nvs_pb_entry(&pb, entry(0x8000000000ull, 1) | 1ull << 63 | 1ull << 41 | 1, true, &sink,
		     &gp);
	EXPECT(gp.subroutine && gp.wait && gp.conditional);
	EXPECT_EQ(gp.address, 0x8000000000ull);
	nvs_pb_skip(&pb);
	/* An extended base holds until it is changed, in later submissions too. */
	nvs_pb_entry(&pb, 4ull << 32 | 0x1abcd << 8, true, &sink, &gp);
	EXPECT_EQ(gp.dwords, 0);
	EXPECT_EQ(gp.opcode, NVS_GP_EXTENDED_BASE);
	nvs_pb_finish(&pb, &sink);
	nvs_pb_start(&pb);
	nvs_pb_entry(&pb, entry(0x12345678, 1), true, &sink, &gp);
	EXPECT_EQ(gp.address, 0x1abcdull << 40 | 0x12345678);
	nvs_pb_skip(&pb);
	nvs_pb_entry(&pb, 4ull << 32, true, &sink, &gp);
	nvs_pb_entry(&pb, entry(0x22345678, 1), true, &sink, &gp);
	EXPECT_EQ(gp.address, 0x22345678);
	nvs_pb_skip(&pb);
	nvs_pb_entry(&pb, 0, true, &sink, &gp);
	EXPECT_EQ(gp.opcode, NVS_GP_NOP);
	EXPECT_EQ(seen.nfaults, 0);
	/* Older hosts know no such thing. */
	nvs_pb_entry(&pb, 4ull << 32 | 0x100, false, &sink, &gp);
	EXPECT_EQ(pb.extended_base, 0);
	nvs_pb_entry(&pb, 1ull << 32, true, &sink, &gp);
	nvs_pb_entry(&pb, 0x77ull << 32, true, &sink, &gp);
	EXPECT_EQ(seen.nfaults, 3);
	EXPECT_EQ(seen.faults[1].kind, NVS_PB_RESERVED_CONTROL);
}

/* After each fault the next entry is decoded as if nothing had been. */
static void faults(void)
{
	static const struct {
		uint32_t words[8], n;
		uint32_t kind, wanted, had;
	} bad[] = {
		{{INC(1, 0x100, 8191), 1, 2}, 3, NVS_PB_SHORT_DATA, 8191, 2},
		{{NON_INC(1, 0x1b4, 5)}, 1, NVS_PB_SHORT_DATA, 5, 0},
		{{OLD(0, 1, 0x100, 0x7ff), 1}, 2, NVS_PB_SHORT_DATA, 0x7ff, 1},
		{{6u << 29 | 0x1234, INC(1, 0x100, 1), 7}, 3, NVS_PB_RESERVED_HEADER, 0, 0},
		{{2u << 29 | 1 << 16, 1}, 2, NVS_PB_RESERVED_HEADER, 0, 0},
	};
	static const uint32_t good[] = {INC(1, 0x104, 1), 99};
	static struct seen seen;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct nvs_pb pb = {0};
		uint32_t before;

		memset(&seen, 0, sizeof(seen));
		walk(&pb, bad[i].words, bad[i].n, &seen);
		EXPECT_EQ(seen.nfaults, 1);
		EXPECT_EQ(seen.faults[0].kind, bad[i].kind);
		EXPECT_EQ(seen.faults[0].wanted, bad[i].wanted);
		EXPECT_EQ(seen.faults[0].had, bad[i].had);
		EXPECT_EQ(seen.faults[0].address, 0x200000000ull);
		before = seen.nwords;
		walk(&pb, good, 2, &seen);
		EXPECT_EQ(seen.nfaults, 1);
		EXPECT_EQ(seen.nwords, before + 1);
		EXPECT_EQ(seen.words[before].value, 99);
	}
}

static void segment_faults(void)
{
	static const uint32_t head[] = {INC(1, 0x100, 2)}, data[] = {1, 2}, more[] = {3, 4, 5};
	static struct seen seen;
	struct nvs_pb_sink sink = {on_run, on_fault, &seen};
	struct nvs_pb pb = {0};
	struct nvs_gp gp;

	/* A subroutine inside a header's data. */
	memset(&seen, 0, sizeof(seen));
	nvs_pb_start(&pb);
	nvs_pb_entry(&pb, entry(0x1000, 1), true, &sink, &gp);
	pb_feed(&pb, head, 1, &sink);
	nvs_pb_entry(&pb, entry(0x2000, 2) | 1ull << 41, true, &sink, &gp);
	EXPECT_EQ(seen.nfaults, 1);
	EXPECT_EQ(seen.faults[0].kind, NVS_PB_NESTED);
	nvs_pb_skip(&pb);
	nvs_pb_finish(&pb, &sink);
	/* A part of a segment again; a subroutine may come as often as it likes. */
	nvs_pb_start(&pb);
	for (int i = 0; i < 3; i++) {
		nvs_pb_entry(&pb, entry(0x1000, 4) | 1ull << 41, true, &sink, &gp);
		nvs_pb_skip(&pb);
	}
	EXPECT_EQ(seen.nfaults, 1);
	nvs_pb_entry(&pb, entry(0x100c, 1), true, &sink, &gp);
	nvs_pb_skip(&pb);
	EXPECT_EQ(seen.nfaults, 2);
	EXPECT_EQ(seen.faults[1].kind, NVS_PB_LOOP);
	nvs_pb_finish(&pb, &sink);
	nvs_pb_start(&pb); /* in another submission it is another segment */
	nvs_pb_entry(&pb, entry(0x1000, 4), true, &sink, &gp);
	nvs_pb_skip(&pb);
	nvs_pb_finish(&pb, &sink);
	EXPECT_EQ(seen.nfaults, 2);
	/* Fewer and more bytes than the entry says. */
	nvs_pb_start(&pb);
	nvs_pb_entry(&pb, entry(0x1000, 8), true, &sink, &gp);
	pb_feed(&pb, head, 1, &sink);
	pb_feed(&pb, data, 2, &sink);
	nvs_pb_finish(&pb, &sink);
	EXPECT_EQ(seen.nfaults, 3);
	EXPECT_EQ(seen.faults[2].kind, NVS_PB_LENGTH);
	nvs_pb_start(&pb);
	nvs_pb_entry(&pb, entry(0x1000, 1), true, &sink, &gp);
	seen.nwords = 0;
	pb_feed(&pb, more, 3, &sink);
	EXPECT_EQ(seen.nfaults, 4);
	EXPECT_EQ(seen.faults[3].kind, NVS_PB_LENGTH);
	EXPECT_EQ(seen.nwords, 0);
	nvs_pb_finish(&pb, &sink);
	EXPECT_STR(nvs_pb_fault_name(NVS_PB_LOOP), "looping-segment");
}

static void end_of_segment(void)
{
	static const uint32_t words[] = {INC(1, 0x100, 1), 1, 7u << 29, INC(1, 0x104, 9), 6u << 29};
	static const uint32_t good[] = {INC(1, 0x108, 1), 2};
	static struct seen seen;
	struct nvs_pb pb = {0};

	memset(&seen, 0, sizeof(seen));
	walk(&pb, words, 5, &seen);
	walk(&pb, good, 2, &seen);
	EXPECT_EQ(seen.nfaults, 0);
	EXPECT_EQ(seen.nwords, 2);
	EXPECT_EQ(seen.words[1].value, 2);
}

/* A segment that is not in the trace takes the data of the header before it along. */
static void missing(void)
{
	static const uint32_t head[] = {INC(1, 0x100, 2)}, good[] = {INC(1, 0x108, 1), 2};
	static struct seen seen;
	struct nvs_pb_sink sink = {on_run, on_fault, &seen};
	struct nvs_pb pb = {0};
	struct nvs_gp gp;

	memset(&seen, 0, sizeof(seen));
	nvs_pb_start(&pb);
	nvs_pb_entry(&pb, entry(0x1000, 1), true, &sink, &gp);
	pb_feed(&pb, head, 1, &sink);
	nvs_pb_entry(&pb, entry(0x2000, 2), true, &sink, &gp);
	nvs_pb_skip(&pb);
	nvs_pb_entry(&pb, entry(0x3000, 2), true, &sink, &gp);
	pb_feed(&pb, good, 2, &sink);
	nvs_pb_finish(&pb, &sink);
	EXPECT_EQ(seen.nfaults, 0);
	EXPECT_EQ(seen.nwords, 1);
	EXPECT_EQ(seen.words[0].value, 2);
}

int main(void)
{
	forms();
	cuts();
	entries();
	faults();
	segment_faults();
	end_of_segment();
	missing();
	return expect_done();
}
