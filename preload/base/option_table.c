/* SPDX-License-Identifier: MIT */
/* Table of the keys of NVSNOOP_OPTIONS and its parser, used by the library and the launcher. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "decode/cli/units.h"
#include "nvsnoop/trace.h"
#include "preload/base/options.h"

#define SECONDS_RULE "a number of seconds, for example 10 or 0.5"
#define SIZE_RULE "a size from 64K to 1024T, for example 50M"
#define INTO(kind, field) NVS_OPTION_INTO(kind, struct nvs_option_values, field)
#define TRACE_SIZE(field) INTO(SIZE, field), .min = NVS_MIN_TRACE_BYTES, .max = NVS_MAX_TRACE_BYTES
#define NEEDS_TRACE nvs_option_table /* .context of keys that have no effect without a trace */
#define SECONDS(field) INTO(SECONDS, field), .max = NVS_MAX_SECONDS * NVS_NS

static int set_buffer(const struct nvs_option *option, void *target, const char *text)
{
	uint64_t bytes = 0;

	if (!text || !nvs_read_size(&text, NVS_MAX_BUFFER_BYTES, &bytes) || *text ||
	    bytes & (bytes - 1) || bytes < NVS_MIN_BUFFER_BYTES)
		return NVS_OPTION_WRONG;
	((struct nvs_option_values *)target)->buffer_bytes = bytes;
	return 0;
}

static int set_spool(const struct nvs_option *option, void *target, const char *text)
{
	struct nvs_option_values *values = target;

	if (!text || !*text || strlen(text) >= sizeof(values->spool_dir))
		return NVS_OPTION_WRONG;
	values->spool = strcmp(text, "off") != 0;
	strcpy(values->spool_dir, values->spool ? text : "");
	return 0;
}

static int set_timing(const struct nvs_option *option, void *target, const char *text)
{
	struct nvs_option_values *values = target;
	int kind = text ? nvs_word_index("off|dispatch|work|sample", text) : -1;
	uint64_t every = kind == 3 ? NVS_SAMPLE_ADAPTIVE : 0;

	if (kind < 0 && text && !strncmp(text, "sample=", 7)) {
		text += 7;
		kind = nvs_read_number(&text, NVS_MAX_SAMPLE, &every) && !*text && every ? 3 : -1;
	}
	if (kind < 0)
		return NVS_OPTION_WRONG;
	values->timing = kind == 3 ? NVS_TIMING_WORK : (unsigned)kind;
	values->sample = (uint32_t)every;
	return 0;
}

/* Parses "0-16": instructions 0 to 15 of each kernel. */
static int set_instructions(const struct nvs_option *option, void *target, const char *text)
{
	struct nvs_option_values *values = target;
	uint64_t first, end;

	if (!text || !nvs_read_number(&text, option->max, &first) || *text++ != '-' ||
	    !nvs_read_number(&text, option->max, &end) || *text || first >= end)
		return NVS_OPTION_WRONG;
	values->count_first = (uint32_t)first;
	values->count_end = (uint32_t)end;
	return 0;
}

/* Parses "GLOB" or "GLOB:N". */
static int set_snapshot(const struct nvs_option *option, void *target, const char *text)
{
	struct nvs_option_values *values = target;
	const char *number = text ? strrchr(text, ':') : NULL;
	size_t length = number ? (size_t)(number - text) : text ? strlen(text) : 0;
	uint64_t nth = 1;

	if (number && (number++, !nvs_read_number(&number, UINT32_MAX, &nth) || *number || !nth))
		return NVS_OPTION_WRONG;
	if (!length || length >= sizeof(values->snapshot))
		return NVS_OPTION_WRONG;
	memcpy(values->snapshot, text, length);
	values->snapshot[length] = '\0';
	values->snapshot_nth = (uint32_t)nth;
	return 0;
}

