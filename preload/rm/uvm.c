/* SPDX-License-Identifier: MIT */
/*
 * Calls to /dev/nvidia-uvm: external ranges, which show the memory of the resource manager at GPU
 * addresses, and the GPUs on which the kernel's own channels work. Request numbers are bare:
 * variants go by release.
 */
#include "preload/rm/rm.h"

static void add_range(uint64_t base, uint64_t length, uint32_t file)
{
	struct nvs_range *range = nvs_alloc(sizeof(*range));

	if (!range)
		return;
	range->at.start = base;
	range->at.end = base + length;
	range->file = file;
	if (length && base + length > base && !nvs_spans_add(&nvs_rm()->ranges, &range->at))
		return;
	nvs_free(range, sizeof(*range));
}

/* Ends the range that begins at BASE; its length, 0 if there is none. */
static uint64_t end_range(uint64_t base, uint32_t file)
{
	struct nvs_rm *rm = nvs_rm();

	NVS_SPANS_EACH(&rm->ranges, i, base, base + 1)
	{
		struct nvs_range *range = (struct nvs_range *)rm->ranges.at[i];
		uint64_t length = range->at.end - range->at.start;

		if (range->at.start != base || range->file != file)
			continue;
		nvs_spans_remove(&rm->ranges, &range->at);
		nvs_free(range, sizeof(*range));
		return length;
	}
	return 0;
}

static void map(uint32_t client, uint32_t handle, uint64_t base, uint64_t length, uint64_t offset,
		uint32_t gpus, uint32_t file)
{
	struct nvs_object *o = nvs_object_find(client, handle);
	struct nvs_gpu_map m = {
		.at = {base, base + length},
		.client = client,
		.handle = handle,
		.file = file,
		.gpus = gpus,
		.offset = offset,
	};

	if (o && nvs_class_is_usermode(o->object_class))
		nvs_tell_remark(NVS_REMARK_GPU_DOORBELL, o->gpu, client, handle);
	nvs_gpu_map_add(&m);
}

static void map_external(const uint8_t *a, uint32_t file)
{
	unsigned tail = nvs_abi_uvm_map_tail(nvs_rm_release());
	uint64_t gpus;

	if (nvs_u32(a, tail + 20))
		return;
	gpus = nvs_u64(a, tail);
	map(nvs_u32(a, tail + 12), nvs_u32(a, tail + 16), nvs_u64(a, 0), nvs_u64(a, 8),
	    nvs_u64(a, 16), gpus ? (uint32_t)gpus : 1, file);
}

static void free_range(const uint8_t *a, uint32_t file)
{
	bool short_form = nvs_rm_release() >= NVS_RELEASE(590, 44, 1);
	uint64_t base = nvs_u64(a, 0), length;

	if (nvs_u32(a, short_form ? 8 : 16))
		return;
	length = end_range(base, file);
	if (!short_form)
		length = nvs_u64(a, 8);
	if (length)
		nvs_gpu_maps_remove(0, base, base + length, file, false);
}

static uint32_t gpu_by_uuid(const uint8_t *uuid)
{
	struct nvs_rm *rm = nvs_rm();

	for (uint32_t i = 0; i < NVS_MAX_GPUS; i++)
		if (rm->gpus[i].seen && !memcmp(rm->gpus[i].uuid, uuid, 16))
			return i;
	return NVS_NONE;
}

/* UVM copies and clears on channels of its own, made in the kernel. */
static void register_gpu(const uint8_t *a, unsigned client, unsigned handle, unsigned status)
{
	if (!nvs_u32(a, status))
		nvs_tell_remark(NVS_REMARK_KERNEL_CHANNEL, gpu_by_uuid(a), nvs_u32(a, client),
				handle ? nvs_u32(a, handle) : 0);
}

/*
 * What frees a range may let another thread use it again at once: the lock is kept over the call.
 */
bool nvs_uvm_before(unsigned long request)
{
	return nvs_rm() && (request == NVS_UVM_FREE || request == NVS_UVM_UNMAP_EXTERNAL);
}

void nvs_uvm_after(int fd, unsigned long request, void *arg, int ret)
{
	const uint8_t *a = arg;
	uint32_t file;

	if (!nvs_rm())
		return;
	if (!nvs_abi_knows_uvm(request))
		nvs_rm_count_unknown(1, (uint32_t)request, 0);
	if (ret || !a)
		return;
	file = nvs_fd_file(fd);
	switch (request) {
	case NVS_UVM_EXTERNAL_RANGE:
		if (!nvs_u32(a, 16))
			add_range(nvs_u64(a, 0), nvs_u64(a, 8), file);
		break;
	case NVS_UVM_MAP_EXTERNAL:
		map_external(a, file);
		break;
	case NVS_UVM_UNMAP_EXTERNAL:
		if (!nvs_u32(a, 32))
			nvs_gpu_maps_remove(0, nvs_u64(a, 0), nvs_u64(a, 0) + nvs_u64(a, 8), file,
					    true);
		break;
	case NVS_UVM_FREE:
		free_range(a, file);
		break;
	case NVS_UVM_DEVICE_P2P:
		/* The process maps the same range of the uvm fd: addresses are equal, as for all of
		 * its memory. */
		break;
	case NVS_UVM_REGISTER_GPU:
		register_gpu(a, 28, 0, 36);
		break;
	case NVS_UVM_REGISTER_GPU_VASPACE:
		register_gpu(a, 20, 24, 28);
		break;
	}
}
