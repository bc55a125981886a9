/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/*
 * The class tables as built, compared with counts of NVIDIA's published headers that were made
 * independently; then look-up by offset and by name, fallbacks, and facts known from real streams.
 */
#include <stdio.h>
#include <string.h>
#include "decode/gpu/class.h"
#include "tests/unit/expect.h"

static const struct {
	uint16_t id;
	const char *name, *kind;
	uint32_t methods, fields, values;
} headers[] = {
	{0xa0c0, "KEPLER_COMPUTE_A", "compute", 149, 201, 113},
	{0xa1c0, "KEPLER_COMPUTE_B", "compute", 155, 208, 117},
	{0xb0c0, "MAXWELL_COMPUTE_A", "compute", 173, 225, 115},
	{0xb1c0, "MAXWELL_COMPUTE_B", "compute", 181, 233, 121},
	{0xc0c0, "PASCAL_COMPUTE_A", "compute", 190, 242, 121},
	{0xc1c0, "PASCAL_COMPUTE_B", "compute", 193, 248, 127},
	{0xc3c0, "VOLTA_COMPUTE_A", "compute", 166, 220, 117},
	{0xc5c0, "TURING_COMPUTE_A", "compute", 169, 229, 131},
	{0xc6c0, "AMPERE_COMPUTE_A", "compute", 154, 214, 141},
	{0xc7c0, "AMPERE_COMPUTE_B", "compute", 179, 255, 201},
	{0xc9c0, "ADA_COMPUTE_A", "compute", 179, 255, 201},
	{0xcbc0, "HOPPER_COMPUTE_A", "compute", 179, 254, 197},
	{0xcdc0, "BLACKWELL_COMPUTE_A", "compute", 171, 237, 167},
	{0xcec0, "BLACKWELL_COMPUTE_B", "compute", 180, 251, 181},
	{0xa0b5, "KEPLER_DMA_COPY_A", "dma-copy", 35, 62, 125},
	{0xb0b5, "MAXWELL_DMA_COPY_A", "dma-copy", 35, 63, 123},
	{0xc0b5, "PASCAL_DMA_COPY_A", "dma-copy", 35, 65, 121},
	{0xc1b5, "PASCAL_DMA_COPY_B", "dma-copy", 39, 71, 123},
	{0xc3b5, "VOLTA_DMA_COPY_A", "dma-copy", 39, 74, 125},
	{0xc5b5, "TURING_DMA_COPY_A", "dma-copy", 39, 75, 128},
	{0xc6b5, "AMPERE_DMA_COPY_A", "dma-copy", 39, 77, 126},
	{0xc7b5, "AMPERE_DMA_COPY_B", "dma-copy", 43, 82, 139},
	{0xc8b5, "HOPPER_DMA_COPY_A", "dma-copy", 55, 103, 158},
	{0xc9b5, "BLACKWELL_DMA_COPY_A", "dma-copy", 60, 110, 170},
	{0xcab5, "BLACKWELL_DMA_COPY_B", "dma-copy", 52, 94, 161},
	{0xa040, "KEPLER_INLINE_TO_MEMORY_A", "inline-to-memory", 72, 82, 51},
	{0xa140, "KEPLER_INLINE_TO_MEMORY_B", "inline-to-memory", 72, 82, 51},
	{0x906f, "GF100_CHANNEL_GPFIFO", "host", 14, 23, 26},
	{0xa06f, "KEPLER_CHANNEL_GPFIFO_A", "host", 14, 23, 26},
	{0xa16f, "KEPLER_CHANNEL_GPFIFO_B", "host", 15, 26, 37},
	{0xb06f, "MAXWELL_CHANNEL_GPFIFO_A", "host", 15, 27, 41},
	{0xc06f, "PASCAL_CHANNEL_GPFIFO_A", "host", 19, 38, 68},
	{0xc36f, "VOLTA_CHANNEL_GPFIFO_A", "host", 23, 54, 106},
	{0xc46f, "TURING_CHANNEL_GPFIFO_A", "host", 23, 54, 106},
	{0xc56f, "AMPERE_CHANNEL_GPFIFO_A", "host", 22, 54, 109},
	{0xc76f, "AMPERE_CHANNEL_GPFIFO_B", "host", 22, 55, 112},
	{0xc86f, "HOPPER_CHANNEL_GPFIFO_A", "host", 23, 55, 112},
	{0xc96f, "BLACKWELL_CHANNEL_GPFIFO_A", "host", 16, 45, 95},
	{0xca6f, "BLACKWELL_CHANNEL_GPFIFO_B", "host", 6, 5, 4},
	{0x902d, "FERMI_TWOD_A", "twod", 180, 243, 258},
	{0xa097, "KEPLER_A", "3d", 562, 888, 1771},
	{0xb097, "MAXWELL_A", "3d", 571, 919, 1871},
	{0xc097, "PASCAL_A", "3d", 607, 981, 1967},
	{0xc397, "VOLTA_A", "3d", 614, 999, 1994},
	{0xc597, "TURING_A", "3d", 655, 1077, 2269},
	{0xc697, "AMPERE_A", "3d", 655, 1077, 2269},
	{0xc797, "AMPERE_B", "3d", 666, 1105, 2356},
	{0xc997, "ADA_A", "3d", 666, 1105, 2356},
	{0xcb97, "HOPPER_A", "3d", 667, 1106, 2352},
	{0xcd97, "BLACKWELL_A", "3d", 665, 1105, 2344},
	{0xce97, "BLACKWELL_B", "3d", 671, 1111, 2344},
};

