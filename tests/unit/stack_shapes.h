/* SPDX-License-Identifier: MIT */
/* Functions with every kind of frame that compilers make, each calling the next in a chain. The
 * last one is a "store", an instruction that traps. */
#ifndef NVSNOOP_TEST_STACK_SHAPES_H
#define NVSNOOP_TEST_STACK_SHAPES_H

#include <alloca.h>
#include <stdint.h>
#include <string.h>
#include "shapes_arch.h"

struct step;
struct chain {
	const struct step *at;
	volatile uint32_t returns;
};
typedef void (*step_fn)(struct chain *);
struct step {
	step_fn fn;
	uint32_t size;
};

#define KEEP(p) asm volatile("" ::"r"(p) : "memory")
#define SHAPE __attribute__((noinline, noclone)) static
#ifdef __clang__
#undef SHAPE
#define SHAPE __attribute__((noinline)) static
#endif

static inline void call_next(struct chain *c)
{
	const struct step *s = c->at++;

	s->fn(c);
	c->returns++;
}

SHAPE void shape_small(struct chain *c)
{
	call_next(c);
}

SHAPE void shape_middle(struct chain *c)
{
	uint8_t room[72];

	KEEP(room);
	call_next(c);
	KEEP(room);
}

SHAPE void shape_large(struct chain *c)
{
	uint8_t room[1048];

	KEEP(room);
	call_next(c);
	KEEP(room);
}

/* Saves callee-saved registers, on x86-64 RBP among them, and uses them for something else. */
SHAPE void shape_registers(struct chain *c)
{
	uint64_t a = c->returns, b = a * 3, d = a * 5, e = a * 7, f = a * 11, g = a * 13;

	asm volatile("" : "+r"(a), "+r"(b), "+r"(d), "+r"(e), "+r"(f));
	call_next(c);
	asm volatile("" : "+r"(a), "+r"(b), "+r"(d), "+r"(e), "+r"(f), "+r"(g));
	c->returns += (uint32_t)(a + b + d + e + f + g) & 1;
}

SHAPE void shape_framed(struct chain *c)
{
	KEEP(__builtin_frame_address(0));
	call_next(c);
}

/* Leaves in its room what lies further up: old and living return addresses and frame pointers. */
SHAPE void shape_stale(struct chain *c)
{
	uint32_t size = c->at[-1].size;
	uint8_t *room = alloca(size), *up = (uint8_t *)__builtin_frame_address(0);

	memcpy(room, up + size % 64 / 8 * 8, size);
	KEEP(room);
	call_next(c);
	KEEP(room);
}

SHAPE void shape_untouched(struct chain *c)
{
	uint8_t *room = alloca(c->at[-1].size);

	KEEP(room);
	call_next(c);
	KEEP(room);
}

SHAPE void shape_aligned(struct chain *c)
{
	uint8_t room[128] __attribute__((aligned(64)));

	KEEP(room);
	call_next(c);
	KEEP(room);
}

SHAPE void shape_aligned_varying(struct chain *c)
{
	uint8_t room[64] __attribute__((aligned(64))), *more = alloca(c->at[-1].size);

	KEEP(room);
	KEEP(more);
	call_next(c);
	KEEP(room);
	KEEP(more);
}

SHAPE void store_leaf(struct chain *c)
{
	STORE();
}

SHAPE void store_room(struct chain *c)
{
	uint8_t room[200];

	KEEP(room);
	STORE();
	KEEP(room);
}

SHAPE void store_varying(struct chain *c)
{
	uint8_t *room = alloca(c->at[-1].size);

	KEEP(room);
	STORE();
	KEEP(room);
}

static const step_fn shapes[] = {shape_small,	  shape_middle,	 shape_large,
				 shape_registers, shape_framed,	 shape_stale,
				 shape_untouched, shape_aligned, shape_aligned_varying};
static const step_fn stores[] = {store_leaf, store_room, store_varying, store_no_fp};
#define NSHAPES (sizeof(shapes) / sizeof(*shapes))
#define NSTORES (sizeof(stores) / sizeof(*stores))

SHAPE void run(const struct step *steps)
{
	struct chain c = {.at = steps};

	call_next(&c);
}

#endif
