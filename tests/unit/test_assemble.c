/* SPDX-License-Identifier: MIT */
/* LINK: decode/assemble/assemble.o decode/assemble/emit.o decode/assemble/method.o */
/* LINK: decode/assemble/tokens.o decode/assemble/value.o decode/assemble/entry.o */
/* LINK: decode/assemble/fields.o decode/report/dump/gpfifo_entry.o decode/report/dump/methods.o */
/* LINK: decode/report/dump/method_text.o cli decode */
/*
 * The assembler, compared with --dump: every submission of the capture is reproduced word for word
 * and entry for entry, and so are random words; a hand-written text gives the right words; and
 * errors are reported with line and column.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "decode/assemble/assemble.h"
#include "decode/calls/pass.h"
#include "decode/report/dump/methods.h"
#include "tests/unit/expect.h"

#define CAPTURE "tests/golden/h200.trace.zst"
#define WORDS_MAX (1u << 20)
#define ENTRIES_MAX 64

/* What a submission is, and its text. */
struct sub {
	struct nvs_dumper dumper;
	struct nvs_out out;
	uint64_t entries[ENTRIES_MAX];
	uint32_t nentries, nwords;
	uint32_t *words;
	uint64_t above; /* level of the segment before */
	char *text;
	size_t length;
};

static void sub_begin(struct sub *s, bool full)
{
	s->nentries = s->nwords = 0;
	s->text = NULL;
	s->out.file = open_memstream(&s->text, &s->length);
	s->dumper.out = &s->out;
	s->dumper.full = full;
}

static char complaint[1024];

static void complain(void *arg, const struct nvs_asm_place *at, const char *message)
{
	size_t n = strlen(complaint);

	snprintf(complaint + n, sizeof(complaint) - n, "%u:%u: %s\n", at->line, at->column,
		 message);
}

static const struct nvs_asm_symbol symbols[] = {
	{"src", 0x7f1234560000},
	{"dst", 0x7f2234560000},
	{"sem", 0x3300001000},
};

static int assemble(struct nvs_assembly *a, const char *text, size_t length)
{
	struct nvs_asm_input in = {.text = text,
				   .length = length,
				   .symbols = symbols,
				   .nsymbols = 3,
				   .classes = {[1] = 0xcbc0, [4] = 0xc8b5},
				   .complain = complain};

	complaint[0] = 0;
	return nvs_assemble(a, &in);
}

/* True: the same words in the same entries. */
static bool same(const struct sub *s, const struct nvs_assembly *a)
{
	uint32_t at = 0;

	if (a->nwords != s->nwords || a->nentries != s->nentries ||
	    (s->nwords && memcmp(a->words, s->words, 4 * s->nwords)))
		return false;
	for (uint32_t i = 0; i < s->nentries; i++) {
		uint32_t dwords = (uint32_t)(s->entries[i] >> 42) & 0x1fffff;

		if (a->entries[i].entry != s->entries[i] || a->entries[i].dwords != dwords ||
		    (dwords && a->entries[i].first != at))
			return false;
		at += dwords;
	}
	return true;
}

/* The text is complete: what it makes is what it was made of. */
static bool sub_end(struct sub *s)
{
	struct nvs_assembly a;
	bool good;
	int r;

	nvs_dump_flush(&s->dumper);
	fclose(s->out.file);
	r = assemble(&a, s->text, s->length);
	good = !r && same(s, &a);
	if (!good) {
		printf("%s%u words in %u entries of %u in %u\n%.3000s", complaint, a.nwords,
		       a.nentries, s->nwords, s->nentries, s->text);
		for (uint32_t i = 0; i < a.nwords && i < s->nwords; i++)
			if (a.words[i] != s->words[i]) {
				printf("word %u: %08x, not %08x\n", i, a.words[i], s->words[i]);
				break;
			}
		for (uint32_t i = 0; i < a.nentries && i < s->nentries; i++)
			if (a.entries[i].entry != s->entries[i])
				printf("entry %u: %016llx, not %016llx\n", i,
				       (unsigned long long)a.entries[i].entry,
				       (unsigned long long)s->entries[i]);
	}
	nvs_assembly_free(&a);
	free(s->text);
	return good;
}

/* ---- a capture ---- */

static int on_submission(void *arg, const struct nvs_submission *sub, const struct nvs_call *call)
{
	struct sub *s = arg;
	struct nvs_segment_iter it = nvs_segments(sub);
	struct nvs_segment seg;

	sub_begin(s, sub->number % 2);
	while (nvs_segment_next(&it, &seg)) {
		if (s->nentries < ENTRIES_MAX)
			s->entries[s->nentries++] = seg.entry;
		if (seg.bytes && s->nwords + seg.bytes / 4 <= WORDS_MAX)
			memcpy(s->words + s->nwords, seg.data, seg.bytes);
		s->nwords += seg.bytes / 4;
	}
	return 0;
}

static int on_entry(void *arg, const struct nvs_submission *sub, const struct nvs_segment *seg,
		    const struct nvs_gp *gp)
{
	struct sub *s = arg;

	nvs_dump_text_entry(&s->dumper.line, seg, gp, nvs_dump_entry_address(sub, seg->index));
	return 0;
}

static int on_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		  const struct nvs_class *cls)
{
	nvs_dump_run(&((struct sub *)arg)->dumper, c, run, cls);
	return 0;
}

static int on_fault(void *arg, const struct nvs_pb_fault *fault)
{
	nvs_dump_fault(&((struct sub *)arg)->dumper, fault);
	return 0;
}

static int on_submitted(void *arg, const struct nvs_submission *sub, const struct nvs_call *call)
{
	EXPECT(sub_end(arg));
	return 0;
}

