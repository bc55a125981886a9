/* SPDX-License-Identifier: MIT */
/*
 * `nvsnoop-probe dma`: measures transfers inline and by copy engine, without the driver. A
 * submission holds W warm-up transfers, a semaphore with timestamp, T transfers, and another such
 * semaphore. The difference of the timestamps divided by T is the interval of back-to-back
 * transfers; with T = 1 it is the latency of a single one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe/studies/dma.h"
#include "probe/lib/peer.h"
#include "probe/studies.h"
#include "probe/lib/svg.h"
#include "submit/commands.h"

#define TARGET_NS 200000.0 /* timestamps have a resolution of 32 ns: 0.02 % of this */
#define PATIENCE_S 5
#define ROUNDS 5
#define PAYLOAD 3 /* index of the payload word in both kinds of semaphore */
#define POINTS_MAX 4096
#define ROOM_DWORDS (PROBE_COMMAND_BYTES / 4 - 64)

struct point;
struct dma_study {
	struct probe_session session;
	struct probe_peer peer;
	struct probe_table table;
	const struct probe_options *options;
	struct probe_memory host_from, host_to, check, device_from, device_to, device_commands;
	struct point *points;
	uint32_t npoints;
	uint32_t largest;
	uint32_t wrong;
};

static const struct nvs_column columns[] = {
	{"engine", "engine", .flags = NVS_COLUMN_LEFT},
	{"mode", "mode", .flags = NVS_COLUMN_LEFT},
	{"channel", "channel", .flags = NVS_COLUMN_LEFT},
	{"direction", "way", .flags = NVS_COLUMN_LEFT},
	{"memory_src", "", .flags = NVS_COLUMN_DETAIL},
	{"memory_dst", "to", .flags = NVS_COLUMN_LEFT, .rank = 5},
	{"pushbuffer", "push-\nbuffer", .flags = NVS_COLUMN_LEFT},
	{"bytes", "bytes"},
	{"transfers", "T", .rank = 2},
	{"ns_median", "ns", .decimals = 2},
	{"ns_min", "ns\nmin", .rank = 4, .decimals = 2},
	{"ns_p90", "ns\np90", .rank = 3, .decimals = 2},
	{"gib_per_s", "GiB/s", .decimals = 3},
	{"published_a40_ns", "A40\nns", .rank = 1, .decimals = 1},
};
_Static_assert(sizeof(columns) / sizeof(columns[0]) == NCOLUMNS, "dma.h");

/* ---- one submission ---- */

static const struct probe_memory *source_of(const struct dma_study *s, const struct dma_way *w)
{
	return w->direction == TO_DEVICE   ? &s->host_from
	       : w->direction == FROM_PEER ? &s->peer.from
					   : &s->device_from;
}

static const struct probe_memory *target_of(const struct dma_study *s, const struct dma_way *w)
{
	return w->to_host || w->direction == TO_HOST ? &s->host_to
	       : w->direction == TO_PEER	     ? &s->peer.to
						     : &s->device_to;
}

static uint32_t words_of(const struct dma_way *w, uint32_t bytes)
{
	return w->copy ? NVS_WORDS_COPY : nvs_words_inline(bytes);
}

static uint32_t *put_transfers(const struct dma_study *s, const struct dma_way *w, uint32_t *words,
			       uint32_t bytes, uint32_t n)
{
	while (n--)
		words = w->copy ? nvs_put_copy(words, source_of(s, w)->gpu, target_of(s, w)->gpu,
					       bytes, w->launch)
				: nvs_put_inline(words, target_of(s, w)->gpu, bytes,
						 s->host_from.cpu, w->launch);
	return words;
}

static uint32_t *put_tracker(const struct dma_study *s, const struct dma_way *w, uint32_t *words,
			     uint32_t i, uint32_t payload)
{
	uint64_t at = probe_semaphore_address(&s->session, i);

	return w->copy ? nvs_put_copy_semaphore(words, at, payload)
		       : nvs_put_compute_semaphore(words, at, payload);
}

/* A submission built in command memory. */
struct dma_submission {
	uint32_t *first, *second; /* payloads of the two semaphores */
	uint64_t dwords;
};

static const struct probe_memory *commands_of(const struct dma_study *s, const struct dma_way *w)
{
	return w->commands == PROBE_DEVICE ? &s->device_commands : &s->session.commands;
}

