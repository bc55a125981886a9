/* SPDX-License-Identifier: MIT */
/* Part of trace.h: faults of the GPU. */
#ifndef NVSNOOP_FAULT_H
#define NVSNOOP_FAULT_H

#include "nvsnoop/record.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

/*
 * When a channel is torn down by an error, the kernel driver writes the channel's error notifier
 * (the memory object hObjectError of its parameters; layout: struct NvNotification of NVIDIA's open
 * kernel modules). All channels of a group die together. Some errors (an assertion of a kernel)
 * write no notifier: only the results of calls show them.
 */

/* What made the library look. */
enum nvs_fault_seen {
	NVS_FAULT_CALL = 1, /* a call returned an error */
	NVS_FAULT_POLL = 2, /* the housekeeping thread */
	NVS_FAULT_END = 3, /* the end of the trace, or of the channel */
};

struct nvs_rec_fault {
	struct nvs_rec rec; /* time: when the library saw it */
	uint32_t channel;
	uint32_t number; /* the notifier's info32, which NVIDIA's kernel log prints as Xid */
	uint16_t info16, status; /* of the notifier */
	uint32_t seen; /* enum nvs_fault_seen */
	uint64_t gpu_ns; /* timestamp of the notifier, GPU clock */
	uint64_t progress; /* address of the channel's progress slot, 0: none */
	uint64_t value[2]; /* the 16 bytes in it when the fault was seen */
};

/*
 * A page of the memory around a channel's progress slot, which also has the semaphores that grids
 * release when they end, as it was when the channel's fault was seen, or when a call first failed
 * without one. Pages that are all zero are left out. A later record of the same address replaces an
 * earlier one.
 */
struct nvs_rec_fault_memory {
	struct nvs_rec rec;
	uint32_t channel;
	uint32_t bytes; /* at data[] */
	uint64_t address; /* GPU */
	uint8_t data[];
};

/* One SM of an answer to NV83DE_CTRL_CMD_DEBUG_READ_ALL_SM_ERROR_STATES, fields as named there. */
struct nvs_sm_error {
	uint32_t sm; /* number */
	uint32_t global_esr, warp_esr;
	uint32_t cga_esr;
	uint64_t address; /* hwwEsrAddr; 0: none */
	uint64_t pc; /* hwwWarpEsrPc64; 0: none */
};

/* One answer; the driver asks for a GPU's SMs in several calls. Only SMs with an error follow. */
struct nvs_rec_sm_error {
	struct nvs_rec rec; /* time: when the call returned */
	uint32_t gpu;
	uint32_t channel; /* the target channel's number, NVS_NONE: unknown */
	uint32_t mmu_info; /* mmuFaultInfo */
	uint32_t mmu_valid; /* mmuFault.valid */
	uint32_t mmu_fault; /* mmuFault.faultInfo */
	uint32_t asked; /* number of SMs that were read */
	uint32_t first; /* the first of them */
	uint32_t nsms; /* number of entries below */
	struct nvs_sm_error sms[];
};

#pragma GCC diagnostic pop
#ifdef __cplusplus
}
#endif

#endif
