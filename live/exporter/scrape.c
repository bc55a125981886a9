/* SPDX-License-Identifier: MIT */
/* A look at all pages, and which processes are told of: those told before, then new ones, up to a
 * bound. */
#include <stdlib.h>
#include <time.h>
#include "live/exporter/families.h"
#include "live/exporter/http.h"
#include "live/exporter/metrics.h"

enum { PROCESSES = 1024, TRIES = 20, TRY_MS = 5 };

struct nvs_scrape {
	struct nvs_scrape_options options;
	const struct nvs_http *http;
	struct nvs_pages *pages;
	struct nvs_process *processes; /* by pid */
	uint32_t running, gone, left_out;
	uint64_t seen;
	int tries; /* left for a page that is not ready */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

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

	/* Folders are watched once they have been looked into. */
	nvs_pages_look(s->pages);
	return fd;
}

int nvs_scrape_notice(struct nvs_scrape *s, bool came)
{
	if (came)
		s->tries = TRIES;
	return nvs_pages_notice(s->pages) && s->tries-- > 0 ? TRY_MS : -1;
}

void nvs_scrape_end(struct nvs_scrape *s)
{
	while (s->processes) {
		struct nvs_process *p = s->processes;

		s->processes = p->next;
		nvs_process_free(p);
	}
	nvs_pages_close(s->pages);
	free(s);
}

/* Those whose pages are no more are forgotten; the others get theirs. Both lists are by pid. */
static void meet_again(struct nvs_scrape *s, uint32_t *known)
{
	struct nvs_process **at = &s->processes;
	uint32_t i = 0, n = nvs_pages_count(s->pages);

	*known = 0;
	while (*at) {
		struct nvs_process *p = *at;
		const struct nvs_page *page;

		while (i < n && nvs_pages_at(s->pages, i)->pid < p->pid)
			i++;
		page = i < n ? nvs_pages_at(s->pages, i) : NULL;
		if (page && page->pid == p->pid && page->start_time == p->start_time) {
			nvs_process_look(p, page, &s->options);
			++*known;
			at = &p->next;
		} else {
			*at = p->next;
			nvs_process_free(p);
		}
	}
}

static void meet_new(struct nvs_scrape *s, uint32_t known)
{
	struct nvs_process **at = &s->processes;

	for (uint32_t i = 0; i < nvs_pages_count(s->pages); i++) {
		const struct nvs_page *page = nvs_pages_at(s->pages, i);
		struct nvs_process *p;

		while (*at && (*at)->pid < page->pid)
			at = &(*at)->next;
		if (*at && (*at)->pid == page->pid)
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
		nvs_process_look(p, page, &s->options);
	}
}

static void family(struct nvs_expose *e, enum nvs_family_number number)
{
	nvs_expose_family(e, &nvs_families[number]);
}

static void tell_of_itself(struct nvs_scrape *s, struct nvs_expose *e, uint64_t took)
{
	const char *why;
	uint32_t refused = nvs_pages_refused(s->pages, &why);

	family(e, NVS_F_BUILD_INFO);
	nvs_expose_count(e, "", 1, "version", NVS_VERSION, NULL);
	family(e, NVS_F_SCRAPE_SECONDS);
	nvs_expose_seconds(e, "", took, NULL);
	family(e, NVS_F_REQUESTS);
	for (int i = 0; s->http && i < NVS_HTTP_ANSWERS; i++)
		nvs_expose_count(e, "", s->http->answers[i], "code", nvs_http_words[i], NULL);
	family(e, NVS_F_PROCESSES);
	nvs_expose_count(e, "", s->running, "state", "running", NULL);
	nvs_expose_count(e, "", s->gone, "state", "gone", NULL);
	nvs_expose_count(e, "", s->left_out, "state", "left_out", NULL);
	family(e, NVS_F_PROCESSES_SEEN);
	nvs_expose_count(e, "", s->seen, NULL);
	family(e, NVS_F_PAGES_REFUSED);
	nvs_expose_count(e, "", refused, "why", why, NULL);
}

void nvs_scrape(struct nvs_scrape *s, struct nvs_expose *e)
{
	uint64_t begin = now_ns();
	uint32_t known;

	s->running = s->gone = s->left_out = 0;
	if (nvs_pages_look(s->pages))
		e->failed = true;
	meet_again(s, &known);
	meet_new(s, known);
	for (struct nvs_process *p = s->processes; p; p = p->next)
		*(p->page->gone ? &s->gone : &s->running) += 1;
	tell_of_itself(s, e, now_ns() - begin);
	for (int i = NVS_F_PROCESS_INFO;
	     i < (s->options.gpuprobe ? NVS_FAMILIES : NVS_F_PROBE_LEAKS); i++) {
		family(e, (enum nvs_family_number)i);
		for (struct nvs_process *p = s->processes; p; p = p->next)
			nvs_tell(e, (enum nvs_family_number)i, p);
	}
	for (struct nvs_process *p = s->processes; p; p = p->next)
		nvs_process_told(p);
	nvs_expose_end(e);
}
