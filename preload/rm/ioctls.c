/* SPDX-License-Identifier: MIT */
/*
 * Decodes ioctls to the resource manager. They are read after they have succeeded: the kernel has
 * then read and written the same memory, so reading it is safe. Only calls that remove something,
 * or that make a channel, are also read before they run, with guarded copies.
 */
#include "preload/rm/rm.h"

struct call {
	unsigned nr, size;
	void *arg;
	const struct nvs_abi_form *form; /* of the parameters; set after the call */
};

static struct call unpack_call(unsigned request, void *arg)
{
	return (struct call){request & 0xff, request >> 16 & 0x3fff, arg, NULL};
}

/* Parameters too large for the request word are passed by pointer. */
static struct call unwrap_xfer(const struct nv_ioctl_xfer *x)
{
	return (struct call){x->cmd, x->size, (void *)x->ptr, NULL};
}

/* ---- before the call ---- */

static void before_free(struct nvs_transit *t, uint32_t client, uint32_t handle)
{
	struct nvs_driver_object *o = nvs_object_find(client, handle);

	if (!o)
		return;
	t->frees = true;
	t->client = client;
	t->handle = handle;
	o->leaving++;
	if (nvs_rm()->pools)
		nvs_timing_retire_object(o);
	nvs_object_withdraw(o);
}

/* The object that before_free() found. Returns NULL if there was none, or if another call has freed
 * it since. */
static struct nvs_driver_object *find_leaving(const struct nvs_transit *t)
{
	struct nvs_driver_object *o = t->frees ? nvs_object_find(t->client, t->handle) : NULL;

	if (!o || o->born >= t->call)
		return NULL;
	o->leaving--;
	return o;
}

static void before_unmap(struct nvs_transit *t, const struct NVOS34_PARAMETERS *a)
{
	struct nvs_driver_object *o = nvs_object_find(a->hClient, a->hMemory);

	t->map = o ? nvs_rm_map_find(o, a->pLinearAddress) : NULL;
	if (!t->map)
		return;
	t->map->refs++;
	nvs_rm_map_withdraw(t->map);
}

/* True if CALL has parameters of the form of *TO and they could be copied there. */
#define PEEK(call, to) \
	((call).size == sizeof(*(to)) && nvs_copy_program(to, (call).arg, sizeof(*(to))))

/* Reads the fields that both forms of ALLOC start with. */
static bool allocates_channel(struct call c, struct NVOS21_PARAMETERS *a)
{
	return c.nr == NVS_ESC_ALLOC && c.size >= sizeof(*a) &&
	       nvs_copy_program(a, c.arg, sizeof(*a)) && nvs_class_is_channel(a->hClass);
}

/* The RM writes to USERD, so other channels that have theirs in the same page give up their shadow
 * of the page before the call. */
static void clear_shared_userd(const struct NVOS21_PARAMETERS *a)
{
	uintptr_t userd = nvs_channel_predict_userd(a->hRoot, (const void *)a->pAllocParms);

	if (userd)
		nvs_shadow_clear(userd, userd + 1);
}

static bool frees_heap(struct call c, struct NVOS32_PARAMETERS *a)
{
	return PEEK(c, a) && a->function == NVOS32_FUNCTION_FREE;
}

static void prepare_call(struct call c, struct nvs_transit *t)
{
	union {
		struct NVOS00_PARAMETERS free;
		struct NVOS21_PARAMETERS alloc;
		struct NVOS32_PARAMETERS heap;
		struct NVOS34_PARAMETERS unmap;
	} a;

	switch (c.nr) {
	case NVS_ESC_ALLOC:
		/* Channels that share a USERD page give up their shadows before the new channel
		 * exists. */
		if (allocates_channel(c, &a.alloc))
			clear_shared_userd(&a.alloc);
		break;
	case NVS_ESC_FREE:
		if (PEEK(c, &a.free))
			before_free(t, a.free.hRoot, a.free.hObjectOld);
		break;
	case NVS_ESC_VID_HEAP_CONTROL:
		if (frees_heap(c, &a.heap))
			before_free(t, a.heap.hRoot, a.heap.data.Free.hMemory);
		break;
	case NVS_ESC_UNMAP_MEMORY:
		if (PEEK(c, &a.unmap))
			before_unmap(t, &a.unmap);
		break;
	}
}

