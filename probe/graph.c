/* SPDX-License-Identifier: MIT */
/*
 * `nvsnoop-probe graph`: what launching a graph costs by the length of a chain of short kernels.
 * Times are taken without recording; bytes, entries and doorbells of the same launches come of a
 * second run of this program, recorded. Launches behind a synchronise and launches back to back are
 * apart: the latter have to wait for the one before.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe/graph.h"
#include "probe/svg.h"

#define WARM 20
#define BACK_TO_BACK 50
#define ONE_BY_ONE 20
#define EACH 200 /* every length to here, then each of STEP */
#define STEP 20

static const struct probe_column columns[] = {
	{"nodes", "nodes", 0},
	{"launch_us_p50", "launch\nus", 2},
	{"launch_us_p10", "us\np10", 2},
	{"launch_us_p90", "us\np90", 2},
	{"bytes_first", NULL, 0},
	{"bytes_p50", "launch\nbytes", 0},
	{"step_bytes", NULL, 0},
	{"doorbells", "door-\nbells", 0},
	{"entries", NULL, 0},
	{"back_to_back_us_p50", "back to\nback us", 2},
	{"back_to_back_bytes_p50", "back to\nback bytes", 0},
	{"upload_bytes", NULL, 0},
	{"instantiate_us", NULL, 2},
	{"kernels_us_p50", "one by\none us", 2},
	{"kernels_bytes", "one by\none bytes", 0},
	{"kernels_doorbells", NULL, 0},
};
enum { NCOLUMNS = sizeof(columns) / sizeof(columns[0]) };

uint32_t probe_graph_plan(const struct probe_options *o, struct probe_launches *rows)
{
	uint32_t from = o->to ? o->from : 1, to = o->to ? o->to : PROBE_NODES_MAX, n = 0;

	for (uint32_t nodes = from; nodes <= to; nodes++)
		if (nodes <= EACH || nodes % STEP == 0 || nodes == from)
			rows[n++] = (struct probe_launches){.nodes = nodes};
	return n;
}

/* ---- without recording ---- */

static uint32_t fewer(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void measure(struct probe_chain *c, struct probe_launches *row, uint32_t repeat, double *us)
{
	uint32_t n = fewer(repeat, BACK_TO_BACK), k = fewer(repeat, ONE_BY_ONE);

	probe_chain_make(c, row->nodes);
	row->instantiate_us = c->instantiate_us;
	for (uint32_t i = 0; i < WARM + repeat; i++) {
		us[i < WARM ? 0 : i - WARM] = probe_chain_launch(c);
		probe_chain_wait(c);
	}
	row->us_p50 = probe_median(us, repeat);
	row->us_p10 = probe_quantile(us, repeat, 0.1);
	row->us_p90 = probe_quantile(us, repeat, 0.9);
	probe_chain_launch(c);
	for (uint32_t i = 0; i < n; i++)
		us[i] = probe_chain_launch(c);
	probe_chain_wait(c);
	row->back_to_back_us = probe_median(us, n);
	probe_chain_drop(c);
	for (uint32_t i = 0; i < k; i++) {
		us[i] = probe_chain_kernels(c, row->nodes);
		probe_chain_wait(c);
	}
	row->kernels_us = probe_median(us, k);
}

static void measure_all(const struct probe_options *o, struct probe_launches *rows, uint32_t n)
{
	double *us = calloc(o->repeat + 1, sizeof(*us));
	struct probe_chain chain;

	if (!us)
		probe_die("out of memory");
	probe_chain_open(&chain);
	for (uint32_t i = 0; i < n; i++)
		measure(&chain, &rows[i], o->repeat, us);
	probe_chain_close(&chain);
	free(us);
}

/* ---- recorded ---- */

/* The order of these is what graph_record.c counts by. */
int probe_graph_launches(const struct probe_options *o)
{
	static struct probe_launches rows[PROBE_NODES_MAX];
	uint32_t n = probe_graph_plan(o, rows);
	struct probe_session session;
	struct probe_chain chain;

	probe_open_context(&session, o->gpu);
	probe_chain_open(&chain);
	for (uint32_t i = 0; i < n; i++) {
		probe_chain_make(&chain, rows[i].nodes);
		for (uint32_t k = 0; k < o->repeat; k++) {
			probe_chain_launch(&chain);
			probe_chain_wait(&chain);
		}
		for (uint32_t k = 0; k < o->repeat; k++)
			probe_chain_launch(&chain);
		probe_chain_wait(&chain);
		probe_chain_kernels(&chain, rows[i].nodes);
		probe_chain_wait(&chain);
		probe_chain_drop(&chain);
	}
	probe_chain_close(&chain);
	probe_close(&session);
	return 0;
}

/* ---- the study ---- */

static void add_row(struct probe_table *t, const struct probe_launches *row,
		    const struct probe_launches *before)
{
	probe_table_row(
		t, (struct probe_cell[NCOLUMNS]){
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

/* A trace of the whole program would be in the times. */
static void not_recorded(void)
{
	const char *preload = getenv("LD_PRELOAD");

	if (preload && strstr(preload, "libnvsnoop.so"))
		probe_die("graph times launches that are not recorded, and records others itself: "
			  "run it without nvsnoop");
}

int probe_graph(const struct probe_options *o)
{
	static struct probe_launches rows[PROBE_NODES_MAX];
	struct probe_table table = {.study = "graph", .columns = columns, .ncolumns = NCOLUMNS};
	uint32_t n = probe_graph_plan(o, rows), unknown = 0;
	struct probe_session session;

	not_recorded();
	if (o->svg)
		probe_svg_folder(o->svg);
	/* First, since it says soon what is missing. */
	probe_graph_record(o, rows, n);
	probe_open_context(&session, o->gpu);
	measure_all(o, rows, n);
	probe_clock(&session);
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
		probe_die("of %u lengths not all launches are in the recording", unknown);
	return 0;
}