static const struct {
	uint8_t major, minor;
	uint16_t cls;
	uint32_t fields, values, bits;
} descriptors[] = {
	{0, 6, 0xa0c0, 113, 76, 2048},	{0, 6, 0xa1c0, 113, 76, 2048},
	{0, 6, 0xb0c0, 113, 76, 2048},	{0, 6, 0xb1c0, 113, 76, 2048},
	{1, 6, 0xa0c0, 120, 86, 2048},	{1, 7, 0xa0c0, 118, 88, 2048},
	{1, 7, 0xa1c0, 119, 90, 2048},	{1, 7, 0xb0c0, 120, 92, 2048},
	{1, 7, 0xb1c0, 120, 92, 2048},	{1, 7, 0xc0c0, 120, 92, 2048},
	{1, 7, 0xc1c0, 120, 92, 2048},	{2, 0, 0xc0c0, 116, 81, 2048},
	{2, 0, 0xc1c0, 116, 81, 2048},	{2, 1, 0xc0c0, 116, 81, 2048},
	{2, 1, 0xc1c0, 116, 81, 2048},	{2, 2, 0xc3c0, 119, 79, 2048},
	{2, 2, 0xc4c0, 119, 79, 2048},	{2, 3, 0xc5c0, 121, 79, 2048},
	{2, 3, 0xc6c0, 121, 81, 2048},	{2, 3, 0xc7c0, 121, 81, 2048},
	{2, 4, 0xc6c0, 129, 97, 2048},	{2, 4, 0xc7c0, 129, 97, 2048},
	{2, 4, 0xc9c0, 114, 97, 2048},	{3, 0, 0xc6c0, 139, 137, 2048},
	{3, 0, 0xc7c0, 144, 140, 2048}, {3, 0, 0xc9c0, 135, 140, 2048},
	{3, 0, 0xcbc0, 133, 140, 2048}, {4, 0, 0xcbc0, 134, 103, 3072},
	{4, 1, 0xcdc0, 142, 103, 3072}, {4, 1, 0xcec0, 142, 103, 3072},
	{5, 0, 0xcdc0, 154, 131, 3072}, {5, 0, 0xcec0, 154, 131, 3072},
	{5, 1, 0xcdc0, 132, 143, 1184}, {5, 1, 0xcec0, 132, 143, 1184},
};

