/* SPDX-License-Identifier: MIT */
/* A liblzma that is newer than the system's, as a program may include its own. */
int lzma_new(void);

int lzma_new(void)
{
	return 54;
}
