/* SPDX-License-Identifier: MIT */
/*
 * Makes traces in which the GPU time of each submission is known to the nanosecond, for
 * tests/cli/work.cases: two streams that compute and copy, host waits for everything that can be
 * waited for, and work with unknown times. The GPU's clock is 1 s ahead of the host's, and an
 * empty bracket takes 500 ns.
 */
#include <stdarg.h>
#include "tests/unit/mktrace.h"
#include "tests/unit/pbmake.h"

#define START 1000000ull /* ns of the host's clock; times below are since then */
#define AHEAD 1000000000ull
#define EMPTY 500ull
#define SLOT(channel) (0x20460fff0ull - 16 * (channel))
#define PINNED 0x7e0000000000ull
#define PAGEABLE 0x7d0000000000ull
#define DEVICE 0x7f0000000000ull

enum { COMPUTE = 1, UP = 8, DOWN = 9 }; /* channels */
enum { ONE = 0x5000, TWO = 0x5100 }; /* streams */
enum { LAUNCH = 1, HTOD, DTOH, SYNC, SYNC_ALL, CURRENT, EVENT, SYNC_EVENT, ALLOC_HOST, PLAIN };

static const char *const apis[] = {
	[LAUNCH] = "cuLaunchKernel|launch|f:function|gridDimX:u32|gridDimY:u32|gridDimZ:u32|"
		   "blockDimX:u32|blockDimY:u32|blockDimZ:u32|sharedMemBytes:u32|hStream:stream",
	[HTOD] = "cuMemcpyHtoDAsync_v2|copy|dstDevice:devptr|srcHost:ptr|ByteCount:u64|hStream:"
		 "stream",
	[DTOH] = "cuMemcpyDtoHAsync_v2|copy|dstHost:ptr|srcDevice:devptr|ByteCount:u64|hStream:"
		 "stream",
	[SYNC] = "cuStreamSynchronize|sync|hStream:stream",
	[SYNC_ALL] = "cuCtxSynchronize|sync",
	[CURRENT] = "cuCtxSetCurrent|context|ctx:context",
	[EVENT] = "cuEventRecord|event|hEvent:event|hStream:stream",
	[SYNC_EVENT] = "cuEventSynchronize|sync|hEvent:event",
	[ALLOC_HOST] = "cuMemAllocHost_v2|memory|pp:ptr|bytesize:u64",
	[PLAIN] = "cuMemcpyDtoH_v2|copy|dstHost:ptr|srcDevice:devptr|ByteCount:u64",
};

static struct {
	struct mk m;
	uint64_t number; /* of the next call */
	uint32_t payload[16]; /* of the next release, by channel */
	struct pb pb;
	bool timed;
} t;

/* The next record is at NS. */
static void at(uint64_t ns)
{
	t.m.time = START + ns - 10;
}

static void kernel(uint64_t function, const char *name)
{
	struct nvs_rec_kernel *rec = mk_rec(&t.m, NVS_REC_KERNEL, sizeof(*rec) + strlen(name));

	rec->rec.flags = NVS_KERNEL_NAMED;
	rec->function = function;
	rec->length = (uint32_t)strlen(name);
	memcpy(rec->name, name, strlen(name));
}

/* A call from BEGIN to END. */
static void call(uint32_t api, uint64_t begin, uint64_t end, uint32_t nargs, ...)
{
	struct nvs_rec_call *rec;
	va_list ap;

	at(end);
	rec = mk_rec(&t.m, NVS_REC_CALL, sizeof(*rec) + nargs * 8ull);
	rec->api = api;
	rec->number = t.number++;
	rec->begin = START + begin;
	rec->end = START + end;
	rec->depth = 1;
	rec->nargs = (uint16_t)nargs;
	va_start(ap, nargs);
	for (uint32_t i = 0; i < nargs; i++)
		rec->args[i] = va_arg(ap, uint64_t);
	va_end(ap);
}

