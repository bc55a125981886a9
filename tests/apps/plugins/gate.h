/* SPDX-License-Identifier: MIT */
/* Shared by loader.c and its plugin: the constructor signals that it runs, and waits until it may
 * return. */
#ifndef APPS_GATE_H
#define APPS_GATE_H

struct gate {
	_Atomic int inside, open;
};

#endif
