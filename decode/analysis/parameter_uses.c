/* SPDX-License-Identifier: MIT */
/* Keeps the cubins of a trace and examines kernels in them. See parameter_uses.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/image_code.h"
#include "decode/analysis/parameter_uses.h"
#include "decode/base/hash.h"
#include "decode/calls/images.h"
#include "sass/sass.h"

struct used_cubin {
	struct used_cubin *next;
	struct nvs_cubin cubin;
	uint8_t *bytes;
};

struct used_kernel {
	uint64_t hash; /* its key */
	const struct used_cubin *of;
	struct nvs_cubin_function function;
	bool examined, known;
	bool several; /* another kernel has this name, which may differ */
	struct nvs_sass_parameter_use use;
};

/* ---- cubins ---- */

/* The generation of the trace's GPU. If it is unknown, no code of a fatbin is for it. */
static uint32_t find_arch(const struct nvs_trace *trace)
{
	static const struct {
		uint32_t architecture, arch;
	} archs[] = {{0x140, 70}, {0x160, 75},	{0x170, 80}, {0x180, 90},
		     {0x190, 89}, {0x1a0, 100}, {0x1b0, 120}};
	const struct nvs_rec_gpu *gpu = nvs_trace_gpu_at(trace, 0);

	for (size_t i = 0; gpu && i < sizeof(archs) / sizeof(*archs); i++)
		if (archs[i].architecture == gpu->architecture)
			return gpu->architecture == 0x170 && gpu->implementation ? 86
										 : archs[i].arch;
	return UINT32_MAX;
}

static bool is_same_code(const struct nvs_cubin_function *a, const struct nvs_cubin_function *b)
{
	return a->size == b->size && a->code && b->code && !memcmp(a->code, b->code, a->size);
}

static int add_kernel(struct nvs_parameter_uses *u, const struct used_cubin *c,
		      const struct nvs_cubin_function *f)
{
	uint64_t hash = nvs_hash64(f->name, strlen(f->name));
	struct used_kernel *k;

	if (!u->kernels.size)
		u->kernels = NVS_ROWS(struct used_kernel, hash);
	k = nvs_rows_at(&u->kernels, &hash);
	if (!k)
		return -ENOMEM;
	k->several |= k->of && !is_same_code(&k->function, f);
	k->of = k->of ? k->of : c;
	if (k->of == c)
		k->function = *f;
	return 0;
}

static int add_cubin(void *arg, const void *data, size_t size)
{
	struct nvs_parameter_uses *u = arg;
	uint8_t *bytes = nvs_budget_allows(size) ? malloc(size) : NULL;
	struct used_cubin *c = bytes ? calloc(1, sizeof(*c)) : NULL;
	struct nvs_cubin_functions all = {NULL};
	int r = 0;

	if (!c || nvs_cubin_open(&c->cubin, memcpy(bytes, data, size), size) ||
	    nvs_cubin_functions(&c->cubin, &nvs_sass_heap, &all)) {
		free(bytes);
		free(c);
		u->dropped++;
		return 0;
	}
	c->bytes = bytes;
	c->next = u->cubins;
	u->cubins = c;
	for (uint32_t i = 0; i < all.n && !r; i++)
		if (all.function[i].kernel)
			r = add_kernel(u, c, all.function + i);
	nvs_cubin_functions_free(&all, &nvs_sass_heap);
	return r;
}

int nvs_parameter_uses_record(struct nvs_parameter_uses *u, const struct nvs_rec *rec)
{
	const struct nvs_image_code to = {
		.arch = find_arch(u->trace), .cubin = add_cubin, .arg = u};
	const struct nvs_trace_image *image = NULL;

	if (rec->type == NVS_REC_IMAGE && !u->images)
		u->images = nvs_images_new();
	if (!u->images)
		return rec->type == NVS_REC_IMAGE ? -ENOMEM : 0;
	nvs_images_record(u->images, rec, &image);
	return image ? nvs_image_code_each(image, &to) : 0;
}

/* ---- kernels ---- */

static const struct used_kernel *find_kernel(struct nvs_parameter_uses *u, const char *name)
{
	uint64_t hash = nvs_hash64(name, strlen(name));
	struct used_kernel *k = u->kernels.size ? nvs_rows_find(&u->kernels, &hash) : NULL;

	if (!k)
		return NULL;
	if (!k->examined)
		k->known = !k->several && !nvs_sass_parameter_use(&k->of->cubin, &k->function,
								  &nvs_sass_heap, &k->use);
	k->examined = true;
	return k->known ? k : NULL;
}

static enum nvs_access_kind kind_of(const struct nvs_sass_parameter_use *use, uint32_t at)
{
	uint64_t bit = 1ull << (at / 8 < 62 ? at / 8 : 62);

	if (use->unknown & bit)
		return NVS_ACCESS_GIVEN;
	if (use->stored & bit)
		return NVS_ACCESS_STORES;
	if (use->added & bit)
		return NVS_ACCESS_ADDS;
	return use->loaded & bit ? NVS_ACCESS_LOADS : NVS_ACCESS_GIVEN;
}

enum nvs_access_kind nvs_parameter_use(struct nvs_parameter_uses *u, const char *name, uint32_t at)
{
	const struct used_kernel *k = find_kernel(u, name);
	enum nvs_access_kind kind = k ? kind_of(&k->use, at) : NVS_ACCESS_GIVEN;

	u->pointers++;
	u->decided += kind != NVS_ACCESS_GIVEN;
	return kind;
}

bool nvs_kernel_waits(struct nvs_parameter_uses *u, const char *name, bool *known)
{
	const struct used_kernel *k = find_kernel(u, name);

	*known = k;
	return k && k->use.waits;
}

void nvs_parameter_uses_free(struct nvs_parameter_uses *u)
{
	struct used_cubin *next;

	for (struct used_cubin *c = u->cubins; c; c = next) {
		next = c->next;
		free(c->bytes);
		free(c);
	}
	nvs_rows_free(&u->kernels, NULL);
	nvs_images_free(u->images);
}
