/* SPDX-License-Identifier: MIT */
/* Rewrites a cubin so that its kernels count: each kernel separately, or together with those with
 * which it shares device functions. Kernels that cannot be rewritten stay unchanged. */
#include "sass/rewrite/rewrite.h"
#include "sass/sass.h"

#define SYMBOL 24u /* bytes of an Elf64_Sym */

/* Returns a writable pointer to P in the copy of the cubin. */
static uint8_t *writable_at(struct nvs_rebuilt *r, const uint8_t *p)
{
	return r->data + (p - r->data);
}

static void put_lists(struct nvs_function *fn)
{
	struct nvs_cubin_attribute a;
	size_t at = 0;

	if (!fn->info.index)
		return;
	while (nvs_offset_list_next(&fn->info, &at, &a))
		for (uint32_t k = 0; k + 4 <= a.size; k += 4) {
			uint32_t offset = nvs_elf_u32(a.value + k);

			if (offset / 16 < fn->n)
				nvs_store_u32(writable_at(fn->r, a.value + k),
					      fn->new_named[offset / 16] * 16 + offset % 16);
		}
	if (fn->report->place != NVS_COUNT_INLINE)
		return;
	for (at = 0; nvs_cubin_attribute(&fn->info, &at, &a);)
		for (uint32_t k = 0; a.format == 4 && a.code == NVS_ATTR_INDIRECT_BRANCH_TARGETS &&
				     k + 12 <= a.size;) {
			uint32_t n = nvs_elf_u32(a.value + k + 8),
				 i = nvs_elf_u32(a.value + k) / 16;

			if (n > (a.size - k - 12) / 4u)
				break;
			if (i < fn->n)
				nvs_store_u32(writable_at(fn->r, a.value + k), fn->new_own[i] * 16);
			for (uint32_t t = 0; t < n; t++) {
				const uint8_t *p = a.value + k + 12 + 4 * (size_t)t;

				if (nvs_elf_u32(p) / 16 < fn->n)
					nvs_store_u32(writable_at(fn->r, p),
						      fn->new_label[nvs_elf_u32(p) / 16] * 16);
			}
			k += 12 + 4 * n;
		}
}

/* Writes the register count to .nv.info, and to the section's header if it is stored there. */
static int put_registers(struct nvs_function *fn, uint32_t registers)
{
	struct nvs_cubin_section s;
	uint8_t *header = fn->r->data + fn->r->cubin.section_headers + (size_t)fn->text.index * 64;

	if (!nvs_cubin_section_named(&fn->r->cubin, ".nv.info", &s) || !s.data || s.size < 8 ||
	    fn->f->registers_at > s.size - 8)
		return -EBADMSG;
	nvs_store_u32(writable_at(fn->r, s.data) + fn->f->registers_at + 4, registers);
	if (fn->text.info >> 24)
		nvs_store_u32(header + 0x2c, (fn->text.info & 0xffffff) | registers << 24);
	return 0;
}

static int put_code(struct nvs_function *fn)
{
	struct nvs_cubin_section table;
	uint64_t size = (uint64_t)fn->outs * 16;

	if (!nvs_cubin_section(&fn->r->cubin, fn->r->cubin.symtab, &table) || !table.data)
		return -EBADMSG;
	memcpy(writable_at(fn->r, table.data) + (size_t)fn->f->symbol * SYMBOL + 16, &size, 8);
	fn->r->text[fn->text.index] = (const uint8_t *)fn->out;
	fn->r->text_size[fn->text.index] = size;
	return 0;
}

static int place_counting(struct nvs_function *fn, const struct nvs_count_registers *h)
{
	enum nvs_count_place how = fn->options->place;
	int err = -ENOTSUP;

	if (how != NVS_COUNT_STUB)
		err = nvs_place_inline(fn, h);
	if (err == -ENOTSUP && how != NVS_COUNT_INLINE) {
		fn->outs = 0;
		err = nvs_place_stub(fn, h);
	}
	return err;
}

