/* SPDX-License-Identifier: MIT */
/* LINK: preload/rm/abi.o preload/rm/abi_table.o */
/* LINK: preload/base/arena.o preload/base/state.o preload/rm/spans.o */
/* LINK: preload/rm/rm_state.o preload/rm/object_identity.o preload/rm/files.o */
/* LINK: preload/rm/hooked_call.o */
/* LINK: preload/rm/objects.o preload/rm/mappings.o preload/rm/doorbells.o preload/rm/rmmaps.o */
/* LINK: preload/rm/gpumaps.o preload/rm/segments.o preload/rm/channels.o */
/* LINK: preload/rm/faults.o preload/rm/publish.o */
/* LINK: preload/rm/forms.o */
/* LINK: preload/rm/records.o preload/rm/fdkind.o preload/rm/ioctls.o preload/rm/uvm.o */
/* LINK: preload/rm/replay.o preload/rm/mapscheck.o */
/* File descriptors, the filter before the lock, the arena, the lock itself, and the tables by
 * driver release. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include "preload/base/state.h"
#include "rm_fake.h"

#define A 0xc1000001u

static void test_kinds(void)
{
	open_device(20, "/dev/nvidiactl", DEV_CTL);
	open_device(21, "/dev/nvidia3", DEV_GPU(3));
	open_device(22, "/dev/nvidia-modeset", makedev(195, 254));
	open_device(23, "/dev/nvidia-uvm", DEV_UVM);
	CHECK_EQ(nvs_fd_kind(20), NVS_FD_CTL);
	CHECK_EQ(nvs_fd_kind(21), NVS_FD_GPU);
	CHECK_EQ(nvs_fd_kind(22), NVS_FD_MODESET);
	CHECK_EQ(nvs_fd_kind(23), NVS_FD_UVM);
	CHECK_EQ(nvs_fd_kind(24), NVS_FD_OTHER);
	CHECK_EQ(nvs_fd_kind(-1), NVS_FD_OTHER);
	CHECK(nvs_fd_kind(99999) < NVS_FD_CTL);
	/* nvidia-uvm-tools is not UVM. */
	fd_device[24] = makedev(510, 1);
	CHECK_EQ(nvs_fd_kind(24), NVS_FD_OTHER);
	fd_device[24] = 0;

	/* Came by another way than open, under a number that was something else: SCM_RIGHTS after
	 * fclose. */
	CHECK_EQ(nvs_fd_kind_for(50, 0x5401), NVS_FD_OTHER);
	fd_device[50] = DEV_CTL;
	CHECK_EQ(nvs_fd_kind_for(50, 0xc020462a), NVS_FD_CTL);
	/* Another file's by now, which refuses what is the RM's alone; all else asks the kernel. */
	fd_device[50] = 0;
	CHECK_EQ(nvs_fd_kind_for(50, 0xc020462a), NVS_FD_CTL);
	CHECK_EQ(nvs_fd_kind_for(50, 0x462a), NVS_FD_OTHER); /* of no size */
	fd_device[50] = DEV_CTL;
	CHECK_EQ(nvs_fd_kind_for(50, 0xc020462a), NVS_FD_CTL);
	fd_device[50] = 0;
	CHECK_EQ(nvs_fd_kind_for(50, 0x5401), NVS_FD_OTHER);
	CHECK_EQ(nvs_fd_kind_for(50, 0xc020462a), NVS_FD_OTHER);
	fd_device[51] = 0;
	CHECK_EQ(nvs_fd_kind_for(51, 0x5401), NVS_FD_OTHER);
	fd_device[51] = DEV_UVM;
	CHECK_EQ(nvs_fd_kind_for(51, 0x30000001), NVS_FD_UVM);
	CHECK_EQ(nvs_fd_kind_for(51, 33), NVS_FD_UVM);
	fd_device[51] = 0;
	CHECK_EQ(nvs_fd_kind_for(51, 2), NVS_FD_OTHER); /* FIGETBSZ, of any file */
	/* Beyond the table the kernel is asked each time. */
	CHECK(!nvs_fd_tracked(70000));
}

