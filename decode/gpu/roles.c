/* SPDX-License-Identifier: MIT */
/*
 * Maps method names to roles and values. Names that a class does not have are skipped; where a name
 * has different meanings in copy and compute classes, each row lists the class kinds it applies to.
 */
#include <string.h>
#include "decode/gpu/roles.h"

#define COPY (1u << NVS_KIND_COPY)
#define HOST (1u << NVS_KIND_HOST)
#define GRAPHICS (1u << NVS_KIND_COMPUTE | 1u << NVS_KIND_3D)
#define INLINE (GRAPHICS | 1u << NVS_KIND_INLINE)
#define ENGINE (INLINE | COPY | 1u << NVS_KIND_2D)

static const struct {
	uint8_t kinds, role;
	const char *method;
} role_names[] = {
	{COPY, NVS_ROLE_COPY, "LAUNCH_DMA"},
	{INLINE, NVS_ROLE_INLINE, "LAUNCH_DMA"},
	{INLINE, NVS_ROLE_INLINE_DATA, "LOAD_INLINE_DATA"},
	{GRAPHICS, NVS_ROLE_QMD_DATA, "LOAD_INLINE_QMD_DATA"},
	{GRAPHICS, NVS_ROLE_PCAS, "SEND_SIGNALING_PCAS_B"},
	{GRAPHICS, NVS_ROLE_PCAS2, "SEND_SIGNALING_PCAS2_B"},
	{GRAPHICS, NVS_ROLE_REPORT, "SET_REPORT_SEMAPHORE_D"},
	{GRAPHICS, NVS_ROLE_REPORT_EXECUTE, "REPORT_SEMAPHORE_EXECUTE"},
	{ENGINE, NVS_ROLE_IDLE, "WAIT_FOR_IDLE"},
	{ENGINE, NVS_ROLE_IDLE, "WAIT_FOR_IDLE_SCG_TYPE"},
	{GRAPHICS, NVS_ROLE_IDLE, "PM_TRIGGER_WFI"},
	{GRAPHICS, NVS_ROLE_MACRO, "CALL_MME_MACRO"},
	{GRAPHICS, NVS_ROLE_MACRO_DATA, "CALL_MME_DATA"},
	{HOST, NVS_ROLE_SET_OBJECT, "SET_OBJECT"},
	{HOST, NVS_ROLE_SEM_EXECUTE, "SEM_EXECUTE"},
	{HOST, NVS_ROLE_SEM_OLD, "SEMAPHORED"},
	{HOST, NVS_ROLE_CACHE, "FB_FLUSH"},
	{HOST, NVS_ROLE_IDLE, "WFI"},
	{HOST, NVS_ROLE_MEM_OP, "MEM_OP_D"},
};

