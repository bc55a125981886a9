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

struct quiet {
	uint32_t cmd, size;
};

static void send_all(uint32_t object, const struct quiet *q, uint32_t n)
{
	while (n--) {
		sg_control_quiet(object, q->cmd, q->size);
		q++;
	}
}

#define SEND(object, ...)                                                  \
	do {                                                               \
		static const struct quiet list_[] = {__VA_ARGS__};         \
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

static bool check_version(void)
{
	char buf[3][80] = {""};
	uint64_t p[5] = {80, (uint64_t)buf[0], (uint64_t)buf[1], (uint64_t)buf[2], 0};

	if (sg_control(sg_driver.client, 0x101, p, sizeof(p)))
		return false;
	sg_driver.release = (uint32_t)atoi(buf[0]);
	return sg_driver.release >= 580;
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
	ioctl(sg_driver.uvm_mm, 75, &mm);
	sg_uvm(39, pageable, 4);
}

static CUresult find_devices(void)
{
	uint32_t ids[96] = {0}, attach[33] = {0}, info[8];

	sg_control(sg_driver.client, 0x214, ids, sizeof(ids));
	sg_control_quiet(sg_driver.client, 0xa04, 2244);
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
	const char *options = getenv("SOFTGPU");

	sg_driver.xfer = options && strstr(options, "xfer");
	sg_driver.next = options && strstr(options, "next");
	sg_driver.turned = options && strstr(options, "turned");
	sg_driver.idle = options && strstr(options, "idle");
	sg_driver.busy = options && strstr(options, "busy");
	sg_driver.untold = options && strstr(options, "untold");
	sg_driver.blackwell = options && strstr(options, "blackwell");
	options = options ? strstr(options, "usermode=") : NULL;
	sg_driver.usermode = options ? (uint32_t)strtoul(options + 9, NULL, 16) : 0xc661;
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
	SEND(sg_driver.client, {0xd04, 12}, {0xd04, 12});
	sg_alloc(sg_driver.client, sg_handle(), 0xcb33, (uint32_t[32]){sg_driver.client});
	SEND(sg_driver.client, {0x1f0, 4});
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
		sg_alloc(d->subdevice, d->usermode[i], sg_driver.usermode, i ? bar1 : NULL);
		d->page[i] = sg_map(d->subdevice, d->usermode[i], 0x10000, path, NULL, PROT_WRITE,
				    i);
	}
}

static void identify(struct sg_device *d)
{
	uint32_t gid[67] = {0, 2}, arch[4] = {0};
	char name[132] = {0};

	SEND(d->subdevice, {0x20801303, 1028}, {0x20801303, 1028});
	sg_control(d->subdevice, 0x2080014a, gid, sizeof(gid));
	memcpy(d->uuid, gid + 3, 16);
	SEND(d->handle, {0x00800289, 8});
	SEND(d->subdevice, {0x20801303, 1028}, {0x20800102, 564});
	sg_control(d->subdevice, 0x20801701, arch, sizeof(arch));
	SEND(d->subdevice, {0x20801823, 420}, {0x20801801, 16}, {0x20801823, 420},
	     {0x20801803, 200}, {0x2080182a, 112}, {0x2080012f, 1464}, {0x20801303, 1028},
	     {0x20800170, 340}, {0x20800119, 4});
	SEND(sg_driver.client, {0x27b, 4});
	SEND(d->subdevice, {0x208001a3, 56});
	sg_control(d->subdevice, 0x20800110, name, sizeof(name));
	memcpy(d->name, name + 4, sizeof(d->name) - 1);
}

static void usermode_and_mailbox(struct sg_device *d, const char *path)
{
	uint32_t h;

	SEND(d->subdevice, {0x20801201, 32}, {0x2080122a, 24}, {0x2080122b, 24}, {0x20801227, 48},
	     {0x20802a0a, 136}, {0x20801230, 32}, {0x20800195, 260}, {0x2080121b, 9240},
	     {0x20803801, 1928});
	SEND(d->handle, {0x00801307, 3});
	SEND(d->subdevice, {0x20801303, 1028});
	map_usermode(d, path);
	h = sg_handle();
	sg_alloc(d->subdevice, h, 0x90e6, NULL);
	SEND(h, {0x90e60102, 8});
	h = sg_handle();
	sg_alloc(d->subdevice, h, 0xde, (uint32_t[32]){0});
	sg_map(d->subdevice, h, 0xa30, "/dev/nvidiactl", NULL, PROT_READ, false);
	SEND(d->subdevice, {0x20803601, 72});
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
	SEND(d->subdevice, {0x20800111, 64}, {0x20800131, 4}, {0x20808159, 332}, {0x2080220c, 0},
	     {0x20802210, 0});
	SEND(sg_driver.client, {0x13a, 1352});
	SEND(d->subdevice, {0x20808162, 1}, {0x2080182b, 28}, {0x20803002, 13344});
	memcpy(gpu.uuid, d->uuid, 16);
	sg_uvm(37, &gpu, 36);
	sg_uvm(23, group, 8);
	sg_handle();
	d->virtual_memory = sg_handle();
	sg_alloc(d->handle, d->virtual_memory, 0x50a0, (uint32_t[32]){[27] = d->vaspace});
	sg_alloc(d->subdevice, sg_handle(), 0x503c, (uint32_t[32]){1});
	SEND(d->subdevice, {0x20803601, 72}, {0x2080200a, 8}, {0x20800145, 0});
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
	ioctl(d->fd, 0xc23046d7, numa);
	d->handle = sg_handle();
	if (sg_alloc(sg_driver.client, d->handle, 0x80, params))
		return CUDA_ERROR_UNKNOWN;
	SEND(d->handle, {0x00801402, 3});
	sg_control(d->handle, 0x00800292, classes, sizeof(classes));
	SEND(d->handle, {0x00800280, 4});
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
