/* SPDX-License-Identifier: MIT */
/* Checks by /proc whether the process that made a live page still runs. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "live/read/process_alive.h"

/* Reads a small file into TO and terminates it. Returns false if it cannot be read. */
static bool read_text(const char *path, char *to, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, to, size - 1);

	if (fd >= 0)
		close(fd);
	if (n > 0)
		to[n] = 0;
	return n > 0;
}

/* Parses a boot_id: hexadecimal digits, with dashes that are skipped. */
static void parse_boot_id(uint8_t boot[16], const char *text)
{
	size_t n = 0;

	memset(boot, 0, 16);
	for (; *text && n < 32; text++) {
		const char *digits = "0123456789abcdef", *at = strchr(digits, *text | 0x20);

		if (*text == '-' || !at)
			continue;
		boot[n / 2] = (uint8_t)(boot[n / 2] << 4 | (at - digits));
		n++;
	}
}

bool nvs_process_stat_read(struct nvs_process_stat *to, uint32_t pid)
{
	char path[64], text[1024], *at;

	memset(to, 0, sizeof(*to));
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (!read_text(path, text, sizeof(text)))
		return false;
	at = strrchr(text, ')'); /* ends field 2: the name may contain any character */
	if (!at || sscanf(at, ") %c %u", &to->state, &to->parent) != 2)
		return false;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	to->start_time = at ? strtoull(at + 1, NULL, 10) : 0;
	return at;
}

void nvs_machine_id_read(struct nvs_machine_id *here)
{
	struct stat st;
	struct nvs_process_stat own;
	char text[256];

	memset(here, 0, sizeof(*here));
	if (read_text("/proc/sys/kernel/random/boot_id", text, sizeof(text)))
		parse_boot_id(here->boot, text);
	if (!stat("/proc/self/ns/pid", &st))
		here->pid_namespace = st.st_ino;
	here->proc = nvs_process_stat_read(&own, (uint32_t)getpid());
}

bool nvs_can_look_up_pid(const struct nvs_machine_id *here, const struct nvs_live *head)
{
	return here->proc && here->pid_namespace && head->pid_namespace == here->pid_namespace;
}

static bool heard_within(const struct nvs_live *head, uint64_t now, uint64_t ns)
{
	return head->heard >= now || now - head->heard <= ns;
}

bool nvs_process_alive(const struct nvs_machine_id *here, const struct nvs_live *head, uint64_t now)
{
	struct nvs_process_stat process;

	if (memcmp(head->boot, here->boot, sizeof(here->boot)) || head->state == NVS_LIVE_ENDED)
		return false;
	if (head->state == NVS_LIVE_EXECUTING && !heard_within(head, now, NVS_LIVE_EXECUTED_NS))
		return false;
	if (!nvs_can_look_up_pid(here, head))
		return heard_within(head, now, NVS_LIVE_SILENT_NS);
	return nvs_process_stat_read(&process, head->pid) && process.state != 'Z' &&
	       process.state != 'X' && process.start_time == head->start_time;
}

bool nvs_process_has_uid(const struct nvs_machine_id *here, const struct nvs_live *head,
			 uint32_t uid)
{
	char path[64], text[4096], *line, *at;

	if (!uid || !nvs_can_look_up_pid(here, head))
		return true;
	snprintf(path, sizeof(path), "/proc/%u/status", head->pid);
	line = read_text(path, text, sizeof(text)) ? strstr(text, "\nUid:") : NULL;
	if (!line)
		return false;
	at = line + strlen("\nUid:");
	for (int i = 0; i < 4; i++)
		if (strtoul(at, &at, 10) == uid)
			return true;
	return false;
}
