/* SPDX-License-Identifier: MIT */
/*
 * Threads that block or await one of our two signals, and how one is found that does not.
 *
 * Those that do are in a table, since they called us. Any other thread of the process is one that
 * does not, but for the threads that block the signal in the kernel as well, which the library's
 * own do.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include "preload/signals/sigkeep.h"
#include "preload/signals/sigthreads.h"
#include "preload/signals/sigview.h"
#include "preload/base/state.h"
#include "preload/base/sys.h"

#define THREADS 1024
#define VALUES 64

static _Atomic int tids[THREADS]; /* 0: free. One that has died is free as well */
static struct {
	_Atomic uint64_t asked, by_handler, waits;
} threads[THREADS];
static __thread int own; /* number in the table + 1 */

static const char nudge; /* its address is a nudge's value */
/* Values of pthread_sigqueue(), whose siginfo does not tell it from sigqueue()'s. */
static _Atomic uint32_t next_value;
static _Atomic(void *) values[VALUES];

static bool claim(int i, int tid)
{
	int old = atomic_load(&tids[i]);

	return !old && atomic_compare_exchange_strong(&tids[i], &old, tid);
}

static bool dead(int tid)
{
	return nvs_sys(SYS_tgkill, nvs_sys_getpid(), tid, 0, 0, 0, 0) == -ESRCH;
}

static int find(int tid)
{
	for (int i = 0; i < THREADS; i++)
		if (atomic_load_explicit(&tids[i], memory_order_relaxed) == tid)
			return i;
	return -1;
}

static int enter(int tid)
{
	int i = find(tid), old;

	for (int k = 0; i < 0 && k < THREADS; k++)
		if (claim(k, tid))
			i = k;
	for (int k = 0; i < 0 && k < THREADS; k++) {
		old = atomic_load(&tids[k]);
		if (dead(old) && atomic_compare_exchange_strong(&tids[k], &old, tid))
			i = k;
	}
	return i;
}

/* The calling thread's number in the table; -1: there is no room, or it needs none. */
static int mine(bool needed)
{
	int tid;

	if ((!own && !needed) || nvs_state_borrowed())
		return -1;
	tid = nvs_sys_gettid();
	if (!own || atomic_load(&tids[own - 1]) != tid) {
		own = enter(tid) + 1;
		if (own)
			atomic_store(&threads[own - 1].waits, 0);
	}
	return own - 1;
}

void nvs_sigthreads_publish(uint64_t asked, uint64_t by_handler)
{
	int i = mine(asked || by_handler);

	if (i < 0)
		return;
	atomic_store(&threads[i].by_handler, by_handler);
	atomic_store(&threads[i].asked, asked);
}

void nvs_sigthreads_wait(uint64_t set)
{
	int i = mine(set != 0);

	if (i >= 0)
		atomic_store(&threads[i].waits, set);
}

/* ---- what a signal says ---- */

bool nvs_sigthreads_is_nudge(const siginfo_t *info)
{
	return info->si_code == SI_QUEUE && info->si_value.sival_ptr == &nudge;
}

bool nvs_sigthreads_to_thread(siginfo_t *info)
{
	uintptr_t offset = (uintptr_t)info->si_value.sival_ptr - (uintptr_t)values;

	if (info->si_code == SI_TKILL)
		return true;
	if (info->si_code != SI_QUEUE || offset >= sizeof(values))
		return false;
	info->si_value.sival_ptr = atomic_load(&values[offset / sizeof(values[0])]);
	return true;
}

static bool send_nudge(int tid, int sig)
{
	siginfo_t info = {.si_signo = sig, .si_code = SI_QUEUE};

	info.si_value.sival_ptr = (void *)&nudge;
	return !nvs_sys(SYS_rt_tgsigqueueinfo, nvs_sys_getpid(), tid, sig, (long)&info, 0, 0);
}

union sigval nvs_sigthreads_disguise(union sigval value)
{
	uint32_t i = atomic_fetch_add(&next_value, 1) % VALUES;

