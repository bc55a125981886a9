/* SPDX-License-Identifier: MIT */
/* Adds names to a trace: appends frames with the names of its stacks' addresses. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decode/trace/embed.h"
#include "decode/trace/internal.h"

#define FRAME_BYTES (1u << 20) /* approximate size of a frame's records */
#define SEEK_FRAME 0x184d2a5eu

static const uint8_t seek_end[5] = {0, 0xb1, 0xea, 0x92, 0x8f}; /* no checksums, and the magic
								 * number */

struct seen_address {
	uint64_t key[2]; /* module, address */
};

struct embedding {
	struct nvs_trace *t;
	struct nvs_embed_counts *done;
	struct nvs_rows seen; /* struct seen_address */
	ZSTD_CCtx *cctx;
	uint8_t *frame; /* FRAME and the NAME records to compress */
	size_t used, room;
	uint8_t *packed; /* compressed frames, finally the seek table */
	size_t packed_used, packed_room;
	uint32_t *seek; /* compressed and raw size of each new frame */
	uint32_t nframes;
	uint64_t number; /* of the next frame */
	uint64_t size, end; /* of the file, and of its frames */
};

static bool grow_buffer(uint8_t **data, size_t *room, size_t need)
{
	size_t next = *room * 2 > need ? *room * 2 : need;
	void *p = need <= *room ? *data : realloc(*data, next);

	if (!p)
		return false;
	if (need > *room)
		*room = next;
	*data = p;
	return true;
}

/* ---- frames ---- */

static int flush_frame(struct embedding *e)
{
	size_t bound = ZSTD_compressBound(e->used), n;
	uint32_t *seek;

	if (!e->used)
		return 0;
	seek = realloc(e->seek, (e->nframes + 1ul) * 2 * sizeof(*seek));
	if (seek)
		e->seek = seek;
	if (!seek || !grow_buffer(&e->packed, &e->packed_room, e->packed_used + bound))
		return -ENOMEM;
	n = ZSTD_compress2(e->cctx, e->packed + e->packed_used, bound, e->frame, e->used);
	if (ZSTD_isError(n))
		return -ENOMEM;
	e->seek[2 * e->nframes] = (uint32_t)n;
	e->seek[2 * e->nframes++ + 1] = (uint32_t)e->used;
	e->packed_used += n;
	e->used = 0;
	return 0;
}

static void *append_record(struct embedding *e, const struct nvs_rec *rec)
{
	void *at = e->frame + e->used;

	memcpy(at, rec, rec->size);
	e->used += rec->size;
	return at;
}

static int add_record(struct embedding *e, const struct nvs_rec *rec)
{
	struct nvs_rec_frame head = {
		.rec = {NVS_REC_FRAME, 0, sizeof(head), e->t->session.last_time},
		.number = e->number,
	};
	int r = e->used + rec->size > FRAME_BYTES ? flush_frame(e) : 0;

	if (r)
		return r;
	if (!grow_buffer(&e->frame, &e->room, e->used + sizeof(head) + rec->size))
		return -ENOMEM;
	if (!e->used) {
		append_record(e, &head.rec);
		e->number++;
	}
	rec = append_record(e, rec);
	e->done->added++;
	return nvs_embedded_names_add(e->t, (const void *)rec);
}

/* ---- names ---- */

static uint16_t text_length(const char *text)
{
	return text && strlen(text) <= UINT16_MAX ? (uint16_t)strlen(text) : 0;
}

/* LIKE holds the other members, and the length of FILE. */
static int add_name(struct embedding *e, struct nvs_rec_name *like, const char *name,
		    const char *exported, const char *file)
{
	size_t size = sizeof(*like) + text_length(name) + text_length(exported) + like->file_length;
	struct nvs_rec_name *rec = calloc(1, (size + 7) & ~7ul);
	char *to;
	int r;

	if (!rec)
		return -ENOMEM;
	like->rec.type = NVS_REC_NAME;
	like->rec.size = (uint32_t)(size + 7) & ~7u;
	like->rec.time = e->t->session.last_time;
	like->name_length = text_length(name);
	like->exported_length = text_length(exported);
	*rec = *like;
	to = rec->text;
	memcpy(to, name ? name : "", rec->name_length);
	memcpy(to + rec->name_length, exported ? exported : "", rec->exported_length);
	memcpy(to + rec->name_length + rec->exported_length, file ? file : "", rec->file_length);
	r = add_record(e, &rec->rec);
	free(rec);
	return r;
}

