/* SPDX-License-Identifier: MIT */
/* Copies what is written into blocks, and passes these to a thread. */
#include "decode/cli/background_file.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "decode/base/batches.h"

#define BLOCK_BYTES ((size_t)64 << 10)

struct file_block {
	struct background_file *file;
	size_t n;
	int error; /* errno of the first failed write, of this block or an earlier one */
	char text[BLOCK_BYTES];
};

struct background_file {
	int fd;
	struct nvs_batches blocks; /* of struct file_block; no pipeline: all was short so far */
	int failed; /* errno; belongs to the thread while it has a block */
	int error; /* errno of the first failure that is known here */
};

/* Returns 0 or an errno. */
static int write_all(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t done = write(fd, text, n);

		if (done < 0 && errno != EINTR)
			return errno;
		text += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

static void write_block(void *job)
{
	struct file_block *b = job;

	if (!b->file->failed)
		b->file->failed = write_all(b->file->fd, b->text, b->n);
	b->error = b->file->failed;
}

static int put_block(struct background_file *f, const char *text, size_t n)
{
	struct file_block *b = nvs_batches_start(&f->blocks);

	if (!b)
		return ENOMEM;
	f->error = f->error ? f->error : b->error;
	b->file = f;
	b->n = n;
	memcpy(b->text, text, n);
	nvs_batches_put(&f->blocks);
	return f->error;
}

static int put_text(struct background_file *f, const char *text, size_t n)
{
	if (!f->blocks.pipeline && n < BLOCK_BYTES)
		return write_all(f->fd, text, n);
	if (!f->blocks.pipeline &&
	    nvs_batches_init(&f->blocks, sizeof(struct file_block), write_block))
		return ENOMEM;
	while (n && !f->error) {
		size_t part = n < BLOCK_BYTES ? n : BLOCK_BYTES;

		f->error = put_block(f, text, part);
		text += part;
		n -= part;
	}
	return f->error;
}

static ssize_t on_write(void *file, const char *text, size_t n)
{
	struct background_file *f = file;

	if (!f->error)
		f->error = put_text(f, text, n);
	errno = f->error;
	return f->error ? 0 : (ssize_t)n;
}

static int on_close(void *file)
{
	struct background_file *f = file;
	int error;

	if (f->blocks.pipeline)
		nvs_batches_drain(&f->blocks);
	error = f->error ? f->error : f->failed;
	nvs_batches_free(&f->blocks, NULL);
	if (close(f->fd) && !error)
		error = errno;
	free(f);
	errno = error;
	return error ? -1 : 0;
}

FILE *nvs_background_file(int fd)
{
	struct background_file *f = calloc(1, sizeof(*f));
	FILE *file = NULL;

	if (f) {
		f->fd = fd;
		file = fopencookie(f, "w",
				   (cookie_io_functions_t){.write = on_write, .close = on_close});
	}
	if (!file)
		free(f);
	return file;
}
