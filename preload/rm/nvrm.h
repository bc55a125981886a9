/* SPDX-License-Identifier: MIT */
/*
 * Parameters of kernel driver calls, with NVIDIA's names, up to the last field that is read here.
 * Sources: open GPU kernel modules 515 to 620, src/common/sdk/nvidia/inc (nvos.h, class, ctrl),
 * nv-ioctl.h, nv-unix-nvos-params-wrappers.h, kernel-open/nvidia-uvm/uvm_ioctl.h. The structures
 * are packed so that they can be read at any address; driver.abi has the offsets by release,
 * against which the compiler holds them.
 */
#ifndef NVSNOOP_PRELOAD_RM_NVRM_H
#define NVSNOOP_PRELOAD_RM_NVRM_H

#include <stddef.h>
#include <stdint.h>

#define NVRM_STRUCT struct __attribute__((packed))

/* ---- classes (class/cl....h) ---- */
enum {
	NV01_ROOT = 0x0000,
	NV01_ROOT_NON_PRIV = 0x0001,
	NV01_MEMORY_SYSTEM = 0x003e,
	NV01_MEMORY_LOCAL_PRIVILEGED = 0x003f,
	NV01_MEMORY_LOCAL_USER = 0x0040,
	NV01_ROOT_CLIENT = 0x0041,
	NV01_MEMORY_VIRTUAL = 0x0070,
	NV01_MEMORY_SYSTEM_OS_DESCRIPTOR = 0x0071,
	NV01_DEVICE_0 = 0x0080,
	NV_MEMORY_FABRIC_IMPORT_V2 = 0x00f9,
	NV_MEMORY_FABRIC_IMPORTED_REF = 0x00fb,
	NV20_SUBDEVICE_0 = 0x2080,
	NV50_MEMORY_VIRTUAL = 0x50a0,
	FERMI_CONTEXT_SHARE_A = 0x9067,
	FERMI_VASPACE_A = 0x90f1,
	KEPLER_CHANNEL_GROUP_A = 0xa06c,
	VOLTA_USERMODE_A = 0xc361,
	VOLTA_CHANNEL_GPFIFO_A = 0xc36f,
	HOPPER_USERMODE_A = 0xc661,
	BLACKWELL_USERMODE_A = 0xc761,
	HOPPER_CHANNEL_GPFIFO_A = 0xc86f, /* the first class that reaches addresses beyond 2^40 */
	BLACKWELL_CHANNEL_GPFIFO_A = 0xc96f, /* the first class without GP_GET */
};

/* ---- parameters of the escapes (nvos.h) ---- */

NVRM_STRUCT NVOS00_PARAMETERS
{ /* FREE */
	uint32_t hRoot, hObjectParent, hObjectOld, status;
};

NVRM_STRUCT nv_ioctl_nvos02_parameters_with_fd
{ /* ALLOC_MEMORY */
	uint32_t hRoot, hObjectParent, hObjectNew, hClass, flags, pad;
	uint64_t pMemory, limit;
	uint32_t status, pad2;
	int32_t fd, pad3;
};

NVRM_STRUCT NVOS21_PARAMETERS
{ /* ALLOC, short form; its first fields are in the long form too */
	uint32_t hRoot, hObjectParent, hObjectNew, hClass;
	uint64_t pAllocParms;
	uint32_t paramsSize, status; /* paramsSize: since 535.43.02 */
};

NVRM_STRUCT NVOS64_PARAMETERS
{ /* ALLOC, long form since 535.43.02 */
	uint32_t hRoot, hObjectParent, hObjectNew, hClass;
	uint64_t pAllocParms, pRightsRequested;
	uint32_t paramsSize, flags, status, pad;
};
#define NVOS64_FLAGS_FINN_SERIALIZED 1u

#define NVOS32_FUNCTION_ALLOC_SIZE 2
#define NVOS32_FUNCTION_FREE 3
#define NVOS32_FUNCTION_ALLOC_SIZE_RANGE 14
#define NVOS32_FUNCTION_ALLOC_OS_DESCRIPTOR 27
#define NVOS32_ALLOC_FLAGS_VIRTUAL 0x80000u
#define NVOS32_ATTR_LOCATION(attr) ((attr) >> 25 & 3) /* 0: VIDMEM */
#define NVOS32_DESCRIPTOR_TYPE_VIRTUAL_ADDRESS 0

NVRM_STRUCT NVOS32_PARAMETERS
{ /* VID_HEAP_CONTROL */
	uint32_t hRoot, hObjectParent, function, hVASpace, ivcHeapNumber, status;
	uint64_t total, free;
	union {
		NVRM_STRUCT
		{
			uint32_t owner, hMemory, type, flags, attr;
		}
		AllocSize;
		NVRM_STRUCT
		{
			uint32_t owner, hMemory, flags;
		}
		Free;
		NVRM_STRUCT
		{
			uint32_t hMemory, type, flags, attr, attr2, pad;
			uint64_t descriptor, limit;
			uint32_t descriptorType;
		}
		AllocOsDesc;
		uint8_t bytes[144];
	} data;
};

