/* SPDX-License-Identifier: MIT */
/* Writes traces and spools for tests, from the description of the format only: it shares no code
 * with the library that writes real ones. Errors end the test program. */
#ifndef NVSNOOP_TESTS_MKTRACE_H
#define NVSNOOP_TESTS_MKTRACE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include "nvsnoop/trace.h"

struct mk {
	FILE *file; /* NULL: records stay in buf */
	uint8_t *buf; /* records of the frame being made */
	size_t len, room;
	uint64_t frame;
	uint64_t time; /* of the next record; rises by 10 */
	uint64_t ends[256]; /* offsets in the file behind each frame */
	uint32_t nends;
	/* What a submission adds to. */
	struct {
		uint64_t sequence;
		uint32_t put;
	} channel[64];
	struct nvs_rec_totals totals;
	uint8_t session[16];
};

#define MK_NEED(x)                                                              \
	do {                                                                    \
		if (!(x)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
			exit(99);                                               \
		}                                                               \
	} while (0)

static inline uint64_t mk_align(uint64_t n)
{
	return (n + 7) & ~7ull;
}

/* A zeroed record of SIZE bytes, head filled in; good until the next one. */
static inline void *mk_rec(struct mk *m, uint16_t type, uint64_t size)
{
	struct nvs_rec *rec;

	size = mk_align(size);
	if (m->len + size > m->room) {
		m->room = (m->len + size) * 2;
		m->buf = realloc(m->buf, m->room);
		MK_NEED(m->buf);
	}
	rec = (struct nvs_rec *)(m->buf + m->len);
	memset(rec, 0, size);
	rec->type = type;
	rec->size = (uint32_t)size;
	rec->time = m->time += 10;
	m->len += size;
	return rec;
}

/* API number API, TEXT is "name|group|argument:type...". */
static inline void mk_api(struct mk *m, uint32_t api, const char *text)
{
	size_t n = strlen(text) + 1;
	struct nvs_rec_api *rec = mk_rec(m, NVS_REC_API, sizeof(*rec) + n);
	uint32_t parts = 1;

	rec->api = api;
	rec->length = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		rec->text[i] = text[i] == '|' ? '\0' : text[i];
		parts += text[i] == '|';
	}
	rec->nargs = (__typeof__(rec->nargs))(parts > 2 ? parts - 2 : 0);
}

/* The frame's head, with the stretches of buffers it is said to hold: RANGES triples buffer, from,
 * to. */
static inline void mk_frame_begin(struct mk *m, uint32_t nranges, const uint64_t (*ranges)[3])
{
	struct nvs_rec_frame *f;

	m->len = 0;
	f = mk_rec(m, NVS_REC_FRAME, sizeof(*f) + nranges * sizeof(f->ranges[0]));
	f->number = m->frame++;
	f->nranges = nranges;
	for (uint32_t i = 0; i < nranges; i++) {
		f->ranges[i].buffer = (uint32_t)ranges[i][0];
		f->ranges[i].from = ranges[i][1];
		f->ranges[i].to = ranges[i][2];
	}
}

static inline void mk_write(struct mk *m, const void *bytes, size_t n)
{
	MK_NEED(fwrite(bytes, 1, n, m->file) == n);
}

static inline void mk_frame_end(struct mk *m)
{
	size_t room = ZSTD_compressBound(m->len), n;
	ZSTD_CCtx *c = ZSTD_createCCtx();
	void *out = malloc(room);

	MK_NEED(c && out);
	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
	n = ZSTD_compress2(c, out, room, m->buf, m->len);
	MK_NEED(!ZSTD_isError(n));
	mk_write(m, out, n);
	free(out);
	ZSTD_freeCCtx(c);
	MK_NEED(m->nends < sizeof(m->ends) / sizeof(*m->ends));
	m->ends[m->nends++] = (uint64_t)ftell(m->file);
	m->len = 0;
}

static inline void mk_next_frame(struct mk *m)
{
	mk_frame_end(m);
	mk_frame_begin(m, 0, NULL);
}

static inline struct nvs_rec_header *mk_header(struct mk *m)
{
	struct nvs_rec_header *h = mk_rec(m, NVS_REC_HEADER, sizeof(*h));

	h->magic = NVS_TRACE_MAGIC;
	h->version = NVS_TRACE_VERSION;
	h->min_version = 1;
	memcpy(h->session, m->session, sizeof(h->session));
	h->pid = 4711;
	h->ppid = 1;
	h->clock = NVS_CLOCK_MONOTONIC;
	h->flags = NVS_HDR_CRASH_SAFE | NVS_HDR_BACKTRACE;
	h->realtime_ns = 1700000000ull * 1000000000;
	h->buffer_bytes = 65536;
	return h;
}

static inline void mk_attr(struct mk *m, uint32_t key, const char *value, size_t length)
{
	struct nvs_rec_attr *a = mk_rec(m, NVS_REC_ATTR, sizeof(*a) + length);

	a->key = key;
	a->length = (uint32_t)length;
	memcpy(a->value, value, length);
}

