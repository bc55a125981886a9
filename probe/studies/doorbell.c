/* SPDX-License-Identifier: MIT */
/*
 * `nvsnoop-probe doorbell`: measures the stages between the doorbell store and completion. The
 * process can read the GPU's clock (TIME_0 of a doorbell page), so host times are mapped to GPU
 * time by reading one clock between two readings of the other; the uncertainty is half of the
 * interval. With --doorbells the same words are submitted with one doorbell and with many.
 */
#include <math.h>
#include <stdio.h>
#include "probe/studies.h"
#include "submit/commands.h"

#define PATIENCE_S 5
#define REPEAT_MAX 1000
#define SWEEP_DWORDS (1 << 18) /* 1 MiB */

static const struct nvs_column columns[] = {
	{"stage", "stage", .flags = NVS_COLUMN_LEFT},
	{"pushbuffer", "push-\nbuffer", .flags = NVS_COLUMN_LEFT},
	{"doorbells", "door-\nbells", .flags = NVS_COLUMN_IF_KNOWN},
	{"dwords", "dwords"},
	{"ns_median", "ns", .decimals = 1},
	{"ns_min", "ns\nmin", .rank = 2, .decimals = 1},
	{"ns_p90", "ns\np90", .rank = 1, .decimals = 1},
	{"uncertain_ns", "+-\nns", .decimals = 1},
};
enum { NCOLUMNS = sizeof(columns) / sizeof(columns[0]) };

struct doorbell_study {
	struct probe_session session;
	struct probe_table table;
	const volatile uint32_t *clock;
	struct probe_memory device_commands;
	uint32_t repeat;
	uint32_t doorbells; /* of the rows to add; 0: one, which is not shown */
};

static void add_row(struct doorbell_study *s, const char *stage, const char *where, double dwords,
		    double *ns, double uncertain)
{
	double median = probe_median(ns, s->repeat);

	probe_table_add_row(&s->table,
			    (struct nvs_value[NCOLUMNS]){
				    PROBE_WORDS(stage), PROBE_WORDS(where),
				    PROBE_NUMBER(s->doorbells ? s->doorbells : NAN),
				    PROBE_NUMBER(dwords), PROBE_NUMBER(median), PROBE_NUMBER(ns[0]),
				    PROBE_NUMBER(probe_quantile(ns, s->repeat, 0.9)),
				    PROBE_NUMBER(uncertain)});
}

/* The lower word wraps every 4.3 s: read the upper one before and after it. */
static uint64_t gpu_time(const struct doorbell_study *s)
{
	uint32_t high, low, again = s->clock[1];

	do {
		high = again;
		low = s->clock[0];
		again = s->clock[1];
	} while (again != high);
	return (uint64_t)high << 32 | low;
}

/* Returns the GPU's clock minus the host's, in ns, and how far that may be wrong. */
static double clock_offset(const struct doorbell_study *s, double *uncertain)
{
	double best = 0;

	*uncertain = INFINITY;
	for (int i = 0; i < 50; i++) {
		uint64_t before = probe_now(), now = s->clock[0], after = probe_now();
		uint64_t whole = gpu_time(s);

		if (after - before >= *uncertain * 2)
			continue;
		/* The lower word wrapped in between: discard this reading. */
		if ((uint32_t)whole < now)
			continue;
		*uncertain = (double)(after - before) / 2;
		best = (double)(int64_t)((whole & ~0xffffffffull) + now - before) - *uncertain;
	}
	return best;
}

struct doorbell_sample {
	uint64_t begin, rung, seen; /* host times */
	uint64_t stamp; /* GPU timestamp */
};

#define PARSED (NVS_SEM_RELEASE | NVS_SEM_RELEASE_TIMESTAMP)
#define IDLE (PARSED | NVS_SEM_RELEASE_WFI)

/* Submits a host semaphore. */
static struct doorbell_sample submit_one(struct doorbell_study *s,
					 const struct probe_memory *commands)
{
	struct probe_session *p = &s->session;
	struct probe_channel_kind_entry *lane = &p->lanes[PROBE_COMPUTE];
	uint32_t *w = p->commands.cpu, payload = ++p->payload;
	struct doorbell_sample m;

	w = nvs_put_host_semaphore(w, probe_semaphore_address(p, 0), payload, PARSED);
	probe_upload_commands(p, commands, p->commands.cpu,
			      (size_t)((char *)w - (char *)p->commands.cpu));
	m.begin = probe_now();
	probe_submit(lane, commands, 0, (uint64_t)(w - (uint32_t *)p->commands.cpu));
	m.rung = probe_now();
	probe_wait(p, lane, 0, payload, PATIENCE_S);
	m.seen = probe_now();
	m.stamp = probe_semaphore_timestamp(p, 0);
	return m;
}

