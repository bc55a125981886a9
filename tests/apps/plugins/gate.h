/* SPDX-License-Identifier: MIT */
/* Between loader and its plugin: the constructor says that it is inside and waits until it may
 * leave. */
#ifndef APPS_GATE_H
#define APPS_GATE_H

struct gate {
	_Atomic int inside, open;
};

#endif
