/* SPDX-License-Identifier: MIT */
/* Makes pushbuffers and launch descriptors for tests, with its own constants: those that a Hopper
 * channel takes, from real command streams. */
#ifndef NVSNOOP_TESTS_PBMAKE_H
#define NVSNOOP_TESTS_PBMAKE_H

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

struct pb {
	uint32_t words[16384];
	uint32_t n;
};

static inline void pb_word(struct pb *p, uint32_t word)
{
	if (p->n < 16384)
		p->words[p->n++] = word;
}

/* An incrementing header and its N data words. */
static inline void pb_inc(struct pb *p, uint32_t subch, uint32_t method, uint32_t n, ...)
{
	va_list ap;

	pb_word(p, 1u << 29 | n << 16 | subch << 13 | method >> 2);
	va_start(ap, n);
	for (uint32_t i = 0; i < n; i++)
		pb_word(p, va_arg(ap, uint32_t));
	va_end(ap);
}

static inline void pb_non_inc(struct pb *p, uint32_t subch, uint32_t method, uint32_t n,
			      const uint32_t *data)
{
	pb_word(p, 3u << 29 | n << 16 | subch << 13 | method >> 2);
	for (uint32_t i = 0; i < n; i++)
		pb_word(p, data[i]);
}

/* Compute class: an inline upload of BYTES. */
static inline void pb_upload(struct pb *p, uint64_t dst, const void *data, uint32_t bytes)
{
	uint32_t words[1024] = {0};

	memcpy(words, data, bytes);
	pb_inc(p, 1, 0x188, 2, (uint32_t)(dst >> 32), (uint32_t)dst);
	pb_inc(p, 1, 0x180, 2, bytes, 1u);
	pb_inc(p, 1, 0x1b0, 1, 0x41u);
	pb_non_inc(p, 1, 0x1b4, (bytes + 3) / 4, words);
}

static inline void pb_trigger(struct pb *p, uint64_t qmd, uint32_t action)
{
	pb_inc(p, 1, 0x2b4, 1, (uint32_t)(qmd >> 8));
	pb_inc(p, 1, 0x2c0, 1, action);
}

/* Compute class: SET_REPORT_SEMAPHORE_A..D. */
static inline void pb_report(struct pb *p, uint64_t address, uint32_t payload, uint32_t d)
{
	pb_inc(p, 1, 0x1b00, 4, (uint32_t)(address >> 32), (uint32_t)address, payload, d);
}

/* Copy class: source, destination, length, LAUNCH_DMA. */
static inline void pb_copy(struct pb *p, uint64_t src, uint64_t dst, uint32_t bytes,
			   uint32_t launch)
{
	pb_inc(p, 4, 0x400, 4, (uint32_t)(src >> 32), (uint32_t)src, (uint32_t)(dst >> 32),
	       (uint32_t)dst);
	pb_inc(p, 4, 0x418, 1, bytes);
	pb_inc(p, 4, 0x300, 1, launch);
}

static inline void pb_copy_release(struct pb *p, uint64_t address, uint32_t payload)
{
	pb_inc(p, 4, 0x240, 3, (uint32_t)(address >> 32), (uint32_t)address, payload);
	pb_inc(p, 4, 0x300, 1, 0x14u);
}

/* Host: SEM_ADDR_LO .. SEM_EXECUTE. */
static inline void pb_host_sem(struct pb *p, uint64_t address, uint64_t payload, uint32_t execute)
{
	pb_inc(p, 0, 0x5c, 5, (uint32_t)address, (uint32_t)(address >> 32), (uint32_t)payload,
	       (uint32_t)(payload >> 32), execute);
}

/* ---- descriptors of version 4.0 ---- */

static inline void qmd_set(uint32_t *q, uint32_t hi, uint32_t lo, uint64_t value)
{
	for (uint32_t bit = lo; bit <= hi; bit++) {
		q[bit / 32] &= ~(1u << bit % 32);
		q[bit / 32] |= (uint32_t)(value >> (bit - lo) & 1) << bit % 32;
	}
}

struct qmd_spec {
	uint32_t type; /* 2: GRID_CTA */
	uint32_t grid[3], block[3];
	uint64_t program;
	uint32_t dependence;
	int require, self_copy;
	uint64_t dependent;
	uint32_t action;
	uint64_t release;
	uint32_t payload;
	int add; /* RED_ADD */
	uint64_t bank;
	uint32_t bank_bytes;
	uint32_t shared;
};

static inline void qmd_make(uint32_t *q, const struct qmd_spec *s)
{
	memset(q, 0, 384);
	qmd_set(q, 583, 576, 0x40);
	qmd_set(q, 25, 23, s->type);
	qmd_set(q, 15, 0, s->dependence);
	qmd_set(q, 30, 30, (uint64_t)s->require);
	qmd_set(q, 378, 378, (uint64_t)s->self_copy);
	qmd_set(q, 1055, 1024, s->grid[0]);
	qmd_set(q, 1071, 1056, s->grid[1]);
	qmd_set(q, 1103, 1088, s->grid[2]);
	for (uint32_t i = 0; i < 3; i++)
		qmd_set(q, 1167 + 16 * i, 1152 + 16 * i, s->block[i] ? s->block[i] : 1);
	qmd_set(q, 1247, 1216, s->program);
	qmd_set(q, 1272, 1248, s->program >> 32);
	qmd_set(q, 1208, 1200, 32);
	qmd_set(q, 601, 584, s->shared);
	if (s->dependent) {
		qmd_set(q, 368, 368, 1);
		qmd_set(q, 371, 369, s->action);
		qmd_set(q, 479, 448, s->dependent >> 8);
	}
	if (s->release) {
		qmd_set(q, 320, 320, 1);
		qmd_set(q, 322, 321, 1);
		qmd_set(q, 324, 324, (uint64_t)s->add);
		qmd_set(q, 671, 640, s->release);
		qmd_set(q, 696, 672, s->release >> 32);
		qmd_set(q, 735, 704, s->payload);
	}
	if (s->bank) {
		qmd_set(q, 416, 416, 1);
		qmd_set(q, 1567, 1536, s->bank >> 6);
		qmd_set(q, 1586, 1568, s->bank >> 38);
		qmd_set(q, 1599, 1587, s->bank_bytes >> 4);
	}
}

#endif
