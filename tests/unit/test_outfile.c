/* SPDX-License-Identifier: MIT */
/* Two processes that create the same output file: in every order of their system calls, exactly one
 * gets the name, the other is told that it exists, and no file is deleted while it is in use. */
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>
#include "preload/base/sys.h"
#include "tests/unit/expect.h"

static void step(void);
#define nvs_sys_open(...) (step(), nvs_sys_open(__VA_ARGS__))
#define nvs_sys_flock(...) (step(), nvs_sys_flock(__VA_ARGS__))
#define nvs_sys_lstat(...) (step(), nvs_sys_lstat(__VA_ARGS__))
#define nvs_sys_unlink(...) (step(), nvs_sys_unlink(__VA_ARGS__))
#define nvs_sys_close(...) (step(), nvs_sys_close(__VA_ARGS__))
#include "preload/base/outfile.c"

#define TURNS 18 /* more than both have steps */
#define STACK (64 << 10)

/* Two files opened by themselves are two to the kernel's locks, so one process plays both. */
static struct process {
	ucontext_t context;
	struct nvs_outfile file;
	bool replace, done;
	int err;
	char stack[STACK];
} each[2];
static ucontext_t outside;
static unsigned running;
static bool stepping;
static char path[PATH_MAX];

static void step(void)
{
	if (stepping)
		swapcontext(&each[running].context, &outside);
}

static void create(void)
{
	struct process *p = &each[running];

	p->err = nvs_outfile_create(&p->file, path, O_WRONLY | O_APPEND, p->replace);
	p->done = true;
}

static void begin(struct process *p, bool replace)
{
	p->replace = replace;
	p->done = false;
	getcontext(&p->context);
	p->context.uc_stack.ss_sp = p->stack;
	p->context.uc_stack.ss_size = STACK;
	p->context.uc_link = &outside;
	makecontext(&p->context, create, 0);
}

/* The bits of TURNS say who is next, the highest first. Returns the next row of turns that is
 * another. */
static unsigned run(unsigned turns)
{
	unsigned left = TURNS;

	stepping = true;
	while (!each[0].done || !each[1].done) {
		if (each[0].done || each[1].done)
			running = each[0].done;
		else
			running = left ? turns >> --left & 1 : 0;
		swapcontext(&outside, &each[running].context);
	}
	stepping = false;
	return (turns | ((1u << left) - 1)) + 1;
}

static bool has_name(const struct nvs_outfile *file)
{
	struct stat st;

	return !stat(path, &st) && st.st_ino == file->ino;
}

enum before { NOTHING, AN_OLD_ONE, ONE_IN_USE, BEFORES };

/* How many orders do not end as they must. */
static unsigned count_bad(enum before before, bool first_replaces, bool second_replaces)
{
	struct nvs_outfile old = {.fd = -1};
	unsigned bad = 0, runs = 0;

	for (unsigned turns = 0; turns < 1u << TURNS; runs++) {
		unsigned made = 0, kept = 0, told = 0;

		if (before != NOTHING && nvs_outfile_create(&old, path, O_WRONLY | O_APPEND, false))
			break;
		if (before == AN_OLD_ONE)
			nvs_outfile_close(&old);
		begin(&each[0], first_replaces);
		begin(&each[1], second_replaces);
		turns = run(turns);
		for (int i = 0; i < 2; i++) {
			made += !each[i].err;
			told += each[i].err == -EEXIST;
			kept += !each[i].err && has_name(&each[i].file);
		}
		if (before == ONE_IN_USE)
			bad += told != 2 || !has_name(&old);
		else
			bad += made != 1 || kept != 1 || told != 1;
		for (int i = 0; i < 2; i++)
			if (!each[i].err)
				nvs_outfile_close(&each[i].file);
		if (before == ONE_IN_USE)
			nvs_outfile_close(&old);
		unlink(path);
	}
	EXPECT(runs > 5);
	return bad;
}

int main(void)
{
	char folder[] = "/tmp/test_outfile.XXXXXX";

	EXPECT(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/trace", folder);
	for (enum before before = NOTHING; before < BEFORES; before++) {
		EXPECT_EQ(count_bad(before, true, true), 0);
		EXPECT_EQ(count_bad(before, true, false), 0);
	}
	rmdir(folder);
	return expect_done();
}
