/* SPDX-License-Identifier: MIT */
/* The library's root page and its lock. */
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "preload/base/state.h"
#include "preload/base/sys.h"

#define NAP_MS 10 /* between attempts to take a lock with a timeout */

static struct nvs_state *_Atomic root;
static __thread volatile int depth; /* how often this thread holds the lock */
static struct nvs_state
	fallback; /* used if the kernel gives no page; a forked child is not recognised then */

static struct nvs_state *make_root(void)
{
	struct nvs_state *expected = NULL, *p;
	int err = errno;

	p = (void *)syscall(SYS_mmap, NULL, sizeof(*p), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		p = &fallback;
	} else if (syscall(SYS_madvise, p, sizeof(*p), MADV_WIPEONFORK)) {
		syscall(SYS_munmap, p, sizeof(*p));
		p = &fallback;
	}
	if (!atomic_compare_exchange_strong(&root, &expected, p)) {
		if (p != &fallback)
			syscall(SYS_munmap, p, sizeof(*p));
		p = expected;
	}
	errno = err;
	return p;
}

struct nvs_state *nvs_state(void)
{
	struct nvs_state *p = atomic_load_explicit(&root, memory_order_acquire);

	return p ? p : make_root();
}

void **nvs_slot(enum nvs_slot which)
{
	return &nvs_state()->slots[which];
}

bool nvs_session_is_active(void)
{
	return atomic_load(&nvs_state()->session_active);
}

bool nvs_state_is_borrowed(void)
{
	uint32_t pid = atomic_load_explicit(&nvs_state()->pid, memory_order_relaxed);

	return pid && pid != (uint32_t)getpid();
}

/* Takes the lock within MS; 0: waits without a limit. */
static bool take_lock(struct nvs_state *s, unsigned ms)
{
	struct timespec nap = {0, NAP_MS * 1000000};
	uint32_t free = 0;

	if (atomic_compare_exchange_strong(&s->lock, &free, 1))
		return true;
	for (unsigned waited = 0; atomic_exchange(&s->lock, 2); waited += NAP_MS) {
		if (ms && waited >= ms)
			return false;
		syscall(SYS_futex, &s->lock, FUTEX_WAIT_PRIVATE, 2, ms ? &nap : NULL, NULL, 0);
	}
	return true;
}

bool nvs_lock_timed(sigset_t *saved, unsigned ms)
{
	uint64_t mask;
	int err = errno;

	if (depth) {
		depth++;
		return true;
	}
	/* A handler that runs before this finds the lock free and may take it. */
	mask = nvs_sys_block_async();
	memcpy(saved, &mask, sizeof(mask));
	depth = take_lock(nvs_state(), ms);
	if (!depth)
		nvs_sys_sigmask(SIG_SETMASK, &mask, NULL);
	errno = err;
	return depth;
}

void nvs_lock(sigset_t *saved)
{
	nvs_lock_timed(saved, 0);
}

void nvs_unlock(const sigset_t *saved)
{
	struct nvs_state *s = nvs_state();
	int err = errno;

	if (depth > 1) {
		depth--;
		return;
	}
	depth = 0;
	if (atomic_exchange(&s->lock, 0) == 2)
		syscall(SYS_futex, &s->lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, saved, NULL, 8);
	errno = err;
}

bool nvs_lock_is_mine(void)
{
	return depth != 0;
}
