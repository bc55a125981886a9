/* SPDX-License-Identifier: MIT */
/* Writes a GPU's card in Markdown, and compares figures with earlier cards of its product. */
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
				bench_below_boost(&figures->gpu, r->sm_mhz)   ? " (below boost)"
				: bench_above_boost(&figures->gpu, r->sm_mhz) ? " (above boost)"
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
	fprintf(f, "; nvsnoop %s", *g->nvsnoop ? g->nvsnoop : NVS_VERSION);
	if (g->power_limit_mw)
		fprintf(f, "; power limit %.0f W", (double)g->power_limit_mw / 1000);
	if (g->ecc)
		fprintf(f, "; ECC %s", g->ecc == 2 ? "on" : "off");
	if (*g->cpu)
		fprintf(f, "; host %s", g->cpu);
	fputs(".\n", f);
	for (uint32_t i = 0; i < saved->n; i++)
		card_bench(f, figures, bench_find_benchmark(saved->of[i].bench));
}

/* ---- earlier cards ---- */

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

/* Widens the interval of the row that another card of the product has already, or adds it. */
static void add_row(struct bench_cards *cards, struct bench_card_row *r)
{
	for (uint32_t i = 0; i < cards->n; i++) {
		struct bench_card_row *to = &cards->row[i];

		if (strcmp(to->bench, r->bench) || strcmp(to->name, r->name) ||
		    strcmp(to->parameter, r->parameter) || strcmp(to->unit, r->unit))
			continue;
		to->low = fmin(to->low, r->low);
		to->high = fmax(to->high, r->high);
		return;
	}
	cards->row = probe_grow(cards->row, cards->n, sizeof(*cards->row));
	cards->row[cards->n++] = (struct bench_card_row){
		probe_copy(r->bench, SIZE_MAX),
		probe_copy(r->name, SIZE_MAX),
		probe_copy(r->parameter, SIZE_MAX),
		probe_copy(r->unit, SIZE_MAX),
		r->low,
		r->high,
		r->mhz,
	};
}

/* Parses a row of figures and adds it, if it is OURS; skips headings. Returns false if it is
 * malformed. */
static bool parse_row(struct bench_cards *cards, const char *line, const char *bench, bool ours)
{
	char *cellp[CELLS] = {NULL};
	bool good = split_row(line, cellp);
	double value = NAN, least = NAN, most = NAN, mhz = NAN;
	struct bench_card_row r;

	if (good && strcmp(cellp[0], "figure") && strncmp(cellp[0], "---", 3)) {
		good = bench && card_number(cellp[3], &value) && card_number(cellp[4], &least) &&
		       card_number(cellp[5], &most) && card_number(cellp[6], &mhz);
		r = (struct bench_card_row){
			(char *)bench,	    cellp[0],	       cellp[1], cellp[2],
			fmin(value, least), fmax(value, most), mhz};
		cards->figures += good;
		if (good && ours)
			add_row(cards, &r);
	}
	for (int i = 0; i < CELLS; i++)
		free(cellp[i]);
	return good;
}

/* Returns true if the card is one of PRODUCT, whose number is counted; else keeps the name. */
static bool parse_title(struct bench_cards *cards, const char *line, const char *product)
{
	const char *name = line + 2, *end = strstr(name, title_end);
	size_t length = (size_t)(end - name);

	if (length == strlen(product) && !strncmp(name, product, length)) {
		cards->same++;
		return true;
	}
	snprintf(cards->other, sizeof(cards->other), "%.*s", (int)length, name);
	return false;
}

