/* SPDX-License-Identifier: MIT */
/* The name of a trace that was recorded on demand, chosen as the launcher does. */
#include <errno.h>
#include <stdlib.h>
#include "live/read/page_set.h"
#include "live/record/trace_name.h"
#include "preload/base/names.h"
#include "preload/base/options.h"

#define MAX_TRIES 100 /* for an unused name */

int nvs_record_take_trace(struct nvs_record_request *request, const struct nvs_page *page,
			  uint32_t pid, const char *pattern, char *file)
{
	struct nvs_name_fields fields = {
		.pid = pid,
		.program = page->program,
		.host = page->host,
		.variable = getenv,
	};
	char name[PATH_MAX];
	int err = nvs_name_expand(pattern ?: NVS_DEFAULT_OUT, &fields, name, sizeof(name));

	if (!err)
		err = -EEXIST;
	for (unsigned try = 0; err == -EEXIST && try < MAX_TRIES; try++) {
		err = nvs_name_alternative(name, pid, try, file, PATH_MAX);
		if (!err)
			err = nvs_record_request_take(request, file);
	}
	if (err)
		file[0] = '\0';
	return err;
}
