/* SPDX-License-Identifier: MIT */
/* LINK: cli decode */
/* A file that another thread writes has all that was written, in order, whatever the sizes of the
 * writes; and a write that fails is reported, at the latest when the file is closed. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "decode/cli/background_file.h"
#include "tests/unit/expect.h"

enum { ALL = 3 << 20, LIMIT = 200 << 10 };

static char text[ALL], back[ALL + 1];

static int open_file(void)
{
	char path[] = "/tmp/nvsnoop-test-XXXXXX";
	int fd = mkstemp(path);

	if (fd >= 0)
		unlink(path);
	return fd;
}

/* Writes N bytes in pieces of 1 to MOST bytes. Returns false if a write failed. */
static bool put_pieces(FILE *file, size_t n, size_t most)
{
	for (size_t at = 0, piece = 1; at < n; at += piece) {
		piece = 1 + (at * 7 + most / 2) % most;
		piece = piece < n - at ? piece : n - at;
		if (fwrite(text + at, 1, piece, file) != piece)
			return false;
	}
	return true;
}

static void check_whole(size_t n, size_t most)
{
	int fd = open_file(), copy = dup(fd);
	FILE *file = nvs_background_file(fd);

	EXPECT(file);
	setvbuf(file, NULL, _IOFBF, 1 << 16);
	EXPECT(put_pieces(file, n, most));
	EXPECT(!fclose(file));
	EXPECT(pread(copy, back, sizeof(back), 0) == (ssize_t)n && !memcmp(back, text, n));
	close(copy);
}

/* The file may not become larger than LIMIT. */
static void check_failure(size_t n, size_t most)
{
	FILE *file = nvs_background_file(open_file());
	bool good;

	EXPECT(file);
	good = put_pieces(file, n, most);
	errno = 0;
	if (fclose(file))
		EXPECT(errno == EFBIG);
	else
		EXPECT(!good);
}

int main(void)
{
	for (size_t i = 0; i < ALL; i++)
		text[i] = (char)(i * 31 + (i >> 8));
	check_whole(0, 1);
	check_whole(100, 1);
	check_whole(65536, 70000);
	check_whole(ALL, 1000);
	check_whole(ALL, 300000);
	check_whole(ALL, ALL);
	signal(SIGXFSZ, SIG_IGN);
	EXPECT(!setrlimit(RLIMIT_FSIZE, &(struct rlimit){LIMIT, RLIM_INFINITY}));
	check_failure(LIMIT + 1000, 1000);
	check_failure(LIMIT + 1000, LIMIT + 1000);
	check_failure(ALL, 1000);
	check_failure(ALL, ALL);
	return expect_done();
}
