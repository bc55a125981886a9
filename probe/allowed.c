/* SPDX-License-Identifier: MIT */
/* The words of a text, read with the reader's own eyes before a GPU sees them. */
#include "probe/allowed.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "decode/gpu/ops.h"
#include "decode/gpu/words.h"

#define HOST_END 0x100u
#define COMPLAINTS_MAX 20

struct look {
	struct probe_effects *e;
	const struct nvs_assembly *a;
	uint32_t room;
	struct nvs_asm_place told[COMPLAINTS_MAX];
};

__attribute__((format(printf, 3, 4))) static void refuse(struct look *l, uint64_t at,
							 const char *format, ...)
{
	const struct nvs_asm_place *p = &l->a->places[at / 4];
	va_list ap;

	/* What a repetition does stands there once. */
	for (uint32_t i = 0; i < l->e->refused; i++)
		if (l->told[i].line == p->line && l->told[i].column == p->column)
			return;
	if (l->e->unsafe || l->e->refused == COMPLAINTS_MAX)
		return;
	l->told[l->e->refused++] = *p;
	fprintf(stderr, "%s:%u:%u: ", l->e->file, p->line, p->column);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputs("; --unsafe sends it all the same\n", stderr);
}

/* ---- addresses ---- */

static bool ours(const struct look *l, uint64_t address, uint64_t bytes)
{
	for (uint32_t i = 0; i < l->e->nbuffers; i++) {
		const struct probe_buffer *b = &l->e->buffers[i];

		if (address >= b->address && address - b->address <= b->size &&
		    bytes <= b->size - (address - b->address))
			return true;
	}
	return false;
}

static void check_range(struct look *l, uint64_t at, uint64_t address, uint64_t bytes,
			const char *what)
{
	char names[128] = "";
	size_t n = 0;

	if (l->e->unsafe || ours(l, address, bytes))
		return;
	for (uint32_t i = 0; i < l->e->nbuffers && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s$%s", i ? ", " : "",
				      l->e->buffers[i].name);
	refuse(l, at, "%s 0x%llx (%llu byte%s) is not within one buffer of ours (%s)", what,
	       (unsigned long long)address, (unsigned long long)bytes, bytes == 1 ? "" : "s",
	       names);
}

static uint64_t extent(const struct nvs_op *op, uint32_t pitch)
{
	uint64_t lines = op->flags & NVS_OP_TWO_D ? op->copy.lines : 1;

	return lines ? (lines - 1) * (uint64_t)pitch + op->copy.width : 0;
}

static void check_copy(struct look *l, const struct nvs_op *op)
{
	if (op->flags & (NVS_OP_PHYSICAL_SRC | NVS_OP_PHYSICAL_DST)) {
		refuse(l, op->at, "a physical address");
		return;
	}
	if (op->flags & (NVS_OP_BLOCKLINEAR_SRC | NVS_OP_BLOCKLINEAR_DST)) {
		refuse(l, op->at,
		       "a block-linear layout, of which nobody here knows how far it "
		       "reaches (MEMORY_LAYOUT=PITCH is a plain one)");
		return;
	}
	if (op->copy.src)
		check_range(l, op->at, op->copy.src, extent(op, op->copy.src_pitch), "the source");
	check_range(l, op->at, op->copy.dst, extent(op, op->copy.dst_pitch), "the target");
}

static void note_release(struct look *l, const struct nvs_op *op)
{
	struct probe_effects *e = l->e;

	if (e->nreleases == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		e->releases = realloc(e->releases, l->room * sizeof(*e->releases));
		if (!e->releases)
			probe_die("out of memory");
	}
	e->releases[e->nreleases++] = (struct probe_release){
		.address = op->sem.address,
		.payload = op->sem.payload,
		.value = op->sem.op == NVS_SEM_SET ? op->sem.payload : op->sem.value,
		.known = op->sem.op == NVS_SEM_SET || op->flags & NVS_OP_VALUE,
		.wide = op->flags & NVS_OP_WIDE,
		.timestamp = op->flags & NVS_OP_TIMESTAMP,
		.by = op->sem.by,
		.at = l->a->places[op->at / 4],
	};
}

