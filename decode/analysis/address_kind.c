/* SPDX-License-Identifier: MIT */
/* Looks up addresses in the mappings known at that point of the trace. */
#include "decode/base/digits.h"
#include "decode/analysis/address_kind.h"

const char *nvs_memory_bits_name(uint8_t in)
{
	static const char *const names[] = {
		NULL,	   "device",	     "host",	     "device+host",
		"managed", "device+managed", "host+managed", "device+host+managed"};

	return names[in % 8];
}

/* Memory kind of a resource manager object. */
static uint8_t class_memory(uint32_t object_class)
{
	switch (object_class) {
	case 0x3e: /* system memory */
	case 0x71: /* user pages of the program, pinned */
		return NVS_IN_HOST;
	case 0x40: /* local memory */
	case 0x70: /* virtual, backed by local memory */
		return NVS_IN_DEVICE;
	}
	return 0;
}

/* Mappings of UVM have no object. */
static uint8_t mapping_memory(const struct nvs_mapping *m)
{
	uint8_t in = class_memory(m->object_class);

	return !in && m->kind == NVS_MAP_UVM ? NVS_IN_MANAGED : in;
}

static const char *kind_of(const struct nvs_mapping *m)
{
	const char *name = nvs_memory_bits_name(mapping_memory(m));

	return name ? name : "?";
}

static const struct nvs_mapping *find_mapping(const struct nvs_address_space *p, uint64_t address)
{
	const struct nvs_mapping *m = nvs_trace_gpu_map(p->trace, p->vaspace, address);

	/* With UVM, a CPU mapping is valid for the GPU at the same address. */
	return m ? m : nvs_trace_cpu_map(p->trace, address);
}

const char *nvs_address_kind(const struct nvs_address_space *p, uint64_t address)
{
	const struct nvs_mapping *m = find_mapping(p, address);

	return m ? kind_of(m) : NULL;
}

uint8_t nvs_address_memory(const struct nvs_address_space *p, uint64_t address)
{
	const struct nvs_mapping *m = find_mapping(p, address);

	return m ? mapping_memory(m) : 0;
}

uint8_t nvs_userd_memory(const struct nvs_trace *trace, const struct nvs_trace_channel *c)
{
	const struct nvs_trace_object *o = nvs_trace_object(trace, c->rec.client,
							    c->rec.userd_handle);

	return o ? class_memory(o->object_class) : 0;
}

bool nvs_address_is_same(const struct nvs_address_space *p, uint64_t address)
{
	const struct nvs_mapping *gpu = nvs_trace_gpu_map(p->trace, p->vaspace, address);
	const struct nvs_mapping *cpu = nvs_trace_cpu_map(p->trace, address);

	if (!cpu || cpu->kind == NVS_MAP_UVM || !gpu)
		return cpu && cpu->kind == NVS_MAP_UVM;
	return cpu->client == gpu->client && cpu->handle == gpu->handle &&
	       address - cpu->address + cpu->offset == address - gpu->address + gpu->offset;
}

static char *put_size(char *p, uint64_t size)
{
	static const char units[][5] = {" B", " KiB", " MiB", " GiB"};
	int zeros = size ? __builtin_ctzll(size) : 0, unit = zeros < 30 ? zeros / 10 : 3;

	return stpcpy(nvs_put_dec(p, size >> 10 * unit), units[unit]);
}

void nvs_address_kind_append(void *arg, struct nvs_line_buffer *l, uint64_t address)
{
	const struct nvs_address_space *p = arg;
	const struct nvs_mapping *m = find_mapping(p, address);
	char *to = m ? nvs_line_reserve(l, 4 * NVS_DIGITS) : NULL;

	if (!to)
		return;
	to = stpcpy(stpcpy(stpcpy(to, " ["), kind_of(m)), " ");
	to = stpcpy(put_size(to, m->size), " +0x");
	to = stpcpy(nvs_put_hex(to, address - m->address), "]");
	l->length = (size_t)(to - l->text);
}
