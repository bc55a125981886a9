/* SPDX-License-Identifier: MIT */
/*
 * M26 to M28: the clock under load. Matrix products with cuBLAS run in batches of about 20 ms;
 * during each batch NVML is asked for the SM clock, power, temperature and what limits the clock.
 * Nothing is set, and no temperature is forced.
 *
 * sustained: int8 of 16,384 rows for 30 s, by time; a value is the mean of 3 s. sustained-types:
 * the same with other types, 8,192 rows. power: FP16, 512 to 16,384 rows, 5 s each; a value is the
 * mean of an eleventh of that. steady: FP32 of 1,024 rows for 60 s, by time. thermal: FP16 of 8,192
 * rows for 60 s, by temperature.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "probe/bench/frame/bench.h"
#include "probe/bench/compute/products.h"
#include "probe/lib/nvml.h"
#include "probe/lib/table.h"
#include "probe/probe.h"

enum { SENSOR_GPU = 0, LOAD_S = 5, LONG_S = 60, SUSTAINED_S = 30 };

struct power_reading {
	double seconds, mhz, watts, celsius, tops;
	uint64_t reasons;
};

static bool open_nvml(struct bench_run *run, struct probe_nvml *m)
{
	if (!probe_nvml_open(m, NULL))
		bench_add_missing(bench_samples(run),
				  "NVML (libnvidia-ml.so.1) does not work here");
	return m->device;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Runs one batch and reads NVML meanwhile. Sets N to what takes 20 ms. */
static bool run_batch(const struct probe_nvml *m, struct bench_products *p, uint32_t size,
		      uint32_t *n, struct power_reading *seen)
{
	unsigned mhz, milliwatts = 0, celsius = 0;
	unsigned long long mask = 0;
	double seconds;

	if (!bench_products_begin(p, size, *n))
		return false;
	mhz = probe_nvml_sm_mhz(m);
	if (!mhz || m->power(m->device, &milliwatts) ||
	    m->temperature(m->device, SENSOR_GPU, &celsius) ||
	    (m->reasons && m->reasons(m->device, &mask))) {
		bench_products_end(p);
		return false;
	}
	seconds = bench_products_end(p);
	if (!(seconds > 0))
		return false;
	*seen = (struct power_reading){now_s(),
				       mhz,
				       milliwatts / 1e3,
				       celsius,
				       2.0 * size * size * size * *n / seconds / 1e12,
				       mask};
	*n = (uint32_t)fmin(fmax(*n * 0.02 / seconds, 1), 10000);
	return true;
}

/* Adds V to the point at X, unless it is full. */
static void add_value(struct bench_run *run, const char *name, const char *x, const char *unit,
		      double at, double v)
{
	struct bench_point *p = bench_add_point(run, name, x, unit, at);

	if (p->n < BENCH_REPEATS)
		bench_add_value(p, v);
}

/* OF precedes the names of the series. */
static void add_seen(struct bench_run *run, const char *of, const char *x, double at,
		     const struct power_reading *s)
{
	add_value(run, bench_format("%sSM clock", of), x, "MHz", at, s->mhz);
	add_value(run, bench_format("%spower", of), x, "W", at, s->watts);
	if (strcmp(x, "temperature"))
		add_value(run, bench_format("%stemperature", of), x, "degrees", at, s->celsius);
	add_value(run, bench_format("%sproducts", of), x, "Top/s", at, s->tops);
	for (int i = 0; i < PROBE_CLOCK_LIMITS; i++)
		add_value(run, bench_format("%slimited by %s", of, probe_clock_limits[i].name), x,
			  "share", at, s->reasons & probe_clock_limits[i].bit ? 1 : 0);
}

/* Runs a load for SECONDS, and adds the mean of each PART. */
static void run_load_of(struct bench_run *run, const char *type, uint32_t size, double seconds,
			double part, const char *by, const char *of)
{
	struct probe_nvml m = {0};
	struct bench_products *p = NULL;
	double begin, next;
	struct power_reading sum = {0}, s;
	uint32_t n = 1, seen = 0;

	if (bench_is_dry(run) || !open_nvml(run, &m) || !(p = bench_products(run, type, size)))
		return;
	/* The first products include the library's initialization. */
	for (int i = 0; i < 4; i++)
		if (!run_batch(&m, p, size, &n, &s))
			goto failed;
	begin = now_s();
	next = begin + part;
	while (now_s() < begin + seconds) {
		if (!run_batch(&m, p, size, &n, &s))
			goto failed;
		sum.mhz += s.mhz, sum.watts += s.watts, sum.celsius += s.celsius;
		sum.tops += s.tops, sum.reasons |= s.reasons, seen++;
		if (s.seconds < next)
			continue;
		sum.mhz /= seen, sum.watts /= seen, sum.celsius /= seen, sum.tops /= seen;
		add_seen(run, of, by,
			 !strcmp(by, "size")	  ? size
			 : !strcmp(by, "seconds") ? round((s.seconds - begin) / part) * part
						  : round(sum.celsius),
			 &sum);
		sum = (struct power_reading){0};
		seen = 0;
		next += part;
	}
	bench_products_free(run, p);
	return;
failed:
	bench_add_missing(bench_samples(run), "%s, %u rows: a product or a reading failed", type,
			  size);
	bench_products_free(run, p);
}

