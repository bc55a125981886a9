/* SPDX-License-Identifier: MIT */
/* A liblzma newer than any system's, as a program may bring its own. */
int lzma_new(void);

int lzma_new(void)
{
	return 54;
}
