/* SPDX-License-Identifier: MIT */
/* Initialises the driver and its devices with the calls of the real driver, in the same order.
 * Calls whose answers are not used are in tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "driver.h"

static void send_all(uint32_t object, const uint32_t *cmd, uint32_t n)
{
	while (n--)
		sg_control_quiet(object, *cmd++);
}

#define SEND(object, ...)                                                  \
	do {                                                               \
		static const uint32_t list_[] = {__VA_ARGS__};             \
		send_all(object, list_, sizeof(list_) / sizeof(list_[0])); \
	} while (0)

/* ---- the driver ---- */

static void probe_cards(void)
{
	uint64_t block = 0;
	char cards[32 * 72] = {0};

	ioctl(sg_driver.ctl, 0xc00846d6, &block);
	ioctl(sg_driver.ctl, 0xc90046c8, cards);
}

/* The kernel's driver must be of the same release. */
static bool check_version(void)
{
	char buf[3][80] = {""}, own[16];
	uint64_t p[5] = {80, (uint64_t)buf[0], (uint64_t)buf[1], (uint64_t)buf[2], 0};

	sg_driver_release_text(own);
	return !sg_control(sg_driver.client, 0x101, p, sizeof(p)) && !strcmp(buf[0], own);
}

static void uvm_up(void)
{
	struct {
		uint64_t flags;
		uint32_t status, pad;
	} init = {0};
	struct {
		int fd;
		uint32_t status;
	} mm = {0};
	uint32_t pageable[16] = {0};

	sg_driver.uvm = sg_open_node("/dev/nvidia-uvm");
	sg_driver.uvm_mm = sg_open_node("/dev/nvidia-uvm");
	sg_uvm(0x30000001, &init, 8);
	mm.fd = sg_driver.uvm;
	if (sg_form(SG_UVM_MM_INITIALIZE))
		ioctl(sg_driver.uvm_mm, 75, &mm);
	sg_uvm(39, pageable, 4);
}

