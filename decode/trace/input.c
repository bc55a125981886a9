/* SPDX-License-Identifier: MIT */
/* Opens, rewinds and closes the input file, and returns its frames in order, with or without the
 * read-ahead thread. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decode/base/text.h"
#include "decode/trace/input.h"

#define MAX_WINDOW 23 /* log2 of bytes, for frames without a stated size */
#define AHEAD_FROM 4u /* frames; for fewer a thread does not pay off */

void nvs_input_extend(struct nvs_input *in)
{
	struct stat st;

	if (!in->nfiles && in->size && !fstat(in->fd, &st) && (uint64_t)st.st_size > in->size) {
		in->size = (uint64_t)st.st_size;
		in->eof = false;
	}
}

static int make_context(struct nvs_input *in, struct nvs_error *err)
{
	if (in->dctx)
		return 0;
	in->dctx = ZSTD_createDCtx();
	if (!in->dctx)
		return nvs_fail(err, -ENOMEM, "%s: out of memory", in->path);
	ZSTD_DCtx_setParameter(in->dctx, ZSTD_d_windowLogMax, MAX_WINDOW);
	return 0;
}

int nvs_input_open(struct nvs_input *in, const char *path, struct nvs_error *err)
{
	struct stat st;

	memset(in, 0, sizeof(*in));
	in->path = path;
	/* Neither block on a pipe without a writer, nor acquire a controlling terminal. */
	in->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
				   : dup(STDIN_FILENO);
	if (in->fd < 0)
		return nvs_fail(err, -errno, "%s: cannot be opened: %s", path, strerror(errno));
	if (fstat(in->fd, &st) < 0 || S_ISDIR(st.st_mode))
		return nvs_fail(err, -EISDIR, "%s: is a directory, not a trace", path);
	in->seekable = S_ISREG(st.st_mode) && strcmp(path, "-");
	in->size = in->seekable ? (uint64_t)st.st_size : 0;
	return make_context(in, err);
}

void nvs_input_release(struct nvs_input *in)
{
	if (!in->seekable)
		return;
	nvs_read_ahead_stop(in);
	ZSTD_freeDCtx(in->dctx);
	free(in->buf);
	free(in->frame);
	in->dctx = NULL;
	in->buf = in->frame = NULL;
	in->room = in->start = in->end = in->frame_room = in->frame_size = 0;
}

void nvs_input_close(struct nvs_input *in)
{
	nvs_read_ahead_stop(in);
	for (uint32_t i = 0; i < in->nfiles; i++)
		close(in->files[i]);
	if (!in->nfiles && in->path && in->fd >= 0)
		close(in->fd);
	ZSTD_freeDCtx(in->dctx);
	free(in->buf);
	free(in->frame);
	memset(in, 0, sizeof(*in));
	in->fd = -1;
}

int nvs_input_rewind(struct nvs_input *in, struct nvs_error *err)
{
	if (!in->seekable)
		return nvs_fail(err, -ESPIPE, "%s: cannot be read twice; give a file", in->path);
	nvs_read_ahead_stop(in);
	in->file = 0;
	if (in->nfiles)
		in->fd = in->files[0];
	for (uint32_t i = 1; i < in->nfiles; i++)
		lseek(in->files[i], 0, SEEK_SET);
	if (lseek(in->fd, 0, SEEK_SET) < 0)
		return nvs_fail(err, -errno, "%s: %s", in->path, strerror(errno));
	in->offset = in->start = in->end = 0;
	in->passed = in->unpacked = 0;
	in->frames = 0;
	in->eof = false;
	return make_context(in, err);
}

bool nvs_input_prepend(struct nvs_input *in, int fd)
{
	struct stat st;

	if (!in->nfiles)
		in->files[in->nfiles++] = in->fd;
	if (in->nfiles == NVS_MAX_FILES || fstat(fd, &st))
		return false;
	memmove(in->files + 1, in->files, in->nfiles++ * sizeof(*in->files));
	in->files[0] = fd;
	in->size += (uint64_t)st.st_size;
	return true;
}

bool nvs_input_next_file(struct nvs_input *in)
{
	if (in->file + 1 >= in->nfiles)
		return false;
	in->offset += in->end - in->start;
	in->start = in->end = 0;
	in->fd = in->files[++in->file];
	in->eof = false;
	return true;
}

int nvs_input_frame(struct nvs_input *in, struct nvs_error *err)
{
	int r;

	if (in->ahead)
		return nvs_read_ahead_frame(in, err);
	r = nvs_frame_unpack(in, err);
	if (r == 1 && ++in->frames == AHEAD_FROM)
		nvs_read_ahead_start(in);
	return r;
}
