/* SPDX-License-Identifier: MIT */
/* See image_code.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/image_code.h"

/* Limit on unpacked bytes, relative to the image: the input is untrusted. */
#define UNPACKED 64u
#define UNPACKED_BASE (16u << 20)

static int pass_entry(const struct nvs_fatbin_entry *e, size_t whole,
		      const struct nvs_image_code *to)
{
	bool ptx = e->kind == NVS_FATBIN_PTX;
	size_t size = e->packed ? e->unpacked : e->size;
	void *bytes;
	int r;

	if (e->packed && e->unpacked > UNPACKED * (uint64_t)whole + UNPACKED_BASE)
		return 0;
	r = nvs_fatbin_unpack(e, &nvs_sass_heap, &bytes);
	if (r)
		return r == -ENOMEM ? r : 0;
	r = ptx ? to->ptx(to->arg, bytes, strnlen(bytes, size)) : to->cubin(to->arg, bytes, size);
	nvs_sass_heap.put(nvs_sass_heap.arg, bytes, size);
	return r;
}

/* Finds the first cubin of a fatbin, or else its first PTX. */
static bool find_any(const struct nvs_image *image, struct nvs_fatbin_entry *found)
{
	struct nvs_fatbin fatbin = {.data = image->data, .size = image->size};
	struct nvs_fatbin_entry e;
	bool any = false;

	while (nvs_fatbin_next(&fatbin, &e)) {
		if (e.kind != NVS_FATBIN_CUBIN && (e.kind != NVS_FATBIN_PTX || any))
			continue;
		*found = e;
		any = true;
		if (e.kind == NVS_FATBIN_CUBIN)
			break;
	}
	return any;
}

static int pass_fatbin(const struct nvs_image *image, const struct nvs_image_code *to)
{
	struct nvs_fatbin_entry cubin = {0}, ptx = {0};

	if (to->arch) {
		if (nvs_fatbin_choose(image->data, image->size, to->arch, &cubin, &ptx))
			cubin = ptx;
	} else if (!find_any(image, &cubin)) {
		return 0;
	}
	return !cubin.header || (cubin.kind == NVS_FATBIN_PTX && !to->ptx)
		       ? 0
		       : pass_entry(&cubin, image->size, to);
}

int nvs_image_code_each(const struct nvs_trace_image *given, const struct nvs_image_code *to)
{
	struct nvs_image image, fatbin;
	uint32_t at = 0;
	int r = 0;

	if (!given->data || !given->whole || nvs_image_of(given->data, given->ndata, &image))
		return 0;
	switch (image.kind) {
	case NVS_IMAGE_CUBIN:
		return to->cubin(to->arg, image.data, image.size);
	case NVS_IMAGE_PTX:
		return to->ptx ? to->ptx(to->arg, (const char *)image.data, image.size) : 0;
	case NVS_IMAGE_FATBIN:
		return pass_fatbin(&image, to);
	case NVS_IMAGE_HOST:
		while (!r && nvs_image_next(&image, &at, &fatbin))
			r = pass_fatbin(&fatbin, to);
		return r;
	default:
		return 0;
	}
}

uint32_t nvs_arch_of_class(uint32_t compute_class)
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
