/* SPDX-License-Identifier: MIT */
/*
 * Only for the bundle: libelf.a of a newer distribution calls strtol() by the name that it has
 * since glibc 2.38. This defines that name with the old function, so that the bundle runs on older
 * systems.
 */
#include <stdlib.h>

long __isoc23_strtol(const char *text, char **end, int base);

long __isoc23_strtol(const char *text, char **end, int base)
{
	return strtol(text, end, base);
}
