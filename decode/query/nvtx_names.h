/* SPDX-License-Identifier: MIT */
/* Names of NVTX: of ranges and marks, and by number those of domains, registered strings and
 * categories. */
#ifndef NVSNOOP_DECODE_QUERY_NVTX_NAMES_H
#define NVSNOOP_DECODE_QUERY_NVTX_NAMES_H

#include "decode/base/keyed_rows.h"
#include "decode/query/source.h"

struct nvs_nvtx_text {
	uint32_t number; /* in the order first seen */
	const char *name; /* "": none is known */
	uint64_t fits; /* patterns of --nvtx: a bit each */
};

struct nvs_nvtx_names;
/* NULL: no memory. */
struct nvs_nvtx_names *nvs_nvtx_names_new(const struct nvs_patterns *patterns);
void nvs_nvtx_names_free(struct nvs_nvtx_names *n);
/* 0 or -ENOMEM. */
int nvs_nvtx_names_record(struct nvs_nvtx_names *n, const struct nvs_rec_nvtx_name *rec);
/* What a range or a mark is called. NULL: no memory. */
const struct nvs_nvtx_text *nvs_nvtx_text_of(struct nvs_nvtx_names *n,
					     const struct nvs_rec_nvtx *rec);
/* "": not known. */
const char *nvs_nvtx_domain(const struct nvs_nvtx_names *n, uint32_t domain);
const char *nvs_nvtx_category(struct nvs_nvtx_names *n, uint32_t domain, uint32_t category);
/* What else there is to say of a range or a mark: ", domain d, category c, payload 1", or "". */
void nvs_nvtx_describe(struct nvs_nvtx_names *n, const struct nvs_rec_nvtx *rec, char *text,
		       size_t room);
/* Events that the trace lacks. */
uint64_t nvs_nvtx_lost(const struct nvs_nvtx_names *n);

/* Does what fits these patterns pass? */
bool nvs_nvtx_pass(const struct nvs_patterns *list, uint64_t fits);

#endif