NVRM_STRUCT nv_ioctl_nvos33_parameters_with_fd
{ /* MAP_MEMORY */
	uint32_t hClient, hDevice, hMemory, pad;
	uint64_t offset, length, pLinearAddress;
	uint32_t status, flags;
	int32_t fd, pad2;
};

NVRM_STRUCT NVOS34_PARAMETERS
{ /* UNMAP_MEMORY */
	uint32_t hClient, hDevice, hMemory, pad;
	uint64_t pLinearAddress;
	uint32_t status, flags;
};

NVRM_STRUCT NVOS46_PARAMETERS
{ /* MAP_MEMORY_DMA; dmaOffset and status moved in 580.65.06 */
	uint32_t hClient, hDevice, hDma, hMemory;
	uint64_t offset, length;
	uint32_t flags;
};

NVRM_STRUCT NVOS47_PARAMETERS
{ /* UNMAP_MEMORY_DMA; without size before 550.40.07 */
	uint32_t hClient, hDevice, hDma, hMemory, flags, pad;
	uint64_t dmaOffset, size;
	uint32_t status, pad2;
};

NVRM_STRUCT NVOS54_PARAMETERS
{ /* CONTROL */
	uint32_t hClient, hObject, cmd, flags;
	uint64_t params;
	uint32_t paramsSize, status;
};
#define NVOS54_FLAGS_FINN_SERIALIZED 4u

NVRM_STRUCT NVOS55_PARAMETERS
{ /* DUP_OBJECT */
	uint32_t hClient, hParent, hObject, hClientSrc, hObjectSrc, flags, status;
};

NVRM_STRUCT NVOS56_PARAMETERS
{ /* UPDATE_DEVICE_MAPPING_INFO */
	uint32_t hClient, hDevice, hMemory, pad;
	uint64_t pOldCpuAddress, pNewCpuAddress;
	uint32_t status, pad2;
};

NVRM_STRUCT nv_ioctl_xfer
{ /* carries parameters too large for the request word */
	uint32_t cmd, size;
	uint64_t ptr;
};

NVRM_STRUCT nv_ioctl_rm_api_version
{
	uint32_t cmd, reply;
	char versionString[64];
};

/* ---- allocation parameters (nvos.h, alloc/alloc_channel.h, class/cl....h) ---- */

NVRM_STRUCT NV0080_ALLOC_PARAMETERS
{
	uint32_t deviceId;
};

NVRM_STRUCT NV_CTXSHARE_ALLOCATION_PARAMETERS
{
	uint32_t hVASpace, flags, subctxId;
};

NVRM_STRUCT NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS
{
	uint32_t hObjectError, hObjectEccError, hVASpace, engineType;
};

NVRM_STRUCT NV_MEMORY_ALLOCATION_PARAMS
{
	uint8_t before[64];
	uint64_t size;
	uint8_t between[36];
	uint32_t hVASpace;
};

NVRM_STRUCT NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS
{
	uint64_t offset, limit;
	uint32_t hVASpace;
};

NVRM_STRUCT NV_OS_DESC_MEMORY_ALLOCATION_PARAMS
{
	uint32_t type, flags, attr, attr2;
	uint64_t descriptor, limit;
	uint32_t descriptorType;
};

#define NV_VASPACE_ALLOCATION_INDEX_GPU_DEVICE 3
NVRM_STRUCT NV_VASPACE_ALLOCATION_PARAMETERS
{
	uint32_t index;
};

NVRM_STRUCT NV_CHANNEL_ALLOC_PARAMS
{
	uint32_t hObjectError, hObjectBuffer;
	uint64_t gpFifoOffset;
	uint32_t gpFifoEntries, flags, hContextShare, hVASpace;
}; /* the later fields moved between releases: forms.c */

/* One of the channel's notifications, stored in the memory of hObjectError. */
NVRM_STRUCT NvNotification
{
	uint32_t timeStamp[2]; /* ns of the GPU's clock, high half first */
	uint32_t info32;
	uint16_t info16, status;
};
#define NV_CHANNELGPFIFO_NOTIFICATION_TYPE_ERROR 0
#define NV_CHANNELGPFIFO_NOTIFICATION_TYPE_WORK_SUBMIT_TOKEN 1
#define NV_CHANNELGPFIFO_NOTIFICATION_STATUS_WRITTEN 0xffffu /* IN_PROGRESS; VALUE is all ones */

