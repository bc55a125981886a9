/* SPDX-License-Identifier: MIT */
/* A context: its address window, the fixed memory objects, and five channel groups with 20
 * channels, made by the same calls in the same order as the real driver's. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "driver.h"

#define PATIENCE_MS 3000
#define WINDOW 0x10000000ull
#define USERD_OBJECT 0x8000
#define FIRST_WINDOW 0x200000000ull
#define HIGH_WINDOW \
	0x8000000000ull /* used if a sanitizer's shadow memory is at the usual addresses */

static struct sg_context *contexts;
static uint64_t windows_used;
static __thread struct sg_context *current[16];
static __thread int depth;

/* ---- pieces ---- */

static char *gpu_path(const struct sg_device *d)
{
	static char path[SG_DEVICES][16] = {"/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia2",
					    "/dev/nvidia3"};

	return path[d->minor % SG_DEVICES];
}

static uint32_t remember(struct sg_context *ctx, uint32_t handle)
{
	if (ctx->nmemory < 16)
		ctx->memory[ctx->nmemory++] = handle;
	return handle;
}

/* GPU memory at VA that the program does not map. */
static bool device_object(struct sg_context *ctx, uint64_t va, uint64_t size)
{
	uint32_t h = remember(ctx, sg_handle());

	return !sg_memory_alloc(ctx->device, h, 0x40, size) &&
	       !sg_external_map(ctx->device, va, size, h);
}

/* System memory at VA, the same address for the program. */
static bool system_object(struct sg_context *ctx, uint64_t va, uint64_t size)
{
	uint32_t h = remember(ctx, sg_handle());

	return !sg_memory_alloc(ctx->device, h, 0x3e, size) &&
	       sg_map(ctx->device->handle, h, size, "/dev/nvidiactl", (void *)va,
		      PROT_READ | PROT_WRITE, false) &&
	       !sg_external_map(ctx->device, va, size, h);
}

/* Ring object: GPU memory that the program maps too. */
static bool ring_object(struct sg_context *ctx)
{
	struct sg_device *d = ctx->device;
	uint64_t va = ctx->base + 0x600000;

	ctx->ring_handle = remember(ctx, sg_handle());
	return !sg_memory_alloc(d, ctx->ring_handle, 0x40, 0x200000) &&
	       sg_map(d->subdevice, ctx->ring_handle, 0x200000, gpu_path(d), (void *)va,
		      PROT_READ | PROT_WRITE, true) &&
	       !sg_external_map(d, va, 0x200000, ctx->ring_handle);
}

/* A page of system memory for eight USERDs, not mapped for the GPU. */
static bool userd_object(struct sg_context *ctx)
{
	struct sg_device *d = ctx->device;

	if (sg_driver.layout != SG_LAYOUT_SYSTEM)
		return true;
	ctx->userd_handle = remember(ctx, sg_handle());
	if (sg_memory_alloc(d, ctx->userd_handle, 0x3e, USERD_OBJECT))
		return false;
	ctx->userd_cpu = sg_map(d->handle, ctx->userd_handle, USERD_OBJECT, "/dev/nvidiactl", NULL,
				PROT_READ | PROT_WRITE, false);
	return ctx->userd_cpu;
}

static bool register_channel(struct softgpu_channel *ch)
{
	struct {
		uint8_t uuid[16];
		int fd;
		uint32_t client, channel, pad;
		uint64_t base, length;
		uint32_t status, pad2;
	} c = {.fd = sg_driver.ctl, .client = sg_driver.client, .channel = ch->handle};

	memcpy(c.uuid, ch->ctx->device->uuid, 16);
	return !sg_uvm(27, &c, 48);
}

/* Schedules a group and opens a file for its events. */
static void schedule(struct sg_context *ctx, uint32_t group)
{
	uint8_t on[4] = {1};
	uint32_t os[4] = {sg_driver.client, ctx->device->subdevice}, event[32] = {sg_driver.client};
	int ctl = sg_driver.ctl, fd;

	sg_control(group, 0xa06c0101, on, sg_control_size(0xa06c0101));
	fd = sg_open_node(gpu_path(ctx->device));
	ioctl(fd, 0xc00446c9, &ctl);
	os[2] = (uint32_t)fd;
	ioctl(fd, 0xc01046ce, os);
	event[1] = ctx->device->subdevice;
	event[2] = 0x79;
	sg_alloc_on(fd, ctx->device->subdevice, sg_handle(), 0x79, event);
	close(fd);
}

