/* SPDX-License-Identifier: MIT */
/* LINK: preload trap */
/* The driver's interface in every known release: what the library takes for the form of each
 * structure, against what the headers of the release say (data/driver_layouts.tsv). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "preload/rm/abi.h"
#include "tests/unit/expect.h"

#define DATA "tests/unit/data/driver_layouts.tsv"

static char releases[256][16];
static unsigned nreleases;
static unsigned rows;

/* What uses a structure. */
static const struct {
	const char *structure;
	unsigned escape;
	uint16_t classes[5];
	const struct nvs_abi_structure *forms;
} uses[] = {
	{"NVOS00_PARAMETERS", NVS_ESC_FREE, {0}, NULL},
	{"nv_ioctl_nvos02_parameters_with_fd", NVS_ESC_ALLOC_MEMORY, {0}, NULL},
	{"NVOS21_PARAMETERS", NVS_ESC_ALLOC, {0}, NULL},
	{"NVOS64_PARAMETERS", NVS_ESC_ALLOC, {0}, NULL},
	{"NVOS32_PARAMETERS", NVS_ESC_VID_HEAP_CONTROL, {0}, NULL},
	{"nv_ioctl_nvos33_parameters_with_fd", NVS_ESC_MAP_MEMORY, {0}, NULL},
	{"NVOS34_PARAMETERS", NVS_ESC_UNMAP_MEMORY, {0}, NULL},
	{"NVOS46_PARAMETERS", NVS_ESC_MAP_MEMORY_DMA, {0}, NULL},
	{"NVOS47_PARAMETERS", NVS_ESC_UNMAP_MEMORY_DMA, {0}, NULL},
	{"NVOS54_PARAMETERS", NVS_ESC_CONTROL, {0}, NULL},
	{"NVOS55_PARAMETERS", NVS_ESC_DUP_OBJECT, {0}, NULL},
	{"NVOS56_PARAMETERS", NVS_ESC_UPDATE_DEVICE_MAPPING_INFO, {0}, NULL},
	{"NV0005_ALLOC_PARAMETERS", 0, {0x05, 0x79}, NULL},
	{"NV_MEMORY_ALLOCATION_PARAMS", 0, {0x3e, 0x3f, 0x40, 0x50a0}, NULL},
	{"NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS", 0, {0x70}, NULL},
	{"NV_OS_DESC_MEMORY_ALLOCATION_PARAMS", 0, {0x71}, NULL},
	{"NV0080_ALLOC_PARAMETERS", 0, {0x80}, NULL},
	{"NV00DE_ALLOC_PARAMETERS", 0, {0xde}, NULL},
	{"NV00F8_ALLOCATION_PARAMETERS", 0, {0xf8}, NULL},
	{"NV00F9_ALLOCATION_PARAMETERS", 0, {0xf9}, NULL},
	{"NV00FB_ALLOCATION_PARAMETERS", 0, {0xfb}, NULL},
	{"NV00FD_ALLOCATION_PARAMETERS", 0, {0xfd}, NULL},
	{"NV2080_ALLOC_PARAMETERS", 0, {0x2080}, NULL},
	{"NV_CTXSHARE_ALLOCATION_PARAMETERS", 0, {0x9067}, NULL},
	{"NV_VASPACE_ALLOCATION_PARAMETERS", 0, {0x90f1}, NULL},
	{"NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS", 0, {0xa06c}, NULL},
	{"NV_HOPPER_USERMODE_A_PARAMS", 0, {0xc661, 0xc761}, NULL},
	{"NVB0B5_ALLOCATION_PARAMETERS", 0, {0xc0b5, 0xc8b5, 0xcab5}, NULL},
	{"NV_CHANNEL_ALLOC_PARAMS",
	 0,
	 {0xc36f, 0xc56f, 0xc86f, 0xc96f, 0xca6f},
	 &nvs_abi_NV_CHANNEL_ALLOC_PARAMS},
	{"NV_CHANNELGPFIFO_ALLOCATION_PARAMETERS",
	 0,
	 {0xc36f, 0xc56f, 0xc86f, 0xc96f, 0xca6f},
	 &nvs_abi_NV_CHANNEL_ALLOC_PARAMS},
	{"UVM_FREE_PARAMS", 0, {0}, &nvs_abi_UVM_FREE_PARAMS},
	{"UVM_MAP_EXTERNAL_ALLOCATION_PARAMS", 0, {0}, &nvs_abi_UVM_MAP_EXTERNAL_ALLOCATION_PARAMS},
	{"UVM_ALLOC_SEMAPHORE_POOL_PARAMS", 0, {0}, &nvs_abi_UVM_ALLOC_SEMAPHORE_POOL_PARAMS},
};

static const char *const members[NVS_ABI_MEMBERS] = {
	[NVS_AT_status] = "status",
	[NVS_AT_dmaOffset] = "dmaOffset",
	[NVS_AT_hUserdMemory] = "hUserdMemory",
	[NVS_AT_userdOffset] = "userdOffset",
	[NVS_AT_engineType] = "engineType",
	[NVS_AT_gpuAttributesCount] = "gpuAttributesCount",
	[NVS_AT_rmCtrlFd] = "rmCtrlFd",
	[NVS_AT_hClient] = "hClient",
	[NVS_AT_hMemory] = "hMemory",
	[NVS_AT_rmStatus] = "rmStatus",
	[NVS_AT_length] = "length",
};

/* The size of each structure in a release, which tells forms of an escape apart. */
static unsigned size_in[sizeof(uses) / sizeof(uses[0])][256];