static void run_load(struct bench_run *run, const char *type, uint32_t size, double seconds,
		     double part, const char *by)
{
	run_load_of(run, type, size, seconds, part, by, "");
}

static void measure_power(struct bench_run *run)
{
	for (uint32_t size = 512; size <= 16384; size *= 2)
		run_load(run, "FP16", size, LOAD_S, (double)LOAD_S / BENCH_REPEATS, "size");
}

/* int8 falls most from its first milliseconds, which matmul measures. */
static void measure_sustained(struct bench_run *run)
{
	run_load(run, "int8", 16384, SUSTAINED_S, 3, "seconds");
}

static void measure_sustained_types(struct bench_run *run)
{
	static const char *const types[] = {"FP64", "FP32", "TF32",
					    "FP16", "BF16", "FP8, cublasLt"};

	for (unsigned k = 0; k < sizeof(types) / sizeof(*types); k++)
		run_load_of(run, types[k], 8192, SUSTAINED_S, 3, "seconds",
			    bench_format("%s, ", types[k]));
}

static void measure_steady(struct bench_run *run)
{
	run_load(run, "FP32", 1024, LONG_S, 0.5, "seconds");
}

static void measure_thermal(struct bench_run *run)
{
	run_load(run, "FP16", 8192, LONG_S, 0.5, "temperature");
}

/* Adds the figure of all points at the x of the K-th. Returns the median; NAN if it was added
 * before. */
static double add_figure_at(const struct bench_series *series, uint32_t k,
			    struct bench_figures *figures)
{
	double *v = probe_allocate(series->n, sizeof(*v)), at = series->point[k].x, median;
	uint32_t n = 0;

	for (uint32_t i = 0; i < series->n; i++)
		if (series->point[i].x == at && series->point[i].n)
			v[n++] = bench_median(&series->point[i]);
	for (uint32_t i = 0; i < k; i++)
		n = series->point[i].x == at ? 0 : n;
	median = n ? probe_median(v, n) : NAN;
	if (n)
		bench_figure(figures, series->name, bench_format("%s %g", series->x, at),
			     series->unit, median, v[0], v[n - 1], NAN);
	free(v);
	return median;
}

/* What precedes NAME's part AT, "FP16, ": " (FP16)"; "" if nothing does. */
static const char *type_of(const char *name, const char *at)
{
	return at > name ? bench_format(" (%.*s)", (int)(at - name - 2), name) : "";
}

/* Derives figures by size and by temperature; by time only the first and the last, and a plot of
 * all. */
static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	for (uint32_t i = 0; i < samples->n; i++) {
		const struct bench_series *series = &samples->series[i];
		bool share = !strcmp(series->unit, "share"), any = false;
		const char *clock = strstr(series->name, "SM clock"),
			   *limited = share ? strstr(series->name, "limited by") : NULL;
		double lowest = INFINITY, at = NAN;

		for (uint32_t k = 0; k < series->n; k++) {
			const struct bench_point *p = &series->point[k];
			double median;

			any |= p->n && bench_max(p) > 0;
			if (share)
				continue;
			median = !strcmp(series->x, "seconds") && k && k + 1 < series->n
					 ? bench_median(p)
					 : add_figure_at(series, k, figures);
			if (median < lowest) {
				lowest = median;
				at = p->x;
			}
		}
		if (clock && gpu->boost_khz && lowest < 0.98 * (double)gpu->boost_khz / 1e3)
			bench_add_note(figures,
				       "The clock is lowest at %s%s: %.0f MHz, %.0f %% of boost.",
				       !strcmp(series->x, "seconds")
					       ? bench_format("%g s", at)
					       : bench_format("%s %g", series->x, at),
				       type_of(series->name, clock), lowest,
				       1e5 * lowest / (double)gpu->boost_khz);
		if (limited && any)
			bench_add_note(figures, "The clock was %s at times%s.", limited,
				       type_of(series->name, limited));
		else if (!share && any)
			bench_add_plot(figures, series->name, series->name, series,
				       !strcmp(series->x, "size"), false);
	}
}

BENCH(bench_sustained, "sustained", "",
      "int8 products of 16,384 rows for 30 s: rate, clock, power, temperature", measure_sustained,
      derive_figures);
BENCH(bench_sustained_types, "sustained-types", "", "the same with other types, 8,192 rows: 180 s",
      measure_sustained_types, derive_figures, .slow = true);
BENCH(bench_power, "power", "M26", "clock and power under matrix products, by size: 40 s",
      measure_power, derive_figures, .slow = true);
BENCH(bench_thermal, "thermal", "M27",
      "clock under matrix products, by the temperature that comes: 60 s", measure_thermal,
      derive_figures, .slow = true);
BENCH(bench_steady, "steady", "M28", "clock under small matrix products, by time: 60 s",
      measure_steady, derive_figures, .slow = true);
