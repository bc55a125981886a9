/* SPDX-License-Identifier: MIT */
/*
 * Measures loads, stores and atomics to the memory of another GPU, compared with this GPU's own:
 * latency along a chain of 1 MiB, which the L2 of the memory's GPU holds, and the rate of all SMs
 * on 512 MiB. Nothing is measured between GPUs without peer access. Writes and atomics end with a
 * fence, so that they have arrived when the time is taken. Copies by the copy engine are measured
 * by the dma study. Takes about 1 s, over PCIe 5 s.
 */
#include <math.h>
#include "probe/bench/frame/pointer_chase.h"
#include "probe/bench/frame/internal.h"
#include "probe/lib/peer.h"

enum {
	SIZE = 512 << 20,
	CHAIN = 1 << 20,
	LINE = 128,
	STEPS = 4096,
	THREADS = 512,
	BLOCKS = 2, /* per SM */
	UNROLL = 4,
	OP_RED = 0x18e,
	OP_ATOMG = 0x1a8,
	NATIVE_ATOMICS = 3, /* CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED */
};
enum p2p_access { READ, WRITE, RED, RATES };
static const struct {
	const char *name, *unit;
	unsigned width; /* bytes per thread and step */
	uint16_t op;
	double each; /* counted for each access */
} rates[RATES] = {{"read", "GB/s", 16, OP_LDG, 16},
		  {"write", "GB/s", 16, OP_STG, 16},
		  {"red.add.u32", "Gop/s", 4, OP_RED, 1}};
static const char *const latencies[] = {"load", "atom.add.u64"};
static const char *const places[] = {"own", "peer"};

/* arg0: memory, arg1: iterations of UNROLL steps, arg2: 1. */
static struct bench_kernel *rate_kernel(struct bench_run *run, enum p2p_access what)
{
	struct bench_text t = {0};

	bench_emit(&t,
		   ".reg .u64 at, step; .reg .u32 n, v, sum, r<16>; .reg .pred p;\n"
		   "mad.lo.u32 n, %%b_ctaid, %%b_ntid, %%b_tid; mul.wide.u32 at, n, %u;\n"
		   "add.u64 at, at, %%b_arg0; mul.lo.u32 n, %%b_nctaid, %%b_ntid;\n"
		   "mul.wide.u32 step, n, %u; cvt.u32.u64 n, %%b_arg1; cvt.u32.u64 v, %%b_arg2;\n"
		   "mov.u32 sum, 0;\nturn:\n.pragma \"nounroll\";\n",
		   rates[what].width, rates[what].width);
	for (unsigned k = 0, r = 0; k < UNROLL; k++, r += 4) {
		if (what == READ)
			bench_emit(&t, "ld.global.cg.v4.u32 {r%u, r%u, r%u, r%u}, [at];\n", r,
				   r + 1, r + 2, r + 3);
		else if (what == WRITE)
			bench_emit(&t, "st.global.v4.u32 [at], {v, v, n, n};\n");
		else
			bench_emit(&t, "red.global.sys.add.u32 [at], v;\n");
		bench_emit(&t, "add.u64 at, at, step;\n");
	}
	for (unsigned r = 0; r < 4 * UNROLL && what == READ; r++)
		bench_emit(&t, "xor.b32 sum, sum, r%u;\n", r);
	bench_emit(&t,
		   "sub.u32 n, n, 1; setp.ne.u32 p, n, 0;\n@p bra turn;\n%s"
		   "setp.eq.u32 p, sum, 77;\n@p st.global.u32 [%%b_data], sum;\n",
		   what == READ ? "" : "fence.acq_rel.sys;\n");
	/* The frame contains a red and two stores. */
	return BENCH_KERNEL(run, &t, .name = rates[what].name, .threads = THREADS,
			    .expect = {{rates[what].op, UNROLL, UNROLL + 3}});
}

/* Like chase_build_kernel(), with atomics that return the next address: arg0: start, arg1: steps,
 * arg2: 0. */
static struct bench_kernel *atomic_chase(struct bench_run *run)
{
	struct bench_text t = {0};

	bench_emit(&t, ".reg .u64 at, c<2>; .reg .u32 n; .reg .pred p;\n"
		       "mov.u64 at, %%b_arg0; cvt.u32.u64 n, %%b_arg1; mov.u64 c0, %%clock64;\n"
		       "next:\n.pragma \"nounroll\";\n");
	for (unsigned k = 0; k < CHASE_UNROLL; k++)
		bench_emit(&t, "atom.global.sys.add.u64 at, [at], %%b_arg2;\n");
	bench_emit(&t,
		   "sub.u32 n, n, %d; setp.gt.s32 p, n, 0;\n@p bra next;\n"
		   "setp.eq.u64 p, at, 0;\n@p bra lost;\n"
		   "mov.u64 c1, %%clock64; sub.u64 c1, c1, c0;\n"
		   "st.global.u64 [%%b_data], c1; st.global.u64 [%%b_data+8], at;\nlost:\n",
		   (int)CHASE_UNROLL);
	return BENCH_KERNEL(run, &t, .name = "chase-atom", .threads = 1,
			    .expect = {{OP_ATOMG, CHASE_UNROLL, CHASE_UNROLL}});
}

struct kernels {
	struct bench_kernel *lay, *chase[2], *rate[RATES];
};

