/* SPDX-License-Identifier: MIT */
/* RM_CONTROL: answers the commands whose results a driver reads. Other commands are known by number
 * and parameter size, and leave their parameters unchanged. */
#include <stdio.h>
#include <string.h>
#include "gpu.h"

#define U32(p, off) (*(uint32_t *)((char *)(p) + (off)))
#define U64(p, off) (*(uint64_t *)((char *)(p) + (off)))

static const uint16_t classes[] = {
	0x0000, 0x0001, 0x0101, 0x0002, 0x0080, 0x0005, 0x0078, 0x007e, 0x0079, 0x0081, 0x003e,
	0x0071, 0x0000, 0x0041, 0x0001, 0x2080, 0x906f, 0x83de, 0xc863, 0x90e6, 0x50a0, 0xcbca,
	0xc86f, 0xcbc0, 0xc8b5, 0xc661, 0xa06c, 0x0040, 0x0070, 0x902d, 0xa140, 0xc561, 0xc461,
	0xc361, 0xc56f, 0xc46f, 0xc36f, 0x503c, 0x00de, 0x9067, 0x90f1, 0x00f8, 0x00fd,
};

/* Commands whose answer is not read: command, size of parameters. */
static const struct {
	uint32_t cmd;
	uint32_t size;
} quiet[] = {
	{0x00000d01, 12},   {0x00000d04, 12},	{0x000001f0, 4},    {0x00000a04, 2244},
	{0x00000288, 3076}, {0x0000027b, 4},	{0x0000013a, 1352}, {0xcb330101, 6},
	{0x00801402, 3},    {0x00800280, 4},	{0x00800289, 8},    {0x00801307, 3},
	{0x0080170d, 24},   {0x00801909, 1},	{0x20810108, 992},  {0x20800102, 564},
	{0x20801823, 420},  {0x20801801, 16},	{0x20801803, 200},  {0x2080182a, 112},
	{0x2080012f, 1464}, {0x20801303, 1028}, {0x20800170, 340},  {0x20800119, 4},
	{0x208001a3, 56},   {0x20801201, 32},	{0x2080122a, 24},   {0x2080122b, 24},
	{0x20801227, 48},   {0x20802a0a, 136},	{0x20801230, 32},   {0x20800195, 260},
	{0x2080121b, 9240}, {0x20803801, 1928}, {0x90e60102, 8},    {0x20803601, 72},
	{0x20800111, 64},   {0x20800131, 4},	{0x20808159, 332},  {0x2080220c, 0},
	{0x20802210, 0},    {0x20808162, 1},	{0x2080182b, 28},   {0x20803002, 13344},
	{0x503c0102, 16},   {0x503c0104, 32},	{0x2080200a, 8},    {0x20800145, 0},
	{0x20801218, 16},   {0x83de0309, 4},	{0x20801210, 32},   {0xa06c0103, 8},
	{0x20809038, 4},    {0xc36f010a, 4},
};

static const uint8_t uuid_tail[8] = {0x52, 0xb7, 0x99, 0x67, 0xe2, 0xae, 0x7e, 0x75};

void sg_device_uuid(uint32_t minor, uint8_t uuid[16])
{
	memcpy(uuid, "softgpu", 7);
	uuid[7] = (uint8_t)minor;
	memcpy(uuid + 8, uuid_tail, 8);
}

void sg_version(char text[16])
{
	if (sg_options.release)
		snprintf(text, 16, "%u.57.04", sg_options.release % 1000);
	else
		strcpy(text, "580.159.04");
}

static uint32_t build_version(void *p)
{
	char version[16];

	sg_version(version);
	if (U32(p, 0) < sizeof(version))
		return NV_ERR_INVALID_ARGUMENT;
	for (uint32_t off = 8; off <= 24; off += 8)
		if (U64(p, off))
			strcpy((char *)U64(p, off), off == 24 ? "softgpu" : version);
	U32(p, 32) = U32(p, 36) = 37888111;
	return NV_OK;
}

static uint32_t gpu_ids(void *p, uint32_t size)
{
	for (uint32_t i = 0; i < size / 4 && i < 32; i++)
		U32(p, i * 4) = i < sg_options.gpus ? 6 + i : SG_NO_GPU;
	return NV_OK;
}

