/* SPDX-License-Identifier: MIT */
/* RM_CONTROL: answers the commands whose results the stand-in driver or a real one reads. Other
 * commands are known by number and parameter size, and leave their parameters unchanged. */
#include <stdio.h>
#include <string.h>
#include "gpu.h"

#define U32(p, off) (*(uint32_t *)((char *)(p) + (off)))
#define U64(p, off) (*(uint64_t *)((char *)(p) + (off)))

#define COPY_ENGINES 8
#define GRAPHICS_COPY 2 /* the first ones, on the runlist of graphics */
#define SMS 132

static const uint16_t classes[] = {
	0x0000, 0x0001, 0x0101, 0x0002, 0x0080, 0x0005, 0x0078, 0x007e, 0x0079, 0x0081, 0x003e,
	0x0071, 0x0000, 0x0041, 0x0001, 0x2080, 0x906f, 0x83de, 0xc863, 0x90e6, 0x50a0, 0xcbca,
	0xc86f, 0xcbc0, 0xc8b5, 0xc661, 0xa06c, 0x0040, 0x0070, 0x902d, 0xa140, 0xc561, 0xc461,
	0xc361, 0xc56f, 0xc46f, 0xc36f, 0x503c, 0x00de, 0x9067, 0x90f1, 0x00f8, 0x00fd,
};

static const uint8_t uuid_tail[8] = {0x52, 0xb7, 0x99, 0x67, 0xe2, 0xae, 0x7e, 0x75};

void sg_device_uuid(uint32_t minor, uint8_t uuid[16])
{
	memcpy(uuid, "softgpu", 7);
	uuid[7] = (uint8_t)minor;
	memcpy(uuid + 8, uuid_tail, 8);
}