/* What stands in t.pb is submitted at NS in a call that has begun. */
static void submit_more(uint32_t channel, uint64_t ns)
{
	struct nvs_rec_submission *s;

	if (channel == COMPUTE)
		pb_report(&t.pb, SLOT(channel), t.payload[channel]++, 4);
	else
		pb_copy_release(&t.pb, SLOT(channel), t.payload[channel]++);
	at(ns);
	s = mk_submission(&t.m, 0, channel, NVS_NONE, 1, &t.pb.n, 0);
	s->rec.flags |= 1u << NVS_SUB_CALL_SHIFT;
	memcpy(s->entries + 1, t.pb.words, t.pb.n * 4ull);
	t.pb.n = 0;
}

/* It began 100 ns before. */
static void submit(uint32_t api, uint32_t channel, uint64_t ns)
{
	struct nvs_rec_call_begin *begin;

	at(ns - 50);
	begin = mk_rec(&t.m, NVS_REC_CALL_BEGIN, sizeof(*begin));
	begin->api = api;
	begin->number = t.number;
	begin->begin = START + ns - 100;
	begin->depth = 1;
	submit_more(channel, ns);
}

static void bind(uint32_t channel)
{
	if (t.payload[channel] == 1)
		pb_inc(&t.pb, channel == COMPUTE ? 1 : 4, 0, 1,
		       channel == COMPUTE ? 0xcbc0u : 0xc8b5u);
}

static void launch(uint64_t ns, uint64_t function, uint64_t stream)
{
	bind(COMPUTE);
	pb_inc(&t.pb, 1, 0x100, 1, 0u);
	pb_trigger(&t.pb, 0x204000000, 10);
	submit(LAUNCH, COMPUTE, ns);
	call(LAUNCH, ns - 100, ns + 100, 9, function, 1ull, 1ull, 1ull, 128ull, 1ull, 1ull, 0ull,
	     stream);
}

static void copy_up(uint64_t ns, uint32_t bytes, uint64_t stream)
{
	bind(UP);
	pb_copy(&t.pb, PINNED, DEVICE, bytes, 0x182);
	submit(HTOD, UP, ns);
	call(HTOD, ns - 100, ns + 100, 4, DEVICE, PINNED, (uint64_t)bytes, stream);
}

/* Behind what CHANNEL has released last. */
static void copy_down(uint64_t ns, uint32_t bytes, uint64_t stream, uint32_t channel)
{
	bind(DOWN);
	if (channel)
		pb_host_sem(&t.pb, SLOT(channel), t.payload[channel] - 1, 0x2);
	pb_copy(&t.pb, DEVICE, PINNED, bytes, 0x182);
	submit(DTOH, DOWN, ns);
	call(DTOH, ns - 100, ns + 100, 4, PINNED, DEVICE, (uint64_t)bytes, stream);
}

static uint64_t every; /* of the next times; 0: no sample */

static void time_of(uint32_t kind, uint32_t channel, uint64_t sequence, uint64_t begin,
		    uint64_t end)
{
	struct nvs_rec_gpu_time *rec;

	if (!t.timed)
		return;
	rec = mk_rec(&t.m, NVS_REC_GPU_TIME, sizeof(*rec));
	rec->channel = channel;
	rec->kind = kind;
	rec->sequence = sequence;
	rec->begin = START + AHEAD + begin;
	rec->end = START + AHEAD + end;
	rec->every = every;
}

/* Work that took from BEGIN to END, and the bracket a bit more. */
static void took(uint32_t channel, uint64_t sequence, uint64_t begin, uint64_t end)
{
	time_of(NVS_TIMING_WORK, channel, sequence, begin, end + EMPTY);
}

static void empty(uint32_t channel)
{
	for (uint64_t i = 0; i < 10; i++)
		time_of(NVS_TIMING_EMPTY, channel, i, 900000 + 1000 * i, 900000 + 1000 * i + EMPTY);
}

static bool unread; /* nobody has read the GPU's clock */
static uint32_t engine_down = 0xc; /* of channel DOWN */

/* Both clocks at NS, to 200 ns. */
static void clocks(uint64_t ns)
{
	struct nvs_rec_gpu_clock *rec;

	at(ns + 200);
	if (!t.timed || unread)
		return;
	rec = mk_rec(&t.m, NVS_REC_GPU_CLOCK, sizeof(*rec));
	rec->ns = START + AHEAD + ns;
	rec->before = START + ns - 200;
	rec->after = START + ns + 200;
}