	atomic_store(&values[i], value.sival_ptr);
	value.sival_ptr = &values[i];
	return value;
}

/* ---- who takes it ---- */

static char *put_number(char *at, int n)
{
	char digits[12];
	int k = 0;

	do
		digits[k++] = (char)('0' + n % 10);
	while (n /= 10);
	while (k)
		*at++ = digits[--k];
	return at;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The word in hexadecimal behind NAME in the file FD; ~0: not found. In pieces: stacks may be small
 * here. */
static uint64_t word_behind(int fd, const char *name)
{
	size_t matched = 0, size = strlen(name);
	uint64_t word = 0;
	bool any = false;
	char piece[128];
	long n;

	while ((n = nvs_sys_read(fd, piece, sizeof(piece))) > 0)
		for (long i = 0; i < n; i++) {
			if (matched < size) {
				matched = piece[i] == name[matched] ? matched + 1
								    : piece[i] == name[0];
			} else if (hex_digit(piece[i]) >= 0) {
				word = word << 4 | (uint64_t)hex_digit(piece[i]);
				any = true;
			} else if (any) {
				return word;
			}
		}
	return any ? word : ~0ull;
}

uint64_t nvs_sigthreads_proc_word(const char *folder, int number, const char *file,
				  const char *name)
{
	char path[64], *at = path;
	uint64_t word;
	int fd;

	at = put_number(stpcpy(at, folder), number);
	strcpy(at, file);
	fd = nvs_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return ~0ull;
	word = word_behind(fd, name);
	nvs_sys_close(fd);
	return word;
}

static bool takes(int tid, int sig)
{
	uint64_t kernel = nvs_sigthreads_proc_word("/proc/self/task/", tid, "/status", "SigBlk:\t"),
		 blocked;
	int i = find(tid);

	if (kernel & NVS_SIGBIT(sig))
		return false;
	if (i < 0)
		return true;
	blocked = atomic_load(&threads[i].asked);
	if (kernel & NVS_SIGVIEW_MARKER)
		blocked |= atomic_load(&threads[i].by_handler);
	return !(blocked & NVS_SIGBIT(sig));
}

struct entry { /* as the kernel writes it */
	uint64_t ino;
	int64_t off;
	uint16_t size;
	uint8_t type;
	char name[];
};

static int number_of(const char *name)
{
	int n = 0;

	while (*name >= '0' && *name <= '9')
		n = n * 10 + (*name++ - '0');
	return *name ? 0 : n;
}

/* Nudges one of the threads in the piece of the folder. */
static bool nudge_in(const char *piece, long size, int sig, int after)
{
	int self = nvs_sys_gettid();

	for (long at = 0; at < size;) {
		const struct entry *e = (const struct entry *)(const void *)(piece + at);
		int tid = number_of(e->name);

		at += e->size;
		if (tid > after && tid != self && takes(tid, sig) && send_nudge(tid, sig))
			return true;
	}
	return false;
}

static void nudge_any(int sig, int after)
{
	int fd = nvs_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	_Alignas(8) char piece[256];
	bool done = fd < 0;
	long n;

	while (!done && (n = nvs_sys(SYS_getdents64, fd, (long)piece, sizeof(piece), 0, 0, 0)) > 0)
		done = nudge_in(piece, n, sig, after);
	if (fd >= 0)
		nvs_sys_close(fd);
}

void nvs_sigthreads_offer(int sig, int after)
{
	int self = nvs_sys_gettid();

	if (!(nvs_sigkeep_of_process() & NVS_SIGBIT(sig)))
		return;
	for (int i = 0; i < THREADS; i++) {
		int tid = atomic_load_explicit(&tids[i], memory_order_relaxed);

		if (tid && tid != self && atomic_load(&threads[i].waits) & NVS_SIGBIT(sig) &&
		    send_nudge(tid, sig))
			return;
	}
	nudge_any(sig, after);
}
