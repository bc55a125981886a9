/* SPDX-License-Identifier: MIT */
/* --dump: prints GPFIFO entries, one line each. */
#include <inttypes.h>
#include "decode/base/digits.h"
#include "decode/cli/json.h"
#include "decode/gpu/pb.h"
#include "decode/report/dump/methods.h"

static const char *const states[] = {"here", "in pieces", "none", "gap", "not recorded"};

static const char *state_name(uint32_t state)
{
	return state < sizeof(states) / sizeof(states[0]) ? states[state] : "?";
}

uint64_t nvs_dump_entry_address(const struct nvs_submission *s, uint32_t index)
{
	const struct nvs_rec_channel *c = &s->channel->rec;

	if (!s->channel->known || !c->gpfifo || !c->entries)
		return 0;
	return c->gpfifo + ((uint64_t)s->rec->old_put + index) % c->entries * 8;
}

void nvs_dump_json_address(FILE *f, const char *key, uint64_t address)
{
	struct nvs_json j = {.file = f, .more = true};

	nvs_json_known(&j, key, address, address);
}

static void put_hex16(struct nvs_line_buffer *l, uint64_t value)
{
	char *p = nvs_line_reserve(l, NVS_DIGITS);

	if (!p)
		return;
	nvs_put_hex8(nvs_put_hex8(p, (uint32_t)(value >> 32)), (uint32_t)value);
	l->length += 16;
}

void nvs_dump_text_entry(struct nvs_line_buffer *l, const struct nvs_segment *seg,
			 const struct nvs_gp *gp, uint64_t at)
{
	nvs_line_text(l, "  entry ");
	put_hex16(l, seg->entry);
	if (!gp->dwords) {
		nvs_line_put(l, "  control %s operand 0x%x%s", nvs_gp_opcode_name(gp->opcode),
			     gp->operand, gp->wait ? " sync" : "");
	} else {
		nvs_line_hex(l, "  address 0x", gp->address);
		nvs_line_dec(l, "  ", gp->dwords);
		nvs_line_text(l, gp->subroutine ? " dwords subroutine" : " dwords");
		nvs_line_text(l, gp->conditional ? " conditional" : "");
		nvs_line_text(l, gp->wait ? " sync" : "");
		nvs_line_text(l, seg->state ? "  " : "");
		nvs_line_text(l, seg->state ? state_name(seg->state) : "");
	}
	if (at)
		nvs_line_hex(l, "  ; at 0x", at);
	nvs_line_text(l, "\n");
}

void nvs_dump_json_entry(struct nvs_out *out, const struct nvs_submission *s,
			 const struct nvs_segment *seg, const struct nvs_gp *gp, const char *in)
{
	FILE *f = out->file;

	fprintf(f,
		"{\"schema\":%d,\"kind\":\"entry\",\"submission\":%" PRIu64
		",\"entry_index\":%u,\"entry\":%" PRIu64,
		NVS_SCHEMA, s->number, seg->index, seg->entry);
	nvs_dump_json_address(f, "entry_address", nvs_dump_entry_address(s, seg->index));
	if (gp->dwords)
		fprintf(f,
			",\"address\":%" PRIu64 ",\"dwords\":%u,\"subroutine\":%s,\"conditional\":%"
			"s,\"sync\":%s,\"segment\":\"%s\",\"pushbuffer_in\":%s%s%s}\n",
			gp->address, gp->dwords, gp->subroutine ? "true" : "false",
			gp->conditional ? "true" : "false", gp->wait ? "true" : "false",
			state_name(seg->state), in ? "\"" : "", in ? in : "null", in ? "\"" : "");
	else
		fprintf(f, ",\"control\":\"%s\",\"operand\":%u,\"sync\":%s}\n",
			nvs_gp_opcode_name(gp->opcode), gp->operand, gp->wait ? "true" : "false");
}
