/* SPDX-License-Identifier: MIT */
/* Names of traces: patterns, hostile parts, names that exist. */
/* LINK: preload/base/names.o */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "preload/base/names.h"

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

static char *variable(const char *name)
{
	if (!strcmp(name, "RANK"))
		return "3";
	return strcmp(name, "DIR") ? NULL : "/tmp/x";
}

static struct nvs_name_fields facts = {4711, "python3.11", "node7", variable};
static char name[256];

static int expands_to(const char *pattern, const char *expected)
{
	int err = nvs_name_expand(pattern, &facts, name, sizeof(name));

	return !err && !strcmp(name, expected);
}

static int error_of(const char *pattern)
{
	return nvs_name_expand(pattern, &facts, name, sizeof(name));
}

static void test_patterns(void)
{
	CHECK(expands_to("trace.zst", "trace.zst"));
	CHECK(expands_to("nvsnoop.%e.%p.zst", "nvsnoop.python3.11.4711.zst"));
	CHECK(expands_to("%q{DIR}/%h-%q{RANK}.%p.zst", "/tmp/x/node7-3.4711.zst"));
	CHECK(expands_to("100%%.zst", "100%.zst"));
	CHECK(error_of("%x") == -EINVAL);
	CHECK(error_of("trace%") == -EINVAL);
	CHECK(error_of("%q{NONE}") == -EINVAL);
	CHECK(error_of("%q{RANK") == -EINVAL);
	CHECK(error_of("%qRANK}") == -EINVAL);
	CHECK(error_of("%q{}") == -EINVAL);
	CHECK(error_of("") == -EINVAL);
	CHECK(error_of("dir/") == -EINVAL);
}

static void test_hostile(void)
{
	static const char *const programs[] = {"../../etc/passwd", "a/b", "..", ".", "",
					       "a\nb\033[2J"};
	static const char *const expected[] = {".._.._etc_passwd", "a_b",     "unknown",
					       "unknown",	   "unknown", "a_b_[2J"};

	for (int i = 0; i < 6; i++) {
		facts.program = programs[i];
		CHECK(expands_to("%e", expected[i]));
		facts.host = programs[i];
		CHECK(expands_to("%h", expected[i]));
	}
	facts.program = NULL;
	CHECK(expands_to("%e", "unknown"));
	facts.program = "p";
	facts.host = "h";
}

static void test_lengths(void)
{
	static char pattern[600];
	char small[8];

	memset(pattern, 'a', sizeof(pattern) - 1);
	CHECK(error_of(pattern) == -ENAMETOOLONG);
	pattern[255] = '\0';
	CHECK(error_of(pattern) == 0);
	CHECK(nvs_name_expand("1234567", &facts, small, sizeof(small)) == 0);
	CHECK(nvs_name_expand("12345678", &facts, small, sizeof(small)) == -ENAMETOOLONG);
	CHECK(nvs_name_expand("1234%p", &facts, small, sizeof(small)) == -ENAMETOOLONG);
}

static int other_is(const char *of, unsigned try, const char *expected)
{
	return !nvs_name_alternative(of, 42, try, name, sizeof(name)) && !strcmp(name, expected);
}

static void test_taken(void)
{
	CHECK(other_is("trace.zst", 0, "trace.zst"));
	CHECK(other_is("trace.zst", 1, "trace.42.zst"));
	CHECK(other_is("trace.zst", 2, "trace.42.1.zst"));
	CHECK(other_is("trace.zst", 3, "trace.42.2.zst"));
	CHECK(other_is("dir.d/trace", 1, "dir.d/trace.42"));
	CHECK(other_is("dir.d/.hidden", 1, "dir.d/.hidden.42"));
	CHECK(other_is("/a/b.c.zst", 1, "/a/b.c.42.zst"));
	CHECK(nvs_name_alternative("trace.zst", 42, 1, name, 10) == -ENAMETOOLONG);
}

static void test_printing(void)
{
	char out[16];

	nvs_name_printable("a\033[31mb\n\177c\xc3\xa4", out, sizeof(out));
	CHECK(!strcmp(out, "a?[31mb??c\xc3\xa4"));
	nvs_name_printable("0123456789", out, 5);
	CHECK(!strcmp(out, "0123"));
	CHECK(!strcmp(nvs_base_name("/a/b/c"), "c") && !strcmp(nvs_base_name("c"), "c"));
}

int main(void)
{
	test_patterns();
	test_hostile();
	test_lengths();
	test_taken();
	test_printing();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
