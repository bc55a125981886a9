/* SPDX-License-Identifier: MIT */
/*
 * Calls to the resource manager, read after they have succeeded: the kernel has then read and
 * written the same memory that we read. Only what must happen ahead of a call looks at its
 * arguments before, with care.
 */
#include "preload/rm/rm.h"

#define MAX_PARAMS 512 /* of an object that are kept */

struct call {
	unsigned nr, size;
	void *arg;
};

static struct call unpack(unsigned request, void *arg)
{
	return (struct call){request & 0xff, request >> 16 & 0x3fff, arg};
}

/* A structure too large for the request word comes by pointer. */
static struct call unwrap(const void *xfer)
{
	return (struct call){nvs_u32(xfer, 0), nvs_u32(xfer, 4), (void *)nvs_u64(xfer, 8)};
}

/* ---- ahead of the call ---- */

static void leave(struct nvs_object *o)
{
	nvs_rm()->leaving = o;
	if (o)
		nvs_object_withdraw(o);
}

static void before_unmap(const uint8_t *a)
{
	struct nvs_object *o = nvs_object_find(nvs_u32(a, 0), nvs_u32(a, 8));
	struct nvs_rm_map *map = o ? nvs_rm_map_find(o, nvs_u64(a, 16)) : NULL;

	nvs_rm()->unmapping = map;
	if (map)
		nvs_rm_map_withdraw(map);
}

static bool before(struct call c)
{
	uint8_t a[48];

	switch (c.nr) {
	case NVS_ESC_ALLOC:
		/* Whose pages the channel will share is settled before it is there. */
		if (c.size >= 32 && nvs_peek(a, c.arg, 24) && nvs_class_is_channel(nvs_u32(a, 12)))
			nvs_channel_expect(nvs_u32(a, 0), (const void *)nvs_u64(a, 16));
		return false;
	case NVS_ESC_FREE:
		if (c.size == 16 && nvs_peek(a, c.arg, 16))
			leave(nvs_object_find(nvs_u32(a, 0), nvs_u32(a, 8)));
		return true;
	case NVS_ESC_VID_HEAP_CONTROL:
		if (c.size == 184 && nvs_peek(a, c.arg, 48) && nvs_u32(a, 8) == 3)
			leave(nvs_object_find(nvs_u32(a, 0), nvs_u32(a, 44)));
		return true;
	case NVS_ESC_UNMAP_MEMORY:
		if (c.size == 32 && nvs_peek(a, c.arg, 24))
			before_unmap(a);
		return true;
	case NVS_ESC_UNMAP_MEMORY_DMA:
		return true;
	}
	return false;
}

/* A call that is to be made. Of one that cannot be read: as it stands. */
static struct call call_of(unsigned request, void *arg)
{
	struct call c = unpack(request, arg);
	uint8_t xfer[16];

	if (c.nr != NVS_ESC_XFER_CMD)
		return c;
	if (c.size != 16 || !nvs_peek(xfer, arg, 16))
		return c;
	return unwrap(xfer);
}

bool nvs_rm_makes_channel(unsigned request, void *arg)
{
	struct call c = call_of(request, arg);
	uint8_t a[16];

	return c.nr == NVS_ESC_ALLOC && c.size >= 32 && nvs_peek(a, c.arg, 16) &&
	       nvs_class_is_channel(nvs_u32(a, 12));
}

bool nvs_rm_before(unsigned request, void *arg)
{
	return nvs_rm() && before(call_of(request, arg));
}

/* ---- after it ---- */

static uint32_t alloc_params(const struct call *c, uint32_t object_class)
{
	uint32_t release = nvs_rm_release(), given = 0,
		 known = nvs_abi_params_size(release, object_class);
	bool sized = release >= NVS_RELEASE(535, 43, 2);

	if (!nvs_u64(c->arg, 16))
		return 0;
	/* NVOS64_FLAGS_FINN_SERIALIZED: not the plain structure. */
	if (c->size == 48 && nvs_u32(c->arg, 36) & 1)
		return 0;
	if (c->size == 32 && sized)
		given = nvs_u32(c->arg, 24);
	else if (c->size == 48)
		given = nvs_u32(c->arg, 32);
	if (!given)
		given = known;
	return given < MAX_PARAMS ? given : MAX_PARAMS;
}

