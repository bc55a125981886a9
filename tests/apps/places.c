/* SPDX-License-Identifier: MIT */
/*
 * places CASE FOLDER: submits from places with difficult stacks.
 *   replug    two libraries in turn, at the same address if the loader allows
 *   late      from a library that is loaded immediately before the end
 *   jit       from code that was generated at run time and has no unwind tables
 *   perfmap   the same, listed in perf's map file; the name that was written last counts
 *   tiny      from threads with the minimum stack, and on alternate stacks of that size
 *   stripped  from plain functions; FOLDER's copy of this program has no symbols
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "app.h"
#include "tests/apps/plugins/plug.h"
#include "tests/softgpu/softgpu.h"

#define ROUNDS 30
#define EACH 4

static CUdeviceptr memory;

/* Loads FOLDER/NAME.so, has it submit, and unloads it unless it is to STAY; where its function was.
 */
static void *plug(const char *folder, const char *name, bool stay)
{
	char path[PATH_MAX];
	plug_fn fn;
	void *handle, *at;

	snprintf(path, sizeof(path), "%s/%s.so", folder, name);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	EXPECT(handle, "%s", dlerror());
	at = dlsym(handle, name);
	memcpy(&fn, &at, sizeof(fn));
	EXPECT(fn && !fn(memory, EACH), "%s", name);
	if (!stay)
		dlclose(handle);
	return at;
}

static void replug(const char *folder)
{
	void *first = NULL;
	int same = 0;

	for (int i = 0; i < ROUNDS; i++) {
		void *a = plug(folder, "plug_apple", false), *b = plug(folder, "plug_peach", false);

		first = first ? first : a;
		same += a == b && a == first;
	}
	printf("replug: %d rounds, %s\n", ROUNDS,
	       same > ROUNDS / 2 ? "at one address" : "at many addresses");
}

static void tell_perf(const void *page, size_t size)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	EXPECT(map, "cannot write %s", path);
	fprintf(map, "%lx 1000 piece of before\n%lx %zx py::piece:/a place/made.py\n",
		(unsigned long)page, (unsigned long)page, size);
	fprintf(map, "no piece at all\n%lx %zx piece behind it\n", (unsigned long)page + 4096,
		size);
	fclose(map);
	printf("%s\n", path);
}

/* A function without tables that calls another: no frame pointer, an odd frame, RBP given to
 * something else. */
static void jit(bool mapped)
{
	static const unsigned char code[] = {
		0x55, /* push %rbp */
		0x53, /* push %rbx */
		0x48, 0x83, 0xec, 0x18, /* sub $24, %rsp */
		0x48, 0xc7, 0xc5, 0x11, 0x22, 0x33, 0x44, /* mov $0x44332211, %rbp */
		0x48, 0x89, 0xf0, /* mov %rsi, %rax */
		0xff, 0xd0, /* call *%rax */
		0x48, 0x83, 0xc4, 0x18, /* add $24, %rsp */
		0x5b, 0x5d, 0xc3, /* pop %rbx; pop %rbp; ret */
	};
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*fn)(void *, void *);
	uint32_t n = 0;

	EXPECT(page != MAP_FAILED, "no executable memory");
	memcpy(page, code, sizeof(code));
	memcpy(&fn, &page, sizeof(fn));
	if (mapped)
		tell_perf(page, sizeof(code));
	for (int i = 0; i < 200; i++)
		fn(NULL, (void *)cuCtxSynchronize);
	for (int i = 0; i < 200; i++) {
		/* The driver's function has the channel as its first argument. */
		struct softgpu_channel *ch = softgpu_channel_at(0);

		fn(ch, (void *)softgpu_submit_count);
		n++;
	}
	printf("jit: %u\n", n);
}

static void submit_some(void)
{
	struct softgpu_channel *ch = softgpu_channel_at(0);

	for (int i = 0; i < 50; i++)
		softgpu_submit_count(ch);
}

static void on_alternate(int sig)
{
	submit_some();
}

static void *tiny_thread(void *arg)
{
	cuCtxSetCurrent(arg);
	/* Its stack is taken when it is over, above all that a call needs. */
	cuCtxSynchronize();
	submit_some();
	return NULL;
}

/* Each stack ends at pages that nobody may touch. */
static void *guarded(size_t size)
{
	char *p = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(p != MAP_FAILED && !mprotect(p + 4096, size, PROT_READ | PROT_WRITE), "no memory");
	return p + 4096;
}

static void tiny(CUcontext ctx)
{
	/* As the C library counts it for this processor's state, and not less. */
	size_t size = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	stack_t stack = {.ss_size = (size_t)sysconf(_SC_SIGSTKSZ)};
	struct sigaction a = {.sa_handler = on_alternate, .sa_flags = SA_ONSTACK};
	pthread_attr_t attr;
	pthread_t t;

	size = (size + 4095) & ~4095ul;
	for (int i = 0; i < 20; i++) {
		pthread_attr_init(&attr);
		EXPECT(!pthread_attr_setstack(&attr, guarded(size), size), "stack of %zu", size);
		EXPECT(!pthread_create(&t, &attr, tiny_thread, ctx), "thread");
		pthread_join(t, NULL);
	}
	stack.ss_size = (stack.ss_size + 4095) & ~4095ul;
	stack.ss_sp = guarded(stack.ss_size);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &a, NULL);
	for (int i = 0; i < 20; i++)
		raise(SIGUSR1);
	puts("tiny: all of them");
}

int main(int argc, char **argv)
{
	CUcontext ctx = app_context(0);

	EXPECT(argc == 3, "usage: places CASE FOLDER");
	CK(cuMemAlloc_v2(&memory, 4096));
	if (!strcmp(argv[1], "replug"))
		replug(argv[2]);
	else if (!strcmp(argv[1], "late"))
		plug(argv[2], "plug_apple", true);
	else if (!strcmp(argv[1], "jit") || !strcmp(argv[1], "perfmap"))
		jit(!strcmp(argv[1], "perfmap"));
	else if (!strcmp(argv[1], "tiny"))
		tiny(ctx);
	else
		submit_some();
	CK(cuCtxSynchronize());
	puts("places ok");
	return 0;
}