/* The call inside an XFER_CMD; the call itself if that cannot be read. */
static struct call decode_call(unsigned request, void *arg)
{
	struct call c = unpack_call(request, arg);
	struct nv_ioctl_xfer x;

	return c.nr == NVS_ESC_XFER_CMD && PEEK(c, &x) ? unwrap_xfer(&x) : c;
}

bool nvs_rm_makes_channel(unsigned request, void *arg)
{
	struct NVOS21_PARAMETERS a;

	return allocates_channel(decode_call(request, arg), &a);
}

void nvs_rm_prepare(unsigned request, void *arg)
{
	struct NVOS21_PARAMETERS a;
	uintptr_t userd = 0;
	sigset_t saved;

	if (!allocates_channel(decode_call(request, arg), &a))
		return;
	nvs_lock(&saved);
	if (nvs_rm())
		userd = nvs_channel_predict_userd(a.hRoot, (const void *)a.pAllocParms);
	nvs_unlock(&saved);
	if (userd)
		nvs_shadow_prepare(userd, userd + 1);
}

bool nvs_rm_needs_before(unsigned request, void *arg)
{
	struct call c = decode_call(request, arg);
	struct NVOS32_PARAMETERS heap;

	switch (c.nr) {
	case NVS_ESC_FREE:
	case NVS_ESC_UNMAP_MEMORY:
	case NVS_ESC_UNMAP_MEMORY_DMA:
		return true;
	case NVS_ESC_VID_HEAP_CONTROL:
		return frees_heap(c, &heap);
	}
	return false;
}

void nvs_rm_before(unsigned request, void *arg, struct nvs_transit *transit)
{
	prepare_call(decode_call(request, arg), transit);
}

/* ---- after the call ---- */

/* Number of parameter bytes to keep. */
static uint32_t kept_params_size(const struct call *c, uint32_t object_class)
{
	const struct NVOS21_PARAMETERS *plain = c->arg;
	const struct NVOS64_PARAMETERS *extended = c->arg;
	uint32_t release = nvs_rm_release(), given = 0;

	if (!plain->pAllocParms)
		return 0;
	if (c->size == sizeof(*extended)) {
		if (extended->flags & NVOS64_FLAGS_FINN_SERIALIZED) {
			nvs_record_remark(NVS_REMARK_SERIALIZED, NVS_NONE, object_class, 0);
			return 0;
		}
		given = extended->paramsSize;
	} else if (c->size == sizeof(*plain) && release >= NVS_RELEASE(535, 43, 2)) {
		given = plain->paramsSize;
	}
	if (!given)
		given = nvs_abi_params_size(release, object_class);
	return given < NVS_MAX_PARAMS ? given : NVS_MAX_PARAMS;
}

static void pin_memory(struct nvs_driver_object *o, uint64_t address, uint64_t limit)
{
	o->system = true;
	nvs_maps_add_pinned(o, address, limit + 1);
}

/* True if the object is user memory given by its address. */
static bool is_user_memory(const struct nvs_driver_object *o)
{
	return o->object_class == NV01_MEMORY_SYSTEM_OS_DESCRIPTOR &&
	       NVS_HAS_PARAM(o, NV_OS_DESC_MEMORY_ALLOCATION_PARAMS, descriptorType) &&
	       NVS_PARAM(o, NV_OS_DESC_MEMORY_ALLOCATION_PARAMS, descriptorType) ==
		       NVOS32_DESCRIPTOR_TYPE_VIRTUAL_ADDRESS;
}

static void after_alloc(int fd, const struct call *c)
{
	const struct NVOS21_PARAMETERS *a = c->arg;
	uint32_t object_class = a->hClass, handle = a->hObjectNew;
	bool root = nvs_class_is_root(object_class);
	uint32_t client = root ? handle : a->hRoot;
	struct nvs_driver_object *o;

	o = nvs_object_add(client, root ? handle : a->hObjectParent, handle, object_class,
			   (const void *)a->pAllocParms,
			   root ? 0 : kept_params_size(c, object_class));
	if (!o)
		return;
	if (root)
		o->file = nvs_fd_file(fd);
	if (nvs_class_is_channel(object_class))
		nvs_channel_add(o);
	else if (is_user_memory(o))
		pin_memory(o, NVS_PARAM(o, NV_OS_DESC_MEMORY_ALLOCATION_PARAMS, descriptor),
			   NVS_PARAM(o, NV_OS_DESC_MEMORY_ALLOCATION_PARAMS, limit));
	else if (object_class == NV_MEMORY_FABRIC_IMPORT_V2 ||
		 object_class == NV_MEMORY_FABRIC_IMPORTED_REF)
		nvs_record_remark(NVS_REMARK_IMPORTED, o->gpu, client, handle);
}

