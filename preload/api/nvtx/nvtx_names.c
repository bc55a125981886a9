/* SPDX-License-Identifier: MIT */
/* Names that NVTX registers once. Each gets a number, which the program and the trace use. A forked
 * child keeps them and records them in its own trace. */
#include <string.h>
#include "preload/api/nvtx/nvtx.h"
#include "preload/base/preload.h"

#define BYTES (4u << 20)
#define SLOTS (1u << 16)
#define PROBES 64

/* Immutable once it is in a slot. */
struct nvtx_name {
	uint32_t kind, number, domain, length;
	char text[];
};

static struct {
	_Atomic uint32_t used; /* of data, in units of 8 bytes */
	_Atomic uint32_t given[NVS_NVTX_STRING + 1]; /* numbers assigned, by kind */
	_Atomic uint32_t slots[SLOTS]; /* index in data + 1 */
	uint64_t data[BYTES / 8];
} names;

static uint32_t hash_name(const struct nvtx_name *n, const char *text)
{
	uint32_t h = n->kind * 31 + n->domain;

	if (n->kind == NVS_NVTX_CATEGORY)
		h = h * 31 + n->number;
	for (uint32_t i = 0; i < n->length; i++)
		h = (h ^ (uint8_t)text[i]) * 0x01000193u;
	return (h ^ h >> 15) * 0x9e3779b1u >> 16;
}

static const struct nvtx_name *name_at(uint32_t slot)
{
	return (const void *)&names.data[slot - 1];
}

static bool is_same_name(const struct nvtx_name *a, const struct nvtx_name *b, const char *text)
{
	return a->kind == b->kind && a->domain == b->domain && a->length == b->length &&
	       (a->kind != NVS_NVTX_CATEGORY || a->number == b->number) &&
	       !memcmp(a->text, text, a->length);
}

static void record_name(const struct nvtx_name *n)
{
	struct {
		struct nvs_rec_nvtx_name rec;
		char text[NVS_NVTX_TEXT + 8];
	} room = {.rec = {
			  .kind = n->kind,
			  .number = n->number,
			  .domain = n->domain,
			  .length = n->length,
		  }};

	memcpy(room.text, n->text, n->length);
	room.rec.rec.type = NVS_REC_NVTX_NAME;
	room.rec.rec.size = (uint32_t)(sizeof(room.rec) + n->length + 7) & ~7u;
	nvs_record_write(&room.rec.rec);
}

/* Returns NULL if the table is full. */
static struct nvtx_name *add_name(const struct nvtx_name *head, const char *text)
{
	uint32_t eighths = (uint32_t)(sizeof(*head) + head->length + 7) / 8;
	uint32_t place = atomic_load(&names.used);
	struct nvtx_name *n;

	if (place + eighths > BYTES / 8)
		return NULL;
	place = atomic_fetch_add(&names.used, eighths);
	if (place + eighths > BYTES / 8)
		return NULL;
	n = (void *)&names.data[place];
	*n = *head;
	if (n->kind != NVS_NVTX_CATEGORY)
		n->number = atomic_fetch_add(&names.given[n->kind], 1) + 1;
	memcpy(n->text, text, n->length);
	return n;
}

/* The record is written before the name enters its slot: another thread may use it at once. */
static bool publish_name(struct nvtx_name *n, _Atomic uint32_t *slot, uint32_t *have)
{
	uint32_t place = (uint32_t)((uint64_t *)(void *)n - names.data) + 1;
	bool written = nvs_nvtx_live();

	if (written)
		record_name(n);
	if (!atomic_compare_exchange_strong(slot, have, place))
		return false;
	/* The session started meanwhile and may have passed this slot already. */
	if (!written && nvs_nvtx_live())
		record_name(n);
	return true;
}

uint32_t nvs_nvtx_name(enum nvs_nvtx_name_kind kind, uint32_t number, uint32_t domain,
		       const char *text, uint32_t length)
{
	struct nvtx_name head = {kind, number, domain, length}, *own = NULL;
	uint32_t first = hash_name(&head, text);

	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uint32_t *slot = &names.slots[(first + i) % SLOTS];
		uint32_t have = atomic_load_explicit(slot, memory_order_acquire);

		if (!have && !own && !(own = add_name(&head, text)))
			return 0;
		if (!have && publish_name(own, slot, &have))
			return own->number;
		if (is_same_name(name_at(have), &head, text))
			return name_at(have)->number;
	}
	return 0;
}

bool nvs_nvtx_is_assigned(enum nvs_nvtx_name_kind kind, uint64_t number)
{
	return number && number <= atomic_load_explicit(&names.given[kind], memory_order_relaxed);
}

void nvs_nvtx_record_names(void)
{
	if (!atomic_load(&names.used))
		return;
	for (uint32_t i = 0; i < SLOTS; i++) {
		uint32_t have = atomic_load_explicit(&names.slots[i], memory_order_acquire);

		if (have)
			record_name(name_at(have));
	}
}