static int open_function(struct nvs_function *fn)
{
	int err = nvs_function_open(fn);

	if (!err)
		err = nvs_function_merge(fn);
	if (err)
		return err;
	fn->new_label = nvs_arena_get(fn->arena, fn->n + 1, sizeof(*fn->new_label));
	fn->new_own = nvs_arena_get(fn->arena, fn->n + 1, sizeof(*fn->new_own));
	fn->new_named = nvs_arena_get(fn->arena, fn->n + 1, sizeof(*fn->new_named));
	return fn->new_label && fn->new_own && fn->new_named ? 0 : -ENOMEM;
}

/* Puts FN's new code into the cubin. A kernel that does not count gets as many registers as the
 * device functions that it shares with others now need. */
static int write_function(struct nvs_function *fn, const struct nvs_count_registers *h)
{
	struct nvs_instrumented_kernel *k = fn->report;
	int err = put_registers(fn, h->registers);

	if (err || (fn->f->kernel && !fn->counters))
		return err;
	nvs_place_adjust_refs(fn);
	put_lists(fn);
	err = put_code(fn);
	if (err)
		return err;
	k->why = NULL;
	k->why_at = UINT32_MAX;
	k->counters = fn->counters;
	k->instructions = fn->n;
	k->filler = fn->n - (uint32_t)nvs_sass_code_count((const uint8_t *)fn->code,
							  (size_t)fn->n * 16, fn->form);
	k->added = fn->outs - fn->n;
	for (uint32_t b = 0; b < fn->spans; b++)
		k->blocks += fn->span[b].weight != 0;
	k->registers[0] = (uint16_t)fn->f->registers;
	k->registers[1] = (uint16_t)h->registers;
	return 0;
}

/* Stores the sections of the functions that FN calls in CALLED if that is not NULL; 0: not in the
 * cubin. Returns how many there are. */
static uint32_t list_called(const struct nvs_function *fn, uint32_t *called)
{
	struct nvs_cubin_section s;
	struct nvs_cubin_symbol y;
	uint32_t at = 0, each, n = 0;

	while (nvs_next_relocations(&fn->r->cubin, fn->f->section, &at, &s, &each))
		for (uint64_t o = 0; o + each <= s.size; o += each) {
			uint32_t i = nvs_elf_u32(s.data + o) / 16;

			if (i >= fn->n || !(fn->flags[i] & NVS_OUT) ||
			    !nvs_cubin_symbol(&fn->r->cubin, nvs_elf_u32(s.data + o + 12), &y))
				continue;
			if (called)
				called[n] = y.section;
			n++;
		}
	return n;
}

/* Counts calls out of the cubin, including those of called functions, for a group of N. Reads the
 * cubin once for each function. */
static int set_calls_out(struct nvs_function *const *fn, uint32_t n)
{
	uint32_t sections = fn[0]->r->cubin.sections;
	uint32_t **called = nvs_arena_get(fn[0]->arena, n, sizeof(*called));
	uint32_t *count = nvs_arena_get(fn[0]->arena, n, sizeof(*count));
	bool *out = nvs_arena_get(fn[0]->arena, sections + 1ul, sizeof(*out)), more = true;

	if (!called || !count || !out)
		return -ENOMEM;
	out[0] = true;
	for (uint32_t i = 0; i < n; i++) {
		count[i] = list_called(fn[i], NULL);
		called[i] = nvs_arena_get(fn[i]->arena, count[i] + 1ul, sizeof(**called));
		if (!called[i])
			return -ENOMEM;
		list_called(fn[i], called[i]);
		for (uint32_t k = 0; k < count[i]; k++)
			fn[i]->report->calls_out += !called[i][k];
		out[fn[i]->f->section] |= fn[i]->report->calls_out != 0;
	}
	while (more) {
		more = false;
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < count[i] && !fn[i]->report->calls_out; k++)
				if (called[i][k] < sections && out[called[i][k]]) {
					fn[i]->report->calls_out = 1;
					more = out[fn[i]->f->section] = true;
				}
	}
	return 0;
}