/* Opens PATH and begins its first frame, header included. */
static inline void mk_open(struct mk *m, const char *path)
{
	memset(m, 0, sizeof(*m));
	m->time = 1000;
	for (int i = 0; i < 16; i++)
		m->session[i] = (uint8_t)(17 * i + 1);
	m->file = fopen(path, "wb");
	MK_NEED(m->file);
	mk_frame_begin(m, 0, NULL);
	mk_header(m);
}

/* Opens the file NAME in FOLDER. */
static inline void mk_open_in(struct mk *m, const char *folder, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	mk_open(m, path);
}

static inline void mk_h200(struct mk *m)
{
	struct nvs_rec_gpu *gpu = mk_rec(m, NVS_REC_GPU, sizeof(*gpu));

	gpu->architecture = 0x180;
	snprintf(gpu->name, sizeof(gpu->name), "NVIDIA H200");
}

static inline void mk_close(struct mk *m)
{
	if (m->file)
		MK_NEED(fclose(m->file) == 0);
	free(m->buf);
	m->file = NULL;
	m->buf = NULL;
}

static inline void mk_thread(struct mk *m, uint32_t thread, uint32_t tid, const char *name)
{
	struct nvs_rec_thread *t = mk_rec(m, NVS_REC_THREAD, sizeof(*t));

	t->thread = thread;
	t->tid = tid;
	snprintf(t->name, sizeof(t->name), "%s", name);
}

static inline struct nvs_rec_channel *mk_channel(struct mk *m, uint32_t number)
{
	struct nvs_rec_channel *c = mk_rec(m, NVS_REC_CHANNEL, sizeof(*c));

	c->channel = number;
	c->client = 0xc1000001;
	c->handle = 0x5c000100 + number;
	c->object_class = 0xc86f;
	c->engine = 1;
	c->token = 0x10000 + number;
	c->entries = 1024;
	c->flags = NVS_CHAN_BOUND;
	c->gpfifo = 0x200600000 + number * 0x3000ull;
	m->totals.channels++;
	return c;
}

static inline uint64_t mk_entry(uint64_t address, uint32_t dwords)
{
	return (uint64_t)dwords << 42 | (address & 0xfffffffffcull);
}

/* A submission of NSEG segments, DWORDS[i] long each, their words counting up from FIRST. The
 * channel's chain and the totals are carried on. */
static inline struct nvs_rec_submission *mk_submission(struct mk *m, uint32_t thread,
						       uint32_t channel, uint32_t stack,
						       uint32_t nseg, const uint32_t *dwords,
						       uint32_t first)
{
	struct nvs_rec_submission *s;
	uint64_t bytes = 0;
	uint32_t *data;

	for (uint32_t i = 0; i < nseg; i++)
		bytes += dwords[i] * 4ull;
	s = mk_rec(m, NVS_REC_SUBMISSION, sizeof(*s) + nseg * sizeof(s->entries[0]) + bytes);
	s->thread = thread;
	s->channel = channel;
	s->token = 0x10000 + channel;
	s->stack = stack;
	s->nentries = nseg;
	s->sequence = m->channel[channel].sequence++;
	s->old_put = m->channel[channel].put;
	s->new_put = m->channel[channel].put = (s->old_put + nseg) % 1024;
	data = (uint32_t *)(s->entries + nseg);
	for (uint32_t i = 0; i < nseg; i++) {
		s->entries[i].entry = mk_entry(0x200800000 + first * 4096ull + i * 256, dwords[i]);
		s->entries[i].state = dwords[i] ? NVS_SEG_HERE : NVS_SEG_NONE;
		s->entries[i].bytes = dwords[i] * 4;
		m->totals.segments += dwords[i] != 0;
		for (uint32_t k = 0; k < dwords[i]; k++)
			*data++ = first + k;
	}
	m->totals.submissions++;
	m->totals.entries += nseg;
	m->totals.bytes += bytes;
	return s;
}

/* One segment of N dwords. */
static inline struct nvs_rec_submission *mk_simple(struct mk *m, uint32_t thread, uint32_t channel,
						   uint32_t n)
{
	return mk_submission(m, thread, channel, NVS_NONE, 1, &n, n);
}

static inline struct nvs_rec_stack *mk_stack(struct mk *m, uint32_t number, uint32_t n,
					     const uint64_t *pc)
{
	struct nvs_rec_stack *s = mk_rec(m, NVS_REC_STACK, sizeof(*s) + n * 8ull);

	s->stack = number;
	s->nframes = n;
	memcpy(s->pc, pc, n * 8ull);
	m->totals.stacks++;
	return s;
}

static inline struct nvs_rec_channel_gone *mk_channel_gone(struct mk *m, uint32_t channel)
{
	struct nvs_rec_channel_gone *g = mk_rec(m, NVS_REC_CHANNEL_GONE, sizeof(*g));

	g->rec.flags = NVS_CHAN_GONE_AT_EXIT;
	g->channel = channel;
	g->final_put = g->last_put = m->channel[channel].put;
	g->submissions = m->channel[channel].sequence;
	return g;
}

