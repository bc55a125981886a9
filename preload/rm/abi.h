/* SPDX-License-Identifier: MIT */
/* The parts of the kernel driver's interface that depend on its release, and the lists of known
 * ioctl numbers. Used by the ioctl decoders (rm.c, uvm.c, forms.c, channels.c). */
#ifndef NVSNOOP_PRELOAD_RM_ABI_H
#define NVSNOOP_PRELOAD_RM_ABI_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "preload/rm/nvrm.h"

/* A release as one number; numbers compare in the order of the releases. */
#define NVS_RELEASE(major, minor, patch) \
	((uint32_t)(major) << 20 | (uint32_t)(minor) << 8 | (uint32_t)(patch))
#define NVS_RELEASE_DEFAULT NVS_RELEASE(580, 65, 6) /* assumed if the release is unknown */

/* Parses "580.159.04" into NVS_RELEASE(). Returns 0 if TEXT is not a release. */
uint32_t nvs_abi_release(const char *text);

/* ---- the tables that gen-abi makes of driver.abi ---- */

/* Members that are at different offsets in different forms of their structure. */
enum nvs_abi_member {
	NVS_AT_status,
	NVS_AT_dmaOffset,
	NVS_AT_hUserdMemory,
	NVS_AT_userdOffset,
	NVS_AT_engineType,
	NVS_AT_gpuAttributesCount,
	NVS_AT_rmCtrlFd,
	NVS_AT_hClient,
	NVS_AT_hMemory,
	NVS_AT_rmStatus,
	NVS_AT_length,
	NVS_ABI_MEMBERS
};

/* A structure in the releases from FIRST to LAST. */
struct nvs_abi_form {
	uint32_t first, last;
	uint16_t size; /* bytes */
	uint16_t at[NVS_ABI_MEMBERS]; /* offset plus 1; 0: has no such member */
};

struct nvs_abi_structure {
	const struct nvs_abi_form *forms; /* in the order of their releases */
	uint32_t n;
};

/* The last element of these arrays is all zero. */
extern const struct nvs_abi_escape {
	uint16_t nr;
	const struct nvs_abi_structure *params[2]; /* NULL: not decoded */
} nvs_abi_escapes[];
extern const struct nvs_abi_class {
	uint16_t object_class, mask;
	const struct nvs_abi_structure *params;
} nvs_abi_classes[];
extern const uint32_t nvs_abi_uvm[];

extern const uint32_t nvs_abi_newest; /* the newest release that these tables cover */
extern const struct nvs_abi_structure nvs_abi_NV_CHANNEL_ALLOC_PARAMS;
extern const struct nvs_abi_structure nvs_abi_UVM_ALLOC_SEMAPHORE_POOL_PARAMS;
extern const struct nvs_abi_structure nvs_abi_UVM_FREE_PARAMS;
extern const struct nvs_abi_structure nvs_abi_UVM_MAP_EXTERNAL_ALLOCATION_PARAMS;

/* The form in RELEASE. In a release between or after the known ones it is that of the last known
 * release before it. */
const struct nvs_abi_form *nvs_abi_form(const struct nvs_abi_structure *s, uint32_t release);

/* Offset of a member that the form has. */
static inline uint32_t nvs_abi_at(const struct nvs_abi_form *form, enum nvs_abi_member member)
{
	return form->at[member] - 1u;
}

/* NV_ESC_* numbers. */
enum {
	NVS_ESC_ALLOC_MEMORY = 0x27,
	NVS_ESC_ALLOC_OBJECT = 0x28,
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
bool nvs_abi_follows_escape(unsigned nr); /* true if any form of it is decoded */
bool nvs_abi_knows_uvm(unsigned long nr);

/* The form of the parameters of escape NR, which are SIZE bytes long: if the size fits several,
 * that of the release. Returns NULL if the form is unknown. */
const struct nvs_abi_form *nvs_abi_escape_form(uint32_t release, unsigned nr, unsigned size);

/* True if the class has allocation parameters that the tables know. */
bool nvs_abi_knows_class(uint32_t object_class);
/* Size in bytes of the allocation parameters of a class. Returns 0 if it has none or is unknown. */
uint32_t nvs_abi_params_size(uint32_t release, uint32_t object_class);

/* c361, c461, ...: in every release only usermode classes end in 61. */
static inline bool nvs_class_is_usermode(uint32_t c)
{
	return (c & 0xff) == 0x61 && c >= VOLTA_USERMODE_A && c <= 0xffff;
}

/* True for classes of memory objects. Class 0 marks an object imported from another process. */
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

/* From Blackwell on, USERD has GP_PUT but no GP_GET (struct Nvc96fControl). */
static inline bool nvs_class_has_get(uint32_t c)
{
	return c < BLACKWELL_CHANNEL_GPFIFO_A;
}

/* Volta introduced the doorbell page; older channels are rung by the store to GP_PUT. */
static inline bool nvs_class_has_doorbell(uint32_t c)
{
	return c >= VOLTA_CHANNEL_GPFIFO_A;
}

static inline bool nvs_class_is_root(uint32_t c)
{
	return c == NV01_ROOT || c == NV01_ROOT_NON_PRIV || c == NV01_ROOT_CLIENT;
}

static inline uint32_t nvs_read_u32(const void *p, unsigned offset)
{
	uint32_t v;

	memcpy(&v, (const uint8_t *)p + offset, sizeof(v));
	return v;
}

static inline uint64_t nvs_read_u64(const void *p, unsigned offset)
{
	uint64_t v;

	memcpy(&v, (const uint8_t *)p + offset, sizeof(v));
	return v;
}

#endif
