/* SPDX-License-Identifier: MIT */
/*
 * Channels and their subchannels: which class is bound to each, what its methods were last set to,
 * and the dispatch of every data word that has a role. This is the hot path.
 */
#include <stdlib.h>
#include <string.h>
#include "decode/gpu/ops-internal.h"

#define IMAGE_PAGES 2048u
#define IMAGE_EACH 256u /* bytes that a dword may have filled and copied, one with another */
#define HOST_END 0x100u /* methods below are Host's own */

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

static inline uint32_t *state_of(struct subch *sub)
{
	const size_t bytes = NVS_METHODS * (sizeof(*sub->state) + 1);

	/* What is set in more subchannels than there is room for is not followed. */
	if (!sub->state && nvs_budget_spare(bytes))
		sub->state = calloc(1, bytes);
	return sub->state;
}

/* A byte for each method, behind the values: was it ever set? */
static inline uint8_t *set_of(const uint32_t *state)
{
	return (uint8_t *)(uintptr_t)(state + NVS_METHODS);
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
		nvs_ops_host(c, role, method, value, run->subch, c->pb.header_address);
}

/* AT: a method's dword, as everywhere below. */
static inline void engine_word(struct nvs_ops_channel *c, struct subch *sub, uint32_t at,
			       uint32_t value, uint64_t header)
{
	uint32_t role = sub->roles ? sub->roles->role[at] : NVS_ROLE_NONE;

	if (sub->macro.open && role != NVS_ROLE_MACRO_DATA)
		nvs_ops_macro_close(c, sub);
	sub->state[at] = value;
	set_of(sub->state)[at] = 1;
	if (role)
		nvs_ops_engine(c, sub, role, at * 4, value, header);
}

/* N words to methods one behind the other, the last of which there is. */
static inline void engine_row(struct nvs_ops_channel *c, struct subch *sub, uint32_t at,
			      const uint32_t *data, uint32_t n, uint64_t header)
{
	while (n) {
		uint32_t quiet = sub->roles ? sub->roles->quiet[at] : n;
		uint8_t *set = set_of(sub->state);

		if (!quiet) {
			engine_word(c, sub, at++, *data++, header);
			n--;
			continue;
		}
		if (quiet > n)
			quiet = n;
		if (sub->macro.open)
			nvs_ops_macro_close(c, sub);
		n -= quiet;
		for (; quiet; quiet--, at++) {
			sub->state[at] = *data++;
			set[at] = 1;
			__asm__(""); /* two or three, mostly: no call of memcpy for them */
		}
	}
}

