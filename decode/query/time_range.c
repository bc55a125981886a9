/* SPDX-License-Identifier: MIT */
/* --range and --at: submissions by number, or submissions and calls by time, in seconds since the
 * start of the session or in percent of it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include "decode/cli/units.h"
#include "decode/query/source.h"
#include "decode/query/time_range.h"

#define OPEN UINT64_MAX
#define PERCENT 1000000000ull /* parts of a percent: 100 % are 10^11 */

struct unit {
	const char *name;
	uint64_t worth; /* ns, or parts of a percent */
	enum nvs_range_by by;
};

static const struct unit units[] = {
	{"", 1, NVS_RANGE_NUMBERS},	 {"s", 1000000000, NVS_RANGE_TIME},
	{"ms", 1000000, NVS_RANGE_TIME}, {"us", 1000, NVS_RANGE_TIME},
	{"ns", 1, NVS_RANGE_TIME},	 {"%", PERCENT, NVS_RANGE_PERCENT},
};

/* Reads the number before END, in units of UNIT. */
static bool parse_number(const char *s, const char *end, const struct unit *unit, uint64_t *value)
{
	return nvs_read_decimal(&s, unit->worth, UINT64_MAX, value) && s == end;
}

static const struct unit *unit_of(const char *s, size_t n, size_t *digits)
{
	*digits = 0;
	while (*digits < n && strchr("0123456789.", s[*digits]))
		++*digits;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strlen(units[i].name) == n - *digits &&
		    !strncmp(units[i].name, s + *digits, n - *digits))
			return units + i;
	return NULL;
}

/* A, A-B, A- or -B; a bound without a unit takes that of the other. */
bool nvs_range_parse(struct nvs_range *r, const char *s)
{
	const char *dash = strchr(s, '-'), *to = dash ? dash + 1 : s;
	size_t nfrom = dash ? (size_t)(dash - s) : strlen(s), nto = strlen(to), from_n, to_n;
	const struct unit *a = unit_of(s, nfrom, &from_n), *b = unit_of(to, nto, &to_n);

	if (!a || !b || (!nfrom && !nto))
		return false;
	a = !nfrom || a->by == NVS_RANGE_NUMBERS ? b : a;
	b = !nto || b->by == NVS_RANGE_NUMBERS ? a : b;
	r->text = s;
	r->from = 0;
	r->to = OPEN;
	r->by = a->by;
	r->to_by = b->by;
	if ((nfrom && !parse_number(s, s + from_n, a, &r->from)) ||
	    (nto && !parse_number(to, to + to_n, b, &r->to)))
		return false;
	/* An empty range is an error. */
	if (a->by != b->by)
		return true;
	return a->by == NVS_RANGE_NUMBERS ? r->from <= r->to : r->from < r->to;
}

bool nvs_moment_parse(struct nvs_range *r, const char *s)
{
	size_t n = strlen(s), digits;
	const struct unit *unit = unit_of(s, n, &digits);

	if (!unit || unit->by == NVS_RANGE_NUMBERS)
		return false;
	*r = (struct nvs_range){.by = unit->by, .to_by = unit->by, .text = s};
	return parse_number(s, s + digits, unit, &r->from);
}

/* ---- a trace's range ---- */

bool nvs_range_is_time(const struct nvs_query *q)
{
	return q->range.by > NVS_RANGE_NUMBERS;
}

/* Converts to ns since the start. 100 % includes the last moment. */
static int64_t to_ns(const struct nvs_source *s, enum nvs_range_by by, uint64_t value)
{
	long double ns = (long double)value;
	int64_t length;

	if (value == OPEN || (by == NVS_RANGE_PERCENT && value >= 100 * PERCENT))
		return INT64_MAX;
	nvs_clock_since_start(s->trace, nvs_trace_session(s->trace)->last_time, &length);
	if (by == NVS_RANGE_PERCENT)
		ns = (long double)length * ns / (100.0L * PERCENT);
	return ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
}

int64_t nvs_moment_ns(const struct nvs_source *s, const struct nvs_range *moment)
{
	return to_ns(s, moment->by, moment->from);
}

int nvs_range_check(const struct nvs_source *s)
{
	struct stat st;

	if (strcmp(s->path, "-") && (stat(s->path, &st) || S_ISREG(st.st_mode)))
		return 0;
	fprintf(stderr,
		"nvsnoop-report: %s: a range of time needs two passes over the trace, and a pipe "
		"can be read only once; give a file\n",
		s->path);
	return -EINVAL;
}

void nvs_range_resolve(struct nvs_source *s)
{
	const struct nvs_range *r = &s->query->range;

	s->from = to_ns(s, r->by, r->from);
	s->to = to_ns(s, r->to_by, r->to);
}

bool nvs_range_has_submission(const struct nvs_source *s, const struct nvs_submission *sub)
{
	const struct nvs_range *r = &s->query->range;

	return r->by != NVS_RANGE_NUMBERS || (sub->number >= r->from && sub->number <= r->to);
}

bool nvs_range_has_time(const struct nvs_source *s, uint64_t ticks)
{
	int64_t ns;

	if (!nvs_range_is_time(s->query))
		return true;
	return nvs_clock_since_start(s->trace, ticks, &ns) && ns >= s->from && ns < s->to;
}

/* ---- explanation of an empty selection ---- */

static void explain_time(const struct nvs_source *s)
{
	const struct nvs_session *session = nvs_trace_session(s->trace);
	int64_t first, last;

	if (!nvs_clock_since_start(s->trace, session->last_time, &last)) {
		fprintf(stderr, "nvsnoop-report: %s: has too few clock readings to compute times\n",
			s->path);
		return;
	}
	fprintf(stderr, "nvsnoop-report: %s: spans 0 to %.6f s", s->path, (double)last / 1e9);
	if (session->counts.submissions) {
		nvs_clock_since_start(s->trace, session->first_submission, &first);
		nvs_clock_since_start(s->trace, session->last_submission, &last);
		fprintf(stderr, ", submissions %.6f to %.6f s", (double)first / 1e9,
			(double)last / 1e9);
	}
	fputc('\n', stderr);
}

void nvs_range_explain(const struct nvs_source *sources, uint32_t n)
{
	const struct nvs_range *r = &sources->query->range;
	uint64_t most = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t told = nvs_session_submissions(nvs_trace_session(sources[i].trace));

		most = told > most ? told : most;
		if (nvs_range_is_time(sources->query))
			explain_time(sources + i);
	}
	if (r->by == NVS_RANGE_NUMBERS && r->from >= most)
		fprintf(stderr,
			"nvsnoop-report: no submission %" PRIu64 ": the trace has %" PRIu64
			", numbered from 0\n",
			r->from, most);
}
