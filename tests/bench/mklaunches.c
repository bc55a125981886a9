/* SPDX-License-Identifier: MIT */
/*
 * mklaunches TRACE MEGABYTES [calls|streams]: a trace of kernel launches with the given size of
 * commands, as libcuda writes them for a Hopper GPU, from one call site. Slots and constants are
 * used in rotation, payloads count up. calls: also the record of the API call of each launch.
 * streams: and they are in 16 streams in turn, each waits for the one before it by an event, and
 * each launch is given two of 1,024 allocations; the host waits for all after every 4,096.
 */
#include "tests/unit/mktrace.h"
#include "tests/unit/pbmake.h"

#define FRAME_BYTES (1u << 20)
#define STREAMS 16u
#define ALLOCATIONS 1024u
#define ALLOCATION(i) (0x7e0000000000ull + (i) % ALLOCATIONS * 0x100000)

static void make_launch(struct pb *pb, uint32_t i)
{
	uint64_t slot = 0x204e54000ull + (i % 1024) * 0x800,
		 bank = 0x7f1882580000ull + (i % 1024) * 0x400;
	struct qmd_spec aux = {
		.type = 1, .dependence = 2, .self_copy = 1, .dependent = slot + 0x800, .action = 1};
	struct qmd_spec grid = {.type = 2,
				.grid = {i % 65536 + 1, 1, 1},
				.block = {256, 1, 1},
				.program = 0x7f1883783200,
				.dependent = slot + 0x400,
				.action = 4,
				.release = 0x204637000 + i % 1024 * 8,
				.payload = 6,
				.bank = bank,
				.bank_bytes = 0x300};
	uint32_t constants[132] = {256, 1, 1, i}, q[96], five = 5;
	uint64_t params[] = {ALLOCATION(i), ALLOCATION(i * 7), i};

	pb->n = 0;
	pb_upload(pb, bank, constants, 0x210);
	pb_upload(pb, bank + 0x210, params, sizeof(params));
	qmd_make(q, &aux);
	pb_upload(pb, slot + 0x400, q, 384);
	pb_trigger(pb, slot + 0x400, 10);
	qmd_make(q, &grid);
	pb_upload(pb, slot, q, 384);
	pb_upload(pb, grid.release, &five, 4);
	pb_trigger(pb, slot, 10);
	pb_report(pb, 0x20460ffe0, i + 1, 4);
}

enum { LAUNCH = 1, CREATE, ALLOC, RECORD, WAIT, SYNCHRONIZE };

static void tell_api(struct mk *m, uint32_t number, const char *text)
{
	size_t n = strlen(text) + 1;
	struct nvs_rec_api *api = mk_rec(m, NVS_REC_API, sizeof(*api) + n);

	api->api = number;
	api->length = (uint32_t)n;
	memcpy(api->text, text, n);
	for (char *p = api->text; *p; p++)
		if (*p == '|') {
			*p = '\0';
			api->nargs++;
		}
	api->nargs--;
}

static void tell_apis(struct mk *m, bool streams)
{
	tell_api(m, LAUNCH,
		 "cuLaunchKernel|launch|f:function|gridDimX:u32|gridDimY:u32|gridDimZ:u32|"
		 "blockDimX:u32|blockDimY:u32|blockDimZ:u32|sharedMemBytes:u32|hStream:stream");
	if (!streams)
		return;
	tell_api(m, CREATE, "cuStreamCreate|stream|phStream:stream|Flags:u32");
	tell_api(m, ALLOC, "cuMemAlloc_v2|memory|dptr:devptr|bytesize:u64");
	tell_api(m, RECORD, "cuEventRecord|event|hEvent:event|hStream:stream");
	tell_api(m, WAIT, "cuStreamWaitEvent|stream|hStream:stream|hEvent:event|Flags:u32");
	tell_api(m, SYNCHRONIZE, "cuCtxSynchronize|sync");
}

