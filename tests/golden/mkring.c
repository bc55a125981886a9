/* SPDX-License-Identifier: MIT */
/*
 * Makes the trace for tests/cli/ring.cases, waits.zst in the given folder: a ring of 64 entries
 * and 64 KiB of pushbuffer that become full, a call that waited for each other cause, and one
 * without a known cause.
 */
#include "tests/unit/mktrace.h"
#include "tests/unit/pbmake.h"

#define US 1000ull
#define MS 1000000ull
#define RING 64u
#define SLOT(channel) (0x20460fff0ull - 16 * (channel))

enum api { LAUNCH, COPY, LOAD, ALLOC, SYNC, APIS };

static const char *const apis[APIS] = {
	[LAUNCH] = "cuLaunchKernel|launch",  [COPY] = "cuMemcpyHtoD_v2|copy",
	[LOAD] = "cuModuleLoadData|module",  [ALLOC] = "cuMemAlloc_v2|memory",
	[SYNC] = "cuStreamSynchronize|sync",
};

static struct mk m;
static uint64_t number[3]; /* of the next call, by thread */
static uint32_t submitted[8], done[8], put[8]; /* by channel */
static uint64_t at[8]; /* where its next commands lie */

static void clock_at(uint64_t time)
{
	struct nvs_rec_clock *c;

	m.time = time - 10;
	c = mk_rec(&m, NVS_REC_CLOCK, sizeof(*c));
	c->mono_ns = c->rec.time;
	c->real_ns = 1700000000ull * 1000000000 + c->rec.time;
}

static void channel(uint32_t i)
{
	mk_channel(&m, i)->entries = RING;
	at[i] = 0x200800000 + i * 0x400000ull;
}

/* At TIME, in the call of DEPTH that THREAD is in: NWORDS of no-ops and a release. */
static void submit(uint64_t time, uint32_t thread, uint32_t i, uint32_t nwords, uint32_t depth)
{
	struct nvs_rec_submission *s;
	struct pb pb = {0};

	if (!submitted[i])
		pb_inc(&pb, 1, 0, 1, 0xcbc0u);
	pb_report(&pb, SLOT(i), submitted[i] + 1, 4);
	while (pb.n < nwords)
		pb_word(&pb, 0);
	m.time = time - 10;
	s = mk_submission(&m, thread, i, NVS_NONE, 1, &pb.n, 0);
	s->rec.flags |= (uint16_t)(depth << NVS_SUB_CALL_SHIFT);
	s->entries[0].entry = mk_entry(at[i], pb.n);
	s->old_put = put[i];
	s->new_put = put[i] = (put[i] + 1) % RING;
	m.channel[i].put = put[i];
	s->progress_address = SLOT(i);
	s->progress[0] = done[i];
	memcpy(s->entries + 1, pb.words, pb.n * 4ull);
	submitted[i]++;
	at[i] += pb.n * 4ull;
}

static void begun(enum api api, uint32_t thread, uint64_t time, uint32_t depth)
{
	struct nvs_rec_call_begin *rec;

	m.time = time - 10;
	rec = mk_rec(&m, NVS_REC_CALL_BEGIN, sizeof(*rec));
	rec->api = api;
	rec->thread = thread;
	rec->number = number[thread];
	rec->begin = time;
	rec->depth = depth;
}

static void over(enum api api, uint32_t thread, uint64_t begin, uint64_t end, uint32_t depth)
{
	struct nvs_rec_call *rec;

	m.time = end - 10;
	rec = mk_rec(&m, NVS_REC_CALL, sizeof(*rec));
	rec->api = api;
	rec->thread = thread;
	rec->number = number[thread]++;
	rec->begin = begin;
	rec->end = end;
	rec->depth = (uint16_t)depth;
}

/* A launch of NS from TIME on that rings at its end. */
static void launch(uint64_t time, uint64_t ns, uint32_t thread, uint32_t i, uint32_t nwords)
{
	begun(LAUNCH, thread, time, 1);
	submit(time + ns - 500, thread, i, nwords, 1);
	over(LAUNCH, thread, time, time + ns, 1);
}

/* Nothing is done, until one has waited for room for 3 ms. */
static void ring_full(uint64_t time)
{
	for (uint32_t i = 0; i < RING - 2; i++)
		launch(time + i * 10 * US, 2 * US, 0, 1, 16);
	done[1] = 1;
	launch(time + 1 * MS, 3 * MS, 0, 1, 16);
	done[1] = submitted[1];
}

/* 4 KiB each, sixteen of them: then from the beginning, where the first one lies. */
static void pushbuffer_full(uint64_t time)
{
	uint64_t start = at[2];

	launch(time, 2 * US, 0, 2, 16);
	done[2] = 1;
	for (uint32_t i = 0; i < 16; i++)
		launch(time + (i + 1) * 10 * US, 2 * US, 0, 2, 1024);
	at[2] = start + 64; /* the first one was done long ago */
	done[2] = 2;
	launch(time + 1 * MS, 4 * MS, 0, 2, 1024);
	done[2] = submitted[2];
}

static void module_loading(uint64_t time)
{
	m.time = time;
	over(LOAD, 0, time + 10 * US, time + 1900 * US, 2);
	begun(LAUNCH, 0, time, 1);
	submit(time + 1950 * US, 0, 3, 16, 1);
	over(LAUNCH, 0, time, time + 2 * MS, 1);
}

static void object(uint64_t time)
{
	struct nvs_rec_object *o;

	m.time = time - 10;
	o = mk_rec(&m, NVS_REC_OBJECT, sizeof(*o));
	o->client = 0xc1000001;
	o->handle = (uint32_t)time;
	o->object_class = 0x40;
}

static void memory_allocation(uint64_t time)
{
	object(time + 500 * US);
	launch(time, 1500 * US, 0, 3, 16);
	done[3] = submitted[3];
}

/* Another thread allocates while a launch waits, and synchronises all the while. */
static void other_threads(uint64_t time)
{
	object(time + 300 * US);
	over(ALLOC, 1, time - 10 * US, time + 800 * US, 1);
	launch(time, 1 * MS, 0, 3, 16);
	over(SYNC, 2, time - 1 * MS, time + 2 * MS, 1);
	done[3] = submitted[3];
}

static void synchronising_copy(uint64_t time)
{
	begun(COPY, 0, time, 1);
	submit(time + 100 * US, 0, 3, 16, 1);
	over(COPY, 0, time, time + 700 * US, 1);
	done[3] = submitted[3];
}

int main(int argc, char **argv)
{
	MK_NEED(argc == 2);
	mk_open_in(&m, argv[1], "waits.zst");
	mk_attr(&m, NVS_ATTR_COMMAND, "./app", 6);
	clock_at(100 * US);
	for (uint32_t i = 0; i < 3; i++)
		mk_thread(&m, i, 100 + i, i ? "helper" : "app");
	for (uint32_t i = 1; i < 5; i++)
		channel(i);
	for (uint32_t i = 0; i < APIS; i++)
		mk_api(&m, i, apis[i]);
	ring_full(1 * MS);
	pushbuffer_full(10 * MS);
	module_loading(20 * MS);
	memory_allocation(30 * MS);
	other_threads(40 * MS);
	synchronising_copy(50 * MS);
	launch(60 * MS, 900 * US, 0, 3, 16); /* nobody knows why */
	m.time = 61 * MS;
	mk_submission(&m, 0, 4, NVS_NONE, 0, NULL, 0); /* of this one nothing is known */
	clock_at(70 * MS);
	for (uint32_t i = 1; i < 5; i++)
		mk_channel_gone(&m, i);
	mk_finish(&m);
	return 0;
}
