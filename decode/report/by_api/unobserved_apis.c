/* SPDX-License-Identifier: MIT */
/* --by-api -v: entry points that the program looked up but whose calls are not recorded. */
#include <errno.h>
#include "decode/base/hash.h"
#include "decode/calls/calls.h"
#include "decode/calls/roles.h"
#include "decode/report/by_api/by_api.h"
#include "decode/report/core/report.h"

struct passed {
	const char *name;
	UT_hash_handle hh;
};

static int compare_names(const struct passed *a, const struct passed *b)
{
	return strcmp(a->name, b->name);
}

static int collect_names(const struct nvs_source *s, struct passed **all)
{
	const struct nvs_call_api *api;

	for (uint32_t at = 0; (api = nvs_calls_next_unobserved(nvs_pass_calls(s->first), &at));) {
		struct passed *p;

		HASH_FIND(hh, *all, api->name, strlen(api->name), p);
		if (p)
			continue;
		p = calloc(1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		p->name = api->name;
		HASH_ADD_KEYPTR(hh, *all, p->name, strlen(p->name), p);
		if (!p->hh.tbl) {
			free(p);
			return -ENOMEM;
		}
	}
	return 0;
}

int nvs_print_unobserved_apis(struct nvs_run *run)
{
	struct nvs_out *out = run->out;
	struct passed *all = NULL, *p, *next;
	unsigned count;
	int r = 0;

	if (!run->options->verbose)
		return 0;
	for (uint32_t i = 0; i < run->n && !r; i++)
		r = collect_names(run->sources + i, &all);
	HASH_SORT(all, compare_names);
	count = HASH_COUNT(all);
	if (!r && count)
		fprintf(out->file,
			"%sThe program looked up %u more entry point%s whose calls are not "
			"recorded. It may not have\ncalled %s; submissions made by such calls are "
			"listed above by their stack.%s\n",
			nvs_out_style(out, NVS_STYLE_DIM), count, count == 1 ? "" : "s",
			count == 1 ? "it" : "them", nvs_out_style(out, NVS_STYLE_PLAIN));
	HASH_ITER(hh, all, p, next) {
		if (!r) {
			fputs("  ", out->file);
			nvs_out_text(out, p->name);
			fputc('\n', out->file);
		}
		HASH_DEL(all, p);
		free(p);
	}
	return r;
}
