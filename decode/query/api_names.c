/* SPDX-License-Identifier: MIT */
/* Names of entry points as reports print them, and demangled C++ names. */
#include "decode/calls/roles.h"
#include "decode/query/api_names.h"
#include "decode/trace/helper.h"

const char *nvs_api_name(const struct nvs_callsite *site, const struct nvs_call_api *api)
{
	return site->is_public || !api || !*api->name ? site->api : api->name;
}

const char *nvs_source_api(const struct nvs_source *s, const struct nvs_submission *sub,
			   const struct nvs_call *call)
{
	return nvs_submission_api(s->trace, sub, call);
}

const char *nvs_call_name(const struct nvs_call_api *api)
{
	return *api->name ? api->name : "[unknown]";
}

char *nvs_demangle(const char *name)
{
	char *text = nvs_helper_name(name);

	return text ? text : strdup(name);
}
