/* SPDX-License-Identifier: MIT */
/* Creates decoders and channels, and passes submissions through the pushbuffer parser. */
#include <stdlib.h>
#include <string.h>
#include "decode/gpu/engine.h"

#define IMAGE_PAGES 2048u
#define IMAGE_EACH 256u /* bytes that each dword may fill or copy on average */

uint32_t nvs_subchannel_of(uint32_t kind)
{
	switch (kind) {
	case NVS_KIND_3D:
		return 0;
	case NVS_KIND_COMPUTE:
		return 1;
	case NVS_KIND_INLINE:
		return 2;
	case NVS_KIND_2D:
		return 3;
	case NVS_KIND_COPY:
		return 4;
	default:
		return 8;
	}
}

struct nvs_ops *nvs_ops_new(const struct nvs_ops_sink *sink)
{
	struct nvs_ops *ops = calloc(1, sizeof(*ops));

	if (!ops)
		return NULL;
	ops->sink = *sink;
	ops->image = nvs_memimage_new(IMAGE_PAGES);
	ops->layouts = nvs_qmd_layouts_new();
	if (ops->image && ops->layouts)
		ops->sched = nvs_sched_new(ops->image, ops->layouts);
	if (!ops->sched) {
		nvs_ops_free(ops);
		return NULL;
	}
	return ops;
}

void nvs_ops_free(struct nvs_ops *ops)
{
	if (!ops)
		return;
	while (ops->channels)
		nvs_ops_channel_free(ops->channels);
	for (struct nvs_roles_slot *r = ops->roles, *next; r; r = next) {
		next = r->next;
		free(r);
	}
	nvs_sched_free(ops->sched);
	nvs_memimage_free(ops->image);
	nvs_qmd_layouts_free(ops->layouts);
	nvs_uses_free(ops);
	free(ops->list);
	free(ops->qmds);
	free(ops);
}

void nvs_ops_channel_host(struct nvs_ops_channel *c, uint32_t id)
{
	const struct nvs_class *cls = nvs_class_find(id);

	if (!cls || cls->kind != NVS_KIND_HOST)
		cls = nvs_class_find(nvs_default_classes[NVS_KIND_HOST]);
	c->info.host_class = (uint16_t)id;
	c->host = cls;
	c->host_roles = cls ? nvs_dispatch_roles(c->ops, cls) : NULL;
	c->extended = nvs_format_by_name(cls, "GP_ENTRY0_PB_EXTENDED_BASE_OPERAND");
}

void nvs_ops_channel_object(struct nvs_ops_channel *c, uint32_t id)
{
	const struct nvs_class *cls = nvs_class_find(id);
	uint32_t subch = cls ? nvs_subchannel_of(cls->kind) : 8;

	if (subch >= 8)
		return;
	nvs_dispatch_bind(c, subch, id, NVS_CLASS_OBJECT);
	/* Copy runlists ignore the subchannel: there is one engine object for all numbers. */
	if (cls->kind != NVS_KIND_COPY)
		return;
	for (uint32_t i = 0; i < 8; i++) {
		if (c->subch[i].source == NVS_CLASS_NONE)
			nvs_dispatch_bind(c, i, id, NVS_CLASS_CHIP);
	}
}

static void report_fault(void *arg, const struct nvs_pb_fault *fault)
{
	struct nvs_ops_channel *c = arg;

	if (c->ops->sink.fault)
		c->ops->sink.fault(c->ops->sink.arg, c, fault);
}

struct nvs_ops_channel *nvs_ops_channel_new(struct nvs_ops *ops,
					    const struct nvs_ops_channel_info *info)
{
	struct nvs_ops_channel *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->ops = ops;
	c->info = *info;
	c->pb_sink = (struct nvs_pb_sink){nvs_dispatch_run, report_fault, c};
	c->next = ops->channels;
	c->link = &ops->channels;
	if (c->next)
		c->next->link = &c->next;
	ops->channels = c;
	for (uint32_t i = 0; i < sizeof(c->subch) / sizeof(c->subch[0]); i++)
		c->subch[i].transfer.op = NO_OP;
	nvs_ops_channel_host(c, info->host_class);
	for (uint32_t i = 0; i < 8; i++) {
		if (info->defaults[i])
			nvs_dispatch_bind(c, i, info->defaults[i], NVS_CLASS_CHIP);
	}
	return c;
}

void nvs_ops_channel_free(struct nvs_ops_channel *c)
{
	if (!c)
		return;
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	for (uint32_t i = 0; i < 8; i++)
		free(c->subch[i].state);
	free(c);
}

const struct nvs_ops_channel_info *nvs_ops_channel_info(const struct nvs_ops_channel *c)
{
	return &c->info;
}

const struct nvs_class *nvs_ops_class(const struct nvs_ops_channel *c, uint32_t subch,
				      enum nvs_class_source *source)
{
	if (source)
		*source = c->subch[subch & 7].source;
	return c->subch[subch & 7].cls;
}

const struct nvs_class *nvs_ops_host_class(const struct nvs_ops_channel *c)
{
	return c->host;
}

bool nvs_ops_method(const struct nvs_ops_channel *c, uint32_t subch, uint32_t method,
		    uint32_t *value)
{
	const uint32_t *state = c->subch[subch & 7].state;
	uint32_t at = method / 4 % NVS_METHODS;

	if (method < HOST_END) {
		*value = c->host_state[at];
		return c->host_set >> at & 1;
	}
	*value = state ? state[at] : 0;
	return state && nvs_dispatch_set_flags(state)[at];
}

void nvs_ops_begin(struct nvs_ops_channel *c, uint64_t tag, uint64_t origin)
{
	c->tag = tag;
	c->origin = origin;
	nvs_pb_start(&c->pb);
}

void nvs_ops_entry(struct nvs_ops_channel *c, uint64_t entry, struct nvs_gp *gp)
{
	nvs_pb_entry(&c->pb, entry, c->extended, &c->pb_sink, gp);
}

void nvs_ops_feed(struct nvs_ops_channel *c, const uint32_t *data, size_t n)
{
	struct nvs_pb *pb = &c->pb;
	size_t i = 0;

	nvs_memimage_allow(c->ops->image, IMAGE_EACH * (uint64_t)n);
	nvs_sched_allow(c->ops->sched, n);
	n = nvs_pb_claim(pb, n, &c->pb_sink);
	while (i < n) {
		if (!pb->pending && !pb->ended && !c->ops->sink.run)
			i += nvs_dispatch_fast(c, data + i, n - i);
		if (i < n)
			i += nvs_pb_step(pb, data + i, n - i, &c->pb_sink);
	}
}

void nvs_ops_skip_segment(struct nvs_ops_channel *c)
{
	nvs_pb_skip(&c->pb);
}

void nvs_ops_end(struct nvs_ops_channel *c)
{
	nvs_pb_finish(&c->pb, &c->pb_sink);
	for (uint32_t i = 0; i < 8; i++) {
		if (c->subch[i].macro.open)
			nvs_macro_close(c, &c->subch[i]);
		if (c->subch[i].transfer.open)
			nvs_inline_close(c, &c->subch[i]);
	}
	nvs_ops_flush(c);
}

bool nvs_ops_read_memory(const struct nvs_ops *ops, uint64_t address, void *bytes, size_t n)
{
	return nvs_memimage_read(ops->image, address, bytes, n);
}