/* Measures a round trip with the pushbuffer in host or device memory. */
static void round_trip(struct doorbell_study *s, const struct probe_memory *commands)
{
	static double ring[REPEAT_MAX], first[REPEAT_MAX], back[REPEAT_MAX], seen[REPEAT_MAX];
	const char *where = probe_place_name(commands->place);
	double uncertain = NAN, clock = s->clock ? clock_offset(s, &uncertain) : NAN;

	for (uint32_t i = 0; i < s->repeat; i++) {
		struct doorbell_sample m = submit_one(s, commands);

		ring[i] = (double)(m.rung - m.begin);
		seen[i] = (double)(m.seen - m.begin);
		first[i] = (double)(int64_t)(m.stamp - m.begin) - clock;
		back[i] = (double)(int64_t)(m.seen - m.stamp) + clock;
	}
	add_row(s, "entry, GP_PUT and doorbell stored", where, NVS_WORDS_HOST_SEMAPHORE, ring, NAN);
	if (s->clock) {
		add_row(s, "to the first timestamp", where, NVS_WORDS_HOST_SEMAPHORE, first,
			uncertain);
		add_row(s, "from the timestamp to the process", where, NVS_WORDS_HOST_SEMAPHORE,
			back, uncertain);
	}
	add_row(s, "all of it", where, NVS_WORDS_HOST_SEMAPHORE, seen, NAN);
}

/* Measures N no-operation words between two semaphores: fetch and dispatch. */
static void measure_dispatch(struct doorbell_study *s, const struct probe_memory *commands,
			     uint32_t n)
{
	static double ns[REPEAT_MAX];
	struct probe_session *p = &s->session;
	struct probe_channel_kind_entry *lane = &p->lanes[PROBE_COMPUTE];

	for (uint32_t i = 0; i < s->repeat; i++) {
		uint32_t *w = p->commands.cpu, payload = ++p->payload;

		w = nvs_put_host_semaphore(w, probe_semaphore_address(p, 0), payload, PARSED);
		w = nvs_put_nop(w, n);
		w = nvs_put_host_semaphore(w, probe_semaphore_address(p, 1), payload, PARSED);
		probe_upload_commands(p, commands, p->commands.cpu,
				      (size_t)((char *)w - (char *)p->commands.cpu));
		probe_submit(lane, commands, 0, (uint64_t)(w - (uint32_t *)p->commands.cpu));
		probe_wait(p, lane, 1, payload, PATIENCE_S);
		ns[i] = (double)(probe_semaphore_timestamp(p, 1) - probe_semaphore_timestamp(p, 0));
	}
	add_row(s, "words fetched and handed on", probe_place_name(commands->place), n, ns, 32);
}

/* Compares three kinds of release after the same words: when parsed, when idle, and by the engine.
 *  */
static void measure_completion(struct doorbell_study *s)
{
	static double ns[3][REPEAT_MAX];
	static const char *const stage[] = {"host semaphore, without waiting",
					    "host semaphore, when idle", "compute semaphore"};
	struct probe_session *p = &s->session;
	struct probe_channel_kind_entry *lane = &p->lanes[PROBE_COMPUTE];

	for (uint32_t i = 0; i < s->repeat; i++) {
		uint32_t *w = p->commands.cpu, payload = ++p->payload;

		for (uint32_t k = 0; k < 3; k++) {
			w = nvs_put_host_semaphore(w, probe_semaphore_address(p, k * 2), payload,
						   IDLE);
			w = k < 2 ? nvs_put_host_semaphore(w, probe_semaphore_address(p, k * 2 + 1),
							   payload, k ? IDLE : PARSED)
				  : nvs_put_compute_semaphore(
					    w, probe_semaphore_address(p, k * 2 + 1), payload);
		}
		probe_submit(lane, &p->commands, 0, (uint64_t)(w - (uint32_t *)p->commands.cpu));
		probe_wait(p, lane, 5, payload, PATIENCE_S);
		for (uint32_t k = 0; k < 3; k++)
			ns[k][i] = (double)(probe_semaphore_timestamp(p, k * 2 + 1) -
					    probe_semaphore_timestamp(p, k * 2));
	}
	for (uint32_t k = 0; k < 3; k++)
		add_row(s, stage[k], "host", k < 2 ? 6 : 5, ns[k], 32);
}

