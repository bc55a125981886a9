/* SPDX-License-Identifier: MIT */
/*
 * A part of trace.h: ranges and marks of NVTX.
 *
 * What the program pushes it pops on the same thread: pushed ranges nest, for each thread and
 * domain apart. What it starts has an id of its own and may be ended by any thread. They are told
 * whether or not a trigger lets calls and submissions be recorded, since a range may reach into a
 * window.
 *
 * What happens before the trace is told at its begin, with its own time in `at`; a thread that has
 * no number by then is told by its tid, until its THREAD record comes.
 */
#ifndef NVSNOOP_NVTX_H
#define NVSNOOP_NVTX_H

#include "nvsnoop/record.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

enum nvs_nvtx_name_kind {
	NVS_NVTX_DOMAIN = 1, /* number: of the domain, from 1; 0 is the default one */
	NVS_NVTX_STRING = 2, /* number: of the registered string, from 1 */
	NVS_NVTX_CATEGORY = 3, /* number: as the program has it, in domain */
	NVS_NVTX_LOST =
		4, /* number: events before the trace for which there was no room; no text */
};

/* Comes before its first use, but for the moment in which a trace begins. */
struct nvs_rec_nvtx_name {
	struct nvs_rec rec;
	uint32_t kind; /* enum nvs_nvtx_name_kind */
	uint32_t number;
	uint32_t domain; /* of a category or a string */
	uint32_t length; /* bytes of text, UTF-8 as far as the program gave that */
	char text[];
};

/* rec.flags of BEGIN, END and MARK records */
#define NVS_NVTX_PUSHED (1u << 0) /* pushed or popped; else started or ended */
#define NVS_NVTX_COLOR (1u << 1) /* color is given */
#define NVS_NVTX_DEPTH (1u << 2) /* of a pushed one: id is its depth in the nest, from 0 */

enum nvs_nvtx_payload {
	NVS_NVTX_PAYLOAD_NONE = 0,
	NVS_NVTX_PAYLOAD_UNSIGNED = 1,
	NVS_NVTX_PAYLOAD_SIGNED = 2,
	NVS_NVTX_PAYLOAD_DOUBLE = 3,
};

/* BEGIN and MARK */
struct nvs_rec_nvtx {
	struct nvs_rec rec;
	uint32_t thread;
	uint32_t domain;
	uint64_t id; /* of a started range, from 1; of a pushed one see NVS_NVTX_DEPTH */
	uint64_t at; /* ticks; 0: rec.time */
	uint32_t tid; /* where thread is NVS_NONE */
	uint32_t string; /* a registered one that is its name; 0: text is, if there is any */
	uint32_t category; /* 0: none */
	uint32_t color; /* 0xAARRGGBB */
	uint64_t payload; /* as payload_type says, widened to 64 bits */
	uint32_t payload_type; /* enum nvs_nvtx_payload */
	uint32_t length; /* bytes of text */
	char text[];
};

struct nvs_rec_nvtx_end {
	struct nvs_rec rec;
	uint32_t thread;
	uint32_t domain;
	uint64_t id;
	uint64_t at;
	uint32_t tid;
	uint32_t reserved;
};

#pragma GCC diagnostic pop
#ifdef __cplusplus
}
#endif

#endif
