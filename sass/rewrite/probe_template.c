/* SPDX-License-Identifier: MIT */
/* Our own instructions, extracted from the driver's assembly of ptx.c. */
#include "sass/rewrite/ptx.h"
#include "sass/rewrite/rewrite.h"
#include "sass/sass.h"

static size_t append_text(char *out, size_t size, size_t at, const char *text)
{
	size_t n = strlen(text);

	if (at + n + 1 > size)
		return size;
	memcpy(out + at, text, n + 1);
	return at + n;
}

size_t nvs_count_ptx(uint32_t arch, char *out, size_t size)
{
	/* elect.sync came with PTX 8.0; older drivers do not support sm_90. */
	const char *head = arch >= 90	? ".version 8.0\n.target sm_90\n.address_size 64\n"
			   : arch >= 80 ? ".version 7.0\n.target sm_80\n.address_size 64\n"
					: ".version 6.4\n.target sm_75\n.address_size 64\n";
	size_t at;

	if (arch < 75 || arch > 90 || !size)
		return 0;
	at = append_text(out, size, 0, head);
	at = append_text(out, size, at, nvs_ptx_all);
	at = append_text(out, size, at, arch >= 80 ? nvs_ptx_move_80 : nvs_ptx_move_75);
	at = append_text(out, size, at, arch >= 90 ? nvs_ptx_elect_90 : nvs_ptx_elect_75);
	return at == size ? 0 : at + 1;
}

/* Wanted instructions: the opcode with its form, and bits that distinguish it from similar ones. */
static const struct {
	const char *name;
	uint16_t opcode;
	uint8_t word;
	uint8_t since; /* architecture */
	struct {
		uint8_t at, n, value;
	} is[3];
} wanted[] = {
	{"NOP", 0x918, NVS_W_NOP, 0, {{0}}},
	{"EXIT", 0x94d, NVS_W_EXIT, 0, {{0}}},
	/* VIADD does not use the pipe of a kernel's own IADD3: an integer loop took 1.48 times as
	 * long with another IADD3, 1.31 times with VIADD. */
	{"VIADD", 0x836, NVS_W_ADD, 0, {{0}}},
	{"IADD3", 0x810, NVS_W_ADD, 0, {{64, 8, NVS_RZ}, {81, 3, 7}}},
	{"UIADD3", 0x890, NVS_W_UADD, 0, {{64, 8, NVS_URZ}, {81, 3, 7}}},
	{"IMAD.MOV.U32", 0x424, NVS_W_MOV, 0, {{24, 8, NVS_RZ}, {64, 8, NVS_RZ}}},
	{"MOV", 0xc02, NVS_W_MOVU, 0, {{0}}},
	{"UMOV", 0xc82, NVS_W_UMOV, 0, {{0}}},
	{"LOP3.LUT", 0x812, NVS_W_AND, 0, {{72, 8, 0xc0}, {81, 3, 7}}},
	{"LOP3.LUT", 0xc12, NVS_W_TESTU, 0, {{72, 8, 0xc0}, {16, 8, NVS_RZ}}},
	{"SHF.R.U32.HI", 0x819, NVS_W_SHR, 0, {{24, 8, NVS_RZ}, {72, 8, 0x16}}},
	{"S2R", 0x919, NVS_W_S2R, 0, {{0}}},
	{"IMAD.WIDE.U32", 0x825, NVS_W_WIDE, 0, {{73, 1, 0}}},
	{"UIMAD.WIDE.U32", 0x8a5, NVS_W_UWIDE, 0, {{73, 1, 0}}},
	{"REDUX.SUM", 0x3c4, NVS_W_REDUX, 80, {{0}}},
	{"ELECT", 0x82f, NVS_W_ELECT, 90, {{0}}},
	{"R2UR", 0x2ca, NVS_W_R2UR, 90, {{0}}},
	{"RED.E.ADD.64", 0x98e, NVS_W_RED, 0, {{73, 3, 2}}},
	{"VOTEU.ANY", 0x886, NVS_W_VOTEU, 0, {{87, 4, NVS_ALWAYS}}},
	{"UPOPC", 0x2bf, NVS_W_UPOPC, 0, {{0}}},
};

static bool matches_row(nvs_word w, unsigned i)
{
	if (((unsigned)w & 0xfff) != wanted[i].opcode)
		return false;
	for (unsigned k = 0; k < 3; k++)
		if (wanted[i].is[k].n &&
		    nvs_word_get(w, wanted[i].is[k].at, wanted[i].is[k].n) != wanted[i].is[k].value)
			return false;
	return true;
}

static void store_word(struct nvs_count_words *words, unsigned i, nvs_word w)
{
	if (nvs_word_is_known(words, i))
		return;
	w = nvs_word_with_guard(w, NVS_ALWAYS);
	if (i == NVS_W_R2UR) /* the form that writes no predicate */
		w = nvs_word_put(w, 81, 10, 7);
	words->word[i][0] = (uint64_t)w;
	words->word[i][1] = (uint64_t)(w >> 64);
}

/* Finds the descriptor of the 64-bit RED at N: loaded from bank 0 by the last ULDC.64 into its
 * register. */
