/* SPDX-License-Identifier: MIT */
/* Events as viewers show them: slices on tracks, connected by flows, each with a list of fields.
 * They are complete in themselves: an export encodes them in a thread of its own, in order, while
 * the rest of the trace is read. */
#ifndef NVSNOOP_DECODE_EXPORT_SLICES_H
#define NVSNOOP_DECODE_EXPORT_SLICES_H

#include "decode/calls/roles.h"
#include "decode/export/events.h"

struct nvs_slice_field {
	const char *name;
	const char *text; /* NULL: NUMBER */
	uint64_t number;
	uint32_t kind; /* of NUMBER: enum nvs_arg_kind */
	bool argument; /* of a call: NAME may be from the trace */
	bool of_track; /* the same for all events of the track */
};

enum nvs_track_kind {
	NVS_TRACK_THREAD, /* calls */
	NVS_TRACK_CHANNEL, /* submissions, and when they were seen done: instants */
	NVS_TRACK_WORK, /* GPU work of a channel */
	NVS_TRACK_NVTX, /* ranges that a thread pushed in a domain */
	NVS_TRACKS,
};

struct nvs_track_key {
	uint32_t kind, number, domain; /* NUMBER: of the thread or channel */
};

/* Precedes the first event on it. */
struct nvs_track {
	struct nvs_track_key key;
	uint32_t tid; /* of a thread */
	const char *name; /* not escaped; of NVTX, the domain's: "" for the default one */
};

struct nvs_slice {
	struct nvs_track_key track;
	uint32_t tid; /* if the track is a thread's */
	const char *category, *name;
	int64_t begin, end;
	bool ended; /* END is valid */
	uint64_t flow; /* that starts at a call and goes on at other slices; 0: none */
	/* GPFIFO entries of the channel not seen done yet; valid if COUNTED. */
	bool counted;
	uint64_t pending;
	uint32_t nfields;
	const struct nvs_slice_field *fields;
};

/* The begin or end of a range, or a mark. Ranges that were started, not pushed, may overlap. */
struct nvs_slice_range {
	struct nvs_track_key track; /* of NVTX */
	uint32_t tid;
	bool ends, marked, started;
	bool nests; /* with its thread's calls: it was pushed in the default domain */
	uint64_t id; /* of a range that does not nest, 1 and up; 0: unknown at its end */
	int64_t at;
	const char *name, *detail; /* DETAIL: further attributes, "" for none */
};

/* An export. All but BEGIN are called in another thread; they return 0, -errno, or > 0 to stop. Of
 * the stream they may only use what stays as it is for the whole trace. */
struct nvs_slice_sink {
	int (*begin)(struct nvs_event_stream *w);
	int (*track)(struct nvs_event_stream *w, const struct nvs_track *t);
	int (*slice)(struct nvs_event_stream *w, const struct nvs_slice *s);
	int (*range)(struct nvs_event_stream *w, const struct nvs_slice_range *r);
	int (*memory)(struct nvs_event_stream *w, int64_t at, uint64_t bytes);
};

/* Walks all traces of RUN, one after the other. Returns 0 or -errno. */
int nvs_slices_deliver(struct nvs_run *run, const struct nvs_slice_sink *sink, void *to);
/* What the stream's TO begins with. */
struct nvs_slices {
	void *to;
};

/* The export's state: TO of nvs_slices_deliver(). */
static inline void *nvs_slices_to(const struct nvs_event_stream *w)
{
	return ((const struct nvs_slices *)w->to)->to;
}

#endif
