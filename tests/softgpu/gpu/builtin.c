/* SPDX-License-Identifier: MIT */
/* Executes the programs of builtin.h. */
#include <stdio.h>
#include <string.h>
#include "builtin.h"
#include "gpu.h"
#include "tests/sass/interp.h"

#define BLOCK 16384

static bool copy(struct sg_channel *ch, uint64_t to, uint64_t from, uint64_t n)
{
	uint8_t block[BLOCK];

	while (n) {
		uint64_t part = n < BLOCK ? n : BLOCK;

		if (!sg_read(ch, from, block, part) || !sg_write(ch, to, block, part))
			return false;
		to += part;
		from += part;
		n -= part;
	}
	return true;
}

static bool fill(struct sg_channel *ch, uint64_t to, uint64_t value, uint64_t n, uint64_t size)
{
	uint8_t block[BLOCK];

	if (size != 1 && size != 2 && size != 4 && size != 8)
		return false;
	for (uint32_t i = 0; i < BLOCK; i += size)
		memcpy(block + i, &value, size);
	while (n) {
		uint64_t part = n < BLOCK ? n : BLOCK;

		if (!sg_write(ch, to, block, part))
			return false;
		to += part;
		n -= part;
	}
	return true;
}

/* Pages that are not adjacent in the process are not returned as one range. */
static void *reach(void *arg, uint64_t at, size_t size)
{
	struct sg_channel *ch = arg;
	uint64_t left;
	uint8_t *p = sg_vaspace_find(ch->vaspace, at, &left);

	return p && left >= size ? p : NULL;
}

static void interpret(struct sg_channel *ch, const uint32_t *qmd, const struct sg_sass *sass,
		      uint64_t bank)
{
	uint8_t params[4096];
	struct interp_launch launch = {
		.cubin = (const void *)sass->cubin,
		.size = sass->bytes,
		.kernel = (const char *)sass->kernel,
		.grid = {qmd[32], qmd[33], qmd[34]},
		.block = {qmd[36] & 0xffff, qmd[36] >> 16, qmd[37] & 0xffff},
		.shared = 4096, /* a graph's descriptor does not contain the amount */
		.params = params,
		.params_size = sass->params_bytes,
		.reach = reach,
		.arg = ch,
	};
	struct interp_counts counts = {0};
	char why[400];

	if (sass->params_bytes > sizeof(params) ||
	    !sg_read(ch, bank + SG_PROGRAM_PARAMS, params, sass->params_bytes))
		return;
	if (!interp_run(&launch, &counts, why, sizeof(why)))
		return;
	fprintf(stderr, "softgpu: %s\n", why);
	sg_fault(ch, 0);
}

#define CODE_MOST (256u << 10)
#define BANKS 8

/* A program that is no builtin one: machine code, as a real driver puts it into memory. What is
 * behind the code is read too, and never executed. */
static void interpret_memory(struct sg_channel *ch, const uint32_t *qmd, uint64_t code)
{
	struct interp_launch launch = {
		.kernel = "a program in memory",
		.arch = 90,
		.grid = {qmd[32], qmd[33], qmd[34]},
		.block = {qmd[36] & 0xffff, qmd[36] >> 16, qmd[37] & 0xffff},
		.shared = qmd[18] >> 8 & 0x3ffff,
		.reach = reach,
		.arg = ch,
	};
	struct interp_counts counts = {0};
	uint64_t left;
	char why[400];

	launch.code = sg_vaspace_find(ch->vaspace, code, &left);
	launch.code_size = left < CODE_MOST ? left : CODE_MOST;
	for (uint32_t i = 0; i < BANKS; i++) {
		uint64_t bank = (qmd[48 + 2 * i] | (uint64_t)(qmd[49 + 2 * i] & 0x7ffff) << 32)
				<< 6;
		uint64_t size = (qmd[49 + 2 * i] >> 19 & 0x1fff) << 4;

		launch.bank[i].at = bank && size ? sg_vaspace_find(ch->vaspace, bank, &left) : NULL;
		launch.bank[i].size = size < left ? size : left;
	}
	if (!interp_run(&launch, &counts, why, sizeof(why)))
		return;
	fprintf(stderr, "softgpu: %s\n", why);
	sg_fault(ch, code);
}

static uint64_t code_of(const uint32_t *qmd)
{
	return qmd[38] | (uint64_t)(qmd[39] & 0x1ffffff) << 32;
}

static uint64_t bank_of(const uint32_t *qmd)
{
	return (qmd[48] | (uint64_t)(qmd[49] & 0x7ffff) << 32) << 6;
}

