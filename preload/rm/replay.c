/* SPDX-License-Identifier: MIT */
/*
 * The tables' beginning and end: what was learned before the session is told when it starts, and
 * what is still alive when it ends.
 */
#include <time.h>
#include "preload/base/sys.h"
#include "preload/rm/rm.h"
#include "preload/signals/signals.h"

/* ---- calls that passed untouched ---- */

static void tell_unknown(const struct nvs_rm *rm)
{
	for (uint32_t i = 0; i < rm->unknown_n; i++) {
		const struct nvs_unknown *u = &rm->unknown[i];
		struct nvs_rec_ioctl r = {
			.rec = {.type = NVS_REC_IOCTL, .size = sizeof(r)},
			.device = u->device,
			.number = u->number,
			.bytes = u->bytes,
			.count = u->count,
		};

		nvs_record(&r.rec);
	}
}

/* ---- beginning ---- */

static void replay_maps(struct nvs_rm *rm)
{
	for (uint32_t i = 0; i < rm->cpu.n; i++)
		nvs_tell_cpu_map((struct nvs_cpu_map *)rm->cpu.at[i]);
	for (uint32_t i = 0; i < rm->gpu.n; i++)
		nvs_tell_gpu_map((struct nvs_gpu_map *)rm->gpu.at[i]);
}

void nvs_rm_replay(void)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_channel_entry *c;
	struct nvs_object *o, *next;
	sigset_t saved;

	if (!rm)
		return;
	nvs_lock(&saved);
	nvs_rm_remark_release();
	rm->live = true;
	rm->dirty = rm->segs_dirty = true;
	rm->handles_faults = !nvs_signals_install();
	nvs_maps_arm_all();
	for (uint32_t i = 0; i < NVS_MAX_GPUS; i++)
		if (rm->gpus[i].seen)
			nvs_tell_gpu(i);
	HASH_ITER(hh, rm->objects, o, next)
		nvs_tell_object(o);
	replay_maps(rm);
	DL_FOREACH(rm->channels, c)
	{
		if (!c->slot)
			c->slot = nvs_session_channel_slot(c->number);
		nvs_tell_channel(c);
	}
	for (uint32_t i = 0; i < rm->nremarks; i++)
		nvs_record(&rm->remarks[i].rec);
	nvs_publish();
	nvs_unlock(&saved);
}

/* ---- end ---- */

static bool settled(struct nvs_channel_entry *c)
{
	bool rings = c->slot && !(c->flags & NVS_CHAN_NO_DOORBELL);

	nvs_channel_read_put(c);
	return !rings || !c->put_read ||
	       c->final_put == (c->final_claim & ((1u << NVS_PUT_BITS) - 1));
}

/*
 * Another thread may be between its store of GP_PUT and its doorbell. It is given a moment to ring;
 * what it has put is taken without it then, since nobody can tell whether it rings before the
 * process is gone, and whether the GPU looks.
 */
static void settle(struct nvs_channel_entry *c)
{
	struct timespec nap = {0, 200000};

	/* A call in transit may have taken its memory by now; what there was to be read has been.
	 */
	if (c->hidden && c->put_taken)
		return;
	for (int i = 0; i < 50; i++) {
		if (settled(c))
			return;
		nvs_sys(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
	}
	/* With a shadow GP_PUT waits for none but a doorbell that is under way. */
	for (int i = 0; i < 50 && !settled(c); i++)
		c->shadow ? nvs_quiesce() : nvs_channel_rest(c->number);
}

void nvs_rm_final_records(bool look_at_maps)
{
	struct nvs_rm *rm = nvs_rm();
	struct nvs_channel_entry *c;
	sigset_t saved;

	if (!rm || !rm->live)
		return;
	nvs_lock(&saved);
	nvs_rm_timing_clocks();
	DL_FOREACH(rm->channels, c)
	{
		settle(c);
		nvs_timing_tell(c);
		nvs_tell_channel_gone(c, NVS_CHAN_GONE_AT_EXIT);
	}
	/* While a mapping is on its way out, the kernel's list may be held up with it. */
	if (look_at_maps && !atomic_load(&rm->remapping))
		nvs_maps_check();
	tell_unknown(rm);
	nvs_unlock(&saved);
}
