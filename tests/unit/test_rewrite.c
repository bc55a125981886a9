/* SPDX-License-Identifier: MIT */
/* LINK: sass interp */
/*
 * Cubins are disassembled, rewritten so that they count, and disassembled again: references into
 * the code still refer to the same places, everything else is unchanged, and failures are reported
 * and keep nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "sass/count.h"
#include "sass/blocks.h"
#include "tests/sass/victims.h"
#include "tests/unit/expect.h"

#define ADDRESS 0x7f0000100000

static uint64_t all(void *arg, const char *kernel)
{
	return ADDRESS;
}

static uint64_t only(void *arg, const char *kernel)
{
	return strcmp(kernel, arg) ? 0 : ADDRESS;
}

static void words_of(unsigned arch, struct nvs_count_words *words)
{
	const char *missing;
	char file[64];
	size_t size;
	void *cubin;

	snprintf(file, sizeof(file), "words-sm_%u.cubin", arch);
	cubin = victim_file(file, &size);
	EXPECT_EQ(nvs_count_words(cubin, size, words, &missing), 0);
	EXPECT(!missing);
	EXPECT_EQ(words->arch, arch);
	EXPECT_EQ(words->split, arch >= 90);
	free(cubin);
}

static const char *set = "kernels";

static void *victims_of(unsigned arch, size_t *size)
{
	char file[64];

	snprintf(file, sizeof(file), "%s-sm_%u.cubin", set, arch);
	return victim_file(file, size);
}

struct side {
	struct nvs_cubin cubin;
	struct nvs_cubin_functions functions;
};

static void open_side(struct side *s, const void *data, size_t size)
{
	EXPECT_EQ(nvs_cubin_open(&s->cubin, data, size), 0);
	EXPECT_EQ(nvs_cubin_functions(&s->cubin, &nvs_sass_heap, &s->functions), 0);
}

static const struct nvs_cubin_function *named(const struct side *s, const char *name)
{
	for (uint32_t i = 0; i < s->functions.n; i++)
		if (s->functions.function[i].kernel && !strcmp(s->functions.function[i].name, name))
			return &s->functions.function[i];
	return NULL;
}

static unsigned opcode_at(const struct side *s, const struct nvs_cubin_function *f, uint32_t at)
{
	struct nvs_sass_insn insn;

	if (at % 16 ||
	    !nvs_sass_insn(nvs_sass_form(s->cubin.arch), f->code, f->size, at / 16, &insn))
		return 0;
	return insn.opcode;
}

static uint32_t word(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

/* Lists of .nv.info: each entry names an instruction of the same opcode as before. */
static void lists(const struct side *old, const struct nvs_cubin_function *f,
		  const struct side *new, const struct nvs_cubin_function *g)
{
	struct nvs_cubin_section s, t;
	struct nvs_cubin_attribute a, b;
	size_t i = 0, k = 0;

	if (!f->info || !nvs_cubin_section(&old->cubin, f->info, &s) ||
	    !nvs_cubin_section(&new->cubin, g->info, &t))
		return;
	EXPECT_EQ(s.size, t.size);
	while (nvs_cubin_attribute(&s, &i, &a) && nvs_cubin_attribute(&t, &k, &b)) {
		EXPECT_EQ(a.code, b.code);
		EXPECT_EQ(a.size, b.size);
		if (a.format != 4 ||
		    (a.code != NVS_ATTR_EXIT_OFFSETS && a.code != NVS_ATTR_S2RCTAID_OFFSETS &&
		     a.code != NVS_ATTR_COOP_GROUP_OFFSETS &&
		     a.code != NVS_ATTR_INT_WARP_WIDE_OFFSETS &&
		     a.code != NVS_ATTR_MBARRIER_OFFSETS))
			continue;
		for (uint32_t o = 0; o + 4 <= a.size; o += 4)
			EXPECT_EQ(opcode_at(new, g, word(b.value + o)),
				  opcode_at(old, f, word(a.value + o)));
	}
}

