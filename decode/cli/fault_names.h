/* SPDX-License-Identifier: MIT */
/* What the numbers of faults mean: tables of data. */
#ifndef NVSNOOP_DECODE_CLI_FAULT_NAMES_H
#define NVSNOOP_DECODE_CLI_FAULT_NAMES_H

#include <stdint.h>

struct nvs_fault_name {
	uint32_t number;
	const char *name; /* a noun phrase: "MMU fault" */
	const char *meaning; /* a sentence without its subject and its final period, or NULL */
};

/* Numbers that NVIDIA's kernel log calls Xid. Returns NULL if the number is unknown. */
const struct nvs_fault_name *nvs_fault_name(uint32_t number);
/* Errors of a warp: the low half of hwwWarpEsr. Returns NULL if there is none, or it is unknown. */
const char *nvs_warp_error_name(uint32_t warp_esr);

#endif
