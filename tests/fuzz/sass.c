/* SPDX-License-Identifier: MIT */
/* FUZZ: sass */
/*
 * Kernel code of strangers: any bytes as a cubin, a fatbin or a host's ELF, entries unpacked, and
 * every function's instructions, blocks and tally. What is handed out lies within what was handed
 * in.
 */
#include <stdlib.h>
#include <string.h>
#include "sass/sass.h"
#include "tests/fuzz/fuzz.h"
#include "sass/blocks.h"

#define MOST (1u << 20) /* bytes unpacked, and of code looked at, for an input */

static size_t left;

static void blocks(const struct nvs_cubin *c, const struct nvs_cubin_function *f)
{
	struct nvs_sass_blocks b;
	uint32_t next = 0;

	if (nvs_sass_blocks(c, f, &nvs_sass_heap, &b))
		return;
	for (uint32_t i = 0; i < b.n; i++) {
		FUZZ_HOLDS(b.block[i].first == next && b.block[i].last >= next);
		next = b.block[i].last + 1;
	}
	FUZZ_HOLDS(next == b.instructions);
	nvs_sass_blocks_free(&b, &nvs_sass_heap);
}

static void lines(const struct nvs_cubin *c, const struct nvs_cubin_function *f)
{
	struct nvs_cubin_line line;

	/* Each takes time linear in the lines. */
	for (uint64_t at = 0; at < f->size && at < 64; at += 16)
		if (nvs_cubin_line(c, f->section, f->offset + at, &line))
			FUZZ_HOLDS(*line.file && strlen(line.folder) < c->size);
}

static void function(const struct nvs_cubin *c, const struct nvs_cubin_function *f)
{
	enum nvs_sass_form form = nvs_sass_form(c->arch);
	struct nvs_sass_tally tally;

	FUZZ_HOLDS(f->code >= c->data && f->size <= c->size &&
		   f->code <= c->data + c->size - f->size);
	FUZZ_HOLDS(strlen(f->name) < c->size);
	if (f->size > left)
		return;
	left -= f->size;
	nvs_sass_tally(f->code, f->size, form, &tally);
	FUZZ_HOLDS(tally.instructions <= nvs_sass_insn_count(form, f->size));
	blocks(c, f);
	lines(c, f);
}

static void sections(const struct nvs_cubin *c)
{
	struct nvs_cubin_attribute a;
	struct nvs_cubin_section s;

	for (uint32_t i = 0; nvs_cubin_section(c, i, &s); i++) {
		size_t at = 0;

		FUZZ_HOLDS(!s.data || (s.data >= c->data && s.size <= c->size));
		while (nvs_cubin_attribute(&s, &at, &a))
			FUZZ_HOLDS(a.value + a.size <= s.data + s.size);
	}
}

static void cubin(const uint8_t *data, size_t size)
{
	struct nvs_cubin_functions all;
	struct nvs_cubin c;

	if (nvs_cubin_open(&c, data, size))
		return;
	sections(&c);
	if (nvs_cubin_functions(&c, &nvs_sass_heap, &all))
		return;
	for (uint32_t i = 0; i < all.n; i++)
		function(&c, all.function + i);
	nvs_cubin_functions_free(&all, &nvs_sass_heap);
}

static void fatbin(const uint8_t *data, size_t size)
{
	struct nvs_fatbin f = {.data = data, .size = size};
	struct nvs_fatbin_entry e, ptx;
	void *bytes;

	while (nvs_fatbin_next(&f, &e)) {
		FUZZ_HOLDS(e.header >= data && e.whole <= size && e.size <= e.whole);
		if (e.unpacked > left || nvs_fatbin_unpack(&e, &nvs_sass_heap, &bytes))
			continue;
		left -= e.unpacked;
		cubin(bytes, e.unpacked);
		nvs_sass_heap.put(nvs_sass_heap.arg, bytes, e.unpacked);
	}
	nvs_fatbin_choose(data, size, 90, &e, &ptx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nvs_image image, inner;
	uint32_t at = 0;

	left = MOST;
	if (nvs_image_of(data, size, &image))
		return 0;
	FUZZ_HOLDS(image.data == data || image.kind == NVS_IMAGE_PTX);
	FUZZ_HOLDS(image.size <= size);
	cubin(image.data, image.size);
	if (image.kind == NVS_IMAGE_FATBIN)
		fatbin(image.data, image.size);
	while (nvs_image_next(&image, &at, &inner))
		fatbin(inner.data, inner.size);
	return 0;
}
