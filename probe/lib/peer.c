/* SPDX-License-Identifier: MIT */
/* Finds another GPU, allocates memory there, and accesses it through that GPU's own context. */
#include "probe/lib/peer.h"
#include <stdio.h>

static bool find_peer(struct probe_peer *p, const struct probe_session *s)
{
	int n = 0, can;

	if (!cu.cuDeviceGetCount || !cu.cuDeviceCanAccessPeer || !cu.cuCtxEnablePeerAccess ||
	    !cu.cuCtxDisablePeerAccess) {
		snprintf(p->why, sizeof(p->why), "the driver lacks the calls for it");
		return false;
	}
	if (cu.cuDeviceGetCount(&n) || n < 2) {
		snprintf(p->why, sizeof(p->why), "CUDA reports only one GPU");
		return false;
	}
	for (int i = 0; i < n; i++)
		if (!cu.cuDeviceGet(&p->device, i) && p->device != s->device &&
		    !cu.cuDeviceCanAccessPeer(&can, s->device, p->device) && can)
			return true;
	snprintf(p->why, sizeof(p->why), "GPU %d cannot access the memory of another GPU",
		 s->device);
	return false;
}

static bool check_call(struct probe_peer *p, int error, const char *call)
{
	if (error)
		snprintf(p->why, sizeof(p->why), "with GPU %d, %s: %s", p->device, call,
			 probe_error_name(error));
	return !error;
}

static bool allocate_on_peer(struct probe_peer *p, struct probe_memory *m, size_t size)
{
	*m = (struct probe_memory){.size = size, .place = PROBE_PEER};
	return check_call(p, cu.cuMemAlloc_v2(&m->gpu, size), "cuMemAlloc");
}

/* Leaves at least half of the free memory to other users of that GPU. */
static bool has_memory(struct probe_peer *p, size_t size)
{
	size_t left, all;

	if (!cu.cuMemGetInfo_v2 || cu.cuMemGetInfo_v2(&left, &all) || size <= left / 4)
		return true;
	snprintf(p->why, sizeof(p->why), "GPU %d has %zu MiB free, not enough for 2 x %zu MiB",
		 p->device, left >> 20, size >> 20);
	return false;
}

static bool open_peer(struct probe_peer *p, const struct probe_session *s, size_t size)
{
	void *context;

	if (!check_call(p, cu.cuDevicePrimaryCtxRetain(&context, p->device),
			"cuDevicePrimaryCtxRetain"))
		return false;
	p->context = context;
	return check_call(p, cu.cuCtxSetCurrent(s->context), "cuCtxSetCurrent") &&
	       check_call(p, cu.cuCtxEnablePeerAccess(p->context, 0), "cuCtxEnablePeerAccess") &&
	       check_call(p, cu.cuCtxSetCurrent(p->context), "cuCtxSetCurrent") &&
	       has_memory(p, size) &&
	       check_call(p, cu.cuStreamCreate(&p->work, PROBE_STREAM_NON_BLOCKING),
			  "cuStreamCreate") &&
	       allocate_on_peer(p, &p->from, size) && allocate_on_peer(p, &p->to, size);
}

void probe_peer_open(struct probe_peer *p, struct probe_session *s, size_t size)
{
	*p = (struct probe_peer){0};
	if (!find_peer(p, s))
		return;
	if (cu.cuDeviceGetName(p->name, sizeof(p->name), p->device))
		p->name[0] = 0;
	if (!open_peer(p, s, size))
		probe_peer_close(p, s);
	PROBE_CU(cuCtxSetCurrent(s->context));
}

void probe_peer_close(struct probe_peer *p, struct probe_session *s)
{
	if (!p->context)
		return;
	cu.cuCtxSetCurrent(p->context);
	probe_memory_free(&p->from);
	probe_memory_free(&p->to);
	cu.cuCtxSetCurrent(s->context);
	cu.cuCtxDisablePeerAccess(p->context);
	cu.cuDevicePrimaryCtxRelease_v2(p->device);
	p->context = NULL;
}

static void finish_on_peer(struct probe_peer *p, struct probe_session *s)
{
	PROBE_CU(cuStreamSynchronize(p->work));
	PROBE_CU(cuCtxSetCurrent(s->context));
}

void probe_peer_fill(struct probe_peer *p, struct probe_session *s, const void *bytes)
{
	PROBE_CU(cuCtxSetCurrent(p->context));
	PROBE_CU(cuMemcpyHtoDAsync_v2(p->from.gpu, bytes, p->from.size, p->work));
	finish_on_peer(p, s);
}

void probe_peer_clear(struct probe_peer *p, struct probe_session *s, unsigned char value,
		      size_t size)
{
	PROBE_CU(cuCtxSetCurrent(p->context));
	PROBE_CU(cuMemsetD8Async(p->to.gpu, value, size, p->work));
	finish_on_peer(p, s);
}

void probe_peer_read(struct probe_peer *p, struct probe_session *s, void *bytes, size_t size)
{
	PROBE_CU(cuCtxSetCurrent(p->context));
	PROBE_CU(cuMemcpyDtoHAsync_v2(bytes, p->to.gpu, size, p->work));
	finish_on_peer(p, s);
}
