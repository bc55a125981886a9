/* SPDX-License-Identifier: MIT */
/*
 * Decodes instruction words and their control fields. Since Volta each instruction has its own
 * control fields in its 128 bits; before, a word of 64 bits controls those after it. Of Kepler's
 * eight bits for each instruction only a part is known: the cycles, if bit 5 is set.
 */
#include "sass/elf.h"

enum nvs_sass_form nvs_sass_form(uint32_t arch)
{
	if (arch >= 30 && arch < 40)
		return NVS_SASS_KEPLER;
	if (arch >= 50 && arch < 70)
		return NVS_SASS_MAXWELL;
	if (arch >= 70 && arch < 90)
		return NVS_SASS_VOLTA;
	if (arch >= 90 && arch < 100)
		return NVS_SASS_HOPPER;
	return arch >= 100 && arch < 130 ? NVS_SASS_BLACKWELL : NVS_SASS_UNKNOWN;
}

/* Number of 64-bit words in a bundle, control word included; 0: each instruction controls itself.
 *  */
static size_t bundle_words(enum nvs_sass_form form)
{
	return form == NVS_SASS_KEPLER ? 8 : form == NVS_SASS_MAXWELL ? 4 : 0;
}

size_t nvs_sass_insn_count(enum nvs_sass_form form, size_t size)
{
	size_t words = size / 8, n = bundle_words(form);

	if (form == NVS_SASS_UNKNOWN)
		return 0;
	if (!n)
		return size / 16;
	return words / n * (n - 1) + (words % n ? words % n - 1 : 0);
}

/* The 21 bits of Maxwell and newer. */
static struct nvs_sass_control control_of(uint32_t bits)
{
	return (struct nvs_sass_control){
		.stall = bits & 15,
		.yield = bits >> 4 & 1,
		.write_barrier = bits >> 5 & 7,
		.read_barrier = bits >> 8 & 7,
		.wait = bits >> 11 & 63,
		.reuse = bits >> 17 & 15,
	};
}

static void read_bundled(enum nvs_sass_form form, const uint8_t *code, size_t n,
			 struct nvs_sass_insn *insn)
{
	size_t each = bundle_words(form), first = n / (each - 1) * each, k = n % (each - 1);
	uint64_t control = nvs_elf_u64(code + first * 8);
	uint8_t bits;

	insn->at = (uint32_t)((first + 1 + k) * 8);
	insn->lo = nvs_elf_u64(code + insn->at);
	insn->opcode = insn->lo >> 52 & 0xfff;
	insn->predicate = form == NVS_SASS_KEPLER ? insn->lo >> 18 & 7 : insn->lo >> 16 & 7;
	insn->negated = form == NVS_SASS_KEPLER ? insn->lo >> 21 & 1 : insn->lo >> 19 & 1;
	if (form == NVS_SASS_MAXWELL) {
		insn->control = control_of(control >> 21 * k & 0x1fffff);
		return;
	}
	bits = control >> (2 + 8 * k) & 0xff;
	insn->control = (struct nvs_sass_control){
		.stall = bits & 0x20 ? bits & 15 : 0,
		.write_barrier = 7,
		.read_barrier = 7,
	};
}

bool nvs_sass_insn(enum nvs_sass_form form, const uint8_t *code, size_t size, size_t n,
		   struct nvs_sass_insn *insn)
{
	if (n >= nvs_sass_insn_count(form, size) || n >= UINT32_MAX / 16)
		return false;
	*insn = (struct nvs_sass_insn){0};
	if (bundle_words(form)) {
		read_bundled(form, code, n, insn);
		return true;
	}
	insn->at = (uint32_t)(16 * n);
	insn->lo = nvs_elf_u64(code + insn->at);
	insn->hi = nvs_elf_u64(code + insn->at + 8);
	insn->opcode = insn->lo & 0xfff;
	insn->predicate = insn->lo >> 12 & 7;
	insn->negated = insn->lo >> 15 & 1;
	insn->control = control_of(insn->hi >> 41 & 0x1fffff);
	return true;
}
