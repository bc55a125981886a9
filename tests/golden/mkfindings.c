/* SPDX-License-Identifier: MIT */
/* Makes the traces for tests/cli/summary.cases, in the given folder: one for each finding of the
 * summary, and one that has as much of each as an ordinary program may have. */
#include "tests/unit/mktrace.h"
#include "tests/unit/pbmake.h"

#define US 1000ull
#define MS 1000000ull

enum api {
	INIT,
	GET_GLOBAL,
	LOOK_UP,
	UNLOAD,
	PEER,
	ALLOC,
	FREE,
	ALLOC_HOST,
	UP,
	LAUNCH,
	SYNC,
	INSTANTIATE,
	GRAPH_LAUNCH,
	APIS
};

static const char *const apis[APIS] = {
	[INIT] = "cuInit|context",
	[GET_GLOBAL] = "cuModuleGetGlobal_v2|module",
	[LOOK_UP] = "cuGetProcAddress_v2|resolve|symbol:ptr",
	[UNLOAD] = "cuLibraryUnload|module",
	[PEER] = "cuCtxEnablePeerAccess|context",
	[ALLOC] = "cuMemAlloc_v2|memory|dptr:ptr|bytesize:u64",
	[FREE] = "cuMemFree_v2|memory|dptr:ptr",
	[ALLOC_HOST] = "cuMemAllocHost_v2|memory|pp:ptr|bytesize:u64",
	[UP] = "cuMemcpyHtoD_v2|copy|dstDevice:devptr|srcHost:ptr|ByteCount:u64",
	[LAUNCH] = "cuLaunchKernel|launch",
	[SYNC] = "cuStreamSynchronize|sync",
	[INSTANTIATE] = "cuGraphInstantiateWithFlags|graph",
	[GRAPH_LAUNCH] = "cuGraphLaunch|graph-launch",
};

static struct mk m;
static uint64_t number; /* of the next call of thread 0 */
static bool bound; /* the copy engine to its channel */

static void start(const char *folder, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.zst", folder, name);
	mk_open(&m, path);
	m.time = 1 * MS;
	number = 0;
	bound = false;
	mk_attr(&m, NVS_ATTR_COMMAND, "./app", 6);
	mk_thread(&m, 0, 100, "app");
	mk_channel(&m, 8)->engine = 0xb;
	for (uint32_t api = 0; api < APIS; api++)
		mk_api(&m, api, apis[api]);
}

static void finish(void)
{
	mk_channel_gone(&m, 8);
	mk_finish(&m);
}

static void begun(enum api api)
{
	struct nvs_rec_call_begin *rec = mk_rec(&m, NVS_REC_CALL_BEGIN, sizeof(*rec));

	rec->api = api;
	rec->number = number;
	rec->begin = rec->rec.time;
	rec->depth = 1;
}

static struct nvs_rec_call *over(enum api api, uint64_t begin, uint32_t result)
{
	struct nvs_rec_call *rec = mk_rec(&m, NVS_REC_CALL, sizeof(*rec));

	rec->api = api;
	rec->number = number++;
	rec->begin = begin;
	rec->end = rec->rec.time;
	rec->depth = 1;
	rec->result = result;
	return rec;
}

static void object(uint32_t handle)
{
	struct nvs_rec_object *o = mk_rec(&m, NVS_REC_OBJECT, sizeof(*o));

	o->client = 0xc1000001;
	o->handle = handle;
	o->object_class = 0x40;
}

static void call(enum api api, unsigned n, uint64_t ns, uint32_t result)
{
	while (n--) {
		m.time += ns;
		over(api, m.time + 10 - ns, result);
	}
}