static void measure_writing(struct doorbell_study *s, uint32_t n)
{
	static double ns[REPEAT_MAX];

	for (uint32_t i = 0; i < s->repeat; i++) {
		uint64_t begin = probe_now();

		nvs_put_nop(s->session.commands.cpu, n);
		ns[i] = (double)(probe_now() - begin);
	}
	add_row(s, "words written by the process", "host", n, ns, NAN);
}

/* Submits SWEEP_DWORDS no-operation words in N parts with a doorbell each, between two semaphores.
 */
static void measure_parts(struct doorbell_study *s, const struct probe_memory *commands, uint32_t n)
{
	static double stored[REPEAT_MAX], gpu[REPEAT_MAX], all[REPEAT_MAX];
	static uint64_t from[PROBE_DOORBELLS_MAX + 1]; /* dword at which a part begins */
	struct probe_session *p = &s->session;
	struct probe_channel_kind_entry *lane = &p->lanes[PROBE_COMPUTE];
	const char *where = probe_place_name(commands->place);

	s->doorbells = n;
	for (uint32_t i = 0; i < s->repeat; i++) {
		uint32_t *begin = p->commands.cpu, *w = begin, payload = ++p->payload;
		uint64_t start;

		w = nvs_put_host_semaphore(w, probe_semaphore_address(p, 0), payload, PARSED);
		for (uint32_t k = 0; k < n; k++) {
			from[k] = k ? (uint64_t)(w - begin) : 0;
			w = nvs_put_nop(w, SWEEP_DWORDS / n);
		}
		w = nvs_put_host_semaphore(w, probe_semaphore_address(p, 1), payload, PARSED);
		from[n] = (uint64_t)(w - begin);
		probe_upload_commands(p, commands, begin, from[n] * 4);
		start = probe_now();
		for (uint32_t k = 0; k < n; k++)
			probe_submit(lane, commands, from[k] * 4, from[k + 1] - from[k]);
		stored[i] = (double)(probe_now() - start);
		probe_wait(p, lane, 1, payload, PATIENCE_S);
		all[i] = (double)(probe_now() - start);
		gpu[i] =
			(double)(probe_semaphore_timestamp(p, 1) - probe_semaphore_timestamp(p, 0));
	}
	add_row(s, "entries, GP_PUT and doorbells stored", where, SWEEP_DWORDS / n, stored, NAN);
	add_row(s, "from the first to the last timestamp", where, SWEEP_DWORDS / n, gpu, 32);
	add_row(s, "all of it", where, SWEEP_DWORDS / n, all, NAN);
}

/* The same words with different numbers of doorbells. */
static void sweep_doorbells(struct doorbell_study *s, const struct probe_options *options)
{
	for (uint32_t i = 0; i < options->ndoorbells; i++) {
		measure_parts(s, &s->session.commands, options->doorbells[i]);
		measure_parts(s, &s->device_commands, options->doorbells[i]);
	}
	probe_table_add_note(&s->table,
			     "Each row submits %d KiB of no-operation words in all, in as many "
			     "parts as doorbells; dwords are those of a part.",
			     SWEEP_DWORDS / 256);
}

static void measure_stages(struct doorbell_study *s)
{
	static const uint32_t lengths[] = {16, 256, 4096, 65536, 1048576};

	round_trip(s, &s->session.commands);
	round_trip(s, &s->device_commands);
	measure_completion(s);
	for (uint32_t i = 0; i < 5; i++) {
		measure_writing(s, lengths[i]);
		measure_dispatch(s, &s->session.commands, lengths[i]);
		measure_dispatch(s, &s->device_commands, lengths[i]);
	}
	if (!s->clock)
		probe_table_add_note(&s->table,
				     "The GPU's clock cannot be read here: the stages between "
				     "the store and the first timestamp cannot be separated.");
}

int probe_run_doorbell(const struct probe_options *options)
{
	struct doorbell_study s = {.repeat = options->repeat,
				   .table = PROBE_TABLE("doorbell", columns)};

	probe_open(&s.session, options->gpu);
	s.clock = probe_gpu_clock(s.session.lanes[PROBE_COMPUTE].channel.gpu);
	probe_allocate_commands(&s.device_commands, PROBE_DEVICE, PROBE_COMMAND_BYTES);
	for (int i = 0; i < 5; i++) /* warm-up */
		submit_one(&s, &s.session.commands);
	if (options->ndoorbells)
		sweep_doorbells(&s, options);
	else
		measure_stages(&s);
	probe_read_sm_clock(&s.session);
	probe_table_print(&s.table, &s.session, options->format);
	probe_memory_free(&s.device_commands);
	probe_close(&s.session);
	probe_table_free(&s.table);
	return 0;
}
