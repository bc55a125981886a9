/* SPDX-License-Identifier: MIT */
/* A module that needs this liblzma, as Python's _lzma does. */
int lzma_new(void);
int plug_number(void);

int plug_number(void)
{
	return lzma_new();
}