static void after_alloc_memory(const struct nv_ioctl_nvos02_parameters_with_fd *a)
{
	struct nvs_driver_object *o = nvs_object_add(a->hRoot, a->hObjectParent, a->hObjectNew,
						     a->hClass, NULL, 0);

	if (!o)
		return;
	if (a->hClass == NV01_MEMORY_SYSTEM_OS_DESCRIPTOR)
		pin_memory(o, a->pMemory, a->limit);
	else if (a->hClass == NV01_MEMORY_SYSTEM && a->fd >= 0)
		nvs_rm_map_add(o, a->fd, 0, a->limit + 1, 0);
}

static void after_dup(const struct NVOS55_PARAMETERS *a)
{
	struct nvs_driver_object *source = nvs_object_find(a->hClientSrc, a->hObjectSrc);

	if (source) {
		nvs_object_dup(source, a->hClient, a->hParent, a->hObject);
		return;
	}
	nvs_object_add(a->hClient, a->hParent, a->hObject, 0, NULL, 0);
	nvs_record_remark(NVS_REMARK_IMPORTED, NVS_NONE, a->hClient, a->hObject);
}

static void after_map(const struct nv_ioctl_nvos33_parameters_with_fd *a)
{
	struct nvs_driver_object *o = nvs_object_find(a->hClient, a->hMemory);

	if (!o)
		return;
	/* 64 KiB from the first byte on may be a doorbell page, which has a remark of its own. */
	if (!nvs_class_is_memory(o->object_class) && !nvs_abi_knows_class(o->object_class) &&
	    !nvs_class_is_usermode(o->object_class) &&
	    (a->offset || a->length != NVS_DOORBELL_BYTES))
		nvs_record_remark(NVS_REMARK_MAPPED_CLASS, o->gpu, o->object_class, a->hMemory);
	nvs_rm_map_add(o, a->fd, a->offset, a->length, a->pLinearAddress);
}

static void after_update(const struct NVOS56_PARAMETERS *a)
{
	struct nvs_driver_object *o = nvs_object_find(a->hClient, a->hMemory);
	struct nvs_rm_map *map = o ? nvs_rm_map_find(o, a->pOldCpuAddress) : NULL;

	if (map)
		map->updated = a->pNewCpuAddress;
}

static void vid_heap_alloc(const struct NVOS32_PARAMETERS *a)
{
	bool virtual = a->data.AllocSize.flags & NVOS32_ALLOC_FLAGS_VIRTUAL;
	bool video = NVOS32_ATTR_LOCATION(a->data.AllocSize.attr) == 0;
	struct nvs_driver_object *o = nvs_object_add(a->hRoot, a->hObjectParent,
						     a->data.AllocSize.hMemory,
						     virtual ? NV50_MEMORY_VIRTUAL
						     : video ? NV01_MEMORY_LOCAL_USER
							     : NV01_MEMORY_SYSTEM,
						     NULL, 0);

	if (o && virtual)
		o->vaspace = a->hVASpace;
}

static void vid_heap_os_descriptor(const struct NVOS32_PARAMETERS *a)
{
	struct nvs_driver_object *o = nvs_object_add(a->hRoot, a->hObjectParent,
						     a->data.AllocOsDesc.hMemory,
						     NV01_MEMORY_SYSTEM_OS_DESCRIPTOR, NULL, 0);

	if (o && a->data.AllocOsDesc.descriptorType == NVOS32_DESCRIPTOR_TYPE_VIRTUAL_ADDRESS)
		pin_memory(o, a->data.AllocOsDesc.descriptor, a->data.AllocOsDesc.limit);
}

