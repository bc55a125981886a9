/* SPDX-License-Identifier: MIT */
/*
 * Peer access: one device's memory mapped for another at the same address, only for the calling
 * context's device and in one direction, until the other context enables its own. With
 * SOFTGPU=apart the devices cannot reach each other.
 */
#include <stdlib.h>
#include <string.h>
#include "driver.h"

static bool reach(const struct sg_device *d, const struct sg_device *peer)
{
	return d != peer && !sg_option("apart");
}

API CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	int n = (int)sg_driver.ndevices;

	if (!sg_driver.up)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	if (device < 0 || device >= n || peer < 0 || peer >= n)
		return CUDA_ERROR_INVALID_DEVICE;
	*can = reach(&sg_driver.device[device], &sg_driver.device[peer]);
	return CUDA_SUCCESS;
}

static int place_of(const struct sg_context *peer, const struct sg_context *reader)
{
	for (int i = 0; i < SG_DEVICES; i++)
		if (peer->reader[i] == reader)
			return i;
	return -1;
}

/* The lock of PEER is held. */
static CUresult enable(struct sg_context *ctx, struct sg_context *peer)
{
	int i = place_of(peer, NULL);

	if (place_of(peer, ctx) >= 0)
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	if (i < 0)
		return CUDA_ERROR_TOO_MANY_PEERS;
	if (!sg_device_show(peer, ctx->device))
		return CUDA_ERROR_UNKNOWN;
	peer->reader[i] = ctx;
	return CUDA_SUCCESS;
}

API CUresult cuCtxEnablePeerAccess(CUcontext c, unsigned flags)
{
	struct sg_context *ctx = sg_current(), *peer = (struct sg_context *)c;
	CUresult r;

	if (!ctx || !peer || ctx == peer)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!reach(ctx->device, peer->device))
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	pthread_mutex_lock(&peer->lock);
	r = enable(ctx, peer);
	pthread_mutex_unlock(&peer->lock);
	return r;
}

/* Another context of that device may still have access. */
static void hide(struct sg_context *peer, struct sg_device *d)
{
	for (int i = 0; i < SG_DEVICES; i++)
		if (peer->reader[i] && peer->reader[i]->device == d)
			return;
	sg_device_hide(peer, d);
}

bool sg_peer_drop(struct sg_context *peer, struct sg_context *from)
{
	int i;

	pthread_mutex_lock(&peer->lock);
	i = place_of(peer, from);
	if (i >= 0) {
		peer->reader[i] = NULL;
		hide(peer, from->device);
	}
	pthread_mutex_unlock(&peer->lock);
	return i >= 0;
}

API CUresult cuCtxDisablePeerAccess(CUcontext c)
{
	struct sg_context *ctx = sg_current(), *peer = (struct sg_context *)c;

	if (!ctx || !peer)
		return CUDA_ERROR_INVALID_CONTEXT;
	return sg_peer_drop(peer, ctx) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
