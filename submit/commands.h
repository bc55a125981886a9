/* SPDX-License-Identifier: MIT */
/*
 * Writes commands as the driver does. Headers and methods are those of NVIDIA's class headers
 * (clc86f.h, clcbc0.h, clc8b5.h, cla140.h); they are the same from Volta to Blackwell. Sizes are in
 * dwords.
 */
#ifndef NVSNOOP_SUBMIT_COMMANDS_H
#define NVSNOOP_SUBMIT_COMMANDS_H

#include <stdint.h>

/* Subchannels that are fixed on a graphics runlist; a copy runlist ignores them. */
enum { NVS_SUBCH_COMPUTE = 1, NVS_SUBCH_COPY = 4 };

enum {
	NVS_HEADER_COUNT_MAX = 8191, /* data words of one header */
	NVS_WORDS_HOST_SEMAPHORE = 6,
	NVS_WORDS_COPY = 9,
};

/* SEM_EXECUTE */
#define NVS_SEM_RELEASE 0x1u
#define NVS_SEM_RELEASE_WFI 0x100000u
#define NVS_SEM_RELEASE_TIMESTAMP 0x2000000u
#define NVS_HOST_NOP 0x80000002u /* a complete header */

/* LAUNCH_DMA of the copy engine */
#define NVS_COPY_PIPELINED 0x1u
#define NVS_COPY_NON_PIPELINED 0x2u
#define NVS_COPY_FLUSH 0x4u
#define NVS_COPY_RELEASE_TIMESTAMP 0x10u /* RELEASE_FOUR_WORD_SEMAPHORE */
#define NVS_COPY_PITCH 0x180u /* source and target are pitch linear */

/* Incrementing and non-incrementing headers for methods from byte offset METHOD on. */
static inline uint32_t nvs_method_header(uint32_t subchannel, uint32_t method, uint32_t count)
{
	return 0x20000000u | count << 16 | subchannel << 13 | method >> 2;
}

static inline uint32_t nvs_method_header_same(uint32_t subchannel, uint32_t method, uint32_t count)
{
	return 0x60000000u | count << 16 | subchannel << 13 | method >> 2;
}

/* Semaphore operation by the host, when it has parsed the preceding commands; with WFI in EXECUTE,
 * when these are done as well. */
static inline uint32_t *nvs_put_host_semaphore(uint32_t *w, uint64_t address, uint32_t payload,
					       uint32_t execute)
{
	*w++ = nvs_method_header(0, 0x5c, 5); /* SEM_ADDR_LO, HI, PAYLOAD_LO, HI, SEM_EXECUTE */
	*w++ = (uint32_t)address;
	*w++ = (uint32_t)(address >> 32);
	*w++ = payload;
	*w++ = 0;
	*w++ = execute;
	return w;
}

/* Release by the compute engine, with its timestamp, after its preceding work. */
static inline uint32_t *nvs_put_compute_semaphore(uint32_t *w, uint64_t address, uint32_t payload)
{
	*w++ = nvs_method_header(NVS_SUBCH_COMPUTE, 0x1b00, 4); /* SET_REPORT_SEMAPHORE_A to D */
	*w++ = (uint32_t)(address >> 32);
	*w++ = (uint32_t)address;
	*w++ = payload;
	*w++ = 0; /* RELEASE, FOUR_WORDS, flush on */
	return w;
}

/* Release by the copy engine, with its timestamp. */
static inline uint32_t *nvs_put_copy_semaphore(uint32_t *w, uint64_t address, uint32_t payload)
{
	*w++ = nvs_method_header(NVS_SUBCH_COPY, 0x240, 3); /* SET_SEMAPHORE_A, B, PAYLOAD */
	*w++ = (uint32_t)(address >> 32);
	*w++ = (uint32_t)address;
	*w++ = payload;
	*w++ = nvs_method_header(NVS_SUBCH_COPY, 0x300, 1);
	*w++ = NVS_COPY_RELEASE_TIMESTAMP | NVS_COPY_FLUSH;
	return w;
}

/* Copies one line of BYTES. LAUNCH: value of LAUNCH_DMA. */
static inline uint32_t *nvs_put_copy(uint32_t *w, uint64_t from, uint64_t to, uint32_t bytes,
				     uint32_t launch)
{
	*w++ = nvs_method_header(NVS_SUBCH_COPY, 0x400, 4); /* OFFSET_IN, OFFSET_OUT */
	*w++ = (uint32_t)(from >> 32);
	*w++ = (uint32_t)from;
	*w++ = (uint32_t)(to >> 32);
	*w++ = (uint32_t)to;
	*w++ = nvs_method_header(NVS_SUBCH_COPY, 0x418, 1); /* LINE_LENGTH_IN */
	*w++ = bytes;
	*w++ = nvs_method_header(NVS_SUBCH_COPY, 0x300, 1); /* LAUNCH_DMA */
	*w++ = launch;
	return w;
}

/* Number of dwords for an inline copy of BYTES, including headers. */
static inline uint32_t nvs_words_inline(uint32_t bytes)
{
	uint32_t data = (bytes + 3) / 4;

	return 8 + data + (data + NVS_HEADER_COUNT_MAX - 1) / NVS_HEADER_COUNT_MAX;
}

/* Inline copy: BYTES of DATA, a whole number of dwords, are in the pushbuffer. LAUNCH: value of
 * LAUNCH_DMA. */
static inline uint32_t *nvs_put_inline(uint32_t *w, uint64_t to, uint32_t bytes,
				       const uint32_t *data, uint32_t launch)
{
	uint32_t left = (bytes + 3) / 4;

	*w++ = nvs_method_header(NVS_SUBCH_COMPUTE, 0x188, 2); /* OFFSET_OUT_UPPER, OFFSET_OUT */
	*w++ = (uint32_t)(to >> 32);
	*w++ = (uint32_t)to;
	*w++ = nvs_method_header(NVS_SUBCH_COMPUTE, 0x180, 2); /* LINE_LENGTH_IN, LINE_COUNT */
	*w++ = bytes;
	*w++ = 1;
	*w++ = nvs_method_header(NVS_SUBCH_COMPUTE, 0x1b0, 1); /* LAUNCH_DMA */
	*w++ = launch;
	while (left) {
		uint32_t n = left < NVS_HEADER_COUNT_MAX ? left : NVS_HEADER_COUNT_MAX;

		*w++ = nvs_method_header_same(NVS_SUBCH_COMPUTE, 0x1b4, n); /* LOAD_INLINE_DATA */
		for (uint32_t i = 0; i < n; i++)
			*w++ = *data++;
		left -= n;
	}
	return w;
}

/* N data words to a method that does nothing, to measure fetching and dispatching. */
static inline uint32_t *nvs_put_nop(uint32_t *w, uint32_t n)
{
	while (n) {
		uint32_t some = n < NVS_HEADER_COUNT_MAX ? n : NVS_HEADER_COUNT_MAX;

		*w++ = nvs_method_header_same(NVS_SUBCH_COMPUTE, 0x100, some); /* NO_OPERATION */
		for (uint32_t i = 0; i < some; i++)
			*w++ = 0;
		n -= some;
	}
	return w;
}

#endif