static void pin(struct nvs_object *o, uint64_t address, uint64_t limit)
{
	o->system = true;
	nvs_maps_pinned(o, address, limit + 1);
}

static void after_alloc(int fd, const struct call *c)
{
	uint32_t client = nvs_u32(c->arg, 0), parent = nvs_u32(c->arg, 4),
		 handle = nvs_u32(c->arg, 8);
	uint32_t object_class = nvs_u32(c->arg, 12);
	const void *params = (const void *)nvs_u64(c->arg, 16);
	bool root = nvs_class_is_root(object_class);
	struct nvs_object *o;

	if (root)
		client = parent = handle;
	o = nvs_object_add(client, parent, handle, object_class, params,
			   root ? 0 : alloc_params(c, object_class));
	if (!o)
		return;
	if (root)
		o->file = nvs_fd_file(fd);
	if (nvs_class_is_channel(object_class))
		nvs_channel_add(o);
	else if (object_class == 0x0071 && o->params_length >= 36 && nvs_u32(o->params, 32) == 0)
		pin(o, nvs_u64(o->params, 16), nvs_u64(o->params, 24));
	else if (object_class == 0x00f9 || object_class == 0x00fb)
		nvs_tell_remark(NVS_REMARK_IMPORTED, o->gpu, client, handle);
}

static void after_alloc_memory(const struct call *c)
{
	uint32_t object_class = nvs_u32(c->arg, 12);
	uint64_t limit = nvs_u64(c->arg, 32);
	int fd = (int)nvs_u32(c->arg, 48);
	struct nvs_object *o = nvs_object_add(nvs_u32(c->arg, 0), nvs_u32(c->arg, 4),
					      nvs_u32(c->arg, 8), object_class, NULL, 0);

	if (!o)
		return;
	if (object_class == 0x0071)
		pin(o, nvs_u64(c->arg, 24), limit);
	else if (object_class == 0x003e && fd >= 0)
		nvs_rm_map_add(o, fd, 0, limit + 1, 0);
}

static void after_dup(const struct call *c)
{
	uint32_t client = nvs_u32(c->arg, 0), parent = nvs_u32(c->arg, 4),
		 handle = nvs_u32(c->arg, 8);
	struct nvs_object *source = nvs_object_find(nvs_u32(c->arg, 12), nvs_u32(c->arg, 16));

	if (source) {
		nvs_object_dup(source, client, parent, handle);
		return;
	}
	nvs_object_add(client, parent, handle, 0, NULL, 0);
	nvs_tell_remark(NVS_REMARK_IMPORTED, NVS_NONE, client, handle);
}

static void after_map(const struct call *c)
{
	struct nvs_object *o = nvs_object_find(nvs_u32(c->arg, 0), nvs_u32(c->arg, 8));

	if (o)
		nvs_rm_map_add(o, (int)nvs_u32(c->arg, 48), nvs_u64(c->arg, 16),
			       nvs_u64(c->arg, 24), nvs_u64(c->arg, 32));
}

static void after_update(const struct call *c)
{
	struct nvs_object *o = nvs_object_find(nvs_u32(c->arg, 0), nvs_u32(c->arg, 8));
	struct nvs_rm_map *map = o ? nvs_rm_map_find(o, nvs_u64(c->arg, 16)) : NULL;

	if (map)
		map->updated = nvs_u64(c->arg, 24);
}

/*
 * NVOS32 function 2 ALLOC_SIZE and 0xe ALLOC_SIZE_RANGE; attr LOCATION 26:25 is 0 for video memory.
 */
static void vid_heap_alloc(const struct call *c)
{
	bool virtual = nvs_u32(c->arg, 52) & 0x80000;
	bool video = (nvs_u32(c->arg, 56) >> 25 & 3) == 0;
	struct nvs_object *o = nvs_object_add(nvs_u32(c->arg, 0), nvs_u32(c->arg, 4),
					      nvs_u32(c->arg, 44),
					      virtual ? 0x50a0
					      : video ? 0x0040
						      : 0x003e,
					      NULL, 0);

	if (o && virtual)
		o->vaspace = nvs_u32(c->arg, 12);
}

