/* SPDX-License-Identifier: MIT */
/* Chooses the parts of an image to record. A fatbin contains the same code for many GPUs and may
 * have hundreds of MB, so only entries that a GPU of this machine uses are kept. */
#include <string.h>
#include "preload/api/images/image.h"
#include "preload/base/preload.h"
#include "sass/sass.h"
#include "trap/low/guard.h"

/* Header before a fatbin's entries. */
struct head {
	uint32_t magic;
	uint16_t version, head_bytes;
	uint64_t bytes; /* of the entries */
};

_Static_assert(sizeof(struct head) == sizeof(((struct nvs_loaded_image *)0)->head),
	       "a fatbin's head");

/* ---- pieces ---- */

static bool add_piece(struct nvs_loaded_image *c, const void *at, uint64_t bytes)
{
	struct nvs_image_piece *last = c->npieces ? c->piece + c->npieces - 1 : NULL;

	if (last && last->at + last->bytes == at) {
		last->bytes += bytes;
		c->size += bytes;
		return true;
	}
	if (!NVS_GROW(c->piece, c->npieces, c->room, 16))
		return false;
	c->piece[c->npieces++] = (struct nvs_image_piece){at, bytes};
	c->size += bytes;
	return true;
}

void nvs_code_free(struct nvs_loaded_image *c)
{
	nvs_free(c->piece, c->room * sizeof(*c->piece));
	c->piece = NULL;
	c->room = c->npieces = 0;
}

bool nvs_code_read(const struct nvs_loaded_image *c, uint64_t offset, void *to, uint64_t bytes)
{
	uint8_t *out = to;

	for (uint32_t i = 0; i < c->npieces && bytes; i++) {
		const struct nvs_image_piece *p = c->piece + i;
		uint64_t n;

		if (offset >= p->bytes) {
			offset -= p->bytes;
			continue;
		}
		n = p->bytes - offset < bytes ? p->bytes - offset : bytes;
		if (nvs_copy_guarded(out, p->at + offset, n))
			return false;
		out += n;
		bytes -= n;
		offset = 0;
	}
	return !bytes;
}

/* ---- fatbins ---- */

/* The driver's rule: machine code of the same generation that is not newer than the GPU, or PTX
 * that is not newer. */
static bool runs_on(const struct nvs_fatbin_entry *e, enum nvs_fatbin_kind kind,
		    const uint8_t *gpus)
{
	for (; *gpus && e->kind == kind; gpus++)
		if (e->arch <= *gpus && (kind == NVS_FATBIN_PTX || e->arch / 10 == *gpus / 10u))
			return true;
	return false;
}

/* Returns false if there is no such entry or the fatbin is malformed. */
static bool choose_entries(struct nvs_loaded_image *c, const struct nvs_image *image,
			   enum nvs_fatbin_kind kind, const uint8_t *gpus)
{
	struct nvs_fatbin fatbin = {.data = image->data, .size = image->size};
	struct nvs_fatbin_entry e;

	memcpy(c->head, image->data, sizeof(c->head));
	c->npieces = 0;
	c->size = 0;
	if (!add_piece(c, c->head, sizeof(c->head)))
		return false;
	while (nvs_fatbin_next(&fatbin, &e))
		if (runs_on(&e, kind, gpus) && !add_piece(c, e.header, e.whole))
			return false;
	return !fatbin.broken && c->size > sizeof(c->head);
}

static bool read_fatbin(struct nvs_loaded_image *c, const struct nvs_image *image,
			const uint8_t *gpus)
{
	struct head *head = (void *)c->head;

	if (choose_entries(c, image, NVS_FATBIN_CUBIN, gpus) ||
	    choose_entries(c, image, NVS_FATBIN_PTX, gpus)) {
		c->chosen = c->size < image->size;
		head->head_bytes = sizeof(*head);
		head->bytes = c->size - sizeof(*head);
		return true;
	}
	/* No usable entry: keep all of it. */
	c->npieces = 0;
	c->size = 0;
	return add_piece(c, image->data, image->size);
}

void nvs_code_select(struct nvs_loaded_image *c, const void *image, uint64_t most,
		     const uint8_t *gpus)
{
	struct nvs_image is;
	bool taken;

	memset(c, 0, sizeof(*c));
	c->unread = true;
	if (!image ||
	    (most == UINT64_MAX ? nvs_image_at(image, &is) : nvs_image_of(image, most, &is)))
		return;
	c->kind = is.kind == NVS_IMAGE_FATBIN  ? NVS_CODE_FATBIN
		  : is.kind == NVS_IMAGE_CUBIN ? NVS_CODE_CUBIN
		  : is.kind == NVS_IMAGE_PTX   ? NVS_CODE_PTX
					       : NVS_CODE_OTHER;
	c->given = is.size;
	taken = is.kind == NVS_IMAGE_FATBIN ? read_fatbin(c, &is, gpus)
					    : add_piece(c, is.data, is.size);
	c->unread = !taken || c->size > NVS_CODE_MAX_BYTES;
}
