/* SPDX-License-Identifier: MIT */
/*
 * submit THREADS ROUNDS [COUNTER]: threads launch, copy and set memory on their own streams, and
 * check the results. COUNTER is a file of 8 bytes in which they count their submissions. With
 * SUBMIT_PATCHED in the environment they begin only after the driver's doorbell store has been
 * patched.
 */
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "app.h"
#include "insns.h"

#define LARGE (96u << 10) /* more than a quarter of a small buffer */

static uint64_t local_count, *counter = &local_count;
static long rounds;
static CUcontext context;

static void count(void)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* ---- the driver's store ---- */

static int find_store(struct dl_phdr_info *info, size_t size, void *out)
{
	for (int i = 0; strstr(info->dlpi_name, "libcuda") && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const uint8_t *text = (const uint8_t *)info->dlpi_addr + ph->p_vaddr;

		for (size_t at = 0;
		     ph->p_type == PT_LOAD && ph->p_flags & PF_X && at + 16 < ph->p_filesz; at++)
			if (insn_is_driver_store(text + at)) {
				*(const volatile uint8_t **)out = text + at;
				return 1;
			}
	}
	return 0;
}

static void wait_for_patch(const volatile uint8_t *store, CUstream s)
{
	struct timespec nap = {0, 1000000};
	CUdeviceptr d;

	CK(cuMemAlloc_v2(&d, 4096));
	for (int i = 0; i < 5000 && !insn_is_jump(store); i++) {
		CK(cuMemsetD32Async(d, 1, 16, s));
		nanosleep(&nap, NULL);
	}
	EXPECT(insn_is_jump(store), "the store was not patched in 5 s");
	CK(cuMemFree_v2(d));
}

/* ---- the threads ---- */

static void *run(void *arg)
{
	static unsigned char large[LARGE];
	uint32_t expected = 0;
	CUfunction add;
	CUdeviceptr d;
	CUstream s;

	CK(cuCtxSetCurrent(context));
	add = app_kernel("softgpu_add");
	CK(cuMemAlloc_v2(&d, LARGE + 4096));
	CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CK(cuMemsetD32Async(d, 0, 4, s));
	for (long i = 0; i < rounds; i++) {
		app_add(add, d, (uint64_t)i, s);
		expected += (uint32_t)i;
		count();
		if (i % 5 == 0) {
			CK(cuMemsetD8Async(d + 4096, (unsigned char)i, 1024, s));
			count();
		}
		if (i % 50 == 0) {
			CK(cuMemcpyHtoDAsync_v2(d + 4096, large, 40000 + (size_t)i % 20000, s));
			count();
		}
		if (i % 100 == 99) {
			CK(cuStreamSynchronize(s));
		}
	}
	CK(cuStreamSynchronize(s));
	EXPECT(app_word(d) == expected, "%u launches made %u of %u", (unsigned)rounds, app_word(d),
	       expected);
	CK(cuStreamDestroy_v2(s));
	CK(cuMemFree_v2(d));
	return NULL;
}

static void map_counter(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	void *p = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, 4096))
		p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	EXPECT(p != MAP_FAILED, "%s", path);
	close(fd);
	counter = p;
}

int main(int argc, char **argv)
{
	const volatile uint8_t *store = NULL;
	pthread_t threads[64];
	long n = argc > 1 ? atol(argv[1]) : 4;

	rounds = argc > 2 ? atol(argv[2]) : 1000;
	if (argc > 3)
		map_counter(argv[3]);
	if (getenv("SUBMIT_PATCHED"))
		dl_iterate_phdr(find_store, &store);
	context = app_context(0);
	EXPECT(n > 0 && n <= 64, "threads");
	if (getenv("SUBMIT_PATCHED")) {
		EXPECT(store, "no doorbell store in libcuda");
		wait_for_patch(store, NULL);
	}
	for (long i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	puts("submit ok");
	return 0;
}
