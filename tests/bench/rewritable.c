/* SPDX-License-Identifier: MIT */
/*
 * How many kernels of a library can be rewritten to count (nvsnoop --count), and why the others
 * cannot: rewritable PTXAS ARCH FILE... rewrites every cubin in the files that a GPU of ARCH (90)
 * would load. Needs no GPU. PTXAS: the assembler from whose output instructions are copied.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "sass/count.h"

enum { REASONS = 64, WORKERS = 16 };

struct tally { /* shared by the workers */
	uint32_t kernels, rewritten, cubins, broken, lost;
	struct {
		char text[120];
		uint32_t n;
	} why[REASONS];
};

static void die(const char *what)
{
	fprintf(stderr, "rewritable: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *map(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		die(path);
	*size = (size_t)st.st_size;
	p = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		die(path);
	close(fd);
	return p;
}

static void words_of(const char *ptxas, uint32_t arch, struct nvs_count_words *words)
{
	static char ptx[NVS_COUNT_PTX];
	char source[] = "/tmp/rewritable.XXXXXX", made[64], sm[16];
	const char *missing = NULL;
	size_t n = nvs_count_ptx(arch, ptx, sizeof(ptx)), size = 0;
	const void *cubin;
	int fd = mkstemp(source), status;
	pid_t pid;

	if (!n || fd < 0 || write(fd, ptx, n - 1) != (ssize_t)n - 1)
		die("the PTX");
	close(fd);
	snprintf(made, sizeof(made), "%s.cubin", source);
	snprintf(sm, sizeof(sm), "sm_%u%s", arch, arch >= 90 ? "a" : "");
	pid = fork();
	if (!pid) {
		execl(ptxas, ptxas, "-arch", sm, "-o", made, source, (char *)NULL);
		die(ptxas);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		die(ptxas);
	cubin = map(made, &size);
	if (nvs_count_words(cubin, size, words, &missing)) {
		fprintf(stderr, "rewritable: no words: %s\n", missing ? missing : "broken");
		exit(1);
	}
	unlink(source);
	unlink(made);
}

static uint64_t anywhere(void *arg, const char *kernel)
{
	(void)arg;
	(void)kernel;
	return UINT64_C(0x7f0000000000);
}

/* A reason without the figures in it. */
static void because(struct tally *t, const char *why)
{
	char text[sizeof(t->why[0].text)];
	size_t n = 0;

	for (; *why && n < sizeof(text) - 1; why++)
		if (*why < '0' || *why > '9' || (n && text[n - 1] != ' ' && text[n - 1] != '#'))
			text[n++] = *why;
	text[n] = 0;
	for (int i = 0; i < REASONS; i++) {
		if (t->why[i].n && strcmp(t->why[i].text, text))
			continue;
		memcpy(t->why[i].text, text, n + 1);
		t->why[i].n++;
		return;
	}
	t->lost++;
}

static void cubin(struct tally *t, const void *data, size_t size,
		  const struct nvs_count_words *words)
{
	struct nvs_count_options o = {.warps = true, .threads = true, .counters = anywhere};
	struct nvs_counted counted = {0};
	struct nvs_cubin opened;

	/* What was to be linked is not loaded. */
	if (!nvs_cubin_open(&opened, data, size) && opened.type == ET_REL)
		return;
	t->cubins++;
	if (nvs_count_rewrite(data, size, words, &o, &nvs_sass_heap, &counted)) {
		t->broken++;
		return;
	}
	for (uint32_t i = 0; i < counted.n; i++) {
		t->kernels++;
		if (counted.kernel[i].counters)
			t->rewritten++;
		else
			because(t, counted.kernel[i].why ? counted.kernel[i].why : "not said");
	}
	nvs_counted_free(&counted, &nvs_sass_heap);
}

/* Every WORKERSth cubin of the file. */
static void work(struct tally *t, const void *data, size_t size,
		 const struct nvs_count_words *words, unsigned worker)
{
	struct nvs_image host, image;
	uint32_t at = 0;
	unsigned turn = 0;

	nvs_image_of(data, size, &host);
	while (host.kind == NVS_IMAGE_HOST && nvs_image_next(&host, &at, &image)) {
		struct nvs_fatbin fatbin = {.data = image.data, .size = image.size};
		struct nvs_fatbin_entry e;

		while (nvs_fatbin_next(&fatbin, &e)) {
			void *bytes;

			if (e.kind != NVS_FATBIN_CUBIN || e.arch != words->arch ||
			    turn++ % WORKERS != worker)
				continue;
			if (nvs_fatbin_unpack(&e, &nvs_sass_heap, &bytes)) {
				t->broken++;
				continue;
			}
			cubin(t, bytes, e.unpacked, words);
			nvs_sass_heap.put(nvs_sass_heap.arg, bytes, e.unpacked);
		}
	}
	if (host.kind == NVS_IMAGE_CUBIN && !worker)
		cubin(t, data, size, words);
}

int main(int argc, char **argv)
{
	struct nvs_count_words words;
	struct tally *all = mmap(NULL, WORKERS * sizeof(*all), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (argc < 4 || all == MAP_FAILED) {
		fprintf(stderr, "usage: rewritable PTXAS ARCH FILE...\n");
		return 2;
	}
	words_of(argv[1], (uint32_t)strtoul(argv[2], NULL, 10), &words);
	for (int i = 3; i < argc; i++) {
		struct tally sum = {0};
		size_t size;
		const void *data = map(argv[i], &size);

		memset(all, 0, WORKERS * sizeof(*all));
		for (unsigned w = 0; w < WORKERS; w++)
			if (!fork()) {
				work(&all[w], data, size, &words, w);
				_exit(0);
			}
		while (wait(NULL) > 0)
			;
		for (unsigned w = 0; w < WORKERS; w++) {
			sum.kernels += all[w].kernels;
			sum.rewritten += all[w].rewritten;
			sum.cubins += all[w].cubins;
			sum.broken += all[w].broken;
			for (int k = 0; k < REASONS && all[w].why[k].n; k++)
				for (uint32_t n = 0; n < all[w].why[k].n; n++)
					because(&sum, all[w].why[k].text);
		}
		printf("%s: %u cubins, %u broken; %u kernels, %u can count\n", argv[i], sum.cubins,
		       sum.broken, sum.kernels, sum.rewritten);
		for (int k = 0; k < REASONS && sum.why[k].n; k++)
			printf("%8u %s\n", sum.why[k].n, sum.why[k].text);
		munmap((void *)data, size);
	}
	return 0;
}
