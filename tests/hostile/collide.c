/* SPDX-License-Identifier: MIT */
/* Prints keys of eight bytes that uthash's own hash function puts into one bucket, for every table
 * size; as many as requested, as they are in memory. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <uthash.h>

#define SAME 0x3ffu /* low bits of the hash: after two vain attempts a table is not made larger */

int main(int argc, char **argv)
{
	long left = argc > 1 ? atol(argv[1]) : 0;

	for (uint32_t key[2] = {1, 0}; left > 0; key[1]++) {
		unsigned hash;

		HASH_JEN(key, sizeof(key), hash);
		if (!(hash & SAME)) {
			fwrite(key, sizeof(key), 1, stdout);
			left--;
		}
	}
	return fflush(stdout) ? 1 : 0;
}
