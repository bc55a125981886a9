/* SPDX-License-Identifier: MIT */
/* Writes methods into a pushbuffer. Each function returns the address of the next word. */
#ifndef SOFTGPU_PUSH_H
#define SOFTGPU_PUSH_H

#include <stdint.h>
#include <string.h>

enum { SUBCH_HOST = 0, SUBCH_COMPUTE = 1, SUBCH_COPY = 4 };

#define PUSH_HEADER(form, subch, method, count)                                       \
	((uint32_t)(form) << 29 | (uint32_t)(count) << 16 | (uint32_t)(subch) << 13 | \
	 (uint32_t)(method) >> 2)
#define PUSH_RUN 8191 /* maximum words of one header */

static inline uint32_t *push1(uint32_t *p, uint32_t subch, uint32_t method, uint32_t a)
{
	p[0] = PUSH_HEADER(1, subch, method, 1);
	p[1] = a;
	return p + 2;
}

static inline uint32_t *push2(uint32_t *p, uint32_t subch, uint32_t method, uint32_t a, uint32_t b)
{
	p[0] = PUSH_HEADER(1, subch, method, 2);
	p[1] = a;
	p[2] = b;
	return p + 3;
}

static inline uint32_t *push3(uint32_t *p, uint32_t subch, uint32_t method, uint32_t a, uint32_t b,
			      uint32_t c)
{
	p[0] = PUSH_HEADER(1, subch, method, 3);
	p[1] = a;
	p[2] = b;
	p[3] = c;
	return p + 4;
}

static inline uint32_t *push4(uint32_t *p, uint32_t subch, uint32_t method, uint32_t a, uint32_t b,
			      uint32_t c, uint32_t d)
{
	p[0] = PUSH_HEADER(1, subch, method, 4);
	p[1] = a;
	p[2] = b;
	p[3] = c;
	p[4] = d;
	return p + 5;
}

static inline uint32_t *push_va(uint32_t *p, uint32_t subch, uint32_t method, uint64_t va)
{
	return push2(p, subch, method, (uint32_t)(va >> 32), (uint32_t)va);
}

/* Number of words of an inline upload of BYTES. */
static inline uint32_t push_upload_words(uint32_t bytes)
{
	uint32_t n = (bytes + 3) / 4;

	return 8 + n + (n + PUSH_RUN - 1) / PUSH_RUN;
}

/* Inline upload to VA through the compute class. */
static inline uint32_t *push_upload(uint32_t *p, uint64_t va, const void *data, uint32_t bytes)
{
	uint32_t left = (bytes + 3) / 4, at = 0;

	p = push_va(p, SUBCH_COMPUTE, 0x188, va);
	p = push2(p, SUBCH_COMPUTE, 0x180, bytes, 1);
	p = push1(p, SUBCH_COMPUTE, 0x1b0, 0x41);
	while (left) {
		uint32_t n = left < PUSH_RUN ? left : PUSH_RUN;
		uint32_t part = bytes - at < n * 4 ? bytes - at : n * 4;

		*p++ = PUSH_HEADER(3, SUBCH_COMPUTE, 0x1b4, n);
		p[n - 1] = 0;
		memcpy(p, (const char *)data + at, part);
		p += n;
		at += part;
		left -= n;
	}
	return p;
}

/* Host semaphore acquire: waits until the value at VA has reached PAYLOAD, modulo 2^32. */
static inline uint32_t *push_acquire(uint32_t *p, uint64_t va, uint32_t payload, uint32_t execute)
{
	p[0] = PUSH_HEADER(1, SUBCH_HOST, 0x5c, 5);
	p[1] = (uint32_t)va;
	p[2] = (uint32_t)(va >> 32);
	p[3] = payload;
	p[4] = 0;
	p[5] = execute;
	return p + 6;
}

/* Release with timestamp through the compute class. */
static inline uint32_t *push_report(uint32_t *p, uint64_t va, uint32_t payload, uint32_t d)
{
	return push4(p, SUBCH_COMPUTE, 0x1b00, (uint32_t)(va >> 32), (uint32_t)va, payload, d);
}

/* Release with timestamp through the copy class. */
static inline uint32_t *push_copy_release(uint32_t *p, uint64_t va, uint32_t payload)
{
	p = push3(p, SUBCH_COPY, 0x240, (uint32_t)(va >> 32), (uint32_t)va, payload);
	return push1(p, SUBCH_COPY, 0x300, 0x14);
}

#endif
