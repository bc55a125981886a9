/* SPDX-License-Identifier: MIT */
/* Finds source, destination, size and kind of copies from their arguments and operations. Memory
 * types are CUmemorytype. */
#include <errno.h>
#include <string.h>
#include "decode/analysis/copy_operands.h"
#include "decode/calls/roles.h"

static enum nvs_memory_kind kind_at(const struct nvs_copy_memory *m, uint64_t address)
{
	enum nvs_memory_kind kind = nvs_hostmem_kind(m->kinds, address);

	return kind == NVS_MEMORY_PAGEABLE && m->partly ? NVS_MEMORY_UNKNOWN : kind;
}

/* Finds whether ADDRESS, whose kind the call does not give, is on the host. Returns false if
 * unknown. */
static bool is_host(const struct nvs_copy_memory *m, uint64_t address, bool *host)
{
	enum nvs_memory_kind kind = kind_at(m, address);

	*host = kind < NVS_MEMORY_MANAGED;
	return kind != NVS_MEMORY_UNKNOWN;
}

/* Copies whose name gives the direction. */
static const struct {
	bool directed, from_host, to_host, array;
} named[] = {
	[NVS_CALL_ROLE_COPY_ATOA] = {true, false, false, true},
	[NVS_CALL_ROLE_COPY_ATOD] = {true, false, false, true},
	[NVS_CALL_ROLE_COPY_ATOH] = {true, false, true, true},
	[NVS_CALL_ROLE_COPY_DTOA] = {true, false, false, true},
	[NVS_CALL_ROLE_COPY_DTOD] = {true, false, false, false},
	[NVS_CALL_ROLE_COPY_DTOH] = {true, false, true, false},
	[NVS_CALL_ROLE_COPY_HTOA] = {true, true, false, true},
	[NVS_CALL_ROLE_COPY_HTOD] = {true, true, false, false},
	[NVS_CALL_ROLES - 1] = {false},
};

static void read_linear(const struct nvs_copy_memory *m, const struct nvs_call *call,
			struct nvs_copy_endpoints *e)
{
	uint8_t role = call->api->role;

	if (named[role].directed) {
		e->directed = true;
		e->from_host = named[role].from_host;
		e->to_host = named[role].to_host;
		e->array = named[role].array;
		nvs_call_value(call, e->from_host ? NVS_ARG_srcHost : NVS_ARG_srcDevice, &e->from);
		nvs_call_value(call, e->to_host ? NVS_ARG_dstHost : NVS_ARG_dstDevice, &e->to);
	} else if ((nvs_call_value(call, NVS_ARG_src, &e->from) &&
		    nvs_call_value(call, NVS_ARG_dst, &e->to)) ||
		   (nvs_call_value(call, NVS_ARG_srcDevice, &e->from) &&
		    nvs_call_value(call, NVS_ARG_dstDevice, &e->to))) {
		e->directed = is_host(m, e->from, &e->from_host);
		e->directed &= is_host(m, e->to, &e->to_host);
	}
}

/* 2D and 3D copies, whose source and destination are in a structure. */
static void read_boxed(const struct nvs_copy_memory *m, const struct nvs_call *call,
		       struct nvs_copy_endpoints *e)
{
	uint64_t type;

	if (nvs_call_value(call, NVS_ARG_srcType, &type)) {
		/* CUmemcpy3DOperandType: 1 is a pointer of any kind. */
		e->array = type != 1 || !nvs_call_value(call, NVS_ARG_dstType, &type) || type != 1;
		read_linear(m, call, e);
		return;
	}
	if (nvs_call_value(call, NVS_ARG_srcMemoryType, &type)) {
		e->directed = true;
		nvs_call_value(call, type == 1 ? NVS_ARG_srcHost : NVS_ARG_srcDevice, &e->from);
		e->from_host = type == 1;
		if (type == 4)
			e->directed = is_host(m, e->from, &e->from_host);
		e->array |= type == 3;
	}
	if (nvs_call_value(call, NVS_ARG_dstMemoryType, &type)) {
		nvs_call_value(call, type == 1 ? NVS_ARG_dstHost : NVS_ARG_dstDevice, &e->to);
		e->to_host = type == 1;
		if (type == 4)
			e->directed &= is_host(m, e->to, &e->to_host);
		e->array |= type == 3;
	}
}

int nvs_copy_memory_begin(struct nvs_copy_memory *m, const struct nvs_trace *trace)
{
	m->kinds = nvs_hostmem_new();
	m->partly = nvs_trace_session(trace)->header.flags & (NVS_HDR_TRIGGER | NVS_HDR_KEEP_LAST);
	return m->kinds ? 0 : -ENOMEM;
}

