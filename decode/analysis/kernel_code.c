/* SPDX-License-Identifier: MIT */
/* Finds kernels in the images of a trace. Cubins that have a wanted kernel are kept. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/calls/images.h"
#include "decode/calls/pass.h"
#include "decode/analysis/kernel_code.h"

/* Limit on unpacked bytes, relative to the image: the input is untrusted. */
#define UNPACKED 64u
#define UNPACKED_BASE (16u << 20)

struct kept_cubin {
	struct kept_cubin *next;
	struct nvs_cubin cubin;
	uint8_t bytes[];
};

static void *get_memory(void *arg, size_t size)
{
	return calloc(1, size);
}

static void free_memory(void *arg, void *p, size_t size)
{
	free(p);
}

static const struct nvs_sass_memory memory = {.get = get_memory, .put = free_memory};

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

static int add_cubin(struct nvs_kernel_codes *k, const void *data, size_t size)
{
	struct kept_cubin *kept = malloc(sizeof(*kept) + size);
	struct nvs_cubin_functions all = {0};
	bool used = false;
	int r = kept ? 0 : -ENOMEM;

	if (!r) {
		memcpy(kept->bytes, data, size);
		r = nvs_cubin_open(&kept->cubin, kept->bytes, size);
	}
	if (!r)
		r = nvs_cubin_functions(&kept->cubin, &memory, &all);
	for (uint32_t i = 0; i < all.n && !r; i++) {
		struct nvs_named_code *row = all.function[i].kernel
						     ? find_row(k, all.function[i].name)
						     : NULL;

		used |= row && set_code(row, &kept->cubin, all.function + i);
	}
	nvs_cubin_functions_free(&all, &memory);
	if (used) {
		kept->next = k->kept;
		k->kept = kept;
	} else {
		free(kept);
	}
	return r == -ENOMEM ? r : 0;
}

/* ---- images ---- */

static int add_fatbin(struct nvs_kernel_codes *k, const struct nvs_image *image)
{
	struct nvs_fatbin_entry e;
	void *bytes;
	int r = nvs_fatbin_choose(image->data, image->size, k->arch, &e, NULL);

	if (!r && e.packed && e.unpacked > UNPACKED * (uint64_t)image->size + UNPACKED_BASE)
		r = -EBADMSG;
	if (!r)
		r = nvs_fatbin_unpack(&e, &memory, &bytes);
	if (r)
		return r == -ENOMEM ? r : 0;
	r = add_cubin(k, bytes, e.packed ? e.unpacked : e.size);
	free(bytes);
	return r;
}

static int add_image(struct nvs_kernel_codes *k, const struct nvs_trace_image *given)
{
	struct nvs_image image, fatbin;
	uint32_t at = 0;
	int r = 0;

	if (!given->data || !given->whole || nvs_image_of(given->data, given->ndata, &image))
		return 0;
	switch (image.kind) {
	case NVS_IMAGE_CUBIN:
		return add_cubin(k, image.data, image.size);
	case NVS_IMAGE_FATBIN:
		return add_fatbin(k, &image);
	case NVS_IMAGE_HOST:
		while (!r && nvs_image_next(&image, &at, &fatbin))
			r = add_fatbin(k, &fatbin);
		return r;
	default:
		return 0;
	}
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	struct nvs_kernel_codes *k = arg;
	const struct nvs_trace_image *image;

	nvs_images_record(k->images, rec, &image);
	return image ? add_image(k, image) : 0;
}

/* Architectures by compute class. */
static uint32_t arch_of(uint32_t compute_class)
{
	static const struct {
		uint16_t class, arch;
	} archs[] = {{0xc3c0, 70}, {0xc5c0, 75}, {0xc6c0, 80},	{0xc7c0, 86},
		     {0xc9c0, 89}, {0xcbc0, 90}, {0xcdc0, 100}, {0xcec0, 120}};

	for (size_t i = 0; i < sizeof(archs) / sizeof(*archs); i++)
		if (archs[i].class == compute_class)
			return archs[i].arch;
	return 0;
}

int nvs_kernel_codes_read(struct nvs_kernel_codes *k, struct nvs_source *s, uint32_t compute_class)
{
	const struct nvs_pass_reader reader = {.record = on_record, .arg = k};
	struct nvs_pass *other = s->separate; /* its handles may be in use */
	int r;

	k->arch = arch_of(compute_class);
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