bool bench_cards_add(struct bench_cards *cards, const char *product, const char *text, size_t size,
		     char why[160])
{
	const char *end = text + size, *wrong = NULL;
	uint32_t line = 0, before = cards->figures;
	bool ours = false;
	char *bench = NULL;

	while (text < end && !wrong) {
		char *own = bench_next_line(&text, end, &wrong);

		line++;
		for (const char *p = own; *p && !wrong; p++)
			if ((unsigned char)*p < ' ')
				wrong = "not text";
		if (!wrong && line == 1 && (strncmp(own, "# ", 2) || !strstr(own + 2, title_end)))
			wrong = "not a card that --card wrote";
		else if (line == 1 && !wrong)
			ours = parse_title(cards, own, product);
		else if (!wrong && !strncmp(own, "## ", 3)) {
			free(bench);
			bench = probe_copy(own + 3, SIZE_MAX);
		} else if (!wrong && *own == '|' && !parse_row(cards, own, bench, ours))
			wrong = "a malformed row of figures";
		free(own);
	}
	free(bench);
	if (!wrong && !line)
		wrong = "not a card that --card wrote";
	if (!wrong && cards->figures == before)
		wrong = "it contains no figures";
	if (wrong)
		snprintf(why, 160, "line %u: %s", line ? line : 1, wrong);
	return !wrong;
}

void bench_cards_free(struct bench_cards *cards)
{
	for (uint32_t i = 0; i < cards->n; i++) {
		free(cards->row[i].bench);
		free(cards->row[i].name);
		free(cards->row[i].parameter);
		free(cards->row[i].unit);
	}
	free(cards->row);
}

/* ---- comparison ---- */

struct compared {
	const struct bench_figures *figures;
	const struct bench_sample_set *saved;
	const struct bench_cards *cards;
	FILE *out;
	uint32_t held, left, slower, faster, missing, elsewhere;
	double *now, *then; /* SM clocks of figures that both have */
	uint32_t clocks;
	/* The figure that is slowest against the cards: what it reaches of them, up to 1. */
	const struct bench_card_row *slowest;
	double reached;
};

static double margin_of(const char *unit, double end)
{
	unsigned i = 0;

	while (wider[i].unit && strcmp(wider[i].unit, unit))
		i++;
	return fmax(fabs(end) * wider[i].share, wider[i].least);
}

static bool was_run(const struct bench_sample_set *saved, const char *bench)
{
	for (uint32_t i = 0; i < saved->n; i++)
		if (!strcmp(saved->of[i].bench, bench))
			return true;
	return false;
}

/* Returns what AT reaches of the nearer end of the interval of R, as a pace; 1: not slower; NAN:
 * its unit is none of a pace. Sizes and shares are neither slower nor faster. */
static double pace_of(const struct bench_card_row *r, double at)
{
	static const char *const times[] = {"ns", "us", "ms", "s"};
	bool time = !strncmp(r->unit, "cycles", 6);

	for (unsigned i = 0; i < sizeof(times) / sizeof(*times); i++)
		time |= !strcmp(r->unit, times[i]);
	if (!time && !strchr(r->unit, '/') && strcmp(r->unit, "MHz"))
		return NAN;
	return fmin(time ? r->high / at : at / r->low, 1);
}