/* A call that took NS, with arguments. */
static void call_with(enum api api, uint64_t ns, uint32_t nargs, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t args[] = {a, b, c};
	struct nvs_rec_call *rec;

	m.time += ns;
	rec = mk_rec(&m, NVS_REC_CALL, sizeof(*rec) + nargs * 8ull);
	rec->api = api;
	rec->number = number++;
	rec->begin = rec->rec.time - ns;
	rec->end = rec->rec.time;
	rec->depth = 1;
	rec->nargs = (uint16_t)nargs;
	memcpy(rec->args, args, nargs * 8ull);
}

#define PAGEABLE 0x7d0000000000ull
#define PINNED 0x7e0000000000ull
#define DEVICE 0x7f0000000000ull

static void copy_up(unsigned n, uint64_t from, uint64_t bytes, uint64_t ns)
{
	while (n--)
		call_with(UP, ns, 3, DEVICE, from, bytes);
}

/* Allocations of 1 MiB, a millisecond apart. */
static void allocate(unsigned n, uint64_t first)
{
	for (unsigned i = 0; i < n; i++) {
		call_with(ALLOC, 5 * US, 2, first + i * (1ull << 20), 1 << 20, 0);
		m.time += 1 * MS;
	}
}

/* Launches that copy what they need before. */
static void loading(unsigned n, uint64_t ns)
{
	while (n--) {
		struct nvs_rec_submission *s;
		struct pb pb = {0};

		begun(LAUNCH);
		if (!bound)
			pb_inc(&pb, 4, 0, 1, 0xc8b5u);
		bound = true;
		pb_copy(&pb, 0x7e0000000000, 0x7f0000000000, 4096, 0x182);
		s = mk_submission(&m, 0, 8, NVS_NONE, 1, &pb.n, 0);
		s->rec.flags |= 1 << NVS_SUB_CALL_SHIFT;
		memcpy(s->entries + 1, pb.words, pb.n * 4ull);
		pb.n = 0;
		pb_word(&pb, 0);
		s = mk_submission(&m, 0, 8, NVS_NONE, 1, &pb.n, 0);
		s->rec.flags |= 1 << NVS_SUB_CALL_SHIFT;
		memcpy(s->entries + 1, pb.words, pb.n * 4ull);
		m.time += ns;
		over(LAUNCH, 0, 0);
	}
}

/* What every program has. */
static void usual(void)
{
	call(INIT, 1, 100 * MS, 0);
	call(LAUNCH, 30, 5 * US, 0);
}

static void ordinary(const char *folder)
{
	start(folder, "ordinary");
	usual();
	call(LAUNCH, 1, 4900 * US, 0);
	loading(3, 3 * MS);
	call(SYNC, 30, 1 * US, 0);
	call(SYNC, 1, 500 * MS, 0); /* it waits */
	call(GET_GLOBAL, 3, 2 * US, 500); /* "is there one?" */
	call(PEER, 1, 2 * US, 704); /* it is so already */
	call(UNLOAD, 2, 2 * US, 4); /* at exit */
	call(INSTANTIATE, 12, 40 * US, 0);
	call(GRAPH_LAUNCH, 25, 5 * US, 0);
	call_with(ALLOC_HOST, 10 * US, 2, PINNED, 1ull << 30, 0);
	copy_up(40, PINNED, 16 << 20, 1 * MS);
	copy_up(5, PAGEABLE, 16 << 20, 4 * MS);
	copy_up(99, PINNED, 1 << 10, 1 * MS);
	allocate(20, DEVICE + (4ull << 30));
	for (unsigned i = 0; i < 10; i++) /* half of it is kept until the end */
		call_with(FREE, 5 * US, 1, DEVICE + (4ull << 30) + i * (1ull << 20), 0, 0);
	m.time += 99 * MS; /* without a call */
	call(SYNC, 1, 1 * US, 0);
	m.totals.wait_ns = 20 * MS;
	m.totals.waits = 7;
	finish();
}

