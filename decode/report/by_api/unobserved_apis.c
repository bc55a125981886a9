/* SPDX-License-Identifier: MIT */
/* --by-api -v: entry points that the program looked up but whose calls are not recorded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/grow.h"
#include "decode/calls/calls.h"
#include "decode/calls/roles.h"
#include "decode/report/by_api/by_api.h"
#include "decode/report/core/report.h"

struct unobserved {
	const char **list;
	uint32_t n, room;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int collect_names(const struct nvs_source *s, struct unobserved *names)
{
	const struct nvs_call_api *api;

	for (uint32_t at = 0; (api = nvs_calls_next_unobserved(nvs_pass_calls(s->first), &at));) {
		const char **name = NVS_APPEND(names->list, names->n, names->room, 64,
					       UINT32_MAX / 2);

		if (!name)
			return -ENOMEM;
		*name = api->name;
	}
	return 0;
}

int nvs_print_unobserved_apis(struct nvs_run *run)
{
	struct nvs_out *out = run->out;
	struct unobserved all = {NULL};
	uint32_t count = 0;
	int r = 0;

	if (!run->options->verbose)
		return 0;
	for (uint32_t i = 0; i < run->n && !r; i++)
		r = collect_names(run->sources + i, &all);
	if (all.n)
		qsort(all.list, all.n, sizeof(*all.list), compare_names);
	/* Several traces may have the same name. */
	for (uint32_t i = 0; i < all.n; i++)
		if (!count || strcmp(all.list[i], all.list[count - 1]))
			all.list[count++] = all.list[i];
	if (!r && count)
		fprintf(out->file,
			"%sThe program looked up %u more entry point%s whose calls are not "
			"recorded. It may not have\ncalled %s; submissions made by such calls are "
			"listed above by their stack.%s\n",
			nvs_out_style(out, NVS_STYLE_DIM), count, count == 1 ? "" : "s",
			count == 1 ? "it" : "them", nvs_out_style(out, NVS_STYLE_PLAIN));
	for (uint32_t i = 0; i < count && !r; i++) {
		fputs("  ", out->file);
		nvs_out_text(out, all.list[i]);
		fputc('\n', out->file);
	}
	free(all.list);
	return r;
}
