/* SPDX-License-Identifier: MIT */
/*
 * Turns commands into words that are equal in two runs. Headers and method values are compared,
 * except addresses and semaphore payloads, which count up. Data written to memory are compared by
 * size, and launch descriptors by the launch they describe.
 */
#include <errno.h>
#include "decode/base/hash.h"
#include "decode/gpu/class.h"
#include "decode/gpu/pb.h"
#include "decode/gpu/qmd.h"
#include "decode/gpu/method_format.h"
#include "decode/report/diff/diff.h"

#define METHODS 4096u /* dwords of a class's method space */
#define HOST_END 0x100u

enum sort { NOT_MET, PLAIN, APART, DATA, SEMAPHORE, SEMAPHORE_APART, EXECUTE };

static bool starts_with(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool has_field(const struct nvs_method *m, const char *part)
{
	for (uint32_t i = 0; i < m->nfields; i++)
		if (strstr(nvs_class_string(nvs_fields[m->fields + i].name), part))
			return true;
	return false;
}

static bool is_apart(const struct nvs_class *cls, const struct nvs_method *m, uint32_t method)
{
	const char *name = nvs_class_string(m->name);

	return nvs_words_half(cls, method) || strstr(name, "PAYLOAD") || has_field(m, "PAYLOAD") ||
	       has_field(m, "ADDRESS") || strstr(name, "_ADDRESS") || strstr(name, "_WINDOW_");
}

/* Returns true for methods of Host's semaphores, old and new. The last one triggers the
 * operation. */
static bool is_semaphore(const char *name)
{
	return starts_with(name, "SEM_") || starts_with(name, "SEMAPHORE");
}

static enum sort find_sort(const struct nvs_class *cls, uint32_t method)
{
	struct nvs_method_at at;
	const char *name;
	bool apart;

	if (!cls || !nvs_method_find(cls, method, &at))
		return PLAIN;
	name = nvs_class_string(at.method->name);
	if (starts_with(name, "LOAD_INLINE_") || starts_with(name, "CALL_MME_"))
		return DATA;
	apart = is_apart(cls, at.method, method);
	if (method < HOST_END && is_semaphore(name))
		return !strcmp(name, "SEM_EXECUTE") || !strcmp(name, "SEMAPHORED") ? EXECUTE
		       : apart							   ? SEMAPHORE_APART
										   : SEMAPHORE;
	return apart ? APART : PLAIN;
}

static enum sort get_sort(struct nvs_diff_words *w, const struct nvs_class *cls, uint32_t method)
{
	size_t number = cls ? (size_t)(cls - nvs_classes) : nvs_nclasses;
	uint8_t **of;

	if (!w->sorts)
		w->sorts = calloc(nvs_nclasses + 1, sizeof(*w->sorts));
	of = w->sorts ? w->sorts + number : NULL;
	if (of && !*of)
		*of = calloc(METHODS, 1);
	if (!of || !*of) {
		w->status = -ENOMEM;
		return PLAIN;
	}
	if ((*of)[method / 4 % METHODS] == NOT_MET)
		(*of)[method / 4 % METHODS] = (uint8_t)find_sort(cls, method);
	return (*of)[method / 4 % METHODS];
}

void nvs_diff_words_free(struct nvs_diff_words *w)
{
	for (uint32_t i = 0; w->sorts && i <= nvs_nclasses; i++)
		free(w->sorts[i]);
	free(w->sorts);
	w->sorts = NULL;
}

uint32_t nvs_diff_word_bytes(const struct nvs_diff_word *w)
{
	switch (w->kind) {
	case NVS_DIFF_HEADER:
		return 4;
	case NVS_DIFF_METHOD:
		return w->form == NVS_PB_IMMD ? 0 : 4;
	case NVS_DIFF_DATA:
		return w->form == NVS_PB_IMMD ? 0 : 4 * w->count;
	default:
		return 0;
	}
}

/* ---- comparison ---- */

/* Hashes what is compared. Only launches hash a structure: all other words are too many. */
static void set_id(struct nvs_diff_word *w)
{
	uint64_t form = w->kind == NVS_DIFF_HEADER ? w->form : 0, grid = 0;
	uint64_t what = w->kind | form << 8 | (uint64_t)w->subch << 16 | (uint64_t)w->wait << 24 |
			(uint64_t)w->cls << 32 | (uint64_t)w->method << 48;
	uint64_t value = (w->not_compared ? 0 : w->value) | (uint64_t)w->count << 32;

	if (w->grid) {
		struct nvs_grid judged = *w->grid;

		judged.program = 0;
		grid = nvs_hash64(&judged, sizeof(judged));
	}
	w->id = nvs_hash_mix(what ^ nvs_hash_key[0], nvs_hash_key[1]) ^ grid;
	w->id = nvs_hash_mix(w->id ^ value, nvs_hash_key[1]) ^ nvs_hash_key[0];
}

static void pass_word(struct nvs_diff_words *w, struct nvs_diff_word *word)
{
	int r;

	set_id(word);
	r = w->word(w->arg, word);
	w->status = w->status ? w->status : r;
}

static void pass_held(struct nvs_diff_words *w, bool wait)
{
	for (uint32_t i = 0; i < w->nheld; i++) {
		w->held[i].wait = wait;
		pass_word(w, w->held + i);
	}
	w->nheld = 0;
}

/* Holds a word back while it may belong to an acquire. */
static void hold_word(struct nvs_diff_words *w, const struct nvs_diff_word *word)
{
	if (w->nheld == sizeof(w->held) / sizeof(*w->held))
		pass_held(w, false);
	w->held[w->nheld++] = *word;
}

static bool is_acquire(const struct nvs_class *cls, uint32_t method, uint32_t value)
{
	struct nvs_method_at at;
	const struct nvs_field *f = nvs_method_find(cls, method, &at)
					    ? nvs_field_by_name(at.method, "OPERATION")
					    : NULL;
	const char *name = f ? nvs_value_name(f, nvs_field_get(f, value)) : NULL;

	return name && starts_with(name, "ACQ");
}

/* ---- runs of words ---- */

static void add_header(struct nvs_diff_words *w, const struct nvs_pb_run *run, enum sort first)
{
	struct nvs_diff_word word = {
		.kind = NVS_DIFF_HEADER,
		.form = run->form,
		.subch = run->subch,
		.method = run->method,
		.count = run->total,
	};

	if (run->form == NVS_PB_SET_MASK || run->form == NVS_PB_STORE_MASK)
		word.value = run->count ? run->data[0] : 0;
	if (first >= SEMAPHORE) {
		hold_word(w, &word);
		return;
	}
	pass_held(w, false);
	pass_word(w, &word);
}

static void add_value(struct nvs_diff_words *w, const struct nvs_pb_run *run, uint32_t i,
		      const struct nvs_class *cls, enum sort sort)
{
	uint32_t method = nvs_pb_method(run, i);
	struct nvs_diff_word word = {
		.kind = NVS_DIFF_METHOD,
		.form = run->form,
		.subch = run->subch,
		.execute = sort == EXECUTE,
		.not_compared = sort == APART || sort == SEMAPHORE_APART,
		.cls = cls ? cls->id : 0,
		.method = (uint16_t)method,
		.value = run->data[i],
	};

	if (sort < SEMAPHORE)
		pass_held(w, false);
	else
		hold_word(w, &word);
	if (sort == EXECUTE)
		pass_held(w, is_acquire(cls, method, run->data[i]));
	if (sort < SEMAPHORE)
		pass_word(w, &word);
}

/* Adds one word per header, even if the data come in pieces. */
static void add_data(struct nvs_diff_words *w, const struct nvs_pb_run *run, uint32_t method,
		     const struct nvs_class *cls)
{
	struct nvs_diff_word word = {
		.kind = NVS_DIFF_DATA,
		.form = run->form,
		.subch = run->subch,
		.cls = cls->id,
		.method = (uint16_t)method,
		.count = run->total,
	};

	pass_held(w, false);
	pass_word(w, &word);
}

static bool has_methods(uint8_t form)
{
	return form <= NVS_PB_OLD_NON_INC;
}

int nvs_diff_words_run(struct nvs_diff_words *w, struct nvs_ops_channel *c,
		       const struct nvs_pb_run *run, const struct nvs_class *cls)
{
	bool methods = has_methods(run->form);

	if (!run->index)
		add_header(w, run, methods ? get_sort(w, cls, run->method) : PLAIN);
	for (uint32_t i = 0; methods && i < run->count && !w->status; i++) {
		uint32_t method = nvs_pb_method(run, i);
		const struct nvs_class *of = cls;
		enum sort sort;

		/* A run may start below HOST_END and continue above it. */
		if (method >= HOST_END && run->method < HOST_END)
			of = nvs_ops_class(c, run->subch, NULL);
		sort = get_sort(w, of, method);
		if (sort != DATA)
			add_value(w, run, i, of, sort);
		else if (!run->index && !i)
			add_data(w, run, method, of);
		/* The rest of the run goes to the same method. */
		if (sort == DATA && nvs_pb_method(run, i + 1) == method)
			break;
	}
	return w->status;
}

int nvs_diff_words_op(struct nvs_diff_words *w, const struct nvs_op *op, const struct nvs_qmd *qmd)
{
	struct nvs_diff_word word = {.subch = op->subch, .cls = op->cls};
	struct nvs_grid grid = {0};

	if (op->kind == NVS_OP_LAUNCH) {
		word.kind = NVS_DIFF_LAUNCH;
		if (qmd) {
			memcpy(grid.grid, qmd->grid, sizeof(grid.grid));
			memcpy(grid.block, qmd->block, sizeof(grid.block));
			memcpy(grid.cluster, qmd->cluster, sizeof(grid.cluster));
			grid.registers = qmd->registers;
			grid.shared_bytes = qmd->shared_bytes;
			grid.local_bytes = qmd->local_bytes;
			word.grid = &grid;
		}
	} else if ((op->kind == NVS_OP_COPY || op->kind == NVS_OP_MEMSET) &&
		   op->copy.mode == NVS_COPY_MACRO) {
		word.kind = NVS_DIFF_COPY;
		word.value = op->kind;
		word.count = op->copy.bytes < UINT32_MAX ? (uint32_t)op->copy.bytes : UINT32_MAX;
	} else {
		return 0;
	}
	pass_held(w, false);
	pass_word(w, &word);
	return w->status;
}

int nvs_diff_words_end(struct nvs_diff_words *w)
{
	pass_held(w, false);
	return w->status;
}
