/* SPDX-License-Identifier: MIT */
/* Writes a GPU's card in Markdown, and compares figures with an earlier card. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "probe/bench/frame/internal.h"

/*
 * How far the card's interval, minimum to maximum, is widened: by a share of each end, but at least
 * by the resolution of the clocks (%globaltimer advances by 32 ns on Hopper, and an interval has
 * two ends), or of sizes, which are probed 1 KiB apart.
 */
static const struct {
	const char *unit;
	double share, least;
} wider[] = {
	{"cycles", 0.03, 0.5}, {"ns", 0.03, 64}, {"us", 0.03, 0.064}, {"ms", 0.03, 0},
	{"s", 0.03, 0},	       {"%", 0, 5},	 {"KiB", 0.05, 1},    {NULL, 0.05, 0},
};

static const char title_end[] = ", by nvsnoop-probe bench";

static void print_cell(FILE *f, double v, const char *format)
{
	if (isfinite(v))
		fprintf(f, format, v);
	else
		fputc('-', f);
	fputs(" | ", f);
}

static void card_bench(FILE *f, const struct bench_figures *figures, const struct bench *b)
{
	bool any = false;

	fprintf(f, "\n## %s\n\n%s%s%s%s.\n", b->name, b->what, *b->number ? " (" : "", b->number,
		*b->number ? ")" : "");
	for (uint32_t i = 0; i < figures->nfigure; i++) {
		const struct bench_figure *r = &figures->figure[i];

		if (strcmp(r->bench, b->name) || r->detail)
			continue;
		if (!any)
			fputs("\n| figure | of | unit | median | least | most | SM MHz |\n"
			      "|---|---|---|---:|---:|---:|---:|\n",
			      f);
		any = true;
		fprintf(f, "| %s | %s | %s | ", r->name, r->parameter, r->unit);
		print_cell(f, r->value, "%.6g");
		print_cell(f, r->least, "%.6g");
		print_cell(f, r->most, "%.6g");
		if (isfinite(r->sm_mhz))
			fprintf(f, "%.0f%s |\n", r->sm_mhz,
				bench_below_boost(&figures->gpu, r->sm_mhz) ? " (below boost)"
									    : "");
		else
			fputs("- |\n", f);
	}
	for (uint32_t i = 0; i < figures->nnote; i++)
		if (!strcmp(figures->note[i].bench, b->name))
			fprintf(f, "\n%s\n", figures->note[i].text);
	for (uint32_t i = 0; i < figures->nmissing; i++)
		if (!strcmp(figures->missing[i].bench, b->name))
			fprintf(f, "\nMissing: %s\n", figures->missing[i].text);
}

void bench_print_card(FILE *f, const struct bench_figures *figures,
		      const struct bench_sample_set *saved)
{
	const struct bench_gpu *g = &figures->gpu;

	fprintf(f, "# %s%s\n\n%s; driver %s; compute capability %llu.%llu; %llu SMs", g->name,
		title_end, *g->date ? g->date : "date not known",
		*g->driver ? g->driver : "not known", (unsigned long long)g->cc_major,
		(unsigned long long)g->cc_minor, (unsigned long long)g->sms);
	if (g->boost_khz)
		fprintf(f, ", boost %llu MHz", (unsigned long long)g->boost_khz / 1000);
	fprintf(f, "; nvsnoop %s.\n", NVS_VERSION);
	for (uint32_t i = 0; i < saved->n; i++)
		card_bench(f, figures, bench_find_benchmark(saved->of[i].bench));
}

/* ---- an earlier card ---- */

struct carded { /* a row of the card */
	char *bench, *name, *parameter, *unit;
	double value, least, most, mhz;
};

static bool card_number(const char *text, double *v)
{
	char *end;

	*v = NAN;
	if (!strcmp(text, "-"))
		return true;
	if (!isdigit((unsigned char)*text) && *text != '-')
		return false;
	*v = strtod(text, &end);
	return end != text && (!*end || *end == ' ') && isfinite(*v);
}

/* Splits a row into copies of its cells, trimmed. Returns false if it does not have CELLS cells. */
enum { CELLS = 7 };
static bool split_row(const char *line, char *cellp[CELLS])
{
	for (int n = 0; n < CELLS; n++) {
		const char *end = *line == '|' ? strchr(line + 1, '|') : NULL, *from = line + 1,
			   *to = end;

		if (!end)
			return false;
		while (from < to && *from == ' ')
			from++;
		while (to > from && to[-1] == ' ')
			to--;
		cellp[n] = probe_copy(from, (size_t)(to - from));
		line = end;
	}
	return !line[1];
}

