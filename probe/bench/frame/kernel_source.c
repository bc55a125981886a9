/* SPDX-License-Identifier: MIT */
/* Generates a kernel's PTX with the frame around its body, and checks the assembled cubin: what is
 * timed must contain the expected instructions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe/bench/frame/internal.h"
#include "sass/sass.h"

enum {
	OP_CS2R = 0x005,
	OP_BAR = 0x11d,
	OP_S2R = 0x119,
	OP_S2UR = 0x1c3,
	OP_CALL_ABS = 0x143,
	OP_CALL = 0x144,
	OP_LDL = 0x183,
	OP_STL = 0x187,
	SR_CLOCKLO = 0x50,
	SR_CLOCKHI = 0x51,
};

/* Returns the newest PTX version that a driver of CUDA 11 to 13 accepts. */
static unsigned version_of(uint64_t driver)
{
	unsigned major = (unsigned)(driver / 1000), minor = (unsigned)(driver % 1000 / 10);

	if (!driver || major > 13)
		return 90;
	if (major == 12)
		return 80 + (minor < 6 ? minor : minor - 1);
	return major < 11 ? 64 : (major - 4) * 10 + minor;
}

/*
 * The control area holds clock and time of the first block's start, and of its end after the wait
 * (8 bytes each), then the earliest start and the latest end of all blocks. They are stored at
 * once, so that they use none of the body's registers.
 */
static const char frame_begin[] =
	"{\n"
	".reg .u64 %b_ctl, %b_data, %b_c, %b_t;\n"
	".reg .u64 %b_arg<8>;\n"
	".reg .u32 %b_tid, %b_ntid, %b_ctaid, %b_nctaid, %b_lane, %b_warp, %b_smid, %b_any;\n"
	".reg .pred %b_one, %b_first;\n"
	"mov.u64 %b_c, %clock64;\n"
	"mov.u64 %b_t, %globaltimer;\n"
	"ld.param.u64 %b_ctl, [b_p_control];\n"
	"ld.param.u64 %b_data, [b_p_data];\n"
	"mov.u32 %b_tid, %tid.x;\n"
	"mov.u32 %b_ntid, %ntid.x;\n"
	"mov.u32 %b_ctaid, %ctaid.x;\n"
	"mov.u32 %b_nctaid, %nctaid.x;\n"
	"mov.u32 %b_lane, %laneid;\n"
	"shr.u32 %b_warp, %b_tid, 5;\n"
	"mov.u32 %b_smid, %smid;\n"
	"setp.eq.u32 %b_one, %b_tid, 0;\n"
	"or.b32 %b_any, %b_tid, %b_ctaid;\n"
	"setp.eq.u32 %b_first, %b_any, 0;\n"
	"@%b_first st.volatile.global.u64 [%b_ctl], %b_c;\n"
	"@%b_first st.volatile.global.u64 [%b_ctl+8], %b_t;\n"
	"@%b_one red.global.min.u64 [%b_ctl+32], %b_t;\n";

static const char frame_end[] = "bar.sync 0;\n"
				"mov.u64 %b_c, %clock64;\n"
				"mov.u64 %b_t, %globaltimer;\n"
				"ld.param.u64 %b_ctl, [b_p_control];\n"
				"mov.u32 %b_tid, %tid.x;\n"
				"mov.u32 %b_ctaid, %ctaid.x;\n"
				"setp.eq.u32 %b_one, %b_tid, 0;\n"
				"or.b32 %b_any, %b_tid, %b_ctaid;\n"
				"setp.eq.u32 %b_first, %b_any, 0;\n"
				"@%b_one red.global.max.u64 [%b_ctl+40], %b_t;\n"
				"@!%b_first bra b_over;\n"
				"ld.volatile.global.u64 %b_data, [%b_ctl+8];\n"
				"add.u64 %b_data, %b_data, 100000;\n"
				"b_wait:\n"
				"mov.u64 %b_t, %globaltimer;\n"
				"setp.lt.u64 %b_one, %b_t, %b_data;\n"
				"@%b_one bra b_wait;\n"
				"mov.u64 %b_c, %clock64;\n"
				"st.global.u64 [%b_ctl+16], %b_c;\n"
				"st.global.u64 [%b_ctl+24], %b_t;\n"
				"b_over:\n"
				"ret;\n"
				"}\n";

