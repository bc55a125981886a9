/* SPDX-License-Identifier: MIT */
/* LINK: sass interp */
/*
 * Executes kernels that count themselves: each rewritten test kernel writes the same memory as the
 * original, and its counters equal the interpreter's counts for the original exactly, for each
 * placement, home and level, on each architecture.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sass/count.h"
#include "tests/sass/victims.h"
#include "tests/unit/expect.h"

enum { VICTIMS = 64, LONG = 1500 };

/* Cubins of ARCH on a GPU for which the driver's assembler makes instructions of GPU: sm_80's run
 * on later sm_8x. */
static struct arch {
	unsigned arch, gpu;
	void *cubin;
	size_t size;
	struct nvs_count_words words;
} arches[] = {{.arch = 75, .gpu = 75},
	      {.arch = 80, .gpu = 80},
	      {.arch = 80, .gpu = 86},
	      {.arch = 80, .gpu = 89},
	      {.arch = 90, .gpu = 90}};

static const struct victim_set *set;
static const char *only; /* kernel that is to count; NULL: all */

/* Counters of each victim, and what the original does. */
static unsigned char (*slots)[NVS_COUNT_BYTES];
static struct truth {
	uint64_t memory;
	struct interp_counts counts;
} truth[VICTIMS];

/* One way to count: for all victims of one architecture. */
struct way {
	const struct arch *arch;
	struct nvs_count_options options;
	unsigned seed;
	bool small; /* a block or a cluster of each is enough, and those that take long are left out
		     */
};

static struct victim launched(const struct way *w, unsigned number)
{
	struct victim v = set->victims[number];

	if (w->small) {
		v.grid[0] = strcmp(v.name, "cluster") ? 1 : 2;
		v.grid[1] = 1;
	}
	return v;
}

static uint64_t counters(void *arg, const char *kernel)
{
	(void)arg;
	for (unsigned i = 0; i < set->count && (!only || !strcmp(only, kernel)); i++)
		if (!strcmp(set->victims[i].name, kernel))
			return (uint64_t)(uintptr_t)slots[i];
	return 0;
}

static void describe(const struct way *w, const struct victim *v, char *text, size_t size)
{
	static const char *const places[] = {"any place", "inline", "stub"};
	static const char *const homes[] = {"any home", "vector", "uniform", "elected"};
	const struct nvs_count_options *o = &w->options;

	snprintf(text, size, "sm_%u on sm_%u, %s, %s, %s%s%s%s%s, %u-%u, seed %u", w->arch->arch,
		 w->arch->gpu, v->name, places[o->place], homes[o->home], o->warps ? ", warps" : "",
		 o->threads ? ", threads" : "", o->skip_off ? ", skip" : "",
		 o->narrow ? ", narrow" : "", o->from, o->to, w->seed);
}

static void originals(const struct way *w)
{
	for (unsigned i = 0; i < set->count; i++) {
		struct victim_run run = {.cubin = w->arch->cubin,
					 .size = w->arch->size,
					 .from = w->options.from,
					 .to = w->options.to,
					 .seed = w->seed};
		struct victim v = launched(w, i);
		char why[256] = "";

		memset(&truth[i], 0, sizeof(truth[i]));
		if (victim_runs_on(&set->victims[i], w->arch->arch))
			victim_run(&v, &run, &truth[i].counts, &truth[i].memory, why, sizeof(why));
		EXPECT_STR(why, "");
	}
}

static void compare(const struct way *w, unsigned number, const struct nvs_counted *counted)
{
	const struct truth *t = &truth[number];
	const struct nvs_count_options *o = &w->options;
	uint64_t warps = o->skip_off ? t->counts.warp_on : t->counts.warp;
	uint64_t threads = o->skip_off ? t->counts.pred_on : t->counts.thread;
	struct victim_run run = {.cubin = counted->cubin,
				 .size = counted->size,
				 .extra = {slots[number], NVS_COUNT_BYTES},
				 .seed = w->seed};
	struct victim v = launched(w, number);
	struct interp_counts unused = {0};
	struct nvs_count_sums sums = {0};
	char why[256] = "", what[128], is[512], should[512];
	uint64_t memory = 0;

	describe(w, &set->victims[number], what, sizeof(what));
	memset(slots[number], 0, NVS_COUNT_BYTES);
	victim_run(&v, &run, &unused, &memory, why, sizeof(why));
	nvs_count_sum(slots[number], NVS_COUNT_SLOTS, &sums);
	snprintf(is, sizeof(is), "%s: %s memory %s, %llu warps, %llu threads%s", what, why,
		 memory == t->memory ? "same" : "other",
		 (unsigned long long)(o->warps ? sums.warps : warps),
		 (unsigned long long)(o->threads ? sums.threads : threads),
		 sums.wrapped || sums.warps_wrapped ? ", wrapped" : "");
	snprintf(should, sizeof(should), "%s:  memory same, %llu warps, %llu threads", what,
		 (unsigned long long)warps, (unsigned long long)threads);
	EXPECT_STR(is, should);
}

