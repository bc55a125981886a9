/* SPDX-License-Identifier: MIT */
/* LINK: decode */
/* Launch descriptors: real ones from an H200, and one of each version with every field of its
 * header. */
#include <stdlib.h>
#include "decode/gpu/qmd.h"
#include "tests/unit/expect.h"

/* tile<<<dim3(3,2,1), dim3(32,32,1)>>>, with 4 KiB of static shared memory. */
static const uint32_t tile[96] = {
	0x113f0000, 0,		0,	    0,		0,	    0,	    0,
	0,	    0,		0,	    3,		0x190000,   0,	    0x10300011,
	0x204e640,  0,		0x90000000, 0x3000640,	0xbc140040, 0x5e85, 0x46379fc,
	2,	    6,		0,	    0,		0,	    0,	    0,
	0,	    0,		0,	    0,		3,	    2,	    1,
	0x80010000, 0x200020,	0x8100001,  0x837a0b00, 0x7f18,	    0,	    0,
	0x18837a0b, 0x16007f,	0,	    0,		0x40,	    0,	    0x62028000,
	0x18001fc,  0x62080400, 0x48001fc,  0,		0,	    0,	    0,
	0,	    0,		0x62028000, 0x18001fc,	0,	    0,	    0x62080000,
	0x800001fc,
};

/* The auxiliary descriptor beside it. */
static const uint32_t auxiliary[96] = {
	0x800002, 0,	     0, 0, 0,	      0, 0, 0,	       0,    0,
	0,	  0x4030000, 0, 0, 0x204e608, 0, 0, 0x2000000, 0x40, [36] = 0x10001,
	0x80001,
};

/* A node of a graph: saxpy<<<1, 32>>>. */
static const uint32_t node[96] = {
	0x413f0000,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0x13,
	0x4000000,
	0,
	0x10000011,
	0,
	0,
	0x90000000,
	0x3000640,
	0x3c040040,
	0x9e89,
	0x4627fec,
	2,
	1,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	0,
	1,
	1,
	1,
	0x10000,
	0x10020,
	0x8100001,
	0x837a0000,
	0x7f18,
	0,
	0,
	0x18837a00,
	0x14007f,
	0,
	0,
	0,
	0,
	0x6208045c,
	0x18001fc,
	0x62080400,
	0x48001fc,
	[62] = 0x62080000,
	0x800001fc,
};

static void bits(void)
{
	static const uint32_t w[] = {0x89abcdef, 0x01234567, 0xffffffff};

	EXPECT_EQ(nvs_qmd_bits(w, 3, 31, 0), 0x89abcdef);
	EXPECT_EQ(nvs_qmd_bits(w, 3, 63, 0), 0x0123456789abcdefull);
	EXPECT_EQ(nvs_qmd_bits(w, 3, 35, 28), 0x78);
	EXPECT_EQ(nvs_qmd_bits(w, 3, 95, 32), 0xffffffff01234567ull);
	EXPECT_EQ(nvs_qmd_bits(w, 3, 127, 96), 0);
	EXPECT_EQ(nvs_qmd_bits(w, 3, 100, 92), 0xf);
	EXPECT_EQ(nvs_qmd_bits(w, 3, 4, 4), 0);
}

static void real_ones(struct nvs_qmd_layouts *l)
{
	struct nvs_qmd q;

	EXPECT(nvs_qmd_classify(l, tile, 96, 0xcbc0) && nvs_qmd_decode(l, tile, 96, 0xcbc0, &q));
	EXPECT_EQ(q.major, 4);
	EXPECT_EQ(q.type, NVS_QMD_GRID_CTA);
	EXPECT(nvs_qmd_is_launch(&q));
	EXPECT(q.grid[0] == 3 && q.grid[1] == 2 && q.grid[2] == 1);
	EXPECT(q.block[0] == 32 && q.block[1] == 32 && q.block[2] == 1);
	EXPECT_EQ(q.registers, 16);
	EXPECT_EQ(q.shared_bytes, 5120); /* 4096 and the 1024 that the system keeps */
	EXPECT_EQ(q.program, 0x7f18837a0b00ull);
	EXPECT_EQ(q.nbanks, 8);
	EXPECT_EQ(q.banks[0].address, 0x7f1880a00000ull);
	EXPECT_EQ(q.banks[0].bytes, 0x300);
	EXPECT_EQ(q.banks[7].address, 0x7f1882000000ull);
	EXPECT_EQ(q.banks[7].bytes, 0x10000);
	EXPECT_EQ(q.banks[2].bytes, 0);
	EXPECT(q.releases[0].enable && !q.releases[1].enable && !q.releases[0].reduction);
	EXPECT_EQ(q.releases[0].address, 0x2046379fcull);
	EXPECT_EQ(q.releases[0].payload, 6);
	EXPECT(!q.releases[0].timestamp);
	EXPECT(q.dependents[0].enable && !q.dependents[1].enable);
	EXPECT_EQ(q.dependents[0].address, 0x204e64000ull);
	EXPECT_EQ(q.dependents[0].action, NVS_QMD_DECREMENT_DEPENDENCE);
	EXPECT_EQ(q.dependence, 0);

	EXPECT(nvs_qmd_classify(l, auxiliary, 96, 0xcbc0));
	EXPECT(nvs_qmd_decode(l, auxiliary, 96, 0xcbc0, &q));
	EXPECT_EQ(q.type, NVS_QMD_GRID_NULL);
	EXPECT(!nvs_qmd_is_launch(&q));
	EXPECT_EQ(q.dependence, 2);
	EXPECT(q.self_copy && !q.require_scheduling);
	EXPECT_EQ(q.dependents[0].action, NVS_QMD_SCHEDULE);

	EXPECT(nvs_qmd_classify(l, node, 96, 0xcbc0) && nvs_qmd_decode(l, node, 96, 0xcbc0, &q));
	EXPECT(q.require_scheduling && q.self_copy && !q.dependents[0].enable);
	EXPECT(q.releases[0].reduction);
	EXPECT_EQ(q.releases[0].reduction_op, 0);
}

