/* SPDX-License-Identifier: MIT */
/* The tables behind release.h: forms of structures, and sizes of control parameters, by the release
 * from which on they hold. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "options.h"
#include "release.h"

#define FIRST SG_RELEASE(515u, 43, 4)
#define LAST SG_RELEASE(620u, 4095, 255)
#define USUAL SG_RELEASE(580u, 159, 4)
#define IMAGINED SG_RELEASE(999u, 1, 1)

/* The last row of a form whose release is not newer holds. */
static const struct {
	enum sg_form form;
	uint32_t since, value;
} forms[] = {
	{SG_ROOT_STATUS, 0, 24},
	{SG_ROOT_STATUS, SG_RELEASE(535, 43, 2), 28},
	{SG_ALLOC_SIZE, 0, 40},
	{SG_ALLOC_SIZE, SG_RELEASE(535, 43, 2), 48},
	{SG_ALLOC_STATUS, 0, 32},
	{SG_ALLOC_STATUS, SG_RELEASE(525, 47, 4), 36},
	{SG_ALLOC_STATUS, SG_RELEASE(535, 43, 2), 40},
	{SG_MAP_DMA_SIZE, 0, 56},
	{SG_MAP_DMA_SIZE, SG_RELEASE(580, 65, 6), 64},
	{SG_UNMAP_DMA_SIZE, 0, 40},
	{SG_UNMAP_DMA_SIZE, SG_RELEASE(550, 40, 7), 48},
	{SG_NUMA_INFO_SIZE, 0, 552},
	{SG_NUMA_INFO_SIZE, SG_RELEASE(535, 43, 2), 560},
	{SG_WAIT_OPEN_COMPLETE, 0, 0},
	{SG_WAIT_OPEN_COMPLETE, SG_RELEASE(550, 40, 7), 1},
	{SG_CHANNEL_SIZE, 0, 304},
	{SG_CHANNEL_SIZE, SG_RELEASE(535, 43, 8), 360},
	{SG_CHANNEL_SIZE, SG_RELEASE(535, 54, 3), 304},
	{SG_CHANNEL_SIZE, SG_RELEASE(535, 86, 5), 360},
	{SG_CHANNEL_SIZE, SG_RELEASE(570, 86, 15), 368},
	{SG_CHANNEL_SIZE, SG_RELEASE(610, 43, 2), 376},
	{SG_CHANNEL_SIZE, IMAGINED, 384},
	{SG_CHANNEL_USERD_MEMORY, 0, 32},
	{SG_CHANNEL_USERD_MEMORY, SG_RELEASE(610, 43, 2), 36},
	{SG_CHANNEL_USERD_OFFSET, 0, 64},
	{SG_CHANNEL_USERD_OFFSET, SG_RELEASE(610, 43, 2), 72},
	{SG_CHANNEL_USERD_OFFSET, IMAGINED, 80}, /* the new field is at 72, and zero */
	{SG_CHANNEL_ENGINE, 0, 128},
	{SG_CHANNEL_ENGINE, SG_RELEASE(610, 43, 2), 136},
	{SG_CHANNEL_ENGINE, IMAGINED, 144},
	{SG_MEMORY_SIZE, 0, 120},
	{SG_MEMORY_SIZE, SG_RELEASE(545, 23, 6), 128},
	{SG_VASPACE_SIZE, 0, 48},
	{SG_VASPACE_SIZE, SG_RELEASE(580, 65, 6), 56},
	{SG_HEAP, 0, 1}, /* seen in 525.147.05 and 535.261.03, not in 550.163.01 */
	{SG_HEAP, SG_RELEASE(545, 23, 6), 0},
	{SG_UVM_GPUS, 0, 32},
	{SG_UVM_GPUS, SG_RELEASE(550, 40, 53), 256},
	{SG_UVM_FREE_STATUS, 0, 16},
	{SG_UVM_FREE_STATUS, SG_RELEASE(590, 44, 1), 8},
	{SG_UVM_UNREGISTER_CHANNEL_STATUS, 0, 24},
	{SG_UVM_UNREGISTER_CHANNEL_STATUS, SG_RELEASE(590, 44, 1), 8},
	{SG_UVM_MM_INITIALIZE, 0, 0},
	{SG_UVM_MM_INITIALIZE, SG_RELEASE(535, 43, 2), 1},
	{SG_UVM_RANGE_GROUPS, 0, 1},
	{SG_UVM_RANGE_GROUPS, SG_RELEASE(610, 43, 2), 0},
};