static void after_vid_heap(const struct call *c)
{
	struct nvs_object *o;

	switch (nvs_u32(c->arg, 8)) {
	case 2:
	case 0xe:
		vid_heap_alloc(c);
		break;
	case 0x1b:
		o = nvs_object_add(nvs_u32(c->arg, 0), nvs_u32(c->arg, 4), nvs_u32(c->arg, 40),
				   0x0071, NULL, 0);
		if (o && nvs_u32(c->arg, 80) == 0)
			pin(o, nvs_u64(c->arg, 64), nvs_u64(c->arg, 72));
		break;
	}
}

static void after_map_dma(const struct call *c)
{
	uint32_t client = nvs_u32(c->arg, 0), handle = nvs_u32(c->arg, 12);
	struct nvs_object *dma = nvs_object_find(client, nvs_u32(c->arg, 8));
	uint64_t va = nvs_u64(c->arg, c->size == 64 ? 48 : 40);
	struct nvs_gpu_map map = {
		.at = {va, va + nvs_u64(c->arg, 24)},
		.client = client,
		.handle = handle,
		.gpus = 1,
		.offset = nvs_u64(c->arg, 16),
		.memory = nvs_object_find(client, handle),
		.dma = dma,
	};

	if (!dma)
		return;
	map.vaspace = nvs_object_vaspace(dma);
	map.vaspace_handle = dma->object_class == 0x90f1 ? dma->key.handle : dma->vaspace;
	if (map.memory && nvs_class_is_usermode(map.memory->object_class))
		nvs_tell_remark(NVS_REMARK_GPU_DOORBELL, map.memory->gpu, client, handle);
	nvs_gpu_map_add(&map);
}

static void after_unmap_dma(const struct call *c)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_object *dma = nvs_object_find(nvs_u32(c->arg, 0), nvs_u32(c->arg, 8));
	uint64_t va = nvs_u64(c->arg, 24), size = c->size == 48 ? nvs_u64(c->arg, 32) : 0;
	uint32_t space;

	if (!dma)
		return;
	space = nvs_object_vaspace(dma);
	if (!size) {
		/* The whole mapping that begins there. */
		NVS_SPANS_EACH(&rm->gpu, i, va, va + 1)
		{
			struct nvs_gpu_map *m = (struct nvs_gpu_map *)rm->gpu.at[i];

			if (m->vaspace == space && m->at.start == va)
				size = m->at.end - va;
		}
	}
	if (size)
		nvs_gpu_maps_remove(space, va, va + size, 0, false);
}

/* ---- controls ---- */

static void learn_gpu(const struct nvs_object *o, uint32_t cmd, const uint8_t *p, uint32_t size)
{
	struct nvs_gpu *g;

	if (!o || o->gpu >= NVS_MAX_GPUS)
		return;
	g = &nvs_rm()->gpus[o->gpu];
	g->seen = true;
	if (cmd == 0x20801701 && size >= 12) {
		g->architecture = nvs_u32(p, 0);
		g->implementation = nvs_u32(p, 4);
		g->revision = nvs_u32(p, 8);
	} else if (cmd == 0x20800110 && size >= 68 && nvs_u32(p, 0) == 0) {
		memcpy(g->name, p + 4, sizeof(g->name));
		g->name[sizeof(g->name) - 1] = 0;
	} else if (cmd == 0x2080014a && size >= 28 && nvs_u32(p, 8) == 16) {
		memcpy(g->uuid, p + 12, sizeof(g->uuid));
	}
	nvs_tell_gpu(o->gpu);
}

static void learn_version(const char *text, uint32_t room)
{
	char version[64];

	if (!text || room < sizeof(version) || !nvs_peek(version, text, sizeof(version)))
		return;
	version[sizeof(version) - 1] = 0;
	nvs_rm_driver(version);
}

static void import(uint32_t client, const uint8_t *p, uint32_t size)
{
	/* NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD: one object of the RM, its class not told. */
	if (size == 20 && nvs_u32(p, 4) == 1)
		nvs_object_add(client, nvs_u32(p, 12), nvs_u32(p, 16), 0, NULL, 0);
	nvs_tell_remark(NVS_REMARK_IMPORTED, NVS_NONE, client, size == 20 ? nvs_u32(p, 16) : 0);
}

