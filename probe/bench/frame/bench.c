/* SPDX-License-Identifier: MIT */
/* nvsnoop-probe bench: selects benchmarks, measures them or loads samples, and prints, saves or
 * checks the results. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "probe/bench/frame/internal.h"
#include "probe/studies.h"
#include "probe/lib/svg.h"

#define FILE_MAX (64u << 20)

/* Reads a whole file; the caller frees it. */
static char *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	char *data;

	if (!f || fstat(fileno(f), &st))
		probe_die("%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		probe_die("%s: %s", path, S_ISREG(st.st_mode) ? "too large" : "not a file");
	data = probe_allocate(1, (size_t)st.st_size + 1);
	*size = fread(data, 1, (size_t)st.st_size, f);
	if (ferror(f))
		probe_die("%s: %s", path, strerror(errno));
	fclose(f);
	return data;
}

/* Returns true for a named benchmark; if none is named, for all that are not slow. */
static bool is_selected(const struct probe_options *o, const struct bench *b)
{
	for (int i = 0; i < o->nnames; i++)
		if (!strcmp(o->names[i], b->name))
			return true;
	return !o->nnames && !b->slow;
}

static int list_benchmarks(const struct probe_options *o)
{
	for (const struct bench *const *b = bench_list; *b; b++) {
		struct bench_text text = {NULL, 0, 0};

		if (o->nnames && !is_selected(o, *b))
			continue;
		bench_emit(&text, "%s%s%s%s: %s%s", (*b)->name, *(*b)->number ? " (" : "",
			   (*b)->number, *(*b)->number ? ")" : "", (*b)->what,
			   (*b)->slow ? " (when named)" : "");
		probe_print_wrapped(text.data);
		bench_text_free(&text);
	}
	if (fflush(stdout) || ferror(stdout))
		probe_die("cannot write the list");
	return 0;
}

/* Checks before measuring for minutes that the result can be saved. Does not truncate the file yet.
 *  */
static FILE *open_output(const char *path)
{
	FILE *f = fopen(path, "a");

	if (!f)
		probe_die("%s: %s", path, strerror(errno));
	return f;
}

/* Measures one benchmark in this process and writes its samples to FD, as --save does. */
static _Noreturn void measure_child(const struct probe_options *o, const struct bench *b, int fd)
{
	struct bench_run run = {.dry = false};
	struct bench_sample_set one = {.n = 0};
	FILE *f = fdopen(fd, "w");
	struct probe_nvml nvml;

	if (!f)
		probe_die("%s", strerror(errno));
	/* Stop when the parent dies. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bench_run_open(&run, o->gpu);
	bench_run_measure(&run, b, bench_sample_set_add(&one, b));
	if (probe_nvml_open(&nvml, NULL))
		bench_gpu_take_state(&run.gpu, &nvml);
	one.gpu = run.gpu;
	bench_save_samples(f, &one);
	/* Not exit(): a kernel that does not terminate would block the driver's exit handler. */
	_exit(fclose(f) ? 2 : run.failures != 0);
}

/* What limited the clock is kept of all processes. */
static void take_gpu(struct bench_sample_set *saved, const struct bench_gpu *gpu)
{
	uint64_t limits = saved->gpu.limits, readings = saved->gpu.limit_readings;

	saved->gpu = *gpu;
	saved->gpu.limits |= limits;
	saved->gpu.limit_readings += readings;
}

/*
 * Runs one benchmark in its own process, because after some kernel failures a process can no longer
 * use the GPU, even with a new context. Adds the samples to SAVED, or how the process ended.
 * Returns its wait status.
 */
static int measure_in_process(const struct probe_options *o, const struct bench *b,
			      struct bench_sample_set *saved)
{
	struct bench_sample_set one = {.n = 0};
	struct bench_samples *samples;
	char why[160], path[32], *text;
	int fd = memfd_create("samples", MFD_CLOEXEC), status;
	size_t size;
	pid_t pid;

