/* SPDX-License-Identifier: MIT */
/* The helper of a program with threads: its child finds everything as the fork left it, whichever
 * lock of the C library another thread held at that moment. */
/* LINK: decode -Wl,--build-id */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include "decode/base/budget.h"
#include "decode/trace/helper.h"
#include "tests/unit/expect.h"

#define CHECK(x, ...)                                      \
	do {                                               \
		if (!expect_(!!(x), __FILE__, __LINE__)) { \
			printf(__VA_ARGS__);               \
			putchar('\n');                     \
		}                                          \
	} while (0)

static struct {
	uint8_t id[NVS_HELPER_MAX_ID];
	uint32_t length;
	uintptr_t bias;
	char path[4096];
} self;

static void look_for_id(const uint8_t *p, const uint8_t *end)
{
	while ((size_t)(end - p) > sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)p;

		p += sizeof(*note);
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    note->n_descsz <= sizeof(self.id)) {
			memcpy(self.id, p + 4, note->n_descsz);
			self.length = note->n_descsz;
		}
		p += ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u);
	}
}

/* The program itself comes first. */
static int look_at_self(struct dl_phdr_info *info, size_t size, void *arg)
{
	self.bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const uint8_t *p = (const uint8_t *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			look_for_id(p, p + info->dlpi_phdr[i].p_memsz);
	}
	return 1;
}

static __attribute__((noinline)) void somewhere(void)
{
	__asm__ volatile("");
}

static void ask(const char *when, bool lines)
{
	char *name = nvs_helper_name("_ZN2ns1fEi");
	char *line = nvs_helper_line(self.path, self.id, self.length,
				     (uintptr_t)somewhere - self.bias);

	CHECK(name && !strcmp(name, "ns::f(int)"), "%s: %s", when, name ? name : "no name");
	CHECK(!lines || (line && !strncmp(line, "test_helper.c:", 14)), "%s: %s", when,
	      line ? line : "no line");
	nvs_budget_free(name);
	nvs_budget_free(line);
	nvs_helper_stop();
}

static sem_t held, done;

/* Nothing can be loaded before this has returned. */
static int hold(struct dl_phdr_info *info, size_t size, void *arg)
{
	sem_post(&held);
	sem_wait(&done);
	return 1;
}

static void *hold_loader(void *arg)
{
	dl_iterate_phdr(hold, NULL);
	return NULL;
}

static __attribute__((unused)) void *change_environment(void *arg)
{
	while (sem_trywait(&done)) {
		setenv("NVSNOOP_TEST", "1", 1);
		unsetenv("NVSNOOP_TEST");
	}
	return NULL;
}

static void beside(const char *what, void *(*run)(void *), bool says, bool lines)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	if (says)
		sem_wait(&held);
	for (int i = 0; i < 20; i++)
		ask(what, lines);
	sem_post(&done);
	pthread_join(thread, NULL);
}

/* Processor time of helpers that are gone. */
static unsigned long spent_ms(void)
{
	struct rusage used;

	nvs_helper_stop();
	getrusage(RUSAGE_CHILDREN, &used);
	return (unsigned long)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
	       (unsigned long)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

/* BEGIN, a pair of ints, and N times a pair of two of the last: within one another where OPEN. */
static void write_pairs(char *dst, size_t room, const char *begin, unsigned n, bool open)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	FILE *f = fmemopen(dst, room, "w");

	fprintf(f, "%sSt4pairI", begin);
	for (unsigned i = 1; open && i < n; i++)
		fputs("S_I", f);
	fputs("iiE", f);
	for (unsigned i = 1; i < n; i++)
		if (open)
			fprintf(f, "S%c_E", digits[i - 1]);
		else
			fprintf(f, "S_IS%c_S%c_E", digits[i - 1], digits[i - 1]);
	fclose(f);
}

/* Templates of templates: short where they are mangled, thousands of characters where they are not.
 */
static void long_names(void)
{
	static const struct {
		unsigned pairs, length;
	} known[] = {{3, 0}, {8, 3000}, {10, 30000}};
	char mangled[256], *name;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		write_pairs(mangled, sizeof(mangled), "_Z9long_name", known[i].pairs, false);
		name = nvs_helper_name(mangled);
		CHECK(name && !strncmp(name, "long_name(std::pair<", 20) &&
			      strlen(name) >= known[i].length && name[strlen(name) - 1] == ')',
		      "%s: %s", mangled, name ? name : "not written out");
		nvs_budget_free(name);
	}
}

/* Names that would have no end: held by time, by what they would become, and by their length. */
static void limits(void)
{
	char name[NVS_HELPER_MAX_NAME + 1];
	unsigned long before = spent_ms(), took;

	write_pairs(name, sizeof(name), "_Z1fDp", 35, true);
	CHECK(!nvs_helper_name(name), "%s has been written out", name);
	took = spent_ms() - before;
	CHECK(took < 5 * NVS_HELPER_NAME_MS, "%s: %lu ms", name, took);
	write_pairs(name, sizeof(name), "_Z1f", 35, false);
	CHECK(!nvs_helper_name(name), "%s has been written out", name);
	memset(name, 'i', sizeof(name));
	memcpy(name, "_Z1f", 4);
	name[NVS_HELPER_MAX_NAME] = '\0';
	CHECK(!nvs_helper_name(name), "a name of %d bytes has been written out",
	      NVS_HELPER_MAX_NAME);
	name[NVS_HELPER_MAX_NAME - 1] = '\0';
	nvs_budget_free(nvs_helper_name(name));
	ask("behind names without end", false);
}

int main(void)
{
	void *libdw = dlopen("libdw.so.1", RTLD_NOW);
	bool lines = libdw != NULL;

	if (libdw)
		dlclose(libdw);
	sem_init(&held, 0, 0);
	sem_init(&done, 0, 0);
	CHECK(readlink("/proc/self/exe", self.path, sizeof(self.path) - 1) > 0, "no path");
	dl_iterate_phdr(look_at_self, NULL);
	CHECK(self.length, "no build-id");
	if (!lines)
		puts("libdw is not installed: names alone");
	ask("alone", lines);
	long_names();
	limits();
	beside("the loader is at work", hold_loader, true, lines);
#ifndef __SANITIZE_ADDRESS__ /* whose allocator does not see to forks as the C library's does */
	beside("the environment changes", change_environment, false, lines);
#endif
	return expect_done();
}
