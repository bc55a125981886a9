/* SPDX-License-Identifier: MIT */
/* Checks every size and count in a record, once, before the record is used. */
#include "decode/trace/records.h"

/* Fixed part of each known type, in bytes. */
static const uint16_t fixed[] = {
	[NVS_REC_PAD] = sizeof(struct nvs_rec),
	[NVS_REC_FRAME] = sizeof(struct nvs_rec_frame),
	[NVS_REC_HEADER] = sizeof(struct nvs_rec_header),
	[NVS_REC_ATTR] = sizeof(struct nvs_rec_attr),
	[NVS_REC_CLOCK] = sizeof(struct nvs_rec_clock),
	[NVS_REC_THREAD] = sizeof(struct nvs_rec_thread),
	[NVS_REC_MODULE] = sizeof(struct nvs_rec_module),
	[NVS_REC_MODULE_GONE] = sizeof(struct nvs_rec_module_gone),
	[NVS_REC_STACK] = sizeof(struct nvs_rec_stack),
	[NVS_REC_GPU] = sizeof(struct nvs_rec_gpu),
	[NVS_REC_OBJECT] = sizeof(struct nvs_rec_object),
	[NVS_REC_OBJECT_GONE] = sizeof(struct nvs_rec_object_gone),
	[NVS_REC_CPU_MAP] = sizeof(struct nvs_rec_cpu_map),
	[NVS_REC_CPU_MAP_GONE] = sizeof(struct nvs_rec_cpu_map_gone),
	[NVS_REC_GPU_MAP] = sizeof(struct nvs_rec_gpu_map),
	[NVS_REC_GPU_MAP_GONE] = sizeof(struct nvs_rec_gpu_map_gone),
	[NVS_REC_CHANNEL] = sizeof(struct nvs_rec_channel),
	[NVS_REC_CHANNEL_GONE] = sizeof(struct nvs_rec_channel_gone),
	[NVS_REC_SUBMISSION] = sizeof(struct nvs_rec_submission),
	[NVS_REC_DATA] = sizeof(struct nvs_rec_data),
	[NVS_REC_GAP] = sizeof(struct nvs_rec_gap),
	[NVS_REC_ORPHAN] = sizeof(struct nvs_rec_orphan),
	[NVS_REC_CHECK] = sizeof(struct nvs_rec_check),
	[NVS_REC_REMARK] = sizeof(struct nvs_rec_remark),
	[NVS_REC_IOCTL] = sizeof(struct nvs_rec_ioctl),
	[NVS_REC_TOTALS] = sizeof(struct nvs_rec_totals),
	[NVS_REC_END] = sizeof(struct nvs_rec_end),
	[NVS_REC_API] = sizeof(struct nvs_rec_api),
	[NVS_REC_CALL_BEGIN] = sizeof(struct nvs_rec_call_begin),
	[NVS_REC_CALL] = sizeof(struct nvs_rec_call),
	[NVS_REC_KERNEL] = sizeof(struct nvs_rec_kernel),
	[NVS_REC_GRAPH] = sizeof(struct nvs_rec_graph),
	[NVS_REC_GRAPH_EDGES] = sizeof(struct nvs_rec_graph_edges),
	[NVS_REC_NAME] = sizeof(struct nvs_rec_name),
	[NVS_REC_IMAGE] = sizeof(struct nvs_rec_image),
	[NVS_REC_NVTX_NAME] = sizeof(struct nvs_rec_nvtx_name),
	[NVS_REC_NVTX_BEGIN] = sizeof(struct nvs_rec_nvtx),
	[NVS_REC_NVTX_END] = sizeof(struct nvs_rec_nvtx_end),
	[NVS_REC_NVTX_MARK] = sizeof(struct nvs_rec_nvtx),
	[NVS_REC_WINDOW] = sizeof(struct nvs_rec_window),
	[NVS_REC_PART] = sizeof(struct nvs_rec_part),
	[NVS_REC_GPU_TIME] = sizeof(struct nvs_rec_gpu_time),
	[NVS_REC_GPU_CLOCK] = sizeof(struct nvs_rec_gpu_clock),
	[NVS_REC_UNTIMED] = sizeof(struct nvs_rec_untimed),
	[NVS_REC_ALLOCATION] = sizeof(struct nvs_rec_allocation),
	[NVS_REC_COUNTER] = sizeof(struct nvs_rec_counter),
	[NVS_REC_COUNT] = sizeof(struct nvs_rec_count),
	[NVS_REC_FAULT] = sizeof(struct nvs_rec_fault),
	[NVS_REC_SM_ERROR] = sizeof(struct nvs_rec_sm_error),
	[NVS_REC_FAULT_MEMORY] = sizeof(struct nvs_rec_fault_memory),
	[NVS_REC_SNAPSHOT] = sizeof(struct nvs_rec_snapshot),
};

/* Minimum size of a record: older writers had fewer fields. */
static uint32_t min_size(uint16_t type)
{
	return type == NVS_REC_TOTALS	  ? offsetof(struct nvs_rec_totals, fast)
	       : type == NVS_REC_GPU_TIME ? offsetof(struct nvs_rec_gpu_time, every)
					  : fixed[type];
}

uint32_t nvs_record_fixed(uint16_t type)
{
	return type < sizeof(fixed) / sizeof(*fixed) ? fixed[type] : 0;
}

