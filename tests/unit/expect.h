/* SPDX-License-Identifier: MIT */
/* Checks of a unit test program, and the line it ends with. */
#ifndef NVSNOOP_TESTS_EXPECT_H
#define NVSNOOP_TESTS_EXPECT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int expect_passed, expect_failed;

static inline int expect_(int ok, const char *file, int line)
{
	if (ok) {
		expect_passed++;
		return 1;
	}
	expect_failed++;
	printf("%s:%d: ", file, line);
	return 0;
}

#define EXPECT(x)                                        \
	do {                                             \
		if (!expect_(!!(x), __FILE__, __LINE__)) \
			printf("%s\n", #x);              \
	} while (0)

#define EXPECT_EQ(got, want)                                                          \
	do {                                                                          \
		uint64_t got_ = (uint64_t)(got), want_ = (uint64_t)(want);            \
		if (!expect_(got_ == want_, __FILE__, __LINE__))                      \
			printf("%s is %llu (0x%llx), not %llu (0x%llx)\n", #got,      \
			       (unsigned long long)got_, (unsigned long long)got_,    \
			       (unsigned long long)want_, (unsigned long long)want_); \
	} while (0)

#define EXPECT_STR(got, want)                                                    \
	do {                                                                     \
		const char *got_ = (got), *want_ = (want);                       \
		if (!expect_(!strcmp(got_, want_), __FILE__, __LINE__))          \
			printf("%s is \"%s\", not \"%s\"\n", #got, got_, want_); \
	} while (0)

static inline int expect_done(void)
{
	printf("%d passed, %d failed\n", expect_passed, expect_failed);
	return expect_failed ? 1 : 0;
}

#endif