static CUresult find_devices(void)
{
	uint32_t ids[96] = {0}, attach[33] = {0}, info[8];

	sg_control(sg_driver.client, 0x214, ids, sg_control_size(0x214));
	sg_control_quiet(sg_driver.client, 0xa04);
	memcpy(attach, ids, 32 * 4);
	sg_control(sg_driver.client, 0x215, attach, sizeof(attach));
	for (uint32_t i = 0; i < SG_DEVICES && ids[i] != 0xffffffff; i++) {
		struct sg_device *d = &sg_driver.device[i];
		char path[32];

		memset(info, 0, sizeof(info));
		info[0] = ids[i];
		if (sg_control(sg_driver.client, 0x205, info, sizeof(info)))
			continue;
		d->gpu_id = ids[i];
		d->minor = info[2];
		snprintf(path, sizeof(path), "/dev/nvidia%u", d->minor);
		d->fd = sg_open_node(path);
		d->present = d->fd >= 0;
		snprintf(d->name, sizeof(d->name), "NVIDIA H200");
		sg_driver.ndevices += d->present;
	}
	return sg_driver.ndevices ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

/* cuInit(): a first client only asks for the version and is freed again. */
CUresult sg_driver_up(void)
{
	sg_driver.xfer = sg_option("xfer");
	sg_driver.next = sg_option("next");
	sg_driver.turned = sg_option("turned");
	sg_driver.idle = sg_option("idle");
	sg_driver.busy = sg_option("busy");
	sg_driver.untold = sg_option("untold");
	sg_driver.blackwell = sg_option("blackwell");
	sg_driver.layout = sg_layout();
	sg_driver.next_handle = 0x5c000001;
	sg_driver.ndevices = 0;
	for (int pass = 0; pass < 2; pass++) {
		sg_driver.ctl = sg_open_node("/dev/nvidiactl");
		if (sg_driver.ctl < 0)
			return CUDA_ERROR_NO_DEVICE;
		probe_cards();
		if (sg_alloc(0, 0, 0x41, NULL))
			return CUDA_ERROR_UNKNOWN;
		if (pass == 0) {
			if (!check_version())
				return CUDA_ERROR_UNKNOWN;
			sg_rm_free(sg_driver.client, sg_driver.client);
			close(sg_driver.ctl);
		}
	}
	SEND(sg_driver.client, 0xd04, 0xd04);
	sg_alloc(sg_driver.client, sg_handle(), 0xcb33, (uint32_t[32]){sg_driver.client});
	SEND(sg_driver.client, 0x1f0);
	uvm_up();
	return find_devices();
}

/* ---- a device ---- */

static void register_fd(int fd)
{
	int ctl = sg_driver.ctl;

	ioctl(fd, 0xc00446c9, &ctl);
}

/* Opens a file that stays open, for events of PARENT. */
static void event(struct sg_device *d, uint32_t parent, const char *path)
{
	int fd = sg_open_node(path);
	uint32_t os[4] = {sg_driver.client, d->subdevice, (uint32_t)fd, 0};

	register_fd(fd);
	ioctl(fd, 0xc01046ce, os);
	(void)parent;
}

static void map_usermode(struct sg_device *d, const char *path)
{
	for (uint32_t i = 0; i < 2; i++) {
		uint8_t bar1[2] = {1, 0};

		d->usermode[i] = sg_handle();
		sg_alloc(d->subdevice, d->usermode[i], sg_usermode(), i ? bar1 : NULL);
		d->page[i] = sg_map(d->subdevice, d->usermode[i], 0x10000, path, NULL, PROT_WRITE,
				    i);
	}
}

static void identify(struct sg_device *d)
{
	uint32_t gid[67] = {0, 2}, arch[4] = {0};
	char name[132] = {0};

	SEND(d->subdevice, 0x20801303, 0x20801303);
	sg_control(d->subdevice, 0x2080014a, gid, sizeof(gid));
	memcpy(d->uuid, gid + 3, 16);
	SEND(d->handle, 0x00800289);
	SEND(d->subdevice, 0x20801303, 0x20800102);
	sg_control(d->subdevice, 0x20801701, arch, sizeof(arch));
	SEND(d->subdevice, 0x20801823, 0x20801801, 0x20801823, 0x20801803, 0x2080182a, 0x2080012f,
	     0x20801303, 0x20800170, 0x20800119);
	SEND(sg_driver.client, 0x27b);
	SEND(d->subdevice, 0x208001a3);
	sg_control(d->subdevice, 0x20800110, name, sg_control_size(0x20800110));
	memcpy(d->name, name + 4, sizeof(d->name) - 1);
}

static void usermode_and_mailbox(struct sg_device *d, const char *path)
{
	uint32_t h;

	SEND(d->subdevice, 0x20801201, 0x2080122a, 0x2080122b, 0x20801227, 0x20802a0a, 0x20801230,
	     0x20800195, 0x2080121b, 0x20803801);
	SEND(d->handle, 0x00801307);
	SEND(d->subdevice, 0x20801303);
	map_usermode(d, path);
	h = sg_handle();
	sg_alloc(d->subdevice, h, 0x90e6, NULL);
	SEND(h, 0x90e60102);
	h = sg_handle();
	sg_alloc(d->subdevice, h, 0xde, (uint32_t[32]){0});
	sg_map(d->subdevice, h, 0xa30, "/dev/nvidiactl", NULL, PROT_READ, false);
	SEND(d->subdevice, 0x20803601);
}

static void address_spaces(struct sg_device *d)
{
	uint32_t space[32] = {0, 0x48};
	struct {
		uint8_t uuid[16], numa;
		uint32_t node;
		int fd;
		uint32_t client, partition, status;
	} gpu = {.fd = -1};
	struct {
		uint8_t uuid[16];
		int fd;
		uint32_t client, vaspace, status;
	} va = {.fd = sg_driver.ctl, .client = sg_driver.client};
	uint64_t group[16] = {1};

	d->vaspace = sg_handle();
	sg_alloc(d->handle, d->vaspace, 0x90f1, space);
	sg_alloc(d->handle, sg_handle(), 0x90f1, (uint32_t[32]){0});
	SEND(d->subdevice, 0x20800111, 0x20800131, 0x20808159, 0x2080220c, 0x20802210);
	SEND(sg_driver.client, 0x13a);
	SEND(d->subdevice, 0x20808162, 0x2080182b, 0x20803002);
	memcpy(gpu.uuid, d->uuid, 16);
	sg_uvm(37, &gpu, 36);
	if (sg_form(SG_UVM_RANGE_GROUPS))
		sg_uvm(23, group, 8);
	sg_handle();
	d->virtual_memory = sg_handle();
	sg_virtual_alloc(d, d->virtual_memory, d->vaspace);
	sg_alloc(d->subdevice, sg_handle(), 0x503c, (uint32_t[32]){1});
	SEND(d->subdevice, 0x20803601, 0x2080200a, 0x20800145);
	memcpy(va.uuid, d->uuid, 16);
	va.vaspace = d->vaspace;
	sg_uvm(25, &va, 28);
}

CUresult sg_device_up(struct sg_device *d)
{
	uint32_t params[32] = {d->minor, sg_driver.client}, classes[201] = {0}, numa[140] = {0};
	char path[32];

	if (d->up)
		return CUDA_SUCCESS;
	snprintf(path, sizeof(path), "/dev/nvidia%u", d->minor);
	register_fd(d->fd);
	ioctl(d->fd, 0xc00046d7 | (unsigned long)sg_form(SG_NUMA_INFO_SIZE) << 16, numa);
	d->handle = sg_handle();
	if (sg_alloc(sg_driver.client, d->handle, 0x80, params))
		return CUDA_ERROR_UNKNOWN;
	SEND(d->handle, 0x00801402);
	sg_control(d->handle, 0x00800292, classes, sg_control_size(0x00800292));
	SEND(d->handle, 0x00800280);
	d->subdevice = sg_handle();
	if (sg_alloc(d->handle, d->subdevice, 0x2080, (uint32_t[32]){0}))
		return CUDA_ERROR_UNKNOWN;
	sg_alloc(d->subdevice, sg_handle(), 0x2081, (uint32_t[32]){0});
	identify(d);
	event(d, d->subdevice, path);
	usermode_and_mailbox(d, path);
	address_spaces(d);
	d->up = d->page[0] && d->page[1];
	return d->up ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}
