/* SPDX-License-Identifier: MIT */
/* NVTX names: of ranges and marks, and by number those of domains, registered strings and
 * categories. */
#ifndef NVSNOOP_DECODE_QUERY_NVTX_NAMES_H
#define NVSNOOP_DECODE_QUERY_NVTX_NAMES_H

#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

struct nvs_nvtx_text {
	uint32_t number; /* in order of appearance */
	const char *name; /* "": unknown */
	uint64_t fits; /* bitmap of the patterns of --nvtx that match */
};

struct nvs_nvtx_names;
/* Returns NULL if memory is short. */
struct nvs_nvtx_names *nvs_nvtx_names_new(const struct nvs_patterns *patterns);
void nvs_nvtx_names_free(struct nvs_nvtx_names *n);
/* Returns 0 or -ENOMEM. */
int nvs_nvtx_names_record(struct nvs_nvtx_names *n, const struct nvs_rec_nvtx_name *rec);
/* Name of a range or a mark. Returns NULL if memory is short. */
const struct nvs_nvtx_text *nvs_nvtx_text_of(struct nvs_nvtx_names *n,
					     const struct nvs_rec_nvtx *rec);
/* Return "" if unknown. */
const char *nvs_nvtx_domain(const struct nvs_nvtx_names *n, uint32_t domain);
const char *nvs_nvtx_category(struct nvs_nvtx_names *n, uint32_t domain, uint32_t category);
/* Further attributes of a range or a mark: ", domain d, category c, payload 1", or "". */
void nvs_nvtx_describe(struct nvs_nvtx_names *n, const struct nvs_rec_nvtx *rec, char *text,
		       size_t room);
/* Number of NVTX events that could not be recorded. */
uint64_t nvs_nvtx_lost(const struct nvs_nvtx_names *n);

/* Returns true if an object whose bitmap of matches is FITS is selected. */
bool nvs_nvtx_is_selected(const struct nvs_patterns *list, uint64_t fits);

#endif