/* Parameters of 0x202 (with a pointer to a name at 16) and 0x205. */
static uint32_t id_info(void *p, uint32_t tail)
{
	uint32_t minor = U32(p, 0) - 6;

	if (minor >= sg_options.gpus)
		return NV_ERR_INVALID_ARGUMENT;
	U32(p, 4) = 0;
	U32(p, 8) = minor;
	U32(p, 12) = 0;
	U32(p, tail) = 0x41;
	U32(p, tail + 4) = 6 + minor;
	U32(p, tail + 8) = minor;
	U32(p, tail + 12) = SG_NO_GPU;
	return NV_OK;
}

static uint32_t subdevice(const struct sg_object *o, uint32_t cmd, void *p)
{
	switch (cmd) {
	case 0x20800110:
		strcpy((char *)p + 4, "NVIDIA H200");
		return NV_OK;
	case 0x2080014a:
		U32(p, 8) = 16;
		sg_device_uuid(o->minor, (uint8_t *)p + 12);
		return NV_OK;
	case 0x20801701:
		U32(p, 0) = 0x180;
		U32(p, 4) = 0;
		U32(p, 8) = 0xa1;
		return NV_OK;
	}
	return NV_ERR_NOT_SUPPORTED;
}

static uint32_t class_list(void *p)
{
	uint32_t n = sizeof(classes) / sizeof(classes[0]);

	U32(p, 0) = n;
	for (uint32_t i = 0; i < n; i++)
		U32(p, 4 + 4 * i) = classes[i];
	return NV_OK;
}

/* For a channel group or a single channel. */
static uint32_t schedule(struct sg_object *o, bool on)
{
	struct sg_gpu *g = o->minor < SG_MAX_GPUS ? &sg_gpus[o->minor] : NULL;

	if (!g)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	o->scheduled = on;
	sg_gpu_lock(g);
	for (struct sg_channel *ch = g->channels; ch; ch = ch->next) {
		struct sg_object *c = sg_object_find(ch->client, ch->handle);

		if (c && c->client == o->client && (c == o || c->parent == o->handle))
			ch->scheduled = on;
	}
	sg_gpu_unlock(g);
	return NV_OK;
}

static uint32_t channel_control(struct sg_object *o, uint32_t cmd, void *p, uint32_t size)
{
	struct sg_object *engine;

	switch (cmd) {
	case 0xc36f0108:
		if (!o->channel || size != 4)
			return NV_ERR_INVALID_ARGUMENT;
		U32(p, 0) = o->channel->token;
		return NV_OK;
	case 0xa06c0101:
	case 0xa06f0103:
		return size >= 2 ? schedule(o, *(uint8_t *)p) : NV_ERR_INVALID_PARAM_STRUCT;
	case 0x906f0101:
		engine = sg_object_find(o->client, U32(p, 0));
		if (!engine)
			return NV_ERR_INVALID_OBJECT_HANDLE;
		U32(p, 4) = U32(p, 8) = engine->object_class;
		U32(p, 12) = o->channel && o->channel->engine ? o->channel->engine : 1;
		return NV_OK;
	}
	return NV_ERR_NOT_SUPPORTED;
}

uint32_t sg_rm_control(uint32_t client, uint32_t object, uint32_t cmd, void *p, uint32_t size)
{
	struct sg_object *o = sg_object_find(client, object);

	if (!o)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	for (uint32_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
		if (quiet[i].cmd == cmd)
			return quiet[i].size == size ? NV_OK : NV_ERR_INVALID_PARAM_STRUCT;
	if (!p)
		return NV_ERR_NOT_SUPPORTED;
	switch (cmd) {
	case 0x101:
		return size == 40 ? build_version(p) : NV_ERR_INVALID_PARAM_STRUCT;
	case 0x201:
	case 0x214:
		return gpu_ids(p, size);
	case 0x215:
		return NV_OK;
	case 0x202:
		return size == 40 ? id_info(p, 24) : NV_ERR_INVALID_PARAM_STRUCT;
	case 0x205:
		return size == 32 ? id_info(p, 16) : NV_ERR_INVALID_PARAM_STRUCT;
	case 0x00800292:
		return size == 804 ? class_list(p) : NV_ERR_INVALID_PARAM_STRUCT;
	}
	return cmd >> 16 == 0x2080 ? subdevice(o, cmd, p) : channel_control(o, cmd, p, size);
}
