/* SPDX-License-Identifier: MIT */
/* Decodes the targets of control instructions, as nvdisasm prints them. For Volta and newer. */
#include "sass/sass.h"

/* Opcodes without the form of their operands. All control instructions are in one range. */
enum {
	FIRST = 0x140,
	BSYNC = 0x141,
	BREAK = 0x142,
	CALL_ABS = 0x143,
	CALL = 0x144,
	BSSY = 0x145,
	YIELD = 0x146,
	BRA = 0x147,
	WARPSYNC = 0x148,
	BRX = 0x149,
	JMP = 0x14a,
	JMX = 0x14c,
	EXIT = 0x14d,
	LEPC = 0x14e,
	RTT = 0x14f,
	RET = 0x150,
	BMOV = 0x155,
	BMOV_IMM = 0x156,
	BRXU = 0x158,
	JMXU = 0x159,
	KILL = 0x15b,
	BPT = 0x15c,
	NANOSLEEP = 0x15d,
	LAST = 0x15f,
};

/* PC-relative target: a count of 4-byte words from the next instruction on. Since Hopper its low
 * eight bits are stored separately. */
static int64_t relative_target(const struct nvs_sass_insn *insn, enum nvs_sass_form form)
{
	uint64_t bits = nvs_sass_insn_bits(insn, 34, 48);
	int64_t words;

	if (form >= NVS_SASS_HOPPER) {
		bits = bits << 8 | nvs_sass_insn_bits(insn, 16, 8);
		words = (int64_t)(bits << 8) >> 8;
	} else {
		words = (int64_t)(bits << 16) >> 16;
	}
	return insn->at + 16 + 4 * words;
}

static int64_t reconvergence_target(const struct nvs_sass_insn *insn)
{
	return insn->at + 16 + 4 * ((int64_t)(nvs_sass_insn_bits(insn, 34, 30) << 34) >> 34);
}

/* BRA has a second predicate, and forms that branch by a uniform register or by votes: none of
 * these is certainly taken. */
static bool branches_always(const struct nvs_sass_insn *insn)
{
	return insn->opcode == 0x947 && insn->predicate == 7 && !insn->negated &&
	       nvs_sass_insn_bits(insn, 87, 4) == 7 && !nvs_sass_insn_bits(insn, 24, 8) &&
	       !nvs_sass_insn_bits(insn, 82, 5) && !nvs_sass_insn_bits(insn, 32, 2);
}

static void decode_branch(const struct nvs_sass_insn *insn, enum nvs_sass_form form,
			  struct nvs_sass_flow *f)
{
	f->flow = NVS_FLOW_BRANCH;
	f->target_known = true;
	f->target = relative_target(insn, form);
	f->falls = !branches_always(insn);
	f->ends = true;
}

static void decode_call(const struct nvs_sass_insn *insn, enum nvs_sass_form form,
			struct nvs_sass_flow *f)
{
	f->flow = NVS_FLOW_CALL;
	f->falls = true;
	f->target_known = insn->opcode == 0x944;
	f->target = f->target_known ? relative_target(insn, form) : 0;
	f->ends = f->active = true;
}

static void decode_control(const struct nvs_sass_insn *insn, enum nvs_sass_form form, bool guarded,
			   struct nvs_sass_flow *f)
{
	switch (nvs_sass_insn_op(insn)) {
	case BRA:
		decode_branch(insn, form, f);
		break;
	case BRX:
	case BRXU:
	case JMP:
	case JMX:
	case JMXU:
		f->flow = NVS_FLOW_INDIRECT;
		f->falls = guarded;
		f->ends = true;
		break;
	case CALL:
	case CALL_ABS:
		decode_call(insn, form, f);
		break;
	case RET:
		f->flow = NVS_FLOW_RETURN;
		f->falls = guarded;
		f->ends = f->active = true;
		break;
	case EXIT:
		f->flow = NVS_FLOW_EXIT;
		f->falls = guarded || nvs_sass_insn_bits(insn, 87, 4) != 7;
		f->ends = f->active = true;
		break;
	case BSSY:
		f->flow = NVS_FLOW_BSSY;
		f->target_known = true;
		f->target = reconvergence_target(insn);
		break;
	case BSYNC:
		f->flow = NVS_FLOW_BSYNC;
		f->ends = f->active = true;
		break;
	case WARPSYNC:
		f->flow = NVS_FLOW_WARPSYNC;
		f->target_known = nvs_sass_insn_bits(insn, 86, 1);
		f->target = f->target_known ? relative_target(insn, form) : 0;
		f->ends = f->active = true;
		break;
	case KILL:
	case BPT:
	case RTT:
		f->flow = NVS_FLOW_TRAP;
		f->ends = f->active = true;
		break;
	case BREAK:
	case YIELD:
	case LEPC:
	case BMOV:
	case BMOV_IMM:
	case NANOSLEEP:
		f->flow = NVS_FLOW_OTHER;
		break;
	default:
		f->flow = NVS_FLOW_UNKNOWN;
		f->ends = f->active = true;
	}
}

void nvs_sass_insn_flow(const struct nvs_sass_insn *insn, enum nvs_sass_form form,
			struct nvs_sass_flow *f)
{
	*f = (struct nvs_sass_flow){.flow = NVS_FLOW_NEXT, .falls = true};
	if (form < NVS_SASS_VOLTA)
		f->flow = NVS_FLOW_UNKNOWN;
	else if (nvs_sass_insn_op(insn) >= FIRST && nvs_sass_insn_op(insn) <= LAST)
		decode_control(insn, form, insn->predicate != 7 || insn->negated, f);
}
