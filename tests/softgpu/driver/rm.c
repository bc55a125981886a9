/* SPDX-License-Identifier: MIT */
/* Device calls of the stand-in driver, with the structures of its release. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "driver.h"

#define FAILED 0xffffffffu
#define REQUEST(nr, size) (0xc0004600ul | (unsigned long)(size) << 16 | (nr))

struct sg_driver sg_driver = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .ctl = -1, .uvm = -1, .uvm_mm = -1};

/* NVOS64 with room for its longest form */
struct alloc_call {
	uint32_t root, parent, handle, cls;
	uint64_t params, rights;
	uint32_t tail[4]; /* flags, status and more, by release */
};
/* NVOS32 as functions 2 and 3 use it */
struct heap_call {
	uint32_t root, parent, function, vaspace, pad, status;
	uint64_t total, left;
	uint32_t owner, memory, type, flags, attr, pad2[7];
	uint64_t size, alignment, offset, limit, address, begin, end;
	uint32_t attr2, pad3[9];
};
_Static_assert(sizeof(struct heap_call) == 184, "NVOS32");
/* NVOS54 */
struct control_call {
	uint32_t client, object, cmd, flags;
	uint64_t params;
	uint32_t size, status;
};
/* NVOS33 with its descriptor */
struct map_call {
	uint32_t client, device, memory, pad;
	uint64_t offset, length, linear;
	uint32_t status, flags;
	int fd;
	uint32_t pad2;
};
/* NVOS56 */
struct update_call {
	uint32_t client, device, memory, pad;
	uint64_t old_address, new_address;
	uint32_t status, pad2;
};
/* NVOS34 */
struct unmap_call {
	uint32_t client, device, memory, pad;
	uint64_t linear;
	uint32_t status, flags;
};
/* NVOS02 with its descriptor */
struct pin_call {
	uint32_t root, parent, handle, cls, flags, pad;
	uint64_t address, limit;
	uint32_t status, pad2;
	int fd;
	uint32_t pad3;
};

uint32_t sg_handle(void)
{
	return __atomic_fetch_add(&sg_driver.next_handle, 1, __ATOMIC_RELAXED);
}

int sg_open_node(const char *path)
{
	return open(path, O_RDWR | O_CLOEXEC);
}

static int call(int fd, uint32_t nr, uint32_t size, void *arg)
{
	struct {
		uint32_t cmd, size;
		uint64_t ptr;
	} x = {nr, size, (uint64_t)arg};

	if (sg_driver.xfer && (nr == 0x2b || nr == 0x4e))
		return ioctl(fd, REQUEST(0xd3, sizeof(x)), &x);
	return ioctl(fd, REQUEST(nr, size), arg);
}

uint32_t sg_alloc_on(int fd, uint32_t parent, uint32_t handle, uint32_t cls, void *params)
{
	struct alloc_call c = {.root = cls == 0x41 ? 0 : sg_driver.client,
			       .parent = parent,
			       .handle = handle,
			       .cls = cls,
			       .params = (uint64_t)params};

	if (call(fd, 0x2b, sg_form(SG_ALLOC_SIZE), &c))
		return FAILED;
	if (cls == 0x41)
		sg_driver.client = c.handle;
	return ((uint32_t *)&c)[sg_form(SG_ALLOC_STATUS) / 4];
}

uint32_t sg_alloc(uint32_t parent, uint32_t handle, uint32_t cls, void *params)
{
	return sg_alloc_on(sg_driver.ctl, parent, handle, cls, params);
}

uint32_t sg_control(uint32_t object, uint32_t cmd, void *params, uint32_t size)
{
	struct control_call c = {.client = sg_driver.client,
				 .object = object,
				 .cmd = cmd,
				 .params = (uint64_t)params,
				 .size = size};

	return call(sg_driver.ctl, 0x2a, sizeof(c), &c) ? FAILED : c.status;
}

void sg_control_quiet(uint32_t object, uint32_t cmd)
{
	uint32_t size = sg_control_size(cmd);
	char *params = calloc(1, size + 8);

	sg_control(object, cmd, params, size);
	free(params);
}

uint32_t sg_rm_free(uint32_t parent, uint32_t handle)
{
	uint32_t c[4] = {sg_driver.client, parent, handle, 0};

	return call(sg_driver.ctl, 0x29, sizeof(c), c) ? FAILED : c[3];
}

static void address_space_type(uint32_t handle)
{
	uint32_t p[3] = {handle, 0, 0};

	sg_control(sg_driver.client, 0xd01, p, sizeof(p));
}

void *sg_map(uint32_t device, uint32_t memory, uint64_t size, const char *path, void *at, int prot,
	     bool update)
{
	struct map_call c = {
		.client = sg_driver.client, .device = device, .memory = memory, .length = size};
	void *p = MAP_FAILED;

	address_space_type(memory);
	c.fd = sg_open_node(path);
	if (c.fd < 0)
		return NULL;
	c.flags = prot == PROT_READ ? 1 : prot == PROT_WRITE ? 2 : 0;
	if (!call(sg_driver.ctl, 0x4e, sizeof(c), &c) && !c.status)
		p = mmap(at, (size + 4095) & ~4095ull, prot, MAP_SHARED | (at ? MAP_FIXED : 0),
			 c.fd, 0);
	if (p != MAP_FAILED && update) {
		struct update_call u = {.client = sg_driver.client,
					.device = device,
					.memory = memory,
					.old_address = c.linear,
					.new_address = (uint64_t)p};

		call(sg_driver.ctl, 0x5e, sizeof(u), &u);
	}
	close(c.fd);
	return p == MAP_FAILED ? NULL : (char *)p + (c.linear & 0xfff);
}

