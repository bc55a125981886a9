/* SPDX-License-Identifier: MIT */
/* Frames of the writer: filled, compressed, and written to the file in order. */
#include "preload/writer/writer.h"

#define ALONE_FRAMES 2 /* number of frames in a round that the writer compresses itself, */
#define BUSY_FRAMES 4 /* unless the previous round had this many */

/* Called at the end of each frame: it is in the file or is lost. Frees its space in the thread
 * buffers. */
void nvs_writer_commit(void *arg, const struct nvs_zframe *frame, const void *packed, ssize_t size)
{
	struct nvs_writer *w = arg;
	const struct nvs_merge_counts *counts = &frame->counts;
	int err;

	if (w->keep.limit)
		nvs_keep_use_own_fd(&w->keep);
	err = counts->records ? nvs_sink_write(&w->sink, packed, size, frame->size) : 0;

	if (err) {
		w->first_error = w->first_error ? w->first_error : err;
		w->lost_submissions += counts->submissions;
		w->lost_bytes += counts->submission_bytes;
		w->session->head->lost_submissions += counts->submissions;
		w->session->head->lost_bytes += counts->submission_bytes;
	}
	nvs_merge_commit(frame);
	nvs_writer_heartbeat(w);
}

/* Returns true if the writer has to pack the frame itself: in a sandbox no other thread of the
 * library can open the newest part. */
static bool must_pack_alone(struct nvs_writer *w)
{
	if (!w->keep.limit || !w->packers.running)
		return false;
	nvs_watch_check_sandbox(w->session);
	return w->merge->again || nvs_session_is_confined();
}

void nvs_writer_pack(struct nvs_writer *w, const struct nvs_zframe *frame)
{
	if (w->dropping)
		nvs_merge_commit(frame);
	else if (must_pack_alone(w))
		nvs_packers_write(&w->packers, frame);
	else if (w->frames_now++ >= ALONE_FRAMES || w->frames_before >= BUSY_FRAMES)
		nvs_packers_submit(&w->packers, frame);
	else
		nvs_packers_write(&w->packers, frame);
}

/* Packs what is left in the current frame. */
void nvs_writer_flush(struct nvs_writer *w)
{
	const struct nvs_zframe *frame = nvs_merge_take_rest(w->merge);

	if (frame)
		nvs_writer_pack(w, frame);
}

void nvs_writer_add(struct nvs_writer *w, const struct nvs_rec *rec)
{
	while (!nvs_merge_add(w->merge, rec))
		nvs_writer_flush(w);
}