static const char bare_begin[] = "{\n"
				 ".reg .u64 %b_data;\n"
				 ".reg .u64 %b_arg<8>;\n"
				 "ld.param.u64 %b_data, [b_p_data];\n";

void bench_write_ptx(struct bench_text *text, const struct bench_code *code,
		     const struct bench_gpu *gpu)
{
	unsigned version = version_of(gpu->driver_version), arch = bench_arch(gpu);

	bench_emit(text,
		   ".version %u.%u\n.target sm_%u%s\n.address_size 64\n%s\n.visible .entry bench(\n"
		   "%s.param .u64 b_p_data",
		   version / 10, version % 10, arch, arch >= 90 ? "a" : "",
		   code->declared ? code->declared : "",
		   code->bare ? "" : ".param .u64 b_p_control, ");
	for (int i = 0; i < 8; i++)
		bench_emit(text, ", .param .u64 b_p_arg%d", i);
	bench_emit(text, ")\n.maxntid %u, 1, 1\n%s", code->threads ? code->threads : 1024,
		   code->bare ? bare_begin : frame_begin);
	for (int i = 0; i < 8; i++)
		bench_emit(text, "ld.param.u64 %%b_arg%d, [b_p_arg%d];\n", i, i);
	bench_emit(text, "{\n%s\n}\n%s", code->body, code->bare ? "}\n" : frame_end);
}

static bool reads_clock(const struct nvs_sass_insn *i)
{
	uint64_t special = nvs_sass_insn_bits(i, 72, 8);

	switch (nvs_sass_insn_op(i)) {
	case OP_CS2R:
	case OP_S2R:
	case OP_S2UR:
		return special == SR_CLOCKLO || special == SR_CLOCKHI;
	}
	return false;
}

/*
 * Finds the timed code: between the body's first and last clock read. If the body reads none, from
 * the frame's first clock read to the barrier before its last, which comes after the wait. In a
 * bare kernel, everything.
 */
static bool find_timed_code(const struct bench_code *code, enum nvs_sass_form form,
			    const struct nvs_cubin_function *f, size_t *from, size_t *to)
{
	size_t n = nvs_sass_insn_count(form, f->size), own = code->bare ? 0 : 1, clocks = 0,
	       bar = 0;
	size_t *at = probe_allocate(n, sizeof(*at)), end = 0;
	struct nvs_sass_insn i;
	bool some;

	for (size_t k = 0; k < n; k++) {
		if (!nvs_sass_insn(form, f->code, f->size, k, &i))
			break;
		if (nvs_sass_insn_op(&i) == OP_BAR)
			bar = k;
		if (reads_clock(&i)) {
			at[clocks++] = k;
			end = bar;
		}
	}
	some = code->bare || clocks >= 2;
	*from = code->bare ? 0 : at[0];
	*to = code->bare ? n : end;
	if (clocks >= 2 + 2 * own) {
		*from = at[own];
		*to = at[clocks - 1 - own];
	}
	free(at);
	return some;
}

static bool check_timed_code(const struct bench_code *code, enum nvs_sass_form form,
			     const struct nvs_cubin_function *f, char why[200])
{
	uint32_t count[4] = {0};
	struct nvs_sass_insn insn;
	size_t from, to;

	if (!find_timed_code(code, form, f, &from, &to)) {
		snprintf(why, 200, "its clock reads were not found in the assembled code");
		return false;
	}
	for (size_t k = from; k < to; k++) {
		uint16_t op;

		if (!nvs_sass_insn(form, f->code, f->size, k, &insn))
			break;
		op = nvs_sass_insn_op(&insn);
		if (!code->local && (op == OP_LDL || op == OP_STL)) {
			snprintf(why, 200, "local memory is used between its clock reads, at 0x%x",
				 insn.at);
			return false;
		}
		if (op == OP_CALL || op == OP_CALL_ABS) {
			snprintf(why, 200, "a function is called between its clock reads, at 0x%x",
				 insn.at);
			return false;
		}
		for (int i = 0; i < 4; i++)
			count[i] += code->expect[i].op && code->expect[i].op == op;
	}
	for (int i = 0; i < 4 && code->expect[i].op; i++)
		if (count[i] < code->expect[i].least || count[i] > code->expect[i].most) {
			snprintf(why, 200,
				 "opcode 0x%03x occurs %u times between its clock reads, expected "
				 "%u to %u",
				 code->expect[i].op, count[i], code->expect[i].least,
				 code->expect[i].most);
			return false;
		}
	if (!code->local && f->frame && f->frame != UINT32_MAX) {
		snprintf(why, 200, "it uses %u bytes of local memory per thread", f->frame);
		return false;
	}
	return true;
}

