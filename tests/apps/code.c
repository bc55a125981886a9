/* SPDX-License-Identifier: MIT */
/*
 * code OLD.cubin NEW.cubin KERNEL [junk|stay]: loads code in every way and launches KERNEL from
 * each: as a library before there is a context, from memory and files, from a fatbin, from the
 * linker, and again from two threads. The fatbin has OLD, NEW and PTX. junk: also loads code that
 * is rejected. stay: waits to be killed.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "app.h"

struct file {
	char *data;
	size_t bytes;
};

struct entry {
	uint16_t kind, version;
	uint32_t head, low, high, unused[3], arch, more[8];
};

static struct file read_file(const char *path)
{
	struct file f = {NULL, 0};
	FILE *in = fopen(path, "rb");

	if (!in || fseek(in, 0, SEEK_END)) {
		perror(path);
		exit(1);
	}
	f.bytes = (size_t)ftell(in);
	rewind(in);
	f.data = malloc(f.bytes);
	if (fread(f.data, 1, f.bytes, in) != f.bytes)
		exit(1);
	fclose(in);
	return f;
}

static char *put(char *at, uint16_t kind, uint32_t arch, const void *data, size_t bytes)
{
	size_t padded = (bytes + 7) & ~7ul;
	struct entry e = {.kind = kind, .version = 0x101, .head = 64, .arch = arch};

	e.low = (uint32_t)padded;
	memcpy(at, &e, sizeof(e));
	memcpy(at + 64, data, bytes);
	return at + 64 + padded;
}

static const uint64_t *make_fatbin(const struct file *old, const struct file *new)
{
	static struct {
		uint32_t magic, version;
		const void *fatbin;
		void *unused;
	} wrapper = {0x466243b1, 1, NULL, NULL};
	char *fatbin = calloc(1, old->bytes + new->bytes + sizeof(app_ptx) + 512), *at;
	uint64_t head[2] = {0x0010000100000000ull | 0xba55ed50u, 0};

	at = put(fatbin + 16, 2, 75, old->data, old->bytes);
	at = put(at, 2, 90, new->data, new->bytes);
	at = put(at, 1, 70, app_ptx, sizeof(app_ptx));
	head[1] = (uint64_t)(at - fatbin) - 16;
	memcpy(fatbin, head, sizeof(head));
	wrapper.fatbin = fatbin;
	return (const void *)&wrapper;
}

static void launch(CUfunction f)
{
	static uint64_t memory[64];
	void *params[16];

	for (int i = 0; i < 16; i++)
		params[i] = memory;
	CK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
}

static CUcontext context;
static struct file old, new;
static const char *kernel;

static void from_module(CUmodule m)
{
	CUfunction f;

	CK(cuModuleGetFunction(&f, m, kernel));
	launch(f);
}

static void *again(void *unused)
{
	CUmodule m;

	CK(cuCtxSetCurrent(context));
	for (int i = 0; i < 8; i++) {
		CK(cuModuleLoadData(&m, new.data));
		from_module(m);
	}
	return unused;
}

static void from_linker(void)
{
	CUlinkState state;
	CUmodule m;
	void *cubin;
	size_t bytes;

	CK(cuLinkCreate_v2(0, NULL, NULL, &state));
	CK(cuLinkAddData_v2(state, 0, old.data, old.bytes, "old", 0, NULL, NULL));
	CK(cuLinkComplete(state, &cubin, &bytes));
	CK(cuModuleLoadData(&m, cubin));
	CK(cuLinkDestroy(state));
	from_module(m);
}

int main(int argc, char **argv)
{
	CUlibrary early, late;
	CUkernel k;
	CUmodule m;
	pthread_t thread[2];

	if (argc < 4)
		return 2;
	old = read_file(argv[1]);
	new = read_file(argv[2]);
	kernel = argv[3];
	CK(cuInit(0));
	CK(cuLibraryLoadData(&early, new.data, NULL, NULL, 0, NULL, NULL, 0));
	memset(new.data, 0, new.bytes);
	new = read_file(argv[2]);
	context = app_context(0);
	CK(cuLibraryGetKernel(&k, early, kernel));
	launch((CUfunction)k);
	CK(cuModuleLoad(&m, argv[1]));
	from_module(m);
	CK(cuLibraryLoadFromFile(&late, argv[2], NULL, NULL, 0, NULL, NULL, 0));
	CK(cuModuleLoadFatBinary(&m, make_fatbin(&old, &new)));
	from_module(m);
	CK(cuModuleLoadData(&m, app_ptx));
	from_linker();
	if (argc > 4 && !strcmp(argv[4], "junk") && !cuModuleLoadData(&m, "junk"))
		return 1;
	pthread_create(&thread[0], NULL, again, NULL);
	pthread_create(&thread[1], NULL, again, NULL);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	CK(cuLibraryUnload(early));
	CK(cuCtxSynchronize());
	puts("code ok");
	fflush(stdout);
	while (argc > 4 && !strcmp(argv[4], "stay"))
		pause();
	return 0;
}