static void check_size(unsigned use, unsigned r, unsigned size)
{
	uint32_t release = nvs_abi_release(releases[r]);

	size_in[use][r] = size;
	if (uses[use].escape)
		EXPECT(nvs_abi_escape_form(release, uses[use].escape, size) != NULL);
	for (int i = 0; i < 5 && uses[use].classes[i]; i++)
		EXPECT_EQ(nvs_abi_params_size(release, uses[use].classes[i]), size);
	if (uses[use].forms)
		EXPECT_EQ(nvs_abi_form(uses[use].forms, release)->size, size);
}

static void check_member(unsigned use, unsigned r, const char *name, unsigned offset)
{
	uint32_t release = nvs_abi_release(releases[r]);
	const struct nvs_abi_form *form =
		uses[use].escape ? nvs_abi_escape_form(release, uses[use].escape, size_in[use][r])
				 : nvs_abi_form(uses[use].forms, release);
	unsigned member = 0;

	name += strncmp(name, "params.", 7) ? 0 : 7;
	while (member < NVS_ABI_MEMBERS && strcmp(members[member], name))
		member++;
	if (member < NVS_ABI_MEMBERS && form && nvs_abi_at(form, member) != offset) {
		printf("%s: %s.%s is at %u, not %u\n", releases[r], uses[use].structure, name,
		       nvs_abi_at(form, member), offset);
		expect_failed++;
	} else {
		expect_passed++;
	}
}

static void check_row(const char *structure, const char *member, unsigned value, uint32_t first,
		      uint32_t last)
{
	unsigned use = 0;

	while (use < sizeof(uses) / sizeof(uses[0]) && strcmp(uses[use].structure, structure))
		use++;
	EXPECT(use < sizeof(uses) / sizeof(uses[0]));
	for (unsigned r = 0; r < nreleases && use < sizeof(uses) / sizeof(uses[0]); r++) {
		uint32_t release = nvs_abi_release(releases[r]);

		if (release < first || release > last)
			continue;
		if (*member == '-')
			check_size(use, r, value);
		else
			check_member(use, r, member, value);
	}
	rows++;
}

static void test_all_releases(void)
{
	char line[512], structure[64], member[64], first[16], last[16];
	FILE *f = fopen(DATA, "r");
	unsigned value;

	EXPECT(f != NULL);
	/* Twice: sizes come first in the second round. */
	for (int round = 0; f && round < 2; round++) {
		nreleases = round ? nreleases : 0;
		rewind(f);
		while (fgets(line, sizeof(line), f)) {
			if (!round && sscanf(line, "release\t%15s", releases[nreleases]) == 1)
				nreleases++;
			else if (round && *line != '#' &&
				 sscanf(line, "%63s %63s %u %15s %15s", structure, member, &value,
					first, last) == 5)
				check_row(structure, member, value, nvs_abi_release(first),
					  nvs_abi_release(last));
		}
	}
	if (f)
		fclose(f);
	printf("%u releases, %u facts\n", nreleases, rows);
	EXPECT_EQ(nreleases, 203);
	EXPECT(rows > 100);
	EXPECT_EQ(nvs_abi_newest, nvs_abi_release(releases[nreleases - 1]));
}

static void test_numbers(void)
{
	uint32_t newest = nvs_abi_newest;

	EXPECT_EQ(nvs_abi_release("580.159.04"), NVS_RELEASE(580, 159, 4));
	EXPECT_EQ(nvs_abi_release("515.43"), NVS_RELEASE(515, 43, 0));
	EXPECT(nvs_abi_release("570.86.15") < nvs_abi_release("570.124.06"));
	EXPECT(nvs_abi_release("535.288.01") < nvs_abi_release("545.23.06"));
	EXPECT_EQ(nvs_abi_release("x86_64"), 0);
	EXPECT_EQ(nvs_abi_release("64"), 0);
	EXPECT_EQ(nvs_abi_release(""), 0);
	EXPECT_EQ(nvs_abi_release("12.2.0"), 0); /* a compiler's */
	EXPECT(nvs_abi_knows_uvm(0x30000001) && nvs_abi_knows_uvm(80) && nvs_abi_knows_uvm(2047));
	EXPECT(!nvs_abi_knows_uvm(81) && !nvs_abi_knows_uvm(0) && !nvs_abi_knows_uvm(52));
	EXPECT(nvs_abi_knows_escape(0x27) && nvs_abi_knows_escape(0xda) &&
	       !nvs_abi_knows_escape(0xdb) && !nvs_abi_knows_escape(0));
	EXPECT(nvs_abi_follows_escape(NVS_ESC_ALLOC) && !nvs_abi_follows_escape(0x32));
	/* A release after all: as the newest. One between: as the last before. */
	EXPECT_EQ(nvs_abi_params_size(NVS_RELEASE(999, 1, 1), 0xc86f),
		  nvs_abi_params_size(newest, 0xc86f));
	EXPECT_EQ(nvs_abi_form(&nvs_abi_UVM_FREE_PARAMS, NVS_RELEASE(580, 159, 4))->size, 24);
	/* Sizes that no release has, and the form of another release. */
	EXPECT(!nvs_abi_escape_form(newest, NVS_ESC_FREE, 20));
	EXPECT(!nvs_abi_escape_form(newest, 0x32, 16));
	EXPECT_EQ(
		nvs_abi_at(nvs_abi_escape_form(newest, NVS_ESC_MAP_MEMORY_DMA, 56), NVS_AT_status),
		48);
	EXPECT_EQ(nvs_abi_params_size(newest, 0xcbc0), 0);
	EXPECT(!nvs_abi_knows_class(0xcbc0) && !nvs_abi_knows_class(0x1003e));
}

int main(void)
{
	test_numbers();
	test_all_releases();
	return expect_done();
}
