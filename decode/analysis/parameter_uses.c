/* SPDX-License-Identifier: MIT */
/* See parameter_uses.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/image_code.h"
#include "decode/analysis/parameter_uses.h"
#include "decode/base/hash.h"
#include "decode/calls/images.h"
#include "sass/sass.h"

struct used_kernel {
	uint64_t hash; /* its key */
	uint64_t code; /* hash of its instructions */
	bool known;
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

struct cubin {
	struct nvs_parameter_uses *uses;
	struct nvs_cubin cubin;
};

/* Of two kernels with one name and different code, nothing is known. */
static int add_kernel(const struct cubin *c, const struct nvs_cubin_function *f)
{
	uint64_t hash = nvs_hash64(f->name, strlen(f->name));
	uint64_t code = f->code ? nvs_hash64(f->code, f->size) : 0;
	struct used_kernel *k;

	if (!c->uses->kernels.size)
		c->uses->kernels = NVS_ROWS(struct used_kernel, hash);
	k = nvs_rows_find(&c->uses->kernels, &hash);
	if (k) {
		k->known &= k->code == code;
		return 0;
	}
	k = nvs_rows_at(&c->uses->kernels, &hash);
	if (!k)
		return -ENOMEM;
	k->code = code;
	k->known = code && !nvs_sass_parameter_use(&c->cubin, f, &nvs_sass_heap, &k->use);
	return 0;
}

static int add_cubin(void *arg, const void *data, size_t size)
{
	struct cubin c = {.uses = arg};
	struct nvs_cubin_functions all = {NULL};
	int r = 0;

	if (nvs_cubin_open(&c.cubin, data, size) ||
	    nvs_cubin_functions(&c.cubin, &nvs_sass_heap, &all))
		return 0;
	for (uint32_t i = 0; i < all.n && !r; i++)
		if (all.function[i].kernel)
			r = add_kernel(&c, all.function + i);
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

	return k && k->known ? k : NULL;
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
	nvs_rows_free(&u->kernels, NULL);
	nvs_images_free(u->images);
}
