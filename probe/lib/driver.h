/* SPDX-License-Identifier: MIT */
/* The CUDA driver API entry points that the probe uses, loaded from libcuda.so.1 at run time, so
 * that it can be built without CUDA. Types and values follow cuda.h. */
#ifndef NVSNOOP_PROBE_LIB_DRIVER_H
#define NVSNOOP_PROBE_LIB_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t probe_address; /* CUdeviceptr */

enum {
	PROBE_STREAM_NON_BLOCKING = 1,
	PROBE_HOST_PORTABLE = 1, /* pinned for all contexts, including a peer's */
	PROBE_ATTRIBUTE_HOST_NODE = 134, /* CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID; -1: none */
	PROBE_LOCATION_DEVICE = 1, /* CU_MEM_LOCATION_TYPE_* */
	PROBE_LOCATION_HOST_NUMA = 3,
	PROBE_LAUNCH_CLUSTER = 4, /* CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION */
	PROBE_LAUNCH_PROGRAMMATIC = 6, /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */
};

struct probe_location {
	int type, id;
};
struct probe_allocation { /* CUmemAllocationProp */
	int type, handle_types;
	struct probe_location location;
	void *windows;
	unsigned char flags[8];
};
struct probe_access { /* CUmemAccessDesc */
	struct probe_location location;
	int flags;
};

struct probe_launch_attribute { /* CUlaunchAttribute: id, 4 bytes of padding, 64 bytes of value */
	int id;
	uint32_t value[17];
};
struct probe_launch_config { /* CUlaunchConfig */
	unsigned grid[3], block[3], shared;
	void *stream;
	struct probe_launch_attribute *attribute;
	unsigned attributes;
};

/* Name and parameters of each entry point. Those with MAY are optional. */
#define PROBE_ENTRIES(MUST, MAY)                                                                  \
	MUST(cuInit, (unsigned))                                                                  \
	MUST(cuDriverGetVersion, (int *))                                                         \
	MUST(cuDeviceGet, (int *, int))                                                           \
	MUST(cuDeviceGetName, (char *, int, int))                                                 \
	MUST(cuDeviceGetAttribute, (int *, int, int))                                             \
	MUST(cuGetErrorName, (int, const char **))                                                \
	MUST(cuDevicePrimaryCtxRetain, (void **, int))                                            \
	MUST(cuDevicePrimaryCtxRelease_v2, (int))                                                 \
	MUST(cuCtxSetCurrent, (void *))                                                           \
	MUST(cuCtxGetDevice, (int *))                                                             \
	MUST(cuStreamCreate, (void **, unsigned))                                                 \
	MUST(cuStreamSynchronize, (void *))                                                       \
	MUST(cuStreamQuery, (void *))                                                             \
	MUST(cuMemAlloc_v2, (probe_address *, size_t))                                            \
	MUST(cuMemFree_v2, (probe_address))                                                       \
	MUST(cuMemHostAlloc, (void **, size_t, unsigned))                                         \
	MUST(cuMemFreeHost, (void *))                                                             \
	MUST(cuMemcpyHtoDAsync_v2, (probe_address, const void *, size_t, void *))                 \
	MUST(cuMemcpyDtoHAsync_v2, (void *, probe_address, size_t, void *))                       \
	MUST(cuMemcpyDtoDAsync_v2, (probe_address, probe_address, size_t, void *))                \
	MUST(cuMemsetD8Async, (probe_address, unsigned char, size_t, void *))                     \
	MAY(cuModuleLoadData, (void **, const void *))                                            \
	MAY(cuModuleGetFunction, (void **, void *, const char *))                                 \
	MAY(cuModuleUnload, (void *))                                                             \
	MAY(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,  \
			     unsigned, void *, void **, void **))                                 \
	MAY(cuStreamBeginCapture_v2, (void *, int))                                               \
	MAY(cuStreamEndCapture, (void *, void **))                                                \
	MAY(cuStreamDestroy_v2, (void *))                                                         \
	MAY(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long))                   \
	MAY(cuGraphUpload, (void *, void *))                                                      \
	MAY(cuGraphLaunch, (void *, void *))                                                      \
	MAY(cuGraphExecDestroy, (void *))                                                         \
	MAY(cuGraphDestroy, (void *))                                                             \
	MAY(cuDeviceGetCount, (int *))                                                            \
	MAY(cuDeviceCanAccessPeer, (int *, int, int))                                             \
	MAY(cuCtxEnablePeerAccess, (void *, unsigned))                                            \
	MAY(cuCtxDisablePeerAccess, (void *))                                                     \
	MAY(cuMemGetInfo_v2, (size_t *, size_t *))                                                \
	MAY(cuDeviceGetPCIBusId, (char *, int, int))                                              \
	MAY(cuMemGetAllocationGranularity, (size_t *, const struct probe_allocation *, int))      \
	MAY(cuMemAddressReserve, (probe_address *, size_t, size_t, probe_address, uint64_t))      \
	MAY(cuMemAddressFree, (probe_address, size_t))                                            \
	MAY(cuMemCreate, (uint64_t *, size_t, const struct probe_allocation *, uint64_t))         \
	MAY(cuMemRelease, (uint64_t))                                                             \
	MAY(cuMemMap, (probe_address, size_t, size_t, uint64_t, uint64_t))                        \
	MAY(cuMemUnmap, (probe_address, size_t))                                                  \
	MAY(cuEventCreate, (void **, unsigned))                                                   \
	MAY(cuEventRecord, (void *, void *))                                                      \
	MAY(cuEventElapsedTime, (float *, void *, void *))                                        \
	MAY(cuEventSynchronize, (void *))                                                         \
	MAY(cuEventDestroy_v2, (void *))                                                          \
	MAY(cuDeviceGetUuid_v2, (unsigned char *, int))                                           \
	MAY(cuDeviceTotalMem_v2, (size_t *, int))                                                 \
	MAY(cuDeviceGetP2PAttribute, (int *, int, int, int))                                      \
	MAY(cuCtxSynchronize, (void))                                                             \
	MAY(cuCtxResetPersistingL2Cache, (void))                                                  \
	MAY(cuLinkCreate_v2, (unsigned, int *, void **, void **))                                 \
	MAY(cuLinkAddData_v2,                                                                     \
	    (void *, int, void *, size_t, const char *, unsigned, int *, void **))                \
	MAY(cuLinkComplete, (void *, void **, size_t *))                                          \
	MAY(cuLinkDestroy, (void *))                                                              \
	MAY(cuModuleGetGlobal_v2, (probe_address *, size_t *, void *, const char *))              \
	MAY(cuFuncGetModule, (void **, void *))                                                   \
	MAY(cuFuncSetAttribute, (void *, int, int))                                               \
	MAY(cuLaunchKernelEx, (const struct probe_launch_config *, void *, void **, void **))     \
	MAY(cuTensorMapEncodeTiled,                                                               \
	    (void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *, \
	     const uint32_t *, int, int, int, int))                                               \
	MAY(cuMemSetAccess, (probe_address, size_t, const struct probe_access *, size_t))

struct probe_driver {
#define PROBE_FIELD(name, parameters) int(*name) parameters;
	PROBE_ENTRIES(PROBE_FIELD, PROBE_FIELD)
#undef PROBE_FIELD
};

/* Missing optional entry points are NULL. */
extern struct probe_driver cu;

/* Loads the driver. Exits with status 1 if there is none. */
void probe_driver_load(void);
/* Returns the name of an error, "CUDA_ERROR_..."; never NULL. */
const char *probe_error_name(int error);

#endif
