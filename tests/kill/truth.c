/* SPDX-License-Identifier: MIT */
/* Compares what a kill left with the log of driver and GPU: truth.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decode/trace/stream.h"
#include "nvsnoop/decode.h"
#include "tests/kill/truth.h"
#include "tests/softgpu/log.h"

#define MAX_THREADS 256

struct bell {
	const struct sg_log_doorbell *rec;
	bool fetched;
};

struct channel {
	const struct sg_log_channel *rec;
	struct bell *bells;
	uint32_t nbells, room, next;
	uint64_t fetched; /* entries */
	bool taken;
};

struct work {
	struct truth *t;
	uint32_t killer;
	struct channel *channels;
	uint32_t nchannels;
	struct channel **of; /* by the trace's number */
	uint32_t nof;
	uint32_t unrung_of[MAX_THREADS];
};

#define WRONG(t, ...) ((t)->text[0] ? 0 : snprintf((t)->text, sizeof((t)->text), __VA_ARGS__))

/* ---- the log ---- */

static struct channel *channel_at(struct work *w, uint32_t serial)
{
	if (serial >= w->nchannels) {
		w->channels = realloc(w->channels, (serial + 64) * sizeof(*w->channels));
		memset(w->channels + w->nchannels, 0,
		       (serial + 64 - w->nchannels) * sizeof(*w->channels));
		w->nchannels = serial + 64;
	}
	return &w->channels[serial];
}

static void take(struct work *w, const struct sg_log_rec *r)
{
	const struct sg_log_doorbell *d = (const void *)r;
	struct channel *ch;

	if (r->type == SG_LOG_CHANNEL)
		channel_at(w, ((const struct sg_log_channel *)r)->serial)->rec = (const void *)r;
	if (r->type == SG_LOG_FETCH)
		channel_at(w, ((const struct sg_log_fetch *)r)->serial)->fetched++;
	if (r->type != SG_LOG_DOORBELL)
		return;
	ch = channel_at(w, d->serial);
	if (ch->nbells == ch->room) {
		ch->room = ch->room ? ch->room * 2 : 256;
		ch->bells = realloc(ch->bells, ch->room * sizeof(*ch->bells));
	}
	ch->bells[ch->nbells++] = (struct bell){d, false};
}

/* A kill may leave holes: room that was taken and not written. */
static void walk(struct work *w, const uint8_t *base, uint64_t end)
{
	for (uint64_t at = SG_LOG_FIRST; at + sizeof(struct sg_log_rec) <= end;) {
		const struct sg_log_rec *r = (const void *)(base + at);

		if (r->magic != SG_LOG_REC_MAGIC || r->size < sizeof(*r) || at + r->size > end) {
			at += 64;
			continue;
		}
		if (r->state == SG_LOG_WHOLE)
			take(w, r);
		at += r->size;
	}
}

static int by_number(const void *a, const void *b)
{
	const struct bell *x = a, *y = b;

	return x->rec->number < y->rec->number ? -1 : x->rec->number > y->rec->number;
}

/* Which doorbells the GPU's log proves. */
static void settle(struct work *w, bool fetches_count)
{
	for (uint32_t i = 0; i < w->nchannels; i++) {
		struct channel *ch = &w->channels[i];
		uint64_t entries = 0;

		if (!ch->nbells)
			continue;
		qsort(ch->bells, ch->nbells, sizeof(*ch->bells), by_number);
		for (uint32_t b = 0; b < ch->nbells; b++) {
			const struct sg_log_doorbell *d = ch->bells[b].rec;

			ch->bells[b].fetched = fetches_count && d->nentries &&
					       ch->fetched > entries;
			entries += d->nentries;
			w->t->rung += ch->bells[b].fetched || d->rec.flags & SG_LOG_RUNG;
		}
	}
}

/* ---- the trace ---- */

/* The log's channel: the first of these handles that no earlier one is. */
static struct channel *match(struct work *w, const struct nvs_trace_channel *tc)
{
	if (tc->channel >= w->nof) {
		w->of = realloc(w->of, (tc->channel + 64) * sizeof(*w->of));
		memset(w->of + w->nof, 0, (tc->channel + 64 - w->nof) * sizeof(*w->of));
		w->nof = tc->channel + 64;
	}
	for (uint32_t i = 0; !w->of[tc->channel] && i < w->nchannels; i++) {
		struct channel *ch = &w->channels[i];

		if (!ch->rec || ch->taken || ch->rec->client != tc->rec.client ||
		    ch->rec->handle != tc->rec.handle)
			continue;
		ch->taken = true;
		w->of[tc->channel] = ch;
	}
	return w->of[tc->channel];
}

static const char *difference(const struct sg_log_doorbell *d, const struct nvs_submission *s)
{
	const struct sg_log_entry *e = (const void *)(d + 1);
	const uint8_t *p = (const uint8_t *)(e + d->nentries);
	struct nvs_segment_iter it = nvs_segments(s);
	struct nvs_segment seg;

	if (d->old_put != s->rec->old_put || d->new_put != s->rec->new_put ||
	    d->nentries != s->nentries)
		return "range";
	if (d->token != s->rec->token)
		return "token";
	for (; nvs_segment_next(&it, &seg); e++) {
		if (seg.entry != e->entry)
			return "entry";
		if (s->marks & NVS_MARK_TORN)
			continue;
		if (seg.bytes != e->bytes || (e->bytes && memcmp(p, seg.data, e->bytes)))
			return "bytes";
		p += e->bytes;
	}
	return NULL;
}

