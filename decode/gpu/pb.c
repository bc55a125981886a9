/* SPDX-License-Identifier: MIT */
/* Parses pushbuffers. Header forms are encoded in bits 31:29 (and 17:16 for old forms), as in the
 * DMA_* formats of the host classes from Fermi to Blackwell. */
#include <string.h>
#include "decode/gpu/pb.h"

const char *nvs_pb_fault_name(enum nvs_pb_fault_kind kind)
{
	switch (kind) {
	case NVS_PB_SHORT_DATA:
		return "short-data";
	case NVS_PB_RESERVED_HEADER:
		return "reserved-header";
	case NVS_PB_RESERVED_CONTROL:
		return "reserved-control";
	case NVS_PB_NESTED:
		return "nested-segment";
	case NVS_PB_LOOP:
		return "looping-segment";
	case NVS_PB_LENGTH:
		return "segment-length";
	}
	return "?";
}

const char *nvs_pb_form_name(uint32_t form)
{
	static const char *const names[] = {
		[NVS_PB_INC] = "INC",		[NVS_PB_NON_INC] = "NON_INC",
		[NVS_PB_INC_ONCE] = "INC_ONCE", [NVS_PB_IMMD] = "IMMD",
		[NVS_PB_OLD_INC] = "OLD_INC",	[NVS_PB_OLD_NON_INC] = "OLD_NON_INC",
		[NVS_PB_SET_MASK] = "SET_MASK", [NVS_PB_STORE_MASK] = "STORE_MASK",
		[NVS_PB_USE_MASK] = "USE_MASK", [NVS_PB_END_SEGMENT] = "END_PB_SEGMENT",
		[NVS_PB_NOP] = "NOP",
	};

	return form < sizeof(names) / sizeof(names[0]) ? names[form] : "?";
}

uint32_t nvs_pb_header(uint8_t form, uint8_t subch, uint32_t method, uint32_t total)
{
	uint32_t to = (uint32_t)subch << 13 | method >> 2, old_to = (uint32_t)subch << 13 | method;

	switch (form) {
	case NVS_PB_INC:
		return 1u << 29 | total << 16 | to;
	case NVS_PB_NON_INC:
		return 3u << 29 | total << 16 | to;
	case NVS_PB_INC_ONCE:
		return 5u << 29 | total << 16 | to;
	case NVS_PB_IMMD:
		return 4u << 29 | total << 16 | to;
	case NVS_PB_OLD_INC:
		return total << 18 | old_to;
	case NVS_PB_OLD_NON_INC:
		return 2u << 29 | total << 18 | old_to;
	case NVS_PB_SET_MASK:
		return 1u << 16 | total << 4;
	case NVS_PB_STORE_MASK:
		return 2u << 16 | total << 4;
	case NVS_PB_USE_MASK:
		return 3u << 16;
	case NVS_PB_END_SEGMENT:
		return 7u << 29;
	default:
		return 0;
	}
}

const char *nvs_gp_opcode_name(uint32_t opcode)
{
	static const char *const names[NVS_GP_OPCODES] = {"NOP", "ILLEGAL", "GP_CRC", "PB_CRC",
							  "SET_PB_SEGMENT_EXTENDED_BASE"};

	return opcode < NVS_GP_OPCODES ? names[opcode] : "?";
}

static void report_fault(const struct nvs_pb_sink *sink, enum nvs_pb_fault_kind kind,
			 uint64_t address, uint32_t header, uint32_t wanted, uint32_t had)
{
	struct nvs_pb_fault f = {kind, address, header, wanted, had};

	if (sink->fault)
		sink->fault(sink->arg, &f);
}

/* Drops the header whose data will not come. */
static void drop_header(struct nvs_pb *pb, const struct nvs_pb_sink *sink,
			enum nvs_pb_fault_kind kind)
{
	pb->pending = false;
	report_fault(sink, kind, pb->header_address, pb->run.header, pb->run.total, pb->run.index);
}

void nvs_pb_start(struct nvs_pb *pb)
{
	pb->nranges = 0;
	pb->left = 0;
	pb->ended = false;
}

