/* SPDX-License-Identifier: MIT */
/*
 * Names that NVTX registers once: each gets a number, by which the program and the trace speak of
 * it. A forked child keeps them, and tells them in a trace of its own.
 */
#include <string.h>
#include "preload/api/nvtx/nvtx.h"
#include "preload/base/preload.h"

#define BYTES (4u << 20)
#define SLOTS (1u << 16)
#define PROBES 64

/* Does not change once it is in a slot. */
struct name {
	uint32_t kind, number, domain, length;
	char text[];
};

static struct {
	_Atomic uint32_t used; /* bytes of data, in eighths */
	_Atomic uint32_t given[NVS_NVTX_STRING + 1]; /* numbers, by kind */
	_Atomic uint32_t slots[SLOTS]; /* place in data + 1 */
	uint64_t data[BYTES / 8];
} names;

static uint32_t hash(const struct name *n, const char *text)
{
	uint32_t h = n->kind * 31 + n->domain;

	if (n->kind == NVS_NVTX_CATEGORY)
		h = h * 31 + n->number;
	for (uint32_t i = 0; i < n->length; i++)
		h = (h ^ (uint8_t)text[i]) * 0x01000193u;
	return (h ^ h >> 15) * 0x9e3779b1u >> 16;
}

static const struct name *at(uint32_t slot)
{
	return (const void *)&names.data[slot - 1];
}

static bool same(const struct name *a, const struct name *b, const char *text)
{
	return a->kind == b->kind && a->domain == b->domain && a->length == b->length &&
	       (a->kind != NVS_NVTX_CATEGORY || a->number == b->number) &&
	       !memcmp(a->text, text, a->length);
}

static void tell(const struct name *n)
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
	nvs_record(&room.rec.rec);
}

/* NULL: no room. */
static struct name *make(const struct name *head, const char *text)
{
	uint32_t eighths = (uint32_t)(sizeof(*head) + head->length + 7) / 8;
	uint32_t place = atomic_load(&names.used);
	struct name *n;

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

/* Told first: whoever finds it in its slot may use it at once. */
static bool publish(struct name *n, _Atomic uint32_t *slot, uint32_t *have)
{
	uint32_t place = (uint32_t)((uint64_t *)(void *)n - names.data) + 1;
	bool told = nvs_nvtx_live();

	if (told)
		tell(n);
	if (!atomic_compare_exchange_strong(slot, have, place))
		return false;
	/* The trace began meanwhile, and may have gone past this slot. */
	if (!told && nvs_nvtx_live())
		tell(n);
	return true;
}

uint32_t nvs_nvtx_name(enum nvs_nvtx_name_kind kind, uint32_t number, uint32_t domain,
		       const char *text, uint32_t length)
{
	struct name head = {kind, number, domain, length}, *own = NULL;
	uint32_t first = hash(&head, text);

	for (uint32_t i = 0; i < PROBES; i++) {
		_Atomic uint32_t *slot = &names.slots[(first + i) % SLOTS];
		uint32_t have = atomic_load_explicit(slot, memory_order_acquire);

		if (!have && !own && !(own = make(&head, text)))
			return 0;
		if (!have && publish(own, slot, &have))
			return own->number;
		if (same(at(have), &head, text))
			return at(have)->number;
	}
	return 0;
}

bool nvs_nvtx_is(enum nvs_nvtx_name_kind kind, uint64_t number)
{
	return number && number <= atomic_load_explicit(&names.given[kind], memory_order_relaxed);
}

void nvs_nvtx_tell_all(void)
{
	if (!atomic_load(&names.used))
		return;
	for (uint32_t i = 0; i < SLOTS; i++) {
		uint32_t have = atomic_load_explicit(&names.slots[i], memory_order_acquire);

		if (have)
			tell(at(have));
	}
}
