/* SPDX-License-Identifier: MIT */
/* Parameters of launches from uploads to constant bank 0. See launch_parameters.h. */
#include <errno.h>
#include <string.h>
#include "decode/analysis/launch_parameters.h"
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

bool nvs_parameters_next(const struct nvs_launch_parameters *of,
			 const struct nvs_memory_ranges *ranges, struct nvs_parameter_word *w)
{
	for (uint32_t at = w->next; at + 8 <= of->size; at += 4) {
		uint64_t value;
		const struct nvs_memory_range *range;

		memcpy(&value, of->bytes + at, sizeof(value));
		range = nvs_memory_range_at(ranges, value);
		if (!range)
			continue;
		*w = (struct nvs_parameter_word){at, value, range, value - range->address, at + 8};
		return true;
	}
	return false;
}

bool nvs_kernel_parameter(const struct nvs_cubin *cubin, const struct nvs_cubin_function *function,
			  uint32_t n, struct nvs_kernel_parameter *parameter)
{
	struct nvs_cubin_section info;
	struct nvs_cubin_attribute a;
	size_t at = 0;

	if (!function->info || !nvs_cubin_section(cubin, function->info, &info))
		return false;
	while (nvs_cubin_attribute(&info, &at, &a)) {
		uint32_t words[3]; /* index; number | offset << 16; flags | size << 18 */

		if (a.code != NVS_ATTR_KPARAM_INFO || a.size < sizeof(words) || n--)
			continue;
		memcpy(words, a.value, sizeof(words));
		*parameter = (struct nvs_kernel_parameter){words[1] & 0xffff, words[1] >> 16,
							   words[2] >> 18};
		return true;
	}
	return false;
}