static const struct nvs_counted_kernel *kernel_of(const struct nvs_counted *c, const char *name)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (!strcmp(c->kernel[i].name, name))
			return &c->kernel[i];
	return NULL;
}

/* It calls by addresses that stand in its constants: its functions must stay where they are. */
static bool stays(const struct victim *v, const struct nvs_count_options *o)
{
	return (!strcmp(v->name, "pointer") || !strcmp(v->name, "fullfn")) &&
	       (o->place == NVS_COUNT_INLINE || o->skip_off);
}

/* Off predicates are counted at their instructions, which have to move; ELECT came with sm_90, and
 * there is no room for more there. */
static bool refused(const struct way *w)
{
	const struct nvs_count_options *o = &w->options;

	return (o->skip_off && (o->place == NVS_COUNT_STUB || o->home == NVS_COUNT_ELECTED)) ||
	       (o->home == NVS_COUNT_ELECTED && w->arch->arch < 90);
}

static void count(struct way *w)
{
	struct nvs_counted counted = {0};

	w->options.counters = counters;
	EXPECT_EQ(nvs_count_rewrite(w->arch->cubin, w->arch->size, &w->arch->words, &w->options,
				    &nvs_sass_heap, &counted),
		  0);
	EXPECT(!counted.cubin == refused(w));
	for (unsigned i = 0; i < set->count && counted.cubin; i++) {
		const struct nvs_counted_kernel *k = kernel_of(&counted, set->victims[i].name);
		char is[256], what[128];

		if (!victim_runs_on(&set->victims[i], w->arch->arch) ||
		    (w->small && truth[i].counts.warp > LONG))
			continue;
		if (k && k->counters) {
			compare(w, i, &counted);
		} else if (!stays(&set->victims[i], &w->options)) {
			describe(w, &set->victims[i], what, sizeof(what));
			snprintf(is, sizeof(is), "%s: %s at %#x", what, k && k->why ? k->why : "?",
				 k ? k->why_at : 0);
			EXPECT_STR(is, "");
		}
	}
	nvs_counted_free(&counted, &nvs_sass_heap);
}

/* Where counting may stand, and which part of a warp goes first. */
static void places(struct way *w)
{
	w->options = (struct nvs_count_options){.warps = true, .threads = true};
	for (w->seed = 0; w->seed < 3; w->seed++) {
		w->small = w->seed;
		originals(w);
		for (unsigned place = NVS_COUNT_ANY; place <= NVS_COUNT_STUB; place++) {
			w->options.place = place;
			count(w);
		}
	}
}

/* Registers in which sums stand. */
static void homes(struct way *w)
{
	w->seed = 0;
	w->small = true;
	originals(w);
	for (unsigned i = 0; i < 12; i++) {
		w->options.place = i / 6 ? NVS_COUNT_STUB : NVS_COUNT_INLINE;
		w->options.home = NVS_COUNT_VECTOR + i % 3;
		w->options.narrow = i / 3 % 2;
		count(w);
	}
}

static void levels(struct way *w)
{
	w->options = (struct nvs_count_options){0};
	w->seed = 0;
	originals(w);
	for (unsigned i = 0; i < 12; i++) {
		w->options.place = i / 6 ? NVS_COUNT_STUB : NVS_COUNT_INLINE;
		w->options.warps = i % 3 != 1;
		w->options.threads = i % 3 != 0;
		w->options.skip_off = i / 3 % 2;
		count(w);
	}
	/* some of the instructions, by their numbers */
	w->options.warps = w->options.threads = true;
	for (unsigned i = 0; i < 6; i++) {
		w->options.skip_off = i % 2;
		w->options.place = i % 3;
		w->options.from = i * 5;
		w->options.to = i * 5 + 3 + i * 10;
		originals(w);
		count(w);
	}
}

/*
 * Sums of 64 bits where no test can wait for as many instructions: the lengths of blocks are made
 * 2^SHIFT times as long in the rewritten code. They are what UIMAD.WIDE adds to its own
 * destination, and what UIADD3 begins that with.
 */
enum { SHIFT = 24 };

static unsigned weigh(unsigned char *code, size_t size)
{
	bool sum[64] = {false};
	unsigned changed = 0;

	for (unsigned round = 0; round < 2; round++)
		for (size_t i = 0; i + 16 <= size; i += 16) {
			unsigned char *c = code + i, d = c[2] & 63;
			unsigned op = (c[0] | c[1] << 8) & 0xfff;
			uint32_t n;

			memcpy(&n, c + 4, 4);
			if (round ? op != 0x890 || (c[3] & 63) != 63 || !sum[d]
				  : op != 0x8a5 || ((c[8] & 63) != d && (c[8] & 63) != 63))
				continue;
			if (!round)
				sum[d] = true;
			n <<= SHIFT;
			memcpy(c + 4, &n, 4);
			changed++;
		}
	return changed;
}