static void check_loop(struct nvs_pb *pb, const struct nvs_gp *gp, uint32_t entry_hi,
		       const struct nvs_pb_sink *sink)
{
	uint64_t end = gp->address + 4ull * gp->dwords;
	uint32_t n = pb->nranges < NVS_PB_RANGES ? pb->nranges : NVS_PB_RANGES;

	for (uint32_t i = 0; i < n; i++) {
		if (gp->subroutine && gp->address == pb->ranges[i][0] && end == pb->ranges[i][1])
			return; /* called again */
		if (gp->address < pb->ranges[i][1] && pb->ranges[i][0] < end) {
			report_fault(sink, NVS_PB_LOOP, gp->address, entry_hi, gp->dwords, 0);
			return;
		}
	}
	pb->ranges[pb->nranges % NVS_PB_RANGES][0] = gp->address;
	pb->ranges[pb->nranges % NVS_PB_RANGES][1] = end;
	pb->nranges++;
}

static void parse_control_entry(struct nvs_pb *pb, bool extended, const struct nvs_pb_sink *sink,
				struct nvs_gp *gp, uint32_t hi)
{
	gp->opcode = hi & 0xff;
	if (gp->opcode == NVS_GP_EXTENDED_BASE && extended)
		pb->extended_base = (uint64_t)(gp->operand >> 8 & 0x1ffff) << 40;
	else if (gp->opcode == NVS_GP_ILLEGAL || gp->opcode >= NVS_GP_EXTENDED_BASE)
		report_fault(sink, NVS_PB_RESERVED_CONTROL, 0, hi, 0, 0);
}

void nvs_pb_entry(struct nvs_pb *pb, uint64_t entry, bool extended, const struct nvs_pb_sink *sink,
		  struct nvs_gp *gp)
{
	uint32_t lo = (uint32_t)entry, hi = (uint32_t)(entry >> 32);

	if (pb->left && !pb->ended)
		report_fault(sink, NVS_PB_LENGTH, pb->address, pb->left, pb->left, 0);
	memset(gp, 0, sizeof(*gp));
	gp->dwords = hi >> 10 & 0x1fffff;
	gp->conditional = lo & 1;
	gp->subroutine = hi >> 9 & 1;
	gp->wait = hi >> 31;
	gp->operand = lo;
	pb->ended = false;
	pb->left = gp->dwords;
	if (!gp->dwords) {
		parse_control_entry(pb, extended, sink, gp, hi);
		return;
	}
	gp->address = pb->extended_base | (uint64_t)(hi & 0xff) << 32 | (lo & ~3u);
	if (pb->pending && gp->subroutine && !pb->subroutine)
		drop_header(pb, sink, NVS_PB_NESTED);
	check_loop(pb, gp, hi, sink);
	pb->subroutine = gp->subroutine;
	pb->address = gp->address;
}

/* Passes RUN's next data words from DATA to the sink. Returns how many. */
static inline size_t pass_data(struct nvs_pb *pb, const uint32_t *data, size_t n,
			       const struct nvs_pb_sink *sink)
{
	struct nvs_pb_run *run = &pb->run;
	uint32_t wanted = run->total - run->index;
	uint32_t count = wanted < n ? wanted : (uint32_t)n;

	run->data = data;
	run->count = count;
	run->address = run->index ? pb->address : pb->header_address;
	sink->run(sink->arg, run);
	run->index += count;
	pb->pending = run->index < run->total;
	pb->address += 4ull * count;
	return count;
}

/* Passes on a header whose data, if any, is in the header itself. */
static void pass_header(struct nvs_pb *pb, uint8_t form, uint32_t value, bool has_value,
			const struct nvs_pb_sink *sink)
{
	struct nvs_pb_run *run = &pb->run;

	run->form = form;
	if (form != NVS_PB_IMMD)
		run->subch = 0;
	run->total = run->count = has_value;
	run->data = has_value ? &value : NULL;
	run->address = pb->header_address;
	sink->run(sink->arg, run);
}

