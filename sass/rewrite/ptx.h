/* SPDX-License-Identifier: MIT */
/* Texts that nvs_count_ptx() combines: a common part, and variants by minimum architecture. */
#ifndef NVSNOOP_SASS_REWRITE_PTX_H
#define NVSNOOP_SASS_REWRITE_PTX_H

extern const char nvs_ptx_all[], nvs_ptx_move_75[], nvs_ptx_move_80[], nvs_ptx_elect_75[],
	nvs_ptx_elect_90[];

#endif