void sg_unmap(uint32_t device, uint32_t memory, void *p, uint64_t size)
{
	struct unmap_call c = {.client = sg_driver.client,
			       .device = device,
			       .memory = memory,
			       .linear = (uint64_t)p};

	call(sg_driver.ctl, 0x4f, sizeof(c), &c);
	munmap(p, (size + 4095) & ~4095ull);
}

uint32_t sg_uvm(unsigned long request, void *params, uint32_t status_offset)
{
	if (ioctl(sg_driver.uvm, request, params))
		return FAILED;
	return status_offset ? *(uint32_t *)((char *)params + status_offset) : 0;
}

uint32_t sg_external_map(struct sg_device *d, uint64_t va, uint64_t size, uint32_t memory)
{
	struct {
		uint64_t base, length;
		uint32_t status, pad;
	} range = {va, size, 0, 0};
	uint32_t status = sg_uvm(73, &range, 16);

	if (status)
		return status;
	status = sg_external_show(d, va, size, memory);
	sg_handle(); /* the real driver skips a handle here */
	return status;
}

uint32_t sg_external_show(struct sg_device *d, uint64_t va, uint64_t size, uint32_t memory)
{
	/* UVM_MAP_EXTERNAL_ALLOCATION_PARAMS, around the mapping attributes of the GPUs */
	struct {
		uint64_t base, length, offset;
	} * head;
	struct {
		uint64_t count;
		int fd;
		uint32_t client, memory, status;
	} * tail;
	uint32_t end = sizeof(*head) + sg_form(SG_UVM_GPUS) * 36, status;
	char *params = calloc(1, end + sizeof(*tail));

	head = (void *)params;
	head->base = va;
	head->length = size;
	memcpy(params + sizeof(*head), d->uuid, 16);
	params[sizeof(*head) + 16] = 1;
	tail = (void *)(params + end);
	tail->count = 1;
	tail->fd = sg_driver.ctl;
	tail->client = sg_driver.client;
	tail->memory = memory;
	status = sg_uvm(33, params, end + 20);
	free(params);
	return status;
}

uint32_t sg_external_hide(struct sg_device *d, uint64_t va, uint64_t size)
{
	struct {
		uint64_t base, length;
		uint8_t uuid[16];
		uint32_t status, pad;
	} range = {va, size, {0}, 0, 0};

	memcpy(range.uuid, d->uuid, 16);
	return sg_uvm(66, &range, 32);
}

uint32_t sg_external_free(uint64_t va, uint64_t size)
{
	struct {
		uint64_t base, length;
		uint32_t status, pad;
	} range = {va, size, 0, 0};

	if (sg_form(SG_UVM_FREE_STATUS) == 8)
		range.length = 0; /* the status is in its place */
	return sg_uvm(34, &range, sg_form(SG_UVM_FREE_STATUS));
}

uint32_t sg_pin(struct sg_device *d, uint32_t handle, void *p, uint64_t size)
{
	struct pin_call c = {.root = sg_driver.client,
			     .parent = d->handle,
			     .handle = handle,
			     .cls = 0x71,
			     .flags = 0x40001010,
			     .address = (uint64_t)p,
			     .limit = size - 1,
			     .fd = -1};

	return call(d->fd, 0x27, sizeof(c), &c) ? FAILED : c.status;
}

static uint32_t heap_alloc(struct sg_device *d, struct heap_call *c)
{
	c->root = sg_driver.client;
	c->parent = d->handle;
	c->function = 2;
	c->owner = sg_driver.client;
	return call(sg_driver.ctl, 0x4a, sizeof(*c), c) ? FAILED : c->status;
}

uint32_t sg_memory_alloc(struct sg_device *d, uint32_t handle, uint32_t cls, uint64_t size)
{
	bool video = cls == 0x40;
	struct heap_call c = {.memory = handle,
			      .flags = video ? 0x1c101 : 0xc001,
			      .attr = video ? 0x00051180 : 0x02092a80,
			      .size = size,
			      .alignment = video ? 0x200000 : 0x1000};
	uint32_t p[32] = {sg_driver.client, 0, c.flags};

	if (sg_form(SG_HEAP))
		return heap_alloc(d, &c);
	p[6] = video ? 0x00051180 : 0x00092a80;
	p[7] = video ? 0x1000 : 0;
	memcpy(p + 16, &size, 8);
	p[18] = (uint32_t)c.alignment;
	return sg_alloc(d->handle, handle, cls, p);
}

uint32_t sg_memory_free(struct sg_device *d, uint32_t handle)
{
	struct heap_call c = {.root = sg_driver.client,
			      .parent = d->handle,
			      .function = 3,
			      .owner = sg_driver.client,
			      .memory = handle};

	if (!sg_form(SG_HEAP))
		return sg_rm_free(d->handle, handle);
	return call(sg_driver.ctl, 0x4a, sizeof(c), &c) ? FAILED : c.status;
}

uint32_t sg_virtual_alloc(struct sg_device *d, uint32_t handle, uint32_t vaspace)
{
	struct heap_call c = {.memory = handle, .vaspace = vaspace, .flags = 0x80000};

	if (sg_form(SG_HEAP))
		return heap_alloc(d, &c);
	return sg_alloc(d->handle, handle, 0x50a0, (uint32_t[32]){[27] = vaspace});
}
