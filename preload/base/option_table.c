/* SPDX-License-Identifier: MIT */
/*
 * Table of the keys of NVSNOOP_OPTIONS and its parser, used by the library and the launcher.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "preload/base/options.h"

#define SECONDS_RULE "a number of seconds, for example 10 or 0.5"
#define SIZE_RULE "a size from 64K to 1024T, for example 50M"

const struct nvs_option nvs_option_table[] = {
	{"delay", "SECONDS", "start recording this long after the start", "0", SECONDS_RULE, false},
	{"duration", "SECONDS", "stop recording after this long", NULL,
	 "a number of seconds above 0, for example 10 or 0.5", false},
	{"from", "start|profiler", "record from the start, or between cuProfilerStart and Stop",
	 "start", NULL, false},
	{"trigger", "FILE", "record on the commands in FILE: start, stop, or a number", NULL, NULL,
	 false},
	{"max-size", "SIZE", "stop recording when the trace has this size", NULL, SIZE_RULE, false},
	{"keep-last", "SIZE", "keep only the last SIZE of the trace", NULL, SIZE_RULE, false},
	{"level", "full|headers", "record whole submissions, or only entries and sizes", "full",
	 NULL, false},
	{"timing", "off|dispatch|work",
	 "GPU timestamps: when submissions start, or around their work", "off", NULL, false},
	{"count", "off|warp|thread|both",
	 "count the instructions of every kernel; modifies its code", "off", NULL, false},
	{"count-pred-off", "count|skip", "count or skip instructions whose predicate is false",
	 "count", NULL, false},
	{"count-instructions", "A-B", "count only instructions A to B-1 of each kernel", NULL,
	 "two numbers, the first below the second, for example 0-16", false},
	{"count-kernels", "GLOB", "count only kernels whose mangled name matches GLOB", NULL, NULL,
	 false},
	{"exact", "off|sync", "sync: wait for every launch and read its counts", "off", NULL,
	 false},
	{"api", "on|off", "record calls of the CUDA driver API", "on", NULL, false},
	{"code", "on|off", "record the loaded code, for nvsnoop-report --code", "off", NULL, false},
	{"backtrace", "on|off", "record the call stack of every submission", "on", NULL, false},
	{"live", "on|off", "publish a live page, for nvsnoop-top", "on", NULL, false},
	{"overwrite", NULL, "replace an existing trace", NULL, NULL, false},
	{"quiet", NULL, "do not print the closing line", NULL, NULL, false},
	{"overflow", "wait|drop", "when a buffer is full: wait for the writer, or drop records",
	 "wait", NULL, true},
	{"buffer", "SIZE", "size of a thread's buffer, a power of two from 64K to 1G", "1M",
	 "a power of two from 64K to 1G", true},
	{"spool", "DIR|off", "directory of the file with the thread buffers, which survives a kill",
	 "next to the trace", NULL, true},
	{"trap", "emulate|step", "how the doorbell store is completed", "emulate", NULL, true},
	{"patch", "on|off", "replace known store sites by a jump instead of faulting", "on", NULL,
	 true},
	{"shadow", "on|off", "give the program GPFIFO and USERD in ordinary memory", "on", NULL,
	 true},
	{NULL, NULL, NULL, NULL, NULL, false},
};

void nvs_option_defaults(struct nvs_option_values *values)
{
	memset(values, 0, sizeof(*values));
	values->backtrace = true;
	values->api = true;
	values->live = true;
	values->spool = true;
	values->patch = true;
	values->shadow = true;
	values->buffer_bytes = NVS_DEFAULT_BUFFER_BYTES;
}

/* Parses TEXT, which must be NO or YES. */
static bool parse_either(const char *text, const char *no, const char *yes, bool *is_yes)
{
	if (!text || (strcmp(text, no) && strcmp(text, yes)))
		return false;
	*is_yes = strcmp(text, yes) == 0;
	return true;
}