static const char *options = "timing=work";

static void start(const char *folder, const char *name, bool timed)
{
	memset(&t, 0, sizeof(t));
	t.timed = timed;
	mk_open_in(&t.m, folder, name);
	if (timed)
		mk_attr(&t.m, NVS_ATTR_OPTIONS, options, (uint32_t)strlen(options));
	at(10);
	mk_h200(&t.m);
	mk_thread(&t.m, 0, 100, "app");
	mk_channel(&t.m, COMPUTE);
	mk_channel(&t.m, UP)->engine = 0xb;
	mk_channel(&t.m, DOWN)->engine = engine_down;
	for (int i = 0; i < 16; i++)
		t.payload[i] = 1;
	for (uint32_t i = LAUNCH; i <= PLAIN; i++)
		mk_api(&t.m, i, apis[i]);
	kernel(0xf00, "_Z4stepPfi");
	kernel(0xf10, "_Z4lastPf");
	clocks(400);
	call(CURRENT, 700, 800, 1, 0xc0ull);
	call(ALLOC_HOST, 810, 890, 2, PINNED, 64ull << 20);
}

static void finish(void)
{
	empty(COMPUTE);
	empty(UP);
	empty(DOWN);
	clocks(1000000);
	mk_channel_gone(&t.m, COMPUTE);
	mk_channel_gone(&t.m, UP);
	mk_channel_gone(&t.m, DOWN);
	mk_finish(&t.m);
}

/*
 * Host				GPU, less the empty bracket
 *  1000 step on ONE		 2000 .. 12000
 *  1500 1 MiB up on TWO	 7000 .. 27000	both for 5000 + 5000
 *  2000 last on ONE		12500 .. 17500
 *  8000 .. 20000 wait for ONE: last, until 18000; busy all along
 * 21000 .. 30000 wait for all: the copy, until 27500
 * 31000 .. 31500 wait for ONE: all is done
 * 40000 step on ONE		41000 .. 51000, then the event
 * 40500 last on ONE		51500 .. 91500
 * 41000 .. 52000 wait for the event: step, until 51500
 * 42000, seen from the channel from 42100 on: 1 MiB down on TWO behind both, which it waits for
 *				92000 .. 97000
 * 53000 .. 98000 wait for TWO: that copy, until 97500
 */
static void two_streams(const char *folder, const char *name, bool timed)
{
	start(folder, name, timed);
	launch(1000, 0xf00, ONE);
	copy_up(1500, 1 << 20, TWO);
	launch(2000, 0xf10, ONE);
	call(SYNC, 8000, 20000, 1, (uint64_t)ONE);
	call(SYNC_ALL, 21000, 30000, 0);
	call(SYNC, 31000, 31500, 1, (uint64_t)ONE);
	launch(40000, 0xf00, ONE);
	call(EVENT, 40150, 40200, 2, 0xe000ull, (uint64_t)ONE);
	launch(40500, 0xf10, ONE);
	copy_down(42000, 1 << 20, TWO, COMPUTE);
	call(SYNC_EVENT, 43000, 52000, 1, 0xe000ull);
	call(SYNC, 53000, 98000, 1, (uint64_t)TWO);
	took(COMPUTE, 0, 2000, 12000);
	took(COMPUTE, 1, 12500, 17500);
	took(UP, 0, 7000, 27000);
	took(COMPUTE, 2, 41000, 51000);
	took(COMPUTE, 3, 51500, 91500);
	took(DOWN, 0, 42100, 97000);
	finish();
}

/* Nobody knows when the second launch was done, nor what a copy waited for; one more ended before
 * it could have been: what a stranger may write. */
static void not_known(const char *folder)
{
	start(folder, "unknown.zst", true);
	launch(1000, 0xf00, ONE);
	launch(1500, 0xf10, ONE);
	copy_up(2000, 1 << 20, TWO);
	call(SYNC, 3000, 20000, 1, (uint64_t)ONE);
	call(SYNC_ALL, 21000, 30000, 0);
	call(SYNC_EVENT, 31000, 32000, 1, 0xe000ull);
	pb_host_sem(&t.pb, 0x300000000, 77, 0x2);
	copy_up(40000, 1 << 20, TWO);
	call(SYNC, 41000, 42000, 1, (uint64_t)TWO);
	took(COMPUTE, 0, 2000, 12000);
	took(UP, 0, 3000, 13000);
	took(UP, 1, 40500, 60500);
	finish();
}

