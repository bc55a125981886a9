/* SPDX-License-Identifier: MIT */
/* The summary above the list: time, number of processes and GPUs, and the rates of all processes
 * together. */
#include <string.h>
#include <time.h>
#include "live/top/top.h"

/* Sums over all processes. */
struct process_sums {
	double launches, calls, submissions, bytes, copied;
	uint64_t memory, host;
	bool known; /* some process has rates */
};

static void add_page(struct process_sums *all, const struct nvs_page *page)
{
	double rate;

	all->memory += page->device_live;
	all->host += page->host_live;
	if (!nvs_top_get_rate(page, &page->launches, &rate))
		return;
	all->known = true;
	all->launches += rate;
	nvs_top_get_rate(page, &page->calls, &rate);
	all->calls += rate;
	nvs_top_get_rate(page, &page->submissions, &rate);
	all->submissions += rate;
	nvs_top_get_rate(page, &page->bytes, &rate);
	all->bytes += rate;
	nvs_top_get_rate(page, &page->copied, &rate);
	all->copied += rate;
}

/* Appends "launches 4.5k/s" if it fits completely. */
static void put_figure(struct nvs_text_page *s, uint32_t columns, bool known, const char *name,
		       const char *figure, const char *unit)
{
	char all[64];
	int n = snprintf(all, sizeof(all), "%s%s %s%s", s->at ? "  " : "", name,
			 known ? figure : "-", known ? unit : "");

	if (n > 0 && s->at + (uint32_t)n > columns)
		return;
	nvs_text_page_printf(s, NVS_TOP_PLAIN, "%s%s ", s->at ? "  " : "", name);
	nvs_text_page_printf(s, NVS_TOP_STRONG, "%s%s", known ? figure : "-", known ? unit : "");
}

/* Counts each GPU once, however many processes use it. */
static uint32_t count_gpus(const struct nvs_top *top)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < top->nrows; i++)
		for (uint32_t g = 0; g < top->rows[i].page->ngpus; g++) {
			const uint8_t *uuid = top->rows[i].page->gpus[g].uuid;
			bool seen = false;

			for (uint32_t k = 0; k <= i && !seen; k++)
				for (uint32_t h = 0; h < top->rows[k].page->ngpus && !seen; h++) {
					if (k == i && h == g)
						break;
					seen = !memcmp(top->rows[k].page->gpus[h].uuid, uuid, 16);
				}
			n += !seen;
		}
	return n;
}

/* Names the process that has hung for the longest time. */
static void put_hang(struct nvs_text_page *s, const struct nvs_top *top)
{
	const struct nvs_top_row *worst = NULL;
	char to[NVS_FIGURE];
	uint32_t n = 0;

	for (uint32_t i = 0; i < top->nrows; i++) {
		n += top->rows[i].hang_ns > 0;
		if (top->rows[i].hang_ns > (worst ? worst->hang_ns : 0))
			worst = top->rows + i;
	}
	if (!worst)
		return;
	nvs_text_page_printf(s, NVS_TOP_BAD, "! %u process%s", n, n == 1 ? " hangs" : "es hang");
	nvs_text_page_printf(s, NVS_TOP_BAD, ": %u for %s", worst->page->pid,
			     nvs_figure_time(to, worst->hang_ns));
	if (worst->call)
		nvs_text_page_printf(s, NVS_TOP_BAD, " in %s", worst->call);
	nvs_text_page_printf(s, NVS_TOP_BAD, "; %s",
			     top->options->format == NVS_TOP_SCREEN ? "H explains it"
								    : "see nvsnoop-top --hang");
	nvs_text_page_end_line(s);
}

void nvs_top_add_header(struct nvs_text_page *s, const struct nvs_top *top, uint32_t columns,
			const char *note)
{
	struct process_sums all = {0};
	char to[NVS_FIGURE], clock[16];
	time_t now = time(NULL);
	struct tm tm;
	uint32_t gpus = count_gpus(top);

	for (uint32_t i = 0; i < top->nrows; i++)
		add_page(&all, top->rows[i].page);
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	nvs_text_page_printf(s, NVS_TOP_NAME, "nvsnoop-top");
	nvs_text_page_printf(s, NVS_TOP_PLAIN, " %s  %u process%s, %u GPU%s, every %g s", clock,
			     top->nrows, top->nrows == 1 ? "" : "es", gpus, gpus == 1 ? "" : "s",
			     top->interval);
	if (*note)
		nvs_text_page_printf(s, NVS_TOP_WARN, "  %s", note);
	nvs_text_page_end_line(s);
	put_figure(s, columns, all.known, "launches", nvs_figure_count(to, all.launches), "/s");
	put_figure(s, columns, all.known, "calls", nvs_figure_count(to, all.calls), "/s");
	put_figure(s, columns, all.known, "submissions", nvs_figure_count(to, all.submissions),
		   "/s");
	put_figure(s, columns, top->nrows, "memory", nvs_figure_count(to, (double)all.memory), "B");
	nvs_text_page_end_line(s);
	put_figure(s, columns, all.known, "commands", nvs_figure_plain(to, all.bytes / 1e6),
		   " MB/s");
	put_figure(s, columns, all.known, "copies", nvs_figure_plain(to, all.copied / 1e9),
		   " GB/s");
	put_figure(s, columns, top->nrows, "pinned", nvs_figure_count(to, (double)all.host), "B");
	nvs_text_page_end_line(s);
	put_hang(s, top);
}