static unsigned number_of(const char *name)
{
	unsigned i = 0;

	while (strcmp(set->victims[i].name, name))
		i++;
	return i;
}

static void carries(const struct arch *a, const char *name, enum nvs_count_place place)
{
	struct way w = {.arch = a};
	struct nvs_counted counted = {0};
	struct nvs_cubin cubin;
	struct nvs_cubin_section code = {0};
	char section[64];

	w.options = (struct nvs_count_options){.warps = true,
					       .threads = true,
					       .place = place,
					       .home = NVS_COUNT_UNIFORM,
					       .counters = counters};
	snprintf(section, sizeof(section), ".text.%s", name);
	EXPECT_EQ(nvs_count_rewrite(a->cubin, a->size, &a->words, &w.options, &nvs_sass_heap,
				    &counted),
		  0);
	EXPECT(!nvs_cubin_open(&cubin, counted.cubin, counted.size) &&
	       nvs_cubin_section_named(&cubin, section, &code));
	if (code.data)
		EXPECT(weigh(counted.cubin + (code.data - counted.cubin), code.size) > 2);
	originals(&w);
	for (unsigned i = 0; i < set->count; i++) {
		if (strcmp(set->victims[i].name, name))
			continue;
		truth[i].counts.warp <<= SHIFT;
		truth[i].counts.thread <<= SHIFT;
		compare(&w, i, &counted);
	}
	nvs_counted_free(&counted, &nvs_sass_heap);
}

/* Warps' sum of 32 bits beside threads' of 64: what it may have lost is told. */
static void wraps(const struct arch *a, bool weighed)
{
	struct way w = {.arch = a};
	struct nvs_counted counted = {0};
	struct nvs_cubin cubin;
	struct nvs_cubin_section code = {0};
	unsigned i = number_of("lends");
	struct victim_run run = {.extra = {slots[i], NVS_COUNT_BYTES}};
	struct nvs_count_sums sums = {0};
	struct interp_counts unused = {0};
	char why[256] = "";
	uint64_t memory = 0;

	w.options =
		(struct nvs_count_options){.warps = true, .threads = true, .counters = counters};
	EXPECT_EQ(nvs_count_rewrite(a->cubin, a->size, &a->words, &w.options, &nvs_sass_heap,
				    &counted),
		  0);
	EXPECT(kernel_of(&counted, "lends")->narrow);
	EXPECT(!nvs_cubin_open(&cubin, counted.cubin, counted.size) &&
	       nvs_cubin_section_named(&cubin, ".text.lends", &code));
	if (weighed && code.data)
		EXPECT(weigh(counted.cubin + (code.data - counted.cubin), code.size) > 2);
	originals(&w);
	run.cubin = counted.cubin;
	run.size = counted.size;
	memset(slots[i], 0, NVS_COUNT_BYTES);
	victim_run(&set->victims[i], &run, &unused, &memory, why, sizeof(why));
	EXPECT_STR(why, "");
	EXPECT_EQ(memory, truth[i].memory);
	nvs_count_sum(slots[i], NVS_COUNT_SLOTS, &sums);
	EXPECT_EQ(sums.threads, truth[i].counts.thread << (weighed ? SHIFT : 0));
	EXPECT_EQ(sums.warps, truth[i].counts.warp);
	EXPECT(!sums.wrapped && sums.warps_wrapped == weighed);
	nvs_counted_free(&counted, &nvs_sass_heap);
}

static void open_arch(struct arch *a)
{
	const char *missing = "";
	char file[64];
	size_t size;
	void *words;

	snprintf(file, sizeof(file), "%s-sm_%u.cubin", set->file, a->arch);
	a->cubin = victim_file(file, &a->size);
	snprintf(file, sizeof(file), "words-sm_%u.cubin", a->gpu);
	words = victim_file(file, &size);
	if (nvs_count_words(words, size, &a->words, &missing))
		EXPECT_STR(missing, "");
	free(words);
}

/* Of kernels that share functions one counts: the other does what it did. Where such functions end
 * threads, they would have to know which of both it was. */
