/* SPDX-License-Identifier: MIT */
/* See plug.h. */
#include "tests/apps/plugins/plug.h"

PLUG(plug_apple)
