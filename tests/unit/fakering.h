/* SPDX-License-Identifier: MIT */
/* Thread buffers without a session, for tests of the trap: laid out as in the spool, drained by the
 * test. */
#ifndef NVSNOOP_TEST_FAKERING_H
#define NVSNOOP_TEST_FAKERING_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "trap/trap.h"

static int passed, failed;
#define CHECK(cond)                                                                     \
	do {                                                                            \
		if (cond) {                                                             \
			passed++;                                                       \
		} else {                                                                \
			failed++;                                                       \
			printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
		}                                                                       \
	} while (0)

static inline int test_result(void)
{
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}

static uint64_t fake_heartbeat;

/* Adds N rings of BYTES each, data mapped twice in a row. */
static inline void fake_rings(uint32_t n, uint64_t bytes)
{
	for (uint32_t i = 0; i < n; i++) {
		struct nvs_spool_buffer *shared = aligned_alloc(4096, 4096);
		int fd = memfd_create("ring", 0);
		uint8_t *data = mmap(NULL, bytes * 2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				     0);
		uint8_t *stack = mmap(NULL, 65536 + NVS_KNOWN_STACKS_BYTES, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memset(shared, 0, sizeof(*shared));
		shared->buffer = nvs_buffer_count();
		shared->thread = NVS_NONE;
		if (ftruncate(fd, (off_t)bytes))
			abort();
		mmap(data, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
		mmap(data + bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
		close(fd);
		if (nvs_buffer_add(shared, data, bytes, stack + 65536, stack + 65536))
			abort();
	}
	nvs_writer_signal.heartbeat = &fake_heartbeat;
}

/* Next undrained record of RING, or NULL; drained by the next call. */
static inline struct nvs_rec *fake_next(struct nvs_buffer *ring, uint32_t *undrained)
{
	uint64_t tail = ring->shared->tail + *undrained;
	struct nvs_rec *rec;

	ring->shared->tail = tail;
	*undrained = 0;
	if (tail == __atomic_load_n(&ring->shared->head, __ATOMIC_ACQUIRE))
		return NULL;
	rec = (void *)(ring->data + (tail & (ring->bytes - 1)));
	*undrained = rec->size;
	return rec;
}

#endif