static CUresult compute_group(struct sg_context *ctx)
{
	struct sg_device *d = ctx->device;
	CUresult r;

	ctx->group[0] = sg_handle();
	ctx->share = sg_handle();
	if (sg_alloc(d->handle, ctx->group[0], 0xa06c, (uint32_t[32]){0, 0, 0, 1}) ||
	    sg_alloc(ctx->group[0], ctx->share, 0x9067, (uint32_t[32]){d->vaspace, 1, 0x3f}) ||
	    !ring_object(ctx) || !userd_object(ctx) ||
	    !system_object(ctx, ctx->base + 0x800000, 0x3800000))
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < SG_COMPUTE_CHANNELS; i++) {
		r = sg_channel_create(&ctx->ch[i], ctx, i, false, ctx->group[0], ctx->share, false);
		if (r)
			return r;
		if (i == 0 && !system_object(ctx, ctx->base + 0x4600000, 0x200000))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (uint32_t i = 0; i < SG_COMPUTE_CHANNELS; i++)
		register_channel(&ctx->ch[i]);
	schedule(ctx, ctx->group[0]);
	return CUDA_SUCCESS;
}

static CUresult copy_group(struct sg_context *ctx, uint32_t n)
{
	struct sg_device *d = ctx->device;
	uint32_t first = SG_COMPUTE_CHANNELS + (n - 1) * 4;
	CUresult r;

	ctx->group[n] = sg_handle();
	if (sg_alloc(d->handle, ctx->group[n], 0xa06c, (uint32_t[32]){0, 0, d->vaspace, 10 + n}))
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = first; i < first + 4; i++) {
		r = sg_channel_create(&ctx->ch[i], ctx, i, true, ctx->group[n], 0, false);
		if (r)
			return r;
	}
	for (uint32_t i = first; i < first + 4; i++)
		register_channel(&ctx->ch[i]);
	schedule(ctx, ctx->group[n]);
	return CUDA_SUCCESS;
}

static bool semaphore_pool(struct sg_context *ctx)
{
	/* UVM_ALLOC_SEMAPHORE_POOL_PARAMS: base, length, the GPUs' attributes, their number, status
	 */
	uint32_t end = 16 + sg_form(SG_UVM_GPUS) * 36;
	char *pool = calloc(1, end + 16);
	uint64_t va = ctx->base + 0x4a00000, group[16] = {0};
	uint64_t check[3] = {va, 0x200000, 0}, count = 1;
	bool ok;

	memcpy(pool, check, 16);
	memcpy(pool + 16, ctx->device->uuid, 16);
	memcpy(pool + end, &count, 8);
	ok = !sg_uvm(68, pool, end + 8);
	free(pool);
	ok = ok && mmap((void *)va, 0x200000, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			sg_driver.uvm, (off_t)va) == (void *)va;
	sg_uvm(72, check, 16);
	for (int i = 0; i < 4 && sg_form(SG_UVM_RANGE_GROUPS); i++)
		sg_uvm(23, group, 8);
	return ok;
}

static bool window(struct sg_context *ctx)
{
	for (uint32_t i = 0; i < 60; i++) {
		void *at = (void *)((i < 50 ? FIRST_WINDOW : HIGH_WINDOW) + i * WINDOW);

		if (windows_used >> i & 1)
			continue;
		if (mmap(at, WINDOW, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			 0) != at)
			continue;
		windows_used |= 1ull << i;
		ctx->base = (uint64_t)at;
		return true;
	}
	return false;
}

/* ---- life ---- */