static void begin_call(struct mk *m, uint64_t number)
{
	struct nvs_rec_call_begin *call = mk_rec(m, NVS_REC_CALL_BEGIN, sizeof(*call));

	call->api = LAUNCH;
	call->number = number;
	call->begin = call->rec.time - 5;
	call->depth = 1;
}

static void end_call(struct mk *m, uint32_t api, uint64_t number, const uint64_t *args, uint32_t n)
{
	struct nvs_rec_call *call = mk_rec(m, NVS_REC_CALL, sizeof(*call) + 8 * n);

	call->api = api;
	call->number = number;
	call->end = call->rec.time;
	call->depth = 1;
	call->nargs = (uint16_t)n;
	if (n)
		memcpy(call->args, args, 8 * n);
}

static uint64_t calls;

static void make_call(struct mk *m, uint32_t api, uint64_t a, uint64_t b, uint32_t n)
{
	const uint64_t args[] = {a, b, 0};

	end_call(m, api, calls++, args, n);
}

static uint64_t stream_of(uint32_t launch)
{
	return 0x100000 + launch % STREAMS * 0x100;
}

static void make_memory(struct mk *m)
{
	for (uint32_t i = 0; i < STREAMS; i++)
		make_call(m, CREATE, stream_of(i), 1, 2);
	for (uint32_t i = 0; i < ALLOCATIONS; i++)
		make_call(m, ALLOC, ALLOCATION(i), 0x100000, 2);
}

static void order_streams(struct mk *m, uint32_t i)
{
	if (i % 4096 == 4095)
		make_call(m, SYNCHRONIZE, 0, 0, 0);
	make_call(m, RECORD, 0x200000 + i % 64, stream_of(i), 2);
	make_call(m, WAIT, stream_of(i + 1), 0x200000 + i % 64, 3);
}

int main(int argc, char **argv)
{
	bool streams = argc == 4 && !strcmp(argv[3], "streams");
	bool called = streams || (argc == 4 && !strcmp(argv[3], "calls"));
	static struct mk m;
	static struct pb pb;
	const uint64_t pcs[] = {0x7f0000001000, 0x7f0000002000, 0x400123};
	struct nvs_rec_object *object;
	uint64_t bytes;

	if (argc != 3 + called)
		return 2;
	bytes = strtoull(argv[2], NULL, 0) * 1000000;
	mk_open(&m, argv[1]);
	mk_thread(&m, 0, 100, "bench");
	mk_channel(&m, 0);
	object = mk_rec(&m, NVS_REC_OBJECT, sizeof(*object));
	object->client = 0xc1000001;
	object->handle = 0x5c000200;
	object->parent = 0x5c000100;
	object->object_class = 0xcbc0;
	mk_stack(&m, 0, 3, pcs);
	if (called)
		tell_apis(&m, streams);
	if (streams)
		make_memory(&m);
	for (uint32_t i = 0; m.totals.bytes < bytes; i++) {
		struct nvs_rec_submission *s;

		const uint64_t args[] = {
			0x5000, i % 65536 + 1, 1, 1, 256, 1, 1, 0, streams ? stream_of(i) : 0};

		make_launch(&pb, i);
		if (called)
			begin_call(&m, calls);
		s = mk_submission(&m, 0, 0, 0, 1, &pb.n, 0);
		s->progress_address = 0x20460ffe0;
		s->rec.flags |= (uint16_t)(called << NVS_SUB_CALL_SHIFT);
		memcpy(s->entries + 1, pb.words, pb.n * 4);
		if (called)
			end_call(&m, LAUNCH, calls++, args, sizeof(args) / sizeof(args[0]));
		if (streams)
			order_streams(&m, i);
		if (m.len > FRAME_BYTES) {
			m.nends = 0;
			mk_next_frame(&m);
		}
	}
	mk_channel_gone(&m, 0);
	mk_end(&m);
	mk_frame_end(&m);
	mk_close(&m);
	return 0;
}