static void add_pace(struct compared *c, const struct bench_card_row *r, double at)
{
	double reached = pace_of(r, at);

	if (isnan(reached))
		return;
	++*(reached < 1 ? &c->slower : &c->faster);
	if (reached < 1 && (!c->slowest || reached < c->reached)) {
		c->slowest = r;
		c->reached = reached;
	}
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

static void print_row_name(FILE *out, const struct bench_card_row *r)
{
	fprintf(out, "%s: %s%s%s", r->bench, r->name, *r->parameter ? ", " : "", r->parameter);
}

static void print_difference(const struct compared *c, const struct bench_card_row *r,
			     const struct bench_figure *now)
{
	double at = now->value, end = at < r->low ? r->low : r->high;

	print_row_name(c->out, r);
	fprintf(c->out, " is %.4g %s, ", at, r->unit);
	if (!strcmp(r->unit, "%"))
		fprintf(c->out, "%.1f points", fabs(at - end));
	else if (end != 0)
		fprintf(c->out, "%.1f %%", 100 * fabs((at - end) / end));
	else
		fprintf(c->out, "%.4g", fabs(at));
	fprintf(c->out, " %s the card's %.4g to %.4g", at < r->low ? "below" : "above", r->low,
		r->high);
	if (isfinite(now->sm_mhz) && isfinite(r->mhz))
		fprintf(c->out, "; SM clock %.0f MHz, the card's %.0f", now->sm_mhz, r->mhz);
	fputs(".\n", c->out);
}

/* Compares one row of the cards with the current figure. */
static void compare_row(struct compared *c, const struct bench_card_row *r)
{
	const struct bench_figure *now = bench_find_figure(c->figures, r->bench, r->name,
							   r->parameter);

	if (!was_run(c->saved, r->bench)) {
		c->elsewhere++;
		return;
	}
	if (isnan(r->low))
		return;
	c->held++;
	if (!now || isnan(now->value) || strcmp(now->unit, r->unit)) {
		c->missing++;
		print_row_name(c->out, r);
		fprintf(c->out, " is %s; the card has %.4g %s.\n",
			now && !isnan(now->value) ? "in another unit now" : "missing now", r->low,
			r->unit);
		return;
	}
	add_clocks(c, now->sm_mhz, r->mhz);
	if (now->value >= r->low - margin_of(r->unit, r->low) &&
	    now->value <= r->high + margin_of(r->unit, r->high))
		return;
	c->left++;
	add_pace(c, r, now->value);
	print_difference(c, r, now);
}

static void print_counts(const struct compared *c)
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
		".\nAn interval is the minimum to maximum of %u card%s, widened by 3 %% for "
		"times,\n"
		"5 points for percentages and 5 %% for the rest; at least by half a cycle, 64 ns\n"
		"and 1 KiB.\n",
		c->cards->same, c->cards->same == 1 ? "" : "s");
	if (c->elsewhere)
		fprintf(c->out, "%u figures of the card belong to benchmarks that did not run.\n",
			c->elsewhere);
}

/* What may explain differences and is no figure. */
static void print_state(const struct compared *c)
{
	const struct bench_gpu *g = &c->figures->gpu;
	const char *limits = bench_clock_limits(g);

	if (g->ecc == 2)
		fprintf(c->out,
			"ECC is on; %llu uncorrected error%s since the driver was loaded.\n",
			(unsigned long long)g->ecc_errors, g->ecc_errors == 1 ? "" : "s");
	else if (g->ecc)
		fputs("ECC is off.\n", c->out);
	if (!strcmp(limits, "none"))
		fputs("Nothing limited the clock after any benchmark.\n", c->out);
	else if (*limits)
		fprintf(c->out, "After benchmarks the clock was limited by: %s.\n", limits);
}

static void print_verdict(const struct compared *c, bool slow)
{
	if (!c->slowest && (slow || c->missing))
		return;
	if (!c->slowest) {
		fputs("This GPU is as fast as others of its kind in all that was measured.\n",
		      c->out);
		return;
	}
	fprintf(c->out, "This GPU reaches %.0f %% of what others of its kind do in ",
		100 * c->reached);
	print_row_name(c->out, c->slowest);
	fprintf(c->out, c->slower > 1 ? ", the slowest of %u such figures.\n" : ".\n", c->slower);
}

int bench_check_cards(FILE *out, const struct bench_figures *figures,
		      const struct bench_sample_set *saved, const struct bench_cards *cards)
{
	struct compared c = {.figures = figures, .saved = saved, .cards = cards, .out = out};
	bool slow;

	for (uint32_t i = 0; i < cards->n; i++)
		compare_row(&c, &cards->row[i]);
	if (!c.held) {
		fputs("None of the card's figures belongs to a benchmark that ran.\n", out);
		return 2;
	}
	print_counts(&c);
	slow = report_slow_clock(&c);
	print_state(&c);
	print_verdict(&c, slow);
	free(c.now);
	free(c.then);
	return slow || c.left || c.missing;
}
