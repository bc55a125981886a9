/* SPDX-License-Identifier: MIT */
/* Reads the arguments and results of calls, by name and as text. */
#include <stdio.h>
#include <string.h>
#include "decode/calls/args.h"

static bool is_recorded(const struct nvs_call *call, uint32_t index)
{
	return index < call->nargs && !(call->absent >> index & 1);
}

const char *nvs_call_api_name(const struct nvs_call *call)
{
	return call->api->name;
}

enum nvs_call_group nvs_call_group(const struct nvs_call *call)
{
	return call->api->group;
}

bool nvs_call_value(const struct nvs_call *call, enum nvs_arg_name name, uint64_t *value)
{
	uint32_t index = call->api->at[name] - 1u;

	if (!is_recorded(call, index))
		return false;
	*value = call->args[index];
	return true;
}

bool nvs_call_kind(const struct nvs_call *call, enum nvs_arg_kind kind, uint64_t *value)
{
	for (uint32_t i = 0; i < call->nargs; i++) {
		if (call->api->kinds[i] != kind || !is_recorded(call, i))
			continue;
		*value = call->args[i];
		return true;
	}
	return false;
}

bool nvs_call_stream(const struct nvs_call *call, uint64_t *stream)
{
	bool given;

	*stream = 0;
	given = nvs_call_kind(call, NVS_KIND_STREAM, stream);
	if (!*stream)
		*stream = call->api->per_thread ? NVS_STREAM_PER_THREAD : NVS_STREAM_LEGACY;
	return given || call->api->group == NVS_CALL_GROUP_COPY ||
	       call->api->group == NVS_CALL_GROUP_MEMSET;
}

bool nvs_call_ends_stream(const struct nvs_call *call, uint64_t stream)
{
	return call->api->role == NVS_CALL_ROLE_STREAM_DESTROY && !call->result && call->end &&
	       stream > NVS_STREAM_PER_THREAD;
}

/* A string's value is its full length << 32 and the recorded length, or all ones for NULL. */
static uint32_t recorded_length(uint64_t value)
{
	return value == UINT64_MAX ? 0 : (uint32_t)value & 0xffffff;
}

static void read_string(const struct nvs_call *call, uint32_t index, struct nvs_arg *arg)
{
	uint64_t value = call->args[index];
	const char *at = call->strings;

	for (uint32_t i = 0; i < index; i++)
		if (call->api->kinds[i] == NVS_KIND_STRING && is_recorded(call, i))
			at += recorded_length(call->args[i]);
	arg->string = value == UINT64_MAX ? NULL : at;
	arg->length = recorded_length(value);
	arg->value = value == UINT64_MAX ? 0 : value >> 32;
}

/* The value of an argument that is recorded, and no string. */
static uint64_t value_at(const struct nvs_call *call, uint32_t index)
{
	uint64_t value = call->args[index];

	return call->api->kinds[index] == NVS_KIND_SIGNED ? (uint64_t)(int32_t)value : value;
}

struct nvs_arg nvs_call_arg_at(const struct nvs_call *call, uint32_t index)
{
	struct nvs_arg arg = {
		.name = call->api->arg[index],
		.kind_name = call->api->kind[index],
		.kind = call->api->kinds[index],
		.absent = !is_recorded(call, index),
	};

	if (arg.absent)
		return arg;
	if (arg.kind == NVS_KIND_STRING)
		read_string(call, index, &arg);
	else
		arg.value = value_at(call, index);
	return arg;
}

bool nvs_call_arg(const struct nvs_call *call, const char *name, struct nvs_arg *arg)
{
	for (uint32_t i = 0; i < call->nargs; i++) {
		if (strcmp(call->api->arg[i], name))
			continue;
		*arg = nvs_call_arg_at(call, i);
		return true;
	}
	return false;
}

bool nvs_call_shape(const struct nvs_call *call, uint32_t grid[3], uint32_t block[3])
{
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t blocks, threads;

		if (!nvs_call_value(call, NVS_ARG_gridDimX + i, &blocks) ||
		    !nvs_call_value(call, NVS_ARG_blockDimX + i, &threads))
			return false;
		grid[i] = (uint32_t)blocks;
		block[i] = (uint32_t)threads;
	}
	return true;
}