static void count_unrung(struct work *w, const struct bell *bell, const struct nvs_submission *s)
{
	uint32_t thread = s->rec->thread;

	bool marked = s->marks & (NVS_MARK_UNCERTAIN | NVS_MARK_TORN),
	     killer = bell->rec->rec.tid == w->killer;

	w->t->unrung++;
	w->t->marked += marked;
	if (killer && !marked) {
		w->t->unmarked++;
		WRONG(w->t, "channel %u, sequence %llu was not rung and has no mark",
		      s->rec->channel, (unsigned long long)s->rec->sequence);
	}
	if (thread < MAX_THREADS && ++w->unrung_of[thread] == 2) {
		w->t->crowded++;
		WRONG(w->t, "thread %u has two submissions that were not rung", thread);
	}
}

static int on_submission(void *arg, struct nvs_trace *trace, const struct nvs_submission *s)
{
	struct work *w = arg;
	struct channel *ch = match(w, s->channel);
	struct bell *bell;
	const char *what;

	w->t->recovered++;
	if (!ch || ch->next == ch->nbells) {
		w->t->extra++;
		WRONG(w->t, "channel %u, sequence %llu: nobody put it", s->rec->channel,
		      (unsigned long long)s->rec->sequence);
		return 0;
	}
	bell = &ch->bells[ch->next++];
	what = difference(bell->rec, s);
	if (what) {
		w->t->different++;
		WRONG(w->t, "channel %u, sequence %llu: other %s than put", s->rec->channel,
		      (unsigned long long)s->rec->sequence, what);
	}
	/* Once GP_PUT shows it, the GPU may have fetched it on another doorbell. */
	w->t->killer_has |= bell->rec->rec.tid == w->killer &&
			    !(bell->rec->rec.flags & SG_LOG_RUNG);
	if (bell->rec->rec.flags & SG_LOG_RUNG || bell->fetched) {
		if (s->marks & NVS_MARK_TORN) {
			w->t->different++;
			WRONG(w->t, "channel %u, sequence %llu was rung and is torn",
			      s->rec->channel, (unsigned long long)s->rec->sequence);
		}
		return 0;
	}
	count_unrung(w, bell, s);
	return 0;
}

static int on_record(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec)
{
	if (rec->type == NVS_REC_CHANNEL) {
		const struct nvs_rec_channel *c = (const void *)rec;
		const struct nvs_trace_channel *tc = nvs_trace_channel_at(trace, c->channel);

		if (tc)
			match(arg, tc);
	}
	return 0;
}

static void count_missing(struct work *w)
{
	for (uint32_t i = 0; i < w->nchannels; i++) {
		struct channel *ch = &w->channels[i];

		for (uint32_t b = ch->next; b < ch->nbells; b++) {
			const struct sg_log_doorbell *d = ch->bells[b].rec;

			if (!(d->rec.flags & SG_LOG_RUNG) && !ch->bells[b].fetched)
				continue;
			w->t->missing++;
			WRONG(w->t, "channel %u of the log: doorbell %llu was %s and is missing", i,
			      (unsigned long long)d->number,
			      ch->bells[b].fetched ? "consumed" : "rung");
		}
	}
}

static bool read_trace(struct work *w, const char *path)
{
	static const struct nvs_stream_consumer consumer = {
		.flags = NVS_READ_WHOLE, .submission = on_submission, .record = on_record};
	const struct nvs_finding *f;
	struct nvs_error err;
	struct nvs_trace *trace;
	uint64_t ns;

	if (nvs_trace_open(&trace, path, NULL, &err)) {
		WRONG(w->t, "%.200s", err.text);
		return false;
	}
	if (nvs_stream_read(trace, &consumer, w, &err)) {
		WRONG(w->t, "%.200s", err.text);
		nvs_trace_close(trace);
		return false;
	}
	count_missing(w);
	w->t->problems = nvs_trace_problems(trace);
	w->t->crash = nvs_trace_session(trace)->end == NVS_END_CRASH;
	/* Also of a program that was killed before the writer read the clock again. */
	if (!nvs_clock_mono(trace, nvs_trace_session(trace)->last_time, &ns)) {
		w->t->timeless++;
		WRONG(w->t, "ticks cannot be converted to nanoseconds");
	}
	for (uint32_t i = 0; (f = nvs_trace_finding(trace, i)); i++)
		if (f->kind == NVS_FINDING_PROBLEM)
			WRONG(w->t, "%.200s", f->text);
	nvs_trace_close(trace);
	return true;
}

bool truth_compare(struct truth *t, const char *log, const char *trace, bool fetches_count,
		   uint32_t killer)
{
	int fd = open(log, O_RDONLY | O_CLOEXEC);
	struct work w = {.t = t, .killer = killer};
	struct sg_log_head *h;
	struct stat st;
	bool ok = false;

	*t = (struct truth){0};
	if (fd < 0 || fstat(fd, &st) || st.st_size < SG_LOG_FIRST) {
		WRONG(t, "%s: %s", log, strerror(errno));
		return false;
	}
	h = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	if (h == MAP_FAILED || h->magic != SG_LOG_FILE_MAGIC || h->lost) {
		WRONG(t, "%s: not a whole log", log);
		return false;
	}
	walk(&w, (const uint8_t *)h, h->head);
	settle(&w, fetches_count);
	ok = read_trace(&w, trace);
	for (uint32_t i = 0; i < w.nchannels; i++)
		free(w.channels[i].bells);
	free(w.channels);
	free(w.of);
	munmap(h, (size_t)st.st_size);
	return ok;
}