static struct bench_point *point_of(struct bench_run *run, const char *what, const char *place,
				    const char *unit, double bytes)
{
	return bench_add_point(run, bench_format("%s, %s", what, place), "bytes", unit, bytes);
}

static void measure_latencies(struct bench_run *run, const struct kernels *k, const char *place,
			      uint64_t base, bool atomics)
{
	struct chase_chain chain = {
		.base = base, .elements = CHAIN / LINE, .stride = LINE, .random = true};

	if (!chase_write_chain(run, k->lay, &chain))
		return;
	for (unsigned i = 0; i < 1u + atomics; i++) {
		struct bench_launch l = {.block = 1, .arg = {base, STEPS, i ? 0 : STEPS}};

		if (k->chase[i])
			bench_repeat(run, k->chase[i], &l, 16, chase_compute_cycles,
				     &(double){STEPS},
				     point_of(run, latencies[i], place, "cycles", CHAIN));
	}
}

static void measure_rates(struct bench_run *run, const struct kernels *k, const char *place,
			  uint64_t base, bool atomics)
{
	uint32_t grid = (uint32_t)bench_gpu(run)->sms * BLOCKS;

	for (enum p2p_access i = READ; i < (atomics ? RATES : RED); i++) {
		uint64_t turn = (uint64_t)grid * THREADS * UNROLL * rates[i].width;
		uint64_t turns = turn ? SIZE / turn : 0, bytes = turns * turn;
		struct bench_launch l = {.grid = grid, .block = THREADS, .arg = {base, turns, 1}};

		if (k->rate[i] && turns)
			bench_repeat(
				run, k->rate[i], &l, 16, chase_compute_rate,
				&(double){(double)bytes / rates[i].width * rates[i].each},
				point_of(run, rates[i].name, place, rates[i].unit, (double)bytes));
	}
}

static bool has_native_atomics(struct bench_run *run, const struct probe_peer *peer)
{
	int can = 0;

	if (cu.cuDeviceGetP2PAttribute &&
	    !cu.cuDeviceGetP2PAttribute(&can, NATIVE_ATOMICS, run->session.device, peer->device) &&
	    can)
		return true;
	bench_add_missing(bench_samples(run), "atomics in the memory of GPU %d: not native",
			  peer->device);
	return false;
}

static void measure_peer(struct bench_run *run, const struct kernels *k)
{
	struct probe_peer peer;
	uint64_t own;

	probe_peer_open(&peer, &run->session, SIZE);
	if (!peer.context) {
		bench_add_missing(bench_samples(run), "no memory of another GPU: %s", peer.why);
		return;
	}
	own = bench_memory_alloc(run, SIZE);
	if (own) {
		bool atomics = has_native_atomics(run, &peer);

		measure_latencies(run, k, places[0], own, true);
		measure_rates(run, k, places[0], own, true);
		measure_latencies(run, k, places[1], peer.from.gpu, atomics);
		measure_rates(run, k, places[1], peer.to.gpu, atomics);
	} else
		bench_add_missing(bench_samples(run), "not enough memory for an array");
	/* A failure has destroyed the context's memory and access; a hanging kernel still holds
	 * them. */
	if (!run->stuck)
		probe_peer_close(&peer, &run->session);
}

static void measure_samples(struct bench_run *run)
{
	struct kernels k = {.lay = chase_build_builder(run),
			    .chase = {chase_build_kernel(run, "cg"), atomic_chase(run)}};

	for (enum p2p_access i = READ; i < RATES; i++)
		k.rate[i] = rate_kernel(run, i);
	if (!bench_is_dry(run) && !run->broken && !run->stuck)
		measure_peer(run, &k);
}

/* Adds the figure of the series' only point. Returns NULL if there is none or it is 0. */
static const struct bench_point *add_figure(const struct bench_samples *samples,
					    struct bench_figures *figures, const char *what,
					    const char *place)
{
	const struct bench_series *series = bench_find_series(samples,
							      bench_format("%s, %s", what, place));
	const struct bench_point *point = bench_find_first(series);

	if (!point || !(bench_median(point) > 0))
		return NULL;
	bench_add_point_figure(figures, what, place, series, point);
	return point;
}

static void derive_figures(const struct bench_samples *samples, const struct bench_gpu *gpu,
			   struct bench_figures *figures)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct bench_point *own = add_figure(samples, figures, latencies[i],
							   places[0]);
		const struct bench_point *peer = add_figure(samples, figures, latencies[i],
							    places[1]);

		if (own && peer)
			bench_add_note(figures,
				       "%s: the other GPU's memory is %.0f cycles slower than L2.",
				       latencies[i], bench_median(peer) - bench_median(own));
	}
	for (enum p2p_access i = READ; i < RATES; i++) {
		const struct bench_point *own = add_figure(samples, figures, rates[i].name,
							   places[0]);
		const struct bench_point *peer = add_figure(samples, figures, rates[i].name,
							    places[1]);

		if (own && peer)
			bench_add_note(
				figures,
				"%s: the other GPU's memory provides %.1f %% of this GPU's rate.",
				rates[i].name, bench_median(peer) / bench_median(own) * 100);
	}
}

BENCH(bench_p2p, "p2p", "", "memory of another GPU: latency, bandwidth, atomics", measure_samples,
      derive_figures);