static void after_vid_heap(const struct NVOS32_PARAMETERS *a)
{
	switch (a->function) {
	case NVOS32_FUNCTION_ALLOC_SIZE:
	case NVOS32_FUNCTION_ALLOC_SIZE_RANGE:
		vid_heap_alloc(a);
		break;
	case NVOS32_FUNCTION_ALLOC_OS_DESCRIPTOR:
		vid_heap_os_descriptor(a);
		break;
	}
}

static void after_map_dma(const struct call *c)
{
	const struct NVOS46_PARAMETERS *a = c->arg;
	struct nvs_driver_object *dma = nvs_object_find(a->hClient, a->hDma);
	uint64_t va = nvs_read_u64(a, nvs_abi_at(c->form, NVS_AT_dmaOffset));
	struct nvs_gpu_map map = {
		.at = {va, va + a->length},
		.client = a->hClient,
		.handle = a->hMemory,
		.gpus = 1,
		.offset = a->offset,
		.memory = nvs_object_find(a->hClient, a->hMemory),
		.dma = dma,
	};

	if (!dma)
		return;
	map.vaspace = nvs_object_vaspace(dma);
	map.vaspace_handle = dma->object_class == FERMI_VASPACE_A ? dma->key.handle : dma->vaspace;
	if (map.memory && nvs_class_is_usermode(map.memory->object_class))
		nvs_record_remark(NVS_REMARK_GPU_DOORBELL, map.memory->gpu, a->hClient, a->hMemory);
	nvs_gpu_map_add(&map);
}

static void after_unmap_dma(const struct call *c, const struct nvs_transit *t)
{
	const struct NVOS47_PARAMETERS *a = c->arg;
	struct nvs_driver_object *dma = nvs_object_find(a->hClient, a->hDma);
	uint64_t va = a->dmaOffset, size = c->size == sizeof(*a) ? a->size : 0;
	uint32_t space;
	struct nvs_gpu_map *m;

	if (!dma)
		return;
	space = nvs_object_vaspace(dma);
	if (!size) {
		/* Without a size, the mapping that begins at this address is removed whole. */
		NVS_SPANS_EACH(&nvs_rm()->gpu, m, va, va + 1)
		{
			if (m->vaspace == space && m->at.start == va && m->born < t->call)
				size = m->at.end - va;
		}
	}
	if (size)
		nvs_gpu_maps_remove(space, va, va + size, 0, false, t->call);
}

/* ---- controls ---- */

static void record_gpu_info(const struct nvs_driver_object *o, uint32_t cmd, const void *params,
			    uint32_t size)
{
	const struct NV2080_CTRL_MC_GET_ARCH_INFO_PARAMS *arch = params;
	const struct NV2080_CTRL_GPU_GET_NAME_STRING_PARAMS *name = params;
	const struct NV2080_CTRL_GPU_GET_GID_INFO_PARAMS *gid = params;
	struct nvs_gpu *g;

	if (!o || o->gpu >= NVS_MAX_GPUS)
		return;
	g = &nvs_rm()->gpus[o->gpu];
	g->seen = true;
	if (cmd == NV2080_CTRL_CMD_MC_GET_ARCH_INFO && size >= sizeof(*arch)) {
		g->architecture = arch->architecture;
		g->implementation = arch->implementation;
		g->revision = arch->revision;
	} else if (cmd == NV2080_CTRL_CMD_GPU_GET_NAME_STRING && size >= sizeof(*name) &&
		   name->gpuNameStringFlags == 0) {
		memcpy(g->name, name->ascii, sizeof(g->name));
		g->name[sizeof(g->name) - 1] = 0;
	} else if (cmd == NV2080_CTRL_CMD_GPU_GET_GID_INFO && size >= sizeof(*gid) &&
		   gid->length == sizeof(g->uuid)) {
		memcpy(g->uuid, gid->data, sizeof(g->uuid));
	}
	nvs_record_gpu(o->gpu);
}

static void record_version(const char *text, uint32_t room)
{
	char version[64];

	if (!text || room < sizeof(version) || !nvs_copy_program(version, text, sizeof(version)))
		return;
	version[sizeof(version) - 1] = 0;
	nvs_rm_set_driver(version);
}

/* P: the imported RM object, whose class is unknown. NULL: several objects. */
static void add_imported(uint32_t client,
			 const struct NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD_PARAMS *p)
{
	if (p && p->type == 1)
		nvs_object_add(client, p->hParent, p->hObject, 0, NULL, 0);
	nvs_record_remark(NVS_REMARK_IMPORTED, NVS_NONE, client, p ? p->hObject : 0);
}

