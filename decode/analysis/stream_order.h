/* SPDX-License-Identifier: MIT */
/*
 * Which work of a trace is in order, by the rules of the CUDA API: streams, events, default
 * streams, waits of the host, values that streams write and wait for. What the commands order
 * beyond that is not considered: the driver leaves out waits for work that it has seen to be done,
 * and lets streams share a channel.
 *
 * Each stream has a vector clock, with a slot for each stream in use. The host has a single one:
 * what a call in any thread has waited for is before all later calls of all threads, because what
 * threads wait for among themselves is not in the trace.
 */
#ifndef NVSNOOP_DECODE_ANALYSIS_STREAM_ORDER_H
#define NVSNOOP_DECODE_ANALYSIS_STREAM_ORDER_H

#include "decode/base/keyed_rows.h"
#include "decode/calls/args.h"

#define NVS_ORDER_SLOTS 4096u /* streams in use at once */

struct nvs_order_clock;

/* A stream. It begins with its key. */
struct nvs_ordered_stream {
	struct nvs_ordered_stream_key {
		uint64_t handle; /* NVS_STREAM_LEGACY, NVS_STREAM_PER_THREAD, or a CUstream */
		uint64_t context; /* of default streams, else 0 */
		uint64_t thread; /* of per-thread default streams, else 0 */
	} key;
	uint64_t context;
	uint32_t slot;
	bool started; /* has a slot */
	bool non_blocking, legacy;
	bool queued; /* in the list of its context */
	uint64_t seq; /* of its latest work */
	uint64_t launch; /* SEQ of its latest work if that is a kernel, else 0 */
	/* The latest work is a kernel that may begin before this earlier kernel is done, by
	 * programmatic stream serialization; 0: it may not. */
	uint64_t overlapped;
	uint64_t host_version; /* of the host's clock that it has joined */
	struct nvs_order_clock *clock;
	struct nvs_ordered_stream *next; /* in the list of its context */
};

struct nvs_stream_order {
	struct nvs_rows streams, contexts, events, words;
	struct order_slot {
		uint64_t seq, context;
		struct nvs_ordered_stream *owner; /* NULL: destroyed */
	} * slots;
	uint32_t nslots, room, freed; /* freed: the slot whose stream was destroyed last */
	struct nvs_order_clock *host; /* what the host has waited for */
	struct nvs_order_clock
		*hinted; /* what the host may have learnt from a function that a stream called */
	uint64_t host_version, now; /* now: number of the current call, from 1 */
	uint64_t context; /* the latest known one, for calls whose context is unknown */
	bool crowded; /* more than NVS_ORDER_SLOTS streams: the order is unknown from there on */
	bool events_in_graphs; /* graphs record events */
};

/* Follows CALL, which ran or, as a query, did not; BLOCKING: the host waits for its work. *WORK:
 * the stream whose latest work it is, NULL: it put no work into a stream. Returns 0 or -ENOMEM. */
int nvs_stream_order_call(struct nvs_stream_order *o, const struct nvs_call *call, uint64_t context,
			  bool blocking, struct nvs_ordered_stream **work);
/* The latest work of S, a graph, has nodes that wait for something outside of it, call a function
 * of the host, or record events. */
int nvs_stream_order_graph(struct nvs_stream_order *o, struct nvs_ordered_stream *s, bool waits,
			   bool calls, bool records);
/* Calls are missing here, and perhaps waits among them: all work so far counts as past. */
int nvs_stream_order_forget(struct nvs_stream_order *o);
void nvs_stream_order_free(struct nvs_stream_order *o);

/* Earlier work: that of SLOT numbered SEQ, which a call numbered NOW submitted. */
struct nvs_order_point {
	uint64_t seq, now;
	uint32_t slot;
};

enum nvs_work_order {
	NVS_ORDERED,
	NVS_UNORDERED,
	/* By what the trace shows it is not ordered, but something that it does not show may order
	 * it: the host may have waited for a function that a stream called; a wait for another
	 * process or API, or for a value that the host writes, may cover it. */
	NVS_ORDER_UNKNOWN,
	NVS_ORDER_OVERLAPS, /* by programmatic stream serialization */
};

/* Whether the latest work of S waits for the work at POINT. */
enum nvs_work_order nvs_order_of(const struct nvs_stream_order *o,
				 const struct nvs_ordered_stream *s,
				 const struct nvs_order_point *point);
/* Returns true if the host has waited for it, so that it is before everything that follows. */
bool nvs_order_is_past(const struct nvs_stream_order *o, const struct nvs_order_point *point);
/* SEQ of the latest work of SLOT that S waits for; 0: none. */
uint64_t nvs_order_seen(const struct nvs_ordered_stream *s, uint32_t slot);

#endif