static struct dma_submission build_stream(struct dma_study *s, const struct dma_way *w,
					  uint32_t bytes, uint32_t warm, uint32_t n)
{
	uint32_t *begin = s->session.commands.cpu, *words = begin;
	struct dma_submission stream;

	words = put_transfers(s, w, words, bytes, warm);
	stream.first = words + PAYLOAD;
	words = put_tracker(s, w, words, 0, 0);
	words = put_transfers(s, w, words, bytes, n);
	stream.second = words + PAYLOAD;
	words = put_tracker(s, w, words, 1, 0);
	stream.dwords = (uint64_t)(words - begin);
	probe_upload_commands(&s->session, commands_of(s, w), begin, stream.dwords * 4);
	return stream;
}

/* Submits once. Returns the ns between the two timestamps. */
static double run_once(struct dma_study *s, const struct dma_way *w,
		       const struct dma_submission *stream)
{
	struct probe_session *p = &s->session;
	uint32_t first = ++p->payload, second = ++p->payload;

	*stream->first = first;
	*stream->second = second;
	probe_upload_commands(p, commands_of(s, w), stream->first, 4);
	probe_upload_commands(p, commands_of(s, w), stream->second, 4);
	probe_submit(&p->lanes[w->lane], commands_of(s, w), 0, stream->dwords);
	probe_wait(p, &p->lanes[w->lane], 1, second, PATIENCE_S);
	if (probe_semaphore_payload(p, 0) != first)
		probe_die("the first semaphore holds 0x%x, expected 0x%x",
			  probe_semaphore_payload(p, 0), first);
	return (double)(probe_semaphore_timestamp(p, 1) - probe_semaphore_timestamp(p, 0));
}

/* ---- checking the data ---- */

static void clear_target(struct dma_study *s, const struct dma_way *w, uint32_t bytes)
{
	if (target_of(s, w) == &s->host_to) {
		memset(s->host_to.cpu, 0xa5, bytes);
		return;
	}
	if (target_of(s, w) == &s->peer.to) {
		probe_peer_clear(&s->peer, &s->session, 0xa5, bytes);
		return;
	}
	PROBE_CU(cuMemsetD8Async(s->device_to.gpu, 0xa5, bytes, s->session.work));
	PROBE_CU(cuStreamSynchronize(s->session.work));
}

/* Compares source and target. On a difference prints the first wrong byte and marks the row as an
 * error. */
static bool check_target(struct dma_study *s, const struct dma_way *w, uint32_t bytes)
{
	const unsigned char *want = s->host_from.cpu, *have = s->host_to.cpu;

	if (target_of(s, w) == &s->device_to) {
		PROBE_CU(cuMemcpyDtoHAsync_v2(s->check.cpu, s->device_to.gpu, bytes,
					      s->session.work));
		PROBE_CU(cuStreamSynchronize(s->session.work));
		have = s->check.cpu;
	} else if (target_of(s, w) == &s->peer.to) {
		probe_peer_read(&s->peer, &s->session, s->check.cpu, bytes);
		have = s->check.cpu;
	}
	if (!memcmp(want, have, bytes))
		return true;
	for (uint32_t i = 0; i < bytes; i++)
		if (want[i] != have[i]) {
			fprintf(stderr,
				"nvsnoop-probe: %s, %s, %u bytes: byte %u is 0x%02x, expected "
				"0x%02x\n",
				w->copy ? "copy engine" : "inline", direction_name[w->direction],
				bytes, i, have[i], want[i]);
			break;
		}
	s->wrong++;
	return false;
}

/* ---- a row ---- */

static uint32_t warm_for(uint32_t n)
{
	return n / 8 < 1 ? 1 : n / 8 > 16 ? 16 : n / 8;
}

/* Returns how many transfers take TARGET_NS. Measured more than once, because the first few are
 * slower. */
static uint32_t long_enough(struct dma_study *s, const struct dma_way *w, uint32_t bytes,
			    uint32_t room)
{
	/* A long transfer is not repeated eight times just to estimate it. */
	uint32_t n = bytes > 1 << 20 ? 1 : room < 9 ? room - 1 : 8;

	for (int i = 0; i < 3; i++) {
		uint32_t warm = warm_for(n);
		struct dma_submission stream;
		double ns;

		if (n + warm > room)
			n = room - warm;
		stream = build_stream(s, w, bytes, warm, n);
		ns = run_once(s, w, &stream);
		if (ns >= TARGET_NS)
			break;
		n = (uint32_t)fmin(ceil(n * TARGET_NS / fmax(ns, 32)), room);
	}
	return n;
}

/* One way and size. Its submissions are spread over the whole run in rounds, so that a temporary
 * disturbance affects all rows alike and no median. */
struct point {
	const struct dma_way *way;
	uint32_t bytes, n, have;
	bool bad;
	double *ns;
};

