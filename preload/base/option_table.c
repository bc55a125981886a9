/* SPDX-License-Identifier: MIT */
/*
 * Keys and values of NVSNOOP_OPTIONS: the table and its parser, for the library and the launcher.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "preload/base/options.h"

#define SECONDS_RULE "a number of seconds, as 10 or 0.5"
#define SIZE_RULE "a size from 64K to 1024T, as 50M"

const struct nvs_option nvs_option_table[] = {
	{"delay", "SECONDS", "begin to record so long after the start", "0", SECONDS_RULE, false},
	{"duration", "SECONDS", "stop recording so long after it began", NULL,
	 "a number of seconds above 0, as 10 or 0.5", false},
	{"from", "start|profiler", "record from the start, or while cuProfilerStart says so",
	 "start", NULL, false},
	{"trigger", "FILE", "record what FILE says: start, stop, or a number", NULL, NULL, false},
	{"max-size", "SIZE", "stop recording when the trace is as large", NULL, SIZE_RULE, false},
	{"keep-last", "SIZE", "keep the last SIZE of the trace, not its beginning", NULL, SIZE_RULE,
	 false},
	{"level", "full|headers", "keep all of a submission, or entries and sizes", "full", NULL,
	 false},
	{"timing", "off|dispatch|work", "the GPU's time: of a submission's start, or of its work",
	 "off", NULL, false},
	{"count", "off|warp|thread|both",
	 "count the instructions of every kernel: changes the program's code", "off", NULL, false},
	{"count-pred-off", "count|skip", "instructions whose predicate is false", "count", NULL,
	 false},
	{"count-instructions", "A-B", "of each kernel only instructions A to B, B left out", NULL,
	 "two numbers, the first below the second, as 0-16", false},
	{"count-kernels", "GLOB", "only kernels whose mangled name GLOB matches", NULL, NULL,
	 false},
	{"exact", "off|sync", "sync: wait for each launch and read its counts", "off", NULL, false},
	{"api", "on|off", "record calls of the CUDA driver API", "on", NULL, false},
	{"code", "on|off", "keep the code that is loaded, which --code shows", "off", NULL, false},
	{"backtrace", "on|off", "take the call site of every submission", "on", NULL, false},
	{"live", "on|off", "show what is done in a page of its own, for nvsnoop-top", "on", NULL,
	 false},
	{"overwrite", NULL, "replace a trace of the same name", NULL, NULL, false},
	{"quiet", NULL, "no closing line", NULL, NULL, false},
	{"overflow", "wait|drop", "when a buffer is full: wait for the writer, or drop", "wait",
	 NULL, true},
	{"buffer", "SIZE", "size of a thread's buffer, a power of two from 64K to 1G", "1M",
	 "a power of two from 64K to 1G", true},
	{"spool", "DIR|off", "where the buffers lie that outlive a kill", "beside the trace", NULL,
	 true},
	{"trap", "emulate|step", "how a doorbell store is let through", "emulate", NULL, true},
	{"patch", "on|off", "reach understood store sites by a jump, not a fault", "on", NULL,
	 true},
	{"shadow", "on|off", "show the program GPFIFO and USERD in ordinary memory", "on", NULL,
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
	values->ring_bytes = NVS_DEFAULT_RING_BYTES;
}

/* TEXT is NO or YES. */
static bool either(const char *text, const char *no, const char *yes, bool *is_yes)
{
	if (!text || (strcmp(text, no) && strcmp(text, yes)))
		return false;
	*is_yes = strcmp(text, yes) == 0;
	return true;
}

/* "64K", "1M", "2097152". 0: not a size, or above MOST. */
static uint64_t parse_size(const char *text, uint64_t most)
{
	static const char units[] = "kKmMgGtT";
	const char *unit;
	uint64_t n = 0;
	long shift;

	while (*text >= '0' && *text <= '9') {
		n = n * 10 + (uint64_t)(*text++ - '0');
		if (n > most)
			return 0;
	}
	if (!*text)
		return n;
	unit = strchr(units, *text);
	if (!unit || text[1])
		return 0;
	shift = (unit - units) / 2 * 10 + 10;
	return n > most >> shift ? 0 : n << shift;
}

static bool set_buffer(const char *text, uint64_t *ring_bytes)
{
	uint64_t bytes = text ? parse_size(text, NVS_MAX_RING_BYTES) : 0;

	if ((bytes & (bytes - 1)) || bytes < NVS_MIN_RING_BYTES)
		return false;
	*ring_bytes = bytes;
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

/* "10", "0.5": a plain decimal fraction, in every locale. */
static bool set_seconds(const char *text, uint64_t least_ns, uint64_t *ns)
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
	if (*p || n < least_ns)
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

/* The place of TEXT among N names. */
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

/* "0-16": of each kernel instructions 0 to 15. */
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

	if (text && !either(text, "off", "on", &yes))
		return false;
	*on = yes;
	return true;
}

