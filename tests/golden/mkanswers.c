/* SPDX-License-Identifier: MIT */
/* Makes traces with known correct results for tests/cli/answers.cases: copies and code, semaphores
 * that are set again, and more calls than there is memory for. */
#include <stdarg.h>
#include "nvsnoop/spool.h"
#include "tests/unit/mktrace.h"
#include "tests/unit/pbmake.h"

#define SLOT(channel) (0x20460fff0ull - 16 * (channel))
#define SEMAPHORE 0x204637ff4ull
#define DESCRIPTOR 0x204000000ull
#define CODE 0x7f1880000000ull
#define DATA 0x7f0000000000ull
#define HOST 0x7e0000000000ull

enum { COMPUTE = 1, COPY = 8 }; /* channels */
enum { LAUNCH = 1, HTOD, LOAD, SYNC };

static const char *const apis[] = {
	[LAUNCH] = "cuLaunchKernel|launch",
	[HTOD] = "cuMemcpyHtoDAsync_v2|copy",
	[LOAD] = "cuModuleLoadData|module",
	[SYNC] = "cuCtxSynchronize|sync",
};

static struct {
	struct mk m;
	uint64_t number; /* of the next call */
	uint32_t payload[16]; /* of the next release, by channel */
	struct pb pb;
} t;

static struct nvs_rec_call_begin *begin(uint32_t api)
{
	struct nvs_rec_call_begin *rec = mk_rec(&t.m, NVS_REC_CALL_BEGIN, sizeof(*rec));

	rec->api = api;
	rec->number = t.number;
	rec->begin = rec->rec.time;
	rec->depth = 1;
	return rec;
}

static void call(uint32_t api, uint64_t begin_at, uint64_t end_at)
{
	struct nvs_rec_call *rec = mk_rec(&t.m, NVS_REC_CALL, sizeof(*rec));

	rec->api = api;
	rec->number = t.number++;
	rec->begin = begin_at;
	rec->end = end_at;
	rec->depth = 1;
}

static void end(uint32_t api)
{
	call(api, 0, t.m.time + 10);
}

/* What is in t.pb, and the channel's release behind it. */
static void submit(uint32_t channel)
{
	struct nvs_rec_submission *s;

	if (channel == COMPUTE)
		pb_report(&t.pb, SLOT(channel), t.payload[channel]++, 4);
	else
		pb_copy_release(&t.pb, SLOT(channel), t.payload[channel]++);
	s = mk_submission(&t.m, 0, channel, NVS_NONE, 1, &t.pb.n, 0);
	s->rec.flags |= 1u << NVS_SUB_CALL_SHIFT;
	memcpy(s->entries + 1, t.pb.words, t.pb.n * 4ull);
	t.pb.n = 0;
}

static void start(const char *folder, const char *name)
{
	memset(&t, 0, sizeof(t));
	mk_open_in(&t.m, folder, name);
	mk_h200(&t.m);
	mk_thread(&t.m, 0, 100, "app");
	mk_channel(&t.m, COMPUTE);
	mk_channel(&t.m, COPY)->engine = 0xb;
	for (int i = 0; i < 16; i++)
		t.payload[i] = 1;
	for (uint32_t i = LAUNCH; i <= SYNC; i++)
		mk_api(&t.m, i, apis[i]);
	pb_inc(&t.pb, 1, 0, 1, 0xcbc0u);
	begin(SYNC);
	submit(COMPUTE);
	pb_inc(&t.pb, 4, 0, 1, 0xc8b5u);
	submit(COPY);
	end(SYNC);
}

/* PAYLOAD is in its slot by then. */
static void channel_gone(uint32_t channel, uint32_t payload)
{
	struct nvs_channel_done done = {SLOT(channel), {payload}};
	struct nvs_rec_channel_gone *gone = mk_rec(&t.m, NVS_REC_CHANNEL_GONE,
						   sizeof(*gone) + sizeof(done));

	gone->rec.flags = NVS_CHAN_GONE_AT_EXIT | NVS_CHAN_GONE_DONE;
	gone->channel = channel;
	gone->final_put = gone->last_put = t.m.channel[channel].put;
	gone->submissions = t.m.channel[channel].sequence;
	memcpy(gone + 1, &done, sizeof(done));
}

/* The last releases of so many submissions are still to come. */
static void finish_undone(uint32_t compute, uint32_t copy)
{
	channel_gone(COMPUTE, t.payload[COMPUTE] - 1 - compute);
	channel_gone(COPY, t.payload[COPY] - 1 - copy);
	mk_finish(&t.m);
}

static void finish(void)
{
	finish_undone(0, 0);
}

/* ---- copies and code ---- */

static void put_bytes(uint64_t address, uint32_t bytes)
{
	static const uint32_t words[1024];

	pb_upload(&t.pb, address, words, bytes);
}