/* Arguments may lie across two pages, and their second one may be gone. */
static void test_peek(void)
{
	uint8_t *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t to[32];

	CHECK(two != MAP_FAILED);
	memset(two, 7, 8192);
	CHECK(nvs_copy_program(to, two + 4096 - 16, sizeof(to)) && to[31] == 7);
	munmap(two + 4096, 4096);
	CHECK(!nvs_copy_program(to, two + 4096 - 31, sizeof(to)));
	CHECK(nvs_copy_program(to, two + 4096 - 32, sizeof(to)));
	munmap(two, 4096);
	CHECK(!nvs_copy_program(to, two, sizeof(to)));
	CHECK(!nvs_copy_program(to, NULL, sizeof(to)));
}

static void test_contexts(void)
{
	struct nvs_driver_object *o;
	struct nvs_rm_map *map;

	make_client(A, 0);
	rm_alloc(A, 2, 20, 0x0040, NULL);
	o = nvs_object_find(A, 20);
	open_device(60, "/dev/nvidia0", DEV_GPU(0));
	fd_device[61] = fd_device[62] = DEV_GPU(0);
	nvs_fd_duped(60, 61); /* before the context is there, as after it */
	rm_map(A, 20, 0, 0x1000, 0, 60);
	nvs_fd_duped(61, 62);
	map = nvs_fd_map(60);
	CHECK(map && map->object == o);
	CHECK(nvs_fd_map(61) == map && nvs_fd_map(62) == map);
	CHECK_EQ(nvs_fd_file(60), nvs_fd_file(62));
	close_device(60);
	close_device(61);
	CHECK(nvs_fd_map(60) == NULL && nvs_fd_map(62) == map);
	/* The context outlives the object, and shows nothing then. */
	rm_free(A, 20);
	CHECK(nvs_fd_map(62) == map && map->object == NULL);
	next_mmap = 0x7a0000000000;
	nvs_maps_mmap(NULL, 0x1000, PROT_READ, MAP_SHARED, 62, 0, true);
	CHECK_EQ(nvs_rm()->cpu.n, 0);
	/* A number used again is somebody else. */
	open_device(62, "/dev/nvidia0", DEV_GPU(0));
	CHECK(nvs_fd_map(62) == NULL);
	rm_alloc(A, 2, 21, 0x0040, NULL);
	rm_map(A, 21, 0, 0x1000, 0, 62);
	nvs_fd_duped(24, 62); /* something that is no device, by dup2 */
	CHECK(nvs_fd_map(62) == NULL && !nvs_fd_tracked(62));
	nvs_fd_closing_range(0, ~0u);
	CHECK(nvs_fd_map(ctl) == NULL && !nvs_fd_tracked(ctl));
	CHECK(nvs_object_find(A, A) == NULL);
	fd_device[ctl] = fd_device[uvm] = 0;
}

static void test_filter(void)
{
	unsigned hits = 0;

	make_client(A, 0);
	CHECK(!nvs_maps_may_overlap(0x7a0000000000, 0x1000));
	rm_alloc(A, 2, 20, 0x003e, NULL);
	map_memory(A, 20, 0x3800000, 0, DEV_CTL, 0x7a0000000000, PROT_READ);
	CHECK(nvs_maps_may_overlap(0x7a0000000000, 1));
	CHECK(nvs_maps_may_overlap(0x7a00037ff000, 0x1000));
	CHECK(nvs_maps_may_overlap(0x79fffffff000, 0x2000));
	CHECK(nvs_maps_may_overlap(0, 0x7fffffffffff)); /* too large to look at */
	CHECK(!nvs_maps_may_overlap(0x7a0000000000, 0));
	for (uint64_t i = 0; i < 1000; i++)
		hits += nvs_maps_may_overlap(0x550000000000 + (i << 21), 4096);
	CHECK(hits < 50); /* few others share a slot with its 28 regions */
	nvs_maps_munmap((void *)0x7a0000000000, 0x3800000);
	CHECK(!nvs_maps_may_overlap(0x7a0000000000, 0x3800000));
	/* Terabytes: not counted by region. */
	map_memory(A, 20, 1ull << 40, 0, DEV_CTL, 0x100000000000, PROT_READ);
	CHECK(nvs_maps_may_overlap(0x7a0000000000, 0x1000));
	rm_free(A, 20);
	CHECK(!nvs_maps_may_overlap(0x7a0000000000, 0x1000));
}