static uint32_t build_version(void *p)
{
	char version[16];

	sg_driver_release_text(version);
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

/* Engine types: graphics, and the copy engines from 9 on. */
static uint32_t engines(void *p)
{
	U32(p, 0) = 1 + COPY_ENGINES;
	U32(p, 4) = 1;
	for (uint32_t i = 0; i < COPY_ENGINES; i++)
		U32(p, 8 + 4 * i) = 9 + i;
	return NV_OK;
}

/* Two bytes for each copy engine, then the mask of those present: of 4 bytes, 8 in newer releases.
 */
static uint32_t copy_caps(void *p, uint32_t size)
{
	for (uint32_t i = 0; i < COPY_ENGINES; i++) {
		uint8_t *caps = (uint8_t *)p + 2 * i;

		caps[0] = 0x6c | (i < GRAPHICS_COPY ? 3 : 0); /* system memory, peers; shared */
		caps[1] = 3; /* block-linear, pipelined or not */
	}
	U32(p, size == 136 ? 128 : size - 4) = (1u << COPY_ENGINES) - 1;
	return NV_OK;
}

/* 512 records, whose size depends on the release; then the numbers of SMs and TPCs. */
static uint32_t sm_order(void *p, uint32_t size)
{
	uint32_t record = (size - 24) / 512;
	uint16_t *counts = (uint16_t *)((char *)p + 512 * record);

	for (uint16_t sm = 0; sm < SMS; sm++) {
		uint16_t *r = (uint16_t *)((char *)p + sm * record);
		uint16_t tpc = sm / 2;

		r[0] = r[4] = tpc / 9; /* GPC, virtual GPC */
		r[1] = r[5] = tpc % 9; /* TPC in it */
		r[2] = sm % 2;
		r[3] = tpc;
	}
	counts[0] = SMS;
	counts[1] = SMS / 2;
	return NV_OK;
}

static uint32_t subdevice(const struct sg_object *o, uint32_t cmd, void *p, uint32_t size)
{
	switch (cmd) {
	case 0x20800170:
		return engines(p);
	case 0x20802a0a:
		return copy_caps(p, size);
	case 0x2080121b:
		return sm_order(p, size);
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
	return NV_OK;
}

/* As many as the release has room for. */
static uint32_t class_list(void *p, uint32_t size)
{
	uint32_t n = sizeof(classes) / sizeof(classes[0]);

	if (n > (size - 4) / 4)
		n = (size - 4) / 4;
	U32(p, 0) = n;
	for (uint32_t i = 0; i < n; i++)
		U32(p, 4 + 4 * i) = classes[i] == 0xc661 ? sg_options.usermode : classes[i];
	return NV_OK;
}

/* Where the object is: 1 system memory, 2 the GPU's, 3 registers. */
static uint32_t address_space(uint32_t client, void *p)
{
	const struct sg_object *o = sg_object_find(client, U32(p, 0));

	if (!o)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	U32(p, 8) = sg_is_usermode(o->object_class) ? 3 : o->object_class == 0x40 ? 2 : 1;
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

		if (!c || c->client != o->client || (c != o && c->parent != o->handle))
			continue;
		ch->scheduled = on;
		if (ch->notifier && sg_options.stated_late)
			U32(ch->notifier->map, 28) = SG_TOKEN_STATED;
	}
	sg_gpu_unlock(g);
	return NV_OK;
}

static uint32_t channel_control(struct sg_object *o, uint32_t cmd, void *p)
{
	struct sg_object *engine;

	switch (cmd) {
	case 0xc36f0108:
		if (!o->channel)
			return NV_ERR_INVALID_ARGUMENT;
		U32(p, 0) = o->channel->token;
		if (o->channel->notifier) /* real drivers ring with the token from there */
			U32(o->channel->notifier->map, 24) = o->channel->token;
		return NV_OK;
	case 0xa06c0101:
	case 0xa06f0103:
		return schedule(o, *(uint8_t *)p);
	case 0x906f0101:
	case 0xc36f0101:
		engine = sg_object_find(o->client, U32(p, 0));
		if (!engine)
			return NV_ERR_INVALID_OBJECT_HANDLE;
		U32(p, 4) = U32(p, 8) = engine->object_class;
		U32(p, 12) = o->channel && o->channel->engine ? o->channel->engine : 1;
		return NV_OK;
	}
	return NV_OK;
}

/* NV83DE_CTRL_DEBUG_READ_ALL_SM_ERROR_STATES_PARAMS: the channel, the number of SMs to read, 48
 * bytes for each, mmuFaultInfo, mmuFault, and the first SM to read. */
static uint32_t read_errors(uint32_t client, void *p)
{
	const struct sg_object *o = sg_object_find(client, U32(p, 0));
	const struct sg_errors *e;

	if (!o || !o->channel || U32(p, 4) > 100)
		return NV_ERR_INVALID_ARGUMENT;
	memset((char *)p + 8, 0, 4812);
	e = &o->channel->gpu->errors;
	if (e->client != client || e->group != o->channel->group)
		return NV_OK;
	for (uint32_t i = 0; i < U32(p, 4); i++) {
		uint32_t at = 8 + 48 * i;

		if ((U32(p, 4820) + i + SMS - e->first) % SMS >= e->n)
			continue;
		U32(p, at) = e->global;
		U32(p, at + 4) = e->warp;
		U64(p, at + 24) = e->address;
		U64(p, at + 32) = e->pc;
	}
	U32(p, 4808) = U32(p, 4816) = e->mmu;
	*((uint8_t *)p + 4812) = e->mmu != 0;
	return NV_OK;
}

static uint32_t clear_errors(uint32_t client, void *p)
{
	const struct sg_object *o = sg_object_find(client, U32(p, 0));

	if (!o || !o->channel)
		return NV_ERR_INVALID_ARGUMENT;
	o->channel->gpu->errors = (struct sg_errors){0};
	return NV_OK;
}

uint32_t sg_rm_control(uint32_t client, uint32_t object, uint32_t cmd, void *p, uint32_t size)
{
	struct sg_object *o = sg_object_find(client, object);
	uint32_t known = sg_control_size(cmd);

	if (!o)
		return NV_ERR_INVALID_OBJECT_HANDLE;
	if (known == SG_NO_CONTROL)
		return NV_ERR_NOT_SUPPORTED;
	if (size != known || (size && !p))
		return NV_ERR_INVALID_PARAM_STRUCT;
	switch (cmd) {
	case 0x101:
		return build_version(p);
	case 0x201:
	case 0x214:
		return gpu_ids(p, size);
	case 0x202:
		return id_info(p, 24);
	case 0x205:
		return id_info(p, 16);
	case 0xd01:
		return address_space(client, p);
	case 0x00800280:
		U32(p, 0) = 1; /* subdevices */
		return NV_OK;
	case 0x00800292:
		return class_list(p, size);
	case 0x83de030c:
		return read_errors(client, p);
	case 0x83de0310:
		return clear_errors(client, p);
	}
	return cmd >> 16 == 0x2080 ? subdevice(o, cmd, p, size) : channel_control(o, cmd, p);
}
