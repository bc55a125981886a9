/* SPDX-License-Identifier: MIT */
/*
 * A copy of NVTX, as in a program or libnvToolsExt: at the first call it loads the library that
 * NVTX_INJECTION64_PATH names and passes it two tables of functions, which the tool fills. Written
 * from NVTX 3's public headers.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include "nvtx.h"

typedef void (*function)(void);

enum { CORE = 1, CORE2 = 5, CORE_SIZE = 16, CORE2_SIZE = 16 };

/* By number; the tool is shown a pointer to each. */
static function core[CORE_SIZE], core2[CORE2_SIZE];
static function *core_table[CORE_SIZE + 1], *core2_table[CORE2_SIZE + 1];

static int get_functions(int module, function ***table, unsigned *entries)
{
	if (module != CORE && module != CORE2)
		return 0;
	*table = module == CORE ? core_table : core2_table;
	*entries = module == CORE ? CORE_SIZE : CORE2_SIZE;
	return 1;
}

static const void *get_table(uint32_t id)
{
	static const struct {
		size_t size;
		int (*get_functions)(int, function ***, unsigned *);
	} callbacks = {sizeof(callbacks), get_functions};

	return id == 1 ? &callbacks : NULL;
}

static void init(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*attach)(const void *(*)(uint32_t)) = NULL;

	for (int i = 1; i < CORE_SIZE; i++)
		core_table[i] = &core[i];
	for (int i = 1; i < CORE2_SIZE; i++)
		core2_table[i] = &core2[i];
	if (tool)
		*(void **)&attach = dlsym(tool, "InitializeInjectionNvtx2");
	if (tool && (!attach || !attach(get_table)))
		dlclose(tool);
}

static function get(function *table, int number)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init);
	return table[number];
}

/* What a function without a tool returns is what NVTX's does. */
#define VOID(name, table, number, types, args)                       \
	void name types                                              \
	{                                                            \
		void(*fn) types = (void(*) types)get(table, number); \
		if (fn)                                              \
			fn args;                                     \
	}
#define VALUE(type, none, name, table, number, types, args)          \
	type name types                                              \
	{                                                            \
		type(*fn) types = (type(*) types)get(table, number); \
		return fn ? fn args : none;                          \
	}

VOID(nvtxMarkEx, core, 1, (const nvtxEventAttributes_t *e), (e))
VOID(nvtxMarkA, core, 2, (const char *s), (s))
VOID(nvtxMarkW, core, 3, (const wchar_t *s), (s))
VALUE(nvtxRangeId_t, 0, nvtxRangeStartEx, core, 4, (const nvtxEventAttributes_t *e), (e))
VALUE(nvtxRangeId_t, 0, nvtxRangeStartA, core, 5, (const char *s), (s))
VALUE(nvtxRangeId_t, 0, nvtxRangeStartW, core, 6, (const wchar_t *s), (s))
VOID(nvtxRangeEnd, core, 7, (nvtxRangeId_t id), (id))
VALUE(int, -2, nvtxRangePushEx, core, 8, (const nvtxEventAttributes_t *e), (e))
VALUE(int, -2, nvtxRangePushA, core, 9, (const char *s), (s))
VALUE(int, -2, nvtxRangePushW, core, 10, (const wchar_t *s), (s))
VALUE(int, -2, nvtxRangePop, core, 11, (void), ())
VOID(nvtxNameCategoryA, core, 12, (uint32_t category, const char *s), (category, s))
VOID(nvtxDomainMarkEx, core2, 1, (nvtxDomainHandle_t d, const nvtxEventAttributes_t *e), (d, e))
VALUE(nvtxRangeId_t, 0, nvtxDomainRangeStartEx, core2, 2,
      (nvtxDomainHandle_t d, const nvtxEventAttributes_t *e), (d, e))
VOID(nvtxDomainRangeEnd, core2, 3, (nvtxDomainHandle_t d, nvtxRangeId_t id), (d, id))
VALUE(int, -2, nvtxDomainRangePushEx, core2, 4,
      (nvtxDomainHandle_t d, const nvtxEventAttributes_t *e), (d, e))
VALUE(int, -2, nvtxDomainRangePop, core2, 5, (nvtxDomainHandle_t d), (d))
VOID(nvtxDomainNameCategoryA, core2, 8, (nvtxDomainHandle_t d, uint32_t category, const char *s),
     (d, category, s))
VALUE(nvtxStringHandle_t, NULL, nvtxDomainRegisterStringA, core2, 10,
      (nvtxDomainHandle_t d, const char *s), (d, s))
VALUE(nvtxStringHandle_t, NULL, nvtxDomainRegisterStringW, core2, 11,
      (nvtxDomainHandle_t d, const wchar_t *s), (d, s))
VALUE(nvtxDomainHandle_t, NULL, nvtxDomainCreateA, core2, 12, (const char *s), (s))
VALUE(nvtxDomainHandle_t, NULL, nvtxDomainCreateW, core2, 13, (const wchar_t *s), (s))