static void control_token(const struct NVOS54_PARAMETERS *a, struct nvs_driver_object *o)
{
	if (o && a->paramsSize >= 4)
		nvs_channel_set_token(o, nvs_read_u32((const void *)a->params, 0));
}

static void control_gpu(const struct NVOS54_PARAMETERS *a, struct nvs_driver_object *o)
{
	record_gpu_info(o, a->cmd, (const void *)a->params, a->paramsSize);
}

static void control_version(const struct NVOS54_PARAMETERS *a, struct nvs_driver_object *o)
{
	const struct NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_PARAMS *p = (const void *)a->params;

	if (a->paramsSize >= sizeof(*p))
		record_version((const char *)p->pDriverVersionBuffer, p->sizeOfStrings);
}

static void control_version_v2(const struct NVOS54_PARAMETERS *a, struct nvs_driver_object *o)
{
	record_version((const char *)a->params, a->paramsSize);
}

static void control_import(const struct NVOS54_PARAMETERS *a, struct nvs_driver_object *o)
{
	const struct NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD_PARAMS *p = (const void *)a->params;

	add_imported(a->hClient, a->paramsSize == sizeof(*p) ? p : NULL);
}

static void control_imports(const struct NVOS54_PARAMETERS *a, struct nvs_driver_object *o)
{
	add_imported(a->hClient, NULL);
}

static void control_schedule(const struct NVOS54_PARAMETERS *a, struct nvs_driver_object *o)
{
	nvs_channels_read_tokens();
}

static void control_capabilities(const struct NVOS54_PARAMETERS *a, struct nvs_driver_object *o)
{
	const struct NV_CONF_COMPUTE_CTRL_CMD_SYSTEM_GET_CAPABILITIES_PARAMS *p =
		(const void *)a->params;

	if (a->paramsSize >= sizeof(*p) && p->ccFeature)
		nvs_record_remark(NVS_REMARK_CONFIDENTIAL, NVS_NONE, 0, 0);
}

static void control_sm_errors(const struct NVOS54_PARAMETERS *a, struct nvs_driver_object *o)
{
	const struct NV83DE_CTRL_DEBUG_READ_ALL_SM_ERROR_STATES_PARAMS *p = (const void *)a->params;

	if (a->paramsSize >= sizeof(*p))
		nvs_record_sm_errors(a->hClient, p);
}

static const struct {
	uint32_t cmd;
	void (*learn)(const struct NVOS54_PARAMETERS *a, struct nvs_driver_object *o);
} controls[] = {
	{NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN, control_token},
	{NVA06C_CTRL_CMD_GPFIFO_SCHEDULE, control_schedule},
	{NVA06F_CTRL_CMD_GPFIFO_SCHEDULE, control_schedule},
	{NV_CONF_COMPUTE_CTRL_CMD_SYSTEM_GET_CAPABILITIES, control_capabilities},
	{NV83DE_CTRL_CMD_DEBUG_READ_ALL_SM_ERROR_STATES, control_sm_errors},
	{NV2080_CTRL_CMD_MC_GET_ARCH_INFO, control_gpu},
	{NV2080_CTRL_CMD_GPU_GET_NAME_STRING, control_gpu},
	{NV2080_CTRL_CMD_GPU_GET_GID_INFO, control_gpu},
	{NV0000_CTRL_CMD_SYSTEM_GET_BUILD_VERSION, control_version},
	{NV0000_CTRL_CMD_SYSTEM_GET_BUILD_VERSION_V2, control_version_v2},
	{NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECT_FROM_FD, control_import},
	{NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECTS_FROM_FD, control_imports},
};
#define NCONTROLS (sizeof(controls) / sizeof(controls[0]))

static size_t find_control(const struct NVOS54_PARAMETERS *a)
{
	size_t i = 0;

	while (i < NCONTROLS && controls[i].cmd != a->cmd)
		i++;
	return i;
}

static void after_control(const struct NVOS54_PARAMETERS *a)
{
	size_t i = find_control(a);

	if (i == NCONTROLS || !a->params)
		return;
	if (a->flags & NVOS54_FLAGS_FINN_SERIALIZED)
		nvs_record_remark(NVS_REMARK_SERIALIZED, NVS_NONE, a->cmd, 0);
	else
		controls[i].learn(a, nvs_object_find(a->hClient, a->hObject));
}

