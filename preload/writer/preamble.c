/* SPDX-License-Identifier: MIT */
/* The trace's first frame: the header, and attributes of the process and the machine. Called once
 * by the writer when it starts. */
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include "preload/base/cpu_name.h"
#include "preload/writer/merge.h"
#include "preload/writer/session.h"

#define TEXT_SIZE (64u << 10) /* maximum of a command line */

/* The frame, a buffer for one text and a buffer for its record. */
struct preamble_builder {
	struct nvs_merge *merge;
	char text[TEXT_SIZE];
	uint64_t record[TEXT_SIZE / 8 + 8];
};

uint32_t nvs_fill_attr(void *out, uint32_t key, const char *value, size_t length)
{
	struct nvs_rec_attr *attr = out;
	uint32_t size = (uint32_t)(sizeof(*attr) + length + 7) & ~7u;

	memset(out, 0, size);
	attr->rec = (struct nvs_rec){.type = NVS_REC_ATTR, .size = size, .time = nvs_clock_now()};
	attr->key = key;
	attr->length = (uint32_t)length;
	memcpy(attr->value, value, length);
	return size;
}

void nvs_fill_clock(struct nvs_rec_clock *rec, const struct nvs_clock_sample *point)
{
	*rec = (struct nvs_rec_clock){
		.rec = {.type = NVS_REC_CLOCK, .size = sizeof(*rec), .time = point->ticks},
		.mono_ns = point->mono_ns,
		.real_ns = point->real_ns,
	};
}

void nvs_record_attr(uint32_t key, const char *value, size_t length)
{
	uint64_t room[64];

	if (length > sizeof(room) - 32)
		return;
	nvs_fill_attr(room, key, value, length);
	nvs_record_write((void *)room);
}

static void add_attr(struct preamble_builder *b, uint32_t key, const char *value, size_t length)
{
	nvs_fill_attr(b->record, key, value, length);
	nvs_merge_add(b->merge, (void *)b->record);
}

static void add_text(struct preamble_builder *b, uint32_t key, const char *value)
{
	if (value && *value)
		add_attr(b, key, value, strlen(value));
}

static void add_command(struct preamble_builder *b)
{
	size_t n = nvs_sys_read_file("/proc/self/cmdline", b->text, sizeof(b->text));

	if (n)
		add_attr(b, NVS_ATTR_COMMAND, b->text, n);
}

static void add_link(struct preamble_builder *b, uint32_t key, const char *path)
{
	nvs_sys_readlink(path, b->text, sizeof(b->text));
	add_text(b, key, b->text);
}

static void add_cpu(struct preamble_builder *b)
{
	char name[128];

	if (!nvs_sys_read_file("/proc/cpuinfo", b->text, 4096))
		return;
	nvs_cpu_name(b->text, name, sizeof(name));
	add_text(b, NVS_ATTR_CPU, name);
}

/* Uses the driver's version from an ioctl; if there was none yet, the one in sysfs. */
static void add_driver(struct preamble_builder *b, const struct nvs_recorder *session)
{
	if (!session->driver[0] && nvs_sys_read_file("/sys/module/nvidia/version", b->text, 64)) {
		b->text[strcspn(b->text, "\n")] = '\0';
		add_text(b, NVS_ATTR_DRIVER, b->text);
	} else {
		add_text(b, NVS_ATTR_DRIVER, session->driver);
	}
}

static void add_machine(struct preamble_builder *b)
{
	struct utsname name;

	if (uname(&name))
		return;
	add_text(b, NVS_ATTR_HOST, name.nodename);
	add_text(b, NVS_ATTR_KERNEL, name.release);
}

/* Services are often denied all system calls that set clocks, and killed for adjtimex() too, which
 * only reads here. Returns true if a seccomp filter may be installed. */
static bool is_filtered(void)
{
	char text[4096];

	nvs_sys_read_file("/proc/self/status", text, sizeof(text));
	return nvs_file_field(text, "\nSeccomp:", 1) != 0;
}