static CUresult build(struct sg_context *ctx)
{
	CUresult r;

	if (!window(ctx) || !device_object(ctx, ctx->base, 0x600000))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if ((r = compute_group(ctx)))
		return r;
	for (uint32_t n = 1; n <= 3; n++)
		if ((r = copy_group(ctx, n)))
			return r;
	if (!system_object(ctx, ctx->base + 0x4800000, 0x200000))
		return CUDA_ERROR_OUT_OF_MEMORY;
	sg_control_quiet(ctx->device->subdevice, 0x2080012f);
	sg_control_quiet(ctx->device->subdevice, 0x2080012f);
	if (!semaphore_pool(ctx) || !device_object(ctx, ctx->base + 0x4c00000, 0x200000) ||
	    !device_object(ctx, ctx->base + 0x4e00000, 0x200000) ||
	    !device_object(ctx, ctx->base + 0x5200000, 0x200000))
		return CUDA_ERROR_OUT_OF_MEMORY;
	ctx->consts = sg_device_alloc(ctx, 0x400000);
	ctx->code = sg_device_alloc(ctx, 0x200000);
	for (int i = 0; i < 4; i++)
		ctx->staging[i] = sg_host_alloc(ctx, 0x100000);
	if (!ctx->consts || !ctx->code || !ctx->staging[3])
		return CUDA_ERROR_OUT_OF_MEMORY;
	return sg_context_first(ctx);
}

CUresult sg_context_create(struct sg_context **out, struct sg_device *d)
{
	struct sg_context *ctx;
	CUresult r;

	pthread_mutex_lock(&sg_driver.lock);
	ctx = calloc(1, sizeof(*ctx));
	r = sg_device_up(d);
	ctx->device = d;
	ctx->doorbell = d->page[1] + 0x90 / 4;
	pthread_mutex_init(&ctx->lock, NULL);
	pthread_mutex_init(&ctx->staging_lock, NULL);
	if (!r)
		r = build(ctx);
	if (r) {
		free(ctx);
	} else {
		ctx->next = contexts;
		contexts = ctx;
		*out = ctx;
	}
	pthread_mutex_unlock(&sg_driver.lock);
	return r;
}

