/* SPDX-License-Identifier: MIT */
/* A cubin whose kernels count: each kernel on its own, and one that cannot be rewritten stays as it
 * is. */
#include "sass/rewrite/rewrite.h"
#include "sass/sass.h"

#define SYMBOL 24u /* bytes of an Elf64_Sym */

/* Where .nv.info's copy and others may be written. */
static uint8_t *writable(struct nvs_rebuilt *r, const uint8_t *p)
{
	return r->data + (p - r->data);
}

static void put_lists(struct nvs_function *fn)
{
	struct nvs_cubin_attribute a;
	size_t at = 0;

	if (!fn->info.index)
		return;
	while (nvs_list_next(&fn->info, &at, &a))
		for (uint32_t k = 0; k + 4 <= a.size; k += 4) {
			uint32_t offset = nvs_get32(a.value + k);

			if (offset / 16 < fn->n)
				nvs_put32(writable(fn->r, a.value + k),
					  fn->new_named[offset / 16] * 16 + offset % 16);
		}
	if (fn->report->place != NVS_COUNT_INLINE)
		return;
	for (at = 0; nvs_cubin_attribute(&fn->info, &at, &a);)
		for (uint32_t k = 0; a.format == 4 && a.code == NVS_ATTR_INDIRECT_BRANCH_TARGETS &&
				     k + 12 <= a.size;) {
			uint32_t n = nvs_get32(a.value + k + 8), i = nvs_get32(a.value + k) / 16;

			if (n > (a.size - k - 12) / 4u)
				break;
			if (i < fn->n)
				nvs_put32(writable(fn->r, a.value + k), fn->new_own[i] * 16);
			for (uint32_t t = 0; t < n; t++) {
				const uint8_t *p = a.value + k + 12 + 4 * (size_t)t;

				if (nvs_get32(p) / 16 < fn->n)
					nvs_put32(writable(fn->r, p),
						  fn->new_label[nvs_get32(p) / 16] * 16);
			}
			k += 12 + 4 * n;
		}
}

/* The count of registers in .nv.info, and in the section's header where one stands there. */
static int put_registers(struct nvs_function *fn, uint32_t registers)
{
	struct nvs_cubin_section s;
	uint8_t *header = fn->r->data + fn->r->cubin.section_headers + (size_t)fn->text.index * 64;

	if (!nvs_cubin_section_named(&fn->r->cubin, ".nv.info", &s) || !s.data || s.size < 8 ||
	    fn->f->registers_at > s.size - 8)
		return -EBADMSG;
	nvs_put32(writable(fn->r, s.data) + fn->f->registers_at + 4, registers);
	if (fn->text.info >> 24)
		nvs_put32(header + 0x2c, (fn->text.info & 0xffffff) | registers << 24);
	return 0;
}

static int put_code(struct nvs_function *fn)
{
	struct nvs_cubin_section table;
	uint64_t size = (uint64_t)fn->outs * 16;

	if (!nvs_cubin_section(&fn->r->cubin, fn->r->cubin.symtab, &table) || !table.data)
		return -EBADMSG;
	memcpy(writable(fn->r, table.data) + (size_t)fn->f->symbol * SYMBOL + 16, &size, 8);
	fn->r->text[fn->text.index] = (const uint8_t *)fn->out;
	fn->r->text_size[fn->text.index] = size;
	return 0;
}

static int place(struct nvs_function *fn, const struct nvs_homes *h, uint64_t counters)
{
	enum nvs_count_place how = fn->options->place;
	int err = -ENOTSUP;

	if (how != NVS_COUNT_STUB)
		err = nvs_place_inline(fn, h, counters);
	if (err == -ENOTSUP && how != NVS_COUNT_INLINE) {
		fn->outs = 0;
		err = nvs_place_stub(fn, h, counters);
	}
	return err;
}

static int rewrite_kernel(struct nvs_function *fn, uint64_t counters)
{
	struct nvs_counted_kernel *k = fn->report;
	struct nvs_homes h;
	int err = nvs_function_open(fn);

	if (!err && fn->calls_named && fn->functions_apart)
		err = nvs_refuse(fn, "calls of functions that lie apart from its code", UINT32_MAX);
	if (!err)
		err = nvs_function_merge(fn);
	if (err)
		return err;
	fn->new_label = nvs_arena_get(fn->arena, fn->n + 1, sizeof(*fn->new_label));
	fn->new_own = nvs_arena_get(fn->arena, fn->n + 1, sizeof(*fn->new_own));
	fn->new_named = nvs_arena_get(fn->arena, fn->n + 1, sizeof(*fn->new_named));
	if (!fn->new_label || !fn->new_own || !fn->new_named)
		return -ENOMEM;
	err = nvs_homes_choose(fn, &h);
	if (!err)
		err = place(fn, &h, counters);
	if (!err)
		err = put_registers(fn, h.registers);
	if (!err)
		err = put_code(fn);
	if (err)
		return err;
	put_lists(fn);
	k->why = NULL;
	k->why_at = UINT32_MAX;
	k->counters = counters;
	k->instructions = fn->n;
	k->added = fn->outs - fn->n;
	for (uint32_t b = 0; b < fn->spans; b++)
		k->blocks += fn->span[b].weight != 0;
	k->registers[0] = (uint16_t)fn->f->registers;
	k->registers[1] = (uint16_t)h.registers;
	return 0;
}

#define SHT_RELA 4

/* Of a section of code. */
enum { POINTED_INTO = 1, HOLDS_KERNEL = 2 };