static inline struct nvs_rec_fault *mk_fault(struct mk *m, uint32_t channel, uint32_t number)
{
	struct nvs_rec_fault *f = mk_rec(m, NVS_REC_FAULT, sizeof(*f));

	f->channel = channel;
	f->number = number;
	f->info16 = 1;
	f->status = 0xffff;
	f->seen = NVS_FAULT_CALL;
	return f;
}

/* An answer about ASKED SMs from FIRST on, N of which have an error; the caller fills in sms. */
static inline struct nvs_rec_sm_error *mk_sm_error(struct mk *m, uint32_t channel, uint32_t first,
						   uint32_t asked, uint32_t n)
{
	struct nvs_rec_sm_error *e = mk_rec(m, NVS_REC_SM_ERROR,
					    sizeof(*e) + n * sizeof(e->sms[0]));

	e->channel = channel;
	e->first = first;
	e->asked = asked;
	e->nsms = n;
	return e;
}

static inline struct nvs_rec_fault_memory *mk_fault_memory(struct mk *m, uint32_t channel,
							   uint64_t address, uint32_t bytes)
{
	struct nvs_rec_fault_memory *p = mk_rec(m, NVS_REC_FAULT_MEMORY, sizeof(*p) + bytes);

	p->channel = channel;
	p->address = address;
	p->bytes = bytes;
	return p;
}

/* Totals as they were counted here, and END. */
static inline struct nvs_rec_totals *mk_end(struct mk *m)
{
	struct nvs_rec_totals *t = mk_rec(m, NVS_REC_TOTALS, sizeof(*t)), *at;
	struct nvs_rec head = t->rec;
	size_t offset = (size_t)((uint8_t *)t - m->buf);

	*t = m->totals;
	t->rec = head;
	mk_rec(m, NVS_REC_END, sizeof(struct nvs_rec_end));
	at = (struct nvs_rec_totals *)(m->buf + offset);
	return at;
}

/* Totals and END, and the end of the file. */
static inline void mk_finish(struct mk *m)
{
	mk_end(m);
	mk_frame_end(m);
	mk_close(m);
}

/* ---- spools ---- */

#define MK_BUFFER 65536ull

struct mk_spool {
	int fd;
	struct nvs_spool head;
};

/* Not inlined: compilers then take the size of one caller's bytes for another's. */
__attribute__((noinline, unused)) static void mk_at(int fd, const void *bytes, size_t n,
						    uint64_t offset)
{
	MK_NEED(pwrite(fd, bytes, n, (off_t)offset) == (ssize_t)n);
}

static inline uint64_t mk_spool_page(const struct mk_spool *s)
{
	return s->head.page_bytes ? s->head.page_bytes : 4096;
}

/* PAGE: of the system that wrote it, as the head has it; 0: it does not say. */
static inline void mk_spool_open_on(struct mk_spool *s, const char *path, const uint8_t *session,
				    uint32_t buffers, uint64_t page)
{
	memset(s, 0, sizeof(*s));
	s->fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	MK_NEED(s->fd >= 0);
	s->head.magic = NVS_SPOOL_MAGIC;
	s->head.version = NVS_SPOOL_VERSION;
	s->head.kind = NVS_SPOOL_BUFFERS;
	memcpy(s->head.session, session, 16);
	s->head.pid = 4711;
	s->head.buffers = buffers;
	s->head.buffer_bytes = MK_BUFFER;
	s->head.channel_offset = 4096;
	s->head.channels = 16;
	s->head.buffer_offset = 8192;
	s->head.page_bytes = page;
	s->head.clock_ticks[0] = s->head.clock_mono_ns[0] = 1000;
	s->head.clock_real_ns[0] = 1700000000ull * 1000000000;
	MK_NEED(ftruncate(s->fd, (off_t)(8192 + buffers * (mk_spool_page(s) + MK_BUFFER))) == 0);
	mk_at(s->fd, &s->head, sizeof(s->head), 0);
	for (uint32_t i = 0; i < s->head.channels; i++) {
		struct nvs_spool_channel c = {.channel = NVS_NONE};

		mk_at(s->fd, &c, sizeof(c), s->head.channel_offset + i * sizeof(c));
	}
}

static inline void mk_spool_open(struct mk_spool *s, const char *path, const uint8_t *session,
				 uint32_t buffers)
{
	mk_spool_open_on(s, path, session, buffers, 0);
}

/* Puts N bytes of records at position POS of a buffer, around its end, and sets its heads. */
static inline void mk_spool_buffer(struct mk_spool *s, uint32_t buffer, uint64_t pos, uint64_t tail,
				   uint64_t rung, const uint8_t *bytes, uint64_t n)
{
	struct nvs_spool_buffer r = {.buffer = buffer,
				     .thread = buffer,
				     .tid = 100 + buffer,
				     .generation = 1,
				     .head = pos + n,
				     .rung = rung,
				     .tail = tail};
	uint64_t page = mk_spool_page(s);
	uint64_t base = s->head.buffer_offset + buffer * (page + MK_BUFFER);

	mk_at(s->fd, &r, sizeof(r), base);
	for (uint64_t i = 0; i < n; i += 8)
		mk_at(s->fd, bytes + i, 8, base + page + (pos + i) % MK_BUFFER);
}

#endif
