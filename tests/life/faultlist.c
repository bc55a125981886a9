/* SPDX-License-Identifier: MIT */
/* faultlist TRACE: prints a line for each record of a fault in it, and "launch PROGRAM" for each
 * kernel that was launched, with its program address. */
#include <inttypes.h>
#include <stdio.h>
#include "nvsnoop/decode.h"

static void print_sm_errors(const struct nvs_rec_sm_error *r)
{
	printf("states gpu=%" PRId32 " channel=%" PRId32 " first=%u asked=%u mmu=%u,%#x,%#x\n",
	       (int32_t)r->gpu, (int32_t)r->channel, r->first, r->asked, r->mmu_valid, r->mmu_info,
	       r->mmu_fault);
	for (uint32_t i = 0; i < r->nsms; i++) {
		const struct nvs_sm_error *s = &r->sms[i];

		printf("sm=%u global=%#x warp=%#x cga=%#x address=%#" PRIx64 " pc=%#" PRIx64 "\n",
		       s->sm, s->global_esr, s->warp_esr, s->cga_esr, s->address, s->pc);
	}
}

static int on_record(void *arg, struct nvs_trace *trace, const struct nvs_rec *rec)
{
	const struct nvs_rec_fault *f = (const void *)rec;
	const struct nvs_rec_fault_memory *m = (const void *)rec;
	int64_t at;

	nvs_clock_since_start(trace, rec->time, &at);
	if (rec->type == NVS_REC_FAULT)
		printf("fault channel=%u number=%u info16=%u status=%#x seen=%u gpu_ns=%" PRIu64
		       " progress=%#" PRIx64 ",%" PRIu64 " at=%.6f\n",
		       f->channel, f->number, f->info16, f->status, f->seen, f->gpu_ns, f->progress,
		       f->value[0] & UINT32_MAX, 1e-9 * (double)at);
	else if (rec->type == NVS_REC_SM_ERROR)
		print_sm_errors((const void *)rec);
	else if (rec->type == NVS_REC_FAULT_MEMORY)
		printf("memory channel=%u address=%#" PRIx64 " bytes=%u\n", m->channel, m->address,
		       m->bytes);
	return 0;
}

static int on_operation(void *arg, struct nvs_trace *trace, const struct nvs_operation *op)
{
	if (op->grid)
		printf("launch program=%#" PRIx64 " channel=%u call=%s\n", op->grid->program,
		       op->submission->channel->channel,
		       op->call ? nvs_call_api_name(op->call) : "-");
	return 0;
}

int main(int argc, char **argv)
{
	struct nvs_consumer c = {.size = sizeof(c),
				 .flags = NVS_READ_CALLS,
				 .record = on_record,
				 .operation = on_operation};
	struct nvs_error err = {""};
	struct nvs_trace *t;
	int r;

	if (argc != 2 || nvs_trace_open(&t, argv[1], NULL, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	r = nvs_trace_read(t, &c, NULL, &err);
	if (r)
		fprintf(stderr, "%s\n", err.text);
	nvs_trace_close(t);
	return r != 0;
}