static void find_descriptor(struct nvs_count_words *words, const nvs_word *code, size_t n)
{
	unsigned ur = (unsigned)nvs_word_get(code[n], 64, 6);

	for (size_t k = n; k-- > 0;)
		if (((unsigned)code[k] & 0xfff) == 0xab9 && nvs_word_get(code[k], 16, 8) == ur &&
		    nvs_word_get(code[k], 73, 3) == 5) {
			store_word(words, NVS_W_DESCRIPTOR, code[k]);
			words->descriptor = (uint32_t)nvs_word_get(code[k], 38, 16);
			return;
		}
}

#define LONGEST 512u /* maximum number of instructions of one function */

static size_t read_code(const struct nvs_cubin_section *s, nvs_word *code)
{
	size_t n = s->size / 16 < LONGEST ? s->size / 16 : LONGEST;

	if (!s->data || strncmp(s->name, ".text.", 6) != 0)
		return 0;
	memcpy(code, s->data, n * 16);
	return n;
}

/* A branch to itself follows each function: the encoding of its offset -16 shows the format. */
static void extract_branch(struct nvs_count_words *words, nvs_word w)
{
	uint64_t low = nvs_word_get(w, 16, 8), high = nvs_word_get(w, 34, 30);

	if (((unsigned)w & 0xfff) != 0x947 || nvs_word_is_known(words, NVS_W_BRA))
		return;
	words->split = high == 0x3fffffff && low == 0xfc;
	if (words->split || (high == 0x3ffffffc && !low))
		store_word(words, NVS_W_BRA, w);
}

/* Takes the first instruction that matches row I. */
static void extract_word(struct nvs_count_words *words, const nvs_word *code, size_t n, unsigned i)
{
	for (size_t k = 0; k < n && !nvs_word_is_known(words, wanted[i].word); k++) {
		if (!matches_row(code[k], i))
			continue;
		if (wanted[i].word == NVS_W_RED && words->arch >= 80)
			find_descriptor(words, code, k);
		store_word(words, wanted[i].word, code[k]);
	}
}

int nvs_count_words(const void *cubin, size_t size, struct nvs_count_words *words,
		    const char **missing)
{
	struct nvs_cubin c;
	struct nvs_cubin_section s;
	nvs_word code[LONGEST];
	int err;

	memset(words, 0, sizeof(*words));
	*missing = NULL;
	err = nvs_cubin_open(&c, cubin, size);
	if (err)
		return err;
	words->arch = c.arch;
	for (uint32_t k = 0; k < c.sections; k++) {
		size_t n = nvs_cubin_section(&c, k, &s) ? read_code(&s, code) : 0;

		for (size_t i = 0; i < n; i++)
			extract_branch(words, code[i]);
	}
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		for (uint32_t k = 0; k < c.sections && !nvs_word_is_known(words, wanted[i].word);
		     k++)
			if (nvs_cubin_section(&c, k, &s))
				extract_word(words, code, read_code(&s, code), i);
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (!nvs_word_is_known(words, wanted[i].word) && c.arch >= wanted[i].since)
			*missing = wanted[i].name;
	if (!nvs_word_is_known(words, NVS_W_BRA))
		*missing = "BRA";
	if (c.arch >= 80 && !words->descriptor)
		*missing = "ULDC.64";
	if (c.arch < 75 || c.arch > 90)
		*missing = "an architecture from sm_75 to sm_90";
	return *missing ? -ENOTSUP : 0;
}

nvs_word nvs_word_set_stall(nvs_word w, unsigned stall)
{
	w = nvs_word_put(w, 105, 4, stall);
	w = nvs_word_put(w, 109, 1,
			 stall < 4); /* as ptxas does: a long stall lets another warp go first */
	w = nvs_word_put(w, 110, 6, 63); /* no barrier, neither for writes nor for reads */
	w = nvs_word_with_wait(w, 0);
	return nvs_word_no_reuse(w);
}

/* Sign-extends. Fields count 4-byte words from the next instruction on. */
static int64_t sign_extend(uint64_t v, unsigned bits)
{
	return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

int64_t nvs_word_target(const struct nvs_count_words *words, nvs_word w, int64_t at)
{
	int64_t v;

	if (nvs_word_opcode(w) == NVS_OP_BSSY)
		v = sign_extend(nvs_word_get(w, 34, 30), 30);
	else if (words->split)
		v = sign_extend(nvs_word_get(w, 34, 48) << 8 | nvs_word_get(w, 16, 8), 56);
	else
		v = sign_extend(nvs_word_get(w, 34, 48), 48);
	return at + 16 + 4 * v;
}

nvs_word nvs_word_set_target(const struct nvs_count_words *words, nvs_word w, int64_t at,
			     int64_t target)
{
	int64_t v = (target - at - 16) / 4;

	if (nvs_word_opcode(w) == NVS_OP_BSSY)
		return nvs_word_put(w, 34, 30, (uint64_t)v);
	if (words->split)
		return nvs_word_put(nvs_word_put(w, 16, 8, (uint64_t)v), 34, 48,
				    (uint64_t)(v >> 8));
	return nvs_word_put(w, 34, 48, (uint64_t)v);
}