const struct nvs_option nvs_option_table[] = {
	{"delay", "SECONDS", "start recording this long after the start", "0", SECONDS_RULE,
	 SECONDS(delay_ns), .context = NEEDS_TRACE},
	{"duration", "SECONDS", "stop recording after this long", NULL,
	 "a number of seconds above 0, for example 10 or 0.5", SECONDS(duration_ns),
	 .context = NEEDS_TRACE, .min = 1},
	{"from", "start|profiler", "record from the start, or between cuProfilerStart and Stop",
	 "start", INTO(WORD, from_profiler), .context = NEEDS_TRACE},
	{"trigger", "FILE", "record on the commands in FILE: start, stop, or a number",
	 INTO(COPY, trigger), .context = NEEDS_TRACE},
	{"max-size", "SIZE", "stop recording when the trace has this size", NULL, SIZE_RULE,
	 TRACE_SIZE(max_size), .context = NEEDS_TRACE},
	{"keep-last", "SIZE", "keep only the last SIZE of the trace", NULL, SIZE_RULE,
	 TRACE_SIZE(keep_last), .context = NEEDS_TRACE},
	{"level", "full|headers", "record whole submissions, or only entries and sizes", "full",
	 INTO(WORD, headers)},
	{"timing", "off|dispatch|work|sample|sample=N",
	 "GPU timestamps: when submissions start, around their work, or around one of N", "off",
	 "off, dispatch, work, sample or sample=N, N from 1 to 1000000", INTO(WORD, timing),
	 .set = set_timing, .context = NEEDS_TRACE},
	{"count", "off|warp|thread|both",
	 "count the instructions of every kernel; modifies its code", "off", INTO(WORD, count),
	 .context = NEEDS_TRACE},
	{"count-pred-off", "count|skip", "count or skip instructions whose predicate is false",
	 "count", INTO(WORD, count_pred_on)},
	{"count-instructions", "A-B", "count only instructions A to B-1 of each kernel", NULL,
	 "two numbers, the first below the second, for example 0-16", .max = 1000000000,
	 .set = set_instructions},
	{"count-kernels", "GLOB", "count only kernels whose mangled name matches GLOB",
	 INTO(COPY, count_kernels)},
	{"exact", "off|sync", "sync: wait for every launch and read its counts", "off",
	 INTO(WORD, exact)},
	{"api", "on|off", "record calls of the CUDA driver API", "on", INTO(SWITCH, api)},
	{"code", "on|off", "record the loaded code, for nvsnoop-report --code", "off",
	 INTO(SWITCH, code), .context = NEEDS_TRACE},
	{"snapshot", "GLOB|GLOB:N",
	 "record the memory of the Nth launch of each kernel whose mangled name matches", NULL,
	 "a pattern, and N from 1 on, for example *gemm*:3", INTO(COPY, snapshot),
	 .set = set_snapshot, .context = NEEDS_TRACE},
	{"snapshot-size", "SIZE", "most of it that is copied, before and after together", "64M",
	 "a size from 64K to 64G, for example 256M", INTO(SIZE, snapshot_size),
	 .min = NVS_MIN_TRACE_BYTES, .max = 64ull << 30},
	{"backtrace", "on|off", "record the call stack of every submission", "on",
	 INTO(SWITCH, backtrace)},
	{"live", "on|off", "publish a live page, for nvsnoop-top", "on", INTO(SWITCH, live)},
	{"overwrite", .help = "replace an existing trace", INTO(CONSTANT, overwrite), .min = true},
	{"quiet", .help = "do not print the closing line", .letter = 'q', INTO(CONSTANT, quiet),
	 .min = true},
	{.help = "For tests and debugging:"},
	{"overflow", "wait|drop", "when a buffer is full: wait for the writer, or drop records",
	 "wait", INTO(WORD, drop)},
	{"buffer", "SIZE", "size of a thread's buffer, a power of two from 64K to 1G", "1M",
	 "a power of two from 64K to 1G", .set = set_buffer},
	{"spool", "DIR|off", "directory of the file with the thread buffers, which survives a kill",
	 "next to the trace", .set = set_spool},
	{"trap", "emulate|step", "how the doorbell store is completed", "emulate",
	 INTO(WORD, step)},
	{"patch", "on|off", "replace known store sites by a jump instead of faulting", "on",
	 INTO(SWITCH, patch)},
	{"shadow", "on|off", "give the program GPFIFO and USERD in ordinary memory", "on",
	 INTO(SWITCH, shadow)},
	{NULL},
};

void nvs_option_defaults(struct nvs_option_values *values)
{
	memset(values, 0, sizeof(*values));
	for (const struct nvs_option *o = nvs_option_table; o->help; o++)
		if (o->standard && o->set != set_spool)
			nvs_option_store(o, values, o->standard);
	values->spool = true;
}

/* Replaces control characters in the message, which may quote any input. Returns -EINVAL. */
static int reject_option(char *error, size_t size)
{
	for (size_t i = 0; i < size && error[i]; i++)
		if ((unsigned char)error[i] < ' ' || error[i] == 127)
			error[i] = '?';
	return -EINVAL;
}

