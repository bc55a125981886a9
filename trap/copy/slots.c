/* SPDX-License-Identifier: MIT */
/* Timestamp slots, which the GPU writes, and how the end of a submission is measured. */
#include "trap/copy/slots.h"
#include "submit/commands.h"
#include "trap/buffer/process.h"
#include "trap/low/guard.h"
#include "trap/low/poison.h"

enum { SLOT_FREE, SLOT_USED, SLOT_READING };

/* ---- slots ---- */

static bool is_there(const struct nvs_gpfifo_timing *t, const struct nvs_timing_use *use,
		     struct nvs_rec_gpu_time *rec)
{
	const struct nvs_timing_slot *slot = &t->slots[use - t->uses];
	const struct nvs_timing_stamp *last = &slot->stamp[use->stamps - 1];

	if (__atomic_load_n(&last->payload, __ATOMIC_ACQUIRE) != use->payload ||
	    __atomic_load_n(&slot->stamp[0].payload, __ATOMIC_ACQUIRE) != use->payload)
		return false;
	*rec = (struct nvs_rec_gpu_time){
		.rec = {.type = NVS_REC_GPU_TIME, .size = sizeof(*rec)},
		.channel = t->channel,
		.kind = use->kind,
		.sequence = use->sequence,
		.begin = slot->stamp[0].ns,
		.end = use->stamps > 1 ? slot->stamp[1].ns : 0,
		.every = use->every,
	};
	return true;
}

static bool is_read(struct nvs_buffer *buffer, const struct nvs_rec_gpu_time *rec)
{
	struct nvs_rec_gpu_time *to;

	if (atomic_load(&nvs_writer_signal.ended))
		return true; /* records are no longer accepted */
	to = buffer ? nvs_buffer_reserve(buffer, sizeof(*to), false) : NULL;
	if (!to)
		return false;
	*to = *rec;
	to->rec.time = nvs_clock_now(); /* the time must not be before that of its submission */
	nvs_buffer_commit(buffer, sizeof(*to));
	return true;
}

struct nvs_timing_use *nvs_timing_claim_slot(struct nvs_gpfifo_timing *t, struct nvs_buffer *buffer)
{
	struct nvs_timing_use *use = &t->uses[t->next % NVS_TIMING_SLOTS];
	uint32_t state = atomic_load(&use->state);
	struct nvs_rec_gpu_time rec;

	t->next++;
	/* The sink's times are read by preload. */
	if (t->sink && state != SLOT_FREE)
		return NULL;
	/* The GPU wrote this slot long ago: prefetch it for the next submission. */
	__builtin_prefetch(&t->slots[t->next % NVS_TIMING_SLOTS].stamp);
	__builtin_prefetch(&t->slots[t->next % NVS_TIMING_SLOTS].words, 1);
	if (state == SLOT_FREE)
		return use;
	if (state != SLOT_USED ||
	    !atomic_compare_exchange_strong(&use->state, &state, SLOT_READING))
		return state == SLOT_FREE ? use : NULL;
	if (is_there(t, use, &rec) && is_read(buffer, &rec))
		return use;
	atomic_store(&use->state, SLOT_USED);
	return NULL;
}

static uint64_t stamp_address(const struct nvs_gpfifo_timing *t, const struct nvs_timing_use *use,
			      uint32_t which)
{
	return t->address + (uint64_t)(use - t->uses) * sizeof(struct nvs_timing_slot) +
	       offsetof(struct nvs_timing_slot, stamp) + which * sizeof(struct nvs_timing_stamp);
}

void nvs_timing_write_slot(struct nvs_gpfifo_timing *t, struct nvs_timing_use *use,
			   uint64_t sequence, uint32_t kind, enum nvs_timing_end end)
{
	struct nvs_timing_slot *slot = &t->slots[use - t->uses];
	uint32_t execute, *w;

	execute = NVS_SEM_RELEASE | NVS_SEM_RELEASE_TIMESTAMP |
		  (t->kind == NVS_TIMING_WORK && t->finite ? NVS_SEM_RELEASE_WFI : 0);
	t->payload = t->payload + 1 ? t->payload + 1 : 1;
	nvs_put_host_semaphore(slot->words[0], stamp_address(t, use, 0), t->payload, execute);
	if (end == NVS_END_ENGINE) {
		w = nvs_put_compute_semaphore(slot->words[1], stamp_address(t, use, 1), t->payload);
		*w = NVS_HOST_NOP;
	} else if (end == NVS_END_IDLE || end == NVS_END_NOTHING) {
		nvs_put_host_semaphore(slot->words[1], stamp_address(t, use, 1), t->payload,
				       execute);
	}
	use->payload = t->payload;
	use->kind = kind;
	use->stamps = end == NVS_END_UNKNOWN ? 1 : 2;
	use->sequence = sequence;
	use->every = use->key = 0;
	use->skipped = false;
	atomic_store(&use->state, SLOT_USED);
}