bool sg_program_spins(struct sg_channel *ch, const uint32_t *qmd)
{
	uint64_t code = code_of(qmd), left, p[3];
	struct sg_program head;
	uint32_t v;

	if (!sg_vaspace_find(ch->vaspace, code, &left) || left < sizeof(head) ||
	    !sg_read(ch, code, &head, sizeof(head)) || head.magic != SG_PROGRAM_MAGIC ||
	    (head.op != SG_PROGRAM_SPIN && head.op != SG_PROGRAM_FAULT) ||
	    !sg_read(ch, bank_of(qmd) + SG_PROGRAM_PARAMS, p, sizeof(p)))
		return false;
	if (head.op == SG_PROGRAM_FAULT)
		return p[2] && sg_read(ch, p[2], &v, 4) && !v;
	return sg_read(ch, p[0], &v, 4) && v < (uint32_t)p[1];
}

/* ---- faults ---- */

#define SMS 132
#define FIRST_SM 124 /* the SM of the first block */

static const struct {
	uint32_t number, global, warp;
	bool has_pc;
	uint64_t address;
} faults[SG_FAULT_KINDS] = {
	[SG_FAULT_MISALIGNED] = {13, 0, 0x0500000f, true, 0},
	[SG_FAULT_TRAP] = {43, 0x20, 0, false, 0},
	[SG_FAULT_INSTRUCTION] = {43, 0x20, 0x00000009, true, 0},
	[SG_FAULT_STACK] = {43, 0x24, 0x0300000e, true, 0xfff790},
	[SG_FAULT_SHARED] = {43, 0x20, 0x0000000b, true, 0x1000400},
};

/* An error of a kernel takes effect at the end of the segment: the host goes on while it runs. */
static void fault(struct sg_channel *ch, const uint32_t *qmd, uint64_t kind, uint64_t at)
{
	uint64_t blocks = (uint64_t)qmd[32] * qmd[33] * qmd[34], left;
	uint32_t one = 1;

	if (kind == SG_FAULT_STORE && !sg_vaspace_find(ch->vaspace, at, &left)) {
		ch->gpu->errors = (struct sg_errors){.mmu = SG_MMU_INFO};
		ch->due = SG_MMU_FAULT;
	} else if (kind == SG_FAULT_STORE) {
		sg_write(ch, at, &one, 4);
	} else if (kind == SG_FAULT_ASSERT && ch->notifier) {
		((volatile uint32_t *)ch->notifier->map)[SG_ASSERTED] = 1;
	}
	if (kind >= SG_FAULT_KINDS || !faults[kind].number)
		return;
	ch->gpu->errors = (struct sg_errors){
		.first = FIRST_SM,
		.n = blocks < SMS ? (uint32_t)blocks : SMS,
		.global = faults[kind].global,
		.warp = faults[kind].warp,
		.address = kind == SG_FAULT_MISALIGNED ? at : faults[kind].address,
		.pc = faults[kind].has_pc ? code_of(qmd) + SG_FAULT_PC : 0,
	};
	ch->due = faults[kind].number;
}

void sg_run_program(struct sg_channel *ch, const uint32_t *qmd)
{
	uint64_t code = code_of(qmd), bank = bank_of(qmd);
	uint64_t left, p[6];
	struct sg_program head;
	struct sg_sass sass;

	/* Missing code is the driver's error. The code of the stand-in driver's modules is none. */
	if (!sg_vaspace_find(ch->vaspace, code, &left) || left < sizeof(head) ||
	    !sg_read(ch, code, &head, sizeof(head))) {
		sg_fault(ch, code);
		return;
	}
	if (head.magic != SG_PROGRAM_MAGIC) {
		if (sg_options.machine)
			interpret_memory(ch, qmd, code);
		return;
	}
	if (!sg_read(ch, bank + SG_PROGRAM_PARAMS, p, sizeof(p)))
		return;
	switch (head.op) {
	case SG_PROGRAM_SASS:
		if (sg_read(ch, code + sizeof(head), &sass, sizeof(sass)))
			interpret(ch, qmd, &sass, bank);
		break;
	case SG_PROGRAM_COPY:
		copy(ch, p[0], p[1], p[2]);
		break;
	case SG_PROGRAM_COPY_2D:
		for (uint64_t y = 0; y < p[3]; y++)
			if (!copy(ch, p[0] + y * p[4], p[1] + y * p[5], p[2]))
				return;
		break;
	case SG_PROGRAM_FILL:
		fill(ch, p[0], p[1], p[2], p[3]);
		break;
	case SG_PROGRAM_FILL_2D:
		for (uint64_t y = 0; y < p[4]; y++)
			if (!fill(ch, p[0] + y * p[3], p[1], p[2], p[5]))
				return;
		break;
	case SG_PROGRAM_FAULT:
		fault(ch, qmd, p[0], p[1]);
		break;
	case SG_PROGRAM_STORE:
	case SG_PROGRAM_ADD: {
		uint32_t v = 0;

		if (head.op == SG_PROGRAM_ADD && !sg_read(ch, p[0], &v, 4))
			return;
		v += (uint32_t)p[1];
		sg_write(ch, p[0], &v, 4);
		break;
	}
	}
}
