/* SPDX-License-Identifier: MIT */
/* What reports call an entry point, and C++ names as they were written. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "decode/report/report.h"

const char *nvs_api_name(const struct nvs_callsite *site, const struct nvs_call_api *api)
{
	return site->is_public || !api || !*api->name ? site->api : api->name;
}

const char *nvs_source_api(const struct nvs_source *s, const struct nvs_submission *sub,
			   const struct nvs_call *call)
{
	return nvs_api_name(nvs_trace_callsite(s->trace, sub->rec->stack), call ? call->api : NULL);
}

const char *nvs_call_name(const struct nvs_call_api *api)
{
	return *api->name ? api->name : "[unknown]";
}

typedef char *(*demangle_fn)(const char *, char *, size_t *, int *);

/* The C++ library knows how; where it is not there, names stay as they are. */
static demangle_fn find_demangle(void)
{
	static bool looked;
	static demangle_fn fn;
	void *library, *symbol;

	if (looked)
		return fn;
	looked = true;
	library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
	if (symbol)
		memcpy(&fn, &symbol, sizeof(fn));
	return fn;
}

char *nvs_demangle(const char *name)
{
	demangle_fn fn = !strncmp(name, "_Z", 2) ? find_demangle() : NULL;
	int status = 0;
	char *text = fn ? fn(name, NULL, NULL, &status) : NULL;

	return text ? text : strdup(name);
}