static void on_op(void *arg, struct nvs_ops_channel *c, const struct nvs_op *op)
{
	struct look *l = arg;

	switch (op->kind) {
	case NVS_OP_COPY:
	case NVS_OP_MEMSET:
	case NVS_OP_UPLOAD:
		check_copy(l, op);
		break;
	case NVS_OP_LAUNCH:
	case NVS_OP_TRIGGER:
		refuse(l, op->at, "a grid, which reads and writes what its descriptor says");
		break;
	case NVS_OP_RELEASE:
	case NVS_OP_ACQUIRE:
		check_range(l, op->at, op->sem.address,
			    op->flags & NVS_OP_TIMESTAMP ? 16
			    : op->flags & NVS_OP_WIDE	 ? 8
							 : 4,
			    "the semaphore");
		if (op->kind == NVS_OP_RELEASE)
			note_release(l, op);
		break;
	}
}

/* ---- methods ---- */

/* An address that is given to the GPU for later; none is 0. */
static void check_method(struct look *l, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
			 uint32_t i, const struct nvs_class *cls)
{
	uint32_t method = nvs_pb_method(run, i), value = run->data[i], before = 0;
	uint64_t at = run->address + 4ull * (i + !run->index), address;
	struct nvs_method_at m;

	if (run->form == NVS_PB_IMMD)
		at = run->address;
	if (!cls) {
		refuse(l, at, "the class of subchannel %u is not known", run->subch);
		return;
	}
	l->e->only_copies &= cls->kind == NVS_KIND_COPY || cls->kind == NVS_KIND_HOST;
	if (!nvs_method_find(cls, method, &m)) {
		refuse(l, at, "method 0x%04x is in no table of %s", method, nvs_str(cls->name));
		return;
	}
	if (!method && !nvs_class_find(value & 0xffff))
		refuse(l, at, "class %04x has no table", value & 0xffff);
	if (nvs_words_address(cls, &m, method) < NVS_ADDRESS_LOW)
		return;
	if (i && nvs_pb_method(run, i - 1) == method - 4)
		before = run->data[i - 1];
	else
		nvs_ops_method(c, run->subch, method - 4, &before);
	address = nvs_words_address_of(nvs_words_address(cls, &m, method), value, before);
	if (address)
		check_range(l, at, address, 1, "address");
}

static void on_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		   const struct nvs_class *cls)
{
	if (run->form > NVS_PB_OLD_NON_INC)
		return;
	for (uint32_t i = 0; i < run->count; i++) {
		/* A run that begins below 0x100 may rise above it. */
		bool above = nvs_pb_method(run, i) >= HOST_END && run->method < HOST_END;

		check_method(arg, c, run, i, above ? nvs_ops_class(c, run->subch, NULL) : cls);
	}
}

static void on_fault(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_fault *fault)
{
	struct look *l = arg;
	const char *what = "what is no command";

	if (fault->kind == NVS_PB_SHORT_DATA)
		what = "a header whose data does not come: the next commands would be taken for it";
	if (fault->address / 4 < l->a->nwords)
		refuse(l, fault->address, "%s (%s)", what, nvs_pb_fault_name(fault->kind));
}

void probe_effects(struct probe_effects *e, const struct nvs_assembly *a)
{
	struct look l = {.e = e, .a = a};
	struct nvs_ops_sink sink = {.run = on_run, .fault = on_fault, .op = on_op, .arg = &l};
	struct nvs_ops_channel_info info = {.host_class = a->host};
	struct nvs_ops *ops = nvs_ops_new(&sink);
	struct nvs_ops_channel *c;
	struct nvs_gp gp;

	for (int i = 0; i < 8; i++)
		info.defaults[i] = a->classes[i];
	c = ops ? nvs_ops_channel_new(ops, &info) : NULL;
	if (!c)
		probe_die("out of memory");
	e->refused = e->nreleases = 0;
	e->releases = NULL;
	e->only_copies = true;
	nvs_ops_begin(c, 0);
	/* Addresses are places in the text's own words. */
	for (uint32_t i = 0; i < a->nentries; i++) {
		const struct nvs_asm_entry *entry = &a->entries[i];

		if (entry->control)
			continue;
		nvs_ops_entry(c, (entry->entry & ~0xfffffffffcull) | entry->first * 4ull, &gp);
		nvs_ops_feed(c, a->words + entry->first, entry->dwords);
	}
	nvs_ops_end(c);
	nvs_ops_free(ops);
}