static void count_methods(void)
{
	/* And cd40, a name alone; more is a table of somebody's own. */
	EXPECT(nvs_nclasses > sizeof(headers) / sizeof(headers[0]));
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		const struct nvs_class *cls = nvs_class_find(headers[i].id);
		uint32_t fields = 0, values = 0;

		EXPECT(cls);
		if (!cls)
			continue;
		for (uint32_t k = 0; k < cls->nmethods; k++) {
			const struct nvs_method *m = &nvs_methods[cls->methods + k];

			fields += m->nfields;
			for (uint32_t f = 0; f < m->nfields; f++)
				values += nvs_fields[m->fields + f].nvalues;
		}
		EXPECT_STR(nvs_str(cls->name), headers[i].name);
		EXPECT_STR(nvs_class_kind_name(cls->kind), headers[i].kind);
		EXPECT_EQ(cls->nmethods, headers[i].methods);
		EXPECT_EQ(fields, headers[i].fields);
		EXPECT_EQ(values, headers[i].values);
		EXPECT(nvs_class_by_name(headers[i].name) == cls);
	}
}

static void count_descriptors(void)
{
	for (size_t i = 0; i < sizeof(descriptors) / sizeof(descriptors[0]); i++) {
		const struct nvs_qmd_version *v = nvs_qmd_version_find(descriptors[i].major,
								       descriptors[i].minor);
		uint32_t bit, fields = 0, values = 0;

		EXPECT(v);
		if (!v)
			continue;
		bit = nvs_qmd_class_bit(v, descriptors[i].cls);
		EXPECT(bit);
		for (uint32_t k = 0; k < v->nfields; k++) {
			const struct nvs_qmd_field *f = &nvs_qmd_fields[v->fields + k];

			if (f->classes && !(f->classes & bit))
				continue;
			fields++;
			for (uint32_t n = 0; n < f->nvalues; n++) {
				uint32_t of = nvs_values[f->values + n].classes;

				values += !of || of & bit;
			}
			EXPECT(f->lo <= f->hi && f->hi < descriptors[i].bits);
		}
		EXPECT_EQ(fields, descriptors[i].fields);
		EXPECT_EQ(values, descriptors[i].values);
	}
}

/* Every element of every array is found, unless another method starts at that very offset. */
static void find_all(void)
{
	for (uint32_t c = 0; c < nvs_nclasses; c++) {
		const struct nvs_class *cls = &nvs_classes[c];
		uint32_t wrong = 0, last = 0;

		for (uint32_t k = 0; k < cls->nmethods; k++) {
			const struct nvs_method *m = &nvs_methods[cls->methods + k];

			wrong += m->offset < last;
			last = m->offset;
			for (uint32_t i = 0; i < m->count; i++) {
				uint32_t offset = m->offset + i * m->stride;
				struct nvs_method_at at;

				if (!nvs_method_find(cls, offset, &at)) {
					wrong++;
				} else if (at.method != m) {
					/* Arrays whose length is only a bound may run into each
					 * other. */
					wrong += !m->bound && at.method->offset != offset;
				} else {
					wrong += at.index != i || at.cls != cls || at.assumed;
				}
			}
		}
		EXPECT_EQ(wrong, 0);
	}
}

/* Look-up by halves against the plain look at every method. */
static void find_like_the_simple_way(void)
{
	static const uint16_t ids[] = {0xcbc0, 0xc8b5, 0xcb97, 0x902d, 0xc36f, 0xa140};

	for (size_t c = 0; c < sizeof(ids) / sizeof(ids[0]); c++) {
		const struct nvs_class *cls = nvs_class_find(ids[c]);
		uint32_t wrong = 0;

		for (uint32_t offset = 0; offset < 0x4000; offset += 4) {
			struct nvs_method_at at;
			bool any = false;

			for (uint32_t k = 0; k < cls->nmethods; k++) {
				const struct nvs_method *m = &nvs_methods[cls->methods + k];

				for (uint32_t i = 0; i < m->count; i++)
					any |= m->offset + i * m->stride == offset;
			}
			wrong += nvs_method_find(cls, offset, &at) != any;
		}
		EXPECT_EQ(wrong, 0);
	}
}