/* Marks the sections of code into which an address points that is not a symbol's: a relocation with
 * an addend. */
static void find_pointed_into(struct nvs_rebuilt *r, uint8_t *marks)
{
	struct nvs_cubin_section s, target;
	struct nvs_cubin_symbol symbol;

	for (uint32_t i = 0; i < r->cubin.sections; i++) {
		if (!nvs_cubin_section(&r->cubin, i, &s) || s.type != SHT_RELA || !s.data ||
		    (nvs_cubin_section(&r->cubin, s.info, &target) &&
		     !strncmp(target.name, ".debug", 6)))
			continue;
		for (uint64_t o = 0; o + 24 <= s.size; o += 24) {
			uint64_t info, addend;

			memcpy(&info, s.data + o + 8, 8);
			memcpy(&addend, s.data + o + 16, 8);
			if (addend &&
			    nvs_cubin_symbol(&r->cubin, (uint32_t)(info >> 32), &symbol) &&
			    symbol.section < r->cubin.sections && symbol.section != s.info)
				marks[symbol.section] |= POINTED_INTO;
		}
	}
}

/* Functions that lie in no kernel's code, and are called from several: nothing counts there. */
static bool has_functions_apart(const struct nvs_cubin_functions *functions, uint8_t *sections,
				uint32_t n)
{
	bool apart = false;

	for (uint32_t i = 0; i < functions->n; i++)
		if (functions->function[i].kernel && functions->function[i].section < n)
			sections[functions->function[i].section] |= HOLDS_KERNEL;
	for (uint32_t i = 0; i < functions->n; i++)
		apart |= functions->function[i].section < n &&
			 !(sections[functions->function[i].section] & HOLDS_KERNEL);
	return apart;
}

struct session {
	struct nvs_rebuilt r;
	struct nvs_arena arena;
	const struct nvs_count_words *words;
	struct nvs_count_options options;
	uint8_t *marks;
	const char *names; /* the cubin's that was handed in, and the copy's */
	struct nvs_counted *counted;
};

/* Where NAME of the copy stands in the cubin that was handed in. */
static const char *given_name(const struct session *s, const char *name)
{
	uintptr_t at = (uintptr_t)name - (uintptr_t)s->r.data;

	return at < s->r.size ? s->names + at : "";
}

static int rewrite_all(struct session *s, const struct nvs_cubin_functions *functions,
		       const struct nvs_sass_memory *memory)
{
	struct nvs_counted *counted = s->counted;

	bool apart = has_functions_apart(functions, s->marks, s->r.cubin.sections);

	counted->kernel_bytes = (functions->n + 1) * sizeof(*counted->kernel);
	counted->kernel = memory->get(memory->arg, counted->kernel_bytes);
	if (!counted->kernel)
		return -ENOMEM;
	for (uint32_t i = 0; i < functions->n; i++) {
		const struct nvs_cubin_function *f = &functions->function[i];
		struct nvs_counted_kernel *k;
		/* What is kept is the new code alone, of which each kernel's arena holds the rest
		 * too. */
		struct nvs_function fn = {.r = &s->r,
					  .arena = &s->arena,
					  .words = s->words,
					  .options = &s->options,
					  .f = f};
		uint64_t counters;
		int err;

		if (!f->kernel)
			continue;
		k = &counted->kernel[counted->n++];
		k->name = given_name(s, f->name);
		k->why_at = UINT32_MAX;
		counters = s->options.counters(s->options.arg, k->name);
		if (!counters)
			continue;
		fn.report = k;
		fn.functions_apart = apart;
		fn.pointed_into = f->section < s->r.cubin.sections &&
				  s->marks[f->section] & POINTED_INTO;
		if (f->section < s->r.cubin.sections && s->r.text[f->section])
			err = nvs_refuse(&fn, "code that another kernel shares", UINT32_MAX);
		else
			err = rewrite_kernel(&fn, counters);
		if (err && err != -ENOTSUP)
			return err;
		counted->rewritten += !err;
	}
	return 0;
}

int nvs_count_rewrite(const void *cubin, size_t size, const struct nvs_count_words *words,
		      const struct nvs_count_options *options, const struct nvs_sass_memory *memory,
		      struct nvs_counted *counted)
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
	/* what a GPU runs: its own major version's code, of its minor version or one before it */
	if (!err && (s.r.cubin.arch / 10 != words->arch / 10 || s.r.cubin.arch > words->arch))
		err = -EINVAL;
	if (!err)
		err = nvs_cubin_functions(&s.r.cubin, memory, &functions);
	if (!err) {
		s.marks = nvs_arena_get(&s.arena, s.r.cubin.sections + 1, 1);
		err = s.marks ? 0 : -ENOMEM;
	}
	if (!err) {
		find_pointed_into(&s.r, s.marks);
		err = rewrite_all(&s, &functions, memory);
	}
	if (!err && counted->rewritten)
		err = nvs_rebuild(&s.r, &s.arena, memory, &counted->cubin, &counted->size,
				  &counted->cubin_bytes);
	nvs_cubin_functions_free(&functions, memory);
	nvs_arena_free(&s.arena);
	if (err)
		nvs_counted_free(counted, memory);
	return err;
}

void nvs_counted_free(struct nvs_counted *counted, const struct nvs_sass_memory *memory)
{
	if (counted->cubin)
		memory->put(memory->arg, counted->cubin, counted->cubin_bytes);
	if (counted->kernel)
		memory->put(memory->arg, counted->kernel, counted->kernel_bytes);
	memset(counted, 0, sizeof(*counted));
}
