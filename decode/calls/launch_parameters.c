/* SPDX-License-Identifier: MIT */
/* Parameters of launches from uploads to constant bank 0. See launch_parameters.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/calls/launch_parameters.h"
#include "decode/gpu/qmd.h"

#define MAX_PIECES 64u /* uploads that the parameters of one launch are made of */

struct bank_upload {
	uint64_t address; /* its key */
	uint64_t order;
	uint32_t bytes;
};

/* Offsets that libcuda 525 to 580 and ptxas (attribute PARAM_CBANK) use, by the first compute class
 * of a generation. */
static const struct {
	uint32_t first, base;
} bases[] = {
	{0xcdc0, 0x380}, /* Blackwell */
	{0xcbc0, 0x210}, /* Hopper */
	{0xc3c0, 0x160}, /* Volta, Turing, Ampere, Ada */
	{0xb0c0, 0x140}, /* Maxwell, Pascal */
};

uint32_t nvs_parameters_base(uint32_t compute_class)
{
	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++)
		if (compute_class >= bases[i].first)
			return bases[i].base;
	return 0;
}

/* Banks are aligned to 64 bytes, and the parameters of all generations to 16. */
int nvs_parameters_op(struct nvs_parameters *p, const struct nvs_op *op)
{
	struct bank_upload *u;

	if ((op->kind != NVS_OP_UPLOAD && op->kind != NVS_OP_COPY) ||
	    op->copy.mode != NVS_COPY_INLINE || op->copy.lines != 1 || op->copy.dst % 4 ||
	    op->copy.bytes > NVS_MAX_PARAMETERS)
		return 0;
	if (!p->uploads.size)
		p->uploads = NVS_ROWS(struct bank_upload, address);
	u = nvs_rows_find(&p->uploads, &op->copy.dst);
	if (!u && nvs_budget_allows(sizeof(*u)))
		u = nvs_rows_at(&p->uploads, &op->copy.dst);
	if (!u)
		return 0;
	u->order = ++p->count;
	u->bytes = (uint32_t)op->copy.bytes;
	return 0;
}

/* Returns the bytes uploaded from BASE in BANK on. Uploads older than that of the bank's first
 * words belong to an earlier launch in the same place. */
static uint32_t find_size(const struct nvs_parameters *p, uint64_t bank, uint32_t base,
			  uint32_t bank_bytes)
{
	const struct bank_upload *head = nvs_rows_find(&p->uploads, &bank), *u = head;
	uint64_t at = bank + base, end = bank + bank_bytes;

	if (head && head->bytes > base)
		at = bank + head->bytes;
	for (uint32_t i = 0; i < MAX_PIECES && at < end; i++) {
		u = nvs_rows_find(&p->uploads, &at);
		if (!u || !u->bytes || (head && u->order < head->order))
			break;
		at += u->bytes;
	}
	at = at < end ? at : end;
	return at - bank - base < NVS_MAX_PARAMETERS ? (uint32_t)(at - bank - base)
						     : NVS_MAX_PARAMETERS;
}

bool nvs_parameters_find(struct nvs_parameters *p, const struct nvs_pass *pass,
			 const struct nvs_op *op, struct nvs_launch_parameters *of)
{
	const struct nvs_qmd *qmd = nvs_pass_qmd(pass, op);
	const struct nvs_qmd_bank *bank = qmd ? qmd->banks : NULL;
	uint32_t base = nvs_parameters_base(op->cls);

	*of = (struct nvs_launch_parameters){.bytes = p->bytes, .base = base};
	if (!bank || !base || bank->bytes <= base || !p->uploads.size ||
	    bank->address + bank->bytes < bank->address)
		return false;
	of->bank = bank->address;
	of->size = find_size(p, bank->address, base, bank->bytes);
	if (!of->size)
		return nvs_rows_find(&p->uploads, &bank->address);
	return nvs_pass_read_memory(pass, bank->address + base, p->bytes, of->size);
}

void nvs_parameters_free(struct nvs_parameters *p)
{
	nvs_rows_free(&p->uploads, NULL);
}

/* ---- by call ---- */

struct thread_parameters {
	uint64_t call, bank;
	uint32_t size, base, room;
	bool known;
	uint8_t *bytes;
};

int nvs_call_parameters_note(struct nvs_call_parameters *c, uint32_t thread, uint64_t call,
			     const struct nvs_launch_parameters *of)
{
	struct thread_parameters *t = nvs_number_make(&c->threads, thread, sizeof(*t));

	if (!t)
		return thread < NVS_MAX_NUMBER ? -ENOMEM : 0;
	if (!t->bytes || t->room < of->size) {
		uint8_t *more = realloc(t->bytes, of->size + 1); /* never NULL */

		if (!more)
			return -ENOMEM;
		t->bytes = more;
		t->room = of->size;
	}
	if (of->size)
		memcpy(t->bytes, of->bytes, of->size);
	t->call = call;
	t->bank = of->bank;
	t->size = of->size;
	t->base = of->base;
	t->known = true;
	return 0;
}

bool nvs_call_parameters_find(const struct nvs_call_parameters *c, const struct nvs_call *call,
			      struct nvs_launch_parameters *of)
{
	const struct thread_parameters *t = nvs_number_get(&c->threads, call->thread);

	if (!t || !t->known || t->call != call->number)
		return false;
	*of = (struct nvs_launch_parameters){t->bytes, t->size, t->base, t->bank};
	return true;
}

static void free_thread(void *item)
{
	free(((struct thread_parameters *)item)->bytes);
	free(item);
}

void nvs_call_parameters_free(struct nvs_call_parameters *c)
{
	nvs_numbers_free(&c->threads, free_thread);
}
