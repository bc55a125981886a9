/* SPDX-License-Identifier: MIT */
/* NVSNOOP_OPTIONS: what is accepted and what is rejected; an invalid string changes nothing. */
/* LINK: preload/base/option_table.o preload/cli/units.o preload/base/settings.o */
/* LINK: preload/base/rank.o preload/base/workload.o */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "preload/base/options.h"
#include "preload/base/preload.h"

static int passed, failed;
#define CHECK(cond)                                                                     \
	do {                                                                            \
		if (cond) {                                                             \
			passed++;                                                       \
		} else {                                                                \
			failed++;                                                       \
			printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond); \
		}                                                                       \
	} while (0)

static struct nvs_option_values values;
static char error[200];

static int parse(const char *string)
{
	error[0] = '\0';
	return nvs_options_parse(&values, string, error, sizeof(error));
}

static int is_default(void)
{
	struct nvs_option_values standard;

	nvs_option_defaults(&standard);
	return !memcmp(&standard, &values, sizeof(values));
}

static void test_defaults(void)
{
	CHECK(parse(NULL) == 0 && is_default());
	CHECK(parse("") == 0 && is_default());
	CHECK(parse(",,") == 0 && is_default());
	CHECK(values.backtrace && values.spool && !values.step && !values.drop);
	CHECK(!values.overwrite && !values.quiet && !values.spool_dir[0]);
	CHECK(values.buffer_bytes == 1 << 20);
}

static void test_values(void)
{
	CHECK(parse("trap=step,backtrace=off,overflow=drop,buffer=64K,spool=/dev/"
		    "shm,overwrite,quiet") == 0);
	CHECK(values.step && !values.backtrace && values.drop && values.spool);
	CHECK(values.buffer_bytes == 65536 && !strcmp(values.spool_dir, "/dev/shm"));
	CHECK(values.overwrite && values.quiet);
	CHECK(parse("trap=step,trap=emulate") == 0 && !values.step);
	CHECK(parse("spool=off") == 0 && !values.spool && !values.spool_dir[0]);
	CHECK(parse("spool=off,spool=/x") == 0 && values.spool);
	CHECK(parse("quiet=off,overwrite=on") == 0 && !values.quiet && values.overwrite);
	CHECK(parse("spool=/a\\,b\\\\c") == 0 && !strcmp(values.spool_dir, "/a,b\\c"));
}

static void test_sizes(void)
{
	CHECK(parse("buffer=65536") == 0 && values.buffer_bytes == 65536);
	CHECK(parse("buffer=4m") == 0 && values.buffer_bytes == 4 << 20);
	CHECK(parse("buffer=1G") == 0 && values.buffer_bytes == 1u << 30);
	CHECK(parse("buffer=1048576K") == 0 && values.buffer_bytes == 1u << 30);
	CHECK(parse("buffer=32K") == -EINVAL && is_default());
	CHECK(parse("buffer=2G") == -EINVAL);
	CHECK(parse("buffer=100K") == -EINVAL);
	CHECK(parse("buffer=") == -EINVAL);
	CHECK(parse("buffer=M") == -EINVAL);
	CHECK(parse("buffer=-64K") == -EINVAL);
	CHECK(parse("buffer=64KB") == -EINVAL);
	CHECK(parse("buffer=99999999999999999999999") == -EINVAL);
	CHECK(parse("buffer=18446744073709617152") == -EINVAL);
	CHECK(parse("buffer") == -EINVAL);
}

static void test_long_runs(void)
{
	CHECK(parse("delay=1.5,duration=10,from=profiler,keep-last=50M") == 0);
	CHECK(values.delay_ns == 1500000000 && values.duration_ns == 10000000000);
	CHECK(values.from_profiler && values.keep_last == 50 << 20 && !values.max_size);
	CHECK(parse("delay=0.0000000019,max-size=2T") == 0);
	CHECK(values.delay_ns == 1 && values.max_size == 2ull << 40);
	CHECK(parse("from=profiler,from=start,delay=1,delay=0") == 0 && !values.from_profiler);
	CHECK(values.delay_ns == 0);
	for (const char *const *wrong =
		     (const char *const[]){"", ".5", "1.", "-1", "1e3", "1s", "1,5", "99999999999",
					   "18446744073709551617", "nan", NULL};
	     *wrong; wrong++) {
		char text[64];

		snprintf(text, sizeof(text), "delay=%s", *wrong);
		CHECK(parse(text) == -EINVAL && is_default() && error[0]);
	}
	CHECK(parse("duration=0") == -EINVAL && strstr(error, "above 0"));
	CHECK(parse("keep-last=63K") == -EINVAL && strstr(error, "from 64K"));
	CHECK(parse("max-size=1025T") == -EINVAL && parse("max-size=16777216T") == -EINVAL);
	CHECK(parse("keep-last=1M,max-size=1M") == -EINVAL && is_default());
	CHECK(parse("from=profiler,api=off") == -EINVAL && strstr(error, "api=on"));
}

