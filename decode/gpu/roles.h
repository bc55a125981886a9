/* SPDX-License-Identifier: MIT */
/* For each class, which methods trigger an action, and where the values that the action uses are.
 * Built once a class from its table by NVIDIA's names; the hot path is then one array lookup. */
#ifndef NVSNOOP_DECODE_GPU_ROLES_H
#define NVSNOOP_DECODE_GPU_ROLES_H

#include <stdbool.h>
#include <stdint.h>
#include "decode/gpu/class.h"

enum nvs_role {
	NVS_ROLE_NONE,
	NVS_ROLE_COPY, /* dma-copy: LAUNCH_DMA */
	NVS_ROLE_INLINE, /* LAUNCH_DMA of inline uploads */
	NVS_ROLE_INLINE_DATA,
	NVS_ROLE_QMD_DATA, /* LOAD_INLINE_QMD_DATA */
	NVS_ROLE_PCAS, /* SEND_SIGNALING_PCAS_B */
	NVS_ROLE_PCAS2,
	NVS_ROLE_REPORT, /* SET_REPORT_SEMAPHORE_D */
	NVS_ROLE_REPORT_EXECUTE,
	NVS_ROLE_IDLE,
	NVS_ROLE_CACHE,
	NVS_ROLE_MACRO, /* CALL_MME_MACRO */
	NVS_ROLE_MACRO_DATA,
	NVS_ROLE_SET_OBJECT, /* methods of host classes from here on */
	NVS_ROLE_SEM_EXECUTE,
	NVS_ROLE_SEM_OLD, /* SEMAPHORED */
	NVS_ROLE_MEM_OP,
};

/* Values that an action takes from methods. */
enum nvs_method_value {
	NVS_REG_OUT_HI,
	NVS_REG_OUT_LO,
	NVS_REG_IN_HI,
	NVS_REG_IN_LO,
	NVS_REG_WIDTH,
	NVS_REG_LINES,
	NVS_REG_PITCH_IN,
	NVS_REG_PITCH_OUT,
	NVS_REG_SEM_HI,
	NVS_REG_SEM_LO,
	NVS_REG_SEM_PAYLOAD,
	NVS_REG_SEM_PAYLOAD_HI,
	NVS_REG_REMAP_CONST_A,
	NVS_REG_REMAP_CONST_B,
	NVS_REG_REMAP_X,
	NVS_REG_REMAP_Y,
	NVS_REG_REMAP_Z,
	NVS_REG_REMAP_W,
	NVS_REG_REMAP_SIZE,
	NVS_REG_REMAP_COUNT,
	/* fields of the launching method */
	NVS_REG_TRANSFER,
	NVS_REG_SRC_LAYOUT,
	NVS_REG_DST_LAYOUT,
	NVS_REG_MULTI_LINE,
	NVS_REG_REMAP,
	NVS_REG_SEM_TYPE,
	NVS_REG_SEM_REDUCE,
	NVS_REG_SEM_REDUCTION,
	NVS_REG_SEM_WIDE,
	NVS_REG_SRC_TYPE,
	NVS_REG_DST_TYPE,
	NVS_REG_COMPLETION,
	NVS_REG_COMPLETION_SIZE,
	/* compute */
	NVS_REG_PCAS_ADDRESS,
	NVS_REG_PCAS_ACTION,
	NVS_REG_PCAS_INVALIDATE,
	NVS_REG_PCAS_SCHEDULE,
	NVS_REG_QMD_HI,
	NVS_REG_QMD_LO,
	NVS_REG_QMD_SIZE,
	NVS_REG_REGION_HI,
	NVS_REG_REGION_LO,
	NVS_REG_REPORT_HI,
	NVS_REG_REPORT_LO,
	NVS_REG_REPORT_PAYLOAD,
	NVS_REG_REPORT_OP,
	NVS_REG_REPORT_SIZE,
	NVS_REG_REPORT_REDUCE,
	NVS_REG_REPORT_REDUCTION,
	NVS_REG_EXECUTE_HI,
	NVS_REG_EXECUTE_LO,
	NVS_REG_EXECUTE_PAYLOAD,
	NVS_REG_EXECUTE_PAYLOAD_HI,
	NVS_REG_EXECUTE_OP,
	NVS_REG_EXECUTE_SIZE,
	NVS_REG_EXECUTE_REDUCE,
	NVS_REG_EXECUTE_REDUCTION,
	NVS_REG_EXECUTE_WIDE,
	NVS_REG_CACHE_INSTRUCTION, /* of INVALIDATE_SHADER_CACHES_NO_WFI and
				      INVALIDATE_SHADER_CACHES */
	/* host */
	NVS_REG_HOST_ADDR_LO,
	NVS_REG_HOST_ADDR_HI,
	NVS_REG_HOST_PAYLOAD_LO,
	NVS_REG_HOST_PAYLOAD_HI,
	NVS_REG_HOST_OP,
	NVS_REG_HOST_WFI,
	NVS_REG_HOST_WIDE,
	NVS_REG_HOST_TIMESTAMP,
	NVS_REG_HOST_REDUCTION,
	NVS_REG_OLD_HI,
	NVS_REG_OLD_LO,
	NVS_REG_OLD_PAYLOAD,
	NVS_REG_OLD_OP,
	NVS_REG_OLD_WFI,
	NVS_REG_OLD_SIZE,
	NVS_REG_OLD_REDUCTION,
	NVS_REG_MEM_OPERATION,
	NVS_REGS,
};

