/* SPDX-License-Identifier: MIT */
/* Stores of A64: decodes them, and performs the simple ones at another address. */
#include <asm/sigcontext.h>
#include "trap/arch/store.h"
#include "trap/low/poison.h"

#define SP 31u
#define NONE 0xffu

static uint32_t bits(uint32_t word, unsigned at, unsigned n)
{
	return word >> at & ((1u << n) - 1);
}

static int32_t signed_bits(uint32_t word, unsigned at, unsigned n)
{
	return (int32_t)(word << (32 - at - n)) >> (32 - n);
}

/* Returns the bytes of the register that a store instruction with a size and opc field stores, 0
 * if it is not a store. */
static unsigned access_bytes(uint32_t word, bool vector)
{
	unsigned size = bits(word, 30, 2), opc = bits(word, 22, 2);

	if (opc == 0)
		return 1u << size;
	return vector && opc == 2 && !size ? 16 : 0;
}

/* STR with a 12-bit offset; STUR, STTR, post- and pre-indexed; STR with an index register. */
static bool decode_single(struct nvs_insn *i, uint32_t word)
{
	unsigned width = access_bytes(word, i->vector), mode = bits(word, 10, 2);

	if (!width)
		return false;
	i->width = (uint8_t)width;
	if ((word & 0x3b000000) == 0x39000000) {
		i->offset = (int32_t)(bits(word, 10, 12) * width);
		return true;
	}
	if ((word & 0x3b200000) == 0x38000000) {
		if (mode == 2 && i->vector)
			return false;
		i->change = signed_bits(word, 12, 9);
		i->writeback = mode & 1;
		i->offset = mode == 1 ? 0 : i->change;
		return true;
	}
	if ((word & 0x3b200c00) != 0x38200800 || !(bits(word, 13, 3) & 2))
		return false;
	i->index = (uint8_t)bits(word, 16, 5);
	i->option = (uint8_t)bits(word, 13, 3);
	i->shift = bits(word, 12, 1) ? (uint8_t)__builtin_ctz(width) : 0;
	return true;
}

/* STP and STNP. */
static bool decode_pair(struct nvs_insn *i, uint32_t word)
{
	unsigned size = bits(word, 30, 2), mode = bits(word, 23, 3);

	if ((word & 0x3a400000) != 0x28000000 || mode > 3 || size == 3 || (!i->vector && size == 1))
		return false;
	i->pair = true;
	i->second = (uint8_t)bits(word, 10, 5);
	i->width = (uint8_t)(i->vector ? 4u << size : size ? 8 : 4);
	i->change = signed_bits(word, 15, 7) * i->width;
	i->writeback = mode & 1;
	i->offset = mode == 1 ? 0 : i->change;
	return true;
}

/* STLR and STLLR, and STLUR of RCpc. */
static bool decode_release(struct nvs_insn *i, uint32_t word)
{
	i->width = (uint8_t)(1u << bits(word, 30, 2));
	i->release = true;
	if ((word & 0x3fff7c00) == 0x089f7c00)
		return true;
	i->offset = signed_bits(word, 12, 9);
	return (word & 0x3fe00c00) == 0x19000000;
}

/* LD<op>, ST<op>, SWP, CAS and ST1 to ST4. */
static bool decode_other(struct nvs_insn *i, uint32_t word)
{
	unsigned operation = bits(word, 12, 4);

	if ((word & 0x3f200c00) == 0x38200000 && operation <= 8) {
		i->form = operation == 8 ? NVS_A64_SWAP : NVS_A64_COPIED;
		i->width = (uint8_t)(1u << bits(word, 30, 2));
		i->release = true;
		if (operation == 8) {
			i->old = i->source;
			i->source = (uint8_t)bits(word, 16, 5);
		}
		return true;
	}
	/* CAS, not its pairs */
	if ((word & 0x3fa07c00) == 0x08a07c00) {
		i->form = NVS_A64_COPIED;
		i->width = (uint8_t)(1u << bits(word, 30, 2));
		return true;
	}
	/* all registers, or one element of them */
	if ((word & 0xbfff0000) == 0x0c000000 || (word & 0xbfe00000) == 0x0c800000 ||
	    (word & 0xbfdf0000) == 0x0d000000 || (word & 0xbfc00000) == 0x0d800000) {
		i->form = NVS_A64_COPIED;
		return true;
	}
	return false;
}

int nvs_insn_decode(struct nvs_insn *insn, const uint8_t *bytes, size_t size)
{
	uint32_t word;

	if (size < 4)
		return 0;
	__builtin_memcpy(&word, bytes, 4);
	*insn = (struct nvs_insn){
		.length = 4,
		.word = word,
		.base = (uint8_t)bits(word, 5, 5),
		.source = (uint8_t)bits(word, 0, 5),
		.index = 31,
		.vector = bits(word, 26, 1),
		.form = NVS_A64_SIMPLE,
	};
	if (decode_single(insn, word) || decode_pair(insn, word))
		return 4;
	insn->vector = false;
	insn->offset = 0;
	if (decode_release(insn, word))
		return 4;
	insn->release = false;
	insn->offset = 0;
	insn->width = 0;
	if (!decode_other(insn, word))
		insn->form = NVS_A64_OTHER;
	return 4;
}

