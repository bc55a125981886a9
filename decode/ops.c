/* SPDX-License-Identifier: MIT */
/*
 * Channels and their subchannels: which class is bound to each, what its methods were last set to,
 * and the dispatch of every data word that has a role. This is the hot path.
 */
#include <stdlib.h>
#include <string.h>
#include "decode/ops-internal.h"

#define IMAGE_PAGES 2048u
#define HOST_END    0x100u /* methods below are Host's own */

const char *nvs_op_kind_name(uint32_t kind)
{
	static const char *const names[] = {"copy",    "memset",  "upload",  "code",	  "launch",
					    "trigger", "release", "acquire", "wait-idle", "cache"};

	return kind < NVS_OP_KINDS ? names[kind] : "?";
}

const char *nvs_copy_mode_name(uint32_t mode)
{
	static const char *const names[] = {"engine", "inline", "macro"};

	return mode < NVS_COPY_MODES ? names[mode] : "?";
}

const char *nvs_reduction_name(uint32_t reduction)
{
	static const char *const names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};

	return reduction < NVS_RED_OTHER ? names[reduction] : "reduce";
}

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
	ops->sked = ops->image ? nvs_sked_new(ops->image) : NULL;
	ops->layouts = nvs_qmd_layouts_new();
	if (!ops->sked || !ops->layouts) {
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
	for (struct roles_slot *r = ops->roles, *next; r; r = next) {
		next = r->next;
		free(r);
	}
	nvs_sked_free(ops->sked);
	nvs_memimage_free(ops->image);
	nvs_qmd_layouts_free(ops->layouts);
	nvs_ops_free_notes(ops);
	free(ops->list);
	free(ops->qmds);
	free(ops);
}

static const struct nvs_roles *roles_of(struct nvs_ops *ops, const struct nvs_class *cls)
{
	struct roles_slot *r;

	for (r = ops->roles; r; r = r->next) {
		if (r->roles.cls == cls)
			return &r->roles;
	}
	r = malloc(sizeof(*r));
	if (!r)
		return NULL;
	nvs_roles_init(&r->roles, cls);
	r->next = ops->roles;
	ops->roles = r;
	return &r->roles;
}

static void bind(struct nvs_ops_channel *c, uint32_t subch, uint32_t id,
		 enum nvs_class_source source)
{
	struct subch *sub = &c->subch[subch];
	const struct nvs_class *cls = nvs_class_find(id);

	if (source < sub->source || (cls && cls->kind == NVS_KIND_HOST))
		return;
	sub->source = source;
	if (sub->cls == cls)
		return;
	nvs_ops_macro_close(c, sub);
	nvs_ops_inline_close(c, sub);
	sub->cls = cls;
	sub->roles = cls ? roles_of(c->ops, cls) : NULL;
}

void nvs_ops_channel_host(struct nvs_ops_channel *c, uint32_t id)
{
	/* Any of the newest host classes names all methods that older ones have at the same
	 * offsets. */
	const struct nvs_class *cls = nvs_class_find(id);

	if (!cls || cls->kind != NVS_KIND_HOST)
		cls = nvs_class_find(0xc86f);
	c->info.host_class = (uint16_t)id;
	c->host = cls;
	c->host_roles = cls ? roles_of(c->ops, cls) : NULL;
	c->extended = nvs_format_by_name(cls, "GP_ENTRY0_PB_EXTENDED_BASE_OPERAND");
}

void nvs_ops_channel_object(struct nvs_ops_channel *c, uint32_t id)
{
	const struct nvs_class *cls = nvs_class_find(id);
	uint32_t subch = cls ? nvs_subchannel_of(cls->kind) : 8;

	if (subch >= 8)
		return;
	bind(c, subch, id, NVS_CLASS_OBJECT);
	/* On a copy runlist the subchannel is ignored: one engine object, whatever the number. */
	if (cls->kind != NVS_KIND_COPY)
		return;
	for (uint32_t i = 0; i < 8; i++) {
		if (c->subch[i].source == NVS_CLASS_NONE)
			bind(c, i, id, NVS_CLASS_CHIP);
	}
}

/* ---- dispatch ---- */

static uint32_t *state_of(struct subch *sub)
{
	if (!sub->state)
		sub->state = calloc(NVS_METHODS + NVS_METHODS / 32, sizeof(*sub->state));
	return sub->state;
}

static inline void set_state(uint32_t *state, uint32_t at, uint32_t value)
{
	state[at] = value;
	state[NVS_METHODS + at / 32] |= 1u << at % 32;
}

static void host_word(struct nvs_ops_channel *c, const struct nvs_pb_run *run, uint32_t method,
		      uint32_t value)
{
	uint32_t role = c->host_roles ? c->host_roles->role[method / 4] : NVS_ROLE_NONE;

	c->host_state[method / 4] = value;
	c->host_set |= 1ull << method / 4;
	if (role == NVS_ROLE_SET_OBJECT)
		bind(c, run->subch, value & 0xffff, NVS_CLASS_METHOD);
	else if (role)
		nvs_ops_host(c, role, method, value, run->subch, run->address);
}

