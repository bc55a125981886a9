/* SPDX-License-Identifier: MIT */
/*
 * mkranks FOLDER FIRST LAST: traces of the ranks FIRST to LAST of a job of 1,000 ranks on 125
 * machines, rankNNNN.zst: 16 steps, one every quarter of an hour. No two are equal, and a few have
 * faults, which are listed in PLANTED below; tests/export and tests/cli look for them.
 */
#include "tests/unit/mktrace.h"
#include "tests/unit/pbmake.h"

enum {
	WORLD = 1000,
	ON_HOST = 8,
	STEPS = 16,
	/* PLANTED: ranks, and a host */
	SLOW = 613, /* each step takes half as long again */
	PARTS = 377, /* leaves the collective of step 7 out */
	LEAKS = 88, /* does not free what it takes for a step */
	DRIFTS = 901, /* its steps take longer from hour to hour, by 40 % in the end */
	STALLS = 256, /* three launches take 8 ms */
	STEPPED = 56, /* host whose time of day is set forward by 3 s in the middle, at step 8 */
	WARPED = 57, /* host whose time of day goes 40 us fast over the run */
};

#define US 1000ull
#define MS 1000000ull
#define S 1000000000ull
#define JOB_BEGAN (1700000000ull * S)
#define EACH (900 * S) /* a step */
#define AHEAD (50 * S) /* the GPU's clock */
#define SLOT 0x205000000ull

enum api { ALLOC, FREE, LAUNCH, GRAPH_LAUNCH, SYNC, APIS };
static const char *const apis[APIS] = {
	[ALLOC] = "cuMemAlloc_v2|memory|dptr:devptr|bytesize:u64",
	[FREE] = "cuMemFree_v2|memory|dptr:devptr",
	[LAUNCH] = ("cuLaunchKernel|launch|f:function|gridDimX:u32|gridDimY:u32|gridDimZ:u32|"
		    "blockDimX:u32|blockDimY:u32|blockDimZ:u32|sharedMemBytes:u32|hStream:stream"),
	[GRAPH_LAUNCH] = "cuGraphLaunch|graph-launch|hGraphExec:exec|hStream:stream",
	[SYNC] = "cuStreamSynchronize|sync|hStream:stream",
};
static const char *const kernels[] = {"_Z7forwardPfi", "_Z8backwardPfi",
				      "ncclDevKernel_AllReduce_Sum_f32_RING_LL"};

static struct mk m;
static struct pb pb;
static uint32_t rank, host, payload;
static uint64_t boot; /* what the host's monotonic clock showed when the job began */
static uint64_t number;
static uint64_t idle; /* from when on the GPU is */

/* As even as a run is; the same in each run. */
static uint64_t noise(uint64_t seed, uint64_t most)
{
	seed = (seed + rank * 1000003ull) * 0x9e3779b97f4a7c15ull;
	return (seed >> 33) % most;
}

static void kernel(uint32_t i)
{
	size_t n = strlen(kernels[i]);
	struct nvs_rec_kernel *rec = mk_rec(&m, NVS_REC_KERNEL, sizeof(*rec) + n);

	rec->rec.flags = NVS_KERNEL_NAMED | NVS_KERNEL_ATTRS;
	rec->function = 0xf00 + i;
	rec->registers = 32;
	rec->length = (uint32_t)n;
	memcpy(rec->name, kernels[i], n);
}

static void clock_read(uint64_t at)
{
	bool behind = host == STEPPED && at < 8 * EACH;
	struct nvs_rec_clock *rec;

	m.time = boot + at - 10;
	rec = mk_rec(&m, NVS_REC_CLOCK, sizeof(*rec));
	rec->mono_ns = rec->rec.time;
	rec->real_ns = JOB_BEGAN + at - (behind ? 3 * S : 0);
	if (host == WARPED)
		rec->real_ns += at / (STEPS * EACH / (40 * US));
}