static const struct {
	uint8_t kinds, reg;
	const char *method, *field; /* field NULL: the whole word */
} reg_names[] = {
	{COPY, NVS_REG_OUT_HI, "OFFSET_OUT_UPPER", "UPPER"},
	{COPY, NVS_REG_OUT_LO, "OFFSET_OUT_LOWER", "VALUE"},
	{COPY, NVS_REG_IN_HI, "OFFSET_IN_UPPER", "UPPER"},
	{COPY, NVS_REG_IN_LO, "OFFSET_IN_LOWER", "VALUE"},
	{COPY, NVS_REG_WIDTH, "LINE_LENGTH_IN", NULL},
	{COPY, NVS_REG_LINES, "LINE_COUNT", NULL},
	{COPY, NVS_REG_PITCH_IN, "PITCH_IN", NULL},
	{COPY, NVS_REG_PITCH_OUT, "PITCH_OUT", NULL},
	{COPY, NVS_REG_SEM_HI, "SET_SEMAPHORE_A", "UPPER"},
	{COPY, NVS_REG_SEM_LO, "SET_SEMAPHORE_B", "LOWER"},
	{COPY, NVS_REG_SEM_PAYLOAD, "SET_SEMAPHORE_PAYLOAD", NULL},
	{COPY, NVS_REG_SEM_PAYLOAD_HI, "SET_SEMAPHORE_PAYLOAD_UPPER", NULL},
	{COPY, NVS_REG_REMAP_CONST_A, "SET_REMAP_CONST_A", NULL},
	{COPY, NVS_REG_REMAP_CONST_B, "SET_REMAP_CONST_B", NULL},
	{COPY, NVS_REG_REMAP_X, "SET_REMAP_COMPONENTS", "DST_X"},
	{COPY, NVS_REG_REMAP_Y, "SET_REMAP_COMPONENTS", "DST_Y"},
	{COPY, NVS_REG_REMAP_Z, "SET_REMAP_COMPONENTS", "DST_Z"},
	{COPY, NVS_REG_REMAP_W, "SET_REMAP_COMPONENTS", "DST_W"},
	{COPY, NVS_REG_REMAP_SIZE, "SET_REMAP_COMPONENTS", "COMPONENT_SIZE"},
	{COPY, NVS_REG_REMAP_COUNT, "SET_REMAP_COMPONENTS", "NUM_DST_COMPONENTS"},
	{COPY, NVS_REG_TRANSFER, "LAUNCH_DMA", "DATA_TRANSFER_TYPE"},
	{COPY, NVS_REG_SRC_LAYOUT, "LAUNCH_DMA", "SRC_MEMORY_LAYOUT"},
	{COPY, NVS_REG_MULTI_LINE, "LAUNCH_DMA", "MULTI_LINE_ENABLE"},
	{COPY, NVS_REG_REMAP, "LAUNCH_DMA", "REMAP_ENABLE"},
	{COPY, NVS_REG_SEM_TYPE, "LAUNCH_DMA", "SEMAPHORE_TYPE"},
	{COPY, NVS_REG_SEM_REDUCE, "LAUNCH_DMA", "SEMAPHORE_REDUCTION_ENABLE"},
	{COPY, NVS_REG_SEM_REDUCTION, "LAUNCH_DMA", "SEMAPHORE_REDUCTION"},
	{COPY, NVS_REG_SEM_WIDE, "LAUNCH_DMA", "SEMAPHORE_PAYLOAD_SIZE"},
	{COPY, NVS_REG_SRC_TYPE, "LAUNCH_DMA", "SRC_TYPE"},
	{COPY, NVS_REG_DST_TYPE, "LAUNCH_DMA", "DST_TYPE"},
	{COPY | INLINE, NVS_REG_DST_LAYOUT, "LAUNCH_DMA", "DST_MEMORY_LAYOUT"},
	{INLINE, NVS_REG_OUT_HI, "OFFSET_OUT_UPPER", "VALUE"},
	{INLINE, NVS_REG_OUT_LO, "OFFSET_OUT", "VALUE"},
	{INLINE, NVS_REG_WIDTH, "LINE_LENGTH_IN", NULL},
	{INLINE, NVS_REG_LINES, "LINE_COUNT", NULL},
	{INLINE, NVS_REG_PITCH_OUT, "PITCH_OUT", NULL},
	{INLINE, NVS_REG_COMPLETION, "LAUNCH_DMA", "COMPLETION_TYPE"},
	{INLINE, NVS_REG_COMPLETION_SIZE, "LAUNCH_DMA", "SEMAPHORE_STRUCT_SIZE"},
	{INLINE, NVS_REG_SEM_REDUCE, "LAUNCH_DMA", "REDUCTION_ENABLE"},
	{INLINE, NVS_REG_SEM_REDUCTION, "LAUNCH_DMA", "REDUCTION_OP"},
	{INLINE, NVS_REG_SEM_HI, "SET_I2M_SEMAPHORE_A", "OFFSET_UPPER"},
	{INLINE, NVS_REG_SEM_LO, "SET_I2M_SEMAPHORE_B", "OFFSET_LOWER"},
	{INLINE, NVS_REG_SEM_PAYLOAD, "SET_I2M_SEMAPHORE_C", NULL},
	{GRAPHICS, NVS_REG_PCAS_ADDRESS, "SEND_PCAS_A", "QMD_ADDRESS_SHIFTED8"},
	{GRAPHICS, NVS_REG_PCAS_ACTION, "SEND_SIGNALING_PCAS2_B", "PCAS_ACTION"},
	{GRAPHICS, NVS_REG_PCAS_INVALIDATE, "SEND_SIGNALING_PCAS_B", "INVALIDATE"},
	{GRAPHICS, NVS_REG_PCAS_SCHEDULE, "SEND_SIGNALING_PCAS_B", "SCHEDULE"},
	{GRAPHICS, NVS_REG_QMD_HI, "SET_INLINE_QMD_ADDRESS_A", "QMD_ADDRESS_SHIFTED8_UPPER"},
	{GRAPHICS, NVS_REG_QMD_SIZE, "SET_INLINE_QMD_ADDRESS_A", "INLINE_SIZE"},
	{GRAPHICS, NVS_REG_QMD_LO, "SET_INLINE_QMD_ADDRESS_B", "QMD_ADDRESS_SHIFTED8_LOWER"},
	{GRAPHICS, NVS_REG_REGION_HI, "SET_PROGRAM_REGION_A", "ADDRESS_UPPER"},
	{GRAPHICS, NVS_REG_REGION_LO, "SET_PROGRAM_REGION_B", "ADDRESS_LOWER"},
	{GRAPHICS, NVS_REG_REPORT_HI, "SET_REPORT_SEMAPHORE_A", "OFFSET_UPPER"},
	{GRAPHICS, NVS_REG_REPORT_LO, "SET_REPORT_SEMAPHORE_B", "OFFSET_LOWER"},
	{GRAPHICS, NVS_REG_REPORT_PAYLOAD, "SET_REPORT_SEMAPHORE_C", NULL},
	{GRAPHICS, NVS_REG_REPORT_OP, "SET_REPORT_SEMAPHORE_D", "OPERATION"},
	{GRAPHICS, NVS_REG_REPORT_SIZE, "SET_REPORT_SEMAPHORE_D", "STRUCTURE_SIZE"},
	{GRAPHICS, NVS_REG_REPORT_REDUCE, "SET_REPORT_SEMAPHORE_D", "REDUCTION_ENABLE"},
	{GRAPHICS, NVS_REG_REPORT_REDUCTION, "SET_REPORT_SEMAPHORE_D", "REDUCTION_OP"},
	{GRAPHICS, NVS_REG_EXECUTE_HI, "SET_REPORT_SEMAPHORE_ADDRESS_UPPER", "UPPER"},
	{GRAPHICS, NVS_REG_EXECUTE_LO, "SET_REPORT_SEMAPHORE_ADDRESS_LOWER", NULL},
	{GRAPHICS, NVS_REG_EXECUTE_PAYLOAD, "SET_REPORT_SEMAPHORE_PAYLOAD_LOWER", NULL},
	{GRAPHICS, NVS_REG_EXECUTE_PAYLOAD_HI, "SET_REPORT_SEMAPHORE_PAYLOAD_UPPER", NULL},
	{GRAPHICS, NVS_REG_EXECUTE_OP, "REPORT_SEMAPHORE_EXECUTE", "OPERATION"},
	{GRAPHICS, NVS_REG_EXECUTE_SIZE, "REPORT_SEMAPHORE_EXECUTE", "STRUCTURE_SIZE"},
	{GRAPHICS, NVS_REG_EXECUTE_REDUCE, "REPORT_SEMAPHORE_EXECUTE", "REDUCTION_ENABLE"},
	{GRAPHICS, NVS_REG_EXECUTE_REDUCTION, "REPORT_SEMAPHORE_EXECUTE", "REDUCTION_OP"},
	{GRAPHICS, NVS_REG_EXECUTE_WIDE, "REPORT_SEMAPHORE_EXECUTE", "PAYLOAD_SIZE64"},
	{GRAPHICS, NVS_REG_CACHE_INSTRUCTION, "INVALIDATE_SHADER_CACHES_NO_WFI", "INSTRUCTION"},
	{HOST, NVS_REG_HOST_ADDR_LO, "SEM_ADDR_LO", NULL},
	{HOST, NVS_REG_HOST_ADDR_HI, "SEM_ADDR_HI", "OFFSET"},
	{HOST, NVS_REG_HOST_PAYLOAD_LO, "SEM_PAYLOAD_LO", NULL},
	{HOST, NVS_REG_HOST_PAYLOAD_HI, "SEM_PAYLOAD_HI", NULL},
	{HOST, NVS_REG_HOST_OP, "SEM_EXECUTE", "OPERATION"},
	{HOST, NVS_REG_HOST_WFI, "SEM_EXECUTE", "RELEASE_WFI"},
	{HOST, NVS_REG_HOST_WIDE, "SEM_EXECUTE", "PAYLOAD_SIZE"},
	{HOST, NVS_REG_HOST_TIMESTAMP, "SEM_EXECUTE", "RELEASE_TIMESTAMP"},
	{HOST, NVS_REG_HOST_REDUCTION, "SEM_EXECUTE", "REDUCTION"},
	{HOST, NVS_REG_OLD_HI, "SEMAPHOREA", "OFFSET_UPPER"},
	{HOST, NVS_REG_OLD_LO, "SEMAPHOREB", NULL},
	{HOST, NVS_REG_OLD_PAYLOAD, "SEMAPHOREC", NULL},
	{HOST, NVS_REG_OLD_OP, "SEMAPHORED", "OPERATION"},
	{HOST, NVS_REG_OLD_WFI, "SEMAPHORED", "RELEASE_WFI"},
	{HOST, NVS_REG_OLD_SIZE, "SEMAPHORED", "RELEASE_SIZE"},
	{HOST, NVS_REG_OLD_REDUCTION, "SEMAPHORED", "REDUCTION"},
	{HOST, NVS_REG_MEM_OPERATION, "MEM_OP_D", "OPERATION"},
};

