/* SPDX-License-Identifier: MIT */
/* Writes trace records for objects, mappings, channels and remarks. Nothing is written before the
 * session starts; nvs_rm_replay() then writes the records for everything known by then. */
#include <string.h>
#include "preload/rm/rm.h"

static bool is_live(void)
{
	return nvs_rm()->live;
}

static void write_record(struct nvs_rec *rec)
{
	if (is_live())
		nvs_record_write(rec);
}

#define REC(type_, flags_, body)                                                   \
	{                                                                          \
		.type = (type_), .flags = (uint16_t)(flags_), .size = sizeof(body) \
	}

void nvs_record_gpu(uint32_t gpu)
{
	struct nvs_rec_gpu r = {.rec = REC(NVS_REC_GPU, 0, r), .gpu = gpu};
	const struct nvs_gpu *g;

	if (!is_live() || gpu >= NVS_MAX_GPUS)
		return;
	g = &nvs_rm()->gpus[gpu];
	r.architecture = g->architecture;
	r.implementation = g->implementation;
	r.revision = g->revision;
	memcpy(r.uuid, g->uuid, sizeof(r.uuid));
	memcpy(r.name, g->name, sizeof(r.name));
	nvs_record_write(&r.rec);
}

void nvs_record_object(const struct nvs_driver_object *o)
{
	struct {
		struct nvs_rec_object r;
		uint8_t params[512];
	} rec = {.r = {.client = o->key.client,
		       .handle = o->key.handle,
		       .parent = o->parent,
		       .object_class = o->object_class,
		       .gpu = o->gpu,
		       .source_client = o->source_client,
		       .source_handle = o->source_handle}};
	uint32_t n = o->params_length < sizeof(rec.params) ? o->params_length : sizeof(rec.params);

	if (!is_live())
		return;
	if (n)
		memcpy(rec.params, o->params, n);
	rec.r.params_length = n;
	rec.r.rec.type = NVS_REC_OBJECT;
	rec.r.rec.size = (uint32_t)(sizeof(rec.r) + n + 7) & ~7u;
	nvs_record_write(&rec.r.rec);
}

void nvs_record_object_freed(const struct nvs_driver_object *o)
{
	struct nvs_rec_object_gone r = {REC(NVS_REC_OBJECT_GONE, 0, r), o->key.client,
					o->key.handle};

	write_record(&r.rec);
}

/* Fields that both kinds of mapping have. */
#define MAPPING(m)                                                                    \
	.map = (m)->number, .client = (m)->client, .handle = (m)->handle,             \
	.object_class = (m)->object_class, .gpu = (m)->gpu, .address = (m)->at.start, \
	.size = (m)->at.end - (m)->at.start, .offset = (uint64_t)(m)->offset

void nvs_record_cpu_map(const struct nvs_cpu_map *m)
{
	bool unarmed = m->kind == NVS_MAP_DOORBELL && !m->armed;
	struct nvs_rec_cpu_map r = {
		.rec = REC(NVS_REC_CPU_MAP, unarmed ? NVS_MAP_UNARMED : 0, r),
		MAPPING(m),
		.kind = m->kind,
	};

	write_record(&r.rec);
}

void nvs_record_cpu_unmap(const struct nvs_cpu_map *m)
{
	struct nvs_rec_cpu_map_gone r = {REC(NVS_REC_CPU_MAP_GONE, 0, r), m->number, 0};

	write_record(&r.rec);
}

void nvs_record_gpu_map(const struct nvs_gpu_map *m)
{
	struct nvs_rec_gpu_map r = {
		.rec = REC(NVS_REC_GPU_MAP, 0, r),
		MAPPING(m),
		.vaspace = m->vaspace_handle,
	};

	write_record(&r.rec);
}

void nvs_record_gpu_unmap(const struct nvs_gpu_map *m)
{
	struct nvs_rec_gpu_map_gone r = {REC(NVS_REC_GPU_MAP_GONE, 0, r), m->number, 0};

	write_record(&r.rec);
}

