/* SPDX-License-Identifier: MIT */
/* Reads and checks the words of SOFTGPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "options.h"
#include "release.h"

/* Those that end with = have a value. */
static const char *const words[] = {
	"apart",     "blackwell", "busy",	  "clock",	 "eager",   "fault",
	"full",	     "gpus=",	  "high",	  "idle",	 "layout=", "machine",
	"mute",	     "next",	  "once",	  "own",	 "patient", "poison",
	"release=",  "sass",	  "slow-modules", "stated-late", "time",    "turned",
	"unguarded", "unstated",  "untold",	  "usermode=",	 "wrong",   "xfer",
};

/* What follows NAME in the word that begins with it. Returns NULL if there is no such word. */
static const char *behind(const char *name)
{
	size_t n = strlen(name);
	const char *s = getenv("SOFTGPU");

	while (s && *s) {
		if (!strncmp(s, name, n) && strchr("=,", s[n]))
			return s + n;
		s += strcspn(s, ",");
		s += *s == ',';
	}
	return NULL;
}

bool sg_option(const char *name)
{
	return behind(name);
}

const char *sg_option_value(const char *name)
{
	const char *s = behind(name);

	return s && *s == '=' ? s + 1 : NULL;
}

uint32_t sg_usermode(void)
{
	const char *s = sg_option_value("usermode");

	return s ? (uint32_t)strtoul(s, NULL, 16) : 0xc661;
}

static bool is_known(const char *s, size_t n)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i]);
		bool value = words[i][length - 1] == '=';

		if (!strncmp(s, words[i], length) && (value ? n > length : n == length))
			return true;
	}
	return false;
}

uint32_t sg_options_check(char *text, uint32_t size)
{
	const char *s = getenv("SOFTGPU"), *release = sg_option_value("release");

	for (; s && *s; s += *s == ',') {
		size_t n = strcspn(s, ",");

		if (n && !is_known(s, n))
			return (uint32_t)snprintf(text, size, "SOFTGPU: %.*s is no option\n",
						  (int)n, s);
		s += n;
	}
	if (release && !sg_driver_release())
		return (uint32_t)snprintf(text, size,
					  "SOFTGPU: release=%.*s is none from 515.43.04 to "
					  "620.255.255, nor 999.1.1\n",
					  (int)strcspn(release, ","), release);
	return 0;
}