static void add_point(struct dma_study *s, const struct dma_way *w, uint32_t bytes)
{
	struct point *p;

	if (w->direction >= TO_PEER && !s->peer.context)
		return;
	if (bytes > s->largest || ROOM_DWORDS / words_of(w, bytes) < 2)
		return;
	if (s->npoints == POINTS_MAX)
		probe_die("too many rows");
	p = &s->points[s->npoints++];
	*p = (struct point){w, bytes};
	p->ns = probe_allocate(s->options->repeat, sizeof(*p->ns));
}

static void measure_point(struct dma_study *s, struct point *p, uint32_t times, bool last)
{
	uint32_t room = ROOM_DWORDS / words_of(p->way, p->bytes), warm;
	struct probe_session *session = &s->session;
	struct dma_submission stream;

	snprintf(session->doing, sizeof(session->doing),
		 "; at %s, %s, %s, %u bytes, commands in %s memory",
		 p->way->copy ? "copy engine" : "inline", p->way->mode,
		 p->way->to_host ? "HtoH" : direction_name[p->way->direction], p->bytes,
		 probe_place_name(p->way->commands));
	if (last)
		clear_target(s, p->way, p->bytes);
	if (!p->n)
		p->n = p->way->single		? 1
		       : s->options->iterations ? s->options->iterations
						: long_enough(s, p->way, p->bytes, room);
	warm = warm_for(p->n) < room / 2 ? warm_for(p->n) : room / 2;
	if (p->n + warm > room)
		p->n = room - warm;
	stream = build_stream(s, p->way, p->bytes, warm, p->n);
	for (; times; times--)
		p->ns[p->have++] = run_once(s, p->way, &stream) / p->n;
	if (last)
		p->bad = !check_target(s, p->way, p->bytes);
}

static void measure_all(struct dma_study *s)
{
	uint32_t repeat = s->options->repeat;

	for (uint32_t round = 0; round < ROUNDS; round++)
		for (uint32_t i = 0; i < s->npoints; i++)
			measure_point(s, &s->points[i],
				      repeat * (round + 1) / ROUNDS - repeat * round / ROUNDS,
				      round == ROUNDS - 1);
}

static void add_row(struct dma_study *s, const struct point *p)
{
	const struct dma_way *w = p->way;
	uint32_t repeat = s->options->repeat;
	double median = p->bad ? NAN : probe_median(p->ns, repeat);

	probe_table_add_row(&s->table,
			    (struct nvs_value[NCOLUMNS]){
				    PROBE_WORDS(w->copy ? "copy" : "inline"), PROBE_WORDS(w->mode),
				    PROBE_WORDS(s->session.lanes[w->lane].name),
				    PROBE_WORDS(w->to_host ? "HtoH" : direction_name[w->direction]),
				    PROBE_WORDS(w->copy ? probe_place_name(source_of(s, w)->place)
							: "pushbuffer"),
				    PROBE_WORDS(probe_place_name(target_of(s, w)->place)),
				    PROBE_WORDS(probe_place_name(w->commands)),
				    PROBE_NUMBER(p->bytes), PROBE_NUMBER(p->n),
				    PROBE_NUMBER(median), PROBE_NUMBER(p->bad ? NAN : p->ns[0]),
				    PROBE_NUMBER(p->bad ? NAN : probe_quantile(p->ns, repeat, 0.9)),
				    PROBE_NUMBER(p->bytes / median * 1e9 / (1 << 30)),
				    PROBE_NUMBER(dma_published(w, p->bytes)->ns)});
}

static void add_points(struct dma_study *s, const struct dma_way *w, const uint32_t *sizes,
		       uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		add_point(s, w, sizes[i]);
}

/* ---- the study ---- */

static uint32_t largest_of(const struct probe_options *o)
{
	uint32_t most = o->nsizes ? 0 : 1u << 30;

	for (uint32_t i = 0; i < o->nsizes; i++)
		most = o->sizes[i] > most ? o->sizes[i] : most;
	return most;
}

static void fill_sources(struct dma_study *s)
{
	uint32_t *p = s->host_from.cpu, v = 0x9e3779b9;

	for (uint32_t i = 0; i < s->host_from.size / 4; i++) {
		v ^= v << 13;
		v ^= v >> 17;
		v ^= v << 5;
		p[i] = v;
	}
	PROBE_CU(cuMemcpyHtoDAsync_v2(s->device_from.gpu, p, s->host_from.size, s->session.work));
	PROBE_CU(cuStreamSynchronize(s->session.work));
	if (s->peer.context)
		probe_peer_fill(&s->peer, &s->session, p);
}

