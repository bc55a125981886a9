/* SPDX-License-Identifier: MIT */
/* Functions of the software GPU that drivers and tests look up by name, see softgpu.h. */
#include "gpu.h"
#include "../softgpu.h"

#define EXPORT __attribute__((visibility("default")))

static struct sg_channel *channel(uint32_t client, uint32_t handle)
{
	struct sg_object *o = sg_object_find(client, handle);

	return o ? o->channel : NULL;
}

EXPORT uint32_t softgpu_channel_serial(uint32_t client, uint32_t handle)
{
	struct sg_channel *ch;
	uint32_t serial;

	pthread_mutex_lock(&sg_lock);
	ch = channel(client, handle);
	serial = ch ? ch->serial : SG_NO_GPU;
	pthread_mutex_unlock(&sg_lock);
	return serial;
}

EXPORT uint32_t *softgpu_channel_rung(uint32_t client, uint32_t handle)
{
	struct sg_channel *ch;

	pthread_mutex_lock(&sg_lock);
	ch = channel(client, handle);
	if (ch && ch->rung == SG_NO_GPU)
		ch->rung = 0;
	pthread_mutex_unlock(&sg_lock);
	return ch ? &ch->rung : NULL;
}

EXPORT uint32_t softgpu_channel_bells(uint32_t client, uint32_t handle)
{
	struct sg_channel *ch;
	uint32_t n;

	pthread_mutex_lock(&sg_lock);
	ch = channel(client, handle);
	n = ch ? __atomic_load_n(&ch->bells, __ATOMIC_RELAXED) : 0;
	pthread_mutex_unlock(&sg_lock);
	return n;
}

EXPORT uint64_t softgpu_channel_fetches(uint32_t client, uint32_t handle)
{
	struct sg_channel *ch;
	uint64_t n;

	pthread_mutex_lock(&sg_lock);
	ch = channel(client, handle);
	n = ch ? __atomic_load_n(&ch->fetches, __ATOMIC_RELAXED) : 0;
	pthread_mutex_unlock(&sg_lock);
	return n;
}

EXPORT void softgpu_kick(uint32_t gpu)
{
	struct sg_gpu *g = &sg_gpus[gpu < SG_MAX_GPUS ? gpu : 0];

	__atomic_store_n(&g->kick, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&g->asleep, __ATOMIC_SEQ_CST))
		sg_futex_wake(&g->kick);
}