static void test_arena(void)
{
	enum { N = 3000 };
	static void *p[N];
	static size_t size[N];
	uint32_t seed = 12345;
	unsigned bad = 0;

	printf("seed %u\n", seed);
	for (unsigned round = 0; round < 40000; round++) {
		unsigned i = (seed = seed * 1664525 + 1013904223) >> 8;
		unsigned k = i % N;
		size_t want = (i >> 3) % (round % 64 ? 700 : 200000) + 1;

		if (p[k]) {
			for (size_t b = 0; b < size[k]; b += size[k] / 7 + 1)
				bad += ((uint8_t *)p[k])[b] != (uint8_t)k;
			if (i & 0x10000) {
				p[k] = nvs_realloc(p[k], size[k], want);
				for (size_t b = size[k]; b < want; b++)
					bad += ((uint8_t *)p[k])[b] != 0;
			} else {
				nvs_free(p[k], size[k]);
				p[k] = nvs_alloc(want);
				for (size_t b = 0; b < want; b++)
					bad += ((uint8_t *)p[k])[b] != 0;
			}
		} else {
			p[k] = nvs_alloc(want);
		}
		bad += (uintptr_t)p[k] % 8 != 0;
		size[k] = want;
		memset(p[k], (int)k, want);
	}
	CHECK_EQ(bad, 0);
	for (unsigned k = 0; k < N; k++)
		nvs_free(p[k], size[k]);
}

/* A child finds the library as if it had just been loaded, whatever its parent was doing. */
static void test_fork(void)
{
	int status = 1;
	sigset_t saved;
	pid_t pid;

	make_client(A, 0);
	CHECK(nvs_object_find(A, A) != NULL);
	nvs_lock(&saved);
	nvs_unlock(&saved);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		bool ok = *nvs_slot(NVS_SLOT_RM) == NULL && *nvs_slot(NVS_SLOT_FD) == NULL;

		ok = ok && nvs_object_find(A, A) == NULL && nvs_alloc(100) != NULL;
		nvs_lock(&saved);
		nvs_unlock(&saved);
		_exit(ok ? 0 : 7);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	CHECK(nvs_object_find(A, A) != NULL);
}

/* A vfork() child closes what it likes: the fds are its own, the memory is ours. */
static void test_vfork(void)
{
	int status = 1;
	pid_t pid;

	CHECK(nvs_fd_tracked(ctl) && nvs_object_find(A, A));
	pid = vfork();
	if (!pid) {
		nvs_fd_closing_range(3, ~0u);
		nvs_fd_closing(ctl);
		nvs_fd_duped(0, uvm);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	CHECK(nvs_fd_tracked(ctl) && nvs_fd_tracked(uvm));
	CHECK(nvs_object_find(A, A) != NULL);
}

static int shared_counter;

static void *count_up(void *arg)
{
	for (int i = 0; i < 50000; i++) {
		sigset_t saved, inner;

		nvs_lock(&saved);
		nvs_lock(&inner);
		shared_counter++;
		nvs_unlock(&inner);
		nvs_unlock(&saved);
	}
	return NULL;
}

static volatile sig_atomic_t handled;

static void on_signal(int sig)
{
	sigset_t saved;

	handled = nvs_lock_is_mine() ? 2 : 1;
	nvs_lock(&saved);
	nvs_unlock(&saved);
}

static void test_lock(void)
{
	pthread_t t[4];
	sigset_t saved;

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, count_up, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(shared_counter, 200000);
	/* A signal comes when the lock has been given back, not before. */
	signal(SIGUSR1, on_signal);
	nvs_lock(&saved);
	raise(SIGUSR1);
	CHECK_EQ(handled, 0);
	errno = 77;
	nvs_unlock(&saved);
	CHECK_EQ(handled, 1);
	CHECK_EQ(errno, 77);
	CHECK(!nvs_lock_is_mine());
}

int main(void)
{
	test_kinds();
	test_peek();
	test_contexts();
	test_filter();
	test_arena();
	test_lock();
	test_fork();
	test_vfork();
	return finish();
}
