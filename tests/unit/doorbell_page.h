/* SPDX-License-Identifier: MIT */
/* A doorbell page for tests of the trap: memory that the program sees write-protected. */
#ifndef NVSNOOP_TEST_DOORBELL_PAGE_H
#define NVSNOOP_TEST_DOORBELL_PAGE_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "trap/trap.h"

#define PAGE 65536u

static uint8_t *page, *behind; /* as the program sees it, and what the GPU would see */
static struct nvs_doorbell doorbell = {.map = 1};

static inline void make_doorbell_page(void)
{
	int fd = memfd_create("doorbell", 0);

	if (ftruncate(fd, PAGE))
		abort();
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	behind = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	doorbell.start = (uintptr_t)page;
	doorbell.end = doorbell.start + PAGE;
	doorbell.alias = (uintptr_t)mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

#endif