static void compare(const struct side *old, const struct side *new,
		    const struct nvs_instrumented_kernel *k)
{
	const struct nvs_cubin_function *f = named(old, k->name), *g = named(new, k->name);
	struct nvs_sass_blocks before, after;

	EXPECT(f && g);
	if (!f || !g)
		return;
	if (!k->counters) {
		EXPECT(f->size == g->size && !memcmp(f->code, g->code, f->size));
		/* More where it shares functions with one that counts. */
		EXPECT(strcmp(set, "apart") ? f->registers == g->registers
					    : f->registers <= g->registers);
		return;
	}
	EXPECT_EQ(g->size, (size_t)(k->instructions + k->added) * 16);
	EXPECT_EQ(f->size, (size_t)k->instructions * 16);
	EXPECT_EQ(f->registers, k->registers[0]);
	EXPECT_EQ(g->registers, k->registers[1]);
	EXPECT(g->registers >= f->registers && g->registers <= 255);
	EXPECT_EQ(f->max_threads, g->max_threads);
	EXPECT_EQ(f->stack, g->stack);
	EXPECT_EQ(nvs_sass_blocks(&old->cubin, f, &nvs_sass_heap, &before), 0);
	EXPECT_EQ(nvs_sass_blocks(&new->cubin, g, &nvs_sass_heap, &after), 0);
	EXPECT_EQ(before.unknown, 0);
	EXPECT_EQ(after.unknown, 0);
	nvs_sass_blocks_free(&before, &nvs_sass_heap);
	nvs_sass_blocks_free(&after, &nvs_sass_heap);
	lists(old, f, new, g);
}

static void again(unsigned arch, enum nvs_count_place place, const char *kernel)
{
	struct nvs_count_options options = {
		.place = place, .counters = kernel ? only : all, .arg = (void *)kernel};
	struct nvs_count_words words;
	struct nvs_instrumented counted;
	struct side old, new;
	size_t size;
	void *cubin = victims_of(arch, &size);
	uint32_t rewritten = 0;

	words_of(arch, &words);
	EXPECT_EQ(nvs_count_rewrite(cubin, size, &words, &options, &nvs_sass_heap, &counted), 0);
	EXPECT(counted.cubin);
	open_side(&old, cubin, size);
	open_side(&new, counted.cubin, counted.size);
	EXPECT_EQ(old.cubin.sections, new.cubin.sections);
	EXPECT_EQ(old.functions.n, new.functions.n);
	for (uint32_t i = 0; i < counted.n; i++) {
		rewritten += counted.kernel[i].counters != 0;
		EXPECT(!counted.kernel[i].counters || !counted.kernel[i].why);
		compare(&old, &new, &counted.kernel[i]);
	}
	EXPECT_EQ(rewritten, counted.rewritten);
	if (kernel)
		EXPECT_EQ(rewritten, 1);
	nvs_cubin_functions_free(&old.functions, &nvs_sass_heap);
	nvs_cubin_functions_free(&new.functions, &nvs_sass_heap);
	nvs_instrumented_free(&counted, &nvs_sass_heap);
	free(cubin);
}

/* None asked for: no new cubin. Words of another architecture, or what is no cubin: an error. */
static void refused(void)
{
	struct nvs_count_options options = {.counters = only, .arg = (void *)"none"};
	struct nvs_count_words words, other;
	struct nvs_instrumented counted;
	const char *missing;
	size_t size;
	char *cubin = victims_of(90, &size), text[NVS_COUNT_PTX];

	words_of(90, &words);
	words_of(75, &other);
	EXPECT_EQ(nvs_count_rewrite(cubin, size, &words, &options, &nvs_sass_heap, &counted), 0);
	EXPECT(!counted.cubin && !counted.rewritten && counted.n > 40);
	nvs_instrumented_free(&counted, &nvs_sass_heap);
	EXPECT_EQ(nvs_count_rewrite(cubin, size, &other, &options, &nvs_sass_heap, &counted),
		  -EINVAL);
	EXPECT(nvs_count_rewrite(cubin, 100, &words, &options, &nvs_sass_heap, &counted) < 0);
	EXPECT(nvs_count_rewrite("none", 4, &words, &options, &nvs_sass_heap, &counted) < 0);
	EXPECT_EQ(nvs_count_words("none", 4, &other, &missing), -EINVAL);
	EXPECT_EQ(nvs_count_ptx(70, text, sizeof(text)), 0);
	EXPECT_EQ(nvs_count_ptx(100, text, sizeof(text)), 0);
	EXPECT_EQ(nvs_count_ptx(90, text, 1000), 0);
	EXPECT_EQ(nvs_count_ptx(90, text, sizeof(text)), strlen(text) + 1);
	EXPECT(strstr(text, ".target sm_90\n"));
	EXPECT(nvs_count_ptx(86, text, sizeof(text)) && strstr(text, ".target sm_80\n"));
	free(cubin);
}