struct compared {
	const struct bench_figures *figures;
	const struct bench_sample_set *saved;
	FILE *out;
	uint32_t rows, held, left, slower, faster, missing, elsewhere;
	double *now, *then; /* SM clocks of figures that both have */
	uint32_t clocks;
};

static double margin_of(const char *unit, double end)
{
	unsigned i = 0;

	while (wider[i].unit && strcmp(wider[i].unit, unit))
		i++;
	return fmax(fabs(end) * wider[i].share, wider[i].least);
}

static const struct bench_figure *figure_of(const struct bench_figures *f, const char *bench,
					    const char *name, const char *parameter)
{
	for (uint32_t i = 0; i < f->nfigure; i++)
		if (!strcmp(f->figure[i].bench, bench) && !strcmp(f->figure[i].name, name) &&
		    !strcmp(f->figure[i].parameter, parameter))
			return &f->figure[i];
	return NULL;
}

static bool was_run(const struct bench_sample_set *saved, const char *bench)
{
	for (uint32_t i = 0; i < saved->n; i++)
		if (!strcmp(saved->of[i].bench, bench))
			return true;
	return false;
}

/* Counts a figure outside its interval as slower or faster. Sizes and shares are neither. */
static void add_pace(struct compared *c, const char *unit, bool above)
{
	static const char *const times[] = {"ns", "us", "ms", "s"};
	bool time = !strncmp(unit, "cycles", 6);

	for (unsigned i = 0; i < sizeof(times) / sizeof(*times); i++)
		time |= !strcmp(unit, times[i]);
	if (time || strchr(unit, '/') || !strcmp(unit, "MHz"))
		++*(time == above ? &c->slower : &c->faster);
}

static void add_clocks(struct compared *c, double now, double then)
{
	if (!isfinite(now) || !isfinite(then))
		return;
	c->now = probe_grow(c->now, c->clocks, sizeof(*c->now));
	c->then = probe_grow(c->then, c->clocks, sizeof(*c->then));
	c->now[c->clocks] = now;
	c->then[c->clocks++] = then;
}

/*
 * Reports a reduced SM clock, which figures in cycles do not show. The limit is 10 %, because
 * medians under matrix products, whose clock depends on power, differ by 5 % between runs of one
 * GPU.
 */
static bool report_slow_clock(const struct compared *c)
{
	double now = c->clocks ? probe_median(c->now, c->clocks) : NAN;
	double then = c->clocks ? probe_median(c->then, c->clocks) : NAN;

	if (!(now < 0.9 * then))
		return false;
	fprintf(c->out,
		"The SM clock was %.0f MHz, the card's %.0f (medians). Figures in cycles do not\n"
		"show it; programs do.\n",
		now, then);
	return true;
}

/* Compares one row of the card with the current figure. */
static void compare_row(struct compared *c, const struct carded *r)
{
	const struct bench_figure *now = figure_of(c->figures, r->bench, r->name, r->parameter);
	double low = fmin(r->value, r->least), high = fmax(r->value, r->most), at;
	bool points = !strcmp(r->unit, "%");

	c->rows++;
	if (!was_run(c->saved, r->bench)) {
		c->elsewhere++;
		return;
	}
	if (isnan(r->value))
		return;
	c->held++;
	if (!now || isnan(now->value) || strcmp(now->unit, r->unit)) {
		c->missing++;
		fprintf(c->out, "%s: %s%s%s is %s; the card has %.4g %s.\n", r->bench, r->name,
			*r->parameter ? ", " : "", r->parameter,
			now && !isnan(now->value) ? "in another unit now" : "missing now", r->value,
			r->unit);
		return;
	}
	add_clocks(c, now->sm_mhz, r->mhz);
	at = now->value;
	if (at >= low - margin_of(r->unit, low) && at <= high + margin_of(r->unit, high))
		return;
	c->left++;
	add_pace(c, r->unit, at > high);
	fprintf(c->out, "%s: %s%s%s is %.4g %s, ", r->bench, r->name, *r->parameter ? ", " : "",
		r->parameter, at, r->unit);
	if (points)
		fprintf(c->out, "%.1f points", at < low ? low - at : at - high);
	else if ((at < low ? low : high) != 0)
		fprintf(c->out, "%.1f %%",
			100 * fabs((at < low ? low - at : at - high) / (at < low ? low : high)));
	else
		fprintf(c->out, "%.4g", fabs(at));
	fprintf(c->out, " %s the card's %.4g to %.4g", at < low ? "below" : "above", low, high);
	if (isfinite(now->sm_mhz) && isfinite(r->mhz))
		fprintf(c->out, "; SM clock %.0f MHz, the card's %.0f", now->sm_mhz, r->mhz);
	fputs(".\n", c->out);
}

