/* SPDX-License-Identifier: MIT */
/* Resolves role, group, argument meanings and kinds of an entry point from their names. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/roles.h"

static const char *const group_names[] = {
	[NVS_CALL_GROUP_CAPTURE] = "capture", [NVS_CALL_GROUP_CONTEXT] = "context",
	[NVS_CALL_GROUP_COPY] = "copy",	      [NVS_CALL_GROUP_EVENT] = "event",
	[NVS_CALL_GROUP_GRAPH] = "graph",     [NVS_CALL_GROUP_GRAPH_LAUNCH] = "graph-launch",
	[NVS_CALL_GROUP_HOST] = "host",	      [NVS_CALL_GROUP_LAUNCH] = "launch",
	[NVS_CALL_GROUP_MEMORY] = "memory",   [NVS_CALL_GROUP_MEMSET] = "memset",
	[NVS_CALL_GROUP_MODULE] = "module",   [NVS_CALL_GROUP_RESOLVE] = "resolve",
	[NVS_CALL_GROUP_STREAM] = "stream",   [NVS_CALL_GROUP_SYNC] = "sync",
};

const char *nvs_call_group_name(enum nvs_call_group group)
{
	return (size_t)group < sizeof(group_names) / sizeof(*group_names) && group_names[group]
		       ? group_names[group]
		       : "";
}

static const char *const kind_names[] = {
	[NVS_KIND_SIGNED] = "i32",
	[NVS_KIND_POINTER] = "ptr",
	[NVS_KIND_DEVICE_POINTER] = "devptr",
	[NVS_KIND_STRING] = "str",
	[NVS_KIND_FUNCTION] = "function",
	[NVS_KIND_KERNEL] = "kernel",
	[NVS_KIND_MODULE] = "module",
	[NVS_KIND_LIBRARY] = "library",
	[NVS_KIND_STREAM] = "stream",
	[NVS_KIND_EVENT] = "event",
	[NVS_KIND_CONTEXT] = "context",
	[NVS_KIND_GRAPH] = "graph",
	[NVS_KIND_NODE] = "node",
	[NVS_KIND_EXEC] = "exec",
	[NVS_KIND_POOL] = "pool",
};

static const char *const arg_names[] = {
#define NAME(name) #name,
	NVS_ARG_NAMES(NAME)};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Returns COUNT if NAMES does not contain NAME. */
static size_t find_index(const char *const *names, size_t count, const char *name)
{
	size_t i = 0;

	while (i < count && (!names[i] || strcmp(names[i], name)))
		i++;
	return i;
}

enum nvs_call_group nvs_call_group_find(const char *name)
{
	size_t i = find_index(group_names, COUNT(group_names), name);

	return i < COUNT(group_names) ? (enum nvs_call_group)i : NVS_CALL_GROUP_OTHER;
}

static uint8_t find_kind(const char *name)
{
	size_t i = find_index(kind_names, COUNT(kind_names), name);

	if (i < COUNT(kind_names))
		return (uint8_t)i;
	return name[0] == 'u' ? NVS_KIND_UNSIGNED : NVS_KIND_OTHER;
}

size_t nvs_call_base_length(const char *name, bool *per_thread)
{
	size_t n = strlen(name), digits = 0;

	*per_thread = n > 5 && (!strcmp(name + n - 5, "_ptsz") || !strcmp(name + n - 5, "_ptds"));
	n -= *per_thread ? 5 : 0;
	while (digits < n && isdigit((unsigned char)name[n - digits - 1]))
		digits++;
	if (digits && n > digits + 2 && !strncmp(name + n - digits - 2, "_v", 2))
		n -= digits + 2;
	return n;
}

static int compare_names(const void *key, const void *item)
{
	return strcmp(key, ((const struct nvs_call_entry *)item)->name);
}

static const struct nvs_call_entry *find_entry(const char *name, size_t n)
{
	char base[64];

	if (n >= sizeof(base))
		return NULL;
	memcpy(base, name, n);
	base[n] = '\0';
	return bsearch(base, nvs_call_entries, nvs_call_nentries, sizeof(nvs_call_entries[0]),
		       compare_names);
}

static uint8_t find_arg(const struct nvs_call_api *api, const char *name)
{
	size_t i = find_index(api->arg, api->nargs, name);

	return i < api->nargs ? (uint8_t)(i + 1) : 0;
}

void nvs_call_api_resolve(struct nvs_call_api *api, const char *group)
{
	const struct nvs_call_entry *entry;
	size_t n = nvs_call_base_length(api->name, &api->per_thread), i;

	entry = find_entry(api->name, n);
	api->group = (uint8_t)nvs_call_group_find(group);
	for (i = 0; i < api->nargs; i++)
		api->kinds[i] = find_kind(api->kind[i]);
	for (i = 0; i < NVS_ARG_COUNT; i++)
		api->at[i] = find_arg(api, arg_names[i]);
	if (!entry)
		return;
	api->role = entry->role;
	for (i = 0; i < COUNT(entry->as) && entry->as[i].arg; i++)
		api->at[entry->as[i].meaning] = find_arg(api, entry->as[i].arg);
}