/* Parses "64K", "1M" or "2097152". Returns 0 if TEXT is not a size or is above MAX. */
static uint64_t parse_size(const char *text, uint64_t max)
{
	static const char units[] = "kKmMgGtT";
	const char *unit;
	uint64_t n = 0;
	long shift;

	while (*text >= '0' && *text <= '9') {
		n = n * 10 + (uint64_t)(*text++ - '0');
		if (n > max)
			return 0;
	}
	if (!*text)
		return n;
	unit = strchr(units, *text);
	if (!unit || text[1])
		return 0;
	shift = (unit - units) / 2 * 10 + 10;
	return n > max >> shift ? 0 : n << shift;
}

static bool set_buffer(const char *text, uint64_t *buffer_bytes)
{
	uint64_t bytes = text ? parse_size(text, NVS_MAX_BUFFER_BYTES) : 0;

	if ((bytes & (bytes - 1)) || bytes < NVS_MIN_BUFFER_BYTES)
		return false;
	*buffer_bytes = bytes;
	return true;
}

static bool set_size(const char *text, uint64_t *size)
{
	uint64_t bytes = text ? parse_size(text, NVS_MAX_TRACE_BYTES) : 0;

	if (bytes < NVS_MIN_TRACE_BYTES)
		return false;
	*size = bytes;
	return true;
}

