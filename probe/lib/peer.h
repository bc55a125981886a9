/* SPDX-License-Identifier: MIT */
/* Memory of another GPU, which the session's GPU reaches at its own addresses. */
#ifndef NVSNOOP_PROBE_LIB_PEER_H
#define NVSNOOP_PROBE_LIB_PEER_H

#include "probe/probe.h"

struct probe_peer {
	int device;
	void *context; /* NULL: there is no peer */
	void *work;
	struct probe_memory from, to;
	char name[96];
	char why[160]; /* there is none */
};

/*
 * The first other GPU whose memory the session's can reach, and SIZE bytes of it twice. Before the
 * session takes its channels: giving access is the driver's work. Does not end the program where
 * that fails: the other GPU may be busy with somebody else's.
 */
void probe_peer_open(struct probe_peer *peer, struct probe_session *session, size_t size);
void probe_peer_close(struct probe_peer *peer, struct probe_session *session);
/*
 * BYTES into all of FROM, VALUE into TO, and bytes out of TO: by the other GPU's own context, so
 * that they show what is there and not what ours takes for it. BYTES are pinned, of our context.
 */
void probe_peer_fill(struct probe_peer *peer, struct probe_session *session, const void *bytes);
void probe_peer_clear(struct probe_peer *peer, struct probe_session *session, unsigned char value,
		      size_t size);
void probe_peer_read(struct probe_peer *peer, struct probe_session *session, void *bytes,
		     size_t size);

#endif
