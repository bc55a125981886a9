/* SPDX-License-Identifier: MIT */
/* Start and end of a session: writes the state known so far into the trace when a session starts,
 * and the final records of everything still alive when it ends. */
#include <time.h>
#include "preload/base/sys.h"
#include "preload/rm/rm.h"
#include "preload/signals/signals.h"

/* ---- calls not decoded ---- */

static void record_unknown_calls(const struct nvs_rm *rm)
{
	for (uint32_t i = 0; i < rm->unknown_n; i++) {
		const struct nvs_unknown_ioctl *u = &rm->unknown[i];
		struct nvs_rec_ioctl r = {
			.rec = {.type = NVS_REC_IOCTL, .size = sizeof(r)},
			.device = u->device,
			.number = u->number,
			.bytes = u->bytes,
			.count = u->count,
		};

		nvs_record_write(&r.rec);
	}
}

/* ---- session start ---- */

static void replay_maps(struct nvs_rm *rm)
{
	for (uint32_t i = 0; i < rm->cpu.n; i++)
		nvs_record_cpu_map((struct nvs_cpu_map *)rm->cpu.at[i]);
	for (uint32_t i = 0; i < rm->gpu.n; i++)
		nvs_record_gpu_map((struct nvs_gpu_map *)rm->gpu.at[i]);
}

void nvs_rm_replay(void)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_channel_entry *c;
	struct nvs_driver_object *o, *next;

	if (!rm)
		return;
	NVS_LOCK_SCOPE();
	nvs_rm_check_release();
	rm->live = true;
	rm->dirty = rm->segs_dirty = true;
	rm->handles_faults = !nvs_signals_install();
	nvs_doorbells_enable_all();
	for (uint32_t i = 0; i < NVS_MAX_GPUS; i++)
		if (rm->gpus[i].seen)
			nvs_record_gpu(i);
	HASH_ITER(hh, rm->objects, o, next)
		nvs_record_object(o);
	replay_maps(rm);
	DL_FOREACH(rm->channels, c)
	{
		if (!c->slot)
			c->slot = nvs_session_channel_slot(c->number);
		nvs_record_channel(c);
	}
	for (uint32_t i = 0; i < rm->nremarks; i++)
		nvs_record_write(&rm->remarks[i].r.rec);
	nvs_publish_view();
}

/* ---- recording windows on demand ---- */

/* Submissions go on, without being recorded. Those up to the claims read here are in the channels'
 * runs when this returns. */
static void read_claims(struct nvs_rm *rm)
{
	struct nvs_channel_entry *c;

	DL_FOREACH(rm->channels, c)
	c->window_claim = c->slot ? atomic_load((_Atomic uint64_t *)&c->slot->claim) : 0;
	nvs_wait_for_traps();
}

static uint32_t put_of(uint64_t claim)
{
	return (uint32_t)(claim & ((1u << NVS_PUT_BITS) - 1));
}

void nvs_rm_begin_chains(void)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_channel_entry *c;

	if (!rm || !rm->live)
		return;
	NVS_LOCK_SCOPE();
	read_claims(rm);
	DL_FOREACH(rm->channels, c)
	{
		struct nvs_rec_gap gap = {
			.rec = {NVS_REC_GAP, NVS_GAP_NOT_KEPT, sizeof(gap), 0},
			.thread = NVS_NONE,
			.channel = c->number,
			.reason = NVS_GAP_CHOICE,
			.entry = NVS_NONE,
			.submissions = c->window_claim >> NVS_PUT_BITS,
			.new_put = put_of(c->window_claim),
		};

		if (c->slot)
			nvs_channel_record_lost(c->slot);
		if (gap.submissions)
			nvs_record_write(&gap.rec);
	}
}

void nvs_rm_end_chains(void)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_channel_entry *c;

	if (!rm || !rm->live)
		return;
	NVS_LOCK_SCOPE();
	read_claims(rm);
	DL_FOREACH(rm->channels, c)
	{
		struct nvs_rec_channel_gone gone = {
			.rec = {NVS_REC_CHANNEL_GONE, NVS_CHAN_GONE_AT_EXIT | NVS_CHAN_GONE_WINDOW,
				sizeof(gone), 0},
			.channel = c->number,
			.final_put = put_of(c->window_claim),
			.last_put = put_of(c->window_claim),
			.submissions = c->window_claim >> NVS_PUT_BITS,
		};

		if (c->slot)
			nvs_channel_record_lost(c->slot);
		nvs_record_write(&gone.rec);
	}
	record_unknown_calls(rm);
}

/* ---- session end ---- */

static bool is_settled(struct nvs_channel_entry *c)
{
	bool rings = c->slot && !(c->flags & NVS_CHAN_NO_DOORBELL);

	nvs_channel_read_put(c);
	return !rings || !c->final_put_valid ||
	       c->final_put == (c->final_claim & ((1u << NVS_PUT_BITS) - 1));
}

/*
 * Another thread may be between its store to GP_PUT and its doorbell store. It gets a moment to
 * ring; then its entries are captured without the doorbell, since it is unknown whether the process
 * still rings before it exits and whether the GPU fetches them.
 */
static void finish_channel(struct nvs_channel_entry *c)
{
	/* A call in progress may have freed the channel's memory; the last GP_PUT was read before.
	 *  */
	if (c->hidden && c->final_put_read)
		return;
	for (int i = 0; i < 50; i++) {
		if (is_settled(c))
			return;
		nvs_sleep(200000);
	}
	/* With a shadow, entries beyond the last doorbell never reach the GPU: only wait for
	 * doorbells in progress. */
	for (int i = 0; i < 50 && !is_settled(c); i++)
		c->shadow ? nvs_wait_for_traps() : nvs_capture_unrung(c->number);
}

void nvs_rm_final_records(bool look_at_maps)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_channel_entry *c;

	if (!rm || !rm->live)
		return;
	NVS_LOCK_SCOPE();
	nvs_rm_timing_read_clocks();
	DL_FOREACH(rm->channels, c)
	{
		finish_channel(c);
		nvs_timing_record_untimed(c);
		nvs_record_channel_freed(c, NVS_CHAN_GONE_AT_EXIT);
	}
	/* A call that is changing mappings may hold the kernel's lock on them, and reading the list
	 * would wait for it. */
	if (look_at_maps && !atomic_load(&rm->remapping))
		nvs_maps_check();
	record_unknown_calls(rm);
}
