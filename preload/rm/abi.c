/* SPDX-License-Identifier: MIT */
/* Layouts of kernel driver structures that differ between releases, as small tables. Covers
 * releases 515 to 620 of NVIDIA's open GPU kernel modules. */
#include <stddef.h>
#include "preload/rm/abi.h"

uint32_t nvs_abi_release(const char *text)
{
	uint32_t part[3] = {0, 0, 0};
	int n = 0;

	for (; n < 3; n++) {
		if (*text < '0' || *text > '9')
			break;
		while (*text >= '0' && *text <= '9' && part[n] < 100000)
			part[n] = part[n] * 10 + (uint32_t)(*text++ - '0');
		if (*text != '.') {
			n++;
			break;
		}
		text++;
	}
	if (n < 2 || part[0] < 100 || part[0] > 4095 || part[1] > 4095 || part[2] > 255)
		return 0;
	return NVS_RELEASE(part[0], part[1], part[2]);
}

bool nvs_abi_knows_escape(unsigned nr)
{
	static const uint8_t known[] = {
		0x27, 0x28, 0x29, 0x2a, 0x2b, 0x32, 0x33, 0x34, 0x35, 0x37, 0x38, 0x39, 0x41, 0x4a,
		0x4d, 0x4e, 0x4f, 0x52, 0x54, 0x56, 0x57, 0x58, 0x59, 0x5c, 0x5d, 0x5e, 0x5f, 0xc8,
		0xc9, 0xce, 0xcf, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xda,
	};

	for (size_t i = 0; i < sizeof(known); i++)
		if (known[i] == nr)
			return true;
	return false;
}

bool nvs_abi_knows_uvm(unsigned long nr)
{
	if (nr == NVS_UVM_INITIALIZE || nr == NVS_UVM_DEINITIALIZE || nr == 2047)
		return true;
	return nr >= 1 && nr <= 80 && nr != 8 && nr != 32 && !(nr >= 48 && nr <= 50) && nr != 52;
}

/* Offset of the status word, for the escapes where the parameters' size determines it. */
static const struct {
	uint16_t nr, size;
	int16_t status;
} forms[] = {
	{NVS_ESC_ALLOC_MEMORY, 56, 40},	     {NVS_ESC_FREE, 16, 12},
	{NVS_ESC_CONTROL, 32, 28},	     {NVS_ESC_DUP_OBJECT, 28, 24},
	{NVS_ESC_VID_HEAP_CONTROL, 184, 20}, {NVS_ESC_MAP_MEMORY, 56, 40},
	{NVS_ESC_UNMAP_MEMORY, 32, 24},	     {NVS_ESC_MAP_MEMORY_DMA, 56, 48},
	{NVS_ESC_MAP_MEMORY_DMA, 64, 56},    {NVS_ESC_UNMAP_MEMORY_DMA, 40, 32},
	{NVS_ESC_UNMAP_MEMORY_DMA, 48, 40},  {NVS_ESC_UPDATE_DEVICE_MAPPING_INFO, 40, 32},
};

static int alloc_status(uint32_t release, unsigned size)
{
	switch (size) {
	case 32:
		return release < NVS_RELEASE(535, 43, 2) ? 24 : 28;
	case 40:
		return release < NVS_RELEASE(525, 47, 4) ? 32 : 36;
	case 48:
		return 40;
	}
	return -1;
}

int nvs_abi_status(uint32_t release, unsigned nr, unsigned size)
{
	if (nr == NVS_ESC_ALLOC)
		return alloc_status(release, size);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].nr == nr && forms[i].size == size)
			return forms[i].status;
	return -1;
}

bool nvs_abi_follows_escape(unsigned nr)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].nr == nr)
			return true;
	return nr == NVS_ESC_ALLOC;
}

/* Sorted by class, then by the first release that uses the size, newest first. */
static const struct {
	uint16_t object_class, size;
	uint32_t since;
} params[] = {
	{0x0005, 24, 0},
	{NV01_MEMORY_SYSTEM, 128, NVS_RELEASE(545, 23, 6)},
	{NV01_MEMORY_SYSTEM, 120, 0},
	{NV01_MEMORY_LOCAL_PRIVILEGED, 128, NVS_RELEASE(545, 23, 6)},
	{NV01_MEMORY_LOCAL_PRIVILEGED, 120, 0},
	{NV01_MEMORY_LOCAL_USER, 128, NVS_RELEASE(545, 23, 6)},
	{NV01_MEMORY_LOCAL_USER, 120, 0},
	{NV01_MEMORY_VIRTUAL, 24, 0},
	{NV01_MEMORY_SYSTEM_OS_DESCRIPTOR, 40, 0},
	{0x0079, 24, 0},
	{NV01_DEVICE_0, 56, 0},
	{0x00de, 8, NVS_RELEASE(545, 23, 6)},
	{0x00de, 4, 0},
	{0x00f8, 48, NVS_RELEASE(535, 43, 2)},
	{0x00f8, 40, 0},
	{NV_MEMORY_FABRIC_IMPORT_V2, 64, NVS_RELEASE(550, 40, 7)},
	{NV_MEMORY_FABRIC_IMPORTED_REF, 32, NVS_RELEASE(550, 40, 7)},
	{0x00fd, 80, NVS_RELEASE(545, 23, 6)},
	{0x00fd, 40, 0},
	{NV20_SUBDEVICE_0, 4, 0},
	{NV50_MEMORY_VIRTUAL, 128, NVS_RELEASE(545, 23, 6)},
	{NV50_MEMORY_VIRTUAL, 120, 0},
	{FERMI_CONTEXT_SHARE_A, 12, 0},
	{FERMI_VASPACE_A, 56, NVS_RELEASE(580, 65, 6)},
	{FERMI_VASPACE_A, 48, 0},
	{KEPLER_CHANNEL_GROUP_A, 20, 0},
	{HOPPER_USERMODE_A, 2, 0},
	{BLACKWELL_USERMODE_A, 2, 0},
};

uint32_t nvs_abi_params_size(uint32_t release, uint32_t object_class)
{
	if (nvs_class_is_channel(object_class)) {
		if (release >= NVS_RELEASE(610, 43, 2))
			return 376;
		if (release >= NVS_RELEASE(570, 86, 15))
			return 368;
		return release >= NVS_RELEASE(535, 43, 8) && release != NVS_RELEASE(535, 54, 3)
			       ? 360
			       : 304;
	}
	/* Copy engine classes, Kepler to Blackwell. */
	if ((object_class & 0xff) == 0xb5 && object_class >= 0xa0b5)
		return 8;
	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++)
		if (params[i].object_class == object_class && release >= params[i].since)
			return params[i].size;
	return 0;
}

unsigned nvs_abi_uvm_map_tail(uint32_t release)
{
	return release < NVS_RELEASE(550, 40, 53) ? 1176 : 9240;
}
