/* SPDX-License-Identifier: MIT */
/* Writes the log of log.h. Linked into both the software GPU and the stand-in driver. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "log.h"
#include "sys.h"

static struct sg_log_head *log_head;
static uint32_t local_serial;

static struct sg_log_head *map_log(const char *path)
{
	struct sg_log_head *h;
	uint64_t none = 0;
	long fd = sg_sys(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CREAT | O_CLOEXEC, 0600, 0,
			 0);

	if (fd < 0 || sg_sys(SYS_ftruncate, fd, (long)SG_LOG_LIMIT, 0, 0, 0, 0) < 0)
		return NULL;
	/* Far from all other mappings: a test may need space next to its doorbell. */
	h = MAP_FAILED;
	for (uint64_t at = 0x600000000000; h == MAP_FAILED && at < 0x601000000000;
	     at += SG_LOG_LIMIT)
		h = sg_mmap((void *)at, SG_LOG_LIMIT, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, (int)fd, 0);
	sg_close((int)fd);
	if (h == MAP_FAILED)
		return NULL;
	__atomic_compare_exchange_n(&h->head, &none, SG_LOG_FIRST, 0, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	h->limit = SG_LOG_LIMIT;
	h->magic = SG_LOG_FILE_MAGIC;
	return h;
}

struct sg_log_head *sg_log_open(void)
{
	const char *path = getenv("SOFTGPU_LOG");

	if (!log_head && path && *path)
		log_head = map_log(path);
	return log_head;
}

void *sg_log_begin(uint16_t type, uint32_t size, uint32_t gpu)
{
	struct sg_log_head *h = log_head;
	struct sg_log_rec *r;
	uint64_t at;

	if (!h)
		return NULL;
	size = (size + 63) & ~63u;
	at = __atomic_fetch_add(&h->head, size, __ATOMIC_RELAXED);
	if (at + size > SG_LOG_LIMIT) {
		__atomic_fetch_add(&h->lost, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	r = (struct sg_log_rec *)((char *)h + at);
	r->size = size;
	r->type = type;
	r->gpu = gpu;
	r->pid = (uint32_t)getpid();
	r->tid = (uint32_t)sg_sys(SYS_gettid, 0, 0, 0, 0, 0, 0);
	__atomic_store_n(&r->magic, SG_LOG_REC_MAGIC, __ATOMIC_RELEASE);
	return r;
}

void sg_log_commit(void *rec)
{
	struct sg_log_rec *r = rec;

	if (r)
		__atomic_store_n(&r->state, SG_LOG_WHOLE, __ATOMIC_RELEASE);
}

uint32_t sg_log_serial(void)
{
	return __atomic_fetch_add(log_head ? &log_head->serial : &local_serial, 1,
				  __ATOMIC_RELAXED);
}