static void set_role(struct nvs_roles *r, const struct nvs_method *m, enum nvs_role role)
{
	uint32_t count = m->count > 1 ? m->count : 1;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = (m->offset + i * m->stride) / 4;

		if (at < NVS_METHODS)
			r->role[at] = (uint8_t)role;
	}
}

/* There are many cache methods, all with the same prefix. */
static void set_cache_roles(struct nvs_roles *r, const struct nvs_class *cls)
{
	for (uint32_t i = 0; i < cls->nmethods; i++) {
		const struct nvs_method *m = &nvs_methods[cls->methods + i];

		if (!strncmp(nvs_class_string(m->name), "INVALIDATE_", 11))
			set_role(r, m, NVS_ROLE_CACHE);
	}
}

static void set_places(struct nvs_roles *r, const struct nvs_class *cls)
{
	for (size_t i = 0; i < sizeof(reg_names) / sizeof(reg_names[0]); i++) {
		const struct nvs_method *m;
		const struct nvs_field *f;
		struct nvs_value_position *p = &r->regs[reg_names[i].reg];

		if (!(reg_names[i].kinds >> cls->kind & 1))
			continue;
		m = nvs_method_by_name(cls, reg_names[i].method);
		f = reg_names[i].field ? nvs_field_by_name(m, reg_names[i].field) : NULL;
		if (!m || (reg_names[i].field && !f))
			continue;
		p->dword = m->offset / 4;
		p->lo = f ? f->lo : 0;
		p->mask = f ? 0xffffffffu >> (31 - (f->hi - f->lo)) : 0xffffffffu;
	}
}

