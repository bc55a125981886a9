/* SPDX-License-Identifier: MIT */
/*
 * read() of a signalfd for one of our two signals: what is pending in the program's eyes comes
 * first, as the kernel would give it out, and in the place of a token what it stands for. Any other
 * read passes on: by one look at a word until there is such a descriptor, by a look at what was
 * read from then on.
 */
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include "preload/signals/sigactions.h"
#include "preload/signals/sigtoken.h"
#include "preload/signals/sigkeep.h"
#include "preload/base/next.h"
#include "preload/signals/sigthreads.h"
#include "preload/signals/sigview.h"
#include "preload/base/sys.h"
#include "trap/low/sys.h"

#define RECORD sizeof(struct signalfd_siginfo)
#define PIECES 16 /* records that readv() reads at once */

/* As signalfd_copyinfo() of the kernel does for what is sent. */
static void fill(struct signalfd_siginfo *out, const siginfo_t *info)
{
	memset(out, 0, sizeof(*out));
	out->ssi_signo = (uint32_t)info->si_signo;
	out->ssi_errno = info->si_errno;
	out->ssi_code = info->si_code;
	if (info->si_code == SI_TIMER) {
		out->ssi_tid = (uint32_t)info->si_timerid;
		out->ssi_overrun = (uint32_t)info->si_overrun;
	} else {
		out->ssi_pid = (uint32_t)info->si_pid;
		out->ssi_uid = info->si_uid;
	}
	if (info->si_code < 0) {
		out->ssi_ptr = (uintptr_t)info->si_value.sival_ptr;
		out->ssi_int = info->si_value.sival_int;
	}
}

/* The signals that the descriptor is for, in the kernel's eyes; 0: it is no signalfd. */
static uint64_t mask_of_fd(int fd)
{
	uint64_t word;
	struct stat st;

	/* A file without a type is one of the kernel's own kinds. */
	if (fd < 0 || nvs_sys_fstat(fd, &st) || st.st_mode & S_IFMT)
		return 0;
	word = nvs_sigthreads_proc_word("/proc/thread-self/fdinfo/", fd, "", "sigmask:\t");
	return word == ~0ull ? 0 : word;
}

static uint64_t meant_by(uint64_t mask)
{
	uint64_t set = 0;

	for (int i = 0; i < 2; i++) {
		uint64_t bit = NVS_SIGBIT(i ? SIGTRAP : SIGSEGV);

		if (mask & nvs_sigtoken_stand_ins(bit))
			set |= bit;
	}
	return set;
}

/* What is pending of the other signals, by a descriptor that does not wait. */
static size_t read_others(uint64_t mask, char *data, size_t size)
{
	long fd, n = 0;

	mask &= ~nvs_sigtoken_stand_ins(NVS_SIGVIEW_SIGNALS);
	if (!mask || size < RECORD)
		return 0;
	fd = nvs_sys4(SYS_signalfd4, -1, &mask, sizeof(mask), SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		return 0;
	n = nvs_sys_read((int)fd, data, size);
	nvs_sys_close((int)fd);
	return n > 0 ? (size_t)n : 0;
}

/* What is pending of ours, and then the others. 0: nothing of ours is. */
static size_t take_pending(int fd, char *data, size_t size)
{
	struct signalfd_siginfo record;
	uint64_t mask, meant;
	siginfo_t info;
	size_t used = 0;

	if (size < RECORD || !nvs_sigkeep_pending())
		return 0;
	mask = mask_of_fd(fd);
	meant = meant_by(mask);
	while (size - used >= RECORD && nvs_sigkeep_take(meant, &info, NULL)) {
		fill(&record, &info);
		memcpy(data + used, &record, RECORD);
		used += RECORD;
	}
	return used ? used + read_others(mask, data + used, size - used) : 0;
}

/* What RECORD at DATA stands for; 0: it is what it says. */
static uint64_t stands_for(const char *data)
{
	struct signalfd_siginfo record;

	memcpy(&record, data, sizeof(record));
	if (!nvs_sigtoken_is((uint64_t)record.ssi_code, record.ssi_ptr))
		return 0;
	for (int i = 0; i < 2; i++)
		if (record.ssi_signo == (uint32_t)nvs_sigtoken_stand_in(i))
			return NVS_SIGBIT(i ? SIGTRAP : SIGSEGV);
	return 0;
}

/* Puts what the tokens among SIZE bytes stand for in their place, ahead of the rest; bytes that are
 * left. */
static size_t exchange(char *data, size_t size)
{
	size_t front = 0;
	siginfo_t info;

	for (size_t at = 0; at < size;) {
		uint64_t set = stands_for(data + at);
		struct signalfd_siginfo record;

		if (!set) {
			at += RECORD;
			continue;
		}
		if (nvs_sigkeep_take(set, &info, NULL)) {
			fill(&record, &info);
			memmove(data + front + RECORD, data + front, at - front);
			memcpy(data + front, &record, RECORD);
			front += RECORD;
			at += RECORD;
		} else {
			/* Taken meanwhile, by another way. */
			size -= RECORD;
			memmove(data + at, data + at + RECORD, size - at);
		}
	}
	return size;
}

static bool has_token(const char *data, size_t size)
{
	for (size_t at = 0; at + RECORD <= size; at += RECORD)
		if (stands_for(data + at))
			return true;
	return false;
}

ssize_t nvs_signals_read(int fd, void *data, size_t size)
{
	struct nvs_sigcounts before;
	ssize_t n;

	if (!nvs_sighook(NVS_SIGHOOK_FD))
		return nvs_next()->read(fd, data, size);
	for (;;) {
		n = (ssize_t)take_pending(fd, data, size);
		if (n)
			return n;
		before = nvs_signals_counts();
		n = nvs_next()->read(fd, data, size);
		/* Interrupted for nothing that the program knows of. */
		if (n < 0 && errno == EINTR && nvs_signals_unnoticed(&before) && mask_of_fd(fd))
			continue;
		if (n <= 0 || (size_t)n % RECORD || !has_token(data, (size_t)n))
			return n;
		n = (ssize_t)exchange(data, (size_t)n);
		nvs_sigkeep_sync();
		if (n)
			return n;
	}
}

ssize_t nvs_signals_readv(int fd, const struct iovec *iov, int n)
{
	struct signalfd_siginfo records[PIECES];
	size_t size = 0, at = 0;
	ssize_t got;

	if (!meant_by(mask_of_fd(fd)))
		return nvs_next()->readv(fd, iov, n);
	for (int i = 0; i < n; i++)
		size += iov[i].iov_len;
	got = nvs_signals_read(fd, records, size < sizeof(records) ? size : sizeof(records));
	for (int i = 0; i < n && got > 0 && at < (size_t)got; i++) {
		size_t part = (size_t)got - at < iov[i].iov_len ? (size_t)got - at : iov[i].iov_len;

		memcpy(iov[i].iov_base, (char *)records + at, part);
		at += part;
	}
	return got;
}
