/* SPDX-License-Identifier: MIT */
/*
 * Programs whose driver calls may bypass preloaded libraries:
 *   plugin FILE now|lazy N     a library with its own runtime, opened with RTLD_DEEPBIND
 *   handed FILE now|lazy N     the same, called through a pointer that its constructor has set
 *   driver FILE now|lazy N     libcuda is opened with RTLD_DEEPBIND; FILE, which is not, uses it
 *   threads FILE now|lazy N    the same from four threads
 *   hidden FILE now|lazy N     reads libcuda's symbol table and launches mostly through that
 *   replaced FILE now|lazy N   the same, with code that is later replaced by other code
 *   aside FILE now|lazy N      opens a device without passing the hooks, and loads libcuda
 *   namespace FILE now|lazy N  libcuda in its own namespace, where nothing is preloaded
 *   below FILE now|lazy N      bypasses nothing; with a preloaded library that serves dlsym
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/apps/api/bypass.h"

static int flags, launches;
static const char *file;

static void *open_as(const char *path, int more)
{
	void *handle = dlopen(path, flags | RTLD_LOCAL | more);

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return handle;
}

static int use_plugin(void)
{
	bypass_fn *work = (bypass_fn *)dlsym(open_as(file, RTLD_DEEPBIND), "bypass_plugin");

	return work(launches);
}

static int use_pointer(void)
{
	static bypass_fn *volatile work;
	char at[32];

	snprintf(at, sizeof(at), "%lx", (unsigned long)&work);
	setenv("BYPASS_AT", at, 1);
	open_as(file, RTLD_DEEPBIND);
	return work(launches);
}

static int use_driver(void)
{
	void *cuda = open_as("libcuda.so.1", RTLD_DEEPBIND);

	return ((__typeof__(&bypass_with))dlsym(open_as(file, 0), "bypass_with"))(cuda, launches);
}

static pthread_barrier_t ready;

static void *work_beside(void *arg)
{
	pthread_barrier_wait(&ready);
	return use_driver() ? arg : NULL;
}

static int use_threads(void)
{
	pthread_t threads[4];
	int failed = 0;

	pthread_barrier_init(&ready, NULL, 4);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work_beside, &ready);
	for (int i = 0; i < 4; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		failed |= wrong != NULL;
	}
	launches *= 4;
	return failed;
}

static int use_hidden(void)
{
	void *cuda = open_as("libcuda.so.1", 0);

	launches += 3;
	return ((__typeof__(&bypass_hidden))dlsym(open_as(file, 0), "bypass_hidden"))(cuda,
										      launches - 3);
}

static int use_replaced(void)
{
	void *cuda = open_as("libcuda.so.1", 0);
	int hidden = launches;

	launches = 2;
	return ((__typeof__(&bypass_replaced))dlsym(open_as(file, 0), "bypass_replaced"))(cuda,
											  hidden);
}

static int use_namespace(void)
{
	void *cuda = dlmopen(LM_ID_NEWLM, "libcuda.so.1", flags | RTLD_LOCAL);

	return ((__typeof__(&bypass_with))dlsym(open_as(file, 0), "bypass_with"))(cuda, launches);
}

typedef int open_fn(const char *path, int flags, ...);

static int use_aside(void)
{
	void *gpu = dlopen("libsoftgpu.so", RTLD_NOW | RTLD_NOLOAD);
	open_fn *open_device = (open_fn *)dlsym(gpu ? gpu : RTLD_NEXT, "open");

	open_as("libcuda.so.1", 0);
	return open_device("/dev/nvidiactl", O_RDWR | O_CLOEXEC) < 0;
}

static int use_below(void)
{
	return ((bypass_fn *)dlsym(open_as(file, 0), "bypass_plugin"))(launches);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*use)(void);
	} ways[] = {
		{"plugin", use_plugin},	  {"handed", use_pointer},	{"driver", use_driver},
		{"threads", use_threads}, {"hidden", use_hidden},	{"replaced", use_replaced},
		{"aside", use_aside},	  {"namespace", use_namespace}, {"below", use_below}};

	if (argc != 5)
		return 2;
	file = argv[2];
	flags = strcmp(argv[3], "lazy") ? RTLD_NOW : RTLD_LAZY;
	launches = atoi(argv[4]);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(ways[i].name, argv[1]) != 0)
			continue;
		if (ways[i].use())
			return 1;
		printf("kernel softgpu_add %d\n", launches);
		return 0;
	}
	return 2;
}