static void copy_inline(uint32_t bytes)
{
	begin(HTOD);
	put_bytes(DATA, bytes);
	submit(COMPUTE);
	end(HTOD);
}

static void launch(void)
{
	put_bytes(DESCRIPTOR, 256);
	pb_trigger(&t.pb, DESCRIPTOR, 10);
	submit(COMPUTE);
}

static void invalidate(bool code)
{
	pb_inc(&t.pb, 1, 0x1698, 1, code ? 1u : 0x1000u);
	submit(COMPUTE);
}

/*
 * 3 copies of the program's own (2 inline, 1 by an engine), 3 of code: one that a launch has to
 * load, one by the engine, and one in the same submission as the invalidation behind it. The
 * program's copies and an earlier launch stand between that launch's code and the invalidation
 * before. Many copies follow.
 */
static void code(const char *folder)
{
	start(folder, "code.zst");
	copy_inline(4096);
	copy_inline(2048);
	begin(LAUNCH);
	launch();
	end(LAUNCH);
	begin(LAUNCH);
	put_bytes(CODE, 384);
	submit(COMPUTE);
	invalidate(true);
	launch();
	end(LAUNCH);
	begin(LOAD);
	invalidate(false);
	pb_copy(&t.pb, HOST, CODE + 4096, 65536, 0x182);
	submit(COPY);
	pb_host_sem(&t.pb, SLOT(COPY), t.payload[COPY] - 1, 3);
	invalidate(true);
	end(LOAD);
	begin(LOAD);
	put_bytes(CODE + 512, 640);
	invalidate(true);
	end(LOAD);
	begin(HTOD);
	pb_copy(&t.pb, HOST, DATA, 1 << 20, 0x182);
	submit(COPY);
	end(HTOD);
	for (uint32_t i = 0; i < 100; i++)
		copy_inline(4 * i + 4);
	finish();
}

/* ---- semaphores ---- */

static void put_word(uint64_t address, uint32_t value)
{
	pb_upload(&t.pb, address, &value, 4);
}

static void release(uint64_t address, uint32_t value)
{
	pb_copy_release(&t.pb, address, value);
	pb_inc(&t.pb, 4, 0x300, 1, 0x8u);
}

/* Of one address, by submissions: 2 releases 6, 3 waits for it; 4 sets it to 5, 5 releases 6 again,
 * and 6 waits for that. 7 waits for 9, which 8 writes as a value of 4 bytes. */
static void rearm(const char *folder)
{
	start(folder, "rearm.zst");
	for (int i = 0; i < 2; i++) {
		begin(HTOD);
		if (i) {
			put_word(SEMAPHORE, 5);
			submit(COMPUTE);
		}
		release(SEMAPHORE, 6);
		submit(COPY);
		pb_host_sem(&t.pb, SEMAPHORE, 6, 3);
		submit(COMPUTE);
		end(HTOD);
	}
	begin(LAUNCH);
	pb_host_sem(&t.pb, SEMAPHORE, 9, 3);
	submit(COPY);
	put_word(SEMAPHORE, 9);
	submit(COMPUTE);
	end(LAUNCH);
	finish();
}

/* Set to 5 again, and what would release it is not there: the copy waits. */
static void rearm_hangs(const char *folder)
{
	start(folder, "stuck.zst");
	begin(HTOD);
	release(SEMAPHORE, 6);
	submit(COPY);
	end(HTOD);
	begin(LAUNCH);
	put_word(SEMAPHORE, 5);
	submit(COMPUTE);
	submit(COMPUTE);
	end(LAUNCH);
	begin(HTOD);
	pb_host_sem(&t.pb, SEMAPHORE, 6, 3);
	submit(COPY);
	end(HTOD);
	begin(SYNC)->rec.flags = NVS_BEGIN_IN_FLIGHT;
	finish_undone(0, 1);
}

/* ---- more than there is room for ---- */

/* Calls of 100 ns, but for every thousandth of the last ones, which take longer and longer. */
static void many(const char *folder)
{
	start(folder, "many.zst");
	for (uint64_t i = 0; i < 700000; i++) {
		uint64_t took = i > 600000 && i % 1000 == 0 ? i / 100 : 100;

		if (i % 10000 == 9999)
			mk_next_frame(&t.m);
		call(SYNC, t.m.time + 10, t.m.time + 10 + took);
		t.m.time += took;
	}
	finish();
}

int main(int argc, char **argv)
{
	if (argc != 2 && argc != 3)
		return 2;
	if (argc == 3) {
		many(argv[1]);
		return 0;
	}
	code(argv[1]);
	rearm(argv[1]);
	rearm_hangs(argv[1]);
	return 0;
}
