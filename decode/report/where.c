/* SPDX-License-Identifier: MIT */
/* Which allocation an address falls in, by the mappings that the trace holds at that moment. */
#include "decode/base/digits.h"
#include "decode/report/where.h"

/* Classes of memory objects, and UVM's mappings that have none. */
static const char *kind_of(const struct nvs_mapping *m)
{
	switch (m->object_class) {
	case 0x3e: /* system memory */
	case 0x71: /* user pages of the program, pinned */
		return "host";
	case 0x40: /* local memory */
	case 0x70: /* virtual, backed by local memory */
		return "device";
	}
	return m->kind == NVS_MAP_UVM ? "managed" : "?";
}

static const struct nvs_mapping *find(const struct nvs_place *p, uint64_t address)
{
	const struct nvs_mapping *m = nvs_trace_gpu_map(p->trace, p->vaspace, address);

	/*
	 * What is mapped for the CPU at an address is mapped there for the GPU as well, with UVM.
	 */
	return m ? m : nvs_trace_cpu_map(p->trace, address);
}

const char *nvs_where_kind(const struct nvs_place *p, uint64_t address)
{
	const struct nvs_mapping *m = find(p, address);

	return m ? kind_of(m) : NULL;
}

static char *put_size(char *p, uint64_t size)
{
	static const char units[][5] = {" B", " KiB", " MiB", " GiB"};
	int unit = 0;

	while (unit < 3 && size >= 1024 && size % 1024 == 0) {
		size /= 1024;
		unit++;
	}
	return stpcpy(nvs_put_dec(p, size), units[unit]);
}

void nvs_where_put(void *arg, struct nvs_line *l, uint64_t address)
{
	const struct nvs_place *p = arg;
	const struct nvs_mapping *m = find(p, address);
	char *to = m ? nvs_line_room(l, 4 * NVS_DIGITS) : NULL;

	if (!to)
		return;
	to = stpcpy(stpcpy(stpcpy(to, " ["), kind_of(m)), " ");
	to = stpcpy(put_size(to, m->size), " +0x");
	to = stpcpy(nvs_put_hex(to, address - m->address), "]");
	l->length = (size_t)(to - l->text);
}
