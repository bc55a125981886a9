/* SPDX-License-Identifier: MIT */
/* The command line of nvsnoop-record. What applies to the trace is a key of NVSNOOP_OPTIONS and
 * comes from the library's table. */
#include <string.h>
#include "decode/cli/options.h"
#include "decode/cli/units.h"
#include "live/record/record.h"

static int set_pids(const struct nvs_option *option, void *target, const char *text)
{
	struct nvs_record_options *o = target;
	const char *at = text;
	uint64_t pid;

	for (;; at++) {
		if (!nvs_read_number(&at, INT32_MAX, &pid) || !pid || (*at && *at != ','))
			return NVS_OPTION_WRONG;
		if (o->npids == NVS_RECORD_PIDS)
			return nvs_usage_error("too many process IDs at '%s'", text);
		o->pids[o->npids++] = (uint32_t)pid;
		if (!*at)
			return 0;
	}
}

#define INTO(kind, field) NVS_OPTION_INTO(kind, struct nvs_record_options, field)

static const struct nvs_option own_options[] = {
	{"pid", "PID", "record this process. May be given more than once, or as PID,PID", NULL,
	 "a process ID, or several as in 12,34", 'p', .set = set_pids},
	{"all", .help = "record all processes of this user, or of all users for root",
	 INTO(CONSTANT, all), .min = true},
	{"output", "FILE",
	 "write the trace to FILE, which is never overwritten; in it %p is the pid, %e the "
	 "program, %h the host, %q{VAR} a variable, %% a percent sign",
	 NVS_DEFAULT_OUT, "a file name", .letter = 'o', INTO(TEXT, out), .min = 1},
	{"submissions", "N", "stop recording after N submissions", NULL, "a number above 0",
	 INTO(NUMBER, submissions), .min = 1, .max = 1ull << 52},
	{"quiet", .help = "do not print the closing lines", .letter = 'q', INTO(CONSTANT, quiet),
	 .min = true},
};
enum { OWN_OPTIONS = sizeof(own_options) / sizeof(*own_options) };

static const char *const keys[] = {"duration", "max-size", "level", "timing", "api", "backtrace"};
enum { KEYS = sizeof(keys) / sizeof(*keys) };

/* Checks the value of a key and adds it to the options for the processes. */
static int take_key(const struct nvs_option *option, void *target, const char *value)
{
	struct nvs_record_options *o = target;

	if (nvs_option_store(option->context, &o->values, value))
		return NVS_OPTION_WRONG;
	if (nvs_options_append(o->options, sizeof(o->options), option->name, value))
		return nvs_usage_error("--%s: too long", option->name);
	return 0;
}

/* The defaults of a window are what the process was started with. */
static void fill_table(struct nvs_option *table)
{
	memcpy(table, own_options, sizeof(own_options));
	table += OWN_OPTIONS;
	for (unsigned i = 0; i < KEYS; i++, table++) {
		const struct nvs_option *key = nvs_option_table;

		while (!key->name || strcmp(key->name, keys[i]))
			key++;
		*table = *key;
		table->standard = NULL;
		table->set = take_key;
		table->context = key;
	}
}

int nvs_record_options_parse(struct nvs_record_options *o, int argc, char **argv)
{
	struct nvs_option table[NVS_OPTIONS_MAX] = {0};
	struct nvs_command_line line = {
		.program = "nvsnoop-record",
		.usage =
			"Usage: nvsnoop record -p PID [-o FILE] [options]\n"
			"       nvsnoop record --all | NAME... [-o FILE] [options]\n"
			"\n"
			"Has programs that run under 'nvsnoop -o none' write a trace, until Ctrl-C "
			"or for\n"
			"a time: one process, or all whose program or job has one of the NAMEs. "
			"Windows\n"
			"of several processes open at the same moment.\n",
		.notes =
			"Exit status: 0 if all traces are whole, 1 if a process refused or died, "
			"2 on a\n"
			"usage error. A program called record is started by 'nvsnoop -- record'.\n",
		.options = table,
		.target = o,
	};
	const char *wrong;
	char error[256];
	int status;

	*o = (struct nvs_record_options){.out = NULL};
	nvs_option_defaults(&o->values);
	fill_table(table);
	status = nvs_command_line_parse(&line, argc, argv);
	if (status >= 0)
		return status;
	if (nvs_options_parse(&o->values, o->options, error, sizeof(error)))
		return nvs_usage_error("%s", error);
	for (int i = line.operand; i < argc; i++)
		if ((wrong = nvs_patterns_add(&o->names, argv[i])))
			return nvs_usage_error("'%s': %s", argv[i], wrong);
	if (!o->all + !o->npids + !o->names.n < 2)
		return nvs_usage_error("only one of --pid, --all and names can be given");
	if (!o->all && !o->npids && !o->names.n)
		return nvs_usage_error("which process? -p PID, --all, or the name of a program");
	return -1;
}
