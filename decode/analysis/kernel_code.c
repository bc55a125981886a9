/* SPDX-License-Identifier: MIT */
/* Finds kernels in the images of a trace. Cubins that have a wanted kernel are kept. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/calls/images.h"
#include "decode/calls/pass.h"
#include "decode/analysis/image_code.h"
#include "decode/analysis/kernel_code.h"

struct kept_cubin {
	struct kept_cubin *next;
	struct nvs_cubin cubin;
	uint8_t bytes[];
};

int nvs_kernel_codes_want(struct nvs_kernel_codes *k, const char *name)
{
	uint64_t key = nvs_hash64(name, strlen(name));
	struct nvs_named_code *row;

	if (!k->rows.size)
		k->rows = NVS_ROWS(struct nvs_named_code, key);
	row = nvs_rows_at(&k->rows, &key);
	if (row && !row->name)
		row->name = strdup(name);
	return row && row->name ? 0 : -ENOMEM;
}

static struct nvs_named_code *find_row(const struct nvs_kernel_codes *k, const char *name)
{
	uint64_t key = nvs_hash64(name, strlen(name));
	struct nvs_named_code *row = k->rows.size ? nvs_rows_find(&k->rows, &key) : NULL;

	return row && !strcmp(row->name, name) ? row : NULL;
}

/* ---- one cubin ---- */

/* Sets the code of ROW, unless another image has different code for the same name. */
static bool set_code(struct nvs_named_code *row, const struct nvs_cubin *cubin,
		     const struct nvs_cubin_function *f)
{
	struct nvs_cubin_section s;

	if (!nvs_cubin_section(cubin, f->section, &s) || !s.data || f->offset >= s.size)
		return false;
	if (row->cubin) {
		row->several |= row->size != s.size - f->offset ||
				memcmp(row->bytes, s.data + f->offset, row->size);
		return false;
	}
	row->cubin = cubin;
	row->section = f->section;
	row->offset = f->offset;
	row->bytes = s.data + f->offset;
	row->size = s.size - f->offset;
	return true;
}

static int add_cubin(void *arg, const void *data, size_t size)
{
	struct nvs_kernel_codes *k = arg;
	struct kept_cubin *kept = malloc(sizeof(*kept) + size);
	struct nvs_cubin_functions all = {0};
	bool used = false;
	int r = kept ? 0 : -ENOMEM;

	if (!r) {
		memcpy(kept->bytes, data, size);
		r = nvs_cubin_open(&kept->cubin, kept->bytes, size);
	}
	if (!r)
		r = nvs_cubin_functions(&kept->cubin, &nvs_sass_heap, &all);
	for (uint32_t i = 0; i < all.n && !r; i++) {
		struct nvs_named_code *row = all.function[i].kernel
						     ? find_row(k, all.function[i].name)
						     : NULL;

		used |= row && set_code(row, &kept->cubin, all.function + i);
	}
	nvs_cubin_functions_free(&all, &nvs_sass_heap);
	if (used) {
		kept->next = k->kept;
		k->kept = kept;
	} else {
		free(kept);
	}
	return r == -ENOMEM ? r : 0;
}

/* ---- images ---- */

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct nvs_kernel_codes *k = arg;
	const struct nvs_trace_image *image;

	nvs_images_record(k->images, rec, &image);
	return image ? nvs_image_code_each(image, &(struct nvs_image_code){.arch = k->arch,
									   .cubin = add_cubin,
									   .arg = k})
		     : 0;
}

int nvs_kernel_codes_read(struct nvs_kernel_codes *k, struct nvs_source *s, uint32_t compute_class)
{
	const struct nvs_pass_reader reader = {.record = on_record, .arg = k};
	struct nvs_pass *other = s->separate; /* its handles may be in use */
	int r;

	k->arch = nvs_arch_of_class(compute_class);
	k->images = k->arch ? nvs_images_new() : NULL;
	if (!k->images)
		return k->arch ? -ENOMEM : 0;
	s->separate = NULL;
	r = nvs_source_read(s, &reader);
	nvs_source_read_end(s);
	s->separate = other;
	nvs_images_free(k->images);
	k->images = NULL;
	return r;
}

const struct nvs_named_code *nvs_kernel_codes_find(const struct nvs_kernel_codes *k,
						   const char *name)
{
	const struct nvs_named_code *row = find_row(k, name);

	return row && row->cubin && !row->several ? row : NULL;
}

static void free_row(void *row)
{
	free(((struct nvs_named_code *)row)->name);
}

void nvs_kernel_codes_free(struct nvs_kernel_codes *k)
{
	struct kept_cubin *next;

	for (struct kept_cubin *c = k->kept; c; c = next) {
		next = c->next;
		free(c);
	}
	nvs_rows_free(&k->rows, free_row);
}
