/* SPDX-License-Identifier: MIT */
/*
 * logcheck [options] LOG [TRACE...]: compares traces with the reference log (log.h), byte for byte.
 * First the driver against the GPU: every entry that the GPU fetched was rung, in order, with the
 * same bytes. Then every trace: it contains each doorbell that rang once, in the channel's order,
 * with the same range, entries and bytes, and nothing else. NVIDIA's own driver logs nothing: with
 * --fetches a trace contains what the GPU fetched; with --windows each has a part of the doorbells.
 * Prints counts; exits with 0 if all is equal, 1 if not, 2 if that could not be checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "log.h"
#include "nvsnoop/decode.h"

#define SHOWN 10 /* maximum number of differences printed in full */

struct channel {
	const struct sg_log_channel *rec;
	const struct sg_log_doorbell **bells;
	uint32_t nbells, room;
	uint32_t next; /* next doorbell to find in the trace */
	uint32_t fetched_bell, fetched_entry; /* position of the GPU in the rung entries */
	const struct sg_log_fetch **fetched; /* with --fetches */
	uint32_t nfetched, fetched_room, next_fetched;
	bool traced; /* a trace contains this channel */
	bool ahead; /* the previous doorbell was in the trace without its ring */
};

static struct channel *channels;
static uint32_t nchannels;
static bool extra_fetches, by_fetches, windows, quiet;
static uint64_t missing, extra, different, unrung, equal, entries, bytes, fetches, faults,
	unfetched;
static uint32_t told;