static void fixed_objects_free(struct sg_context *ctx)
{
	static const struct {
		uint64_t at, size;
	} map[] = {{0, 0x600000},	  {0x600000, 0x200000},	 {0x800000, 0x3800000},
		   {0x4600000, 0x200000}, {0x4800000, 0x200000}, {0x4a00000, 0x200000},
		   {0x4c00000, 0x200000}, {0x4e00000, 0x200000}, {0x5200000, 0x200000}};

	for (uint32_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		sg_external_free(ctx->base + map[i].at, map[i].size);
	if (ctx->userd_cpu)
		sg_unmap(ctx->device->handle, ctx->userd_handle, ctx->userd_cpu, USERD_OBJECT);
	for (uint32_t i = 0; i < ctx->nmemory; i++)
		sg_memory_free(ctx->device, ctx->memory[i]);
}

void sg_context_destroy(struct sg_context *ctx)
{
	struct sg_context **p;

	for (uint32_t i = 0; i < SG_CHANNELS; i++)
		sg_channel_wait(&ctx->ch[i], ctx->ch[i].payload);
	pthread_mutex_lock(&sg_driver.lock);
	for (p = &contexts; *p && *p != ctx; p = &(*p)->next)
		;
	if (*p)
		*p = ctx->next;
	for (struct sg_context *c = contexts; c; c = c->next)
		sg_peer_drop(c, ctx);
	for (uint32_t n = 0; n < 4; n++)
		sg_rm_free(ctx->device->handle, ctx->group[n]);
	for (uint32_t i = 0; i < SG_CHANNELS; i++) {
		sg_unmap(ctx->device->handle, ctx->ch[i].notifier_handle, ctx->ch[i].notifier,
			 0x1000);
		sg_memory_free(ctx->device, ctx->ch[i].notifier_handle);
	}
	sg_module_drop(ctx->builtin);
	for (int i = 0; i < 4; i++)
		sg_host_free(ctx->staging[i]);
	sg_host_unregister_all(ctx);
	sg_device_free_all(ctx);
	fixed_objects_free(ctx);
	munmap((void *)ctx->base, WINDOW);
	windows_used &= ~(1ull << (ctx->base - FIRST_WINDOW) / WINDOW);
	pthread_mutex_unlock(&sg_driver.lock);
	while (ctx->streams) {
		CUstream s = ctx->streams;

		ctx->streams = s->next;
		free(s);
	}
	free(ctx);
}

/* ---- the current context ---- */

struct sg_context *sg_current(void)
{
	return current[depth];
}

static CUresult check_up(void)
{
	return sg_driver.up ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

static struct sg_device *device_of(CUdevice device)
{
	return device >= 0 && device < (int)sg_driver.ndevices ? &sg_driver.device[device] : NULL;
}

API CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice device)
{
	struct sg_device *d = device_of(device);
	struct sg_context *ctx;
	CUresult r = check_up();

	if (r || !out || !d)
		return r ? r : !d ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
	r = sg_context_create(&ctx, d);
	if (r)
		return r;
	*out = (CUcontext)ctx;
	return cuCtxPushCurrent_v2(*out);
}

API CUresult cuCtxDestroy_v2(CUcontext c)
{
	struct sg_context *ctx = (struct sg_context *)c;

	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (sg_current() == ctx)
		current[depth] = NULL;
	sg_context_destroy(ctx);
	return CUDA_SUCCESS;
}

static __thread struct sg_context *registered;

void sg_registered(struct sg_context *ctx)
{
	registered = ctx;
}

void sg_wait_settled(struct sg_context *ctx)
{
	if (!sg_option("patient") || !ctx || registered)
		return;
	for (int i = 0; i < PATIENCE_MS && !atomic_load(&ctx->settled); i++)
		usleep(1000);
	atomic_store(&ctx->settled, 1);
}

API CUresult cuCtxSetCurrent(CUcontext c)
{
	if (registered && !c) {
		atomic_store(&registered->settled, 1);
		registered = NULL;
	}
	current[depth] = (struct sg_context *)c;
	return check_up();
}

API CUresult cuCtxGetCurrent(CUcontext *c)
{
	*c = (CUcontext)sg_current();
	return check_up();
}

API CUresult cuCtxPushCurrent_v2(CUcontext c)
{
	if (depth < 15 && current[depth])
		depth++;
	current[depth] = (struct sg_context *)c;
	return CUDA_SUCCESS;
}

API CUresult cuCtxPopCurrent_v2(CUcontext *c)
{
	if (c)
		*c = (CUcontext)sg_current();
	current[depth] = NULL;
	if (depth)
		depth--;
	return CUDA_SUCCESS;
}

API CUresult cuCtxGetDevice(CUdevice *device)
{
	struct sg_context *ctx = sg_current();

	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = (CUdevice)(ctx->device - sg_driver.device);
	return CUDA_SUCCESS;
}

API CUresult cuCtxSynchronize(void)
{
	struct sg_context *ctx = sg_current();
	CUresult r;

	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	for (uint32_t i = 0; i < SG_CHANNELS; i++) {
		uint32_t payload = __atomic_load_n(&ctx->ch[i].payload, __ATOMIC_ACQUIRE);

		r = sg_channel_wait(&ctx->ch[i], payload);
		if (r)
			return r;
	}
	while (sg_streams_run(ctx))
		nanosleep(&(struct timespec){0, 20000}, NULL);
	for (uint32_t i = 0; i < SG_COMPUTE_CHANNELS; i++) {
		r = sg_channel_error(&ctx->ch[i]);
		if (r)
			return r;
	}
	return CUDA_SUCCESS;
}

static struct sg_context *primary[SG_DEVICES];
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;

API CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
	struct sg_device *d = device_of(device);
	CUresult r = check_up();

	if (r || !d)
		return r ? r : CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&primary_lock);
	if (!primary[device])
		r = sg_context_create(&primary[device], d);
	if (!r) {
		primary[device]->refs++;
		*out = (CUcontext)primary[device];
	}
	pthread_mutex_unlock(&primary_lock);
	return r;
}

API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	struct sg_context *ctx;

	if (!device_of(device))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&primary_lock);
	ctx = primary[device];
	primary[device] = NULL;
	pthread_mutex_unlock(&primary_lock);
	if (ctx)
		cuCtxDestroy_v2((CUcontext)ctx);
	return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	bool last;

	if (!device_of(device))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&primary_lock);
	last = primary[device] && !--primary[device]->refs;
	pthread_mutex_unlock(&primary_lock);
	return last ? cuDevicePrimaryCtxReset_v2(device) : CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
	if (!device_of(device))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&primary_lock);
	*flags = 0;
	*active = primary[device] != NULL;
	pthread_mutex_unlock(&primary_lock);
	return CUDA_SUCCESS;
}
