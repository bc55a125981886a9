/* SPDX-License-Identifier: MIT */
/*
 * The probe's session: its own context, channels that only the probe submits to, memory that the
 * GPU can fetch from, and functions to submit and wait.
 *
 * A channel is found by creating a stream, letting the driver do one piece of work on it, and
 * checking which GP_PUT changed. The stream is never used again: the driver keeps its own copy of
 * GP_PUT, which is wrong from our first entry on. Other streams are not affected.
 */
#ifndef NVSNOOP_PROBE_PROBE_H
#define NVSNOOP_PROBE_PROBE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "probe/lib/channel_discovery.h"
#include "probe/lib/driver.h"

/* Prints "nvsnoop-probe: ..." and exits with status probe_failure, which is 1 unless a study
 * changes it. */
extern int probe_failure;
void probe_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Calls probe_die() if ERROR, the result of driver call WHAT, is not 0. */
void probe_check(int error, const char *what);
/* Formats a string; the caller frees it. Exits if there is no memory. */
char *probe_vformat(const char *format, va_list ap) __attribute__((format(printf, 1, 0)));
#define PROBE_CU(call) probe_check(cu.call, #call)
/* These exit if there is no memory. The first one returns zeros, also for N of 0. */
void *probe_allocate(size_t n, size_t size);
/* Makes room for one more element in LIST of COUNT elements of SIZE bytes. */
void *probe_grow(void *list, uint32_t count, size_t size);
/* Reads F to its end, or more than MOST bytes of it; a 0 byte follows the *LENGTH bytes. */
char *probe_read_all(FILE *f, size_t most, size_t *length);
char *probe_copy(const char *text, size_t max_bytes); /* as strndup() */

uint64_t probe_now(void); /* ns, CLOCK_MONOTONIC */

/* ---- memory.c ---- */
enum probe_place { PROBE_HOST, PROBE_DEVICE, PROBE_PEER /* memory of another GPU; peer.c */ };

struct probe_memory {
	uint64_t gpu; /* GPU address */
	void *cpu; /* NULL for device memory */
	size_t size;
	enum probe_place place;
	uint64_t handle; /* from cuMemCreate; 0: allocated by cuMemAlloc or cuMemHostAlloc */
	uint64_t reserved; /* bytes of address space */
};

/*
 * Allocates memory; exits if there is none. Memory for commands is below 2^40 if the driver lets a
 * program choose the address, because a GPFIFO entry holds only 40 bits; otherwise it may be
 * anywhere, and the ring must be able to name it.
 */
void probe_allocate_commands(struct probe_memory *memory, enum probe_place place, size_t size);
void probe_memory(struct probe_memory *memory, enum probe_place place, size_t size);
void probe_memory_free(struct probe_memory *memory);
const char *probe_place_name(enum probe_place place);

/* ---- lane.c ---- */
enum probe_channel_kind {
	PROBE_COMPUTE, /* compute on subchannel 1, copies on 4 */
	PROBE_COPY_HTOD, /* the driver's channel for copies to the device */
	PROBE_COPY_DTOH,
	PROBE_CHANNEL_KINDS
};

struct probe_channel_kind_entry {
	struct probe_channel channel;
	const char *name; /* "compute", "copy HtoD", "copy DtoH" */
};

struct probe_session {
	int device;
	void *context, *work; /* work: a stream that the driver keeps using */
	struct probe_channel_kind_entry lanes[PROBE_CHANNEL_KINDS];
	struct probe_memory commands, semaphores; /* host */
	uint32_t payload; /* last payload used */
	char doing[160]; /* context to append to an error message; may be "" */
	char gpu[96], driver[64], bus[32];
	char link[32]; /* "32.0 GT/s x16"; "" if unknown */
	unsigned sm_mhz; /* SM clock after the last work; 0 if unknown */
	double link_gib_s; /* payload and headers, from the link's rate and encoding; 0 if unknown
			    */
};

#define PROBE_COMMAND_BYTES (16u << 20)
#define PROBE_SEMAPHORES 256 /* of 16 bytes each */

/* Reads the SM clock with NVML, where it is installed. */
void probe_read_sm_clock(struct probe_session *session);
/* Opens only a context, for studies of what the driver submits. */
void probe_open_context(struct probe_session *session, int device);
/* Adds channels, and memory for commands and semaphores, to an open context. */
void probe_open_channels(struct probe_session *session);
void probe_open(struct probe_session *session, int device);
/* Frees everything. */
void probe_close(struct probe_session *session);
static inline uint64_t probe_semaphore_address(const struct probe_session *s, uint32_t i)
{
	return s->semaphores.gpu + i * 16ull;
}
/* The payload released to semaphore I, and its GPU timestamp in ns. */
static inline uint32_t probe_semaphore_payload(const struct probe_session *s, uint32_t i)
{
	return ((const volatile uint32_t *)s->semaphores.cpu)[i * 4];
}
static inline uint64_t probe_semaphore_timestamp(const struct probe_session *s, uint32_t i)
{
	return ((const volatile uint64_t *)s->semaphores.cpu)[i * 2 + 1];
}
/* Copies BYTES from FROM, in the session's command memory, to the same offset of COMMANDS. Does
 * nothing if COMMANDS is the session's own memory. */
void probe_upload_commands(struct probe_session *session, const struct probe_memory *commands,
			   const void *from, size_t bytes);
/* Submits DWORDS dwords at COMMANDS + OFFSET bytes, in as many segments as needed. Exits on
 * failure. */
void probe_submit(struct probe_channel_kind_entry *lane, const struct probe_memory *commands,
		  size_t offset, uint64_t dwords);
/* The same for pieces, one GPFIFO entry each. */
void probe_submit_pieces(struct probe_channel_kind_entry *lane,
			 const struct nvs_ring_segment *pieces, uint32_t n);
/* Waits until semaphore I holds PAYLOAD, which the last submission releases. Exits with the fault's
 * description if the channel was stopped, or with a message after SECONDS. */
void probe_wait(struct probe_session *session, struct probe_channel_kind_entry *lane, uint32_t i,
		uint32_t payload, unsigned seconds);
/* The same for 32 bits at AT, or 64 if WIDE. OF is text for the timeout message, such as " of ...".
 *  */
void probe_wait_at(struct probe_session *session, struct probe_channel_kind_entry *lane,
		   const volatile void *at, bool wide, uint64_t payload, unsigned seconds,
		   const char *of);

#endif