/* ---- controls (ctrl/ctrl....h) ---- */
enum {
	NV0000_CTRL_CMD_SYSTEM_GET_BUILD_VERSION = 0x00000101,
	NV0000_CTRL_CMD_SYSTEM_GET_BUILD_VERSION_V2 = 0x0000013e,
	NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECT_FROM_FD = 0x00003d06,
	NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECTS_FROM_FD = 0x00003d0c,
	NV2080_CTRL_CMD_GPU_GET_NAME_STRING = 0x20800110,
	NV2080_CTRL_CMD_GPU_GET_GID_INFO = 0x2080014a,
	NV2080_CTRL_CMD_MC_GET_ARCH_INFO = 0x20801701,
};
#define NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN 0xc36f0108u
#define NVA06C_CTRL_CMD_GPFIFO_SCHEDULE 0xa06c0101u
#define NVA06F_CTRL_CMD_GPFIFO_SCHEDULE 0xa06f0103u
#define NV_CONF_COMPUTE_CTRL_CMD_SYSTEM_GET_CAPABILITIES 0xcb330101u
#define NV83DE_CTRL_CMD_DEBUG_READ_ALL_SM_ERROR_STATES 0x83de030cu

NVRM_STRUCT NV_CONF_COMPUTE_CTRL_CMD_SYSTEM_GET_CAPABILITIES_PARAMS
{
	uint8_t cpuCapability, gpusCapability, environment, ccFeature; /* more since 535 */
};

NVRM_STRUCT NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_PARAMS
{
	uint32_t sizeOfStrings, pad;
	uint64_t pDriverVersionBuffer;
};

NVRM_STRUCT NV0000_CTRL_OS_UNIX_IMPORT_OBJECT_FROM_FD_PARAMS
{
	int32_t fd;
	uint32_t type; /* 1: an object of the RM, the one below */
	uint32_t hDevice, hParent, hObject;
};

NVRM_STRUCT NV2080_CTRL_GPU_GET_NAME_STRING_PARAMS
{
	uint32_t gpuNameStringFlags; /* 0: ASCII */
	char ascii[64];
};

NVRM_STRUCT NV2080_CTRL_GPU_GET_GID_INFO_PARAMS
{
	uint32_t index, flags, length;
	uint8_t data[16];
};

NVRM_STRUCT NV2080_CTRL_MC_GET_ARCH_INFO_PARAMS
{
	uint32_t architecture, implementation, revision;
};

NVRM_STRUCT NV83DE_SM_ERROR_STATE_REGISTERS
{
	uint32_t hwwGlobalEsr, hwwWarpEsr, hwwWarpEsrPc, hwwGlobalEsrReportMask,
		hwwWarpEsrReportMask, pad;
	uint64_t hwwEsrAddr, hwwWarpEsrPc64;
	uint32_t hwwCgaEsr, hwwCgaEsrReportMask;
};

#define NV83DE_CTRL_DEBUG_MAX_SMS_PER_CALL 100

NVRM_STRUCT NV83DE_CTRL_DEBUG_READ_ALL_SM_ERROR_STATES_PARAMS
{
	uint32_t hTargetChannel, numSMsToRead;
	struct NV83DE_SM_ERROR_STATE_REGISTERS
		smErrorStateArray[NV83DE_CTRL_DEBUG_MAX_SMS_PER_CALL];
	uint32_t mmuFaultInfo;
	NVRM_STRUCT
	{
		uint8_t valid, pad[3];
		uint32_t faultInfo;
	}
	mmuFault;
	uint32_t startingSM;
};

/* ---- UVM (uvm_ioctl.h) ---- */

NVRM_STRUCT UVM_CREATE_EXTERNAL_RANGE_PARAMS
{
	uint64_t base, length;
	uint32_t rmStatus;
};

NVRM_STRUCT UVM_FREE_PARAMS
{ /* length (until 580) and rmStatus are at different offsets */
	uint64_t base;
};

NVRM_STRUCT UVM_ALLOC_SEMAPHORE_POOL_PARAMS
{ /* followed by perGpuAttributes, gpuAttributesCount and rmStatus */
	uint64_t base, length;
};

NVRM_STRUCT UVM_MAP_EXTERNAL_ALLOCATION_PARAMS
{ /* followed by perGpuAttributes, then the tail */
	uint64_t base, length, offset;
};

NVRM_STRUCT UVM_MAP_EXTERNAL_ALLOCATION_TAIL
{ /* at the offset of gpuAttributesCount */
	uint64_t gpuAttributesCount;
	int32_t rmCtrlFd;
	uint32_t hClient, hMemory, rmStatus;
};

NVRM_STRUCT UVM_UNMAP_EXTERNAL_PARAMS
{
	uint64_t base, length;
	uint8_t gpuUuid[16];
	uint32_t rmStatus;
};

NVRM_STRUCT UVM_REGISTER_GPU_PARAMS
{
	uint8_t gpu_uuid[16];
	uint32_t numaEnabled, numaNodeId;
	int32_t rmCtrlFd;
	uint32_t hClient, hSmcPartRef, rmStatus;
};

NVRM_STRUCT UVM_REGISTER_CHANNEL_PARAMS
{
	uint8_t gpuUuid[16];
	int32_t rmCtrlFd;
	uint32_t hClient, hChannel, pad;
	uint64_t base, length;
	uint32_t rmStatus;
};

NVRM_STRUCT UVM_REGISTER_GPU_VASPACE_PARAMS
{
	uint8_t gpuUuid[16];
	int32_t rmCtrlFd;
	uint32_t hClient, hVaSpace, rmStatus;
};

#endif