/*
 * There is memory for times only when much has been done already. The host has waited for that by
 * its streams: the copy down returns when it is done, and with it what is ahead of it. So what it
 * waits for then is known, but for the last: two streams have work of which there is no time.
 */
static void late(const char *folder)
{
	start(folder, "late.zst", true);
	copy_up(1000, 4096, ONE);
	launch(1500, 0xf00, TWO);
	call(SYNC, 3000, 10000, 1, (uint64_t)TWO);
	bind(DOWN);
	pb_copy(&t.pb, DEVICE, PINNED, 4096, 0x182);
	submit(DTOH, DOWN, 11000);
	call(DTOH, 10900, 15000, 4, PAGEABLE, DEVICE, 4096ull, (uint64_t)ONE);
	call(SYNC_ALL, 16000, 17000, 0);
	launch(20000, 0xf10, ONE);
	call(SYNC_ALL, 21000, 30000, 0);
	launch(31000, 0xf00, ONE);
	call(SYNC_ALL, 32000, 50000, 0);
	launch(51000, 0xf10, TWO);
	copy_up(51500, 4096, ONE);
	call(SYNC_ALL, 52000, 60000, 0);
	took(COMPUTE, 2, 31500, 48000);
	finish();
}

/* With timing=dispatch: when the GPU came to a launch, not how long that took. */
static void reached(const char *folder)
{
	start(folder, "reached.zst", false);
	launch(1000, 0xf00, ONE);
	t.timed = true;
	time_of(NVS_TIMING_DISPATCH, COMPUTE, 0, 2000, 2000);
	finish();
}

/* The first launch of a kernel has its code copied up first. */
static void first_launch(const char *folder)
{
	start(folder, "first.zst", true);
	bind(UP);
	pb_copy(&t.pb, PINNED, DEVICE, 4096, 0x182);
	submit(LAUNCH, UP, 1000);
	bind(COMPUTE);
	pb_inc(&t.pb, 1, 0x100, 1, 0u);
	pb_trigger(&t.pb, 0x204000000, 10);
	submit_more(COMPUTE, 1500);
	call(LAUNCH, 900, 1600, 9, 0xf00ull, 1ull, 1ull, 1ull, 128ull, 1ull, 1ull, 0ull,
	     (uint64_t)ONE);
	launch(20000, 0xf00, ONE);
	took(UP, 0, 2000, 4000);
	took(COMPUTE, 0, 5000, 15000);
	took(COMPUTE, 1, 21000, 31000);
	finish();
}

/* A number of a stranger's: small, of this trace, or at one of the ends. */
static uint64_t any(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	switch (*seed >> 28) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX - (*seed >> 8 & 3);
	case 2:
		return 1ull << (*seed >> 8 & 63);
	default:
		return START + AHEAD + (*seed >> 8 & 0xfffff);
	}
}

/* Times and clocks that cannot be, of channels that are none, told twice and in no order. */
static void lies(const char *folder)
{
	uint32_t seed = 1;

	start(folder, "lies.zst", true);
	for (uint64_t i = 0; i < 40; i++) {
		launch(1000 + 1000 * i, i % 2 ? 0xf00 : 0xf10, i % 3 ? ONE : TWO);
		copy_up(1300 + 1000 * i, 4096, i % 5 ? TWO : ONE);
		copy_down(1600 + 1000 * i, 4096, any(&seed), i % 4 ? COMPUTE : UP);
		if (i % 3)
			call(SYNC, 1800 + 1000 * i, 1900 + 1000 * i, 1, (uint64_t)TWO);
		else
			call(SYNC_ALL, 1800 + 1000 * i, 1900 + 1000 * i, 0);
	}
	for (uint64_t i = 0; i < 400; i++) {
		struct nvs_rec_gpu_time *time = mk_rec(&t.m, NVS_REC_GPU_TIME, sizeof(*time));
		struct nvs_rec_gpu_clock *clock;

		time->channel = i % 7 ? (uint32_t[]){COMPUTE, UP, DOWN}[i % 3]
				      : (uint32_t)any(&seed);
		time->kind = i % 9 ? NVS_TIMING_WORK : (uint32_t)any(&seed);
		time->sequence = i % 11 ? i % 40 : any(&seed);
		time->begin = any(&seed);
		time->end = i % 3 ? time->begin + (any(&seed) & 0xffff) : any(&seed);
		if (i % 50)
			continue;
		clock = mk_rec(&t.m, NVS_REC_GPU_CLOCK, sizeof(*clock));
		clock->gpu = i % 100 ? 0 : (uint32_t)any(&seed);
		clock->ns = any(&seed);
		clock->before = any(&seed);
		clock->after = any(&seed);
	}
	finish();
}