/* Rewrites N kernels and device functions that call each other: all of them, or none. *BAD: index
 * of the one that cannot be rewritten. */
static int rewrite_group(struct nvs_function *const *fn, uint32_t n, uint32_t *bad)
{
	struct nvs_count_registers h;
	int err = 0;

	for (*bad = 0; *bad < n && !err; ++*bad)
		err = open_function(fn[*bad]);
	if (!err) {
		*bad = 1;
		err = set_calls_out(fn, n);
	}
	if (!err)
		err = nvs_count_registers_choose(fn, n, &h);
	if (!err)
		for (*bad = 0; *bad < n && !err; ++*bad)
			if (fn[*bad]->counters || !fn[*bad]->f->kernel)
				err = place_counting(fn[*bad], &h);
	if (err)
		--*bad;
	for (uint32_t i = 0; i < n && !err; i++)
		err = write_function(fn[i], &h);
	return err;
}

struct session {
	struct nvs_rebuilt r;
	struct nvs_rewrite_arena arena;
	const struct nvs_count_words *words;
	struct nvs_count_options options;
	const struct nvs_cubin_functions *functions;
	struct nvs_instrumented_kernel **report; /* of each function; NULL: a device function */
	uint32_t *next; /* index + 1 of the next function of the same group */
	struct nvs_call_groups groups;
	const char *names; /* start of the input cubin, to translate names of the copy */
	struct nvs_instrumented *counted;
};

/* Returns the address in the input cubin of NAME, which is in the copy. */
static const char *given_name(const struct session *s, const char *name)
{
	uintptr_t at = (uintptr_t)name - (uintptr_t)s->r.data;

	return at < s->r.size ? s->names + at : "";
}

static bool begins_section(const struct session *s, uint32_t i)
{
	uint32_t section = s->functions->function[i].section;

	return section < s->r.cubin.sections && s->groups.first[section] == i + 1;
}

/* Makes the reports of all kernels, and asks for their counters. */
static int list_kernels(struct session *s, const struct nvs_sass_memory *memory)
{
	struct nvs_instrumented *counted = s->counted;

	counted->kernel_bytes = (s->functions->n + 1) * sizeof(*counted->kernel);
	counted->kernel = memory->get(memory->arg, counted->kernel_bytes);
	s->report = nvs_arena_get(&s->arena, s->functions->n + 1, sizeof(*s->report));
	s->next = nvs_arena_get(&s->arena, s->functions->n + 1, sizeof(*s->next));
	if (!counted->kernel || !s->report || !s->next)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->functions->n; i++) {
		const struct nvs_cubin_function *f = &s->functions->function[i];
		struct nvs_instrumented_kernel *k;

		if (!f->kernel)
			continue;
		k = s->report[i] = &counted->kernel[counted->n++];
		k->name = given_name(s, f->name);
		k->why_at = UINT32_MAX;
		k->counters = s->options.counters(s->options.arg, k->name);
		if (k->counters && !begins_section(s, i)) {
			k->counters = 0;
			k->why = f->offset ? "a kernel that does not begin its section"
					   : "code that another kernel shares";
		}
	}
	return 0;
}

static struct nvs_function *begin_function(struct session *s, uint32_t i)
{
	const struct nvs_cubin_function *f = &s->functions->function[i];
	struct nvs_function *fn = nvs_arena_get(&s->arena, 1, sizeof(*fn));

	if (!fn)
		return NULL;
	fn->r = &s->r;
	fn->arena = &s->arena;
	fn->words = s->words;
	fn->options = &s->options;
	fn->f = f;
	fn->pointed_into = s->groups.pointed_into[f->section];
	fn->report = s->report[i];
	if (!fn->report)
		fn->report = nvs_arena_get(&s->arena, 1, sizeof(*fn->report));
	else
		fn->counters = fn->report->counters;
	return fn->report ? fn : NULL;
}