	fflush(NULL);
	pid = fd < 0 ? -1 : fork();
	if (pid < 0)
		probe_die("cannot start a process for %s: %s", b->name, strerror(errno));
	if (!pid)
		measure_child(o, b, fd);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			probe_die("cannot wait for the process of %s: %s", b->name,
				  strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	text = read_file(path, &size);
	close(fd);
	if (bench_load_samples(&one, text, size, why)) {
		take_gpu(saved, &one.gpu);
		*bench_sample_set_add(saved, b) = one.of[0];
		free(one.of);
	} else {
		samples = bench_sample_set_add(saved, b);
		bench_add_missing(samples, "not measured: its process ended with %s %d",
				  WIFSIGNALED(status) ? "signal" : "status",
				  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	free(text);
	return status;
}

/* Runs one benchmark in as many processes as it requires. */
static int measure_one(const struct probe_options *o, const struct bench *b,
		       struct bench_sample_set *saved)
{
	struct bench_samples *samples;
	int status = 0;

	if (!b->processes)
		return measure_in_process(o, b, saved);
	samples = bench_sample_set_add(saved, b);
	for (unsigned i = 0; i < b->processes && !status; i++) {
		struct bench_sample_set one = {.n = 0};

		status = measure_in_process(o, b, &one);
		if (one.n)
			bench_samples_merge(samples, &one.of[0], i);
		if (*one.gpu.name)
			take_gpu(saved, &one.gpu);
		bench_sample_set_free(&one);
	}
	return status;
}

static void add_card(struct bench_cards *cards, const char *product, const char *path)
{
	char why[160], *text;
	size_t size;

	text = read_file(path, &size);
	if (!bench_cards_add(cards, product, text, size, why))
		probe_die("%s: %s", path, why);
	free(text);
}

/* Reads the card at PATH, or all cards in the folder PATH. Exits with 2 if there is none of
 * PRODUCT. */
static void read_cards(struct bench_cards *cards, const char *product, const char *path)
{
	DIR *folder = opendir(path);

	if (!folder)
		add_card(cards, product, path);
	for (struct dirent *e; folder && (e = readdir(folder));) {
		size_t n = strlen(e->d_name);

		if (n > 3 && !strcmp(e->d_name + n - 3, ".md"))
			add_card(cards, product, bench_format("%s/%s", path, e->d_name));
	}
	if (folder)
		closedir(folder);
	if (!cards->same && *cards->other)
		probe_die("%s: no card of an %s, which this GPU is; there is one of an %s", path,
			  product, cards->other);
	if (!cards->same)
		probe_die("%s: contains no card that --card wrote", path);
}

/* Measures the selected benchmarks. Returns true if something failed. */
static bool measure_selected(const struct probe_options *o, struct bench_sample_set *saved,
			     FILE **out)
{
	bool show_progress = isatty(STDERR_FILENO), fresh = o->save && access(o->save, F_OK),
	     bad = false;
	struct bench_cards cards = {.n = 0};
	int status;

	*out = o->save ? open_output(o->save) : NULL;
	for (const struct bench *const *b = bench_list; *b; b++) {
		if (!is_selected(o, *b))
			continue;
		if (show_progress)
			fprintf(stderr, "\r%-22s\r", (*b)->name);
		status = measure_one(o, *b, saved);
		/* Not after minutes, when all has been measured. */
		if (o->check && *saved->gpu.name && !cards.same)
			read_cards(&cards, saved->gpu.name, o->check);
		/* The child has reported that there is no suitable GPU. */
		if (!*saved->gpu.name && WIFEXITED(status)) {
			if (fresh)
				unlink(o->save);
			exit(WEXITSTATUS(status));
		}
		bad |= status != 0;
	}
	bench_cards_free(&cards);
	if (show_progress)
		fprintf(stderr, "%-22s\r", "");
	return bad;
}

static int run_dry(const struct probe_options *o)
{
	struct bench_run run = {.dry = false}; /* set once the context is open */
	struct bench_sample_set saved = {.n = 0};
	int status;

	bench_run_open(&run, o->gpu);
	run.dry = true;
	for (const struct bench *const *b = bench_list; *b; b++)
		if (is_selected(o, *b))
			bench_run_measure(&run, *b, bench_sample_set_add(&saved, *b));
	printf("%u kernels were assembled and are as expected, %u are not.\n", run.kernels,
	       run.failures);
	for (uint32_t i = 0; i < saved.n; i++)
		for (uint32_t k = 0; k < saved.of[i].nmissing; k++)
			printf("%s: %s\n", saved.of[i].bench, saved.of[i].missing[k]);
	status = run.failures != 0;
	bench_sample_set_free(&saved);
	bench_run_close(&run);
	if (fflush(stdout) || ferror(stdout))
		probe_die("cannot write the result");
	return status;
}

static void load_samples(const struct probe_options *o, const char *path,
			 struct bench_sample_set *saved)
{
	char why[160];
	size_t size;
	char *text = read_file(path, &size);

	if (!bench_load_samples(saved, text, size, why))
		probe_die("%s: %s", path, why);
	free(text);
	/* Drop benchmarks that were not selected. */
	for (uint32_t i = 0; o->nnames && i < saved->n;)
		if (!is_selected(o, bench_find_benchmark(saved->of[i].bench))) {
			bench_samples_free(&saved->of[i]);
			memmove(&saved->of[i], &saved->of[i + 1],
				(--saved->n - i) * sizeof(*saved->of));
		} else
			i++;
	for (int i = 0; i < o->nnames; i++) {
		uint32_t k = 0;

		while (k < saved->n && strcmp(saved->of[k].bench, o->names[i]))
			k++;
		if (k == saved->n)
			probe_die("%s: contains no samples of %s", path, o->names[i]);
	}
}

/* Truncates what open_output() opened; a pipe or a device cannot be. */
static FILE *empty_output(const char *path, FILE *f)
{
	struct stat st;

	if (fstat(fileno(f), &st) || (S_ISREG(st.st_mode) && ftruncate(fileno(f), 0)))
		probe_die("%s: %s", path, strerror(errno));
	return f;
}

static void save_samples(const char *path, FILE *f, const struct bench_sample_set *saved)
{
	bench_save_samples(empty_output(path, f), saved);
	if (fflush(f) || ferror(f) || fclose(f))
		probe_die("%s: %s", path, strerror(errno));
}

static int check_cards(const struct probe_options *o, const struct bench_figures *figures,
		       const struct bench_sample_set *saved)
{
	struct bench_cards cards = {.n = 0};
	int status;

	read_cards(&cards, figures->gpu.name, o->check);
	status = bench_check_cards(stdout, figures, saved, &cards);
	bench_cards_free(&cards);
	if (fflush(stdout) || ferror(stdout))
		probe_die("cannot write the result");
	return status;
}

static void derive_all(struct bench_figures *figures, const struct bench_sample_set *saved)
{
	figures->gpu = saved->gpu;
	for (uint32_t i = 0; i < saved->n; i++)
		bench_derive_figures(figures, bench_find_benchmark(saved->of[i].bench),
				     &saved->of[i]);
}

static int compare_saved(const struct probe_options *o)
{
	struct bench_sample_set saved[2] = {{.n = 0}};
	struct bench_figures figures[2] = {{.nfigure = 0}};

	for (int i = 0; i < 2; i++) {
		load_samples(o, o->load[i], &saved[i]);
		derive_all(&figures[i], &saved[i]);
	}
	bench_print_ratios(&figures[0], &figures[1], o->format, o->nnames > 0);
	for (int i = 0; i < 2; i++) {
		bench_figures_free(&figures[i]);
		bench_sample_set_free(&saved[i]);
	}
	return 0;
}

int probe_run_bench(const struct probe_options *o)
{
	struct bench_sample_set saved = {.n = 0};
	struct bench_figures figures = {.nfigure = 0};
	FILE *out = NULL, *config = NULL;
	bool failed = false;
	int status = 0;

	for (int i = 0; i < o->nnames; i++)
		if (!bench_find_benchmark(o->names[i])) {
			fprintf(stderr,
				"nvsnoop-probe: there is no benchmark '%s'; try bench --list\n",
				o->names[i]);
			exit(2);
		}
	if (o->list)
		return list_benchmarks(o);
	if (o->dry_run)
		return run_dry(o);
	/* Exit status as diff: 1 means a difference. */
	if (o->check) {
		probe_failure = 2;
		if (access(o->check, R_OK))
			probe_die("%s: %s", o->check, strerror(errno));
	}
	if (o->load[1])
		return compare_saved(o);
	if (o->svg)
		probe_svg_check_folder(o->svg);
	if (o->accel_sim)
		config = open_output(o->accel_sim);
	if (*o->load)
		load_samples(o, *o->load, &saved);
	else
		failed = measure_selected(o, &saved, &out);
	if (out)
		save_samples(o->save, out, &saved);
	derive_all(&figures, &saved);
	if (config)
		bench_write_accel_sim(o->accel_sim, empty_output(o->accel_sim, config), &figures);
	if (o->svg)
		bench_draw_plots(&figures, o->svg);
	if (o->check)
		status = check_cards(o, &figures, &saved);
	else if (o->card) {
		bench_print_card(stdout, &figures, &saved);
		if (fflush(stdout) || ferror(stdout))
			probe_die("cannot write the card");
	} else
		bench_print_figures(&figures, &saved, o->format, o->nnames > 0);
	if (!o->check)
		status = failed;
	bench_figures_free(&figures);
	bench_sample_set_free(&saved);
	return status;
}
