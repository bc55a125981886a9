/* SPDX-License-Identifier: MIT */
/* Named points on the path of a doorbell, at which a test ends the process. Empty in a normal
 * build: only `make TEST_POINTS=1` defines NVS_TEST_POINTS and links tests/kill/points.c. */
#ifndef NVSNOOP_TRAP_LOW_POINT_H
#define NVSNOOP_TRAP_LOW_POINT_H

enum nvs_point {
	NVS_POINT_COPY = 1, /* entries are claimed, nothing is copied yet */
	NVS_POINT_COMMIT, /* copied, not committed */
	NVS_POINT_STORE, /* committed, not rung */
	NVS_POINT_RUNG, /* the store has been performed */
	NVS_POINT_FAULT, /* a doorbell arrives by a fault */
	NVS_POINT_FAST, /* a doorbell arrives through a patched site */
	NVS_POINT_TIMING, /* our own entries are written, GP_PUT does not include them yet */
};

#ifdef NVS_TEST_POINTS
void nvs_test_point(enum nvs_point point);
#define NVS_POINT(name) nvs_test_point(NVS_POINT_##name)
#else
#define NVS_POINT(name) ((void)0)
#endif

#endif