/*
 * Nothing waits around these: the channel reached them while the first one ran.
 *	reached	done (less the empty bracket)
 *	2000	12000	10 us
 *	2100	32000	behind it: 20 us
 *	2200	no end
 *	2300	82000	behind that: since when is not known
 *	2400	72000	done before it: it ran beside it
 */
static void queued(const char *folder)
{
	static const uint64_t done[] = {12000, 32000, 0, 82000, 72000};

	start(folder, "queued.zst", true);
	for (uint64_t i = 0; i < 5; i++)
		launch(1000 + 200 * i, 0xf00, ONE);
	for (uint64_t i = 0; i < 5; i++)
		if (done[i])
			time_of(NVS_TIMING_REACHED, COMPUTE, i, 2000 + 100 * i, done[i] + EMPTY);
		else
			time_of(NVS_TIMING_DISPATCH, COMPUTE, i, 2000 + 100 * i, -START - AHEAD);
	finish();
}

/* Two channels of one engine: one copies twice, the other waits for that, and its bracket is open
 * all along. */
static void one_engine(const char *folder)
{
	engine_down = 0xb;
	start(folder, "engine.zst", true);
	copy_up(1000, 1 << 20, ONE);
	copy_up(1500, 1 << 20, ONE);
	copy_down(2000, 1 << 20, TWO, UP);
	call(SYNC, 3000, 40000, 1, (uint64_t)TWO);
	took(UP, 0, 2500, 12500);
	took(UP, 1, 13000, 23000);
	took(DOWN, 0, 2400, 33000);
	finish();
	engine_down = 0xc;
}

/*
 * Sixteen launches of 10 to 14 us, one of four drawn: three of the twelve of step, 10, 12 and 14
 * us, each behind another, and one of the four of last. Of step: 144 us in all; the weighted
 * variance is 4 * 3 * (2 * 2 + 0 + 2 * 2) / 12^2 * 3 / 2 = 1, so the error of the mean is t(2)
 * = 4.303 us, and of the empty bracket 16 ns + 32 ns * 1.914 / 3 = 36 ns: of the total 52.07 us.
 */
static void sampled(const char *folder)
{
	options = "timing=sample=4";
	start(folder, "sampled.zst", true);
	for (uint64_t i = 0; i < 16; i++)
		launch(1000 + 25000 * i, i < 12 ? 0xf00 : 0xf10, ONE);
	for (uint64_t i = 1; i < 16; i += 4) {
		uint64_t at = 2000 + 25000 * i, done = at + 3000;

		every = NVS_NOT_DRAWN;
		time_of(NVS_TIMING_REACHED, COMPUTE, i - 1, at - 25000, done + EMPTY);
		every = 4;
		time_of(NVS_TIMING_REACHED, COMPUTE, i, at,
			done + EMPTY + 10000 + 500 * (i - 1) + EMPTY);
	}
	every = 0;
	finish();
	options = "timing=work";
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: mkwork FOLDER\n");
		return 2;
	}
	two_streams(argv[1], "work.zst", true);
	two_streams(argv[1], "untimed.zst", false);
	not_known(argv[1]);
	late(argv[1]);
	first_launch(argv[1]);
	reached(argv[1]);
	queued(argv[1]);
	one_engine(argv[1]);
	lies(argv[1]);
	sampled(argv[1]);
	unread = true;
	two_streams(argv[1], "unread.zst", true);
	return 0;
}