static void test_capture(struct sub *s)
{
	struct nvs_pass_reader reader = {.submission = on_submission,
					 .entry = on_entry,
					 .run = on_run,
					 .fault = on_fault,
					 .submitted = on_submitted,
					 .arg = s};
	struct nvs_error err;
	struct nvs_pass *reading;
	struct nvs_trace *trace;
	int before = expect_passed;

	if (nvs_trace_open(&trace, CAPTURE, NULL, &err)) {
		printf("%s\n", err.text);
		EXPECT(0);
		return;
	}
	reading = nvs_pass_new(trace);
	EXPECT(!nvs_pass_add(reading, &reader));
	EXPECT(!nvs_pass_run(reading, &err));
	nvs_pass_free(reading);
	nvs_trace_close(trace);
	EXPECT(expect_passed - before > 200);
}

/* ---- random words ---- */

static uint64_t seed;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

static uint32_t any_word(void)
{
	return any(4) ? any(1u << 31) << 1 ^ any(1u << 31) : any(3);
}

/* Mostly headers that are something, with methods that have names, and now and then any word. */
static uint32_t any_header(void)
{
	static const uint32_t methods[] = {0,	  0x5c,	 0x6c,	0x100,	0x1b0, 0x1b4,  0x188,
					   0x240, 0x300, 0x400, 0x1b00, 0x2b4, 0x3400, 0x3ffc};
	uint32_t to = any(8) << 13 | methods[any(14)] >> 2, kind = any(12);

	if (kind == 11)
		return any_word();
	if (kind == 10)
		return 0;
	if (kind > 7)
		return kind << 29 | any(9) << 18 | (to & 0xe000) | methods[any(12)] % 0x2000 |
		       any(2);
	if (kind == 7 && any(20))
		kind = 1;
	return kind << 29 | any(9) << 16 | to | (any(20) ? 0 : 1u << 12);
}

/* The walk does not look behind this word. */
static bool is_last(uint32_t header)
{
	uint32_t group = header >> 29;

	return group == 6 || group == 7 || (group == 2 && header >> 16 & 3);
}

static uint32_t data_of(uint32_t header)
{
	uint32_t group = header >> 29;

	if (group == 1 || group == 3 || group == 5)
		return header >> 16 & 0x1fff;
	return (group == 0 || group == 2) && !(header >> 16 & 3) ? header >> 18 & 0x7ff : 0;
}

static void one_entry(struct sub *s, struct nvs_ops_channel *c, uint64_t bits, uint32_t n)
{
	uint64_t entry = bits | (uint64_t)n << 42;
	struct nvs_segment seg = {.index = s->nentries, .entry = entry, .dwords = n};
	struct nvs_gp gp;

	s->entries[s->nentries++] = entry;
	nvs_ops_entry(c, entry, &gp);
	nvs_dump_flush(&s->dumper);
	nvs_dump_text_entry(&s->dumper.line, &seg, &gp, 0);
}

static uint64_t any_flags(void)
{
	return (any(9) ? 0 : 1ull << 63) | (any(9) ? 0 : 1ull << 41) | (any(9) ? 0 : 1);
}

static bool random_submission(struct sub *s, struct nvs_ops_channel *c)
{
	uint32_t n = 1 + any(40), left = 0, nentries = 1 + any(4);

	sub_begin(s, any(2));
	nvs_ops_begin(c, 0, 0);
	while (nentries--) {
		uint32_t first = s->nwords, count;
		uint64_t flags = any_flags(), level = flags >> 41 & 1;

		/* A subroutine does not go on with the data of its caller. */
		if (level && !s->above)
			left = 0;
		s->above = level;
		if (!any(6))
			one_entry(s, c,
				  (uint64_t)any(6) << 32 | any_word() | (any(2) ? 0 : 1ull << 63),
				  0);
		for (uint32_t i = 0; i < n; i++) {
			bool header = !left;
			uint32_t word = header ? any_header() : any_word();

			s->words[s->nwords++] = word;
			left = header ? data_of(word) : left - 1;
			if (header && is_last(word))
				break;
		}
		count = s->nwords - first;
		one_entry(s, c, flags | ((uint64_t)any_word() << 8 & 0xfffffffffcull), count);
		nvs_ops_feed(c, s->words + first, count);
	}
	nvs_ops_end(c);
	return sub_end(s);
}

static void random_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		       const struct nvs_class *cls)
{
	on_run(arg, c, run, cls);
}

static void random_fault(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_fault *fault)
{
	on_fault(arg, fault);
}

static void test_random(struct sub *s, uint64_t first, uint32_t n)
{
	struct nvs_ops_sink sink = {.run = random_run, .fault = random_fault, .arg = s};
	struct nvs_ops_channel_info info = {.defaults = {[1] = 0xcbc0, [4] = 0xc8b5}};

	for (uint64_t i = first; i < first + n; i++) {
		struct nvs_ops *ops = nvs_ops_new(&sink);
		struct nvs_ops_channel *c = nvs_ops_channel_new(ops, &info);

		seed = i;
		s->above = 0;
		for (int k = 0; k < 3; k++) {
			bool good = random_submission(s, c);

			EXPECT(good);
			if (!good) {
				printf("seed %llu\n", (unsigned long long)i);
				nvs_ops_free(ops);
				return;
			}
		}
		nvs_ops_free(ops);
	}
}

int main(int argc, char **argv)
{
	struct sub s = {.words = malloc(4 * WORDS_MAX)};

	test_capture(&s);
	test_random(&s, argc > 1 ? strtoull(argv[1], NULL, 0) : 1, argc > 2 ? 1u << 20 : 2000);
	nvs_dump_free(&s.dumper);
	free(s.words);
	return expect_done();
}