const char *nvs_submission_check(const struct nvs_rec_submission *rec, size_t *ndata)
{
	size_t room = rec->rec.size - sizeof(*rec), sum = 0;

	if (rec->nentries > room / sizeof(*rec->entries))
		return "a submission's entries run past its end";
	room -= rec->nentries * sizeof(*rec->entries);
	for (uint32_t i = 0; i < rec->nentries; i++) {
		const struct nvs_gp_entry *e = rec->entries + i;

		if (e->state != NVS_SEG_HERE)
			continue;
		if (e->bytes != ((e->entry >> 42) & 0x1fffff) * 4)
			return "a segment's size differs from its entry's";
		sum += e->bytes;
		if (sum > room)
			return "a submission's segments run past its end";
	}
	if (rec->rec.flags & NVS_SUB_GET && room - sum < 8 + (sum & 4))
		return "a submission's GP_GET runs past its end";
	*ndata = sum;
	return NULL;
}

static bool tail_fits(const struct nvs_rec *rec, uint64_t bytes)
{
	return ((bytes + 7) & ~7ull) <= (uint64_t)rec->size - fixed[rec->type];
}

const char *nvs_record_check(const struct nvs_rec *rec, size_t room)
{
	uint64_t tail = 0;
	size_t ndata;

	if (rec->size < sizeof(*rec) || rec->size % 8)
		return "a record of invalid size";
	if (rec->size > room)
		return "a record runs past the end";
	if (rec->type >= sizeof(fixed) / sizeof(*fixed))
		return NULL;
	if (rec->size < min_size(rec->type))
		return "a record is too short for its type";
	switch (rec->type) {
	case NVS_REC_FRAME:
		tail = (uint64_t)((const struct nvs_rec_frame *)rec)->nranges *
		       sizeof(struct nvs_buffer_range);
		break;
	case NVS_REC_ATTR:
		tail = ((const struct nvs_rec_attr *)rec)->length;
		break;
	case NVS_REC_MODULE:
		tail = ((const struct nvs_rec_module *)rec)->build_id_length;
		tail += ((const struct nvs_rec_module *)rec)->path_length;
		break;
	case NVS_REC_STACK:
		tail = (uint64_t)((const struct nvs_rec_stack *)rec)->nframes * 8;
		break;
	case NVS_REC_OBJECT:
		tail = ((const struct nvs_rec_object *)rec)->params_length;
		break;
	case NVS_REC_DATA:
		tail = ((const struct nvs_rec_data *)rec)->bytes;
		break;
	case NVS_REC_IMAGE:
		tail = ((const struct nvs_rec_image *)rec)->bytes;
		break;
	case NVS_REC_SNAPSHOT:
		tail = ((const struct nvs_rec_snapshot *)rec)->bytes;
		break;
	case NVS_REC_API:
		tail = ((const struct nvs_rec_api *)rec)->length;
		break;
	case NVS_REC_CALL:
		tail = ((const struct nvs_rec_call *)rec)->nargs * 8u;
		tail += ((const struct nvs_rec_call *)rec)->bytes;
		tail += rec->flags & NVS_CALL_SITED ? 8 : 0;
		break;
	case NVS_REC_CALL_BEGIN:
		if (!(rec->flags & NVS_BEGIN_SITED))
			break;
		tail = sizeof(struct nvs_call_begin_site);
		if (tail_fits(rec, tail))
			tail += nvs_begin_site(rec)->nargs * 8ull;
		break;
	case NVS_REC_CHANNEL_GONE:
		tail = rec->flags & NVS_CHAN_GONE_DONE ? sizeof(struct nvs_channel_done) : 0;
		break;
	case NVS_REC_KERNEL:
		tail = ((const struct nvs_rec_kernel *)rec)->length;
		break;
	case NVS_REC_COUNTER:
		tail = ((const struct nvs_rec_counter *)rec)->length;
		tail += ((const struct nvs_rec_counter *)rec)->reason_length;
		break;
	case NVS_REC_COUNT:
		tail = (uint64_t)((const struct nvs_rec_count *)rec)->ncounts *
		       sizeof(struct nvs_count);
		break;
	case NVS_REC_SM_ERROR:
		tail = (uint64_t)((const struct nvs_rec_sm_error *)rec)->nsms *
		       sizeof(struct nvs_sm_error);
		break;
	case NVS_REC_FAULT_MEMORY:
		tail = ((const struct nvs_rec_fault_memory *)rec)->bytes;
		break;
	case NVS_REC_NAME:
		tail = ((const struct nvs_rec_name *)rec)->name_length;
		tail += ((const struct nvs_rec_name *)rec)->exported_length;
		tail += ((const struct nvs_rec_name *)rec)->file_length;
		break;
	case NVS_REC_GRAPH:
		tail = (uint64_t)((const struct nvs_rec_graph *)rec)->nnodes *
		       sizeof(struct nvs_graph_node);
		break;
	case NVS_REC_GRAPH_EDGES:
		tail = (uint64_t)((const struct nvs_rec_graph_edges *)rec)->nedges *
		       sizeof(struct nvs_graph_edge);
		break;
	case NVS_REC_NVTX_NAME:
		tail = ((const struct nvs_rec_nvtx_name *)rec)->length;
		break;
	case NVS_REC_NVTX_BEGIN:
	case NVS_REC_NVTX_MARK:
		tail = ((const struct nvs_rec_nvtx *)rec)->length;
		break;
	case NVS_REC_SUBMISSION:
		return nvs_submission_check((const struct nvs_rec_submission *)rec, &ndata);
	}
	return !tail || tail_fits(rec, tail) ? NULL : "a record's contents run past its end";
}
