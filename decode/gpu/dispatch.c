/* SPDX-License-Identifier: MIT */
/* Executes each data word: stores the method's value, and calls the engine function of the method's
 * role, if it has one. This is the hot path. */
#include <stdlib.h>
#include <string.h>
#include "decode/gpu/engine.h"

const struct nvs_roles *nvs_dispatch_roles(struct nvs_ops *ops, const struct nvs_class *cls)
{
	struct nvs_roles_slot *r;

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

void nvs_dispatch_bind(struct nvs_ops_channel *c, uint32_t subch, uint32_t id,
		       enum nvs_class_source source)
{
	struct nvs_subch *sub = &c->subch[subch];
	const struct nvs_class *cls = nvs_class_find(id);

	if (source < sub->source || (cls && cls->kind == NVS_KIND_HOST))
		return;
	sub->source = source;
	if (sub->cls == cls)
		return;
	nvs_macro_close(c, sub);
	nvs_inline_close(c, sub);
	sub->cls = cls;
	sub->roles = cls ? nvs_dispatch_roles(c->ops, cls) : NULL;
	sub->upload = sub->roles ? sub->roles->upload[0] : 0;
	sub->upload |= sub->upload ? subch << 13 : 0;
}

static void add_method_op(struct nvs_ops_channel *c, enum nvs_op_kind kind, uint32_t subch,
			  uint32_t method, uint32_t value, uint64_t at, uint32_t cls,
			  uint32_t flags)
{
	struct nvs_op *op = nvs_ops_add(c, kind, subch, at);

	if (!op)
		return;
	op->cls = (uint16_t)cls;
	op->flags = flags;
	op->method.method = (uint16_t)method;
	op->method.value = value;
}

/* ---- methods with a role ---- */

static void add_cache_op(struct nvs_ops_channel *c, const struct nvs_subch *sub, uint32_t method,
			 uint32_t value, uint64_t at)
{
	bool code = (method == sub->roles->code_method[0] ||
		     method == sub->roles->code_method[1]) &&
		    nvs_reg_of(sub->roles, NVS_REG_CACHE_INSTRUCTION, value);

	add_method_op(c, NVS_OP_CACHE, nvs_subch_number(c, sub), method, value, at, sub->cls->id,
		      code ? NVS_OP_INSTRUCTIONS : 0);
}

static void call_engine_role(struct nvs_ops_channel *c, struct nvs_subch *sub, enum nvs_role role,
			     uint32_t method, uint32_t value, uint64_t at)
{
	switch (role) {
	case NVS_ROLE_COPY:
		nvs_copyengine_launch(c, sub, value, at);
		break;
	case NVS_ROLE_INLINE:
		nvs_inline_start(c, sub, value, at);
		break;
	case NVS_ROLE_INLINE_DATA:
		nvs_inline_data(c, sub, &value, 1);
		break;
	case NVS_ROLE_QMD_DATA:
		nvs_compute_qmd_data(c, sub, method, value, at);
		break;
	case NVS_ROLE_PCAS:
		nvs_compute_pcas(c, sub, value, at);
		break;
	case NVS_ROLE_PCAS2:
		nvs_compute_pcas2(c, sub, value, at);
		break;
	case NVS_ROLE_REPORT:
		nvs_semaphore_report(c, sub, value, at);
		break;
	case NVS_ROLE_REPORT_EXECUTE:
		nvs_semaphore_report_execute(c, sub, value, at);
		break;
	case NVS_ROLE_IDLE:
		add_method_op(c, NVS_OP_WAIT_IDLE, nvs_subch_number(c, sub), method, value, at,
			      sub->cls->id, 0);
		break;
	case NVS_ROLE_CACHE:
		add_cache_op(c, sub, method, value, at);
		break;
	case NVS_ROLE_MACRO:
		nvs_macro_start(c, sub, method, value);
		break;
	case NVS_ROLE_MACRO_DATA:
		nvs_macro_arg(sub, value);
		break;
	default:
		break;
	}
}

static void call_host_role(struct nvs_ops_channel *c, enum nvs_role role, uint32_t method,
			   uint32_t value, uint32_t subch, uint64_t at)
{
	switch (role) {
	case NVS_ROLE_SEM_EXECUTE:
		nvs_semaphore_host(c, value, subch, at);
		break;
	case NVS_ROLE_SEM_OLD:
		nvs_semaphore_host_old(c, value, subch, at);
		break;
	case NVS_ROLE_IDLE:
		add_method_op(c, NVS_OP_WAIT_IDLE, subch, method, value, at, c->host->id, 0);
		break;
	case NVS_ROLE_CACHE:
	case NVS_ROLE_MEM_OP:
		add_method_op(c, NVS_OP_CACHE, subch, method, value, at, c->host->id, 0);
		break;
	default:
		break;
	}
}

/* ---- every data word ---- */

static inline uint32_t *get_state(struct nvs_subch *sub)
{
	const size_t bytes = NVS_METHODS * (sizeof(*sub->state) + 1);

	/* If memory is short, the subchannel's methods are not tracked. */
	if (!sub->state && nvs_budget_allows(bytes))
		sub->state = calloc(1, bytes);
	return sub->state;
}

static void execute_host_word(struct nvs_ops_channel *c, const struct nvs_pb_run *run,
			      uint32_t method, uint32_t value)
{
	uint32_t role = c->host_roles ? c->host_roles->role[method / 4] : NVS_ROLE_NONE;

	c->host_state[method / 4] = value;
	c->host_set |= 1ull << method / 4;
	if (role == NVS_ROLE_SET_OBJECT)
		nvs_dispatch_bind(c, run->subch, value & 0xffff, NVS_CLASS_METHOD);
	else if (role)
		call_host_role(c, role, method, value, run->subch, c->pb.header_address);
}

/* AT is the method's dword index, here and below. */
static inline void execute_word(struct nvs_ops_channel *c, struct nvs_subch *sub, uint32_t at,
				uint32_t value, uint64_t header)
{
	uint32_t role = sub->roles ? sub->roles->role[at] : NVS_ROLE_NONE;

	if (sub->macro.open && role != NVS_ROLE_MACRO_DATA)
		nvs_macro_close(c, sub);
	sub->state[at] = value;
	nvs_dispatch_set_flags(sub->state)[at] = 1;
	if (role)
		call_engine_role(c, sub, role, at * 4, value, header);
}

/* Executes N words for consecutive methods, all of which exist. */
static inline void execute_consecutive(struct nvs_ops_channel *c, struct nvs_subch *sub,
				       uint32_t at, const uint32_t *data, uint32_t n,
				       uint64_t header)
{
	while (n) {
		uint32_t quiet = sub->roles ? sub->roles->roleless[at] : n;
		uint8_t *set = nvs_dispatch_set_flags(sub->state);

		if (!quiet) {
			execute_word(c, sub, at++, *data++, header);
			n--;
			continue;
		}
		if (quiet > n)
			quiet = n;
		if (sub->macro.open)
			nvs_macro_close(c, sub);
		n -= quiet;
		for (; quiet; quiet--, at++) {
			sub->state[at] = *data++;
			set[at] = 1;
			__asm__(""); /* usually two or three words: keep the compiler from calling
				      * memcpy() */
		}
	}
}

/* Executes N words for one method. */
static inline void execute_repeated(struct nvs_ops_channel *c, struct nvs_subch *sub, uint32_t at,
				    const uint32_t *data, uint32_t n, uint64_t header)
{
	uint32_t role = sub->roles ? sub->roles->role[at] : NVS_ROLE_NONE;

	if (role == NVS_ROLE_INLINE_DATA || role == NVS_ROLE_NONE) {
		if (sub->macro.open)
			nvs_macro_close(c, sub);
		sub->state[at] = data[n - 1];
		nvs_dispatch_set_flags(sub->state)[at] = 1;
		if (role)
			nvs_inline_data(c, sub, data, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		execute_word(c, sub, at, data[i], header);
}

/* Executes any run, word by word. */
static void execute_words(struct nvs_ops_channel *c, const struct nvs_pb_run *run)
{
	struct nvs_subch *sub = &c->subch[run->subch];

	for (uint32_t i = 0; i < run->count; i++) {
		uint32_t method = nvs_pb_method(run, i);
		bool still = run->form == NVS_PB_NON_INC || run->form == NVS_PB_OLD_NON_INC ||
			     (run->form == NVS_PB_INC_ONCE && run->index + i);

		if (method < HOST_END) {
			execute_host_word(c, run, method, run->data[i]);
		} else if (!get_state(sub)) {
			return;
		} else if (still) {
			execute_repeated(c, sub, method / 4, run->data + i, run->count - i,
					 c->pb.header_address);
			return;
		} else {
			execute_word(c, sub, method / 4, run->data[i], c->pb.header_address);
		}
	}
}

void nvs_dispatch_run(void *arg, const struct nvs_pb_run *run)
{
	struct nvs_ops_channel *c = arg;
	const struct nvs_ops_sink *sink = &c->ops->sink;

	if (sink->run)
		sink->run(sink->arg, c, run,
			  run->method < HOST_END ? c->host : c->subch[run->subch].cls);
	if (run->form <= NVS_PB_OLD_NON_INC && run->count)
		execute_words(c, run);
}

size_t nvs_dispatch_fast(struct nvs_ops_channel *c, const uint32_t *data, size_t n)
{
	size_t i = 0;

	while (i < n) {
		uint32_t word = data[i], at = word & 0xfff, count = word >> 16 & 0x1fff;
		struct nvs_subch *sub = &c->subch[word >> 13 & 7];
		const uint32_t *first = data + i + 1;
		uint64_t header = c->pb.address + 4 * i;

		if (at < HOST_END / 4)
			break;
		if (word == sub->upload) {
			size_t whole = nvs_inline_upload(c, sub, data + i, n - i, header);

			i += whole;
			if (whole)
				continue;
		}
		if (!get_state(sub))
			break;
		if (word >> 29 == 4) {
			execute_word(c, sub, at, count, header);
			i++;
			continue;
		}
		if (!count || count > n - i - 1 || at + count > NVS_METHODS)
			break;
		if (word >> 29 == 1) {
			execute_consecutive(c, sub, at, first, count, header);
		} else if (word >> 29 == 3) {
			execute_repeated(c, sub, at, first, count, header);
		} else if (word >> 29 == 5) {
			execute_word(c, sub, at, *first, header);
			if (count > 1)
				execute_repeated(c, sub, at + 1, first + 1, count - 1, header);
		} else {
			break;
		}
		i += 1 + count;
	}
	c->pb.address += 4 * i;
	return i;
}