void nvs_copy_endpoints_read(const struct nvs_copy_memory *m, const struct nvs_call *call,
			     struct nvs_copy_endpoints *e)
{
	memset(e, 0, sizeof(*e));
	e->batch = call->api->role == NVS_CALL_ROLE_COPY_BATCH;
	e->known = nvs_call_copied(call, &e->bytes, &e->copies);
	if (call->api->role == NVS_CALL_ROLE_COPY_BOX)
		read_boxed(m, call, e);
	else if (!e->batch)
		read_linear(m, call, e);
	e->memory = e->from_host ? kind_at(m, e->from)
		    : e->to_host ? kind_at(m, e->to)
				 : NVS_MEMORY_DEVICE;
}

bool nvs_copy_is_blocking(const struct nvs_call *call, const struct nvs_copy_endpoints *e)
{
	for (uint32_t i = 0; i < call->api->nargs; i++)
		if (call->api->kinds[i] == NVS_KIND_STREAM)
			return e->directed && e->to_host && e->memory == NVS_MEMORY_PAGEABLE;
	return !e->directed || e->from_host || e->to_host;
}

/* ---- kinds of copies ---- */

static enum nvs_copy_way mode_of(const struct nvs_call *call)
{
	uint64_t engine = call->tally.copies[NVS_COPY_ENGINE],
		 in = call->tally.copies[NVS_COPY_INLINE];
	uint64_t macro = call->tally.copies[NVS_COPY_MACRO];

	if (call->flags & NVS_CALL_CAPTURED)
		return NVS_COPY_CAPTURED;
	if (call->tally.unseen)
		return NVS_COPY_UNSEEN;
	if (!engine && !in && !macro)
		return call->tally.launches ? NVS_COPY_BY_KERNEL : NVS_COPY_BY_NOTHING;
	if (engine && !in && !macro)
		return NVS_COPY_BY_ENGINE;
	if (in && !engine && !macro)
		return NVS_COPY_BY_INLINE;
	return macro && !engine && !in ? NVS_COPY_BY_MACRO : NVS_COPY_BY_SEVERAL;
}

static uint32_t class_of(uint64_t bytes)
{
	return bytes <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(bytes - 1);
}

/* The GPU whose memory is mapped at ADDRESS. */
static uint32_t gpu_of(const struct nvs_trace *trace, uint64_t address)
{
	const struct nvs_mapping *m = nvs_trace_gpu_map(trace, 0, address);

	return m ? m->gpu : NVS_NONE;
}

static enum nvs_copy_direction direction_of(const struct nvs_copy_endpoints *e)
{
	if (e->batch)
		return NVS_COPY_BATCH;
	if (e->array || !e->directed)
		return e->array ? NVS_COPY_ARRAY : NVS_COPY_UNDIRECTED;
	if (e->from_host)
		return e->to_host ? NVS_COPY_HTOH : NVS_COPY_HTOD;
	return e->to_host ? NVS_COPY_DTOH : NVS_COPY_DTOD;
}

struct nvs_copy_kind nvs_copy_kind_of(const struct nvs_trace *trace, const struct nvs_call *call,
				      const struct nvs_copy_endpoints *e)
{
	struct nvs_copy_kind k = {
		.direction = direction_of(e),
		.memory = e->memory,
		.class = e->known && e->copies ? class_of(e->bytes / e->copies) : NVS_COPY_NO_CLASS,
		.mode = mode_of(call),
		.from_gpu = e->directed && !e->from_host ? gpu_of(trace, e->from) : NVS_NONE,
		.to_gpu = e->directed && !e->to_host ? gpu_of(trace, e->to) : NVS_NONE,
	};

	if (k.direction == NVS_COPY_DTOD && k.from_gpu != k.to_gpu && k.from_gpu != NVS_NONE &&
	    k.to_gpu != NVS_NONE)
		k.direction = NVS_COPY_PTOP;
	return k;
}

const char *nvs_copy_direction_name(enum nvs_copy_direction direction)
{
	static const char *const names[] = {"HtoD", "DtoH",  "DtoD",  "PtoP",
					    "HtoH", "array", "batch", ""};

	return names[direction];
}

const char *nvs_copy_way_name(enum nvs_copy_way mode)
{
	static const char *const names[] = {"none",   "engine", "inline",   "macro",
					    "kernel", "mixed",	"captured", ""};

	return names[mode];
}

const char *nvs_copy_memory_name(const struct nvs_copy_kind *kind)
{
	return kind->direction == NVS_COPY_DTOD || kind->direction == NVS_COPY_PTOP ||
			       kind->direction >= NVS_COPY_BATCH
		       ? ""
		       : nvs_memory_name(kind->memory);
}

bool nvs_copy_returns_done(const struct nvs_call *call, const struct nvs_copy_endpoints *e,
			   enum nvs_copy_way mode)
{
	return e->directed && e->known && nvs_copy_is_blocking(call, e) &&
	       (e->to_host || (mode != NVS_COPY_BY_INLINE && mode != NVS_COPY_BY_MACRO));
}
