/* SPDX-License-Identifier: MIT */
/* Decodes an assembled text with the trace decoder, and refuses whatever could damage something,
 * before a GPU sees it. */
#include "probe/studies/submit_check.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode/gpu/class.h"
#include "decode/gpu/ops.h"
#include "decode/gpu/pb.h"
#include "decode/gpu/method_format.h"

#define HOST_END 0x100u
#define COMPLAINTS_MAX 20

struct complaint {
	uint32_t word; /* index in the text's words */
	uint64_t address; /* address that a method sets for later use; 0: none */
	bool covered; /* superseded by a complaint about an operation there */
	char text[256];
};

struct look {
	struct probe_effects *e;
	const struct nvs_assembly *a;
	uint32_t word; /* word being checked */
	uint32_t *made_by; /* for each operation, the word that completed it */
	uint32_t made, ops; /* operations completed, and operations checked */
	uint32_t nmethods,
		nops; /* numbers of complaints about methods and headers, and about operations */
	struct complaint methods[COMPLAINTS_MAX], of_ops[COMPLAINTS_MAX];
};

static bool same_place(const struct look *l, uint32_t a, uint32_t b)
{
	const struct nvs_asm_place *p = &l->a->places[a], *q = &l->a->places[b];

	return p->line == q->line && p->column == q->column;
}

/* Records a complaint. ADDRESS is the address that a method sets, or 0. */
__attribute__((format(printf, 5, 6))) static void
add_complaint(struct look *l, bool op, uint32_t word, uint64_t address, const char *format, ...)
{
	struct complaint *list = op ? l->of_ops : l->methods;
	uint32_t *n = op ? &l->nops : &l->nmethods;
	va_list ap;

	/* Report words from a repetition only once. */
	for (uint32_t i = 0; i < *n; i++)
		if (same_place(l, list[i].word, word))
			return;
	if (l->e->unsafe || *n == COMPLAINTS_MAX)
		return;
	list += (*n)++;
	list->word = word;
	list->address = address;
	va_start(ap, format);
	vsnprintf(list->text, sizeof(list->text), format, ap);
	va_end(ap);
}

/* Complaints about a method or header at AT, and about the current operation. */
#define refuse(l, at, ...) add_complaint(l, false, (uint32_t)((at) / 4), 0, __VA_ARGS__)
#define refuse_op(l, ...) add_complaint(l, true, (l)->word, 0, __VA_ARGS__)

static int compare_by_word(const void *a, const void *b)
{
	uint32_t x = ((const struct complaint *)a)->word, y = ((const struct complaint *)b)->word;

	return (x > y) - (x < y);
}

/* Prints all complaints in the order of the text. */
static void print_complaints(struct look *l)
{
	struct complaint all[2 * COMPLAINTS_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->nmethods; i++)
		if (!l->methods[i].covered)
			all[n++] = l->methods[i];
	memcpy(all + n, l->of_ops, l->nops * sizeof(*all));
	n += l->nops;
	qsort(all, n, sizeof(*all), compare_by_word);
	for (uint32_t i = 0; i < n; i++) {
		const struct nvs_asm_place *p = &l->a->places[all[i].word];

		fprintf(stderr, "%s:%u:%u: %s; use --unsafe to submit it anyway\n", l->e->file,
			p->line, p->column, all[i].text);
	}
	l->e->refused = n;
}

/* ---- addresses ---- */

static bool is_in_buffer(const struct look *l, uint64_t address, uint64_t bytes)
{
	for (uint32_t i = 0; i < l->e->nbuffers; i++) {
		const struct probe_buffer *b = &l->e->buffers[i];

		if (address >= b->address && address - b->address <= b->size &&
		    bytes <= b->size - (address - b->address))
			return true;
	}
	return false;
}

static void refuse_address(struct look *l, bool op, uint32_t word, uint64_t address, uint64_t bytes,
			   const char *what)
{
	char names[128] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < l->e->nbuffers && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s$%s", i ? ", " : "",
				      l->e->buffers[i].name);
	add_complaint(l, op, word, op ? 0 : address,
		      "%s 0x%llx (%llu byte%s) is not within one of the buffers (%s)", what,
		      (unsigned long long)address, (unsigned long long)bytes, bytes == 1 ? "" : "s",
		      names);
}

/* Refuses an operation outside the buffers. Complaints about the method that set its address are
 * superseded. */
static void check_range(struct look *l, uint64_t address, uint64_t bytes, const char *what)
{
	if (l->e->unsafe || is_in_buffer(l, address, bytes))
		return;
	for (uint32_t i = 0; i < l->nmethods; i++)
		l->methods[i].covered |= l->methods[i].address &&
					 l->methods[i].address - address <= bytes;
	refuse_address(l, true, l->word, address, bytes, what);
}

static uint64_t copy_extent(const struct nvs_op *op, uint32_t pitch)
{
	uint64_t lines = op->flags & NVS_OP_TWO_D ? op->copy.lines : 1;

	return lines ? (lines - 1) * (uint64_t)pitch + op->copy.width : 0;
}