static void __attribute__((format(printf, 1, 2))) tell(const char *format, ...)
{
	va_list ap;

	if (told++ >= SHOWN)
		return;
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static struct channel *channel_at(uint32_t serial)
{
	if (serial >= nchannels) {
		channels = realloc(channels, (serial + 64) * sizeof(*channels));
		memset(channels + nchannels, 0, (serial + 64 - nchannels) * sizeof(*channels));
		nchannels = serial + 64;
	}
	return &channels[serial];
}

/* ---- the log ---- */

static void add_bell(const struct sg_log_doorbell *d)
{
	struct channel *ch = channel_at(d->serial);

	if (ch->nbells == ch->room) {
		ch->room = ch->room ? ch->room * 2 : 64;
		ch->bells = realloc(ch->bells, ch->room * sizeof(*ch->bells));
	}
	ch->bells[ch->nbells++] = d;
}

static int by_number(const void *a, const void *b)
{
	const struct sg_log_doorbell *x = *(const struct sg_log_doorbell *const *)a;
	const struct sg_log_doorbell *y = *(const struct sg_log_doorbell *const *)b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static const struct sg_log_entry *bell_entries(const struct sg_log_doorbell *d)
{
	return (const struct sg_log_entry *)(d + 1);
}

/* The entry that the GPU took must be the next one put. */
static void add_fetch(const struct sg_log_fetch *f)
{
	struct channel *ch = channel_at(f->serial);
	const struct sg_log_doorbell *d;
	const struct sg_log_entry *e;
	const uint8_t *p;

	fetches++;
	if (by_fetches) {
		if (ch->nfetched == ch->fetched_room) {
			ch->fetched_room = ch->fetched_room ? ch->fetched_room * 2 : 64;
			ch->fetched = realloc(ch->fetched, ch->fetched_room * sizeof(*ch->fetched));
		}
		ch->fetched[ch->nfetched++] = f;
		return;
	}
	while (ch->fetched_bell < ch->nbells &&
	       ch->fetched_entry == ch->bells[ch->fetched_bell]->nentries) {
		ch->fetched_bell++;
		ch->fetched_entry = 0;
	}
	if (ch->fetched_bell == ch->nbells) {
		if (!extra_fetches) {
			different++;
			tell("channel %u: the GPU fetched %016llx, which was never put", f->serial,
			     (unsigned long long)f->entry);
		}
		return;
	}
	d = ch->bells[ch->fetched_bell];
	e = bell_entries(d);
	p = (const uint8_t *)(e + d->nentries);
	for (uint32_t i = 0; i < ch->fetched_entry; i++)
		p += e[i].bytes;
	e += ch->fetched_entry;
	if (e->entry == f->entry && e->bytes == f->bytes &&
	    sg_hash((const uint32_t *)p, e->bytes / 4) == f->hash) {
		ch->fetched_entry++;
	} else if (!extra_fetches) {
		different++;
		tell("channel %u, doorbell %llu, entry %u: the GPU fetched %016llx where %016llx "
		     "was put%s",
		     f->serial, (unsigned long long)d->number, ch->fetched_entry,
		     (unsigned long long)f->entry, (unsigned long long)e->entry,
		     e->entry == f->entry ? ", with other bytes" : "");
		ch->fetched_entry++;
	}
}

/* Calls FN for every complete record; skips space that a kill left without a head. */
static void each(const uint8_t *base, uint64_t end, void (*fn)(const struct sg_log_rec *))
{
	uint64_t at = SG_LOG_FIRST;

	while (at + sizeof(struct sg_log_rec) <= end) {
		const struct sg_log_rec *r = (const struct sg_log_rec *)(base + at);

		if (r->magic != SG_LOG_REC_MAGIC || r->size < sizeof(*r) || at + r->size > end) {
			at += 64;
			continue;
		}
		if (r->state == SG_LOG_WHOLE)
			fn(r);
		at += r->size;
	}
}

static void take_setup(const struct sg_log_rec *r)
{
	if (r->type == SG_LOG_CHANNEL)
		channel_at(((const struct sg_log_channel *)r)->serial)->rec = (const void *)r;
	else if (r->type == SG_LOG_DOORBELL)
		add_bell((const struct sg_log_doorbell *)r);
}

static void take_fetch(const struct sg_log_rec *r)
{
	if (r->type == SG_LOG_FETCH)
		add_fetch((const struct sg_log_fetch *)r);
	if (r->type == SG_LOG_FAULT)
		faults++;
}

static int read_log(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	const struct sg_log_head *h;

	if (fd < 0 || fstat(fd, &st) || st.st_size < SG_LOG_FIRST) {
		fprintf(stderr, "logcheck: %s: not a log\n", path);
		return 2;
	}
	h = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	if (h == MAP_FAILED || h->magic != SG_LOG_FILE_MAGIC || h->lost) {
		fprintf(stderr, "logcheck: %s: %s\n", path,
			h == MAP_FAILED ? strerror(errno) : "not a whole log");
		return 2;
	}
	each((const uint8_t *)h, h->head, take_setup);
	for (uint32_t i = 0; i < nchannels; i++)
		if (channels[i].nbells)
			qsort(channels[i].bells, channels[i].nbells, sizeof(*channels[i].bells),
			      by_number);
	each((const uint8_t *)h, h->head, take_fetch);
	for (uint32_t i = 0; i < nchannels; i++) {
		struct channel *ch = &channels[i];

		for (uint32_t b = ch->fetched_bell; b < ch->nbells; b++)
			unfetched += ch->bells[b]->nentries -
				     (b == ch->fetched_bell ? ch->fetched_entry : 0);
	}
	return 0;
}

/* ---- the trace ---- */

struct reading {
	uint32_t pid;
	struct channel **map; /* by the trace's channel number */
	uint32_t room;
	const char *path;
};

/* The log's channel for one of the trace: the first of this process with the same handles that is
 * not matched yet. */
static struct channel *match_channel(struct reading *r, const struct nvs_trace_channel *tc)
{
	if (tc->channel >= r->room) {
		r->map = realloc(r->map, (tc->channel + 64) * sizeof(*r->map));
		memset(r->map + r->room, 0, (tc->channel + 64 - r->room) * sizeof(*r->map));
		r->room = tc->channel + 64;
	}
	if (r->map[tc->channel])
		return r->map[tc->channel];
	for (uint32_t i = 0; i < nchannels; i++) {
		const struct sg_log_channel *c = channels[i].rec;

		if (!c || channels[i].traced || c->rec.pid != r->pid || c->rec.gpu != tc->rec.gpu ||
		    c->client != tc->rec.client || c->handle != tc->rec.handle)
			continue;
		channels[i].traced = true;
		return r->map[tc->channel] = &channels[i];
	}
	return NULL;
}

/* Describes the difference. Returns NULL if there is none. */
static const char *compare(const struct sg_log_doorbell *d, const struct nvs_submission *s)
{
	struct nvs_segment_iter it = nvs_segments(s);
	const struct sg_log_entry *e = bell_entries(d);
	const uint8_t *p = (const uint8_t *)(e + d->nentries);
	struct nvs_segment seg;

	if (d->old_put != s->rec->old_put || d->new_put != s->rec->new_put)
		return "range";
	if (d->nentries != s->nentries)
		return "number of entries";
	if (d->token != s->rec->token)
		return "token";
	if (s->thread->tid && s->thread->tid != d->rec.tid)
		return "thread";
	for (; nvs_segment_next(&it, &seg); e++) {
		if (seg.entry != e->entry)
			return "entry";
		if (e->bytes != seg.bytes)
			return seg.state == NVS_SEG_GAP ? "segment is a gap"
							: "length of a segment";
		if (e->bytes && memcmp(p, seg.data, e->bytes))
			return "bytes";
		p += e->bytes;
		entries++;
		bytes += e->bytes;
	}
	return NULL;
}

/* Compares a submission with what the GPU fetched next. */
static void take_fetched(const struct reading *r, struct channel *ch,
			 const struct nvs_submission *s)
{
	struct nvs_segment_iter it = nvs_segments(s);
	struct nvs_segment seg;

	while (nvs_segment_next(&it, &seg)) {
		const struct sg_log_fetch *f = ch && ch->next_fetched < ch->nfetched
						       ? ch->fetched[ch->next_fetched++]
						       : NULL;

		if (f && f->entry == seg.entry && f->bytes == seg.bytes &&
		    (!seg.bytes ||
		     f->hash == sg_hash((const uint32_t *)(const void *)seg.data, seg.bytes / 4))) {
			entries++;
			bytes += seg.bytes;
			continue;
		}
		different++;
		tell("%s: channel %u, sequence %llu: entry %016llx was not fetched there", r->path,
		     s->rec->channel, (unsigned long long)s->rec->sequence,
		     (unsigned long long)seg.entry);
	}
	equal++;
}

static int take_submission(void *arg, struct nvs_trace *trace, const struct nvs_submission *s,
			   const struct nvs_call *call)
{
	struct reading *r = arg;
	struct channel *ch = match_channel(r, s->channel);
	const char *what;

	if (by_fetches) {
		take_fetched(r, ch, s);
		return 0;
	}
	/* The entries that were in the ring at the end were captured, and rung afterwards. */
	if (ch && ch->ahead && !s->nentries) {
		ch->ahead = false;
		return 0;
	}
	if (ch && windows && s->rec->sequence >= ch->next)
		ch->next = s->rec->sequence < ch->nbells ? (uint32_t)s->rec->sequence : ch->nbells;
	if (!ch || ch->next == ch->nbells) {
		extra++;
		tell("%s: channel %u, sequence %llu: no doorbell in the log", r->path,
		     s->rec->channel, (unsigned long long)s->rec->sequence);
		return 0;
	}
	ch->ahead = s->rec->rec.flags & NVS_SUB_UNCERTAIN;
	what = compare(ch->bells[ch->next], s);
	if (what) {
		different++;
		tell("%s: channel %u, sequence %llu (put %u to %u): %s differs from doorbell %llu "
		     "(put %u to %u)",
		     r->path, s->rec->channel, (unsigned long long)s->rec->sequence,
		     s->rec->old_put, s->rec->new_put, what,
		     (unsigned long long)ch->bells[ch->next]->number, ch->bells[ch->next]->old_put,
		     ch->bells[ch->next]->new_put);
	} else {
		equal++;
	}
	ch->next++;
	return 0;
}

static int take_record(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec)
{
	struct reading *r = arg;

	/* Channels are matched in the order of their allocation, so that reused handles find the
	 * right one. */
	if (rec->type == NVS_REC_CHANNEL) {
		const struct nvs_trace_channel *tc =
			nvs_trace_channel_at(trace, ((const struct nvs_rec_channel *)rec)->channel);

		if (tc)
			match_channel(r, tc);
	}
	return 0;
}

static int read_trace(const char *path, bool partial)
{
	static const struct nvs_consumer consumer = {
		.size = sizeof(consumer), .submission = take_submission, .record = take_record};
	struct nvs_read_options options = {.size = sizeof(options), .partial = partial};
	struct reading r = {.path = path};
	struct nvs_error err;
	struct nvs_trace *t;
	int ret;

	/* A channel may be in each of several windows. */
	for (uint32_t i = 0; i < nchannels && windows; i++) {
		channels[i].traced = channels[i].ahead = false;
		channels[i].next = 0;
	}
	ret = nvs_trace_open(&t, path, &options, &err);

	if (!ret) {
		r.pid = nvs_trace_session(t)->header.pid;
		ret = nvs_trace_read(t, &consumer, &r, &err);
		nvs_trace_close(t);
	}
	free(r.map);
	if (ret)
		fprintf(stderr, "logcheck: %s\n", err.text);
	return ret ? 2 : 0;
}

static void count_missing(void)
{
	for (uint32_t i = 0; i < nchannels; i++) {
		struct channel *ch = &channels[i];

		if (windows)
			ch->next = ch->nbells;
		missing += ch->nfetched - ch->next_fetched;
		for (; ch->next < ch->nbells; ch->next++) {
			const struct sg_log_doorbell *d = ch->bells[ch->next];

			if (!(d->rec.flags & SG_LOG_RUNG)) {
				unrung++;
				continue;
			}
			missing++;
			tell("channel %u (process %u, token %x): doorbell %llu (put %u to %u) is "
			     "in no trace",
			     i, d->rec.pid, d->token, (unsigned long long)d->number, d->old_put,
			     d->new_put);
		}
	}
}

static void usage(FILE *f)
{
	fputs("usage: logcheck [--extra-fetches] [--fetches] [--partial] [--quiet] [--windows] LOG "
	      "[TRACE...]\n"
	      "Compares traces with the log of the stand-in driver and the software GPU.\n"
	      "  --extra-fetches  the GPU may fetch entries that the driver did not put\n"
	      "  --fetches        the log has only what the GPU fetched\n"
	      "  --partial        read the intact part of a damaged trace\n"
	      "  --quiet          print no counts if all is equal\n"
	      "  --windows        traces have parts of the run, in which nothing is missing\n",
	      f);
}

int main(int argc, char **argv)
{
	bool partial = false;
	int i = 1, ret;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--extra-fetches"))
			extra_fetches = true;
		else if (!strcmp(argv[i], "--fetches"))
			by_fetches = true;
		else if (!strcmp(argv[i], "--partial"))
			partial = true;
		else if (!strcmp(argv[i], "--quiet"))
			quiet = true;
		else if (!strcmp(argv[i], "--windows"))
			windows = true;
		else
			return usage(!strcmp(argv[i], "--help") ? stdout : stderr),
			       strcmp(argv[i], "--help") ? 2 : 0;
	}
	if (i == argc)
		return usage(stderr), 2;
	ret = read_log(argv[i++]);
	if (ret)
		return ret;
	if (i < argc) {
		for (; i < argc && !ret; i++)
			ret = read_trace(argv[i], partial);
		if (ret)
			return ret;
		count_missing();
	}
	ret = missing || extra || different || faults;
	if (ret || !quiet)
		printf("%llu submissions, %llu entries, %llu bytes equal; %llu missing, %llu "
		       "extra, %llu different, "
		       "%llu never rung; GPU: %llu entries fetched, %llu left, %llu faults\n",
		       (unsigned long long)equal, (unsigned long long)entries,
		       (unsigned long long)bytes, (unsigned long long)missing,
		       (unsigned long long)extra, (unsigned long long)different,
		       (unsigned long long)unrung, (unsigned long long)fetches,
		       (unsigned long long)unfetched, (unsigned long long)faults);
	return ret;
}
