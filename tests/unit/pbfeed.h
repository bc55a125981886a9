/* SPDX-License-Identifier: MIT */
/* Parses pushbuffers whose words are all there, for tests. */
#ifndef NVSNOOP_TESTS_PBFEED_H
#define NVSNOOP_TESTS_PBFEED_H

#include "decode/gpu/pb.h"

/* Parses the next N dwords of an entry's segment. */
static inline void pb_feed(struct nvs_pb *pb, const uint32_t *data, size_t n,
			   const struct nvs_pb_sink *sink)
{
	n = nvs_pb_claim(pb, n, sink);
	for (size_t i = 0; i < n;)
		i += nvs_pb_step(pb, data + i, n - i, sink);
}

#endif
