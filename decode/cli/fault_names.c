/* SPDX-License-Identifier: MIT */
/* Meaning of the numbers in error notifiers, from NVIDIA's documentation of Xid errors, and of the
 * errors of warps, from the names in public headers of GPU drivers. */
#include <stddef.h>
#include "decode/cli/fault_names.h"

/* In ascending order. */
static const struct nvs_fault_name names[] = {
	{6, "invalid command", "an engine read a command that it does not know"},
	{8, "timeout", "the work took longer than the driver allows"},
	{11, "invalid command stream",
	 "the commands were corrupt, or lay in memory that was not valid"},
	{13, "graphics exception",
	 "a kernel did something that the hardware forbids: a misaligned address, an address out "
	 "of "
	 "range, an illegal instruction"},
	{24, "GPU semaphore timeout", "a semaphore was not released in time"},
	{31, "MMU fault", "the GPU accessed an address that is not mapped, or not for this access"},
	{32, "corrupt command stream", "the commands were corrupt, or could not be read"},
	{38, "firmware error", "the driver's firmware reported an error"},
	{39, "copy engine exception", NULL},
	{40, "copy engine exception", NULL},
	{41, "copy engine exception", NULL},
	{43, "channel reset",
	 "the GPU stopped the work after an error that the program caused, for example a trap"},
	{44, "fault at a context switch", NULL},
	{45, "preemptive cleanup",
	 "the driver ended the channel because of an earlier error, or because its process ended"},
	{46, "GPU stopped responding", NULL},
	{48, "uncorrectable memory error", "ECC found an error of two bits in the GPU's memory"},
	{56, "display error", NULL},
	{57, "memory interface error", NULL},
	{58, "unstable memory interface", NULL},
	{61, "internal microcontroller stopped", NULL},
	{62, "internal microcontroller halted", NULL},
	{63, "memory remapping recorded", "a row or page of memory will be replaced"},
	{64, "memory remapping failed", "a row or page of memory could not be replaced"},
	{65, "video processor exception", NULL},
	{66, "illegal access by the driver", NULL},
	{68, "video processor exception", NULL},
	{69, "graphics engine class error", "a method or its value is not valid for the class"},
	{74, "NVLink error", "a link between GPUs failed"},
	{79, "GPU fell off the bus", "the GPU cannot be reached any more"},
	{92, "high rate of memory errors", "ECC corrected many errors of one bit"},
	{94, "contained memory error", "an uncorrectable error of memory hit only this program"},
	{95, "uncontained memory error",
	 "an uncorrectable error of memory may have hit several programs; the GPU must be reset"},
	{109, "context switch timeout", "the work could not be switched off the GPU in time"},
	{119, "GSP timeout", "the GPU's system processor did not answer in time"},
	{120, "GSP error", "the GPU's system processor failed"},
	{121, "link to the CPU failed", NULL},
	{137, "NVLink privilege error", "an access to another GPU's memory was not permitted"},
	{140, "unrecovered memory error", "ECC found errors that could not be recovered"},
	{143, "GPU initialisation error", NULL},
	{154, "recovery required", "the GPU or the machine must be reset"},
};

static const char *const warp_errors[] = {
	[0x01] = "stack error",
	[0x02] = "stack error of the API",
	[0x03] = "return without a call",
	[0x04] = "program counter wrapped",
	[0x05] = "misaligned program counter",
	[0x06] = "program counter out of range",
	[0x07] = "misaligned address of an immediate constant",
	[0x08] = "misaligned register",
	[0x09] = "illegal instruction encoding",
	[0x0a] = "illegal combination of instructions",
	[0x0b] = "illegal instruction parameter",
	[0x0c] = "invalid constant address",
	[0x0d] = "register out of range",
	[0x0e] = "address out of range",
	[0x0f] = "misaligned address",
	[0x10] = "invalid address space",
	[0x11] = "illegal instruction parameter",
	[0x12] = "invalid constant address",
	[0x13] = "geometry error",
	[0x14] = "divergent instruction",
};

const struct nvs_fault_name *nvs_fault_name(uint32_t number)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].number == number)
			return names + i;
	return NULL;
}

const char *nvs_warp_error_name(uint32_t warp_esr)
{
	uint32_t error = warp_esr & 0xffff;

	return error < sizeof(warp_errors) / sizeof(*warp_errors) ? warp_errors[error] : NULL;
}
