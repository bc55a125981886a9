/* SPDX-License-Identifier: MIT */
/* Prints that GPU times were asked for and not recorded. */
#include "decode/report/core/timing_note.h"

void nvs_work_list_explain(const struct nvs_work_list *w, struct nvs_run *run,
			   const struct nvs_source *s)
{
	size_t n;
	const struct nvs_work *list = nvs_work_list_items(w, &n);

	if (!n || nvs_trace_has_timing_work(s))
		return;
	/* With timing=dispatch the time of arrival is known, but not the duration. */
	for (size_t i = 0; i < n; i++)
		if (list[i].flags & NVS_WORK_TIMED)
			return;
	run->said = true;
	fprintf(stderr,
		"nvsnoop-report: %s: recorded without timing=work; use nvsnoop --timing=work\n",
		s->path);
}