static const char *name_at(uint32_t cls, uint32_t offset, uint32_t *index)
{
	struct nvs_method_at at;

	if (!nvs_method_find(nvs_class_find(cls), offset, &at))
		return "";
	if (index)
		*index = at.index;
	return nvs_str(at.method->name);
}

static const char *value_at(uint32_t cls, const char *method, const char *field, uint32_t word)
{
	const struct nvs_field *f =
		nvs_field_by_name(nvs_method_by_name(nvs_class_find(cls), method), field);
	const char *name = f ? nvs_value_name(f, nvs_field_get(f, word)) : NULL;

	return name ? name : "";
}

static void facts(void)
{
	uint32_t i = 99;

	EXPECT_STR(name_at(0xc7b5, 0x300, NULL), "LAUNCH_DMA");
	EXPECT_STR(name_at(0xc6c0, 0x2b4, NULL), "SEND_PCAS_A");
	EXPECT_STR(name_at(0xcbc0, 0x2c0, NULL), "SEND_SIGNALING_PCAS2_B");
	EXPECT_STR(name_at(0xcec0, 0x1b4, NULL), "LOAD_INLINE_DATA");
	EXPECT_STR(name_at(0xcbc0, 0x31c, NULL), "SET_INLINE_QMD_ADDRESS_B");
	EXPECT_STR(name_at(0xcbc0, 0x380c, &i), "CALL_MME_DATA");
	EXPECT_EQ(i, 1);
	EXPECT_STR(name_at(0xcbc0, 0x3bf8, &i), "CALL_MME_MACRO");
	EXPECT_EQ(i, 127);
	EXPECT_STR(name_at(0xcbc0, 0x320 + 4 * 95, &i), "LOAD_INLINE_QMD_DATA");
	EXPECT_EQ(i, 95);
	EXPECT_STR(name_at(0xc9c0, 0x320 + 4 * 95, NULL), ""); /* 64 of them there */
	EXPECT_STR(name_at(0xcbc0, 0x10c8, NULL), "");
	EXPECT_STR(value_at(0xc8b5, "LAUNCH_DMA", "DATA_TRANSFER_TYPE", 0x182), "NON_PIPELINED");
	EXPECT_STR(value_at(0xc8b5, "LAUNCH_DMA", "SEMAPHORE_TYPE", 0x14),
		   "RELEASE_SEMAPHORE_WITH_TIMESTAMP"); /* the first of two names */
	EXPECT_STR(value_at(0xc86f, "SEM_EXECUTE", "OPERATION", 0x1003), "ACQ_CIRC_GEQ");
	EXPECT_STR(value_at(0xc86f, "SEM_EXECUTE", "ACQUIRE_SWITCH_TSG", 0x1003), "EN");
	EXPECT_STR(value_at(0xcbc0, "SEND_SIGNALING_PCAS2_B", "PCAS_ACTION", 10),
		   "INVALIDATE_PREFETCH_COPY_SCHEDULE");
	EXPECT_STR(value_at(0xcbc0, "SEND_SIGNALING_PCAS2_B", "PCAS_ACTION", 4), "");
	EXPECT(nvs_format_by_name(nvs_class_find(0xc86f), "GP_ENTRY0_PB_EXTENDED_BASE_OPERAND"));
	EXPECT(!nvs_format_by_name(nvs_class_find(0xc76f), "GP_ENTRY0_PB_EXTENDED_BASE_OPERAND"));
	EXPECT(nvs_format_by_name(nvs_class_find(0xc36f), "GP_ENTRY1_PRIV"));
	EXPECT(!nvs_format_by_name(nvs_class_find(0xc46f), "GP_ENTRY1_PRIV"));
	EXPECT(!nvs_format_by_name(nvs_class_find(0xa1c0), "PARAMETERS_OFFSET"));
	EXPECT_EQ(nvs_format_by_name(nvs_class_find(0xc9c0), "PARAMETERS_OFFSET")->values, 0x160);
	EXPECT_EQ(nvs_format_by_name(nvs_class_find(0xcbc0), "PARAMETERS_OFFSET")->values, 0x210);
	EXPECT_EQ(nvs_format_by_name(nvs_class_find(0xcec0), "PARAMETERS_OFFSET")->values, 0x380);
}

