/* SPDX-License-Identifier: MIT */
/* Stubs given to a library that looks up the C library's dlsym or dlvsym to bypass all hooks. */
#include "preload/api/arch/aarch64/lookup.h"

	.text

	.hidden	nvs_dlsym_below
	lookup	nvs_dlsym_below, nvs_libc_dlsym, nvs_api_dlsym_below, x2
	.hidden	nvs_dlvsym_below
	lookup	nvs_dlvsym_below, nvs_libc_dlvsym, nvs_api_dlvsym_below, x3

	.section .note.GNU-stack, "", @progbits
