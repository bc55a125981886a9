/* SPDX-License-Identifier: MIT */
/*
 * The late spool: records that are made after the writer has ended (destructors, other threads at
 * exit) are written to a file one by one. It runs in the trap: system calls only, no lock, no
 * allocation. While the spool of the thread buffers exists the file has a separate name; then it
 * takes the spool's name, where a reader looks.
 */
#include <linux/fs.h>
#include <string.h>
#include "preload/writer/session.h"
#include "trap/low/sys.h"

#define FIRST_RECORD 4096u

void nvs_late_prepare(struct nvs_recorder *session)
{
	struct nvs_late *late = &session->late;
	const char *name = session->spool.path[0] ? session->spool.path : session->trace.path;
	const char *suffix = session->spool.path[0] ? "" : ".spool";

	late->file.fd = late->named.fd = -1;
	late->file.flags = late->named.flags = O_WRONLY;
	late->named.path[0] = '\0';
	if (*name && strlen(name) + strlen(suffix) + sizeof(".late") <= sizeof(late->named.path)) {
		strcpy(late->named.path, name);
		strcat(late->named.path, suffix);
		strcpy(late->file.path, late->named.path);
		strcat(late->file.path, ".late");
	} else {
		atomic_store(&late->state, NVS_LATE_NEVER);
	}
	atomic_store(&late->end, FIRST_RECORD);
}

/* Returns the descriptor. If the program has closed it, reopens the file by its current name. */
static int late_fd(struct nvs_late *late)
{
	int fd = nvs_outfile_fd(&late->file);

	if (fd >= 0 || !atomic_load(&late->settled))
		return fd;
	fd = nvs_outfile_fd(&late->named);
	late->file.fd = fd;
	return fd;
}

static int write_at(struct nvs_late *late, const void *data, uint32_t size, uint64_t offset)
{
	const char *p = data;

	if (nvs_sys_over_limit(offset + size))
		return -EFBIG;
	while (size) {
		int fd = late_fd(late);
		long n = fd < 0 ? fd : nvs_sys_pwrite(fd, p, size, offset);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n ? (int)n : -EIO;
		p += n;
		offset += (uint64_t)n;
		size -= (uint32_t)n;
	}
	return 0;
}

/*
 * Called from both sides, since either may come first; the second call finds nothing to do. A file
 * that has the name by now, and is not our spool, belongs to another process that has replaced the
 * trace.
 */
static void take_name(struct nvs_recorder *session)
{
	struct nvs_late *late = &session->late;
	unsigned flags;

	if (atomic_load(&late->state) != NVS_LATE_THERE || !atomic_load(&late->settled))
		return;
	flags = nvs_outfile_has_name(&session->spool, late->named.path) ? 0 : RENAME_NOREPLACE;
	if (nvs_sys_rename(late->file.path, late->named.path, flags) == -EEXIST)
		nvs_outfile_unlink(&late->file);
}

static int write_head(struct nvs_recorder *session)
{
	struct nvs_spool head = {
		.magic = NVS_SPOOL_MAGIC,
		.version = NVS_SPOOL_VERSION,
		.kind = NVS_SPOOL_LATE,
		.pid = session->pid,
		.buffer_bytes = session->buffer_bytes,
		.buffer_offset = FIRST_RECORD,
		.channel_offset = FIRST_RECORD,
		.clock_ticks = {session->head->clock_ticks[0], session->head->clock_ticks[1]},
		.clock_mono_ns = {session->head->clock_mono_ns[0], session->head->clock_mono_ns[1]},
		.clock_real_ns = {session->head->clock_real_ns[0], session->head->clock_real_ns[1]},
	};

	memcpy(head.session, session->id, sizeof(head.session));
	return write_at(&session->late, &head, sizeof(head), 0);
}

static int make_file(struct nvs_recorder *session)
{
	struct nvs_late *late = &session->late;
	struct stat st;
	int fd;

	fd = nvs_sys_open(late->file.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			  0600);
	if (fd < 0)
		return fd;
	if (nvs_sys_fstat(fd, &st)) {
		nvs_sys_close(fd);
		return -EIO;
	}
	late->file.dev = late->named.dev = st.st_dev;
	late->file.ino = late->named.ino = st.st_ino;
	late->file.fd = nvs_fd_move_high(fd);
	return write_head(session);
}

/*
 * Creates the file once, on the first thread that needs it. The program's signals are blocked, so
 * that no handler jumps out of it or waits for it. A thread that is interrupted for long finds that
 * another has given the file up.
 */
static void make_once(struct nvs_recorder *session)
{
	struct nvs_late *late = &session->late;
	uint32_t none = NVS_LATE_NONE, making = NVS_LATE_MAKING;
	uint64_t saved = nvs_sys_block_async();

	if (atomic_compare_exchange_strong(&late->state, &none, NVS_LATE_MAKING)) {
		bool made = !make_file(session);

		if (!atomic_compare_exchange_strong(&late->state, &making,
						    made ? NVS_LATE_THERE : NVS_LATE_NEVER))
			made = false;
		if (!made && late->file.fd >= 0) {
			nvs_outfile_unlink(&late->file);
			nvs_outfile_close(&late->file);
		}
		take_name(session);
	}
	nvs_sys_sigmask(SIG_SETMASK, &saved, NULL);
}

static bool have_file(struct nvs_recorder *session)
{
	struct nvs_late *late = &session->late;
	uint32_t making = NVS_LATE_MAKING;

	if (atomic_load(&late->state) == NVS_LATE_NONE) {
		if (nvs_session_is_confined())
			return false;
		make_once(session);
	}
	if (!nvs_sys_wait_while(&late->state, NVS_LATE_MAKING))
		atomic_compare_exchange_strong(&late->state, &making, NVS_LATE_NEVER);
	return atomic_load(&late->state) == NVS_LATE_THERE;
}

int nvs_late_record(const void *record, uint32_t size)
{
	struct nvs_recorder *session = nvs_session();

	if (!session || !have_file(session))
		return -EIO;
	return write_at(&session->late, record, size, atomic_fetch_add(&session->late.end, size));
}

void nvs_late_take_name(struct nvs_recorder *session)
{
	atomic_store(&session->late.settled, 1);
	take_name(session);
}