/* A section of relocations that lies over others: it might lie there a thousand times. */
static void overlapping(void)
{
	struct nvs_count_options options = {.counters = only, .arg = (void *)"none"};
	struct nvs_instrumented counted;
	struct nvs_count_words words;
	struct nvs_cubin_section s;
	struct nvs_cubin cubin;
	uint64_t place[2] = {0};
	uint32_t i = 0;
	size_t size;
	char *data = victims_of(90, &size);

	words_of(90, &words);
	EXPECT_EQ(nvs_cubin_open(&cubin, data, size), 0);
	while (nvs_cubin_section(&cubin, i, &s) && s.type != 4 && s.type != 9)
		i++;
	EXPECT(i < cubin.sections);
	place[1] = size; /* sh_offset and sh_size */
	memcpy(data + cubin.section_headers + i * 64 + 24, place, sizeof(place));
	EXPECT_EQ(nvs_count_rewrite(data, size, &words, &options, &nvs_sass_heap, &counted),
		  -EBADMSG);
	free(data);
}

static void *get_some(void *arg, size_t size)
{
	int *left = arg;

	return --left[0] < 0 ? NULL : (left[1]++, calloc(1, size));
}

static void put_back(void *arg, void *p, size_t size)
{
	((int *)arg)[1]--;
	free(p);
}

/* Whichever piece of memory is not to be had: -ENOMEM, and all others are given back. */
static void memory(void)
{
	struct nvs_count_options options = {.counters = only, .arg = (void *)"diverge"};
	struct nvs_count_words words;
	int tried = 0, rc;
	size_t size;
	void *cubin = victims_of(90, &size);

	words_of(90, &words);
	do {
		int left[2] = {tried++, 0};
		struct nvs_sass_memory memory = {get_some, put_back, left};
		struct nvs_instrumented counted;

		rc = nvs_count_rewrite(cubin, size, &words, &options, &memory, &counted);
		EXPECT(!rc || rc == -ENOMEM);
		nvs_instrumented_free(&counted, &memory);
		EXPECT_EQ(left[1], 0);
	} while (rc && tried < 100);
	EXPECT(!rc && tried > 3);
	free(cubin);
}

static void sums(void)
{
	uint64_t slots[2][4] = {{5, 100, 0, 0}, {7, 28, 3, 0}};
	struct nvs_count_sums sums = {0};

	nvs_count_sum(slots, 2, &sums);
	EXPECT_EQ(sums.warps, 12);
	EXPECT_EQ(sums.threads, 128 + (UINT64_C(3) << 27));
	EXPECT(!sums.wrapped);
	slots[0][3] = 1;
	nvs_count_sum(slots, 1, &sums);
	EXPECT(sums.wrapped && !sums.warps_wrapped && sums.warps == 17);
	memset(&sums, 0, sizeof(sums));
	slots[0][3] = UINT64_C(3) << 32;
	nvs_count_sum(slots, 1, &sums);
	EXPECT(!sums.wrapped && sums.warps_wrapped);
}

int main(void)
{
	static const unsigned archs[] = {75, 80, 90};
	struct nvs_count_words words;

	words_of(86, &words);
	words_of(89, &words);
	for (unsigned i = 0; i < 3; i++) {
		again(archs[i], NVS_COUNT_INLINE, NULL);
		again(archs[i], NVS_COUNT_STUB, NULL);
		again(archs[i], NVS_COUNT_ANY, "table");
	}
	set = "apart";
	for (unsigned i = 0; i < 3; i++) {
		again(archs[i], NVS_COUNT_INLINE, NULL);
		again(archs[i], NVS_COUNT_STUB, NULL);
		again(archs[i], NVS_COUNT_ANY, "shares");
	}
	set = "kernels";
	refused();
	overlapping();
	memory();
	sums();
	return expect_done();
}
