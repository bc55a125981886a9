/* SPDX-License-Identifier: MIT */
/*
 * `nvsnoop-probe graph`: measures the cost of a graph launch by the length of a chain of short
 * kernels. Times are taken without recording; bytes, entries and doorbells come from a second,
 * recorded run of this program. Launches after a synchronize and back-to-back launches are kept
 * apart: the latter must wait for the previous one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe/studies/graph.h"
#include "probe/lib/svg.h"

#define PASSES 4
#define WARM 20 /* per pass */
#define BACK_TO_BACK 50
#define ONE_BY_ONE 20
#define EACH 200 /* every length up to here, then multiples of STEP */
#define STEP 20

static const struct nvs_column columns[] = {
	{"nodes", "nodes"},
	{"launch_us_p50", "launch\nus", .decimals = 2},
	{"launch_us_p10", "us\np10", .rank = 1, .decimals = 2},
	{"launch_us_p90", "us\np90", .rank = 2, .decimals = 2},
	{"bytes_first", "", .flags = NVS_COLUMN_DETAIL},
	{"bytes_p50", "launch\nbytes"},
	{"step_bytes", "", .flags = NVS_COLUMN_DETAIL},
	{"doorbells", "door-\nbells"},
	{"entries", "", .flags = NVS_COLUMN_DETAIL},
	{"back_to_back_us_p50", "back to\nback us", .decimals = 2},
	{"back_to_back_bytes_p50", "back to\nback bytes"},
	{"upload_bytes", "", .flags = NVS_COLUMN_DETAIL},
	{"instantiate_us", "", .flags = NVS_COLUMN_DETAIL, .decimals = 2},
	{"kernels_us_p50", "one by\none us", .decimals = 2},
	{"kernels_bytes", "one by\none bytes"},
	{"kernels_doorbells", "", .flags = NVS_COLUMN_DETAIL},
};
enum { NCOLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* Writes the chain lengths to ROWS, ascending, at most PROBE_NODES_MAX. Returns their number. */
static uint32_t plan_chains(const struct probe_options *o, struct probe_launches *rows)
{
	uint32_t from = o->to ? o->from : 1, to = o->to ? o->to : PROBE_NODES_MAX, n = 0;

	for (uint32_t nodes = from; nodes <= to; nodes++)
		if (nodes <= EACH || nodes % STEP == 0 || nodes == from)
			rows[n++] = (struct probe_launches){.nodes = nodes};
	return n;
}

/* ---- without recording ---- */

static uint32_t min_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Samples of one length over all passes. */
struct samples {
	double *us, *back_to_back, *one_by_one;
	double instantiate[PASSES];
	uint32_t n, back, ones, made;
};

/* Returns how many of ALL samples are taken by the end of PASS. */
static uint32_t count_after(uint32_t all, uint32_t pass)
{
	return all * (pass + 1) / PASSES;
}

static void measure_length(struct probe_chain *c, uint32_t nodes, struct samples *s,
			   uint32_t repeat, uint32_t pass)
{
	uint32_t n = count_after(repeat, pass),
		 back = count_after(min_of(repeat, BACK_TO_BACK), pass),
		 ones = count_after(min_of(repeat, ONE_BY_ONE), pass);

	if (s->n == n) /* fewer launches than passes */
		return;
	probe_chain_build(c, nodes);
	s->instantiate[s->made++] = c->instantiate_us;
	for (uint32_t i = 0; i < WARM; i++) {
		probe_chain_launch(c);
		probe_chain_wait(c);
	}
	while (s->n < n) {
		s->us[s->n++] = probe_chain_launch(c);
		probe_chain_wait(c);
	}
	if (s->back < back)
		probe_chain_launch(c);
	while (s->back < back)
		s->back_to_back[s->back++] = probe_chain_launch(c);
	probe_chain_wait(c);
	probe_chain_destroy(c);
	while (s->ones < ones) {
		s->one_by_one[s->ones++] = probe_chain_kernels(c, nodes);
		probe_chain_wait(c);
	}
}

static void summarize_samples(struct probe_launches *row, struct samples *s)
{
	row->us_p50 = probe_median(s->us, s->n);
	row->us_p10 = probe_quantile(s->us, s->n, 0.1);
	row->us_p90 = probe_quantile(s->us, s->n, 0.9);
	row->back_to_back_us = probe_median(s->back_to_back, s->back);
	row->kernels_us = probe_median(s->one_by_one, s->ones);
	row->instantiate_us = probe_median(s->instantiate, s->made);
}

/* Measures in passes over all lengths: a temporary disturbance then affects a part of the launches
 * of many lengths, and not all launches of a few. */
static void measure_all(const struct probe_options *o, struct probe_launches *rows, uint32_t n)
{
	uint32_t each = o->repeat + BACK_TO_BACK + ONE_BY_ONE;
	struct samples *all = probe_allocate(n, sizeof(*all));
	double *us = probe_allocate((size_t)n * each, sizeof(*us));
	struct probe_chain chain;

	for (uint32_t i = 0; i < n; i++) {
		all[i].us = us + (size_t)i * each;
		all[i].back_to_back = all[i].us + o->repeat;
		all[i].one_by_one = all[i].back_to_back + BACK_TO_BACK;
	}
	probe_chain_open(&chain);
	for (uint32_t pass = 0; pass < PASSES; pass++)
		for (uint32_t i = 0; i < n; i++)
			measure_length(&chain, rows[i].nodes, &all[i], o->repeat, pass);
	probe_chain_close(&chain);
	for (uint32_t i = 0; i < n; i++)
		summarize_samples(&rows[i], &all[i]);
	free(us);
	free(all);
}

/* ---- recorded ---- */

/* graph_record.c depends on the order of these launches. */
int probe_run_graph_launches(const struct probe_options *o)
{
	static struct probe_launches rows[PROBE_NODES_MAX];
	uint32_t n = plan_chains(o, rows);
	struct probe_session session;
	struct probe_chain chain;

	probe_open_context(&session, o->gpu);
	probe_chain_open(&chain);
	for (uint32_t i = 0; i < n; i++) {
		probe_chain_build(&chain, rows[i].nodes);
		for (uint32_t k = 0; k < o->repeat; k++) {
			probe_chain_launch(&chain);
			probe_chain_wait(&chain);
		}
		for (uint32_t k = 0; k < o->repeat; k++)
			probe_chain_launch(&chain);
		probe_chain_wait(&chain);
		probe_chain_kernels(&chain, rows[i].nodes);
		probe_chain_wait(&chain);
		probe_chain_destroy(&chain);
	}
	probe_chain_close(&chain);
	probe_close(&session);
	return 0;
}

/* ---- the study ---- */

static void add_row(struct probe_table *t, const struct probe_launches *row,
		    const struct probe_launches *before)
{
	probe_table_add_row(
		t, (struct nvs_value[NCOLUMNS]){
			   PROBE_NUMBER(row->nodes), PROBE_NUMBER(row->us_p50),
			   PROBE_NUMBER(row->us_p10), PROBE_NUMBER(row->us_p90),
			   PROBE_NUMBER(row->bytes_first), PROBE_NUMBER(row->bytes),
			   PROBE_NUMBER(before ? row->bytes - before->bytes : NAN),
			   PROBE_NUMBER(row->doorbells), PROBE_NUMBER(row->entries),
			   PROBE_NUMBER(row->back_to_back_us),
			   PROBE_NUMBER(row->back_to_back_bytes), PROBE_NUMBER(row->upload_bytes),
			   PROBE_NUMBER(row->instantiate_us), PROBE_NUMBER(row->kernels_us),
			   PROBE_NUMBER(row->kernels_bytes), PROBE_NUMBER(row->kernels_doorbells)});
}

/* Exits if this process is recorded: recording would distort the times. */
static void refuse_recording(void)
{
	const char *preload = getenv("LD_PRELOAD");

	if (preload && strstr(preload, "libnvsnoop.so"))
		probe_die("graph must run without nvsnoop: it times unrecorded launches and "
			  "records others itself");
}

int probe_run_graph(const struct probe_options *o)
{
	static struct probe_launches rows[PROBE_NODES_MAX];
	struct probe_table table = PROBE_TABLE("graph", columns);
	uint32_t n = plan_chains(o, rows), unknown = 0;
	struct probe_session session;

	refuse_recording();
	if (o->svg)
		probe_svg_check_folder(o->svg);
	/* First, because it reports missing prerequisites early. */
	probe_graph_record(o, rows, n);
	probe_open_context(&session, o->gpu);
	measure_all(o, rows, n);
	probe_read_sm_clock(&session);
	for (uint32_t i = 0; i < n; i++) {
		add_row(&table, &rows[i], i ? &rows[i - 1] : NULL);
		unknown += isnan(rows[i].bytes);
	}
	probe_graph_derive(&table, rows, n);
	probe_table_print(&table, &session, o->format);
	if (o->svg)
		probe_graph_draw(rows, n, &session, o->svg);
	probe_close(&session);
	probe_table_free(&table);
	if (unknown)
		probe_die("for %u lengths the recording lacks launches", unknown);
	return 0;
}