/* Raises the register count in .nv.info, and in the section header if it is there. The GPU reserves
 * two of them: with 128, R126 is an illegal instruction on an H200. */
static bool raise_registers(uint8_t *data, const struct nvs_cubin *cubin,
			    const struct nvs_cubin_function *f, uint32_t named)
{
	struct nvs_cubin_section info, text;
	uint32_t word, least = named ? named + 2 : 0;

	if (f->registers != UINT32_MAX && f->registers >= least)
		return true;
	if (least > 255 || f->registers_at == UINT32_MAX ||
	    !nvs_cubin_section_named(cubin, ".nv.info", &info) || !info.data || info.size < 8 ||
	    f->registers_at > info.size - 8 || !nvs_cubin_section(cubin, f->section, &text))
		return false;
	memcpy(data + (info.data - data) + f->registers_at + 4, &least, 4);
	if (text.info >> 24) {
		word = (text.info & 0xffffff) | least << 24;
		memcpy(data + cubin->section_headers + (size_t)text.index * 64 + 0x2c, &word, 4);
	}
	return true;
}

static bool check_kernel(struct bench_cubin *c, const struct bench_code *code,
			 const struct nvs_cubin *cubin, const struct nvs_cubin_function *f,
			 char why[200])
{
	enum nvs_sass_form form = nvs_sass_form(cubin->arch);
	uint8_t *at = c->data + (f->code - c->data);

	if (form < NVS_SASS_VOLTA || f->size % 16) {
		snprintf(why, 200, "it is for sm_%u, which cannot be decoded", cubin->arch);
		return false;
	}
	c->nwords = (uint32_t)(f->size / 16);
	c->word = probe_allocate(1, f->size + 16);
	memcpy(c->word, at, f->size);
	if (!check_timed_code(code, form, f, why))
		return false;
	if (!raise_registers(c->data, cubin, f, code->minregs)) {
		snprintf(why, 200, "its register count cannot be changed");
		return false;
	}
	if (code->patch) {
		/* The cubin's words may be unaligned. */
		uint64_t(*patched)[2] = probe_allocate(1, f->size + 16);
		int bad;

		memcpy(patched, at, f->size);
		bad = code->patch(patched, c->nwords, code->arg);
		memcpy(at, patched, f->size);
		free(patched);
		if (bad) {
			snprintf(why, 200, "the code to patch was not found");
			return false;
		}
	}
	return true;
}

bool bench_check_cubin(struct bench_cubin *c, const struct bench_code *code, const void *data,
		       size_t size, char why[200])
{
	struct nvs_cubin_functions functions = {0};
	struct nvs_cubin cubin;
	bool good = false, found = false;

	*c = (struct bench_cubin){probe_allocate(1, size + 1), size, NULL, 0};
	memcpy(c->data, data, size);
	snprintf(why, 200, "the assembled code cannot be decoded");
	if (!nvs_cubin_open(&cubin, c->data, size) &&
	    !nvs_cubin_functions(&cubin, &nvs_sass_heap, &functions)) {
		for (uint32_t i = 0; i < functions.n && !found; i++) {
			const struct nvs_cubin_function *f = &functions.function[i];

			found = f->kernel && f->code && !strcmp(f->name, "bench");
			if (found)
				good = check_kernel(c, code, &cubin, f, why);
		}
		nvs_cubin_functions_free(&functions, &nvs_sass_heap);
	}
	if (!good)
		bench_cubin_free(c);
	return good;
}

void bench_cubin_free(struct bench_cubin *c)
{
	free(c->data);
	free(c->word);
	*c = (struct bench_cubin){NULL, 0, NULL, 0};
}