static void print_string(const struct nvs_arg *arg, char *dst, size_t room)
{
	size_t n;

	if (!arg->string) {
		snprintf(dst, room, "NULL");
		return;
	}
	if (room < 16)
		return;
	dst[0] = '"';
	nvs_escape(dst + 1, room - 8, arg->string, arg->length);
	n = strlen(dst);
	snprintf(dst + n, room - n, "\"%s", arg->value > arg->length ? "..." : "");
}

char *nvs_arg_put_number(char *dst, uint32_t kind, uint64_t value)
{
	if (kind == NVS_KIND_SIGNED && (int64_t)value < 0) {
		*dst++ = '-';
		value = -value;
	}
	return kind == NVS_KIND_SIGNED || kind == NVS_KIND_UNSIGNED
		       ? nvs_put_dec(dst, value)
		       : nvs_put_hex(nvs_put_text(dst, "0x", 2), value);
}

char *nvs_call_put_number(char *dst, const struct nvs_call *call, uint32_t index)
{
	if (!is_recorded(call, index) || call->api->kinds[index] == NVS_KIND_STRING)
		return NULL;
	return nvs_arg_put_number(dst, call->api->kinds[index], value_at(call, index));
}

char *nvs_call_print(const struct nvs_call *call, uint32_t index, char *dst, size_t room)
{
	char text[NVS_ARG_NUMBER_BYTES];
	char *end = nvs_call_put_number(text, call, index);
	struct nvs_arg arg;

	if (end) {
		snprintf(dst, room, "%.*s", (int)(end - text), text);
		return dst;
	}
	arg = nvs_call_arg_at(call, index);
	if (arg.absent)
		snprintf(dst, room, "?");
	else
		print_string(&arg, dst, room);
	return dst;
}

#define NOT_READY 600

/* CUresult values of the driver API. */
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
	{NOT_READY, "CUDA_ERROR_NOT_READY"},
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
	if (!nvs_call_returned(call) || !call->result)
		return false;
	return call->result != NOT_READY || call->api->role != NVS_CALL_ROLE_QUERY;
}

/* The arrays that describe a batch are not recorded completely. */
static bool count_batch_bytes(const struct nvs_call *call, uint64_t *bytes, uint64_t *n)
{
	if (!nvs_call_value(call, NVS_ARG_count, n) && !nvs_call_value(call, NVS_ARG_numOps, n))
		*n = 0;
	if (nvs_call_value(call, NVS_ARG_ByteCount, bytes))
		return true;
	for (int i = 0; i < NVS_COPY_MODES; i++)
		*bytes += call->tally.copied[i];
	return *bytes;
}

/* One pair of operands of a 3D batch: pointers with a size in bytes, or arrays with a size in
 * elements. */
static bool count_operand_bytes(const struct nvs_call *call, uint64_t *bytes)
{
	uint64_t from, to, height, depth;

	if (!nvs_call_value(call, NVS_ARG_srcType, &from) ||
	    !nvs_call_value(call, NVS_ARG_dstType, &to) || from != 1 || to != 1 ||
	    !nvs_call_value(call, NVS_ARG_height, &height) ||
	    !nvs_call_value(call, NVS_ARG_depth, &depth) ||
	    !nvs_call_value(call, NVS_ARG_width, bytes))
		return false;
	*bytes *= (height ? height : 1) * (depth ? depth : 1);
	return true;
}

bool nvs_call_copied(const struct nvs_call *call, uint64_t *bytes, uint64_t *n)
{
	uint64_t more;

	*bytes = 0;
	*n = 1;
	if (call->api->role == NVS_CALL_ROLE_COPY_BATCH)
		return count_batch_bytes(call, bytes, n);
	if (nvs_call_value(call, NVS_ARG_ByteCount, bytes))
		return true;
	if (!nvs_call_value(call, NVS_ARG_WidthInBytes, bytes))
		return count_operand_bytes(call, bytes);
	if (nvs_call_value(call, NVS_ARG_Height, &more) && more)
		*bytes *= more;
	if (nvs_call_value(call, NVS_ARG_Depth, &more) && more)
		*bytes *= more;
	return true;
}
