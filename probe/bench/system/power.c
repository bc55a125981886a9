/* SPDX-License-Identifier: MIT */
/*
 * M26 to M28: the clock under load. Matrix products by cuBLAS run in batches of some 20 ms; while
 * one is under way NVIDIA's management library is asked for the SM clock, the power, the
 * temperature and what holds the clock down. Nothing is set, and no temperature is forced.
 *
 * power: FP16, 512 to 16,384 rows, 5 s each: a value is the mean of an eleventh of that. steady:
 * FP32 of 1,024 rows for 60 s, by time. thermal: FP16 of 8,192 rows for 60 s, by temperature.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "probe/bench/frame/bench.h"
#include "probe/bench/compute/products.h"
#include "probe/probe.h"

/* Values of nvml.h. */
enum { CLOCK_SM = 1, SENSOR_GPU = 0 };
static const struct reason {
	const char *name;
	uint64_t bit;
} reason[] = {
	{"limited by power", 0x4},
	{"limited by hardware", 0x8},
	{"limited by temperature", 0x20},
	{"limited by temperature, hardware", 0x40},
	{"limited by power, hardware", 0x80},
};
enum { REASONS = sizeof reason / sizeof *reason, LOAD_S = 5, LONG_S = 60 };

struct nvml {
	int (*init)(void);
	int (*device_of)(const char *bus, void **device);
	int (*clock)(void *device, int which, unsigned *mhz);
	int (*power)(void *device, unsigned *milliwatts);
	int (*temperature)(void *device, int which, unsigned *celsius);
	int (*reasons)(void *device, unsigned long long *mask); /* may be missing */
	void *device;
};

struct seen {
	double seconds, mhz, watts, celsius, tops;
	uint64_t reasons;
};

static bool take(void *call, void *found)
{
	memcpy(call, &found, sizeof found);
	return found;
}

static bool open_nvml(struct bench_run *run, struct nvml *m)
{
	void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*current)(int *), (*bus_of)(char *, int, int), device = 0;
	char bus[32] = "";

	if (!lib || !take(&m->init, dlsym(lib, "nvmlInit_v2")) ||
	    !take(&m->device_of, dlsym(lib, "nvmlDeviceGetHandleByPciBusId_v2")) ||
	    !take(&m->clock, dlsym(lib, "nvmlDeviceGetClockInfo")) ||
	    !take(&m->power, dlsym(lib, "nvmlDeviceGetPowerUsage")) ||
	    !take(&m->temperature, dlsym(lib, "nvmlDeviceGetTemperature")) ||
	    !take(&current, bench_driver(run, "cuCtxGetDevice")) ||
	    !take(&bus_of, bench_driver(run, "cuDeviceGetPCIBusId")) || m->init() ||
	    current(&device) || bus_of(bus, sizeof bus, device) || m->device_of(bus, &m->device)) {
		bench_missing(bench_samples(run), "NVIDIA's management library does not work here");
		return false;
	}
	take(&m->reasons, dlsym(lib, "nvmlDeviceGetCurrentClocksThrottleReasons"));
	return true;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* One batch, and what is seen while it runs. N becomes what takes 20 ms. */
static bool batch(const struct nvml *m, struct bench_products *p, uint32_t size, uint32_t *n,
		  struct seen *seen)
{
	unsigned mhz = 0, milliwatts = 0, celsius = 0;
	unsigned long long mask = 0;
	double seconds;

	if (!bench_products_begin(p, size, *n))
		return false;
	if (m->clock(m->device, CLOCK_SM, &mhz) || m->power(m->device, &milliwatts) ||
	    m->temperature(m->device, SENSOR_GPU, &celsius) ||
	    (m->reasons && m->reasons(m->device, &mask))) {
		bench_products_end(p);
		return false;
	}
	seconds = bench_products_end(p);
	if (!(seconds > 0))
		return false;
	*seen = (struct seen){now(),
			      mhz,
			      milliwatts / 1e3,
			      celsius,
			      2.0 * size * size * size * *n / seconds / 1e12,
			      mask};
	*n = (uint32_t)fmin(fmax(*n * 0.02 / seconds, 1), 10000);
	return true;
}

/* Adds V to the point at X, as far as it has room. */
static void add(struct bench_run *run, const char *name, const char *x, const char *unit, double at,
		double v)
{
	struct bench_point *p = bench_point(bench_series(bench_samples(run), name, x, NULL, unit),
					    at, NAN);

	if (p->n < BENCH_REPEATS)
		bench_value(p, v);
}

static void add_seen(struct bench_run *run, const char *x, double at, const struct seen *s)
{
	add(run, "SM clock", x, "MHz", at, s->mhz);
	add(run, "power", x, "W", at, s->watts);
	if (strcmp(x, "temperature"))
		add(run, "temperature", x, "degrees", at, s->celsius);
	add(run, "products", x, "Top/s", at, s->tops);
	for (int i = 0; i < REASONS; i++)
		add(run, reason[i].name, x, "share", at, s->reasons & reason[i].bit ? 1 : 0);
}