static void fallbacks(void)
{
	struct nvs_method_at at;

	/* ca6f lists six methods; c96f has the host's old ones taken out, c86f still has them. */
	EXPECT(nvs_method_find(nvs_class_find(0xca6f), 0x6c, &at));
	EXPECT_EQ(at.cls->id, 0xca6f);
	EXPECT(!at.assumed);
	EXPECT(nvs_method_find(nvs_class_find(0xca6f), 0x20, &at));
	EXPECT_EQ(at.cls->id, 0xc96f);
	EXPECT(at.assumed);
	EXPECT(nvs_method_find(nvs_class_find(0xca6f), 0x10, &at));
	EXPECT_EQ(at.cls->id, 0xc86f);
	EXPECT_STR(nvs_str(at.method->name), "SEMAPHOREA");
	EXPECT(nvs_method_find(nvs_class_find(0xcd40), 0x1b0, &at));
	EXPECT_EQ(at.cls->id, 0xa140);
	EXPECT(at.assumed);
	EXPECT(!nvs_method_find(nvs_class_find(0xcd40), 0x2b4, &at));
	EXPECT(!at.method);
	EXPECT(!nvs_method_find(NULL, 0x100, &at));
}

static bool has_classes(uint32_t architecture, uint32_t implementation, uint32_t compute,
			uint32_t copy)
{
	const struct nvs_chip *chip = nvs_chip_find(architecture, implementation);

	return chip && chip->classes[NVS_KIND_COMPUTE] == compute &&
	       chip->classes[NVS_KIND_COPY] == copy;
}

static void names(void)
{
	EXPECT(nvs_class_by_name("cbc0") == nvs_class_find(0xcbc0));
	EXPECT(nvs_class_by_name("0xCBC0") == nvs_class_find(0xcbc0));
	EXPECT(nvs_class_by_name("hopper_compute_a") == nvs_class_find(0xcbc0));
	EXPECT(!nvs_class_by_name("cbc"));
	EXPECT(!nvs_class_by_name(""));
	EXPECT(!nvs_class_by_name("0x"));
	EXPECT(!nvs_class_by_name("cbc01"));
	EXPECT(!nvs_class_find(0xffff));
	EXPECT(!nvs_class_find(0));
	EXPECT(has_classes(0x140, 0, 0xc3c0, 0xc3b5));
	EXPECT(has_classes(0x160, 2, 0xc5c0, 0xc5b5));
	EXPECT(has_classes(0x170, 0, 0xc6c0, 0xc6b5));
	EXPECT(has_classes(0x170, 2, 0xc7c0, 0xc7b5));
	EXPECT(has_classes(0x180, 0, 0xcbc0, 0xc8b5));
	EXPECT(has_classes(0x190, 2, 0xc9c0, 0xc7b5));
	EXPECT(has_classes(0x1a0, 0, 0xcdc0, 0xc9b5));
	EXPECT(has_classes(0x1b0, 2, 0xcec0, 0xcab5));
	EXPECT(!nvs_chip_find(0x1ff, 0));
}

int main(void)
{
	count_methods();
	count_descriptors();
	find_all();
	find_like_the_simple_way();
	facts();
	fallbacks();
	names();
	return expect_done();
}