/* Controls, in the same way. */
static const struct {
	uint32_t cmd, since, size;
} controls[] = {
	{0x00000101, 0, 40},
	{0x0000013a, 0, 1352},
	{0x000001f0, 0, 4},
	{0x00000201, 0, 128},
	{0x00000202, 0, 40},
	{0x00000205, 0, 32},
	{0x00000214, 0, 256},
	{0x00000214, SG_RELEASE(580, 65, 6), 384},
	{0x00000215, 0, 132},
	{0x0000027b, 0, 4},
	{0x00000288, 0, 3076},
	{0x00000a04, 0, 2244},
	{0x00000d01, 0, 12},
	{0x00000d04, 0, 12},
	{0x00800280, 0, 4},
	{0x00800289, 0, 4},
	{0x00800289, SG_RELEASE(555, 42, 2), 8},
	{0x0080028b, 0, 1},
	{0x00800292, 0, 468},
	{0x00800292, SG_RELEASE(525, 47, 4), 644},
	{0x00800292, SG_RELEASE(550, 40, 7), 700},
	{0x00800292, SG_RELEASE(555, 42, 2), 404},
	{0x00800292, SG_RELEASE(580, 65, 6), 804},
	{0x00801307, 0, 3},
	{0x00801402, 0, 3},
	{0x0080170d, 0, 24},
	{0x00801909, 0, 1},
	{0x00809909, 0, 1},
	{0x20800102, 0, 500},
	{0x20800102, SG_RELEASE(530, 30, 2), 508},
	{0x20800102, SG_RELEASE(535, 43, 2), 516},
	{0x20800102, SG_RELEASE(545, 23, 6), 524},
	{0x20800102, SG_RELEASE(575, 51, 2), 532},
	{0x20800102, SG_RELEASE(580, 65, 6), 564},
	{0x20800110, 0, 132},
	{0x20800110, SG_RELEASE(595, 44, 2), 68},
	{0x20800111, 0, 64},
	{0x20800119, 0, 4},
	{0x2080012f, 0, 904},
	{0x2080012f, SG_RELEASE(520, 56, 6), 984},
	{0x2080012f, SG_RELEASE(545, 23, 6), 1024},
	{0x2080012f, SG_RELEASE(555, 42, 2), 1224},
	{0x2080012f, SG_RELEASE(560, 28, 3), 1264},
	{0x2080012f, SG_RELEASE(565, 57, 1), 1464},
	{0x2080012f, SG_RELEASE(590, 44, 1), 1664},
	{0x20800131, 0, 4},
	{0x20800145, 0, 0},
	{0x20800146, 0, 0},
	{0x2080014a, 0, 268},
	{0x20800170, 0, 212},
	{0x20800170, SG_RELEASE(525, 47, 4), 252},
	{0x20800170, SG_RELEASE(545, 23, 6), 256},
	{0x20800170, SG_RELEASE(550, 40, 7), 260},
	{0x20800170, SG_RELEASE(560, 28, 3), 340},
	{0x2080018b, 0, 40},
	{0x20800195, 0, 260},
	{0x208001a3, 0, 40},
	{0x208001a3, SG_RELEASE(545, 23, 6), 48},
	{0x208001a3, SG_RELEASE(580, 65, 6), 56},
	{0x20801201, 0, 32},
	{0x20801210, 0, 32},
	{0x20801218, 0, 16},
	{0x2080121b, 0, 6168},
	{0x2080121b, SG_RELEASE(575, 51, 2), 7192},
	{0x2080121b, SG_RELEASE(580, 65, 6), 9240},
	{0x20801227, 0, 48},
	{0x2080122a, 0, 24},
	{0x2080122b, 0, 24},
	{0x20801230, 0, 32},
	{0x20801303, 0, 436},
	{0x20801303, SG_RELEASE(545, 23, 6), 444},
	{0x20801303, SG_RELEASE(560, 28, 3), 460},
	{0x20801303, SG_RELEASE(580, 65, 6), 1028},
	{0x20801701, 0, 16},
	{0x20801702, 0, 4},
	{0x20801801, 0, 16},
	{0x20801803, 0, 200},
	{0x20801823, 0, 420},
	{0x2080182a, 0, 104},
	{0x2080182a, SG_RELEASE(560, 28, 3), 112},
	{0x2080182b, 0, 20},
	{0x2080182b, SG_RELEASE(530, 30, 2), 28},
	{0x2080200a, 0, 8},
	{0x2080220c, 0, 0},
	{0x20802210, 0, 0},
	{0x20802a0a, 0, 40},
	{0x20802a0a, SG_RELEASE(520, 56, 6), 68},
	{0x20802a0a, SG_RELEASE(545, 23, 6), 136},
	{0x20803002, 0, 5896},
	{0x20803002, SG_RELEASE(555, 42, 2), 6152},
	{0x20803002, SG_RELEASE(570, 86, 15), 13320},
	{0x20803002, SG_RELEASE(580, 65, 6), 13344},
	{0x20803002, SG_RELEASE(590, 44, 1), 13864},
	{0x20803601, 0, 72},
	{0x20803801, 0, 1928},
	{0x20808159, 0, 332},
	{0x20808161, 0, 952},
	{0x20808162, 0, 1},
	{0x20809038, 0, 4},
	{0x20810108, 0, 992},
	{0x503c0102, 0, 16},
	{0x503c0104, 0, 32},
	{0x83de0309, 0, 4},
	{0x83de030c, 0, 4824},
	{0x83de0310, 0, 8},
	{0x906f0101, 0, 16},
	{0x906f0102, 0, 12},
	{0x906f0102, SG_RELEASE(550, 40, 7), 16},
	{0x90e60102, 0, 8},
	{0xa06c0101, 0, 2},
	{0xa06c0101, SG_RELEASE(575, 51, 2), 3},
	{0xa06c0103, 0, 8},
	{0xa06c0105, 0, 8},
	{0xa06f0103, 0, 2},
	{0xa06f0103, SG_RELEASE(575, 51, 2), 3},
	{0xc36f0101, 0, 16},
	{0xc36f0108, 0, 4},
	{0xc36f010a, 0, 4},
	{0xcb330101, 0, 5},
	{0xcb330101, SG_RELEASE(550, 40, 7), 6},
};