void nvs_record_channel(const struct nvs_channel_entry *c)
{
	struct nvs_rec_channel r = {
		.rec = REC(NVS_REC_CHANNEL, 0, r),
		.channel = c->number,
		.client = c->object->key.client,
		.handle = c->object->key.handle,
		.object_class = c->object->object_class,
		.gpu = c->object->gpu,
		.engine = c->engine,
		.group = c->group,
		.token = c->token,
		.entries = c->entries,
		.flags = c->flags,
		.gpfifo = c->gpfifo,
		.userd_handle = c->userd_handle,
		.vaspace = c->vaspace_handle,
		.userd_offset = c->userd_offset,
	};

	write_record(&r.rec);
}

void nvs_record_channel_freed(const struct nvs_channel_entry *c, unsigned flags)
{
	uint64_t claim = c->final_put_read ? c->final_claim
			 : c->slot	   ? atomic_load((_Atomic uint64_t *)&c->slot->claim)
					   : 0;
	struct {
		struct nvs_rec_channel_gone gone;
		struct nvs_channel_done done;
	} r;

	r.gone = (struct nvs_rec_channel_gone){
		.rec = {NVS_REC_CHANNEL_GONE,
			(uint16_t)(flags | (c->final_put_valid ? 0 : NVS_CHAN_GONE_PUT_UNKNOWN) |
				   (c->done.address ? NVS_CHAN_GONE_DONE : 0)),
			c->done.address ? sizeof(r) : sizeof(r.gone), 0},
		.channel = c->number,
		.final_put = c->final_put_valid ? c->final_put : 0,
		.last_put = (uint32_t)(claim & ((1u << NVS_PUT_BITS) - 1)),
		.submissions = claim >> NVS_PUT_BITS,
	};
	r.done = c->done;
	if (!is_live())
		return;
	if (c->slot)
		nvs_channel_record_lost(c->slot);
	nvs_record_write(&r.gone.rec);
}

/* A remark is recorded once per kind and GPU, those on the driver's interface once per number, and
 * kept for a session that starts later. */
static void keep_remark(const struct nvs_rec_remark *remark, const void *params, uint32_t bytes)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_kept_remark *kept = &rm->remarks[rm->nremarks];

	for (uint32_t i = 0; i < rm->nremarks; i++) {
		const struct nvs_rec_remark *r = &rm->remarks[i].r;

		if (r->kind == remark->kind && r->gpu == remark->gpu &&
		    (r->kind < NVS_REMARK_CALL_FORM || r->kind > NVS_REMARK_MAPPED_CLASS ||
		     r->client == remark->client))
			return;
	}
	if (rm->nremarks == sizeof(rm->remarks) / sizeof(rm->remarks[0]))
		return;
	rm->nremarks++;
	if (bytes > sizeof(kept->params))
		bytes = sizeof(kept->params);
	kept->r = *remark;
	kept->r.rec.size += bytes & ~7u;
	memcpy(kept->params, params, bytes & ~7u);
	write_record(&kept->r.rec);
}

void nvs_record_remark(uint32_t kind, uint32_t gpu, uint32_t client, uint32_t handle)
{
	struct nvs_rec_remark r = {REC(NVS_REC_REMARK, 0, r), kind, gpu, client, handle};

	keep_remark(&r, "", 0);
}

void nvs_record_remark_params(uint32_t kind, const struct nvs_driver_object *o)
{
	struct nvs_rec_remark r = {REC(NVS_REC_REMARK, 0, r), kind, o->gpu, o->key.client,
				   o->key.handle};

	keep_remark(&r, o->params, o->params_length);
}

void nvs_record_check_result(uint32_t kind, uint64_t value, uint64_t start, uint64_t end)
{
	struct nvs_rec_check r = {REC(NVS_REC_CHECK, 0, r), kind, 0, value, start, end};

	write_record(&r.rec);
}

void nvs_rm_handlers_replaced(void)
{
	NVS_LOCK_SCOPE();
	if (nvs_rm())
		nvs_record_check_result(NVS_CHECK_HANDLER, ++nvs_rm()->handlers_replaced, 0, 0);
}
