/* SPDX-License-Identifier: MIT */
/* Finds a function's basic blocks: runs of instructions that are entered only at the first and left
 * only after the last. Unreachable code forms blocks too, which are marked. */
#include <errno.h>
#include <elf.h>
#include "sass/elf.h"
#include "sass/blocks.h"

#define LEADS 1u /* a block begins here */
#define SEEN 2u

struct block_search {
	const struct nvs_cubin *cubin;
	const struct nvs_cubin_function *function;
	enum nvs_sass_form form;
	struct nvs_cubin_section info; /* of the kernel; without data if there is none */
	uint8_t *marks;
	uint32_t *todo;
	uint32_t n, ntodo;
	struct nvs_sass_blocks *blocks;
};

static void count_unknown(struct block_search *f, uint32_t at)
{
	if (!f->blocks->unknown++)
		f->blocks->unknown_at = at;
}

static bool is_inside(const struct block_search *f, int64_t at)
{
	return at >= 0 && at % 16 == 0 && at / 16 < f->n;
}

/* Begins a block at the N-th instruction and queues it; each is queued once. */
static void begin_block(struct block_search *f, uint32_t n)
{
	if (!(f->marks[n] & LEADS))
		f->todo[f->ntodo++] = n;
	f->marks[n] |= LEADS;
}

static void begin_block_at(struct block_search *f, int64_t at, uint32_t from)
{
	if (is_inside(f, at))
		begin_block(f, (uint32_t)(at / 16));
	else
		count_unknown(f, from);
}

static void follow_code(struct block_search *f, uint32_t n)
{
	struct nvs_sass_insn insn;
	struct nvs_sass_flow flow;

	for (; n < f->n && !(f->marks[n] & SEEN); n++) {
		f->marks[n] |= SEEN;
		nvs_sass_insn(f->form, f->function->code, f->function->size, n, &insn);
		nvs_sass_insn_flow(&insn, f->form, &flow);
		if (flow.flow == NVS_FLOW_UNKNOWN)
			count_unknown(f, insn.at);
		if (flow.target_known)
			begin_block_at(f, flow.target, insn.at);
		if (!flow.falls)
			return;
		if (flow.ends && n + 1 < f->n)
			begin_block(f, n + 1);
	}
}

/* Reads the target lists of the indirect branches: each has the branch's offset, two unknown words
 * with the number of targets in the second, and the targets. */
static void read_target_lists(struct block_search *f)
{
	struct nvs_cubin_attribute a;
	uint32_t targets;
	size_t at = 0, k;

	while (nvs_cubin_attribute(&f->info, &at, &a)) {
		if (a.code != NVS_ATTR_INDIRECT_BRANCH_TARGETS || a.format != 4)
			continue;
		for (k = 0; a.size - k >= 12;) {
			targets = nvs_elf_u32(a.value + k + 8);
			k += 12;
			for (; targets && a.size - k >= 4; targets--, k += 4)
				begin_block_at(f, nvs_elf_u32(a.value + k), 0);
		}
	}
}

/* Adds functions within this one's code: ptxas puts those that only it calls after it. */
static void find_entries(struct block_search *f)
{
	uint64_t begin = f->function->offset, end = begin + f->function->size;
	struct nvs_cubin_symbol y;

	begin_block(f, 0);
	for (uint32_t i = 0; nvs_cubin_symbol(f->cubin, i, &y); i++)
		if (y.type == STT_FUNC && y.section == f->function->section && y.value >= begin &&
		    y.value < end)
			begin_block_at(f, (int64_t)(y.value - begin), 0);
}

/* A block begins at a branch target, and where reachability changes. */
static bool is_block_start(const struct block_search *f, uint32_t n)
{
	return !n || f->marks[n] & LEADS || !(f->marks[n] & SEEN) != !(f->marks[n - 1] & SEEN);
}

static int write_blocks(struct block_search *f, const struct nvs_sass_memory *memory)
{
	struct nvs_sass_blocks *b = f->blocks;
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n; i++)
		n += is_block_start(f, i);
	b->bytes = n * sizeof(*b->block);
	b->block = memory->get(memory->arg, b->bytes);
	if (!b->block)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n; i++) {
		if (is_block_start(f, i))
			b->block[b->n++].first = i;
		b->block[b->n - 1].last = i;
		b->block[b->n - 1].reached = f->marks[i] & SEEN;
	}
	return 0;
}

int nvs_sass_blocks(const struct nvs_cubin *cubin, const struct nvs_cubin_function *function,
		    const struct nvs_sass_memory *memory, struct nvs_sass_blocks *blocks)
{
	struct block_search f = {.cubin = cubin,
				 .function = function,
				 .form = nvs_sass_form(cubin->arch),
				 .blocks = blocks};
	size_t count = nvs_sass_insn_count(f.form, function->size);
	int r = -ENOMEM;

	*blocks = (struct nvs_sass_blocks){0};
	if (f.form < NVS_SASS_VOLTA || !count || count > UINT32_MAX / 16)
		return -ENOTSUP;
	f.n = blocks->instructions = (uint32_t)count;
	f.marks = memory->get(memory->arg, count);
	f.todo = memory->get(memory->arg, count * sizeof(*f.todo));
	nvs_cubin_section(cubin, function->info, &f.info);
	if (f.marks && f.todo) {
		find_entries(&f);
		if (function->info)
			read_target_lists(&f);
		while (f.ntodo)
			follow_code(&f, f.todo[--f.ntodo]);
		r = write_blocks(&f, memory);
	}
	if (f.marks)
		memory->put(memory->arg, f.marks, count);
	if (f.todo)
		memory->put(memory->arg, f.todo, count * sizeof(*f.todo));
	return r;
}

void nvs_sass_blocks_free(struct nvs_sass_blocks *blocks, const struct nvs_sass_memory *memory)
{
	if (blocks->block)
		memory->put(memory->arg, blocks->block, blocks->bytes);
	*blocks = (struct nvs_sass_blocks){0};
}