/* A string that is wrong anywhere is ignored whole, and the message names what was wrong. */
static void test_wrong(void)
{
	CHECK(parse("quiet,tarp=step") == -EINVAL && is_default() && strstr(error, "tarp"));
	CHECK(parse("trap=fast,quiet") == -EINVAL && is_default() && strstr(error, "emulate|step"));
	CHECK(parse("trap") == -EINVAL);
	CHECK(parse("backtrace") == -EINVAL);
	CHECK(parse("backtrace=yes") == -EINVAL);
	CHECK(parse("overflow=block") == -EINVAL);
	CHECK(parse("quiet=yes") == -EINVAL && is_default());
	CHECK(parse("spool=") == -EINVAL);
	CHECK(parse("=") == -EINVAL);
	CHECK(parse("quiet ") == -EINVAL);
}

static void test_long(void)
{
	static char string[4000];

	memset(string, 'a', sizeof(string) - 1);
	CHECK(parse(string) == -EINVAL && is_default());
	memcpy(string, "spool=", 6);
	CHECK(parse(string) == -EINVAL && is_default());
	string[6 + 1023] = '\0';
	CHECK(parse(string) == 0 && strlen(values.spool_dir) == 1023);
	string[6 + 1023] = 'a';
	string[6 + 1024] = '\0';
	CHECK(parse(string) == -EINVAL);
}

static void test_count(void)
{
	CHECK(parse("count=both,count-pred-off=skip,count-instructions=3-16,count-kernels=s*,"
		    "exact=sync") == 0);
	CHECK(values.count == 3 && values.count_pred_on && values.exact);
	CHECK(values.count_first == 3 && values.count_end == 16);
	CHECK(!strcmp(values.count_kernels, "s*"));
	CHECK(parse("count=warp") == 0 && values.count == 1 && !values.count_end);
	CHECK(parse("count=thread") == 0 && values.count == 2);
	CHECK(parse("count=warp,count-instructions=16-3") == -EINVAL && is_default());
	CHECK(parse("count=warp,count-instructions=3-3") == -EINVAL);
	CHECK(parse("count=warp,count-instructions=3") == -EINVAL);
	CHECK(parse("count=warp,count-instructions=3-4x") == -EINVAL);
	CHECK(parse("count=warp,count-instructions=-4") == -EINVAL);
	CHECK(parse("count=warp,count-instructions=0-99999999999") == -EINVAL);
	CHECK(parse("exact=sync") == -EINVAL && parse("count-kernels=a") == -EINVAL);
	CHECK(parse("count=warp,api=off") == -EINVAL);
}

static void test_append(void)
{
	char out[32] = "";

	CHECK(nvs_options_append(out, sizeof(out), "quiet", NULL) == 0);
	CHECK(nvs_options_append(out, sizeof(out), "spool", "/a,b\\c") == 0);
	CHECK(!strcmp(out, "quiet,spool=/a\\,b\\\\c"));
	CHECK(parse(out) == 0 && values.quiet && !strcmp(values.spool_dir, "/a,b\\c"));
	CHECK(nvs_options_append(out, sizeof(out), "spool", "/much/too/long/for/it") == -ENOSPC);
}

/* Every key of the table is known to the parser: its first value, or none, is taken. */
static void test_table(void)
{
	for (const struct nvs_option *o = nvs_option_table; o->help; o++) {
		char value[64] = "";

		if (!o->name)
			continue;
		if (!o->argument)
			strcpy(value, "on");
		else if (!strcmp(o->argument, "SIZE"))
			strcpy(value, "64K");
		else if (!strcmp(o->argument, "SECONDS"))
			strcpy(value, "1.5");
		else if (!strcmp(o->argument, "A-B"))
			strcpy(value, "0-16");
		else
			sscanf(o->argument, "%63[^|]", value);
		nvs_option_defaults(&values);
		CHECK(nvs_option_set(&values, o->name, value, error, sizeof(error)) == 0);
		CHECK(nvs_option_set(&values, o->name, "", error, sizeof(error)) == -EINVAL);
		CHECK(o->help && *o->help && o->help[strlen(o->help) - 1] != '.');
	}
}

/* ---- read once, by whoever asks first, and asked meanwhile ---- */

static sem_t reading, go;
static const struct nvs_options *_Atomic in_handler;

/* In place of the C library's: a signal comes in the middle of the reading, which then takes long.
 *  */
char *getenv(const char *name)
{
	static char quiet[] = "quiet";

	if (strcmp(name, NVS_ENV_OPTIONS))
		return NULL;
	raise(SIGUSR1);
	sem_post(&reading);
	sem_wait(&go);
	return quiet;
}

static void ask(int sig)
{
	atomic_store(&in_handler, nvs_options());
}

static void *read_options(void *arg)
{
	return (void *)nvs_options();
}

static void test_once(void)
{
	pthread_t t;
	void *o;

	sem_init(&reading, 0, 0);
	sem_init(&go, 0, 0);
	signal(SIGUSR1, ask);
	alarm(60);
	pthread_create(&t, NULL, read_options, NULL);
	sem_wait(&reading);
	/* For want of them: nothing is recorded. */
	CHECK(nvs_options()->disabled);
	sem_post(&go);
	pthread_join(t, &o);
	CHECK(o == nvs_options() && !nvs_options()->disabled && nvs_options()->values.quiet);
	CHECK(atomic_load(&in_handler) == nvs_options());
}

int main(void)
{
	test_defaults();
	test_values();
	test_sizes();
	test_long_runs();
	test_wrong();
	test_long();
	test_count();
	test_append();
	test_table();
	test_once();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
