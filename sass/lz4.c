/* SPDX-License-Identifier: MIT */
/*
 * Decompresses LZ4's block format: sequences of literals followed by a match.
 *
 * liblz4 is not used: the preloaded library may depend on libc only, so it would have to be linked
 * from an archive, one more package to build with, for a format of three rules that does not
 * change. Fatbins of strangers are decompressed by this code under the sanitizers (tests/fuzz).
 */
#include <errno.h>
#include <string.h>
#include "sass/lz4.h"

/* Extends the length N from the token: if it is 15, bytes follow, the last one below 255. */
static int read_length(const uint8_t *in, size_t size, size_t *at, size_t *n)
{
	uint8_t more = 255;

	if (*n < 15)
		return 0;
	while (more == 255) {
		if (*at >= size)
			return -EBADMSG;
		more = in[(*at)++];
		*n += more;
	}
	return 0;
}

int nvs_lz4_unpack(const uint8_t *in, size_t size, uint8_t *out, size_t room)
{
	size_t at = 0, made = 0, literals, match, distance;

	while (at < size) {
		literals = in[at] >> 4;
		match = in[at++] & 15;
		if (read_length(in, size, &at, &literals) || literals > size - at ||
		    literals > room - made)
			return -EBADMSG;
		memcpy(out + made, in + at, literals);
		at += literals;
		made += literals;
		if (at == size) /* the last sequence has no match */
			break;
		if (size - at < 2)
			return -EBADMSG;
		distance = (size_t)in[at] | (size_t)in[at + 1] << 8;
		at += 2;
		if (read_length(in, size, &at, &match))
			return -EBADMSG;
		match += 4;
		if (!distance || distance > made || match > room - made)
			return -EBADMSG;
		for (; match; match--, made++) /* source and destination may overlap */
			out[made] = out[made - distance];
	}
	return made == room ? 0 : -EBADMSG;
}