static void one_of_group(struct way *w)
{
	struct nvs_counted counted = {0};
	unsigned idle = number_of("shares");

	w->options = (struct nvs_count_options){.counters = counters};
	w->small = false;
	originals(w);
	memset(&truth[idle].counts, 0, sizeof(truth[idle].counts));
	only = "shares2";
	EXPECT_EQ(nvs_count_rewrite(w->arch->cubin, w->arch->size, &w->arch->words, &w->options,
				    &nvs_sass_heap, &counted),
		  0);
	EXPECT_EQ(counted.rewritten, 1);
	w->options.warps = w->options.threads = true;
	compare(w, number_of(only), &counted);
	compare(w, idle, &counted);
	nvs_counted_free(&counted, &nvs_sass_heap);
	only = "leaves";
	EXPECT_EQ(nvs_count_rewrite(w->arch->cubin, w->arch->size, &w->arch->words, &w->options,
				    &nvs_sass_heap, &counted),
		  0);
	EXPECT(!counted.cubin);
	EXPECT_STR(kernel_of(&counted, only)->why,
		   "functions that end threads are shared by kernels that do not count");
	nvs_counted_free(&counted, &nvs_sass_heap);
	only = NULL;
}

/* Registers of a kernel as the GPU gives them out, eight at a time. */
static uint32_t registers_of(const void *data, size_t size, const char *name)
{
	struct nvs_cubin cubin;
	struct nvs_cubin_functions f;
	uint32_t n = 0;

	EXPECT_EQ(nvs_cubin_open(&cubin, data, size), 0);
	EXPECT_EQ(nvs_cubin_functions(&cubin, &nvs_sass_heap, &f), 0);
	for (uint32_t i = 0; i < f.n; i++)
		if (f.function[i].kernel && !strcmp(f.function[i].name, name))
			n = (f.function[i].registers + 7) / 8 * 8;
	nvs_cubin_functions_free(&f, &nvs_sass_heap);
	return n;
}

/* Counting warps takes registers only where they keep none out: 32 a thread fill an SM. */
static void as_many_warps(struct arch *a)
{
	struct nvs_count_options o = {.warps = true, .counters = counters};
	struct nvs_counted counted;

	EXPECT_EQ(nvs_count_rewrite(a->cubin, a->size, &a->words, &o, &nvs_sass_heap, &counted), 0);
	for (unsigned i = 0; i < set->count; i++) {
		const char *name = set->victims[i].name;
		uint32_t before = registers_of(a->cubin, a->size, name);

		if (victim_runs_on(&set->victims[i], a->arch))
			EXPECT(registers_of(counted.cubin, counted.size, name) <=
			       (before > 32 ? before : 32));
	}
	nvs_counted_free(&counted, &nvs_sass_heap);
}

static uint64_t any_counters(void *arg, const char *kernel)
{
	(void)arg;
	(void)kernel;
	return (uint64_t)(uintptr_t)slots;
}

/* tests/sass/outside.cu: what its kernels call that the cubin does not hold, and how long they are:
 * ptxas fills up what it makes. */
static void calls_out(const struct arch *a)
{
	struct nvs_count_options o = {.warps = true, .counters = any_counters};
	struct nvs_counted counted = {0};
	const struct nvs_counted_kernel *k;
	size_t size;
	void *cubin = victim_file("outside-sm_90.cubin", &size);

	EXPECT_EQ(nvs_count_rewrite(cubin, size, &a->words, &o, &nvs_sass_heap, &counted), 0);
	EXPECT_EQ(counted.n, 3);
	EXPECT_EQ(kernel_of(&counted, "direct")->calls_out, 1);
	EXPECT_EQ(kernel_of(&counted, "through")->calls_out, 1);
	k = kernel_of(&counted, "within");
	EXPECT_EQ(k->calls_out, 0);
	EXPECT_EQ(k->instructions, 24);
	EXPECT_EQ(k->filler, 15);
	nvs_counted_free(&counted, &nvs_sass_heap);
	free(cubin);
}

static void architecture(struct arch *a)
{
	struct way way = {.arch = a};

	open_arch(a);
	places(&way);
	if (a->gpu == a->arch) {
		if (strcmp(set->file, "full") != 0) /* there is one home for them */
			homes(&way);
		levels(&way);
	}
	if (!strcmp(set->file, "apart"))
		one_of_group(&way);
	if (!strcmp(set->file, "crowded")) {
		wraps(a, false);
		wraps(a, true);
	}
	if (a->arch == 90)
		as_many_warps(a);
	if (a->arch == 90 && set == victim_sets)
		calls_out(a);
	for (unsigned place = NVS_COUNT_INLINE; place <= NVS_COUNT_STUB; place++) {
		if (a->arch != 90 || set != victim_sets)
			break;
		carries(a, "nested", place);
		carries(a, "ragged", place);
		carries(a, "matmul", place);
	}
	free(a->cubin);
}

int main(void)
{
	slots = calloc(VICTIMS, sizeof(*slots));
	for (set = victim_sets; set < victim_sets + victim_set_count; set++)
		for (unsigned i = 0; i < sizeof(arches) / sizeof(*arches); i++)
			if (arches[i].arch >= set->since)
				architecture(&arches[i]);
	free(slots);
	return expect_done();
}