static void no_descriptors(struct nvs_qmd_layouts *l)
{
	uint32_t words[96] = {0};
	struct nvs_qmd q;

	EXPECT(!nvs_qmd_classify(l, words, 96, 0xcbc0));
	for (int i = 0; i < 96; i++)
		words[i] = 0x3f800000u + (uint32_t)i; /* floats of a program */
	words[18] = 0x40;
	EXPECT(!nvs_qmd_classify(l, words, 96, 0xcbc0));
	memcpy(words, tile, sizeof(words));
	EXPECT(!nvs_qmd_classify(l, words, 64, 0xcbc0)); /* too short for its version */
	EXPECT(!nvs_qmd_classify(l, words, 96, 0xc5c0)); /* no version of that class */
	words[18] = 0xbc1400ff; /* no version there is */
	EXPECT(!nvs_qmd_decode(l, words, 96, 0xcbc0, &q));
	EXPECT(!nvs_qmd_version_of(words, 63, 0xcbc0));
}

static void put(uint32_t *words, const struct nvs_qmd_version *v, uint32_t cls, const char *names,
		uint64_t value)
{
	char name[64];

	for (const char *p = names; *p; p += strcspn(p, " "), p += *p == ' ') {
		const struct nvs_qmd_field *f;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, " "), p);
		f = nvs_qmd_field_by_name(v, cls, name);
		if (!f)
			continue;
		for (uint32_t bit = f->lo; bit <= f->hi; bit++) {
			if (value >> (bit - f->lo) & 1)
				words[bit / 32] |= 1u << bit % 32;
			else
				words[bit / 32] &= ~(1u << bit % 32);
		}
		return;
	}
	EXPECT(!"a field under one of these names");
	printf("%u_%u %04x: %s\n", v->major, v->minor, cls, names);
}

/* Every version of every class gives back what was put in under its own names. */
static void all_versions(struct nvs_qmd_layouts *l)
{
	for (uint32_t i = 0; i < nvs_nqmd_versions; i++) {
		const struct nvs_qmd_version *v = &nvs_qmd_versions[i];
		bool half = v->major == 5 && v->minor == 1; /* no launch in that one */

		for (uint32_t c = 0; c < v->nclasses && !half; c++) {
			uint32_t words[96] = {0}, cls = v->classes[c];
			struct nvs_qmd q;

			put(words, v, cls, "QMD_MAJOR_VERSION", v->major);
			put(words, v, cls, "QMD_MINOR_VERSION QMD_VERSION", v->minor);
			if (v->major >= 4)
				put(words, v, cls, "QMD_TYPE", NVS_QMD_GRID_CTA);
			put(words, v, cls, "GRID_WIDTH CTA_RASTER_WIDTH", 70001);
			put(words, v, cls, "GRID_HEIGHT CTA_RASTER_HEIGHT", 22);
			put(words, v, cls, "GRID_DEPTH CTA_RASTER_DEPTH", 33);
			put(words, v, cls, "CTA_THREAD_DIMENSION0", 128);
			put(words, v, cls, "CTA_THREAD_DIMENSION1", 4);
			put(words, v, cls, "CTA_THREAD_DIMENSION2", 2);
			put(words, v, cls, "REGISTER_COUNT REGISTER_COUNT_V", 40);
			if (v->major == 5)
				put(words, v, cls, "SHARED_MEMORY_SIZE_SHIFTED7", 0x2000 >> 7);
			else
				put(words, v, cls, "SHARED_MEMORY_SIZE", 0x2000);
			if (v->major == 5)
				put(words, v, cls, "PROGRAM_ADDRESS_LOWER_SHIFTED4", 0x1234500);
			else
				put(words, v, cls, "PROGRAM_ADDRESS_LOWER PROGRAM_OFFSET",
				    0x12345000);
			EXPECT(nvs_qmd_decode(l, words, v->bytes / 4, cls, &q));
			EXPECT_EQ(q.major, v->major);
			EXPECT_EQ(q.minor, v->minor);
			EXPECT(q.grid[0] == 70001 && q.grid[1] == 22 && q.grid[2] == 33);
			EXPECT(q.block[0] == 128 && q.block[1] == 4 && q.block[2] == 2);
			EXPECT_EQ(q.registers, 40);
			EXPECT_EQ(q.shared_bytes, 0x2000);
			EXPECT_EQ(q.program, 0x12345000);
			EXPECT_EQ(q.type, NVS_QMD_GRID_CTA);
			EXPECT(nvs_qmd_is_launch(&q));
		}
	}
}

int main(void)
{
	struct nvs_qmd_layouts *l = nvs_qmd_layouts_new();

	bits();
	real_ones(l);
	no_descriptors(l);
	all_versions(l);
	nvs_qmd_layouts_free(l);
	return expect_done();
}
