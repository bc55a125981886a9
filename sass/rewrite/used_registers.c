/* SPDX-License-Identifier: MIT */
/* Finds the registers that functions use, and those that may still be read when a thread ends. */
#include "sass/rewrite/rewrite.h"
#include "sass/sass.h"

bool nvs_insn_registers(const struct nvs_function *fn, uint32_t i, struct nvs_sass_insn_use *use)
{
	struct nvs_sass_insn insn;

	if (!nvs_sass_insn(fn->form, (const uint8_t *)fn->code, (size_t)fn->n * 16, i, &insn))
		return false;
	nvs_sass_insn_use(&insn, fn->form, use);
	return use->known;
}

/* The sources of HGMMA have been read when its results are waited for; instructions that only read
 * constants have no register sources. */
static bool reads_late(nvs_word w, const struct nvs_sass_insn_use *use)
{
	if (!use->late || nvs_word_get(w, 110, 6) != 63) /* the end waits for all barriers */
		return false;
	return nvs_word_opcode(w) != 0x1f0;
}

/* Instructions to which ptxas 13.0 gives a read barrier, in code of CUDA's libraries for sm_75 to
 * sm_90. CCTL, for example, never has one. */
static bool can_set_barrier(unsigned op)
{
	return (op >= 0x100 && op < 0x114 && op != 0x102) || (op >= 0x180 && op <= 0x18e) ||
	       op == 0x03b || op == 0x044 ||
	       (op >= 0x1a2 && op <= 0x1a9 && op != 0x1a4 && op != 0x1a5) || op == 0x1ae;
}

static void count_barriers(nvs_word w, struct nvs_used *u)
{
	unsigned wrote = (unsigned)nvs_word_get(w, 110, 3),
		 read = (unsigned)nvs_word_get(w, 113, 3);

	if (wrote < 6)
		u->sets[wrote]++;
	if (read < 6)
		u->sets[read]++;
}

void nvs_used_add(struct nvs_function *fn, struct nvs_used *u)
{
	for (uint32_t i = 0; i < fn->n; i++) {
		struct nvs_sass_insn_use use;

		if (!(fn->flags[i] & NVS_SEEN))
			continue;
		if (!nvs_insn_registers(fn, i, &use) && !u->unknown) {
			u->unknown = fn;
			u->unknown_at = i * 16;
		}
		count_barriers(fn->code[i], u);
		u->any.uniform |= use.read.uniform | use.written.uniform;
		u->any.predicate |= use.read.predicate | use.written.predicate;
		u->any.uniform_predicate |= use.read.uniform_predicate |
					    use.written.uniform_predicate;
		for (int k = 0; k < 4; k++) {
			u->any.vector[k] |= use.read.vector[k] | use.written.vector[k];
			if (!reads_late(fn->code[i], &use))
				continue;
			u->late[k] |= use.read.vector[k];
			if (!can_set_barrier(nvs_word_opcode(fn->code[i])))
				u->untold[k] |= use.read.vector[k];
		}
	}
}

void nvs_used_set_barriers(struct nvs_function *const *fn, uint32_t n, const struct nvs_used *u)
{
	unsigned barrier = 5;

	for (unsigned k = 5; k-- > 0;)
		if (u->sets[k] < u->sets[barrier])
			barrier = k;
	for (; n; n--, fn++)
		for (uint32_t i = 0; i < (*fn)->n; i++) {
			nvs_word *w = &(*fn)->code[i];
			struct nvs_sass_insn_use use;

			if ((*fn)->flags[i] & NVS_SEEN && nvs_insn_registers(*fn, i, &use) &&
			    reads_late(*w, &use) && can_set_barrier(nvs_word_opcode(*w)))
				*w = nvs_word_put(*w, 113, 3, barrier);
		}
}
