/* SPDX-License-Identifier: MIT */
/* The memory that copies and memsets name in their arguments. The driver makes them by copy engine,
 * macro, inline or by a kernel of its own, so arguments are the steadier source; 2D, 3D and batched
 * copies do not have all of it, and come from the commands. */
#include <string.h>
#include "decode/analysis/races.h"
#include "decode/calls/roles.h"

static bool is_width_named(const char *name, const char *width)
{
	const char *at = strstr(name, width);

	return at && (at[strlen(width)] == '\0' || strchr("_A", at[strlen(width)]));
}

/* Bytes of an element: D8, D16, D32, and the same after D2. 0: unknown. */
static uint32_t element_bytes(const struct nvs_call_api *api)
{
	static const char *const widths[] = {"D8", "D16", "D32"};

	for (uint32_t i = 0; i < 3; i++)
		if (is_width_named(api->name, widths[i]))
			return 1u << i;
	return 0;
}

static bool get_named(const struct nvs_call *call, const char *name, uint64_t *value)
{
	struct nvs_arg arg;

	if (!nvs_call_arg(call, name, &arg) || arg.absent)
		return false;
	*value = arg.value;
	return true;
}

static int memset_operand(const struct nvs_call *call, struct race_operand *to)
{
	uint64_t dst, n, height, pitch, element = element_bytes(call->api);

	to->kind = NVS_ACCESS_WRITES;
	if (!element || !nvs_call_value(call, NVS_ARG_dstDevice, &dst))
		return -1;
	if (get_named(call, "N", &n)) {
		to->range = (struct nvs_access_range){.from = dst, .to = dst + n * element};
		return 1;
	}
	if (!nvs_call_value(call, NVS_ARG_Width, &n) ||
	    !nvs_call_value(call, NVS_ARG_Height, &height) ||
	    !get_named(call, "dstPitch", &pitch) || pitch > UINT32_MAX || n * element > UINT32_MAX)
		return -1;
	if (!height || !n)
		return 0;
	to->range = (struct nvs_access_range){.from = dst,
					      .to = dst + pitch * (height - 1) + n * element};
	if (pitch > n * element && height > 1) {
		to->range.pitch = (uint32_t)pitch;
		to->range.width = (uint32_t)(n * element);
	}
	return 1;
}

static bool first_value(const struct nvs_call *call, const enum nvs_arg_name names[3],
			uint64_t *value)
{
	for (int i = 0; i < 3; i++)
		if (nvs_call_value(call, names[i], value))
			return true;
	return false;
}

int nvs_race_operands(const struct nvs_call *call, struct race_operand operands[2])
{
	static const enum nvs_arg_name src[] = {NVS_ARG_src, NVS_ARG_srcDevice, NVS_ARG_srcHost},
				       dst[] = {NVS_ARG_dst, NVS_ARG_dstDevice, NVS_ARG_dstHost};
	uint64_t from, to, n;

	memset(operands, 0, 2 * sizeof(*operands));
	if (call->api->group == NVS_CALL_GROUP_MEMSET)
		return memset_operand(call, operands);
	switch (call->api->role) {
	case NVS_CALL_ROLE_COPY:
	case NVS_CALL_ROLE_COPY_DTOD:
	case NVS_CALL_ROLE_COPY_DTOH:
	case NVS_CALL_ROLE_COPY_HTOD:
		break;
	default:
		return -1;
	}
	if (!nvs_call_value(call, NVS_ARG_ByteCount, &n) || !first_value(call, dst, &to) ||
	    !first_value(call, src, &from))
		return -1;
	operands[0].kind = NVS_ACCESS_READS;
	operands[0].range = (struct nvs_access_range){.from = from, .to = from + n};
	operands[1].kind = NVS_ACCESS_WRITES;
	operands[1].range = (struct nvs_access_range){.from = to, .to = to + n};
	return 2;
}
