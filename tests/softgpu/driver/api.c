/* SPDX-License-Identifier: MIT */
/* The rest of the API: initialisation, devices, errors, and entry points by name. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "driver.h"

/* The call has no effect of its own; a tool may observe it. */
API CUresult cuProfilerStart(void)
{
	return CUDA_SUCCESS;
}

API CUresult cuProfilerStop(void)
{
	return CUDA_SUCCESS;
}

API CUresult cuInit(unsigned flags)
{
	CUresult r = CUDA_SUCCESS;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&sg_driver.lock);
	if (!sg_driver.up) {
		sg_log_open();
		r = sg_driver_up();
		sg_driver.up = !r;
	}
	pthread_mutex_unlock(&sg_driver.lock);
	return r;
}

API CUresult cuDriverGetVersion(int *version)
{
	*version = 13000;
	return CUDA_SUCCESS;
}

API CUresult cuDeviceGetCount(int *count)
{
	if (!sg_driver.up)
		return CUDA_ERROR_NOT_INITIALIZED;
	*count = (int)sg_driver.ndevices;
	return CUDA_SUCCESS;
}

API CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	if (!sg_driver.up)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (ordinal < 0 || ordinal >= (int)sg_driver.ndevices)
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

API CUresult cuDeviceGetName(char *name, int len, CUdevice device)
{
	if (device < 0 || device >= (int)sg_driver.ndevices || len < 1)
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, (size_t)len, "%s", sg_driver.device[device].name);
	return CUDA_SUCCESS;
}

API CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	if (device < 0 || device >= (int)sg_driver.ndevices)
		return CUDA_ERROR_INVALID_DEVICE;
	memcpy(uuid->bytes, sg_driver.device[device].uuid, 16);
	return CUDA_SUCCESS;
}

API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	*bytes = 139ull << 30;
	return CUDA_SUCCESS;
}

API CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
	switch (attribute) {
	case 1: /* MAX_THREADS_PER_BLOCK */
		*value = 1024;
		break;
	case 16: /* MULTIPROCESSOR_COUNT */
		*value = 132;
		break;
	case 75: /* COMPUTE_CAPABILITY_MAJOR */
		*value = 9;
		break;
	case 41: /* UNIFIED_ADDRESSING */
		*value = 1;
		break;
	default:
		*value = 0;
	}
	return CUDA_SUCCESS;
}

/* ---- errors ---- */

static const struct {
	CUresult code;
	const char *name, *text;
} errors[] = {
	{CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
	{CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
	{CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE",
	 "the operation cannot be performed now"},
	{CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
	{CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
	 "an illegal memory access was encountered"},
	{CUDA_ERROR_ASSERT, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
	{CUDA_ERROR_ILLEGAL_INSTRUCTION, "CUDA_ERROR_ILLEGAL_INSTRUCTION",
	 "an illegal instruction was encountered"},
	{CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
	{CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
	 "peer access is not supported between these two devices"},
	{CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
	 "peer access is already enabled"},
	{CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
	 "peer access has not been enabled"},
	{CUDA_ERROR_TOO_MANY_PEERS, "CUDA_ERROR_TOO_MANY_PEERS",
	 "peer mapping resources exhausted"},
	{CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
	{CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static CUresult error_text(CUresult error, const char **out, bool name)
{
	for (uint32_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == error) {
			*out = name ? errors[i].name : errors[i].text;
			return CUDA_SUCCESS;
		}
	}
	*out = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuGetErrorName(CUresult error, const char **name)
{
	return error_text(error, name, true);
}

API CUresult cuGetErrorString(CUresult error, const char **text)
{
	return error_text(error, text, false);
}

/* ---- entry points by name ---- */

API CUresult cuGetProcAddress_v2(const char *name, void **fn, int version, uint64_t flags,
				 int *found)
{
	static const char suffix[][4] = {"_v3", "_v2", ""};
	static void *self;
	char full[128];
	Dl_info info;

	if (!self && dladdr((void *)cuInit, &info))
		self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	*fn = NULL;
	for (uint32_t i = 0; i < 3 && !*fn && self; i++) {
		snprintf(full, sizeof(full), "%s%s", name, suffix[i]);
		*fn = dlsym(self, full);
	}
	if (found)
		*found = *fn ? 0 : 1;
	return *fn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

API CUresult cuGetProcAddress(const char *name, void **fn, int version, uint64_t flags)
{
	return cuGetProcAddress_v2(name, fn, version, flags, NULL);
}

/* ---- a table of unnamed functions, as the real driver has for libraries and tools ---- */

static __attribute__((noinline)) CUresult table_submit(unsigned n)
{
	struct softgpu_channel *ch = softgpu_channel_at(0);
	uint32_t payload = 0;

	for (unsigned i = 0; ch && i < n; i++)
		payload = softgpu_submit_nop(ch, 16, i);
	return payload && !softgpu_wait(ch, payload) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static const struct {
	size_t size;
	CUresult (*submit)(unsigned n);
} table = {sizeof(table), table_submit};

API CUresult cuGetExportTable(const void **out, const CUuuid *id)
{
	static const char known[16] = SOFTGPU_TABLE;

	if (!out || !id || memcmp(id->bytes, known, 16))
		return CUDA_ERROR_INVALID_VALUE;
	*out = &table;
	return CUDA_SUCCESS;
}