/* Adds the name of an address that the trace has no record for. */
static int add_address(struct embedding *e, const struct nvs_trace_module *m, uint64_t pc)
{
	struct nvs_rec_name rec = {.module = m ? m->module : NVS_NONE,
				   .address = m ? pc - m->bias : pc};
	const char *exported, *name;

	exported = nvs_symbols_lookup(e->t, m, pc, true, &rec.exported_offset);
	name = nvs_symbols_lookup(e->t, m, pc, false, &rec.offset);
	if (!name && !(m && nvs_symbols_has_file(e->t, m))) {
		e->done->open += m != NULL;
		return 0;
	}
	if (exported && name && !strcmp(exported, name) && rec.exported_offset == rec.offset) {
		rec.rec.flags = NVS_NAME_EXPORTED;
		rec.exported_offset = 0;
		exported = NULL;
	}
	return add_name(e, &rec, name, exported, NULL);
}

/* Returns true the first time an address is passed. */
static bool first_time(struct embedding *e, uint32_t module, uint64_t address)
{
	const uint64_t key[2] = {module, address};
	size_t known = e->seen.n;

	return nvs_rows_at(&e->seen, key) && e->seen.n > known;
}

static int process_frame(struct embedding *e, const struct nvs_trace_stack *s, uint32_t frame)
{
	uint64_t pc = s->pc[frame] - (frame ? 1 : 0);
	const struct nvs_trace_module *m = nvs_symbols_module(e->t, pc, s->time);
	uint32_t number = m ? m->module : NVS_NONE;
	uint64_t address = m ? pc - m->bias : pc;

	if (!first_time(e, number, address))
		return 0;
	e->done->addresses++;
	return nvs_embedded_names_find(e->t, number, address) ? 0 : add_address(e, m, pc);
}

/* Adds the source line of a stack's call site, if there is debug information. */
static int add_line(struct embedding *e, const struct nvs_trace_stack *s)
{
	uint32_t frame = nvs_trace_callsite(e->t, s->stack)->site_frame;
	const char *line = nvs_trace_callsite_line(e->t, s->stack), *colon = strrchr(line, ':');
	uint64_t pc = colon ? s->pc[frame] - (frame ? 1 : 0) : 0;
	const struct nvs_trace_module *m = colon ? nvs_symbols_module(e->t, pc, s->time) : NULL;
	const struct nvs_embedded_name *known =
		m ? nvs_embedded_names_find(e->t, m->module, pc - m->bias) : NULL;
	struct nvs_rec_name rec = {0};

	if (!known || known->line || colon - line > UINT16_MAX)
		return 0;
	rec.module = m->module;
	rec.address = pc - m->bias;
	rec.line = (uint32_t)strtoul(colon + 1, NULL, 10);
	rec.file_length = (uint16_t)(colon - line);
	return add_name(e, &rec, NULL, NULL, line);
}

static int process_stacks(struct embedding *e)
{
	int r = 0;

	for (uint32_t i = 0; i < nvs_trace_stack_count(e->t) && !r; i++) {
		const struct nvs_trace_stack *s = nvs_trace_stack_at(e->t, i);

		for (uint32_t k = 0; s && k < s->nframes && !r; k++)
			r = process_frame(e, s, k);
	}
	for (uint32_t i = 0; i < nvs_trace_stack_count(e->t) && !r; i++)
		if (nvs_trace_stack_at(e->t, i))
			r = add_line(e, nvs_trace_stack_at(e->t, i));
	return r ? r : flush_frame(e);
}

