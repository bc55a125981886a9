/* SPDX-License-Identifier: MIT */
/*
 * For the bundle alone: a newer distribution's libelf.a asks for strtol() under the name that
 * glibc 2.38 gave it. Here is that name in terms of the old one, so that the bundle runs on older
 * systems.
 */
#include <stdlib.h>

long __isoc23_strtol(const char *text, char **end, int base);

long __isoc23_strtol(const char *text, char **end, int base)
{
	return strtol(text, end, base);
}
