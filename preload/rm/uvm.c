/* SPDX-License-Identifier: MIT */
/*
 * Decodes calls to /dev/nvidia-uvm: external ranges, which map RM memory at GPU addresses, and the
 * registration of GPUs, on which the kernel driver then uses channels of its own. Request numbers
 * carry no size, so the form of the parameters follows from the release.
 */
#include "preload/rm/rm.h"

static void add_range(uint64_t base, uint64_t length, uint32_t file)
{
	struct nvs_uvm_range *range = nvs_alloc(sizeof(*range));

	if (!range)
		return;
	range->at.start = base;
	range->at.end = base + length;
	range->file = file;
	range->born = nvs_rm()->calls;
	if (length && base + length > base && !nvs_spans_add(&nvs_rm()->ranges, &range->at))
		return;
	nvs_free(range, sizeof(*range));
}

/* Ends the range that begins at BASE and was made before CALL. Returns its length, 0 if there is
 * none. */
static uint64_t end_range(uint64_t base, uint32_t file, uint64_t call)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_uvm_range *range;

	NVS_SPANS_EACH(&rm->ranges, range, base, base + 1)
	{
		uint64_t length = range->at.end - range->at.start;

		if (range->at.start != base || range->file != file || range->born >= call)
			continue;
		nvs_spans_remove(&rm->ranges, &range->at);
		nvs_free(range, sizeof(*range));
		return length;
	}
	return 0;
}

static void add_map(uint32_t client, uint32_t handle, uint64_t base, uint64_t length,
		    uint64_t offset, uint32_t gpus, uint32_t file)
{
	struct nvs_driver_object *o = nvs_object_find(client, handle);
	struct nvs_gpu_map m = {
		.at = {base, base + length},
		.client = client,
		.handle = handle,
		.file = file,
		.gpus = gpus,
		.offset = offset,
	};

	if (o && nvs_class_is_usermode(o->object_class))
		nvs_record_remark(NVS_REMARK_GPU_DOORBELL, o->gpu, client, handle);
	nvs_gpu_map_add(&m);
}

static void map_external(const struct UVM_MAP_EXTERNAL_ALLOCATION_PARAMS *a, uint32_t file)
{
	const struct UVM_MAP_EXTERNAL_ALLOCATION_TAIL *tail =
		(const void *)((const uint8_t *)a + nvs_abi_uvm_map_tail(nvs_rm_release()));
	uint32_t gpus = tail->gpuAttributesCount ? (uint32_t)tail->gpuAttributesCount : 1;

	if (!tail->rmStatus)
		add_map(tail->hClient, tail->hMemory, a->base, a->length, a->offset, gpus, file);
}

static void free_range(const void *params, uint32_t file, uint64_t call)
{
	const struct UVM_FREE_PARAMS *a = params;
	const struct UVM_FREE_PARAMS_590 *newer = params;
	bool short_form = nvs_rm_release() >= NVS_RELEASE(590, 44, 1);
	uint64_t length;

	if (short_form ? newer->rmStatus : a->rmStatus)
		return;
	length = end_range(a->base, file, call);
	if (!short_form)
		length = a->length;
	if (length)
		nvs_gpu_maps_remove(0, a->base, a->base + length, file, false, call);
}

/* UVM copies and clears memory on channels that it makes in the kernel. */
static void register_gpu(const struct UVM_REGISTER_GPU_PARAMS *a)
{
	if (!a->rmStatus)
		nvs_record_remark(NVS_REMARK_KERNEL_CHANNEL, nvs_gpu_by_uuid(a->gpu_uuid),
				  a->hClient, 0);
}

static void register_vaspace(const struct UVM_REGISTER_GPU_VASPACE_PARAMS *a)
{
	if (!a->rmStatus)
		nvs_record_remark(NVS_REMARK_KERNEL_CHANNEL, nvs_gpu_by_uuid(a->gpuUuid),
				  a->hClient, a->hVaSpace);
}

static void register_channel(const struct UVM_REGISTER_CHANNEL_PARAMS *a)
{
	struct nvs_driver_object *o = a->rmStatus ? NULL : nvs_object_find(a->hClient, a->hChannel);

	if (o && o->channel)
		nvs_channel_read_token(o->channel);
}

/* End of the range at BASE that the call removes. FREE has no length since 590.44.01. */
static uint64_t find_range_end(unsigned long request, uint64_t base, uint64_t length)
{
	const struct nvs_uvm_range *range;
	uint64_t end = base + 1;

	if (request == NVS_UVM_UNMAP_EXTERNAL || nvs_rm_release() < NVS_RELEASE(590, 44, 1))
		return base + length > base ? base + length : UINT64_MAX;
	NVS_SPANS_EACH(&nvs_rm()->ranges, range, base, base + 1)
	if (range->at.start == base && range->at.end > end)
		end = range->at.end;
	return end;
}

bool nvs_uvm_needs_before(unsigned long request)
{
	return request == NVS_UVM_FREE || request == NVS_UVM_UNMAP_EXTERNAL;
}

void nvs_uvm_before(unsigned long request, const void *arg)
{
	struct {
		uint64_t base, length; /* the first fields of both structures */
	} range;

	if (nvs_rm()->pools && nvs_copy_program(&range, arg, sizeof(range)))
		nvs_timing_retire_memory(range.base,
					 find_range_end(request, range.base, range.length));
}

void nvs_uvm_after(int fd, unsigned long request, void *arg, int ret,
		   const struct nvs_transit *transit)
{
	const struct UVM_CREATE_EXTERNAL_RANGE_PARAMS *range = arg;
	const struct UVM_UNMAP_EXTERNAL_PARAMS *unmap = arg;
	uint32_t file;

	if (!nvs_rm())
		return;
	if (!nvs_abi_knows_uvm(request))
		nvs_rm_count_unknown(1, (uint32_t)request, 0);
	if (ret || !arg)
		return;
	file = nvs_fd_file(fd);
	switch (request) {
	case NVS_UVM_EXTERNAL_RANGE:
		if (!range->rmStatus)
			add_range(range->base, range->length, file);
		break;
	case NVS_UVM_MAP_EXTERNAL:
		map_external(arg, file);
		break;
	case NVS_UVM_UNMAP_EXTERNAL:
		if (!unmap->rmStatus)
			nvs_gpu_maps_remove(0, unmap->base, unmap->base + unmap->length, file, true,
					    transit->call);
		break;
	case NVS_UVM_FREE:
		free_range(arg, file, transit->call);
		break;
	case NVS_UVM_DEVICE_P2P:
		/* The process maps the same range of the uvm fd at the same address, as with all
		 * UVM memory, so nothing needs to be entered here. */
		break;
	case NVS_UVM_REGISTER_GPU:
		register_gpu(arg);
		break;
	case NVS_UVM_REGISTER_GPU_VASPACE:
		register_vaspace(arg);
		break;
	case NVS_UVM_REGISTER_CHANNEL:
		register_channel(arg);
		break;
	}
}