/* Size of each buffer, rounded up to pages. */
static size_t room_of(const struct dma_study *s)
{
	return (s->largest + 4095ull) & ~4095ull;
}

static void allocate_buffers(struct dma_study *s)
{
	size_t size = room_of(s);

	probe_memory(&s->host_from, PROBE_HOST, size);
	probe_memory(&s->host_to, PROBE_HOST, size);
	probe_memory(&s->check, PROBE_HOST, size);
	probe_memory(&s->device_from, PROBE_DEVICE, size);
	probe_memory(&s->device_to, PROBE_DEVICE, size);
	probe_allocate_commands(&s->device_commands, PROBE_DEVICE, PROBE_COMMAND_BYTES);
	fill_sources(s);
}

static void free_buffers(struct dma_study *s)
{
	struct probe_memory *all[] = {&s->host_from,   &s->host_to,   &s->check,
				      &s->device_from, &s->device_to, &s->device_commands};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		probe_memory_free(all[i]);
}

void dma_measure_raw(const struct probe_options *options, struct probe_session *session,
		     const uint32_t *sizes, uint32_t n, double *by_inline, double *by_engine)
{
	struct dma_study s = {.options = options};

	for (uint32_t i = 0; i < n; i++)
		s.largest = sizes[i] > s.largest ? sizes[i] : s.largest;
	s.points = probe_allocate(POINTS_MAX, sizeof(*s.points));
	probe_open(&s.session, options->gpu);
	allocate_buffers(&s);
	add_points(&s, &dma_main_ways[0], sizes, n);
	add_points(&s, &dma_main_ways[2], sizes, n);
	measure_all(&s);
	probe_read_sm_clock(&s.session);
	for (uint32_t i = 0; i < n; i++)
		by_inline[i] = by_engine[i] = NAN;
	for (uint32_t k = 0; k < s.npoints; k++) {
		struct point *p = &s.points[k];

		for (uint32_t i = 0; i < n; i++)
			if (sizes[i] == p->bytes && !p->bad)
				(p->way->copy ? by_engine : by_inline)[i] =
					probe_median(p->ns, options->repeat);
		free(p->ns);
	}
	free(s.points);
	free_buffers(&s);
	probe_close(&s.session);
	*session = s.session;
	if (s.wrong)
		probe_die("%u rows have wrong data", s.wrong);
}

int probe_run_dma(const struct probe_options *options)
{
	static uint32_t sizes[PROBE_SIZES_MAX];
	struct dma_study s = {.options = options,
			      .largest = largest_of(options),
			      .table = PROBE_TABLE("dma", columns)};
	uint32_t ends[DMA_MAIN];

	if (options->svg)
		probe_svg_check_folder(options->svg);
	if (options->compare)
		return dma_run_compare(options);
	s.points = probe_allocate(POINTS_MAX, sizeof(*s.points));
	probe_open_context(&s.session, options->gpu);
	probe_peer_open(&s.peer, &s.session, room_of(&s));
	probe_open_channels(&s.session);
	allocate_buffers(&s);
	for (uint32_t i = 0; i < DMA_MAIN; i++) {
		add_points(&s, &dma_main_ways[i], sizes,
			   dma_plan_sizes(options, dma_main_ways[i].copy, sizes));
		ends[i] = s.npoints;
	}
	for (uint32_t i = 0; i < DMA_VARIANTS; i++)
		if (options->nsizes)
			add_points(&s, &dma_variants[i], sizes,
				   dma_plan_sizes(options, dma_variants[i].copy, sizes));
		else
			add_points(&s, &dma_variants[i], dma_variant_sizes, DMA_VARIANT_SIZES);
	measure_all(&s);
	probe_read_sm_clock(&s.session);
	for (uint32_t i = 0; i < s.npoints; i++)
		add_row(&s, &s.points[i]);
	dma_add_notes(&s.table, dma_main_ways, ends);
	if (s.peer.context)
		probe_table_add_note(&s.table, "DtoP and PtoD: P is the memory of GPU %d, %s",
				     s.peer.device, s.peer.name);
	else
		probe_table_add_note(&s.table, "DtoP and PtoD (between GPUs) not measured: %s",
				     s.peer.why);
	probe_table_print(&s.table, &s.session, options->format);
	if (options->svg)
		dma_draw_plots(&s.table, &s.session, ends, options->svg);
	free_buffers(&s);
	probe_peer_close(&s.peer, &s.session);
	probe_close(&s.session);
	probe_table_free(&s.table);
	for (uint32_t i = 0; i < s.npoints; i++)
		free(s.points[i].ns);
	free(s.points);
	if (s.wrong)
		probe_die("%u rows have wrong data", s.wrong);
	return 0;
}