/* Parses a decimal fraction ("10", "0.5"), independent of the locale. */
static bool set_seconds(const char *text, uint64_t min_ns, uint64_t *ns)
{
	uint64_t n = 0, unit = 1000000000;
	const char *p = text;

	for (; p && *p >= '0' && *p <= '9' && n <= NVS_MAX_SECONDS; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	if (!p || p == text || n > NVS_MAX_SECONDS)
		return false;
	n *= unit;
	if (*p == '.' && p[1])
		for (p++; *p >= '0' && *p <= '9'; p++)
			n += (uint64_t)(*p - '0') * (unit /= 10);
	if (*p || n < min_ns)
		return false;
	*ns = n;
	return true;
}

static bool set_spool(const char *text, struct nvs_option_values *values)
{
	if (!text || !*text || strlen(text) >= sizeof(values->spool_dir))
		return false;
	values->spool = strcmp(text, "off") != 0;
	strcpy(values->spool_dir, values->spool ? text : "");
	return true;
}

/* Sets WHICH to the index of TEXT in the N names. */
static bool set_one_of(const char *text, const char *const *names, unsigned n, unsigned *which)
{
	for (unsigned i = 0; text && i < n; i++) {
		if (strcmp(text, names[i]))
			continue;
		*which = i;
		return true;
	}
	return false;
}

static bool set_trigger(const char *text, struct nvs_option_values *values)
{
	if (!text || !*text || strlen(text) >= sizeof(values->trigger))
		return false;
	strcpy(values->trigger, text);
	return true;
}

/* Parses "0-16": instructions 0 to 15 of each kernel. */
static bool set_instructions(const char *text, struct nvs_option_values *values)
{
	uint32_t n[2] = {0, 0};

	for (int i = 0; i < 2; i++) {
		const char *digits = text;

		for (; text && *text >= '0' && *text <= '9' && n[i] < 100000000; text++)
			n[i] = n[i] * 10 + (uint32_t)(*text - '0');
		if (!text || text == digits || *text != (i ? '\0' : '-'))
			return false;
		text++;
	}
	values->count_first = n[0];
	values->count_end = n[1];
	return n[0] < n[1];
}

static bool set_kernels(const char *text, struct nvs_option_values *values)
{
	if (!text || !*text || strlen(text) >= sizeof(values->count_kernels))
		return false;
	strcpy(values->count_kernels, text);
	return true;
}

static bool set_switch(const char *text, bool *on)
{
	bool yes = true;

	if (text && !parse_either(text, "off", "on", &yes))
		return false;
	*on = yes;
	return true;
}

static bool set_option(struct nvs_option_values *values, const char *key, const char *value)
{
	static const char *const timings[] = {"off", "dispatch", "work"};
	static const char *const counts[] = {"off", "warp", "thread", "both"};

	if (!strcmp(key, "trap"))
		return parse_either(value, "emulate", "step", &values->step);
	if (!strcmp(key, "backtrace"))
		return parse_either(value, "off", "on", &values->backtrace);
	if (!strcmp(key, "api"))
		return parse_either(value, "off", "on", &values->api);
	if (!strcmp(key, "code"))
		return parse_either(value, "off", "on", &values->code);
	if (!strcmp(key, "live"))
		return parse_either(value, "off", "on", &values->live);
	if (!strcmp(key, "overflow"))
		return parse_either(value, "wait", "drop", &values->drop);
	if (!strcmp(key, "level"))
		return parse_either(value, "full", "headers", &values->headers);
	if (!strcmp(key, "timing"))
		return set_one_of(value, timings, 3, &values->timing);
	if (!strcmp(key, "count"))
		return set_one_of(value, counts, 4, &values->count);
	if (!strcmp(key, "count-pred-off"))
		return parse_either(value, "count", "skip", &values->count_pred_on);
	if (!strcmp(key, "count-instructions"))
		return set_instructions(value, values);
	if (!strcmp(key, "count-kernels"))
		return set_kernels(value, values);
	if (!strcmp(key, "exact"))
		return parse_either(value, "off", "sync", &values->exact);
	if (!strcmp(key, "patch"))
		return parse_either(value, "off", "on", &values->patch);
	if (!strcmp(key, "shadow"))
		return parse_either(value, "off", "on", &values->shadow);
	if (!strcmp(key, "trigger"))
		return set_trigger(value, values);
	if (!strcmp(key, "from"))
		return parse_either(value, "start", "profiler", &values->from_profiler);
	if (!strcmp(key, "delay"))
		return set_seconds(value, 0, &values->delay_ns);
	if (!strcmp(key, "duration"))
		return set_seconds(value, 1, &values->duration_ns);
	if (!strcmp(key, "max-size"))
		return set_size(value, &values->max_size);
	if (!strcmp(key, "keep-last"))
		return set_size(value, &values->keep_last);
	if (!strcmp(key, "buffer"))
		return set_buffer(value, &values->buffer_bytes);
	if (!strcmp(key, "spool"))
		return set_spool(value, values);
	if (!strcmp(key, "overwrite"))
		return set_switch(value, &values->overwrite);
	return set_switch(value, &values->quiet);
}

static const struct nvs_option *find_option(const char *key)
{
	const struct nvs_option *o;

	for (o = nvs_option_table; o->key; o++)
		if (!strcmp(o->key, key))
			return o;
	return NULL;
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
	const struct nvs_option *known = find_option(key);

	if (!known) {
		snprintf(error, error_size, "unknown option '%.40s'", key);
		return reject_option(error, error_size);
	}
	if (set_option(values, key, value))
		return 0;
	snprintf(error, error_size, "%s must be %s, not '%.40s'", key,
		 !known->value ? "on or off"
		 : known->rule ? known->rule
			       : known->value,
		 value ? value : "");
	return reject_option(error, error_size);
}

/*
 * Copies the item at S to ITEM with \, and \\ unescaped. Returns the position after its comma, or
 * NULL if the item is too long.
 */
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

const char *nvs_option_needs_trace(const struct nvs_option_values *values)
{
	if (values->timing)
		return "timing";
	if (values->code)
		return "code";
	if (values->count)
		return "count";
	if (values->max_size)
		return "max-size";
	if (values->keep_last)
		return "keep-last";
	if (values->trigger[0])
		return "trigger";
	if (values->delay_ns)
		return "delay";
	if (values->duration_ns)
		return "duration";
	return values->from_profiler ? "from" : NULL;
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
