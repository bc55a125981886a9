/* SPDX-License-Identifier: MIT */
/* Reads the kernels of a file, or of an image loaded by a program, into rows of --code. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/grow.h"
#include "decode/report/code/code.h"

/* Limits on unpacked and on decoded bytes, relative to the file's size: the input is untrusted. */
#define UNPACKED 64u
#define UNPACKED_BASE (16u << 20)
#define LOOKED_AT 4u

static void *get_memory(void *arg, size_t size)
{
	return calloc(1, size);
}

static void free_memory(void *arg, void *p, size_t size)
{
	free(p);
}

static const struct nvs_sass_memory memory = {.get = get_memory, .put = free_memory};

static bool matches_kernel(const struct nvs_pattern *p, const void *arg)
{
	const struct nvs_kernel_code_row *row = arg;

	return nvs_pattern_matches(p, row->name) || nvs_pattern_matches(p, row->mangled);
}

static struct nvs_kernel_code_row *new_row(struct nvs_kernel_code *code)
{
	struct nvs_kernel_code_row *row = NVS_RESERVE(code->rows, code->n, code->room, 64,
						      UINT32_MAX);

	if (row)
		*row = (struct nvs_kernel_code_row){.file = code->file, .image = code->image};
	return row;
}

/* Returns 0, -ENOMEM, or 1 if the kernel is not selected. */
static int add_row(struct nvs_kernel_code *code, const struct nvs_cubin *cubin,
		   const struct nvs_cubin_function *f)
{
	struct nvs_kernel_code_row *row = new_row(code);

	if (!row)
		return -ENOMEM;
	row->mangled = strdup(f->name);
	row->name = row->mangled ? nvs_demangle(f->name) : NULL;
	if (!row->name) {
		free(row->mangled);
		return -ENOMEM;
	}
	if (!nvs_patterns_select(&code->kernels, matches_kernel, row)) {
		free(row->name);
		free(row->mangled);
		return 1;
	}
	if (cubin->arch)
		snprintf(row->arch, sizeof(row->arch), "sm_%u%s", cubin->arch,
			 cubin->specific ? "a" : "");
	row->form = nvs_sass_form(cubin->arch);
	row->function = *f;
	nvs_sass_tally(f->code, f->size, row->form, &row->tally);
	code->n++;
	return 0;
}

static int add_function(struct nvs_kernel_code *code, const struct nvs_cubin *cubin,
			const struct nvs_cubin_function *f)
{
	struct nvs_launched_kernel *ran = code->ran ? nvs_launched_kernels_find(code->ran, f->name)
						    : NULL;

	if (code->ran && !ran && !code->kernels.n) {
		code->idle++;
		return 1;
	}
	if (ran)
		ran->images++;
	return add_row(code, cubin, f);
}

/* Adds kernels only: the code of device functions is listed with the kernels that ptxas placed
 * it in, or cannot run by itself. */
static int add_functions(struct nvs_kernel_code *code, const struct nvs_cubin *cubin,
			 struct nvs_kernel_code_cubin *kept)
{
	uint64_t left = LOOKED_AT * (uint64_t)cubin->size;
	struct nvs_cubin_functions all;
	int r = nvs_cubin_functions(cubin, &memory, &all);

	for (uint32_t i = 0; i < all.n && r >= 0; i++) {
		const struct nvs_cubin_function *f = all.function + i;

		if (!f->kernel)
			continue;
		if (f->size > left) {
			r = -EBADMSG;
			break;
		}
		left -= f->size;
		r = add_function(code, cubin, f);
		if (!r)
			code->rows[code->n - 1].cubin = kept;
	}
	nvs_cubin_functions_free(&all, &memory);
	return r < 0 ? r : 0;
}