static bool set(struct nvs_option_values *values, const char *key, const char *value)
{
	static const char *const timings[] = {"off", "dispatch", "work"};
	static const char *const counts[] = {"off", "warp", "thread", "both"};

	if (!strcmp(key, "trap"))
		return either(value, "emulate", "step", &values->step);
	if (!strcmp(key, "backtrace"))
		return either(value, "off", "on", &values->backtrace);
	if (!strcmp(key, "api"))
		return either(value, "off", "on", &values->api);
	if (!strcmp(key, "code"))
		return either(value, "off", "on", &values->code);
	if (!strcmp(key, "live"))
		return either(value, "off", "on", &values->live);
	if (!strcmp(key, "overflow"))
		return either(value, "wait", "drop", &values->drop);
	if (!strcmp(key, "level"))
		return either(value, "full", "headers", &values->headers);
	if (!strcmp(key, "timing"))
		return set_one_of(value, timings, 3, &values->timing);
	if (!strcmp(key, "count"))
		return set_one_of(value, counts, 4, &values->count);
	if (!strcmp(key, "count-pred-off"))
		return either(value, "count", "skip", &values->count_pred_on);
	if (!strcmp(key, "count-instructions"))
		return set_instructions(value, values);
	if (!strcmp(key, "count-kernels"))
		return set_kernels(value, values);
	if (!strcmp(key, "exact"))
		return either(value, "off", "sync", &values->exact);
	if (!strcmp(key, "patch"))
		return either(value, "off", "on", &values->patch);
	if (!strcmp(key, "shadow"))
		return either(value, "off", "on", &values->shadow);
	if (!strcmp(key, "trigger"))
		return set_trigger(value, values);
	if (!strcmp(key, "from"))
		return either(value, "start", "profiler", &values->from_profiler);
	if (!strcmp(key, "delay"))
		return set_seconds(value, 0, &values->delay_ns);
	if (!strcmp(key, "duration"))
		return set_seconds(value, 1, &values->duration_ns);
	if (!strcmp(key, "max-size"))
		return set_size(value, &values->max_size);
	if (!strcmp(key, "keep-last"))
		return set_size(value, &values->keep_last);
	if (!strcmp(key, "buffer"))
		return set_buffer(value, &values->ring_bytes);
	if (!strcmp(key, "spool"))
		return set_spool(value, values);
	if (!strcmp(key, "overwrite"))
		return set_switch(value, &values->overwrite);
	return set_switch(value, &values->quiet);
}

static const struct nvs_option *find(const char *key)
{
	const struct nvs_option *o;

	for (o = nvs_option_table; o->key; o++)
		if (!strcmp(o->key, key))
			return o;
	return NULL;
}

/* The message is for a terminal; what was given may hold anything. */
static int refuse(char *error, size_t size)
{
	for (size_t i = 0; i < size && error[i]; i++)
		if ((unsigned char)error[i] < ' ' || error[i] == 127)
			error[i] = '?';
	return -EINVAL;
}

int nvs_option_set(struct nvs_option_values *values, const char *key, const char *value,
		   char *error, size_t error_size)
{
	const struct nvs_option *known = find(key);

	if (!known) {
		snprintf(error, error_size, "there is no option '%.40s'", key);
		return refuse(error, error_size);
	}
	if (set(values, key, value))
		return 0;
	snprintf(error, error_size, "%s is %s, not '%.40s'", key,
		 !known->value ? "a switch"
		 : known->rule ? known->rule
			       : known->value,
		 value ? value : "");
	return refuse(error, error_size);
}

/* Copies the item at S, undoing \, and \\; what follows its comma, or NULL: too long. */
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

/* What two options say together; NULL: they agree. */
static const char *contradiction(const struct nvs_option_values *values)
{
	if (values->max_size && values->keep_last)
		return "max-size stops where keep-last goes on: one of the two";
	if (values->from_profiler && !values->api)
		return "from=profiler needs api=on, which sees cuProfilerStart";
	if (values->code && !values->api)
		return "code needs api=on, which sees what is loaded";
	if (values->code && values->keep_last)
		return "code is loaded at the start, which keep-last drops: one of the two";
	if (values->timing && !values->api)
		return "timing needs api=on, which sees the contexts";
	if (values->count && !values->api)
		return "count needs api=on, which sees the program's code being loaded";
	if (!values->count && (values->count_pred_on || values->count_end ||
			       values->count_kernels[0] || values->exact))
		return "count says what is counted: without it, count-... and exact=sync do "
		       "nothing";
	if (values->timing && !values->shadow)
		return "timing needs shadow=on, by which the real GPFIFO is ours";
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
	why = contradiction(values);
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
