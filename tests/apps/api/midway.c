/* SPDX-License-Identifier: MIT */
/* A function that the loader resolves (ifunc) while it relocates its users, so that it sees a
 * library that is only partly loaded. */
void (*midway_hook)(void);

static int chosen(void)
{
	return 7;
}

static int (*choose(void))(void)
{
	if (midway_hook)
		midway_hook();
	return chosen;
}

int midway(void) __attribute__((ifunc("choose")));