int nvs_code_add_missing(struct nvs_kernel_code *code)
{
	for (size_t i = 0; i < code->ran->rows.n; i++) {
		const struct nvs_launched_kernel *ran = code->ran->rows.row[i];
		const struct nvs_cubin none = {0};
		struct nvs_cubin_function f = {.name = ran->name};
		int r;

		if (!ran->name || ran->images)
			continue;
		f.registers = ran->registers;
		f.shared = f.frame = f.parameters = f.max_threads = f.barriers = UINT32_MAX;
		r = add_row(code, &none, &f);
		if (r < 0)
			return r;
		code->missing += !r;
	}
	return 0;
}

static void *copy_of(const void *data, size_t size)
{
	void *copy = malloc(size);

	return copy ? memcpy(copy, data, size) : NULL;
}

/* Takes ownership of BYTES, which may be NULL. */
static int add_cubin(struct nvs_kernel_code *code, const void *data, size_t size, void *bytes)
{
	struct nvs_kernel_code_cubin *kept = code->keep ? calloc(1, sizeof(*kept)) : NULL;
	struct nvs_cubin cubin = {0};
	int r = code->keep && !kept ? -ENOMEM : 0;

	if (kept && !bytes && code->passing) {
		data = bytes = copy_of(data, size);
		r = bytes ? 0 : -ENOMEM;
	}
	if (!r)
		r = nvs_cubin_open(&cubin, data, size);
	code->cubins_read++;
	if (!r)
		r = add_functions(code, &cubin, kept);
	if (r == -EINVAL || r == -EBADMSG) {
		code->broken++;
		r = 0;
	}
	if (!kept) {
		free(bytes);
		return r;
	}
	/* Keep it even on errors: rows may point to it. */
	kept->cubin = cubin;
	kept->bytes = bytes;
	kept->next = code->cubins;
	code->cubins = kept;
	return r;
}

static int add_entry(struct nvs_kernel_code *code, const struct nvs_fatbin_entry *e)
{
	void *bytes;
	int r;

	if (e->kind != NVS_FATBIN_CUBIN) {
		code->text += e->kind == NVS_FATBIN_PTX;
		code->other += e->kind != NVS_FATBIN_PTX;
		return 0;
	}
	if (!e->packed)
		return add_cubin(code, e->data, e->size, NULL);
	if (e->unpacked > code->left) {
		code->broken++;
		return 0;
	}
	code->left -= e->unpacked;
	r = nvs_fatbin_unpack(e, &memory, &bytes);
	if (r == -EBADMSG || r == -ENOTSUP) {
		code->broken++;
		return 0;
	}
	return r ? r : add_cubin(code, bytes, e->unpacked, bytes);
}

static int add_fatbin(struct nvs_kernel_code *code, const struct nvs_image *image)
{
	struct nvs_fatbin f = {.data = image->data, .size = image->size};
	struct nvs_fatbin_entry e;
	int r = 0;

	while (!r && nvs_fatbin_next(&f, &e))
		r = add_entry(code, &e);
	code->broken += f.broken;
	return r;
}

int nvs_code_read(struct nvs_kernel_code *code, const uint8_t *data, size_t size, bool passing)
{
	struct nvs_image image, fatbin;
	uint32_t at = 0;
	int r = nvs_image_of(data, size, &image);

	code->passing = passing;
	code->left = UNPACKED * (uint64_t)size + UNPACKED_BASE;
	if (r)
		return r;
	switch (image.kind) {
	case NVS_IMAGE_CUBIN:
		return add_cubin(code, image.data, image.size, NULL);
	case NVS_IMAGE_FATBIN:
		return add_fatbin(code, &image);
	case NVS_IMAGE_HOST:
		while (!r && nvs_image_next(&image, &at, &fatbin))
			r = add_fatbin(code, &fatbin);
		return r;
	default:
		code->text++;
		return 0;
	}
}

void nvs_code_free(struct nvs_kernel_code *code)
{
	struct nvs_kernel_code_cubin *c, *next;

	for (c = code->cubins; c; c = next) {
		next = c->next;
		free(c->text);
		free(c->bytes);
		free(c);
	}
	for (size_t i = 0; i < code->n; i++) {
		free(code->rows[i].name);
		free(code->rows[i].mangled);
	}
	free(code->rows);
	nvs_patterns_free(&code->kernels);
}
