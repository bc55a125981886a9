/* SPDX-License-Identifier: MIT */
/* Events as viewers show them: slices on tracks, connected by flows, each with a list of fields.
 * An export that uses it has NVS_SLICE_EVENTS and .slice among its callbacks, and only encodes. */
#ifndef NVSNOOP_DECODE_EXPORT_SLICES_H
#define NVSNOOP_DECODE_EXPORT_SLICES_H

#include "decode/calls/roles.h"
#include "decode/export/events.h"

struct nvs_slice_field {
	const char *name;
	const char *text; /* NULL: NUMBER, or CALL's argument */
	uint64_t number;
	const struct nvs_call *call; /* of the argument at index NUMBER; else NULL */
	bool of_track; /* the same for all events of the track */
};

#define NVS_SLICE_FIELDS (NVS_CALL_MAX_ARGS + 5) /* of a call; others have fewer */

struct nvs_slice {
	enum nvs_track_kind {
		NVS_TRACK_THREAD, /* calls */
		NVS_TRACK_CHANNEL, /* submissions, and when they were seen done: instants */
		NVS_TRACK_WORK, /* GPU work of a channel */
	} track;
	uint32_t number; /* of the thread or channel */
	const char *category, *name;
	int64_t begin, end;
	bool ended; /* END is valid */
	uint64_t flow; /* that starts at a call and goes on at other slices; 0: none */
	/* GPFIFO entries of the channel not seen done yet; valid if COUNTED. */
	bool counted;
	uint64_t pending;
	uint32_t nfields;
	struct nvs_slice_field fields[NVS_SLICE_FIELDS];
};

/* Callbacks that call .slice. */
#define NVS_SLICE_EVENTS                                                                          \
	.call = nvs_slice_call, .submission = nvs_slice_submission, .release = nvs_slice_release, \
	.gpu = nvs_slice_gpu

int nvs_slice_call(struct nvs_event_stream *w, const struct nvs_event_call *c);
int nvs_slice_submission(struct nvs_event_stream *w, const struct nvs_event_submission *one);
int nvs_slice_release(struct nvs_event_stream *w, const struct nvs_event_release *r);
int nvs_slice_gpu(struct nvs_event_stream *w, const struct nvs_event_gpu_work *g);

/* Name of a track. Not escaped. */
const char *nvs_track_name(const struct nvs_event_stream *w, enum nvs_track_kind kind,
			   uint32_t number, char *room, size_t size);

#endif
