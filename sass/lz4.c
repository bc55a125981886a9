/* SPDX-License-Identifier: MIT */
/*
 * LZ4's block format, unpacked: sequences of literals and of a match further up.
 *
 * liblz4 does the same, and is not taken. The library that runs within programs may need libc
 * alone, so it would have to be linked in from an archive, one more package to build with, for a
 * format of three rules that does not change. What zstd does, which is taken so, is not written in
 * forty lines. Fatbins of strangers are unpacked by this under the sanitizers (tests/fuzz).
 */
#include <errno.h>
#include <string.h>
#include "sass/lz4.h"

/* A length of which the token has told N: 15 means that bytes follow, the last one below 255. */
static int length(const uint8_t *in, size_t size, size_t *at, size_t *n)
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
		if (length(in, size, &at, &literals) || literals > size - at ||
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
		if (length(in, size, &at, &match))
			return -EBADMSG;
		match += 4;
		if (!distance || distance > made || match > room - made)
			return -EBADMSG;
		for (; match; match--, made++) /* they may overlap */
			out[made] = out[made - distance];
	}
	return made == room ? 0 : -EBADMSG;
}