/* ---- operands ---- */

static uint64_t base_of(const mcontext_t *m, unsigned reg)
{
	return reg == SP ? m->sp : m->regs[reg];
}

static uint64_t value_of(const mcontext_t *m, unsigned reg)
{
	return reg == 31 ? 0 : m->regs[reg];
}

static uint64_t index_of(const struct nvs_insn *insn, const mcontext_t *m)
{
	uint64_t x = insn->option ? value_of(m, insn->index) : 0;

	if (insn->option == 2) /* UXTW */
		x = (uint32_t)x;
	else if (insn->option == 6) /* SXTW */
		x = (uint64_t)(int64_t)(int32_t)x;
	return x << insn->shift;
}

bool nvs_insn_address(const struct nvs_insn *insn, const mcontext_t *m, uint64_t *address)
{
	if (insn->form == NVS_A64_OTHER)
		return false;
	*address = base_of(m, insn->base) + (uint64_t)(int64_t)insn->offset + index_of(insn, m);
	*address &= NVS_ADDRESS_BITS;
	return true;
}

/* The vector registers as the signal saved them. NULL: they were not saved. */
static const struct fpsimd_context *vectors_of(const mcontext_t *m)
{
	const uint8_t *at = m->__reserved, *end = at + sizeof(m->__reserved);

	while (at + sizeof(struct _aarch64_ctx) <= end) {
		const struct _aarch64_ctx *c = (const void *)at;

		if (c->magic == FPSIMD_MAGIC)
			return (const void *)at;
		if (!c->magic || !c->size)
			break;
		at += c->size;
	}
	return NULL;
}

static bool get_value(struct nvs_store *store, const struct nvs_insn *insn, const mcontext_t *m)
{
	const struct fpsimd_context *v = insn->vector ? vectors_of(m) : NULL;
	uint8_t regs[2] = {insn->source, insn->second};

	if (insn->vector && !v)
		return false;
	store->width = (uint8_t)(insn->width << insn->pair);
	for (unsigned k = 0; k <= insn->pair; k++) {
		uint8_t *to = (uint8_t *)store->value + k * insn->width;
		uint64_t x = insn->vector ? 0 : value_of(m, regs[k]);

		if (insn->vector)
			__builtin_memcpy(to, &v->vregs[regs[k]], insn->width);
		else
			__builtin_memcpy(to, &x, insn->width);
	}
	return true;
}

bool nvs_store_decode(struct nvs_store *store, const struct nvs_insn *insn, const mcontext_t *m)
{
	if (insn->form != NVS_A64_SIMPLE && insn->form != NVS_A64_SWAP)
		return false;
	*store = (struct nvs_store){.base = NONE, .old = NONE, .release = insn->release};
	if (insn->form == NVS_A64_SWAP)
		store->old = insn->old;
	if (insn->writeback) {
		store->base = insn->base;
		store->base_value = base_of(m, insn->base) + (uint64_t)(int64_t)insn->change;
	}
	return get_value(store, insn, m) && nvs_insn_address(insn, m, &store->address);
}

/* ---- performing ---- */

static uint64_t exchange_at(uintptr_t alias, uint64_t value, unsigned width)
{
	switch (width) {
	case 1:
		return __atomic_exchange_n((uint8_t *)alias, value, __ATOMIC_SEQ_CST);
	case 2:
		return __atomic_exchange_n((uint16_t *)alias, value, __ATOMIC_SEQ_CST);
	case 4:
		return __atomic_exchange_n((uint32_t *)alias, value, __ATOMIC_SEQ_CST);
	default:
		return __atomic_exchange_n((uint64_t *)alias, value, __ATOMIC_SEQ_CST);
	}
}

/* Written in assembly, since a compiler may split or merge what it knows to be plain stores. */
static void write_once(uintptr_t alias, const uint64_t *value, unsigned width)
{
	switch (width) {
	case 1:
		__asm__ volatile("strb %w0, [%1]" : : "r"(value[0]), "r"(alias) : "memory");
		break;
	case 2:
		__asm__ volatile("strh %w0, [%1]" : : "r"(value[0]), "r"(alias) : "memory");
		break;
	case 4:
		__asm__ volatile("str %w0, [%1]" : : "r"(value[0]), "r"(alias) : "memory");
		break;
	case 8:
		__asm__ volatile("str %0, [%1]" : : "r"(value[0]), "r"(alias) : "memory");
		break;
	default:
		for (unsigned k = 0; k < width / 8; k += 2)
			__asm__ volatile("stp %0, %1, [%2]"
					 :
					 : "r"(value[k]), "r"(value[k + 1]), "r"(alias + k * 8)
					 : "memory");
	}
}

void nvs_store_emulate(const struct nvs_store *store, uintptr_t alias, mcontext_t *m)
{
	if (store->old != NONE) {
		uint64_t old = exchange_at(alias, store->value[0], store->width);

		if (store->old != 31)
			m->regs[store->old] = old;
	} else {
		if (store->release)
			__atomic_thread_fence(__ATOMIC_RELEASE);
		write_once(alias, store->value, store->width);
	}
	if (store->base == SP)
		m->sp = store->base_value;
	else if (store->base != NONE)
		m->regs[store->base] = store->base_value;
	m->pc += 4;
}
