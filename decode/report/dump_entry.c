/* SPDX-License-Identifier: MIT */
/* Entries of the GPFIFO, a line each. */
#include <inttypes.h>
#include "decode/report/dump_methods.h"

static const char *const states[] = {"here", "in pieces", "none", "gap", "not recorded"};

static const char *state_name(uint32_t state)
{
	return state < sizeof(states) / sizeof(states[0]) ? states[state] : "?";
}

void nvs_dump_text_entry(struct nvs_out *out, const struct nvs_segment *seg,
			 const struct nvs_gp *gp)
{
	FILE *f = out->file;

	if (!gp->dwords)
		fprintf(f, "  entry %016" PRIx64 "  control %s operand 0x%x%s\n", seg->entry,
			nvs_gp_opcode_name(gp->opcode), gp->operand, gp->wait ? " sync" : "");
	else
		fprintf(f, "  entry %016" PRIx64 "  address 0x%" PRIx64 "  %u dwords%s%s%s%s%s\n",
			seg->entry, gp->address, gp->dwords, gp->subroutine ? " subroutine" : "",
			gp->conditional ? " conditional" : "", gp->wait ? " sync" : "",
			seg->state ? "  " : "", seg->state ? state_name(seg->state) : "");
}

void nvs_dump_json_entry(struct nvs_out *out, const struct nvs_submission *s,
			 const struct nvs_segment *seg, const struct nvs_gp *gp)
{
	FILE *f = out->file;

	fprintf(f,
		"{\"schema\":%d,\"kind\":\"entry\",\"submission\":%" PRIu64
		",\"entry_index\":%u,\"entry\":%" PRIu64,
		NVS_SCHEMA, s->number, seg->index, seg->entry);
	if (gp->dwords)
		fprintf(f,
			",\"address\":%" PRIu64 ",\"dwords\":%u,\"subroutine\":%s,\"conditional\":%"
			"s,\"sync\":%s,\"segment\":\"%s\"}\n",
			gp->address, gp->dwords, gp->subroutine ? "true" : "false",
			gp->conditional ? "true" : "false", gp->wait ? "true" : "false",
			state_name(seg->state));
	else
		fprintf(f, ",\"control\":\"%s\",\"operand\":%u,\"sync\":%s}\n",
			nvs_gp_opcode_name(gp->opcode), gp->operand, gp->wait ? "true" : "false");
}