/* For SECONDS; what was seen of each part of them is handed on as one mean. */
static void load(struct bench_run *run, const char *type, uint32_t size, double seconds,
		 double part, const char *by)
{
	struct nvml m = {0};
	struct bench_products *p = NULL;
	double begin, next;
	struct seen sum = {0}, s;
	uint32_t n = 1, seen = 0;

	if (bench_dry(run) || !open_nvml(run, &m) || !(p = bench_products(run, type, size)))
		return;
	/* The first ones have the library's own preparations in them. */
	for (int i = 0; i < 4; i++)
		if (!batch(&m, p, size, &n, &s))
			goto failed;
	begin = now();
	next = begin + part;
	while (now() < begin + seconds) {
		if (!batch(&m, p, size, &n, &s))
			goto failed;
		sum.mhz += s.mhz, sum.watts += s.watts, sum.celsius += s.celsius;
		sum.tops += s.tops, sum.reasons |= s.reasons, seen++;
		if (s.seconds < next)
			continue;
		sum.mhz /= seen, sum.watts /= seen, sum.celsius /= seen, sum.tops /= seen;
		add_seen(run, by,
			 !strcmp(by, "size")	  ? size
			 : !strcmp(by, "seconds") ? round((s.seconds - begin) / part) * part
						  : round(sum.celsius),
			 &sum);
		sum = (struct seen){0};
		seen = 0;
		next += part;
	}
	bench_products_free(run, p);
	return;
failed:
	bench_missing(bench_samples(run), "%s, %u rows: a product or a reading failed", type, size);
	bench_products_free(run, p);
}

static void measure_power(struct bench_run *run)
{
	for (uint32_t size = 512; size <= 16384; size *= 2)
		load(run, "FP16", size, LOAD_S, (double)LOAD_S / BENCH_REPEATS, "size");
}

static void measure_steady(struct bench_run *run)
{
	load(run, "FP32", 1024, LONG_S, 0.5, "seconds");
}

static void measure_thermal(struct bench_run *run)
{
	load(run, "FP16", 8192, LONG_S, 0.5, "temperature");
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The figure of all points at the place of the K-th; the median, NAN where one was told of it. */
static double tell_place(const struct bench_series *series, uint32_t k,
			 struct bench_figures *figures)
{
	double *v = malloc((series->n + 1) * sizeof(*v)), at = series->point[k].x, median;
	char parameter[48];
	uint32_t n = 0;

	if (!v)
		probe_die("out of memory");
	for (uint32_t i = 0; i < series->n; i++)
		if (series->point[i].x == at && series->point[i].n)
			v[n++] = bench_median(&series->point[i]);
	for (uint32_t i = 0; i < k; i++)
		n = series->point[i].x == at ? 0 : n;
	qsort(v, n, sizeof(*v), by_value);
	median = n ? (v[(n - 1) / 2] + v[n / 2]) / 2 : NAN;
	snprintf(parameter, sizeof parameter, "%s %g", series->x, at);
	if (n)
		bench_figure(figures, series->name, parameter, series->unit, median, v[0], v[n - 1],
			     NAN);
	free(v);
	return median;
}

/* Figures by size and by temperature; by time only the first and the last, and a picture of all. */
static void derive(const struct bench_samples *samples, const struct bench_gpu *gpu,
		   struct bench_figures *figures)
{
	for (uint32_t i = 0; i < samples->n; i++) {
		const struct bench_series *series = &samples->series[i];
		bool share = !strcmp(series->unit, "share"), any = false;
		double lowest = INFINITY, at = NAN;

		for (uint32_t k = 0; k < series->n; k++) {
			const struct bench_point *p = &series->point[k];
			double median;

			any |= p->n && bench_most(p) > 0;
			if (share || (!strcmp(series->x, "seconds") && k && k + 1 < series->n))
				continue;
			median = tell_place(series, k, figures);
			if (median < lowest) {
				lowest = median;
				at = p->x;
			}
		}
		if (!strcmp(series->name, "SM clock") && gpu->boost_khz &&
		    lowest < 0.98 * (double)gpu->boost_khz / 1e3)
			bench_note(figures,
				   "At %s %g the clock is lowest, %.0f MHz, %.0f %% of boost.",
				   series->x, at, lowest, 1e5 * lowest / (double)gpu->boost_khz);
		if (share && any)
			bench_note(figures, "The clock was %s at times.", series->name);
		else if (!share && any)
			bench_picture(figures, series->name, series->name, series,
				      !strcmp(series->x, "size"), false);
	}
}

BENCH(bench_power) = {
	.name = "power",
	.number = "M26",
	.what = "clock and power under matrix products, by size: 40 s",
	.slow = true,
	.measure = measure_power,
	.derive = derive,
};
BENCH(bench_thermal) = {
	.name = "thermal",
	.number = "M27",
	.what = "clock under matrix products, by the temperature that comes: 60 s",
	.slow = true,
	.measure = measure_thermal,
	.derive = derive,
};
BENCH(bench_steady) = {
	.name = "steady",
	.number = "M28",
	.what = "clock under small matrix products, by time: 60 s",
	.slow = true,
	.measure = measure_steady,
	.derive = derive,
};
