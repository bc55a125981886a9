/* SPDX-License-Identifier: MIT */
/* Data words may look like headers, so a single valid header proves nothing; a sequence of them
 * does. A subchannel whose class is unknown counts neither for nor against a sequence. */
#include "decode/gpu/resync.h"

#define HOST_END 0x100u
#define SET_OBJECT 0u
#define STRETCH 8u /* number of known headers required */

/* Classes as bound within the sequence. */
struct bound {
	const struct nvs_class *host, *subch[8];
};

enum fit { FIT_NOT, FIT_PERHAPS, FIT_SURELY };

static enum fit check_method(const struct bound *b, uint32_t subch, uint32_t method)
{
	const struct nvs_class *cls = method < HOST_END ? b->host : b->subch[subch];
	struct nvs_method_at at;

	if (!cls)
		return FIT_PERHAPS;
	return nvs_method_find(cls, method, &at) ? FIT_SURELY : FIT_NOT;
}

/* Classifies the header WORD. *DATA is the number of data dwords that follow it. */
static enum fit check_header(const struct bound *b, uint32_t word, uint32_t *data)
{
	uint32_t subch = word >> 13 & 7, method = (word & 0xfff) << 2, last = method;
	enum fit fit = check_method(b, subch, method);

	*data = word >> 16 & 0x1fff;
	switch (word >> 29) {
	case 4:
		*data = 0;
		return fit;
	case 1:
		last = method + 4 * (*data - 1);
		break;
	case 5:
		last = method + 4 * (*data > 1);
		break;
	case 3:
		break;
	default:
		return FIT_NOT;
	}
	if (!*data || last > 0x3ffc || check_method(b, subch, last) == FIT_NOT)
		return FIT_NOT;
	return fit;
}

static size_t count_zeros(const uint32_t *words, size_t n)
{
	size_t i = 0;

	while (i < n && i < NVS_RESYNC_ZEROS && !words[i])
		i++;
	return i;
}

/* Where a sequence may end before its eight headers. */
enum stop { STOP_NOWHERE, STOP_PADDING, STOP_END };

/* Checks that the stream is valid from WORDS on, which is not 0. */
static bool check_sequence(struct bound b, const uint32_t *words, size_t n, enum stop stop)
{
	uint32_t sure = 0, data;
	size_t i = 0;

	for (uint32_t headers = 0; headers < NVS_RESYNC_HEADERS && i < n; headers++) {
		enum fit fit = check_header(&b, words[i], &data);

		if (fit == FIT_NOT || (fit == FIT_PERHAPS && !sure) || data > n - i - 1)
			return false;
		if (data && (words[i] & 0xfff) == SET_OBJECT)
			b.subch[words[i] >> 13 & 7] = nvs_class_find(words[i + 1] & 0xffff);
		sure += fit == FIT_SURELY;
		i += 1 + data;
		data = (uint32_t)count_zeros(words + i, n - i);
		i += data;
		if (sure == STRETCH)
			return true;
		if (data == NVS_RESYNC_ZEROS)
			return sure && stop >= STOP_PADDING;
	}
	return sure && i == n && stop == STOP_END;
}

/*
 * A data word that looks like a header with much data may happen to end at a true header; the true
 * sequence is then within its data. Returns its position in the data of the header at WORDS, or 0
 * if there is none.
 */
static size_t find_inner_sequence(const struct bound *b, const uint32_t *words)
{
	uint32_t data;

	check_header(b, *words, &data);
	for (size_t i = 1; i <= data; i++) {
		if (words[i] && check_sequence(*b, words + i, data + 1 - i, STOP_NOWHERE))
			return i;
	}
	return 0;
}

bool nvs_resync(const struct nvs_ops_channel *c, const uint32_t *words, size_t n, bool ends,
		size_t *passed)
{
	struct bound b = {.host = nvs_ops_host_class(c)};
	enum stop stop = ends ? STOP_END : STOP_PADDING;
	size_t i, more = 1;

	for (uint32_t k = 0; k < 8; k++)
		b.subch[k] = nvs_ops_class(c, k, NULL);
	for (i = 0; i < n && (ends || n - i >= NVS_RESYNC_AHEAD); i += more) {
		more = 1;
		if (!words[i] || !check_sequence(b, words + i, n - i, stop))
			continue;
		more = find_inner_sequence(&b, words + i);
		if (!more)
			break;
	}
	*passed = i < n ? i : n;
	return !more;
}