/* If one function of a group cannot be rewritten, none can. */
static void refuse_all(struct nvs_function *const *fn, uint32_t n, uint32_t bad)
{
	const struct nvs_instrumented_kernel *because = fn[bad]->report;

	for (uint32_t i = 0; i < n; i++) {
		if (!fn[i]->f->kernel)
			continue;
		if (fn[i]->counters) {
			fn[i]->report->why = because->why;
			if (i != bad)
				fn[i]->report->why_at = UINT32_MAX;
		}
		fn[i]->report->counters = 0;
	}
}

/* Rewrites the group whose functions are FIRST and its successors in s->next. */
static int rewrite_from(struct session *s, uint32_t first)
{
	struct nvs_function **fn;
	uint32_t n = 0, bad = 0, asked = 0;
	int err;

	for (uint32_t i = first + 1; i; i = s->next[i - 1])
		n++;
	fn = nvs_arena_get(&s->arena, n, sizeof(*fn));
	if (!fn)
		return -ENOMEM;
	n = 0;
	for (uint32_t i = first + 1; i; i = s->next[i - 1]) {
		fn[n] = begin_function(s, i - 1);
		if (!fn[n])
			return -ENOMEM;
		asked += fn[n++]->counters != 0;
	}
	if (!asked)
		return 0;
	err = rewrite_group(fn, n, &bad);
	if (!err)
		s->counted->rewritten += asked;
	else if (err == -ENOTSUP)
		refuse_all(fn, n, bad);
	return err == -ENOTSUP ? 0 : err;
}

static int rewrite_all(struct session *s)
{
	uint32_t sections = s->r.cubin.sections;
	uint32_t *first = nvs_arena_get(&s->arena, sections + 1, sizeof(*first));
	int err = first ? 0 : -ENOMEM;

	/* Backwards, so that a group's functions are in order. */
	for (uint32_t i = s->functions->n; !err && i-- > 0;)
		if (begins_section(s, i)) {
			uint32_t group = s->groups.group[s->functions->function[i].section];

			s->next[i] = first[group];
			first[group] = i + 1;
		}
	for (uint32_t i = 0; i < sections && !err; i++)
		if (first[i])
			err = rewrite_from(s, first[i] - 1);
	return err;
}

int nvs_count_rewrite(const void *cubin, size_t size, const struct nvs_count_words *words,
		      const struct nvs_count_options *options, const struct nvs_sass_memory *memory,
		      struct nvs_instrumented *counted)
{
	struct session s = {.arena = {.memory = memory},
			    .words = words,
			    .options = *options,
			    .names = cubin,
			    .counted = counted};
	struct nvs_cubin_functions functions = {0};
	int err;

	memset(counted, 0, sizeof(*counted));
	if (!options->warps && !options->threads)
		s.options.warps = s.options.threads = true;
	err = nvs_rebuild_open(&s.r, cubin, size, &s.arena);
	/* a GPU runs code of its major version, and of its minor version or an earlier one */
	if (!err && (s.r.cubin.arch / 10 != words->arch / 10 || s.r.cubin.arch > words->arch))
		err = -EINVAL;
	if (!err)
		err = nvs_cubin_functions(&s.r.cubin, memory, &functions);
	s.functions = &functions;
	if (!err)
		err = nvs_call_groups_find(&s.r, &functions, &s.arena, &s.groups);
	if (!err)
		err = list_kernels(&s, memory);
	if (!err)
		err = rewrite_all(&s);
	if (!err && counted->rewritten)
		err = nvs_rebuild_cubin(&s.r, &s.arena, memory, &counted->cubin, &counted->size,
					&counted->cubin_bytes);
	nvs_cubin_functions_free(&functions, memory);
	nvs_arena_free(&s.arena);
	if (err)
		nvs_instrumented_free(counted, memory);
	return err;
}

void nvs_instrumented_free(struct nvs_instrumented *counted, const struct nvs_sass_memory *memory)
{
	if (counted->cubin)
		memory->put(memory->arg, counted->cubin, counted->cubin_bytes);
	if (counted->kernel)
		memory->put(memory->arg, counted->kernel, counted->kernel_bytes);
	memset(counted, 0, sizeof(*counted));
}
