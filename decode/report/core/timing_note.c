/* SPDX-License-Identifier: MIT */
/* Prints that GPU times were asked for and not recorded. */
#include "decode/report/core/timing_note.h"

void nvs_works_explain(const struct nvs_works *w, struct nvs_run *run, const struct nvs_source *s)
{
	size_t n;
	const struct nvs_work *list = nvs_works_list(w, &n);

	if (!n || nvs_works_asked(s))
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
