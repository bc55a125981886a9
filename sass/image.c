/* SPDX-License-Identifier: MIT */
/* Identifies data that a program passes to the driver, or that a file contains. */
#include <errno.h>
#include "sass/elf.h"

/* Length of leading white space and comments. */
static size_t skip_blank(const uint8_t *text, size_t size)
{
	size_t i = 0;

	while (i < size) {
		if (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r')) {
			i++;
		} else if (size - i >= 2 && text[i] == '/' && text[i + 1] == '/') {
			while (i < size && text[i] && text[i] != '\n')
				i++;
		} else if (size - i >= 2 && text[i] == '/' && text[i + 1] == '*') {
			for (i += 2; i < size && text[i]; i++)
				if (text[i] == '/' && text[i - 1] == '*')
					break;
			i += i < size && text[i];
		} else {
			break;
		}
	}
	return i;
}

static int ptx_of(const uint8_t *text, size_t size, struct nvs_image *image)
{
	static const char word[] = ".version";
	size_t at = skip_blank(text, size);

	for (size_t i = 0; i < sizeof(word) - 1; i++, at++)
		if (at >= size || text[at] != (uint8_t)word[i])
			return -EINVAL;
	while (at < size && text[at])
		at++;
	*image = (struct nvs_image){NVS_IMAGE_PTX, text, at};
	return 0;
}

static int elf_of(const uint8_t *data, size_t size, struct nvs_image *image)
{
	size_t extent = nvs_sass_elf_extent(data, size);

	if (!extent)
		return -EBADMSG;
	*image = (struct nvs_image){nvs_elf_u16(data + 18) == NVS_SASS_ELF_CUDA ? NVS_IMAGE_CUBIN
										: NVS_IMAGE_HOST,
				    data, extent};
	return 0;
}

static int fatbin_of(const uint8_t *data, size_t size, struct nvs_image *image)
{
	uint64_t header, body;

	if (size < 16)
		return -EBADMSG;
	header = nvs_elf_u16(data + 6);
	body = nvs_elf_u64(data + 8);
	if (header < 16 || header > size || body > size - header)
		return -EBADMSG;
	*image = (struct nvs_image){NVS_IMAGE_FATBIN, data, (size_t)(header + body)};
	return 0;
}

int nvs_image_of(const void *data, size_t size, struct nvs_image *image)
{
	const uint8_t *p = data;

	*image = (struct nvs_image){0};
	/* Compared byte by byte: of text at a pointer, no byte after its end may be read. */
	if (size >= 4 && p[0] == 0x7f && p[1] == 'E' && p[2] == 'L' && p[3] == 'F')
		return elf_of(p, size, image);
	if (size >= 4 && p[0] == 0x50 && p[1] == 0xed && p[2] == 0x55 && p[3] == 0xba)
		return fatbin_of(p, size, image);
	return ptx_of(p, size, image);
}

int nvs_image_at(const void *pointer, struct nvs_image *image)
{
	const uint8_t *p = pointer;
	uint64_t data;

	*image = (struct nvs_image){0};
	if (!p)
		return -EINVAL;
	/* Magic, version, the fatbin's address, and data that only a linker uses. */
	if (p[0] == 0xb1 && p[1] == 0x43 && p[2] == 0x62 && p[3] == 0x46) {
		data = nvs_elf_u64(p + 8);
		p = (const uint8_t *)(uintptr_t)data;
		if (!p)
			return -EINVAL;
	}
	return nvs_image_of(p, SIZE_MAX - (size_t)(uintptr_t)p, image);
}

bool nvs_image_next(const struct nvs_image *host, uint32_t *at, struct nvs_image *fatbin)
{
	struct nvs_cubin_section s;
	struct nvs_cubin elf;
	uint16_t machine;

	if (host->kind != NVS_IMAGE_HOST ||
	    nvs_sass_elf_open(&elf, host->data, host->size, &machine))
		return false;
	while (nvs_cubin_section(&elf, (*at)++, &s)) {
		if (!s.data || (strcmp(s.name, ".nv_fatbin") && strcmp(s.name, "__nv_relfatbin")))
			continue;
		*fatbin = (struct nvs_image){NVS_IMAGE_FATBIN, s.data, (size_t)s.size};
		return true;
	}
	return false;
}