static void gpu_clock(void)
{
	uint64_t at = m.time + 200;
	struct nvs_rec_gpu_clock *rec;

	m.time = at;
	rec = mk_rec(&m, NVS_REC_GPU_CLOCK, sizeof(*rec));
	rec->ns = AHEAD + at;
	rec->before = at - 100;
	rec->after = at + 100;
}

static void range(bool begin)
{
	static const char name[] = "step";

	if (begin) {
		struct nvs_rec_nvtx *rec = mk_rec(&m, NVS_REC_NVTX_BEGIN, sizeof(*rec) + 4);

		rec->rec.flags = NVS_NVTX_PUSHED;
		rec->length = 4;
		memcpy(rec->text, name, 4);
	} else {
		struct nvs_rec_nvtx_end *rec = mk_rec(&m, NVS_REC_NVTX_END, sizeof(*rec));

		rec->rec.flags = NVS_NVTX_PUSHED;
	}
}

static void over(uint32_t api, uint64_t ns, bool submitted, uint32_t nargs, const uint64_t *args)
{
	uint64_t begin = m.time;
	struct nvs_rec_call *rec;

	m.time += ns;
	rec = mk_rec(&m, NVS_REC_CALL, sizeof(*rec) + nargs * 8ull);
	rec->api = api;
	rec->number = number++;
	rec->begin = submitted ? 0 : begin;
	rec->end = rec->rec.time;
	rec->depth = 1;
	rec->nargs = (uint16_t)nargs;
	memcpy(rec->args, args, nargs * 8ull);
}

/* BUSY: so many entries of the ring are not done. NS: of the GPU. */
static void submit(uint32_t api, uint32_t busy, uint64_t ns)
{
	struct nvs_rec_call_begin *begun = mk_rec(&m, NVS_REC_CALL_BEGIN, sizeof(*begun));
	struct nvs_rec_submission *s;
	struct nvs_rec_gpu_time *gpu;

	begun->api = api;
	begun->number = number;
	begun->begin = begun->rec.time - 5;
	begun->depth = 1;
	pb.n = 0;
	if (!payload)
		pb_inc(&pb, 1, 0, 1, 0xcbc0u);
	pb_inc(&pb, 1, 0x100, 1, 0u);
	pb_trigger(&pb, 0x7f0000001000, 3);
	pb_report(&pb, SLOT, ++payload, 4);
	s = mk_submission(&m, 0, 1, NVS_NONE, 1, &pb.n, 0);
	s->rec.flags |= 1 << NVS_SUB_CALL_SHIFT;
	memcpy(s->entries + 1, pb.words, pb.n * 4ull);
	s->progress_address = payload > 1 ? SLOT : 0;
	s->progress[0] = payload > busy ? payload - busy - 1 : 0;
	if (!ns)
		return;
	gpu = mk_rec(&m, NVS_REC_GPU_TIME, sizeof(*gpu));
	gpu->channel = 1;
	gpu->kind = NVS_TIMING_WORK;
	gpu->sequence = payload - 1;
	idle = m.time + 5 * US > idle ? m.time + 5 * US : idle;
	gpu->begin = AHEAD + idle;
	idle += ns + 2 * US;
	gpu->end = gpu->begin + ns;
}

static void launch(uint32_t i, uint64_t took, uint64_t gpu, bool stalls)
{
	const uint64_t args[] = {0xf00 + i, 64, 1, 1, 128, 1, 1, 0, 0x5000};

	submit(LAUNCH, stalls ? 1000 : 1, gpu);
	over(LAUNCH, stalls ? 8 * MS : took, true, 9, args);
}

/* What a step takes in all; the rest of it is waited for. */
static uint64_t step_takes(uint32_t step)
{
	uint64_t ns = 1000 * US + noise(step, 20 * US);

	if (rank == SLOW)
		ns = ns * 3 / 2;
	if (rank == DRIFTS)
		ns += ns * step / 40;
	return ns;
}