/* N words to one method. */
static inline void engine_still(struct nvs_ops_channel *c, struct subch *sub, uint32_t at,
				const uint32_t *data, uint32_t n, uint64_t header)
{
	uint32_t role = sub->roles ? sub->roles->role[at] : NVS_ROLE_NONE;

	if (role == NVS_ROLE_INLINE_DATA || role == NVS_ROLE_NONE) {
		if (sub->macro.open)
			nvs_ops_macro_close(c, sub);
		sub->state[at] = data[n - 1];
		set_of(sub->state)[at] = 1;
		if (role)
			nvs_ops_inline_data(c, sub, data, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		engine_word(c, sub, at, data[i], header);
}

/* Any run, word by word. */
static void words(struct nvs_ops_channel *c, const struct nvs_pb_run *run)
{
	struct subch *sub = &c->subch[run->subch];

	for (uint32_t i = 0; i < run->count; i++) {
		uint32_t method = nvs_pb_method(run, i);
		bool still = run->form == NVS_PB_NON_INC || run->form == NVS_PB_OLD_NON_INC ||
			     (run->form == NVS_PB_INC_ONCE && run->index + i);

		if (method < HOST_END) {
			host_word(c, run, method, run->data[i]);
		} else if (!state_of(sub)) {
			return;
		} else if (still) {
			engine_still(c, sub, method / 4, run->data + i, run->count - i,
				     c->pb.header_address);
			return;
		} else {
			engine_word(c, sub, method / 4, run->data[i], c->pb.header_address);
		}
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

/*
 * An inline upload in the four headers in which drivers write it: they are most of all headers, so
 * they are taken together. How many dwords that were; 0: it is not written so, or there is more to
 * it, and the words have to be taken one by one.
 */
static inline size_t upload(struct nvs_ops_channel *c, struct subch *sub, const uint32_t *w,
			    size_t n, uint64_t header)
{
	const struct nvs_roles *r = sub->roles;
	uint32_t *s = sub->state, subch = *w & 0xe000, out, width, launch, count;

	if (n < 10 || w[3] != (r->upload[1] | subch) || w[6] != (r->upload[2] | subch) ||
	    (w[8] & ~0x1fff0000u) != (r->upload[3] | subch))
		return 0;
	count = w[8] >> 16 & 0x1fff;
	if (count > n - 9 || !w[4] || count != (w[4] - 1) / 4 + 1 || w[5] != 1 ||
	    !nvs_reg_of(r, NVS_REG_DST_LAYOUT, w[7]) ||
	    nvs_reg_of(r, NVS_REG_COMPLETION, w[7]) == 2 || sub->macro.open || sub->transfer.open)
		return 0;
	out = r->upload[0] & 0xfff;
	width = r->upload[1] & 0xfff;
	launch = r->upload[2] & 0xfff;
	s[out] = w[1];
	s[out + 1] = w[2];
	s[width] = w[4];
	s[width + 1] = w[5];
	s[launch] = w[7];
	s[launch + 1] = w[8 + count];
	memset(set_of(s) + out, 1, 2);
	memset(set_of(s) + width, 1, 2);
	memset(set_of(s) + launch, 1, 2);
	nvs_ops_inline_whole(c, sub,
			     (uint64_t)nvs_reg_of(r, NVS_REG_OUT_HI, w[1]) << 32 |
				     nvs_reg_of(r, NVS_REG_OUT_LO, w[2]),
			     w[4], w + 9, header + 4 * 6);
	return 9 + count;
}

/*
 * Takes headers of the usual forms to an engine, as long as all their data is here: nearly all are
 * such. How many dwords that were.
 */
static size_t plain(struct nvs_ops_channel *c, const uint32_t *data, size_t n)
{
	uint64_t header;
	size_t i = 0;

	while (i < n) {
		uint32_t word = data[i], at = word & 0xfff, count = word >> 16 & 0x1fff;
		struct subch *sub = &c->subch[word >> 13 & 7];
		const uint32_t *first = data + i + 1;

		if (at < HOST_END / 4 || !state_of(sub))
			break;
		header = c->pb.address + 4 * i;
		if (word >> 29 == 4) {
			engine_word(c, sub, at, count, header);
			i++;
			continue;
		}
		if (!count || count > n - i - 1 || at + count > NVS_METHODS)
			break;
		if (sub->roles && (word & ~0xe000u) == sub->roles->upload[0]) {
			size_t whole = upload(c, sub, data + i, n - i, header);

			i += whole;
			if (whole)
				continue;
		}
		if (word >> 29 == 1) {
			engine_row(c, sub, at, first, count, header);
		} else if (word >> 29 == 3) {
			engine_still(c, sub, at, first, count, header);
		} else if (word >> 29 == 5) {
			engine_word(c, sub, at, *first, header);
			if (count > 1)
				engine_still(c, sub, at + 1, first + 1, count - 1, header);
		} else {
			break;
		}
		i += 1 + count;
	}
	c->pb.address += 4 * i;
	return i;
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
	return state && set_of(state)[at];
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
	struct nvs_pb *pb = &c->pb;
	size_t i = 0;

	nvs_memimage_allow(c->ops->image, IMAGE_EACH * (uint64_t)n);
	nvs_sked_allow(c->ops->sked, n);
	n = nvs_pb_room(pb, n, &c->pb_sink);
	while (i < n) {
		if (!pb->pending && !pb->ended && !c->ops->sink.run)
			i += plain(c, data + i, n - i);
		if (i < n)
			i += nvs_pb_step(pb, data + i, n - i, &c->pb_sink);
	}
}

void nvs_ops_missing(struct nvs_ops_channel *c)
{
	nvs_pb_skip(&c->pb);
}

void nvs_ops_end(struct nvs_ops_channel *c)
{
	nvs_pb_finish(&c->pb, &c->pb_sink);
	for (uint32_t i = 0; i < 8; i++) {
		if (c->subch[i].macro.open)
			nvs_ops_macro_close(c, &c->subch[i]);
		if (c->subch[i].transfer.open)
			nvs_ops_inline_close(c, &c->subch[i]);
	}
	nvs_ops_flush(c);
}