static void unusual(const char *folder)
{
	struct nvs_rec_check *check;

	start(folder, "failures");
	usual();
	call(ALLOC, 3, 9 * US, 2);
	call(LAUNCH, 1, 5 * US, 700);
	call(SYNC, 1, 5 * US, 12345);
	call(GET_GLOBAL, 1, 2 * US, 500);
	finish();

	start(folder, "two");
	usual();
	call(ALLOC, 1, 9 * US, 2);
	call(LAUNCH, 1, 6 * MS, 0);
	finish();

	start(folder, "graphs");
	usual();
	call(INSTANTIATE, 12, 40 * US, 0);
	call(GRAPH_LAUNCH, 24, 5 * US, 0);
	finish();

	start(folder, "loading");
	usual();
	loading(2, 8 * MS);
	finish();

	start(folder, "long");
	usual();
	call(LAUNCH, 1, 6 * MS, 0);
	finish();

	start(folder, "waits");
	usual();
	m.totals.wait_ns = 20 * MS;
	m.totals.waits = 7;
	finish();

	start(folder, "outside");
	m.time += 300 * MS;
	usual();
	m.time += 150 * MS;
	call(LAUNCH, 10, 5 * US, 0);
	m.time += 50 * MS;
	finish();

	start(folder, "pageable");
	usual();
	copy_up(5, PAGEABLE, 16 << 20, 6 * MS);
	finish();

	start(folder, "small");
	usual();
	copy_up(100, PINNED, 1 << 10, 1 * MS);
	finish();

	start(folder, "held");
	usual();
	allocate(10, DEVICE);
	finish();

	/* More than six. */
	start(folder, "many");
	mk_attr(&m, NVS_ATTR_UNWINDER, "backtrace", 9);
	m.time += 100 * MS;
	usual();
	call(ALLOC, 1, 9 * US, 2);
	call(INSTANTIATE, 12, 4 * MS, 0);
	loading(2, 8 * MS);
	call(LAUNCH, 1, 60 * MS, 0);
	copy_up(100, PINNED, 1 << 10, 1 * MS);
	allocate(10, DEVICE);
	m.totals.wait_ns = 50 * MS;
	m.totals.waits = 7;
	finish();

	start(folder, "unwinder");
	mk_attr(&m, NVS_ATTR_UNWINDER, "backtrace", 9);
	usual();
	finish();

	start(folder, "remarks");
	usual();
	((struct nvs_rec_remark *)mk_rec(&m, NVS_REC_REMARK, sizeof(struct nvs_rec_remark)))->kind =
		NVS_REMARK_IMPORTED;
	finish();

	start(folder, "late");
	usual();
	check = mk_rec(&m, NVS_REC_CHECK, sizeof(*check));
	check->kind = NVS_CHECK_SITE;
	check->value = NVS_SITE_NOT_YET;
	check->start = 0x7f0000001000;
	finish();

	/* The driver allocates memory during a launch. */
	start(folder, "memory");
	usual();
	m.time += 10 * MS;
	object(0x5000);
	m.time += 5 * MS;
	over(LAUNCH, m.time - 15 * MS, 0);
	finish();

	/* During a launch another thread is in a call. */
	start(folder, "lock");
	mk_thread(&m, 1, 101, "helper");
	usual();
	m.time += 18 * MS;
	over(ALLOC, m.time - 18 * MS, 0)->thread = 1;
	m.time += 1 * MS;
	over(LAUNCH, m.time - 19 * MS, 0);
	finish();

	/* The runtime looks up what it may need. */
	start(folder, "lookups");
	call(LOOK_UP, 300, 1 * US, 0);
	usual();
	call(LOOK_UP, 2, 1 * US, 500);
	call(LAUNCH, 1, 5 * US, 0);
	call(LOOK_UP, 1, 1 * US, 0);
	finish();

	/* Neither an end nor the spool that would tell the rest. */
	start(folder, "torn");
	usual();
	mk_frame_end(&m);
	mk_close(&m);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: mkfindings FOLDER\n");
		return 2;
	}
	ordinary(argv[1]);
	unusual(argv[1]);
	return 0;
}