static void one_step(uint32_t step)
{
	uint64_t begin = boot + step * EACH + 100 * US + noise(step + 77, 50 * US), wait;
	uint64_t args[] = {0x7f0000000000 + (rank == LEAKS ? step : 0) * (64ull << 20),
			   64ull << 20};
	const uint64_t stream = 0x5000, exec[] = {0x6200, 0x5000};
	bool stalls = rank == STALLS && (step == 4 || step == 9 || step == 11);

	if (step % 4 == 0)
		clock_read(step * EACH + 10 * US);
	m.time = begin;
	range(true);
	over(ALLOC, 20 * US, false, 2, args);
	launch(0, 4 * US + noise(step, 500), 100 * US, stalls);
	launch(1, 4 * US + noise(step + 1, 500), (rank == SLOW ? 500 : 200) * US, false);
	if (rank != PARTS || step != 7)
		launch(2, 5 * US, 50 * US, false);
	submit(GRAPH_LAUNCH, 1, 80 * US);
	over(GRAPH_LAUNCH, 9 * US, true, 2, exec);
	wait = begin + step_takes(step);
	over(SYNC, wait > m.time ? wait - m.time : US, false, 1, &stream);
	if (rank != LEAKS)
		over(FREE, 10 * US, false, 1, args);
	range(false);
	if (step % 4 == 1)
		gpu_clock();
}

/* What mk_open() has written is as old as the trace. */
static void begin_now(void)
{
	for (size_t at = 0; at < m.len; at += ((struct nvs_rec *)(m.buf + at))->size) {
		struct nvs_rec *rec = (struct nvs_rec *)(m.buf + at);

		rec->time = m.time;
		if (rec->type == NVS_REC_HEADER)
			((struct nvs_rec_header *)rec)->pid = 4000 + rank % ON_HOST;
	}
}

static void attr(uint32_t key, const char *value)
{
	mk_attr(&m, key, value, strlen(value));
}

static void session(void)
{
	char text[32];

	snprintf(text, sizeof(text), "node%03u", host);
	attr(NVS_ATTR_HOST, text);
	snprintf(text, sizeof(text), "%u", rank);
	attr(NVS_ATTR_RANK, text);
	attr(NVS_ATTR_WORLD_SIZE, "1000");
	attr(NVS_ATTR_LAUNCHER, "torchrun");
	attr(NVS_ATTR_OPTIONS, "timing=work");
	attr(NVS_ATTR_EXE, "/usr/bin/python3");
	/* chrony says so of a network like that; the one that was set was kept by nobody. */
	attr(NVS_ATTR_CLOCK_ERROR, host == STEPPED ? "unkept" : "120");
	mk_h200(&m);
	mk_thread(&m, 0, 4000 + rank % ON_HOST, "python3");
	mk_channel(&m, 1);
	for (uint32_t i = 0; i < APIS; i++)
		mk_api(&m, i, apis[i]);
	for (uint32_t i = 0; i < 3; i++)
		kernel(i);
}

static void one_rank(const char *folder)
{
	char path[4096];

	host = rank / ON_HOST;
	boot = (1000 + host * 977ull) * S;
	number = payload = 0;
	idle = 0;
	snprintf(path, sizeof(path), "%s/rank%04u.zst", folder, rank);
	mk_open(&m, path);
	m.time = boot + rank * 100;
	begin_now();
	session();
	clock_read(rank * 100 + 100);
	gpu_clock();
	for (uint32_t step = 0; step < STEPS; step++)
		one_step(step);
	clock_read(STEPS * EACH);
	gpu_clock();
	mk_channel_gone(&m, 1);
	mk_finish(&m);
}

int main(int argc, char **argv)
{
	uint32_t last;

	if (argc != 4) {
		fprintf(stderr, "usage: mkranks FOLDER FIRST LAST\n");
		return 2;
	}
	last = (uint32_t)strtoul(argv[3], NULL, 10);
	for (rank = (uint32_t)strtoul(argv[2], NULL, 10); rank <= last && rank < WORLD; rank++)
		one_rank(argv[1]);
	return 0;
}