/* Parses headers of groups 0 and 2. Returns false if the form is invalid. */
static bool parse_old_header(struct nvs_pb *pb, uint32_t word, const struct nvs_pb_sink *sink)
{
	struct nvs_pb_run *run = &pb->run;
	uint32_t tert = word >> 16 & 3;

	run->method = word & 0x1ffc;
	run->total = word >> 18 & 0x7ff;
	if (word >> 29 == 2) {
		if (tert)
			return false;
		run->form = NVS_PB_OLD_NON_INC;
		pb->pending = true;
		return true;
	}
	switch (tert) {
	case 0:
		run->form = NVS_PB_OLD_INC;
		pb->pending = true;
		return true;
	case 1:
	case 2:
		run->method = 0;
		pass_header(pb, tert == 1 ? NVS_PB_SET_MASK : NVS_PB_STORE_MASK, word >> 4 & 0xfff,
			    true, sink);
		return true;
	default:
		run->method = 0;
		pass_header(pb, NVS_PB_USE_MASK, 0, false, sink);
		return true;
	}
}

/* Parses a header word: passes it on at once, or leaves it pending until its data comes. */
static void parse_header(struct nvs_pb *pb, uint32_t word, const struct nvs_pb_sink *sink)
{
	static const uint8_t forms[8] = {
		[1] = NVS_PB_INC,
		[3] = NVS_PB_NON_INC,
		[5] = NVS_PB_INC_ONCE,
	};
	struct nvs_pb_run *run = &pb->run;

	run->header = word;
	run->subch = word >> 13 & 7;
	run->index = 0;
	switch (word >> 29) {
	case 1:
	case 3:
	case 5:
		run->form = forms[word >> 29];
		run->method = (word & 0xfff) << 2;
		run->total = word >> 16 & 0x1fff;
		pb->pending = true;
		return;
	case 4:
		run->method = (word & 0xfff) << 2;
		pass_header(pb, NVS_PB_IMMD, word >> 16 & 0x1fff, true, sink);
		return;
	case 7:
		run->method = 0;
		pass_header(pb, NVS_PB_END_SEGMENT, 0, false, sink);
		pb->ended = true;
		return;
	case 0:
	case 2:
		if (parse_old_header(pb, word, sink))
			return;
		break;
	}
	report_fault(sink, NVS_PB_RESERVED_HEADER, pb->header_address, word, 0, 0);
	pb->ended = true;
}

static size_t pass_zeros(struct nvs_pb *pb, const uint32_t *data, size_t n,
			 const struct nvs_pb_sink *sink)
{
	struct nvs_pb_run *run = &pb->run;
	size_t count = 1;

	while (count < n && !data[count])
		count++;
	memset(run, 0, sizeof(*run));
	run->form = NVS_PB_NOP;
	run->address = pb->address;
	run->total = (uint32_t)count;
	sink->run(sink->arg, run);
	pb->address += 4ull * count;
	return count;
}

size_t nvs_pb_claim(struct nvs_pb *pb, size_t n, const struct nvs_pb_sink *sink)
{
	if (n > pb->left) {
		report_fault(sink, NVS_PB_LENGTH, pb->address, 0, pb->left,
			     n > UINT32_MAX ? UINT32_MAX : (uint32_t)n);
		n = pb->left;
	}
	pb->left -= (uint32_t)n;
	return n;
}

size_t nvs_pb_step(struct nvs_pb *pb, const uint32_t *data, size_t n,
		   const struct nvs_pb_sink *sink)
{
	if (pb->ended)
		return n;
	if (pb->pending)
		return pass_data(pb, data, n, sink);
	if (!*data)
		return pass_zeros(pb, data, n, sink);
	pb->header_address = pb->address;
	pb->address += 4;
	parse_header(pb, *data, sink);
	/* At the end of a segment, a header with data waits for the next segment; one without data
	 * is passed on now. */
	if (pb->pending && !pb->run.total)
		pass_data(pb, data, 0, sink);
	return 1;
}

void nvs_pb_skip(struct nvs_pb *pb)
{
	pb->pending = false;
	pb->left = 0;
}

void nvs_pb_finish(struct nvs_pb *pb, const struct nvs_pb_sink *sink)
{
	if (pb->left && !pb->ended)
		report_fault(sink, NVS_PB_LENGTH, pb->address, pb->left, pb->left, 0);
	pb->left = 0;
	if (pb->pending)
		drop_header(pb, sink, NVS_PB_SHORT_DATA);
}