/* One number of the release at *S, and the point behind it. Returns false if there is none. */
static bool part(const char **s, uint32_t limit, uint32_t *n)
{
	char *end;

	if (**s < '0' || **s > '9')
		return false;
	*n = (uint32_t)strtoul(*s, &end, 10);
	*s = end + (*end == '.');
	return *n <= limit;
}

uint32_t sg_driver_release(void)
{
	static uint32_t known;
	const char *s = sg_option_value("release");
	uint32_t n[3] = {0}, release;

	if (known || !s)
		return known ? known : USUAL;
	if (!part(&s, 999, &n[0]) || !part(&s, 4095, &n[1]) ||
	    (*s >= '0' && !part(&s, 255, &n[2])) || (*s && *s != ','))
		return 0;
	release = SG_RELEASE(n[0], n[1], n[2]);
	if ((release < FIRST || release > LAST) && release != IMAGINED)
		return 0;
	known = release;
	return release;
}

void sg_driver_release_text(char text[16])
{
	const char *s = sg_option_value("release");

	if (s)
		snprintf(text, 16, "%.*s", (int)strcspn(s, ","), s);
	else
		strcpy(text, "580.159.04");
}

uint32_t sg_form(enum sg_form form)
{
	uint32_t release = sg_driver_release(), value = 0;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (forms[i].form == form && release >= forms[i].since)
			value = forms[i].value;
	return value;
}

uint32_t sg_control_size(uint32_t cmd)
{
	uint32_t release = sg_driver_release(), size = SG_NO_CONTROL;

	for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
		if (controls[i].cmd == cmd && release >= controls[i].since)
			size = controls[i].size;
	return size;
}
