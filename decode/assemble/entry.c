/* SPDX-License-Identifier: MIT */
/* Reads entry lines, and decides which of two entries a header word belongs to. */
#include "decode/assemble/text.h"

#define ENTRY_FLAGS (1ull | 1ull << 41 | 1ull << 63) /* FETCH, LEVEL, SYNC */

static bool read_entry_word(struct nvs_asm *s, const struct nvs_token *t, struct nvs_asm_entry *e,
			    struct nvs_asm_stated *stated)
{
	struct nvs_token next;
	struct nvs_asm_value value;
	uint32_t number;

	if (nvs_token_is(t, "subroutine") || nvs_token_is(t, "sync") ||
	    nvs_token_is(t, "conditional")) {
		e->entry |= *t->p == 'c' ? 1ull : t->p[1] == 'u' ? 1ull << 41 : 1ull << 63;
		return true;
	}
	if (nvs_token_is(t, "address")) {
		next = nvs_asm_next_token(s);
		if (!nvs_asm_value(s, &next, &value))
			return false;
		stated->address = value.v;
		e->entry |= value.v & 0xfffffffffcull;
		return true;
	}
	if (*t->p < '0' || *t->p > '9' || !nvs_asm_read_decimal(s, t, &number))
		return false;
	next = nvs_asm_next_token(s);
	if (!nvs_token_is(&next, "dwords") && !s->bad)
		nvs_asm_error(s, next.column, "'dwords' was expected");
	stated->dwords_given = true;
	stated->dwords = number;
	return !s->bad;
}

/* Words by which --dump marks data missing from the trace; the number of dwords implies them. */
static bool marks_missing_data(const struct nvs_token *t)
{
	static const char *const words[] = {"in", "pieces", "none", "gap", "not", "recorded", "?"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (nvs_token_is(t, words[i]))
			return true;
	return false;
}

/* The rest of a line after "control": "NOP operand 0x0 sync" */
static void read_control(struct nvs_asm *s, struct nvs_asm_entry *e, bool given)
{
	struct nvs_token t = nvs_asm_next_token(s);
	uint32_t opcode = 0, operand = 0;

	e->control = true;
	while (opcode < NVS_GP_OPCODES && !nvs_token_is(&t, nvs_gp_opcode_name(opcode)))
		opcode++;
	if (opcode == NVS_GP_OPCODES && !given) {
		nvs_asm_error(s, t.column,
			      "a control entry is NOP, ILLEGAL, GP_CRC, PB_CRC or "
			      "SET_PB_SEGMENT_EXTENDED_BASE");
		return;
	}
	for (t = nvs_asm_next_token(s); t.n && !s->bad; t = nvs_asm_next_token(s)) {
		if (nvs_token_is(&t, "sync")) {
			e->entry |= 1ull << 63;
		} else if (nvs_token_is(&t, "operand")) {
			t = nvs_asm_next_token(s);
			nvs_asm_read_number(s, &t, UINT32_MAX, &operand);
		} else {
			nvs_asm_error(s, t.column, "operand or sync was expected");
		}
	}
	e->entry |= operand | (opcode < NVS_GP_OPCODES ? (uint64_t)opcode << 32 : 0);
}

void nvs_asm_read_entry(struct nvs_asm *s)
{
	struct nvs_asm_entry e = {0};
	struct nvs_asm_stated stated = {0};
	struct nvs_token t = nvs_asm_next_token(s), first = t;
	uint64_t given = 0, bits;
	bool has_given = nvs_token_hex(&t, 16, &given);

	nvs_asm_close_data(s);
	if (!s->header.counted)
		nvs_asm_close_header(s);
	if (has_given)
		t = nvs_asm_next_token(s);
	if (nvs_token_is(&t, "control")) {
		read_control(s, &e, has_given);
	} else {
		for (; t.n && !s->bad; t = nvs_asm_next_token(s))
			if (!marks_missing_data(&t) && !read_entry_word(s, &t, &e, &stated))
				nvs_asm_error(s, t.column,
					      "write an entry as 'address N' and 'N dwords', with "
					      "subroutine, conditional or sync as needed");
	}
	bits = e.control ? 1ull << 63 | 0xffffffffull : ENTRY_FLAGS;
	/* The address in a dump includes the channel's extended base, the entry does not; so it is
	 * not compared. */
	if (has_given && (given ^ e.entry) & bits)
		nvs_asm_error(s, first.column,
			      "%016llx contradicts what follows; remove one of them",
			      (unsigned long long)given);
	if (has_given)
		e.entry = given;
	if (has_given && !stated.dwords_given)
		stated = (struct nvs_asm_stated){true, given >> 42 & 0x1fffff, stated.address};
	if (!s->bad)
		nvs_asm_entry(s, &e, &stated);
}

void nvs_asm_move_header(struct nvs_asm *s, uint64_t address)
{
	struct nvs_assembly *out = s->out;
	uint32_t last = out->nentries - 1, i = last;
	struct nvs_asm_entry *e = out->entries;

	while (i && e[--i].control)
		;
	if (i == last || e[i].control || e[last].dwords != 1 || !s->stated[i].dwords_given ||
	    e[i].dwords + 1 != s->stated[i].dwords ||
	    address != s->stated[i].address + 4ull * e[i].dwords)
		return;
	e[i].dwords++;
	e[last].dwords = 0;
	while (i++ < last)
		e[i].first++;
}