/* Returns false if the record has no space now. */
static bool deliver_time(struct nvs_gpfifo_timing *t, const struct nvs_timing_use *use,
			 struct nvs_rec_gpu_time *rec)
{
	bool recorded = !t->sink || (nvs_level() != NVS_LEVEL_NONE && !use->skipped);

	if (recorded && !atomic_load(&nvs_writer_signal.ended) && nvs_record_write(&rec->rec))
		return false;
	if (t->sink)
		t->sink->take(t->sink, rec, use->key, use->every && use->every != NVS_NOT_DRAWN);
	return true;
}

uint32_t nvs_gpu_times_collect(struct nvs_gpfifo_timing *t)
{
	uint32_t left = 0;

	for (uint32_t i = 0; t->slots && i < NVS_TIMING_SLOTS; i++) {
		struct nvs_timing_use *use = &t->uses[i];
		uint32_t state = SLOT_USED;
		struct nvs_rec_gpu_time rec;

		if (atomic_load(&use->state) == SLOT_FREE)
			continue;
		left++;
		if (!atomic_compare_exchange_strong(&use->state, &state, SLOT_READING))
			continue;
		if (!is_there(t, use, &rec) || !deliver_time(t, use, &rec)) {
			atomic_store(&use->state, SLOT_USED);
			continue;
		}
		left--;
		atomic_store(&use->state, SLOT_FREE);
	}
	return left;
}

/* ---- the end of a submission ---- */

/* Of a descriptor of version 04_00: RELEASE#_ENABLE and its fields are in 16 bits each,
 * RELEASE_SEMAPHORE# in four words. */
#define QMD_VERSION 18u
#define QMD_RELEASES 10u
#define QMD_SECOND_ENABLE (1u << 16) /* a release of four words, including the time */
#define QMD_SECOND 24u

uint64_t nvs_timing_launch_of(const struct nvs_stream_launch *l)
{
	if (l->unknown)
		return NVS_TIMING_NOT_KNOWN;
	return l->grid	    ? (uintptr_t)l->grid
	       : l->reports ? NVS_TIMING_ENGINE_ONLY
			    : NVS_TIMING_NOT_KNOWN;
}

enum nvs_timing_end nvs_timing_end_of(const struct nvs_gpfifo_timing *t, uint64_t launch)
{
	const uint32_t *qmd = (const uint32_t *)(uintptr_t)launch;
	uint32_t version, releases, lo, hi;

	if (t->kind != NVS_TIMING_WORK)
		return NVS_END_UNKNOWN;
	if (t->finite)
		return NVS_END_IDLE;
	if (launch <= NVS_TIMING_ENGINE_ONLY)
		return launch == NVS_TIMING_ENGINE_ONLY ? NVS_END_ENGINE : NVS_END_UNKNOWN;
	/* The descriptor was seen some time ago and may have changed. */
	if (!nvs_load32_guarded(qmd + QMD_VERSION, &version) ||
	    (version & 0xff) != NVS_WALK_QMD_VERSION ||
	    !nvs_load32_guarded(qmd + QMD_RELEASES, &releases) ||
	    !nvs_load32_guarded(qmd + QMD_SECOND, &lo) ||
	    !nvs_load32_guarded(qmd + QMD_SECOND + 1, &hi))
		return NVS_END_UNKNOWN;
	/* The release is in use already, unless we set it before the program rewrote this
	 * descriptor. */
	if (releases >> 16 && (releases >> 16 != QMD_SECOND_ENABLE >> 16 ||
			       ((uint64_t)hi << 32 | lo) - t->address >= NVS_TIMING_BYTES))
		return NVS_END_UNKNOWN;
	return NVS_END_GRID;
}

bool nvs_timing_set_grid_release(const struct nvs_gpfifo_timing *t,
				 const struct nvs_timing_use *use, uint64_t launch)
{
	uint32_t *qmd = (uint32_t *)(uintptr_t)launch, releases;
	uint64_t at = stamp_address(t, use, 1);
	uint32_t second[4] = {(uint32_t)at, (uint32_t)(at >> 32), use->payload, 0};

	if (!nvs_load32_guarded(qmd + QMD_RELEASES, &releases) ||
	    nvs_copy_guarded(qmd + QMD_SECOND, second, sizeof(second)))
		return false;
	releases |= QMD_SECOND_ENABLE;
	return !nvs_copy_guarded(qmd + QMD_RELEASES, &releases, sizeof(releases));
}
