/* SPDX-License-Identifier: MIT */
/*
 * What differs between driver releases 515.43.04 to 620.06.00: sizes of structures, offsets in
 * them, calls that come and go (SOFTGPU=release=525.147.05). Both sides use it, the software GPU as
 * the kernel's driver and the stand-in driver as the program's. Release 999.1.1 is none that
 * exists: its channel parameters have one more field.
 */
#ifndef SOFTGPU_RELEASE_H
#define SOFTGPU_RELEASE_H

#include <stdint.h>

#define SG_RELEASE(major, minor, patch) ((major) << 20 | (minor) << 8 | (patch))

enum sg_form {
	SG_ROOT_STATUS, /* NVOS21, the short form of RM_ALLOC */
	SG_ALLOC_SIZE, /* NVOS64 */
	SG_ALLOC_STATUS,
	SG_MAP_DMA_SIZE, /* NVOS46; its status is at size - 8, the address before it */
	SG_UNMAP_DMA_SIZE, /* NVOS47; its status is at size - 8 */
	SG_NUMA_INFO_SIZE,
	SG_WAIT_OPEN_COMPLETE, /* 1: exists */
	SG_CHANNEL_SIZE, /* NV_CHANNEL_ALLOC_PARAMS */
	SG_CHANNEL_USERD_MEMORY,
	SG_CHANNEL_USERD_OFFSET,
	SG_CHANNEL_ENGINE,
	SG_MEMORY_SIZE, /* NV_MEMORY_ALLOCATION_PARAMS */
	SG_VASPACE_SIZE, /* NV_VASPACE_ALLOCATION_PARAMETERS */
	SG_HEAP, /* 1: libcuda makes memory with VID_HEAP_CONTROL */
	SG_UVM_GPUS, /* number of UvmGpuMappingAttributes in UVM's structures */
	SG_UVM_FREE_STATUS,
	SG_UVM_UNREGISTER_CHANNEL_STATUS,
	SG_UVM_MM_INITIALIZE, /* 1: exists */
	SG_UVM_RANGE_GROUPS, /* 1: exist */
	SG_FORMS
};

/* The release in SOFTGPU, or 580.159.04. Returns 0 if it is none that can be had. */
uint32_t sg_driver_release(void);
/* Writes it as text. */
void sg_driver_release_text(char text[16]);
uint32_t sg_form(enum sg_form form);
/* Size of a control's parameters; SG_NO_CONTROL for one that is not known. */
#define SG_NO_CONTROL 0xffffffffu
uint32_t sg_control_size(uint32_t cmd);

#endif
