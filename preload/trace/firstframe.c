/* SPDX-License-Identifier: MIT */
/*
 * The trace's first frame: its header, and what there is to say about the process and the machine.
 */
#include <string.h>
#include <sys/utsname.h>
#include "preload/trace/session.h"

#define FRAME_SIZE (256u << 10)
#define COMMAND_SIZE (64u << 10) /* of a command line, at most */

struct builder {
	uint8_t *out;
	size_t used;
};

uint32_t nvs_fill_attr(void *out, uint32_t key, const char *value, size_t length)
{
	struct nvs_rec_attr *attr = out;
	uint32_t size = (uint32_t)(sizeof(*attr) + length + 7) & ~7u;

	memset(out, 0, size);
	attr->rec = (struct nvs_rec){.type = NVS_REC_ATTR, .size = size, .time = nvs_now()};
	attr->key = key;
	attr->length = (uint32_t)length;
	memcpy(attr->value, value, length);
	return size;
}

void nvs_fill_clock(struct nvs_rec_clock *rec, const struct nvs_clock_point *point)
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
	nvs_record((void *)room);
}

static void add_text(struct builder *b, uint32_t key, const char *value)
{
	if (value && *value)
		b->used += nvs_fill_attr(b->out + b->used, key, value, strlen(value));
}

/* A whole small file; its length, 0 where it cannot be read. */
static size_t read_file(const char *path, char *out, size_t size)
{
	int fd = nvs_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	size_t used = 0;
	long n = 1;

	if (fd < 0)
		return 0;
	while (used < size - 1 && n > 0) {
		n = nvs_sys_read(fd, out + used, size - 1 - used);
		if (n > 0)
			used += (size_t)n;
	}
	nvs_sys_close(fd);
	out[used] = '\0';
	return used;
}

static void add_command(struct builder *b, char *room)
{
	size_t n = read_file("/proc/self/cmdline", room, COMMAND_SIZE);

	if (n)
		b->used += nvs_fill_attr(b->out + b->used, NVS_ATTR_COMMAND, room, n);
}

static void add_link(struct builder *b, uint32_t key, const char *path, char *room)
{
	long n = nvs_sys_readlink(path, room, COMMAND_SIZE - 1);

	if (n <= 0)
		return;
	room[n] = '\0';
	add_text(b, key, room);
}

/* What follows LABEL and the spaces and colons behind it in TEXT, up to the end of the line. */
static const char *value_of(char *text, const char *label)
{
	char *p = strstr(text, label);

	if (!p)
		return NULL;
	p += strlen(label);
	p += strspn(p, " \t:");
	p[strcspn(p, "\n")] = '\0';
	return p;
}

static void add_cpu(struct builder *b, char *room)
{
	if (read_file("/proc/cpuinfo", room, 4096))
		add_text(b, NVS_ATTR_CPU, value_of(room, "model name"));
}

/* As the driver itself says it, unless an ioctl has told it already. */
static void add_driver(struct builder *b, const struct nvs_session *session, char *room)
{
	if (!session->driver[0] && read_file("/sys/module/nvidia/version", room, 64))
		add_text(b, NVS_ATTR_DRIVER, value_of(room, ""));
	else
		add_text(b, NVS_ATTR_DRIVER, session->driver);
}

static void add_machine(struct builder *b)
{
	struct utsname name;

	if (uname(&name))
		return;
	add_text(b, NVS_ATTR_HOST, name.nodename);
	add_text(b, NVS_ATTR_KERNEL, name.release);
}

static void add_header(struct builder *b, const struct nvs_session *session)
{
	const struct nvs_option_values *v = &nvs_options()->values;
	struct nvs_rec_header *h = (void *)(b->out + b->used);

	*h = (struct nvs_rec_header){
		.rec = {.type = NVS_REC_HEADER, .size = sizeof(*h), .time = session->start.ticks},
		.magic = NVS_TRACE_MAGIC,
		.version = NVS_TRACE_VERSION,
		.min_version = NVS_TRACE_VERSION,
		.pid = session->pid,
		.ppid = (uint32_t)nvs_sys(SYS_getppid, 0, 0, 0, 0, 0, 0),
		.clock = session->clock,
		.flags = (session->crash_safe ? NVS_HDR_CRASH_SAFE : 0) |
			 (v->backtrace ? NVS_HDR_BACKTRACE : 0) | (v->step ? NVS_HDR_STEP : 0) |
			 (v->drop ? NVS_HDR_DROP : 0) |
			 (v->level == NVS_LEVEL_HEADERS ? NVS_HDR_HEADERS : 0) |
			 (v->level == NVS_LEVEL_COUNTS ? NVS_HDR_COUNTS : 0) |
			 (v->trigger[0] ? NVS_HDR_TRIGGER : 0),
		.realtime_ns = session->start.real_ns,
		.ring_bytes = session->ring_bytes,
	};
	memcpy(h->session, session->id, sizeof(h->session));
	b->used += sizeof(*h);
}

static void add_attrs(struct builder *b, const struct nvs_session *session, char *room)
{
	add_text(b, NVS_ATTR_VERSION, NVS_VERSION);
	add_command(b, room);
	add_link(b, NVS_ATTR_EXE, "/proc/self/exe", room);
	add_link(b, NVS_ATTR_CWD, "/proc/self/cwd", room);
	add_machine(b);
	add_driver(b, session, room);
	add_cpu(b, room);
	add_text(b, NVS_ATTR_OPTIONS, nvs_options()->given);
	add_text(b, NVS_ATTR_SPOOL, session->spool.path);
	add_text(b, NVS_ATTR_UNWINDER, session->unwinder);
}

int nvs_first_frame(struct nvs_session *session, struct nvs_sink *sink)
{
	struct builder b = {.out = nvs_alloc(FRAME_SIZE)};
	char *room = nvs_alloc(COMMAND_SIZE);
	struct nvs_rec_frame *frame = (void *)b.out;
	int err = -ENOMEM;

	if (b.out && room) {
		frame->rec = (struct nvs_rec){.type = NVS_REC_FRAME,
					      .size = sizeof(*frame),
					      .time = session->start.ticks};
		b.used = sizeof(*frame);
		add_header(&b, session);
		add_attrs(&b, session, room);
		nvs_fill_clock((void *)(b.out + b.used), &session->start);
		b.used += sizeof(struct nvs_rec_clock);
		err = nvs_sink_frame(sink, b.out, b.used);
	}
	nvs_free(room, COMMAND_SIZE);
	nvs_free(b.out, FRAME_SIZE);
	return err;
}