/* A value's position. mask is 0 if the class does not have the value, which then reads as 0. */
struct nvs_value_position {
	uint16_t dword; /* method / 4 */
	uint8_t lo;
	uint32_t mask; /* applies after shifting the word by lo */
};

#define NVS_METHODS 4096u /* number of methods in a class */

struct nvs_roles {
	const struct nvs_class *cls;
	struct nvs_value_position regs[NVS_REGS];
	uint16_t code_method[2]; /* methods (bytes) that have the field INSTRUCTION; 0: none */
	/*
	 * The four headers of an inline upload as drivers write them, without the subchannel and,
	 * in the last one, the count: OFFSET_OUT_UPPER and OFFSET_OUT, LINE_LENGTH_IN and
	 * LINE_COUNT, LAUNCH_DMA, LOAD_INLINE_DATA. 0 if the class has no such methods.
	 */
	uint32_t upload[4];
	uint8_t role[NVS_METHODS]; /* enum nvs_role */
	uint8_t roleless[NVS_METHODS]; /* length of the sequence of methods without a role that
					* starts here, at most 255 */
};

void nvs_roles_init(struct nvs_roles *roles, const struct nvs_class *cls);

static inline uint32_t nvs_reg_of(const struct nvs_roles *roles, enum nvs_method_value reg,
				  uint32_t word)
{
	const struct nvs_value_position *p = &roles->regs[reg];

	return word >> p->lo & p->mask;
}

/* Reads REG from the method state STATE (NVS_METHODS dwords). */
static inline uint32_t nvs_reg_get(const struct nvs_roles *roles, const uint32_t *state,
				   enum nvs_method_value reg)
{
	return nvs_reg_of(roles, reg, state[roles->regs[reg].dword]);
}

/* Reads a number in two halves: an address or a 64-bit payload. */
static inline uint64_t nvs_reg_pair(const struct nvs_roles *roles, const uint32_t *state,
				    enum nvs_method_value hi, enum nvs_method_value lo)
{
	return (uint64_t)nvs_reg_get(roles, state, hi) << 32 | nvs_reg_get(roles, state, lo);
}

/* Reads a payload, which has an upper half only if WIDE. */
static inline uint64_t nvs_reg_long(const struct nvs_roles *roles, const uint32_t *state, bool wide,
				    enum nvs_method_value hi, enum nvs_method_value lo)
{
	return wide ? nvs_reg_pair(roles, state, hi, lo) : nvs_reg_get(roles, state, lo);
}

#endif
