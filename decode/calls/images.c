/* SPDX-License-Identifier: MIT */
/* Reassembles code images. Records of several threads are interleaved, the bytes of each image are
 * in order. Memory grows with the bytes read, whatever size a record claims. */
#include <string.h>
#include "decode/calls/images.h"

#define MAX_OPEN 64u /* incomplete images at the same time: one for each loading thread */

struct open_image {
	struct nvs_trace_image image;
	uint8_t *data;
	size_t room;
	bool broken; /* a piece is missing, or memory was short */
};

struct nvs_images {
	struct open_image open[MAX_OPEN];
	uint32_t n;
	struct nvs_trace_image told;
	uint8_t *data; /* bytes of `told` */
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

/* Removes a finished image from the open ones; the caller delivers it next. */
static const struct nvs_trace_image *take_image(struct nvs_images *all, struct open_image *o)
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

static struct open_image *find_open(struct nvs_images *all, uint32_t number)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (all->open[i].image.image == number)
			return all->open + i;
	return NULL;
}

static bool add_piece(struct open_image *o, const struct nvs_rec_image *rec)
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

static struct nvs_trace_image make_image(const struct nvs_rec_image *rec)
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

/* A load without bytes, which are in the records of another load. */
static const struct nvs_trace_image *report_load(struct nvs_images *all,
						 const struct nvs_rec_image *rec)
{
	all->told = make_image(rec);
	return &all->told;
}

void nvs_images_record(struct nvs_images *all, const struct nvs_rec *head,
		       const struct nvs_trace_image **image)
{
	const struct nvs_rec_image *rec = (const void *)head;
	struct open_image *o;

	*image = NULL;
	if (head->type != NVS_REC_IMAGE)
		return;
	o = rec->image == NVS_NONE ? NULL : find_open(all, rec->image);
	if (!rec->bytes && !(head->flags & NVS_IMAGE_UNREAD && o)) {
		*image = report_load(all, rec);
		return;
	}
	if (head->flags & NVS_IMAGE_LOAD && !rec->offset) {
		if (!o && all->n == MAX_OPEN) {
			*image = report_load(all, rec);
			return;
		}
		if (o)
			free(o->data);
		else
			o = all->open + all->n++;
		*o = (struct open_image){.image = make_image(rec)};
	}
	if (!o)
		return;
	o->image.flags |= head->flags;
	o->broken |= !add_piece(o, rec);
	if (head->flags & NVS_IMAGE_LAST)
		*image = take_image(all, o);
}

const struct nvs_trace_image *nvs_images_next_incomplete(struct nvs_images *all)
{
	return all->n ? take_image(all, all->open + all->n - 1) : NULL;
}
