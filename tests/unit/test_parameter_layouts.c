/* SPDX-License-Identifier: MIT */
/* Where parameters are, by a cubin's table and by entries of PTX, also of damaged text. */
/* LINK: decode sass decode/analysis/parameter_layouts.o decode/analysis/parameter_words.o */
/* LINK: decode/analysis/image_code.o decode/analysis/memory_ranges.o */
#include <string.h>
#include "decode/analysis/parameter_layouts.h"
#include "tests/unit/expect.h"

/* "number:offset+size ..."; "-": unknown */
static const char *layout(const struct nvs_parameter_layouts *l, const char *kernel)
{
	const struct nvs_parameter_layout *found = nvs_parameter_layouts_find(l, kernel);
	static char text[512];
	char *at = text;

	strcpy(text, found ? "" : "-");
	for (uint32_t i = 0; found && i < found->n; i++)
		at += sprintf(at, "%u:%u+%u ", found->list[i].number, found->list[i].offset,
			      found->list[i].size);
	return text;
}

static const char ptx[] = ".version 8.0\n.target sm_90\n"
			  ".visible .entry first(\n"
			  "	.param .u64 first_0, // an address\n"
			  "	.param .u32 first_1,\n"
			  "	.param .align 8 .b8 first_2[24], /* a structure, by value */\n"
			  "	.param .u8 first_3,\n"
			  "	.param .u64 .ptr .global .align 128 first_4\n"
			  ")\n{ ret; }\n"
			  ".entry second() { ret; }\n"
			  ".entry third .maxntid 32 { ret; }\n"
			  ".entry strange(.param .b7 x) { ret; }\n"
			  ".entry huge(.param .b8 x[99999999999]) { ret; }\n"
			  ".entry cut(.param .u64 x, .param .u32";

static void test_ptx(void)
{
	struct nvs_parameter_layouts l = {.images = NULL};

	EXPECT_EQ(nvs_parameter_layouts_ptx(&l, ptx, sizeof(ptx) - 1), 0);
	EXPECT_STR(layout(&l, "first"), "0:0+8 1:8+4 2:16+24 3:40+1 4:48+8 ");
	EXPECT_STR(layout(&l, "second"), "");
	EXPECT_STR(layout(&l, "third"), "");
	EXPECT_STR(layout(&l, "strange"), "-");
	EXPECT_STR(layout(&l, "huge"), "-");
	EXPECT_STR(layout(&l, "other"), "-");
	for (size_t n = 0; n < sizeof(ptx) - 1; n++) /* every beginning of it */
		EXPECT_EQ(nvs_parameter_layouts_ptx(&l, ptx, n), 0);
	EXPECT_STR(layout(&l, "second"), "");
	nvs_parameter_layouts_free(&l);
}

static void test_several(void)
{
	static const char one[] = ".entry k(.param .u32 a)", other[] = ".entry k(.param .u64 a)";
	struct nvs_parameter_layouts l = {.images = NULL};

	EXPECT_EQ(nvs_parameter_layouts_ptx(&l, one, sizeof(one) - 1), 0);
	EXPECT_EQ(nvs_parameter_layouts_ptx(&l, one, sizeof(one) - 1), 0);
	EXPECT_STR(layout(&l, "k"), "0:0+4 ");
	EXPECT_EQ(nvs_parameter_layouts_ptx(&l, other, sizeof(other) - 1), 0);
	EXPECT_STR(layout(&l, "k"), "-");
	nvs_parameter_layouts_free(&l);
}

static void test_cubin(void)
{
	FILE *f = fopen("tests/sass/data/replayed-sm_90.cubin", "rb");
	struct nvs_parameter_layouts l = {.images = NULL};
	static uint8_t bytes[1 << 16];
	size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;

	EXPECT(n > 1000);
	if (f)
		fclose(f);
	EXPECT_EQ(nvs_parameter_layouts_cubin(&l, bytes, n), 0);
	EXPECT_STR(layout(&l, "spans"), "0:0+24 1:24+4 ");
	EXPECT_STR(layout(&l, "packs"), "0:0+16 ");
	EXPECT_STR(layout(&l, "nothing"), "");
	for (size_t cut = 0; cut < n; cut += 97)
		EXPECT_EQ(nvs_parameter_layouts_cubin(&l, bytes, cut), 0);
	nvs_parameter_layouts_free(&l);
}

int main(void)
{
	test_ptx();
	test_several();
	test_cubin();
	return expect_done();
}