static void check_copy(struct look *l, const struct nvs_op *op)
{
	if (op->flags & (NVS_OP_PHYSICAL_SRC | NVS_OP_PHYSICAL_DST)) {
		refuse_op(l, "a physical address");
		return;
	}
	if (op->flags & (NVS_OP_BLOCKLINEAR_SRC | NVS_OP_BLOCKLINEAR_DST)) {
		refuse_op(l, "a block-linear layout, whose extent cannot be "
			     "checked (use MEMORY_LAYOUT=PITCH)");
		return;
	}
	if (op->copy.src)
		check_range(l, op->copy.src, copy_extent(op, op->copy.src_pitch), "the source");
	check_range(l, op->copy.dst, copy_extent(op, op->copy.dst_pitch), "the target");
}

static void add_release(struct look *l, const struct nvs_op *op)
{
	struct probe_effects *e = l->e;

	e->releases = probe_grow(e->releases, e->nreleases, sizeof(*e->releases));
	e->releases[e->nreleases++] = (struct probe_release){
		.address = op->sem.address,
		.payload = op->sem.payload,
		.value = op->sem.op == NVS_SEM_SET ? op->sem.payload : op->sem.value,
		.known = op->sem.op == NVS_SEM_SET || op->flags & NVS_OP_VALUE,
		.wide = op->flags & NVS_OP_WIDE,
		.timestamp = op->flags & NVS_OP_TIMESTAMP,
		.by = op->sem.by,
		.at = l->a->places[l->word],
	};
}

static void on_op(void *arg, struct nvs_ops_channel *c, const struct nvs_op *op)
{
	struct look *l = arg;
	uint32_t now = l->word;

	if (op->kind == NVS_OP_CODE)
		return;
	if (l->ops < l->made)
		l->word = l->made_by[l->ops];
	l->ops++;
	switch (op->kind) {
	case NVS_OP_COPY:
	case NVS_OP_MEMSET:
	case NVS_OP_UPLOAD:
		check_copy(l, op);
		break;
	case NVS_OP_LAUNCH:
	case NVS_OP_TRIGGER:
		refuse_op(l, "a grid, whose memory accesses cannot be checked");
		break;
	case NVS_OP_RELEASE:
	case NVS_OP_ACQUIRE:
		check_range(l, op->sem.address,
			    op->flags & NVS_OP_TIMESTAMP ? 16
			    : op->flags & NVS_OP_WIDE	 ? 8
							 : 4,
			    "the semaphore");
		if (op->kind == NVS_OP_RELEASE)
			add_release(l, op);
		break;
	}
	l->word = now;
}

/* ---- methods ---- */

/* Checks a method: its class and table, and an address that it sets for later use. Address 0 means
 * none. */
static void check_method(struct look *l, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
			 uint32_t i, const struct nvs_class *cls)
{
	uint32_t method = nvs_pb_method(run, i), value = run->data[i], before = 0;
	uint64_t at = run->address + 4ull * (i + !run->index), address;
	struct nvs_method_at m;

	if (run->form == NVS_PB_IMMD)
		at = run->address;
	if (!cls) {
		refuse(l, at, "the class of subchannel %u is unknown", run->subch);
		return;
	}
	l->e->only_copies &= cls->kind == NVS_KIND_COPY || cls->kind == NVS_KIND_HOST;
	if (!nvs_method_find(cls, method, &m)) {
		refuse(l, at, "method 0x%04x is in no table of %s", method,
		       nvs_class_string(cls->name));
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
	if (address && !l->e->unsafe && !is_in_buffer(l, address, 1))
		refuse_address(l, false, (uint32_t)(at / 4), address, 1, "address");
}

static void on_run(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_run *run,
		   const struct nvs_class *cls)
{
	if (run->form > NVS_PB_OLD_NON_INC)
		return;
	for (uint32_t i = 0; i < run->count; i++) {
		/* A run that begins at a host method below 0x100 may end above it. */
		bool above = nvs_pb_method(run, i) >= HOST_END && run->method < HOST_END;

		check_method(arg, c, run, i, above ? nvs_ops_class(c, run->subch, NULL) : cls);
	}
}

static void on_fault(void *arg, struct nvs_ops_channel *c, const struct nvs_pb_fault *fault)
{
	struct look *l = arg;
	const char *what = "not a command";

	if (fault->kind == NVS_PB_SHORT_DATA)
		what = "a header without its data: the next commands would be taken as data";
	if (fault->address / 4 < l->a->nwords)
		refuse(l, fault->address, "%s (%s)", what, nvs_pb_fault_name(fault->kind));
}

/* Feeds one word to the decoder. Operations that it completes are passed to on_op() later. */
static void feed_word(struct look *l, const struct nvs_ops *ops, struct nvs_ops_channel *c)
{
	nvs_ops_feed(c, l->a->words + l->word, 1);
	while (l->made < nvs_ops_count(ops)) {
		l->made_by = probe_grow(l->made_by, l->made, sizeof(*l->made_by));
		l->made_by[l->made++] = l->word;
	}
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
	nvs_ops_begin(c, 0, 0);
	/* Pushbuffer addresses are byte offsets in the text's words. */
	for (uint32_t i = 0; i < a->nentries; i++) {
		const struct nvs_asm_entry *entry = &a->entries[i];

		if (entry->control)
			continue;
		nvs_ops_entry(c, (entry->entry & ~0xfffffffffcull) | entry->first * 4ull, &gp);
		for (uint32_t k = 0; k < entry->dwords; k++) {
			l.word = entry->first + k;
			feed_word(&l, ops, c);
		}
	}
	nvs_ops_end(c);
	nvs_ops_free(ops);
	free(l.made_by);
	print_complaints(&l);
}
