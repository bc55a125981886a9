/* SPDX-License-Identifier: MIT */
/* How many bytes a call allocates. */
#include "decode/calls/args.h"
#include "decode/calls/roles.h"
#include "decode/analysis/allocations.h"
#include "include/array_format.h"

/* Size of an array with all mipmap levels; UINT64_MAX if unknown. */
static uint64_t array_bytes(const struct nvs_call *call)
{
	uint64_t side[3] = {0}, levels = 1, format, channels, all = 0, level;

	if (!nvs_call_value(call, NVS_ARG_Width, side) ||
	    !nvs_call_value(call, NVS_ARG_Height, side + 1) ||
	    !nvs_call_value(call, NVS_ARG_Format, &format) ||
	    !nvs_call_value(call, NVS_ARG_NumChannels, &channels) ||
	    !nvs_array_format_bytes(format))
		return UINT64_MAX;
	nvs_call_value(call, NVS_ARG_Depth, side + 2);
	nvs_call_value(call, NVS_ARG_numMipmapLevels, &levels);
	for (uint64_t l = 0; l < levels && l < 32; l++) {
		level = nvs_array_format_bytes(format) * channels;
		for (int i = 0; i < 3; i++)
			if (__builtin_mul_overflow(level, side[i] >> l ? side[i] >> l : 1, &level))
				return UINT64_MAX;
		all += level;
	}
	return all;
}

uint64_t nvs_alloc_size(const struct nvs_trace *trace, const struct nvs_call *call,
			uint64_t address)
{
	const struct nvs_mapping *m;
	uint64_t bytes, rows;

	switch (call->api->role) {
	case NVS_CALL_ROLE_ALLOC_ARRAY:
		return array_bytes(call);
	case NVS_CALL_ROLE_ALLOC_PITCH:
		return nvs_call_value(call, NVS_ARG_pPitch, &bytes) &&
				       nvs_call_value(call, NVS_ARG_Height, &rows) &&
				       !__builtin_mul_overflow(bytes, rows, &bytes)
			       ? bytes
			       : UINT64_MAX;
	case NVS_CALL_ROLE_ALLOC_IPC:
		/* Opening an IPC handle maps the exporter's whole block. */
		m = nvs_trace_gpu_map(trace, 0, address);
		return m ? m->size : UINT64_MAX;
	}
	return nvs_call_value(call, NVS_ARG_size, &bytes) ? bytes : UINT64_MAX;
}
