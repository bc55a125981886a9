/* SPDX-License-Identifier: MIT */
/* Memory of another GPU that the session's GPU can access. */
#ifndef NVSNOOP_PROBE_LIB_PEER_H
#define NVSNOOP_PROBE_LIB_PEER_H

#include "probe/probe.h"

struct probe_peer {
	int device;
	void *context; /* NULL if there is no peer */
	void *work;
	struct probe_memory from, to;
	char name[96];
	char why[160]; /* reason why there is no peer */
};

/*
 * Opens the first other GPU whose memory the session's GPU can access, and allocates SIZE bytes
 * there twice. Call before the session takes its channels, because enabling access makes the driver
 * submit work. Does not exit on failure: the other GPU may be in use; sets WHY.
 */
void probe_peer_open(struct probe_peer *peer, struct probe_session *session, size_t size);
void probe_peer_close(struct probe_peer *peer, struct probe_session *session);
/* Copy BYTES to all of FROM, set TO to VALUE, and read TO. They use the other GPU's context, so
 * that they see its memory and not what our GPU assumes. BYTES are pinned memory of our context. */
void probe_peer_fill(struct probe_peer *peer, struct probe_session *session, const void *bytes);
void probe_peer_clear(struct probe_peer *peer, struct probe_session *session, unsigned char value,
		      size_t size);
void probe_peer_read(struct probe_peer *peer, struct probe_session *session, void *bytes,
		     size_t size);

#endif
