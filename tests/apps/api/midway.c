/* SPDX-License-Identifier: MIT */
/*
 * A function that is chosen while the loader relocates who uses it: the chance to look at an object
 * that the loader is in the middle of.
 */
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
