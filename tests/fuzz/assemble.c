/* SPDX-License-Identifier: MIT */
/* FUZZ: decode report decode/assemble/assemble.o decode/assemble/emit.o */
/* FUZZ: decode/assemble/method.o decode/assemble/tokens.o decode/assemble/value.o */
/* FUZZ: decode/assemble/entry.o decode/assemble/fields.o */
/*
 * Fuzz target: the assembler both ways. The input as a text: it is assembled or complained of, in
 * lines that fit a terminal, with places within the text. The input as dwords: --dump's text of
 * them makes them again, as far as the walk looks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/assemble/assemble.h"
#include "decode/gpu/ops.h"
#include "decode/report/dump/methods.h"
#include "tests/fuzz/fuzz.h"

#define WORDS_MAX 65536u

struct state {
	const uint8_t *data;
	size_t size;
	bool is_text;
	struct nvs_dumper dumper;
	struct nvs_out out;
	uint32_t seen; /* words that the walk has looked at */
	bool ended;
};

static void complain(void *arg, const struct nvs_asm_place *at, const char *message)
{
	const struct state *s = arg;

	FUZZ_HOLDS(s->is_text);
	FUZZ_HOLDS(at->line && at->line <= s->size + 1 && at->column && at->column <= s->size + 1);
	FUZZ_HOLDS(*message);
	for (; *message; message++)
		FUZZ_HOLDS((unsigned char)*message >= ' ' && *message != 0x7f);
}

static int assemble(struct state *s, struct nvs_assembly *a, const char *text, size_t size)
{
	static const struct nvs_asm_symbol symbols[] = {{"src", 0x7f0012345000}, {"sem", 0x1000}};
	struct nvs_asm_input in = {.text = text,
				   .length = size,
				   .symbols = symbols,
				   .nsymbols = 2,
				   .classes = {[1] = 0xcbc0, [4] = 0xc8b5},
				   .complain = complain,
				   .arg = s};

	return nvs_assemble(a, &in);
}

static void check_whole(const struct nvs_assembly *a)
{
	uint32_t n = 0;

	FUZZ_HOLDS(a->nwords <= NVS_ASM_MAX_WORDS);
	for (uint32_t i = 0; i < a->nentries; i++) {
		FUZZ_HOLDS(a->entries[i].control || a->entries[i].first == n);
		FUZZ_HOLDS(!a->entries[i].control || !a->entries[i].dwords);
		n += a->entries[i].dwords;
	}
	FUZZ_HOLDS(n == a->nwords);
}

static void from_text(struct state *s)
{
	struct nvs_assembly a;
	int r;

	s->is_text = true;
	r = assemble(s, &a, (const char *)s->data, s->size);
	FUZZ_HOLDS(!r || r == -EINVAL || r == -ENOMEM);
	if (!r)
		check_whole(&a);
	nvs_assembly_free(&a);
}

/* ---- words ---- */

static void on_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		   const struct nvs_class *cls)
{
	struct state *s = arg;

	nvs_dump_run(&s->dumper, c, run, cls);
	if (run->form == NVS_PB_NOP)
		s->seen += run->total;
	else
		s->seen += !run->index +
			   (run->form <= NVS_PB_OLD_NON_INC && run->form != NVS_PB_IMMD ? run->count
											: 0);
}

static void on_fault(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_fault *fault)
{
	struct state *s = arg;

	nvs_dump_fault(&s->dumper, fault);
	s->seen += fault->kind == NVS_PB_RESERVED_HEADER ||
		   (fault->kind == NVS_PB_SHORT_DATA && !fault->had);
}

static void dump(struct state *s, const uint32_t *words, uint32_t n)
{
	struct nvs_ops_sink sink = {.run = on_run, .fault = on_fault, .arg = s};
	struct nvs_ops_channel_info info = {.defaults = {[1] = 0xcbc0, [4] = 0xc8b5}};
	struct nvs_ops *ops = nvs_ops_new(&sink);
	struct nvs_ops_channel *c = ops ? nvs_ops_channel_new(ops, &info) : NULL;
	struct nvs_gp gp;

	if (!c)
		abort();
	nvs_ops_begin(c, 0, 0);
	nvs_ops_entry(c, (uint64_t)n << 42 | 0x200000, &gp);
	nvs_ops_feed(c, words, n);
	nvs_ops_end(c);
	nvs_dump_flush(&s->dumper);
	nvs_ops_free(ops);
}

static void from_words(struct state *s)
{
	static uint32_t words[WORDS_MAX];
	uint32_t n = (uint32_t)(s->size / 4 < WORDS_MAX ? s->size / 4 : WORDS_MAX);
	struct nvs_assembly a;
	size_t length = 0;
	char *text = NULL;

	s->is_text = false;
	memcpy(words, s->data, 4ull * n);
	s->out.file = open_memstream(&text, &length);
	s->dumper.out = &s->out;
	s->dumper.full = s->size % 4;
	dump(s, words, n);
	fclose(s->out.file);
	FUZZ_HOLDS(s->seen <= n);
	FUZZ_HOLDS(!assemble(s, &a, text, length));
	FUZZ_HOLDS(a.nwords == s->seen);
	FUZZ_HOLDS(!memcmp(a.words, words, 4ull * s->seen));
	nvs_assembly_free(&a);
	nvs_dump_free(&s->dumper);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state s = {.data = data, .size = size};

	from_text(&s);
	if (size >= 4)
		from_words(&s);
	return 0;
}
