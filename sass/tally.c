/* SPDX-License-Identifier: MIT */
/* Computes statistics of a function's code: stalls, barriers and register reads. */
#include "sass/sass.h"

#define NOP 0x118
#define BANKS 2 /* register banks on Volta and newer, by register number */

/* The three source operands of the previous instruction, and what it left in the reuse cache. */
struct kept_operands {
	uint8_t source[3];
	uint8_t reuse;
};

static void count_sources(const struct nvs_sass_insn *insn, struct kept_operands *kept,
			  struct nvs_sass_tally *t)
{
	uint8_t source[3], read[3];
	unsigned n = 0;

	nvs_sass_insn_sources(insn, source);
	for (unsigned k = 0; k < 3; k++) {
		if (source[k] == NVS_SASS_NONE)
			continue;
		t->sources++;
		if (kept->reuse >> k & 1 && kept->source[k] == source[k]) {
			t->reused++;
			continue;
		}
		read[n++] = source[k];
	}
	if (n == 3 && read[0] != read[1] && read[0] != read[2] && read[1] != read[2]) {
		t->threes++;
		t->conflicts += read[0] % BANKS == read[1] % BANKS &&
				read[0] % BANKS == read[2] % BANKS;
	}
	for (unsigned k = 0; k < 3; k++)
		kept->source[k] = source[k];
	kept->reuse = insn->control.reuse;
}

static void count_control(const struct nvs_sass_control *c, struct nvs_sass_tally *t)
{
	t->stall[c->stall]++;
	t->yields += !c->yield;
	t->waits += c->wait != 0;
	t->sets[0] += c->write_barrier < 6;
	t->sets[1] += c->read_barrier < 6;
	t->barriers |= c->wait;
	if (c->write_barrier < 6)
		t->barriers |= 1u << c->write_barrier;
	if (c->read_barrier < 6)
		t->barriers |= 1u << c->read_barrier;
}

static void count_insn(const struct nvs_sass_insn *insn, enum nvs_sass_form form,
		       struct kept_operands *kept, struct nvs_sass_tally *t)
{
	struct nvs_sass_flow flow;
	struct nvs_sass_insn_use use;
	uint64_t used;

	count_control(&insn->control, t);
	if (form < NVS_SASS_VOLTA)
		return;
	count_sources(insn, kept, t);
	nvs_sass_insn_flow(insn, form, &flow);
	t->branches += flow.flow == NVS_FLOW_INDIRECT ||
		       (flow.flow == NVS_FLOW_BRANCH && flow.falls);
	nvs_sass_insn_use(insn, form, &use);
	t->unknown += !use.known;
	used = use.known ? use.read.uniform | use.written.uniform : 0;
	if (used && 64u - (uint32_t)__builtin_clzll(used) > t->uniform_registers)
		t->uniform_registers = 64u - (uint32_t)__builtin_clzll(used);
	t->uniform += nvs_sass_insn_op(insn) >= 0x080 && nvs_sass_insn_op(insn) < 0x0c0;
}

/* True for the branch to itself and the NOPs with which ptxas pads a function. */
static bool is_padding(const struct nvs_sass_insn *insn, enum nvs_sass_form form)
{
	struct nvs_sass_flow flow;

	if (form < NVS_SASS_VOLTA)
		return false;
	if (nvs_sass_insn_op(insn) == NOP)
		return true;
	nvs_sass_insn_flow(insn, form, &flow);
	return flow.flow == NVS_FLOW_BRANCH && flow.target == insn->at && !flow.falls;
}

size_t nvs_sass_code_count(const uint8_t *code, size_t size, enum nvs_sass_form form)
{
	size_t n = nvs_sass_insn_count(form, size);
	struct nvs_sass_insn insn;

	while (n && nvs_sass_insn(form, code, size, n - 1, &insn) && is_padding(&insn, form))
		n--;
	return n;
}

void nvs_sass_tally(const uint8_t *code, size_t size, enum nvs_sass_form form,
		    struct nvs_sass_tally *t)
{
	size_t n = nvs_sass_code_count(code, size, form);
	struct nvs_sass_insn insn;
	struct kept_operands kept = {{NVS_SASS_NONE, NVS_SASS_NONE, NVS_SASS_NONE}, 0};

	*t = (struct nvs_sass_tally){0};
	for (size_t i = 0; i < n && nvs_sass_insn(form, code, size, i, &insn); i++)
		count_insn(&insn, form, &kept, t);
	t->instructions = n;
}
