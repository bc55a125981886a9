/* SPDX-License-Identifier: MIT */
/*
 * What of the kernel driver's structures depends on its release, and which calls are known at all.
 */
#ifndef NVSNOOP_PRELOAD_RM_ABI_H
#define NVSNOOP_PRELOAD_RM_ABI_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "preload/rm/nvrm.h"

/* A release in one number that compares as releases do. */
#define NVS_RELEASE(major, minor, patch) \
	((uint32_t)(major) << 20 | (uint32_t)(minor) << 8 | (uint32_t)(patch))
#define NVS_RELEASE_DEFAULT NVS_RELEASE(580, 65, 6) /* taken where nothing told which it is */
#define NVS_RELEASE_NEWEST NVS_RELEASE(620, 6, 0) /* of those that the tables here were made of */

/* "580.159.04" to NVS_RELEASE; 0 if TEXT is none. */
uint32_t nvs_abi_release(const char *text);

/* NV_ESC_* numbers. */
enum {
	NVS_ESC_ALLOC_MEMORY = 0x27,
	NVS_ESC_FREE = 0x29,
	NVS_ESC_CONTROL = 0x2a,
	NVS_ESC_ALLOC = 0x2b,
	NVS_ESC_DUP_OBJECT = 0x34,
	NVS_ESC_VID_HEAP_CONTROL = 0x4a,
	NVS_ESC_MAP_MEMORY = 0x4e,
	NVS_ESC_UNMAP_MEMORY = 0x4f,
	NVS_ESC_MAP_MEMORY_DMA = 0x57,
	NVS_ESC_UNMAP_MEMORY_DMA = 0x58,
	NVS_ESC_IMPORT_OBJECT_FROM_FD = 0x5d,
	NVS_ESC_UPDATE_DEVICE_MAPPING_INFO = 0x5e,
	NVS_ESC_CHECK_VERSION_STR = 0xd2,
	NVS_ESC_XFER_CMD = 0xd3,
};

/* UVM_* numbers. */
enum {
	NVS_UVM_REGISTER_GPU_VASPACE = 25,
	NVS_UVM_REGISTER_CHANNEL = 27,
	NVS_UVM_MAP_EXTERNAL = 33,
	NVS_UVM_FREE = 34,
	NVS_UVM_REGISTER_GPU = 37,
	NVS_UVM_UNMAP_EXTERNAL = 66,
	NVS_UVM_SEMAPHORE_POOL = 68,
	NVS_UVM_EXTERNAL_RANGE = 73,
	NVS_UVM_DEVICE_P2P = 78,
	NVS_UVM_INITIALIZE = 0x30000001,
	NVS_UVM_DEINITIALIZE = 0x30000002,
};

bool nvs_abi_knows_escape(unsigned nr);
bool nvs_abi_follows_escape(unsigned nr); /* in some form */
bool nvs_abi_knows_uvm(unsigned long nr);

/* Offset of the status word in the parameters of an escape, by its size; -1: a form not known. */
int nvs_abi_status(uint32_t release, unsigned nr, unsigned size);

/* Bytes of the allocation parameters of a class; 0: none, or not known. */
uint32_t nvs_abi_params_size(uint32_t release, uint32_t object_class);

/* Tail of UVM_MAP_EXTERNAL_ALLOCATION: offset of gpuAttributesCount(8), rmCtrlFd, hClient, hMemory,
 * rmStatus. */
unsigned nvs_abi_uvm_map_tail(uint32_t release);

/* c361, c461 ...: no other class of any release ends so. */
static inline bool nvs_class_is_usermode(uint32_t c)
{
	return (c & 0xff) == 0x61 && c >= VOLTA_USERMODE_A && c <= 0xffff;
}

/* Of memory objects; 0: of an object that came from another process. */
static inline bool nvs_class_is_memory(uint32_t c)
{
	return !c || c == NV01_MEMORY_SYSTEM || c == NV01_MEMORY_LOCAL_PRIVILEGED ||
	       c == NV01_MEMORY_LOCAL_USER || c == NV01_MEMORY_SYSTEM_OS_DESCRIPTOR ||
	       c == NV_MEMORY_FABRIC_IMPORT_V2 || c == NV_MEMORY_FABRIC_IMPORTED_REF;
}

static inline bool nvs_class_is_channel(uint32_t c)
{
	return (c & 0xff) == 0x6f && c >= 0x506f && c <= 0xffff;
}

/* Volta brought the doorbell page; older channels ring by GP_PUT alone. */
static inline bool nvs_class_has_doorbell(uint32_t c)
{
	return c >= VOLTA_CHANNEL_GPFIFO_A;
}

static inline bool nvs_class_is_root(uint32_t c)
{
	return c == NV01_ROOT || c == NV01_ROOT_NON_PRIV || c == NV01_ROOT_CLIENT;
}

static inline uint32_t nvs_u32(const void *p, unsigned offset)
{
	uint32_t v;

	memcpy(&v, (const uint8_t *)p + offset, sizeof(v));
	return v;
}

static inline uint64_t nvs_u64(const void *p, unsigned offset)
{
	uint64_t v;

	memcpy(&v, (const uint8_t *)p + offset, sizeof(v));
	return v;
}

#endif
