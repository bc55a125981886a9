/* SPDX-License-Identifier: MIT */
/*
 * Code that the trace holds. Images of several threads come interleaved, the bytes of each in
 * order; memory grows as they come, whatever size is told.
 */
#include <string.h>
#include "decode/calls/images.h"

#define MAX_OPEN 64u /* images that are being told at once: one a thread that loads */

struct open {
	struct nvs_trace_image image;
	uint8_t *data;
	size_t room;
	bool broken; /* a piece is missing, or there was no memory for it */
};

struct nvs_images {
	struct open open[MAX_OPEN];
	uint32_t n;
	struct nvs_trace_image told;
	uint8_t *data; /* of it */
};

struct nvs_images *nvs_images_new(void)
{
	return calloc(1, sizeof(struct nvs_images));
}

void nvs_images_free(struct nvs_images *all)
{
	if (!all)
		return;
	for (uint32_t i = 0; i < all->n; i++)
		free(all->open[i].data);
	free(all->data);
	free(all);
}

/* Takes it out: it is handed out next. */
static const struct nvs_trace_image *finish(struct nvs_images *all, struct open *o)
{
	uint64_t have = o->image.ndata;

	free(all->data);
	all->data = o->data;
	all->told = o->image;
	all->told.data = o->data;
	all->told.whole = !o->broken && have == o->image.size &&
			  !(o->image.flags & NVS_IMAGE_UNREAD);
	*o = all->open[--all->n];
	return &all->told;
}

static struct open *find(struct nvs_images *all, uint32_t number)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (all->open[i].image.image == number)
			return all->open + i;
	return NULL;
}

static bool add(struct open *o, const struct nvs_rec_image *rec)
{
	uint64_t wanted = o->image.ndata + rec->bytes;
	size_t room = o->room ? o->room : 4096;
	uint8_t *data;

	if (rec->offset != o->image.ndata || rec->size != o->image.size ||
	    rec->bytes > rec->size - rec->offset)
		return false;
	while (room < wanted)
		room *= 2;
	if (room != o->room) {
		data = realloc(o->data, room);
		if (!data)
			return false;
		o->data = data;
		o->room = room;
	}
	memcpy(o->data + o->image.ndata, rec->data, rec->bytes);
	o->image.ndata += rec->bytes;
	return true;
}

static struct nvs_trace_image begin(const struct nvs_rec_image *rec)
{
	return (struct nvs_trace_image){
		.image = rec->image,
		.kind = rec->kind,
		.flags = rec->rec.flags,
		.thread = rec->thread,
		.call = rec->call,
		.handle = rec->handle,
		.time = rec->rec.time,
		.given = rec->given,
		.size = rec->size,
	};
}

/* Without bytes: they came, or come, with another load. */
static const struct nvs_trace_image *load_alone(struct nvs_images *all,
						const struct nvs_rec_image *rec)
{
	all->told = begin(rec);
	return &all->told;
}

void nvs_images_record(struct nvs_images *all, const struct nvs_rec *head,
		       const struct nvs_trace_image **image)
{
	const struct nvs_rec_image *rec = (const void *)head;
	struct open *o;

	*image = NULL;
	if (head->type != NVS_REC_IMAGE)
		return;
	o = rec->image == NVS_NONE ? NULL : find(all, rec->image);
	if (!rec->bytes && !(head->flags & NVS_IMAGE_UNREAD && o)) {
		*image = load_alone(all, rec);
		return;
	}
	if (head->flags & NVS_IMAGE_LOAD && !rec->offset) {
		if (!o && all->n == MAX_OPEN) {
			*image = load_alone(all, rec);
			return;
		}
		if (o)
			free(o->data);
		else
			o = all->open + all->n++;
		*o = (struct open){.image = begin(rec)};
	}
	if (!o)
		return;
	o->image.flags |= head->flags;
	o->broken |= !add(o, rec);
	if (head->flags & NVS_IMAGE_LAST)
		*image = finish(all, o);
}

const struct nvs_trace_image *nvs_images_rest(struct nvs_images *all)
{
	return all->n ? finish(all, all->open + all->n - 1) : NULL;
}