bool nvs_rm_changes_nothing(unsigned request, const void *arg, int ret)
{
	return !ret && (request & 0xff) == NVS_ESC_CONTROL &&
	       (request >> 16 & 0x3fff) == sizeof(struct NVOS54_PARAMETERS) &&
	       find_control(arg) == NCONTROLS;
}

/* ---- dispatch ---- */

static void process_result(int fd, const struct call *c, const struct nvs_transit *t)
{
	struct nvs_driver_object *o;

	switch (c->nr) {
	case NVS_ESC_ALLOC:
		after_alloc(fd, c);
		break;
	case NVS_ESC_ALLOC_MEMORY:
		after_alloc_memory(c->arg);
		break;
	case NVS_ESC_FREE:
		o = find_leaving(t);
		if (o)
			nvs_object_destroy(o);
		break;
	case NVS_ESC_DUP_OBJECT:
		after_dup(c->arg);
		break;
	case NVS_ESC_CONTROL:
		after_control(c->arg);
		break;
	case NVS_ESC_VID_HEAP_CONTROL:
		o = find_leaving(t);
		if (o)
			nvs_object_destroy(o);
		else
			after_vid_heap(c->arg);
		break;
	case NVS_ESC_MAP_MEMORY:
		after_map(c->arg);
		break;
	case NVS_ESC_UNMAP_MEMORY:
		if (t->map && t->map->object)
			nvs_rm_map_drop(t->map);
		break;
	case NVS_ESC_UPDATE_DEVICE_MAPPING_INFO:
		after_update(c->arg);
		break;
	case NVS_ESC_MAP_MEMORY_DMA:
		after_map_dma(c);
		break;
	case NVS_ESC_UNMAP_MEMORY_DMA:
		after_unmap_dma(c, t);
		break;
	}
}

static void restore_refused(const struct nvs_transit *t)
{
	struct nvs_driver_object *o = find_leaving(t);

	if (o)
		nvs_object_restore(o);
	if (t->map && t->map->object)
		nvs_rm_map_restore(t->map);
}

/* Counts a call that could not be decoded, and reports one that may have changed what is followed.
 */
static void count_undecoded(const struct call *c)
{
	if (nvs_abi_follows_escape(c->nr) || c->nr == NVS_ESC_ALLOC_OBJECT)
		nvs_record_remark(NVS_REMARK_CALL_FORM, NVS_NONE, c->nr, c->size);
	else if (nvs_abi_knows_escape(c->nr))
		return;
	nvs_rm_count_unknown(0, c->nr, c->size);
}

static void process_success(int fd, struct call *c, const struct nvs_transit *t)
{
	const struct nv_ioctl_rm_api_version *version = c->arg;

	c->form = nvs_abi_escape_form(nvs_rm_release(), c->nr, c->size);
	if (c->nr == NVS_ESC_CHECK_VERSION_STR && c->size == sizeof(*version)) {
		record_version(version->versionString, sizeof(version->versionString));
	} else if (c->nr == NVS_ESC_IMPORT_OBJECT_FROM_FD) {
		nvs_record_remark(NVS_REMARK_IMPORTED, NVS_NONE, 0, 0);
	} else if (!c->form) {
		/* Irrelevant, or in an unknown form, which the call was changed to meanwhile. */
		restore_refused(t);
		count_undecoded(c);
	} else if (nvs_read_u32(c->arg, nvs_abi_at(c->form, NVS_AT_status))) {
		restore_refused(t);
	} else {
		process_result(fd, c, t);
	}
}

void nvs_rm_after(int fd, unsigned request, void *arg, int ret, const struct nvs_transit *transit)
{
	struct call c = unpack_call(request, arg);

	if (!nvs_rm())
		return;
	if (ret) {
		restore_refused(transit);
		if (!nvs_abi_knows_escape(c.nr))
			nvs_rm_count_unknown(0, c.nr, c.size);
	} else {
		if (c.nr == NVS_ESC_XFER_CMD && c.size == sizeof(struct nv_ioctl_xfer))
			c = unwrap_xfer(arg);
		process_success(fd, &c, transit);
	}
	nvs_rm_map_put(transit->map);
}
