/* SPDX-License-Identifier: MIT */
/* Part of trace.h: ranges and marks of NVTX. */
#ifndef NVSNOOP_NVTX_H
#define NVSNOOP_NVTX_H

#include "nvsnoop/record.h"

/*
 * A pushed range is popped on the same thread: pushed ranges nest, separately for each thread and
 * domain. A started range has its own id and may be ended by any thread. Ranges are recorded
 * whether or not a trigger lets calls and submissions be recorded, since a range may reach into a
 * window.
 *
 * Ranges from before the trace are recorded at its beginning, with their own time in `at`; a thread
 * that has no number yet is identified by its tid, until its THREAD record comes.
 */
#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

enum nvs_nvtx_name_kind {
	NVS_NVTX_DOMAIN = 1, /* number: of the domain, from 1; 0 is the default one */
	NVS_NVTX_STRING = 2, /* number: of the registered string, from 1 */
	NVS_NVTX_CATEGORY = 3, /* number: the program's own, in domain */
	NVS_NVTX_LOST =
		4, /* number: events before the trace for which there was no memory; no text */
};

/* Comes before its first use, except at the moment in which a trace begins. */
struct nvs_rec_nvtx_name {
	struct nvs_rec rec;
	uint32_t kind; /* enum nvs_nvtx_name_kind */
	uint32_t number;
	uint32_t domain; /* of a category or a string */
	uint32_t length; /* bytes of text, in UTF-8 if the program's text is */
	char text[];
};

/* rec.flags of BEGIN, END and MARK records */
#define NVS_NVTX_PUSHED (1u << 0) /* pushed or popped; else started or ended */
#define NVS_NVTX_COLOR (1u << 1) /* color is given */
#define NVS_NVTX_DEPTH (1u << 2) /* of a pushed range: id is its nesting depth, from 0 */

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
	uint64_t id; /* of a started range, from 1; for a pushed one see NVS_NVTX_DEPTH */
	uint64_t at; /* ticks; 0: rec.time */
	uint32_t tid; /* if thread is NVS_NONE */
	uint32_t string; /* registered string with its name; 0: the name is text, if there is any */
	uint32_t category; /* 0: none */
	uint32_t color; /* 0xAARRGGBB */
	uint64_t payload; /* of payload_type, widened to 64 bits */
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