int nvs_option_set(struct nvs_option_values *values, const char *key, const char *value,
		   char *error, size_t error_size)
{
	const struct nvs_option *option = nvs_option_table;
	char rule[128];
	const char *near;

	while (option->help && (!option->name || strcmp(option->name, key)))
		option++;
	if (!option->name) {
		near = nvs_option_nearest(nvs_option_table, key, strlen(key));
		snprintf(error, error_size, "unknown option '%.40s'%s%s%s", key,
			 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
		return reject_option(error, error_size);
	}
	if (!nvs_option_store(option, values, value))
		return 0;
	nvs_option_rule(option, rule, sizeof(rule));
	snprintf(error, error_size, "%s must be %s, not '%.40s'", key, rule, value ? value : "");
	return reject_option(error, error_size);
}

/* Copies the item at S to ITEM with \, and \\ unescaped. Returns the position after its comma, or
 * NULL if the item is too long. */
static const char *next_item(const char *s, char *item, size_t size)
{
	size_t n = 0;

	for (; *s && *s != ','; s++) {
		if (*s == '\\' && (s[1] == ',' || s[1] == '\\'))
			s++;
		if (n + 1 >= size)
			return NULL;
		item[n++] = *s;
	}
	item[n] = '\0';
	return *s ? s + 1 : s;
}

/* Returns why two options exclude each other, or NULL. */
static const char *find_conflict(const struct nvs_option_values *values)
{
	if (values->max_size && values->keep_last)
		return "max-size and keep-last cannot be used together";
	if (values->from_profiler && !values->api)
		return "from=profiler needs api=on, to see cuProfilerStart";
	if (values->snapshot[0] && values->headers)
		return "snapshot needs level=full, for the parameters";
	if (values->code && !values->api)
		return "code needs api=on, to see which code is loaded";
	if (values->code && values->keep_last)
		return "code and keep-last cannot be used together: keep-last drops the start, "
		       "where code is loaded";
	if (values->timing && !values->api)
		return "timing needs api=on, to see the contexts";
	if (values->count && !values->api)
		return "count needs api=on, to see which code is loaded";
	if (!values->count && (values->count_pred_on || values->count_end ||
			       values->count_kernels[0] || values->exact))
		return "count-... and exact=sync have no effect without count";
	if (values->timing && !values->shadow)
		return "timing needs shadow=on, to add entries to the real GPFIFO";
	return NULL;
}

/* The live page has the estimates of timing=sample. */
static bool is_for_page(const struct nvs_option *o, const struct nvs_option_values *values)
{
	return o->set == set_timing && values->sample;
}

const char *nvs_option_needs_trace(const struct nvs_option_values *values)
{
	for (const struct nvs_option *o = nvs_option_table; o->help; o++)
		for (uint32_t i = 0; i < o->size && o->context == NEEDS_TRACE; i++)
			if (((const char *)values)[o->offset + i] && !is_for_page(o, values))
				return o->name;
	return NULL;
}

int nvs_options_parse(struct nvs_option_values *values, const char *string, char *error,
		      size_t error_size)
{
	char item[1200], *value;
	const char *why;

	nvs_option_defaults(values);
	while (string && *string) {
		string = next_item(string, item, sizeof(item));
		if (!string) {
			snprintf(error, error_size, "an option is too long");
			goto wrong;
		}
		if (!*item)
			continue;
		value = strchr(item, '=');
		if (value)
			*value++ = '\0';
		if (nvs_option_set(values, item, value, error, error_size))
			goto wrong;
	}
	/* What is recorded is of use with the kernel's code only. */
	values->code |= values->snapshot[0] != '\0';
	why = find_conflict(values);
	if (!why)
		return 0;
	snprintf(error, error_size, "%s", why);
wrong:
	nvs_option_defaults(values);
	return -EINVAL;
}

int nvs_options_append(char *out, size_t size, const char *key, const char *value)
{
	size_t n = strlen(out);
	int written;

	written = snprintf(out + n, size - n, "%s%s%s", n ? "," : "", key, value ? "=" : "");
	if (written < 0 || (size_t)written >= size - n)
		return -ENOSPC;
	n += (size_t)written;
	for (; value && *value; value++) {
		if (n + 3 > size)
			return -ENOSPC;
		if (*value == ',' || *value == '\\')
			out[n++] = '\\';
		out[n++] = *value;
		out[n] = '\0';
	}
	return 0;
}