static inline void engine_word(struct nvs_ops_channel *c, struct subch *sub, uint32_t *state,
			       uint32_t method, uint32_t value, uint64_t at)
{
	uint32_t role = sub->roles ? sub->roles->role[method / 4] : NVS_ROLE_NONE;

	if (sub->macro.open && role != NVS_ROLE_MACRO_DATA)
		nvs_ops_macro_close(c, sub);
	set_state(state, method / 4, value);
	if (role)
		nvs_ops_engine(c, sub, role, method, value, at);
}

/* N words to one method. */
static void engine_words(struct nvs_ops_channel *c, struct subch *sub, uint32_t *state,
			 uint32_t method, const uint32_t *data, uint32_t n, uint64_t at)
{
	uint32_t role = sub->roles ? sub->roles->role[method / 4] : NVS_ROLE_NONE;

	if (role == NVS_ROLE_INLINE_DATA || role == NVS_ROLE_NONE) {
		if (sub->macro.open)
			nvs_ops_macro_close(c, sub);
		set_state(state, method / 4, data[n - 1]);
		if (role)
			nvs_ops_inline_data(c, sub, data, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		engine_word(c, sub, state, method, data[i], at);
}

static void words(struct nvs_ops_channel *c, const struct nvs_pb_run *run)
{
	struct subch *sub = &c->subch[run->subch];
	uint32_t *state = state_of(sub);
	uint32_t i = 0;
	bool still = run->form == NVS_PB_NON_INC || run->form == NVS_PB_OLD_NON_INC ||
		     (run->form == NVS_PB_INC_ONCE && run->index);

	/* The first word of INC_ONCE goes elsewhere than the others. */
	if (run->form == NVS_PB_INC_ONCE && !run->index) {
		if (run->method < HOST_END)
			host_word(c, run, run->method, run->data[0]);
		else if (state)
			engine_word(c, sub, state, run->method, run->data[0], run->address);
		i = 1;
		still = true;
	}
	if (still && i < run->count) {
		uint32_t method = nvs_pb_method(run, i);

		if (method >= HOST_END) {
			if (state)
				engine_words(c, sub, state, method, run->data + i, run->count - i,
					     run->address);
			return;
		}
	}
	for (; i < run->count; i++) {
		uint32_t method = nvs_pb_method(run, i);

		if (method < HOST_END)
			host_word(c, run, method, run->data[i]);
		else if (state)
			engine_word(c, sub, state, method, run->data[i], run->address);
	}
}

static void on_run(void *arg, const struct nvs_pb_run *run)
{
	struct nvs_ops_channel *c = arg;
	const struct nvs_ops_sink *sink = &c->ops->sink;

	if (sink->run)
		sink->run(sink->arg, c, run,
			  run->method < HOST_END ? c->host : c->subch[run->subch].cls);
	if (run->form <= NVS_PB_OLD_NON_INC && run->count)
		words(c, run);
}

static void on_fault(void *arg, const struct nvs_pb_fault *fault)
{
	struct nvs_ops_channel *c = arg;

	if (c->ops->sink.fault)
		c->ops->sink.fault(c->ops->sink.arg, c, fault);
}

struct nvs_op *nvs_ops_add(struct nvs_ops_channel *c, enum nvs_op_kind kind, uint32_t subch,
			   uint64_t at)
{
	struct nvs_ops *ops = c->ops;
	struct nvs_op *op;

	if (ops->count >= MAX_OPS)
		nvs_ops_flush(c);
	if (ops->count == ops->room) {
		uint32_t room = ops->room ? 2 * ops->room : 64;
		struct nvs_op *list = realloc(ops->list, room * sizeof(*list));

		if (!list)
			return NULL;
		ops->list = list;
		ops->room = room;
	}
	op = &ops->list[ops->count++];
	memset(op, 0, sizeof(*op));
	op->kind = (uint8_t)kind;
	op->subch = (uint8_t)subch;
	op->cls = c->subch[subch].cls ? c->subch[subch].cls->id : 0;
	op->at = at;
	return op;
}

/* ---- channels ---- */

struct nvs_ops_channel *nvs_ops_channel_new(struct nvs_ops *ops,
					    const struct nvs_ops_channel_info *info)
{
	struct nvs_ops_channel *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->ops = ops;
	c->info = *info;
	c->pb_sink = (struct nvs_pb_sink){on_run, on_fault, c};
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
			bind(c, i, info->defaults[i], NVS_CLASS_CHIP);
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
	return state && state[NVS_METHODS + at / 32] >> at % 32 & 1;
}

void nvs_ops_begin(struct nvs_ops_channel *c, uint64_t tag)
{
	c->tag = tag;
	nvs_pb_start(&c->pb);
}

void nvs_ops_entry(struct nvs_ops_channel *c, uint64_t entry, struct nvs_gp *gp)
{
	nvs_pb_entry(&c->pb, entry, c->extended, &c->pb_sink, gp);
}

void nvs_ops_feed(struct nvs_ops_channel *c, const uint32_t *data, size_t n)
{
	nvs_pb_feed(&c->pb, data, n, &c->pb_sink);
}

void nvs_ops_missing(struct nvs_ops_channel *c)
{
	nvs_pb_skip(&c->pb);
}

void nvs_ops_end(struct nvs_ops_channel *c)
{
	nvs_pb_finish(&c->pb, &c->pb_sink);
	for (uint32_t i = 0; i < 8; i++) {
		nvs_ops_macro_close(c, &c->subch[i]);
		nvs_ops_inline_close(c, &c->subch[i]);
	}
	nvs_ops_flush(c);
}
