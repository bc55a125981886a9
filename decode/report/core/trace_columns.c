/* SPDX-License-Identifier: MIT */
/* Columns about the trace and the stream of a row. */
#include "decode/report/core/trace_columns.h"
#include <stdlib.h>
#include "decode/calls/args.h"

static const char *attr_of(const struct nvs_source *source, uint32_t attr)
{
	return source ? nvs_trace_session(source->trace)->attr[attr] : NULL;
}

void nvs_source_path(const struct nvs_source *source, struct nvs_value *v)
{
	nvs_value_text(v, source ? source->path : NULL);
}

void nvs_source_host(const struct nvs_source *source, struct nvs_value *v)
{
	nvs_value_text(v, attr_of(source, NVS_ATTR_HOST));
}

void nvs_source_pid(const struct nvs_source *source, struct nvs_value *v)
{
	uint32_t pid = source ? nvs_trace_session(source->trace)->header.pid : 0;

	nvs_value_known(v, pid, pid);
}

void nvs_source_number(const struct nvs_source *source, uint32_t attr, struct nvs_value *v)
{
	const char *text = attr_of(source, attr);
	char *end;
	uint64_t n = text ? strtoull(text, &end, 10) : 0;

	nvs_value_known(v, text && *text >= '0' && *text <= '9' && !*end && n <= UINT32_MAX, n);
}

void nvs_stream_value(uint64_t stream, struct nvs_value *v)
{
	nvs_value_hex(v, stream, stream);
	if (stream && stream <= NVS_STREAM_PER_THREAD)
		v->text = stream == NVS_STREAM_LEGACY ? "default" : "per-thread default";
}

void nvs_source_time(const struct nvs_source *source, bool known, uint64_t ticks,
		     struct nvs_value *v)
{
	int64_t ns;

	if (known && nvs_clock_since_start(source->trace, ticks, &ns))
		nvs_value_ns(v, ns);
}

void nvs_source_json(struct nvs_out *out, const struct nvs_source *source)
{
	static const char *const keys[] = {"trace", "host", "pid", "rank"};
	struct nvs_value v[4] = {0};

	nvs_source_path(source, v);
	nvs_source_host(source, v + 1);
	nvs_source_pid(source, v + 2);
	nvs_source_number(source, NVS_ATTR_RANK, v + 3);
	for (int i = 0; i < 4; i++) {
		fprintf(out->file, "%s\"%s\":", i ? "," : "", keys[i]);
		nvs_value_json(out->file, v + i);
	}
}
