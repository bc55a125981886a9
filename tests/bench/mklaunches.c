/* SPDX-License-Identifier: MIT */
/*
 * mklaunches TRACE MEGABYTES [calls]: a trace of kernel launches with the given size of commands,
 * as libcuda writes them for a Hopper GPU, from one call site. Slots and constants are used in
 * rotation, payloads count up. calls: also the record of the API call of each launch.
 */
#include "tests/unit/mktrace.h"
#include "tests/unit/pbmake.h"

#define FRAME_BYTES (1u << 20)

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

	pb->n = 0;
	pb_upload(pb, bank, constants, 0x210);
	pb_upload(pb, bank + 0x210, constants, 0x18);
	qmd_make(q, &aux);
	pb_upload(pb, slot + 0x400, q, 384);
	pb_trigger(pb, slot + 0x400, 10);
	qmd_make(q, &grid);
	pb_upload(pb, slot, q, 384);
	pb_upload(pb, grid.release, &five, 4);
	pb_trigger(pb, slot, 10);
	pb_report(pb, 0x20460ffe0, i + 1, 4);
}

static void tell_api(struct mk *m)
{
	static const char text[] = "cuLaunchKernel|launch|f:function|gridDimX:u32|gridDimY:u32|"
				   "gridDimZ:u32|blockDimX:u32|blockDimY:u32|blockDimZ:u32|"
				   "sharedMemBytes:u32|hStream:stream";
	struct nvs_rec_api *api = mk_rec(m, NVS_REC_API, sizeof(*api) + sizeof(text));

	api->api = 1;
	api->length = sizeof(text);
	memcpy(api->text, text, sizeof(text));
	for (char *p = api->text; *p; p++)
		if (*p == '|') {
			*p = '\0';
			api->nargs++;
		}
	api->nargs--;
}

static void begin_call(struct mk *m, uint64_t number)
{
	struct nvs_rec_call_begin *call = mk_rec(m, NVS_REC_CALL_BEGIN, sizeof(*call));

	call->api = 1;
	call->number = number;
	call->begin = call->rec.time - 5;
	call->depth = 1;
}

static void end_call(struct mk *m, uint64_t number)
{
	const uint64_t args[] = {0x5000, number % 65536 + 1, 1, 1, 256, 1, 1, 0, 0};
	struct nvs_rec_call *call = mk_rec(m, NVS_REC_CALL, sizeof(*call) + sizeof(args));

	call->api = 1;
	call->number = number;
	call->end = call->rec.time;
	call->depth = 1;
	call->nargs = sizeof(args) / sizeof(args[0]);
	memcpy(call->args, args, sizeof(args));
}

int main(int argc, char **argv)
{
	bool calls = argc == 4 && !strcmp(argv[3], "calls");
	static struct mk m;
	static struct pb pb;
	const uint64_t pcs[] = {0x7f0000001000, 0x7f0000002000, 0x400123};
	struct nvs_rec_object *object;
	uint64_t bytes;

	if (argc != 3 + calls)
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
	if (calls)
		tell_api(&m);
	for (uint32_t i = 0; m.totals.bytes < bytes; i++) {
		struct nvs_rec_submission *s;

		make_launch(&pb, i);
		if (calls)
			begin_call(&m, i);
		s = mk_submission(&m, 0, 0, 0, 1, &pb.n, 0);
		s->progress_address = 0x20460ffe0;
		s->rec.flags |= (uint16_t)(calls << NVS_SUB_CALL_SHIFT);
		memcpy(s->entries + 1, pb.words, pb.n * 4);
		if (calls)
			end_call(&m, i);
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