static void set_quiet(struct nvs_roles *r)
{
	uint8_t n = 0;

	for (uint32_t i = NVS_METHODS; i-- > 0;) {
		n = r->role[i] ? 0 : (uint8_t)(n + (n < 255));
		r->roleless[i] = n;
	}
}

static void set_upload(struct nvs_roles *r)
{
	const struct nvs_value_position *out = &r->regs[NVS_REG_OUT_HI];
	const struct nvs_value_position *width = &r->regs[NVS_REG_WIDTH];
	uint32_t launch = r->regs[NVS_REG_COMPLETION].dword;
	uint32_t data = launch + 1;

	if (!launch || data >= NVS_METHODS || r->role[launch] != NVS_ROLE_INLINE ||
	    r->role[data] != NVS_ROLE_INLINE_DATA || r->roleless[out->dword] < 2 ||
	    r->regs[NVS_REG_OUT_LO].dword != out->dword + 1 || r->roleless[width->dword] < 2 ||
	    r->regs[NVS_REG_LINES].dword != width->dword + 1)
		return;
	r->upload[0] = 1u << 29 | 2u << 16 | out->dword;
	r->upload[1] = 1u << 29 | 2u << 16 | width->dword;
	r->upload[2] = 1u << 29 | 1u << 16 | launch;
	r->upload[3] = 3u << 29 | data;
}

void nvs_roles_init(struct nvs_roles *r, const struct nvs_class *cls)
{
	static const char *const code[] = {"INVALIDATE_SHADER_CACHES_NO_WFI",
					   "INVALIDATE_SHADER_CACHES"};

	memset(r, 0, sizeof(*r));
	r->cls = cls;
	for (size_t i = 0; i < sizeof(role_names) / sizeof(role_names[0]); i++) {
		const struct nvs_method *m;

		if (!(role_names[i].kinds >> cls->kind & 1))
			continue;
		m = nvs_method_by_name(cls, role_names[i].method);
		if (m)
			set_role(r, m, role_names[i].role);
	}
	set_places(r, cls);
	if (cls->kind == NVS_KIND_COMPUTE || cls->kind == NVS_KIND_3D) {
		set_cache_roles(r, cls);
		for (int i = 0; i < 2; i++) {
			const struct nvs_method *m = nvs_method_by_name(cls, code[i]);

			r->code_method[i] = m ? m->offset : 0;
		}
	}
	set_quiet(r);
	set_upload(r);
}
