/* SPDX-License-Identifier: MIT */
/*
 * Assembles the kernels of every benchmark with an installed ptxas, for each GPU that they
 * support, and decodes them with our decoder. Nothing is launched. Arguments: architectures (75 80
 * 89 90 100), then names of benchmarks, or none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "probe/bench/frame/internal.h"

static char folder[40];

static void *all_of(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *data = NULL;

	*size = 0;
	if (!f)
		return NULL;
	if (!fseek(f, 0, SEEK_END) && ftell(f) >= 0) {
		*size = (size_t)ftell(f);
		rewind(f);
		data = calloc(1, *size + 1);
		if (data && fread(data, 1, *size, f) != *size)
			*size = 0;
	}
	fclose(f);
	return data;
}

static int ptxas(const char *ptx, const char *cubin, const char *log, const char *arch)
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (!freopen(log, "w", stderr) || !freopen("/dev/null", "w", stdout))
			_exit(1);
		execlp("ptxas", "ptxas", "-arch", arch, "-o", cubin, ptx, (char *)NULL);
		_exit(127);
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int assemble(struct bench_run *run, const char *text, void **cubin, size_t *size,
		    char log[1024])
{
	char ptx[64], out[64], said[64], arch[16], *words;
	FILE *f;
	size_t n;

	snprintf(ptx, sizeof(ptx), "%s/a.ptx", folder);
	snprintf(out, sizeof(out), "%s/a.cubin", folder);
	snprintf(said, sizeof(said), "%s/a.log", folder);
	snprintf(arch, sizeof(arch), "sm_%u%s", bench_arch(&run->gpu),
		 bench_arch(&run->gpu) >= 90 ? "a" : "");
	f = fopen(ptx, "w");
	if (!f || fputs(text, f) < 0 || fclose(f)) {
		perror(ptx);
		exit(1);
	}
	*cubin = NULL;
	if (!ptxas(ptx, out, said, arch))
		*cubin = all_of(out, size);
	words = all_of(said, &n);
	snprintf(log, 1024, "%.1000s", words && n ? words : "ptxas failed");
	free(words);
	if (!getenv("KEEP"))
		unlink(out);
	return *cubin ? 0 : -1;
}

/* What the driver would say of such a GPU; sizes are of the one that was at hand of each kind. */
static struct bench_gpu gpu_of(unsigned arch)
{
	struct bench_gpu gpu = {.name = "dry",
				.cc_major = arch / 10,
				.cc_minor = arch % 10,
				.sms = 132,
				.boost_khz = 1980000,
				.memory_khz = 3201000,
				.bus_bits = 6144,
				.l2_bytes = 60u << 20,
				.shared_sm_bytes = arch < 80 ? 64u << 10 : 228u << 10,
				.shared_block_bytes = arch < 80 ? 64u << 10 : 227u << 10,
				.memory_bytes = 140ull << 30,
				.driver_version = 13000};

	return gpu;
}

/* What a dry run keeps is zeros and not-a-numbers: it is saved, loaded and derived from all the
 * same. False: it is not as it was. */
static bool again(const struct bench_gpu *gpu, const struct bench *bench,
		  struct bench_samples *samples)
{
	struct bench_sample_set saved = {.gpu = *gpu, .of = samples, .n = 1}, loaded;
	struct bench_figures figures = {.gpu = *gpu};
	char *text = NULL, *second = NULL, why[160];
	size_t size, size2;
	FILE *f = open_memstream(&text, &size);
	bool same;

	bench_save_samples(f, &saved);
	fclose(f);
	if (!bench_load_samples(&loaded, text, size, why)) {
		printf("  its samples are not read: %s\n", why);
		free(text);
		return false;
	}
	bench_derive_figures(&figures, bench, &loaded.of[0]);
	/* What is counted in code needs no GPU: scripts/gpu-bench has it for several. */
	for (uint32_t i = 0; !strcmp(bench->name, "tensor-code") && i < figures.nfigure; i++)
		printf("  %s: %s %g\n", figures.figure[i].name, figures.figure[i].parameter,
		       figures.figure[i].value);
	fflush(stdout); /* or ptxas' process writes it again */
	f = open_memstream(&second, &size2);
	bench_save_samples(f, &loaded);
	fclose(f);
	same = size == size2 && !memcmp(text, second, size);
	if (!same)
		printf("  its samples are others when read\n");
	bench_figures_free(&figures);
	bench_sample_set_free(&loaded);
	free(text);
	free(second);
	return same;
}

int main(int argc, char **argv)
{
	uint32_t passed = 0, wrong = 0;
	int names = 1;

	while (names < argc && atoi(argv[names]))
		names++;
	strcpy(folder, "/tmp/nvsnoop-kernels-XXXXXX");
	if (!mkdtemp(folder)) {
		perror(folder);
		return 1;
	}
	for (int a = 1; a < names; a++) {
		struct bench_run run = {.gpu = gpu_of((unsigned)atoi(argv[a])), .dry = true};

		run.assemble = assemble;
		bench_run_begin(&run);
		passed++; /* the one that spins */
		for (const struct bench *const *b = bench_list; *b; b++) {
			struct bench_samples samples = {.bench = (*b)->name};
			bool asked = names == argc;

			for (int i = names; i < argc; i++)
				asked |= !strcmp(argv[i], (*b)->name);
			if (!asked || (*b)->arch > bench_arch(&run.gpu))
				continue;
			run.kernels = run.failures = 0;
			bench_run_measure(&run, *b, &samples);
			printf("sm_%s %s: %u kernels, %u refused\n", argv[a], (*b)->name,
			       run.kernels, run.failures);
			for (uint32_t i = 0; i < samples.nmissing; i++)
				printf("  %s\n", samples.missing[i]);
			fflush(stdout);
			wrong += !again(&run.gpu, *b, &samples);
			passed += run.kernels + 1;
			wrong += run.failures;
			bench_samples_free(&samples);
		}
		bench_run_close(&run);
	}
	if (!getenv("KEEP") && !chdir(folder)) {
		unlink("a.ptx");
		unlink("a.log");
		rmdir(folder);
	}
	printf("%u passed, %u failed\n", passed, wrong);
	return wrong != 0;
}