/* Parses and compares a row of figures; skips headings. Returns false if it is malformed. */
static bool check_row(struct compared *c, const char *line, const char *bench)
{
	char *cellp[CELLS] = {NULL};
	bool good = split_row(line, cellp);
	struct carded r;

	if (good && strcmp(cellp[0], "figure") && strncmp(cellp[0], "---", 3)) {
		r = (struct carded){(char *)bench, cellp[0], cellp[1], cellp[2], 0, 0, 0, 0};
		good = bench && card_number(cellp[3], &r.value) &&
		       card_number(cellp[4], &r.least) && card_number(cellp[5], &r.most) &&
		       card_number(cellp[6], &r.mhz);
		if (good)
			compare_row(c, &r);
	}
	for (int i = 0; i < CELLS; i++)
		free(cellp[i]);
	return good;
}

static void check_title(struct compared *c, const char *line)
{
	const char *name = line + 2, *end = strstr(name, title_end);

	if ((size_t)(end - name) != strlen(c->figures->gpu.name) ||
	    strncmp(name, c->figures->gpu.name, (size_t)(end - name)))
		fprintf(c->out, "The card is for an %.*s, but this is an %s.\n", (int)(end - name),
			name, c->figures->gpu.name);
}

static void print_summary(const struct compared *c)
{
	if (c->left || c->missing) {
		fprintf(c->out, "%u of %u figures are outside their interval", c->left, c->held);
		if (c->slower || c->faster)
			fprintf(c->out, " (%u slower, %u faster)", c->slower, c->faster);
		if (c->missing)
			fprintf(c->out, ", and %u are missing", c->missing);
	} else
		fprintf(c->out, "All %u figures are within their interval", c->held);
	fprintf(c->out,
		".\nAn interval is the card's minimum to maximum, widened by 3 %% for times, 5 "
		"points "
		"for\npercentages and 5 %% for the rest; at least by half a cycle, 64 ns and 1 KiB"
		".\n");
	if (c->elsewhere)
		fprintf(c->out, "%u figures of the card belong to benchmarks that did not run.\n",
			c->elsewhere);
}

int bench_check_card(FILE *out, const struct bench_figures *figures,
		     const struct bench_sample_set *saved, const char *text, size_t size,
		     char why[160])
{
	struct compared c = {.figures = figures, .saved = saved, .out = out};
	const char *end = text + size, *wrong = NULL;
	char *bench = NULL;
	uint32_t line = 0;
	bool slow = false;

	while (text < end && !wrong) {
		char *own = bench_next_line(&text, end, &wrong);

		line++;
		for (const char *p = own; *p && !wrong; p++)
			if ((unsigned char)*p < ' ')
				wrong = "not text";
		if (!wrong && line == 1 && (strncmp(own, "# ", 2) || !strstr(own + 2, title_end)))
			wrong = "not a card that --card wrote";
		else if (line == 1 && !wrong)
			check_title(&c, own);
		else if (!wrong && !strncmp(own, "## ", 3)) {
			free(bench);
			bench = probe_copy(own + 3, SIZE_MAX);
		} else if (!wrong && *own == '|' && !check_row(&c, own, bench))
			wrong = "a malformed row of figures";
		free(own);
	}
	free(bench);
	if (!wrong && !line)
		wrong = "not a card that --card wrote";
	if (!wrong && !c.held)
		wrong = c.rows ? "none of its figures belongs to a benchmark that ran"
			       : "it contains no figures";
	if (wrong) {
		snprintf(why, 160, "line %u: %s", line ? line : 1, wrong);
	} else {
		print_summary(&c);
		slow = report_slow_clock(&c);
	}
	free(c.now);
	free(c.then);
	return wrong ? 2 : slow || c.left || c.missing;
}
