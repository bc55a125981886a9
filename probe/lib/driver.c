/* SPDX-License-Identifier: MIT */
/* Loads the CUDA driver at run time. */
#include "probe/lib/driver.h"
#include <dlfcn.h>
#include "probe/probe.h"

struct probe_driver cu;

static void *find_symbol(void *lib, const char *name, bool must)
{
	void *p = dlsym(lib, name);

	if (!p && must)
		probe_die("libcuda.so.1 has no %s: the driver is too old", name);
	return p;
}

void probe_driver_load(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib)
		probe_die("cannot load the CUDA driver: %s", dlerror());
#define MUST(name, parameters) cu.name = (int(*) parameters)find_symbol(lib, #name, true);
#define MAY(name, parameters) cu.name = (int(*) parameters)find_symbol(lib, #name, false);
	PROBE_ENTRIES(MUST, MAY)
}

const char *probe_error_name(int error)
{
	const char *name = NULL;

	if (!cu.cuGetErrorName || cu.cuGetErrorName(error, &name) || !name)
		return "unknown error";
	return name;
}
