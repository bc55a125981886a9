/* SPDX-License-Identifier: MIT */
/* One scrape: reads all pages, matches them with known processes, adds new ones up to a limit, and
 * writes all families. */
#include <stdlib.h>
#include "decode/base/compare.h"
#include "live/exporter/families.h"
#include "live/exporter/http.h"
#include "live/exporter/metrics.h"
#include "live/read/page_set.h"

enum { PROCESSES = 1024, TRIES = 20, TRY_MS = 5 };

struct nvs_scrape {
	struct nvs_scrape_options options;
	const struct nvs_http *http;
	struct nvs_pages *pages;
	struct nvs_exported_process *processes; /* sorted by PID and namespace */
	uint32_t running, gone, left_out;
	uint64_t seen;
	int tries; /* attempts left for a page that is not ready */
};

struct nvs_scrape *nvs_scrape_begin(const struct nvs_scrape_options *options,
				    const struct nvs_http *http)
{
	struct nvs_scrape *s = calloc(1, sizeof(*s));

	if (!s || nvs_pages_open(&s->pages, options->gpuprobe ? NVS_PAGES_ALLOCS : 0)) {
		free(s);
		return NULL;
	}
	s->options = *options;
	s->http = http;
	return s;
}

int nvs_scrape_watch(struct nvs_scrape *s)
{
	int fd = nvs_pages_watch(s->pages);

	/* A folder is watched from the first scan on. */
	nvs_pages_update(s->pages);
	return fd;
}

int nvs_scrape_open_new(void *scrape, bool came)
{
	struct nvs_scrape *s = scrape;

	if (came)
		s->tries = TRIES;
	return nvs_pages_open_new(s->pages) && s->tries-- > 0 ? TRY_MS : -1;
}

void nvs_scrape_end(struct nvs_scrape *s)
{
	while (s->processes) {
		struct nvs_exported_process *p = s->processes;

		s->processes = p->next;
		nvs_process_free(p);
	}
	nvs_pages_close(s->pages);
	free(s);
}

static int compare(const struct nvs_exported_process *p, const struct nvs_page *page)
{
	return NVS_CMP(p->pid, page->pid) ?: NVS_CMP(p->pid_namespace, page->pid_namespace);
}

/* Removes processes whose pages are gone, and updates the others. Both lists are sorted alike. */
static void update_known(struct nvs_scrape *s, uint32_t *known)
{
	struct nvs_exported_process **at = &s->processes;
	uint32_t i = 0, n = nvs_pages_count(s->pages);

	*known = 0;
	while (*at) {
		struct nvs_exported_process *p = *at;
		const struct nvs_page *page;

		while (i < n && compare(p, nvs_pages_get(s->pages, i)) > 0)
			i++;
		page = i < n ? nvs_pages_get(s->pages, i) : NULL;
		if (page && !compare(p, page) && page->start_time == p->start_time) {
			nvs_process_update(p, page, &s->options);
			++*known;
			at = &p->next;
		} else {
			*at = p->next;
			nvs_process_free(p);
		}
	}
}

static void add_new(struct nvs_scrape *s, uint32_t known)
{
	struct nvs_exported_process **at = &s->processes;

	for (uint32_t i = 0; i < nvs_pages_count(s->pages); i++) {
		const struct nvs_page *page = nvs_pages_get(s->pages, i);
		struct nvs_exported_process *p;

		while (*at && compare(*at, page) < 0)
			at = &(*at)->next;
		if (*at && !compare(*at, page))
			continue;
		p = known < PROCESSES ? nvs_process_new(page) : NULL;
		if (!p) {
			s->left_out++;
			continue;
		}
		known++;
		s->seen++;
		p->next = *at;
		*at = p;
		nvs_process_update(p, page, &s->options);
	}
}

static void begin_family(struct nvs_exposition *e, enum nvs_family_number number)
{
	nvs_exposition_begin_family(e, &nvs_families[number]);
}

static void report_exporter(struct nvs_scrape *s, struct nvs_exposition *e, uint64_t took)
{
	const char *why;
	uint32_t refused = nvs_pages_refused(s->pages, &why);

	begin_family(e, NVS_F_BUILD_INFO);
	nvs_exposition_add(e, "", 1, "version", NVS_VERSION, NULL);
	begin_family(e, NVS_F_SCRAPE_SECONDS);
	nvs_exposition_add(e, "", took, NULL);
	begin_family(e, NVS_F_REQUESTS);
	for (int i = 0; s->http && i < NVS_HTTP_ANSWERS; i++)
		nvs_exposition_add(e, "", s->http->answers[i], "code", nvs_http_code_names[i],
				   NULL);
	begin_family(e, NVS_F_PROCESSES);
	nvs_exposition_add(e, "", s->running, "state", "running", NULL);
	nvs_exposition_add(e, "", s->gone, "state", "gone", NULL);
	nvs_exposition_add(e, "", s->left_out, "state", "left_out", NULL);
	begin_family(e, NVS_F_PROCESSES_SEEN);
	nvs_exposition_add(e, "", s->seen, NULL);
	begin_family(e, NVS_F_PAGES_REFUSED);
	nvs_exposition_add(e, "", refused, "why", why, NULL);
}

void nvs_scrape(void *scrape, struct nvs_exposition *e)
{
	struct nvs_scrape *s = scrape;
	uint64_t begin = nvs_mono_ns();
	uint32_t known;

	s->running = s->gone = s->left_out = 0;
	if (nvs_pages_update(s->pages))
		e->failed = true;
	update_known(s, &known);
	add_new(s, known);
	for (struct nvs_exported_process *p = s->processes; p; p = p->next)
		*(p->page->gone ? &s->gone : &s->running) += 1;
	report_exporter(s, e, nvs_mono_ns() - begin);
	for (int i = NVS_F_PROCESS_INFO;
	     i < (s->options.gpuprobe ? NVS_FAMILIES : NVS_F_PROBE_LEAKS); i++) {
		begin_family(e, (enum nvs_family_number)i);
		for (struct nvs_exported_process *p = s->processes; p; p = p->next)
			nvs_report_family(e, (enum nvs_family_number)i, p);
	}
	for (struct nvs_exported_process *p = s->processes; p; p = p->next)
		nvs_process_end_scrape(p);
	nvs_exposition_end(e);
}