static void after_control(const struct call *c)
{
	uint32_t client = nvs_u32(c->arg, 0), cmd = nvs_u32(c->arg, 8), size = nvs_u32(c->arg, 24);
	struct nvs_object *o = nvs_object_find(client, nvs_u32(c->arg, 4));
	const uint8_t *p = (const uint8_t *)nvs_u64(c->arg, 16);

	/* NVOS54_FLAGS_FINN_SERIALIZED */
	if (!p || nvs_u32(c->arg, 12) & 4)
		return;
	switch (cmd) {
	case 0xc36f0108: /* GPFIFO_GET_WORK_SUBMIT_TOKEN */
		if (o && size >= 4)
			nvs_channel_token(o, nvs_u32(p, 0));
		break;
	case 0x20801701: /* MC_GET_ARCH_INFO */
	case 0x20800110: /* GPU_GET_NAME_STRING */
	case 0x2080014a: /* GPU_GET_GID_INFO */
		learn_gpu(o, cmd, p, size);
		break;
	case 0x00000101: /* SYSTEM_GET_BUILD_VERSION */
		if (size >= 16)
			learn_version((const char *)nvs_u64(p, 8), nvs_u32(p, 0));
		break;
	case 0x0000013e: /* ..._V2 */
		learn_version((const char *)p, size);
		break;
	case 0x00003d06: /* OS_UNIX_IMPORT_OBJECT_FROM_FD */
	case 0x00003d0c:
		import(client, p, cmd == 0x3d06 ? size : 0);
		break;
	}
}

/* ---- all together ---- */

static void after(int fd, const struct call *c)
{
	struct nvs_rm *rm = nvs_rm();

	switch (c->nr) {
	case NVS_ESC_ALLOC:
		after_alloc(fd, c);
		break;
	case NVS_ESC_ALLOC_MEMORY:
		after_alloc_memory(c);
		break;
	case NVS_ESC_FREE:
		if (rm->leaving)
			nvs_object_destroy(rm->leaving);
		break;
	case NVS_ESC_DUP_OBJECT:
		after_dup(c);
		break;
	case NVS_ESC_CONTROL:
		after_control(c);
		break;
	case NVS_ESC_VID_HEAP_CONTROL:
		if (rm->leaving)
			nvs_object_destroy(rm->leaving);
		else
			after_vid_heap(c);
		break;
	case NVS_ESC_MAP_MEMORY:
		after_map(c);
		break;
	case NVS_ESC_UNMAP_MEMORY:
		if (rm->unmapping)
			nvs_rm_map_drop(rm->unmapping);
		break;
	case NVS_ESC_UPDATE_DEVICE_MAPPING_INFO:
		after_update(c);
		break;
	case NVS_ESC_MAP_MEMORY_DMA:
		after_map_dma(c);
		break;
	case NVS_ESC_UNMAP_MEMORY_DMA:
		after_unmap_dma(c);
		break;
	}
}

static void refused(void)
{
	struct nvs_rm *rm = nvs_rm();

	if (rm->leaving)
		nvs_object_restore(rm->leaving);
	if (rm->unmapping)
		nvs_rm_map_restore(rm->unmapping);
}

static void succeeded(int fd, const struct call *c)
{
	int status = nvs_abi_status(nvs_rm_release(), c->nr, c->size);

	if (c->nr == NVS_ESC_CHECK_VERSION_STR && c->size == 72) {
		learn_version((const char *)c->arg + 8, 64);
	} else if (c->nr == NVS_ESC_IMPORT_OBJECT_FROM_FD) {
		nvs_tell_remark(NVS_REMARK_IMPORTED, NVS_NONE, 0, 0);
	} else if (status < 0) {
		/* A call of no concern, or one in a form that is not known. */
		if (nvs_abi_follows_escape(c->nr) || !nvs_abi_knows_escape(c->nr))
			nvs_rm_count_unknown(0, c->nr, c->size);
	} else if (nvs_u32(c->arg, (unsigned)status)) {
		refused();
	} else {
		after(fd, c);
	}
}

void nvs_rm_after(int fd, unsigned request, void *arg, int ret)
{
	struct call c = unpack(request, arg);
	struct nvs_rm *rm = nvs_rm();

	if (!rm)
		return;
	if (ret) {
		refused();
		if (!nvs_abi_knows_escape(c.nr))
			nvs_rm_count_unknown(0, c.nr, c.size);
	} else {
		if (c.nr == NVS_ESC_XFER_CMD && c.size == 16)
			c = unwrap(arg);
		succeeded(fd, &c);
	}
	/* Whatever came of it: a call without the lock ends here too, long after it began. */
	rm->leaving = NULL;
	rm->unmapping = NULL;
}
