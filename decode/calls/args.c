/* SPDX-License-Identifier: MIT */
/* Arguments and results of calls, by name and as text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "decode/calls/calls.h"

bool nvs_call_arg(const struct nvs_call *call, const char *name, uint64_t *value)
{
	for (uint32_t i = 0; i < call->nargs; i++) {
		if (strcmp(call->api->arg[i], name) || call->absent >> i & 1)
			continue;
		*value = call->args[i];
		return true;
	}
	return false;
}

bool nvs_call_kind(const struct nvs_call *call, const char *kind, uint64_t *value)
{
	for (uint32_t i = 0; i < call->nargs; i++) {
		if (strcmp(call->api->kind[i], kind) || call->absent >> i & 1)
			continue;
		*value = call->args[i];
		return true;
	}
	return false;
}

static uint32_t stored(uint64_t value)
{
	return value == UINT64_MAX ? 0 : (uint32_t)value & 0xffffff;
}

static void print_string(const struct nvs_call *call, uint32_t index, char *dst, size_t room)
{
	const char *at = call->strings;
	uint64_t value = call->args[index];
	size_t n;

	for (uint32_t i = 0; i < index; i++)
		if (!strcmp(call->api->kind[i], "str") && !(call->absent >> i & 1))
			at += stored(call->args[i]);
	if (value == UINT64_MAX) {
		snprintf(dst, room, "NULL");
		return;
	}
	if (room < 16)
		return;
	dst[0] = '"';
	nvs_escape(dst + 1, room - 8, at, stored(value));
	n = strlen(dst);
	snprintf(dst + n, room - n, "\"%s", value >> 32 > stored(value) ? "..." : "");
}

char *nvs_call_print(const struct nvs_call *call, uint32_t index, char *dst, size_t room)
{
	const char *kind = call->api->kind[index];
	uint64_t value = call->args[index];

	if (call->absent >> index & 1)
		snprintf(dst, room, "?");
	else if (!strcmp(kind, "str"))
		print_string(call, index, dst, room);
	else if (!strcmp(kind, "i32"))
		snprintf(dst, room, "%d", (int)value);
	else if (kind[0] == 'u')
		snprintf(dst, room, "%" PRIu64, value);
	else
		snprintf(dst, room, "0x%" PRIx64, value);
	return dst;
}

/* CUresult, as the driver API numbers them. */
static const struct {
	uint32_t result;
	const char *name;
} errors[] = {
	{1, "CUDA_ERROR_INVALID_VALUE"},
	{2, "CUDA_ERROR_OUT_OF_MEMORY"},
	{3, "CUDA_ERROR_NOT_INITIALIZED"},
	{4, "CUDA_ERROR_DEINITIALIZED"},
	{34, "CUDA_ERROR_STUB_LIBRARY"},
	{46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
	{100, "CUDA_ERROR_NO_DEVICE"},
	{101, "CUDA_ERROR_INVALID_DEVICE"},
	{200, "CUDA_ERROR_INVALID_IMAGE"},
	{201, "CUDA_ERROR_INVALID_CONTEXT"},
	{205, "CUDA_ERROR_MAP_FAILED"},
	{206, "CUDA_ERROR_UNMAP_FAILED"},
	{208, "CUDA_ERROR_ALREADY_MAPPED"},
	{209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
	{211, "CUDA_ERROR_NOT_MAPPED"},
	{214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
	{215, "CUDA_ERROR_UNSUPPORTED_LIMIT"},
	{217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
	{218, "CUDA_ERROR_INVALID_PTX"},
	{221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"},
	{222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
	{300, "CUDA_ERROR_INVALID_SOURCE"},
	{301, "CUDA_ERROR_FILE_NOT_FOUND"},
	{302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND"},
	{303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED"},
	{304, "CUDA_ERROR_OPERATING_SYSTEM"},
	{400, "CUDA_ERROR_INVALID_HANDLE"},
	{401, "CUDA_ERROR_ILLEGAL_STATE"},
	{500, "CUDA_ERROR_NOT_FOUND"},
	{600, "CUDA_ERROR_NOT_READY"},
	{700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
	{701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
	{702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
	{704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
	{705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"},
	{708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE"},
	{709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
	{710, "CUDA_ERROR_ASSERT"},
	{712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
	{713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"},
	{715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
	{716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
	{717, "CUDA_ERROR_INVALID_ADDRESS_SPACE"},
	{718, "CUDA_ERROR_INVALID_PC"},
	{719, "CUDA_ERROR_LAUNCH_FAILED"},
	{720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
	{800, "CUDA_ERROR_NOT_PERMITTED"},
	{801, "CUDA_ERROR_NOT_SUPPORTED"},
	{802, "CUDA_ERROR_SYSTEM_NOT_READY"},
	{803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
	{900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
	{901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
	{902, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
	{903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
	{904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
	{905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
	{906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
	{907, "CUDA_ERROR_CAPTURED_EVENT"},
	{908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
	{909, "CUDA_ERROR_TIMEOUT"},
	{910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"},
	{911, "CUDA_ERROR_EXTERNAL_DEVICE"},
	{999, "CUDA_ERROR_UNKNOWN"},
};

const char *nvs_call_error(uint32_t result)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].result == result)
			return errors[i].name;
	return NULL;
}

bool nvs_call_failed(const struct nvs_call *call)
{
	if (!call->end || call->flags & (NVS_CALL_UNWOUND | NVS_CALL_ABANDONED) || !call->result)
		return false;
	return call->result != 600 || !strstr(call->api->name, "Query");
}

/* The arrays that list a batch are not all kept. */
static bool batch_copied(const struct nvs_call *call, uint64_t *bytes, uint64_t *n)
{
	if (!nvs_call_arg(call, "count", n) && !nvs_call_arg(call, "numOps", n))
		*n = 0;
	if (nvs_call_arg(call, "ByteCount", bytes))
		return true;
	for (int i = 0; i < NVS_COPY_MODES; i++)
		*bytes += call->tally.copied[i];
	return *bytes;
}

/* A single operand pair of the kind that 3D batches list: pointers of so many bytes, or arrays of
 * so many elements. */
static bool operands_copied(const struct nvs_call *call, uint64_t *bytes)
{
	uint64_t from, to, height, depth;

	if (!nvs_call_arg(call, "srcType", &from) || !nvs_call_arg(call, "dstType", &to) ||
	    from != 1 || to != 1 || !nvs_call_arg(call, "height", &height) ||
	    !nvs_call_arg(call, "depth", &depth) || !nvs_call_arg(call, "width", bytes))
		return false;
	*bytes *= (height ? height : 1) * (depth ? depth : 1);
	return true;
}

bool nvs_call_copied(const struct nvs_call *call, uint64_t *bytes, uint64_t *n)
{
	uint64_t more;

	*bytes = 0;
	*n = 1;
	if (strstr(call->api->name, "Batch"))
		return batch_copied(call, bytes, n);
	if (nvs_call_arg(call, "ByteCount", bytes))
		return true;
	if (!nvs_call_arg(call, "WidthInBytes", bytes))
		return operands_copied(call, bytes);
	if (nvs_call_arg(call, "Height", &more) && more)
		*bytes *= more;
	if (nvs_call_arg(call, "Depth", &more) && more)
		*bytes *= more;
	return true;
}

uint64_t nvs_call_ns(const struct nvs_trace *trace, uint64_t begin, uint64_t end)
{
	int64_t a, b;

	if (end <= begin || !nvs_clock_since_start(trace, begin, &a) ||
	    !nvs_clock_since_start(trace, end, &b))
		return 0;
	return b > a ? (uint64_t)(b - a) : 0;
}