static void count_names(struct embedding *e)
{
	for (size_t i = 0; i < e->seen.n; i++) {
		const struct seen_address *s = e->seen.row[i];
		const struct nvs_embedded_name *n =
			nvs_embedded_names_find(e->t, (uint32_t)s->key[0], s->key[1]);

		e->done->named += n && n->name;
		e->done->lines += n && n->line;
	}
	nvs_rows_free(&e->seen, NULL);
}

/* ---- the file ---- */

/* If the frames are followed by a seek table and nothing else, appends a new table that includes
 * the new frames. */
static int add_seek_table(struct embedding *e)
{
	uint64_t size = e->size - e->end, entries = size / 8 - 2, n = entries + e->nframes, sum = 0;
	uint32_t head[2], packed;
	uint8_t *to, end[9];

	if (size < 17 || size % 8 != 1 || size > UINT32_MAX / 2)
		return 0;
	if (!grow_buffer(&e->packed, &e->packed_room, e->packed_used + n * 8 + 17))
		return -ENOMEM;
	to = e->packed + e->packed_used;
	if (!nvs_spool_read(e->t->in.fd, head, 8, e->end) ||
	    !nvs_spool_read(e->t->in.fd, end, 9, e->size - 9) ||
	    !nvs_spool_read(e->t->in.fd, to + 8, entries * 8, e->end + 8))
		return -EIO;
	memcpy(to + 8 + entries * 8, e->seek, e->nframes * 8ul);
	for (uint64_t i = 0; i < entries; i++) {
		memcpy(&packed, to + 8 + i * 8, 4);
		sum += packed;
	}
	if (head[0] != SEEK_FRAME || memcmp(end + 4, seek_end, sizeof(seek_end)) || sum != e->end)
		return 0;
	head[1] = (uint32_t)(n * 8 + 9);
	memcpy(to, head, 8);
	head[0] = (uint32_t)n;
	memcpy(end, head, 4);
	memcpy(to + 8 + n * 8, end, 9);
	e->packed_used += n * 8 + 17;
	return 0;
}

/* If a long run has several part files, the last one is replaced. */
static int find_end(struct embedding *e)
{
	struct stat st;

	if (fstat(e->t->in.fd, &st))
		return -errno;
	e->size = (uint64_t)st.st_size;
	if (e->t->in.size < e->size)
		return -EBUSY; /* it has grown since it was opened */
	if (e->t->frames_end <= e->t->in.size - e->size)
		return -ENODATA;
	e->end = e->t->frames_end - (e->t->in.size - e->size);
	return 0;
}

static int embed_names(struct embedding *e, struct nvs_error *err)
{
	int r = find_end(e);

	if (!r)
		r = process_stacks(e);
	count_names(e);
	if (!r && e->nframes)
		r = add_seek_table(e);
	if (r == -EBUSY)
		return nvs_replace_fail_busy(e->t, err);
	if (r)
		return nvs_fail(err, r, "%s: cannot add names: %s", e->t->path, strerror(-r));
	return e->nframes ? nvs_replace_tail(e->t, e->end, e->packed, e->packed_used, err) : 0;
}

int nvs_trace_embed(struct nvs_trace *t, struct nvs_embed_counts *done, struct nvs_error *err)
{
	struct embedding e = {.t = t,
			      .done = done,
			      .seen = NVS_ROWS(struct seen_address, key),
			      .number = t->next_frame};
	int r;

	memset(done, 0, sizeof(*done));
	if (t->running)
		return nvs_fail(err, -EBUSY,
				"%s: still being recorded; add names after it has ended", t->path);
	if (!t->in.seekable || t->no_frames || t->session.end == NVS_END_DAMAGED)
		return nvs_fail(err, -EINVAL, "%s: not a file of whole frames; cannot add names",
				t->path);
	e.cctx = ZSTD_createCCtx();
	if (!e.cctx)
		return nvs_fail(err, -ENOMEM, "%s: out of memory", t->path);
	ZSTD_CCtx_setParameter(e.cctx, ZSTD_c_checksumFlag, 1);
	r = embed_names(&e, err);
	ZSTD_freeCCtx(e.cctx);
	free(e.frame);
	free(e.packed);
	free(e.seek);
	return r;
}