/* Used to align traces of several machines. */
static void add_clock_error(struct preamble_builder *b)
{
	struct timex t = {.modes = 0};
	long state = is_filtered() ? -EPERM : nvs_syscall(SYS_adjtimex, (long)&t, 0, 0, 0, 0, 0);
	char text[24];

	if (state < 0 || t.maxerror < 0)
		return;
	snprintf(text, sizeof(text), "%ld", t.maxerror);
	add_text(b, NVS_ATTR_CLOCK_ERROR, state == TIME_ERROR ? "unkept" : text);
}

static void add_rank(struct preamble_builder *b)
{
	const struct nvs_rank *r = &nvs_options()->rank;

	if (!r->launcher)
		return;
	add_text(b, NVS_ATTR_LAUNCHER, r->launcher);
	add_text(b, NVS_ATTR_RANK, r->rank);
	add_text(b, NVS_ATTR_WORLD_SIZE, r->size);
	add_text(b, NVS_ATTR_LOCAL_RANK, r->local);
	add_text(b, NVS_ATTR_JOB, r->job);
}

static void add_header(struct preamble_builder *b, const struct nvs_recorder *session)
{
	const struct nvs_option_values *v = &nvs_options()->values;
	struct nvs_rec_header h = {
		.rec = {.type = NVS_REC_HEADER, .size = sizeof(h), .time = session->start.ticks},
		.magic = NVS_TRACE_MAGIC,
		.version = NVS_TRACE_VERSION,
		.min_version = NVS_TRACE_VERSION,
		.pid = session->pid,
		.ppid = (uint32_t)nvs_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0),
		.clock = session->clock,
		.flags = (session->crash_safe ? NVS_HDR_CRASH_SAFE : 0) |
			 (v->backtrace ? NVS_HDR_BACKTRACE : 0) | (v->step ? NVS_HDR_STEP : 0) |
			 (v->drop ? NVS_HDR_DROP : 0) | (v->headers ? NVS_HDR_HEADERS : 0) |
			 (nvs_switch_is_used() ? NVS_HDR_TRIGGER : 0) |
			 (v->keep_last ? NVS_HDR_KEEP_LAST : 0),
		.realtime_ns = session->start.real_ns,
		.buffer_bytes = session->buffer_bytes,
	};

	memcpy(h.session, session->id, sizeof(h.session));
	nvs_merge_add(b->merge, &h.rec);
}

static void add_attrs(struct preamble_builder *b, const struct nvs_recorder *session)
{
	add_text(b, NVS_ATTR_VERSION, NVS_VERSION);
	add_command(b);
	add_link(b, NVS_ATTR_EXE, "/proc/self/exe");
	add_link(b, NVS_ATTR_CWD, "/proc/self/cwd");
	add_machine(b);
	add_clock_error(b);
	add_rank(b);
	add_driver(b, session);
	add_cpu(b);
	add_text(b, NVS_ATTR_OPTIONS, nvs_options()->given);
	add_text(b, NVS_ATTR_SPOOL, session->spool.path);
	add_text(b, NVS_ATTR_UNWINDER, session->unwinder);
}

int nvs_first_frame(const struct nvs_recorder *session, struct nvs_merge *merge)
{
	struct preamble_builder *b = nvs_alloc(sizeof(*b));
	struct nvs_rec_clock clock;

	if (!b)
		return -ENOMEM;
	b->merge = merge;
	add_header(b, session);
	add_attrs(b, session);
	nvs_fill_clock(&clock, &session->start);
	nvs_merge_add(merge, &clock.rec);
	nvs_free(b, sizeof(*b));
	return 0;
}

double nvs_session_clock_rate(uint64_t *start)
{
	const struct nvs_clock_sample *then = &nvs_session()->start;
	struct nvs_clock_sample now = nvs_clock_read();

	*start = then->ticks;
	return now.mono_ns > then->mono_ns
		       ? (double)(now.ticks - then->ticks) / (double)(now.mono_ns - then->mono_ns)
		       : 1;
}
