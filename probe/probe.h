/* SPDX-License-Identifier: MIT */
/*
 * A context of the probe's own, with channels that it keeps the driver away from, memory that the
 * GPU can fetch from, and a way to submit and wait.
 *
 * A channel is had by making a stream, letting the driver do one piece of work on it, and looking
 * which GP_PUT moved. The stream is never used again: the driver has a GP_PUT of its own, which is
 * wrong from our first entry on. The other streams go on as always.
 */
#ifndef NVSNOOP_PROBE_PROBE_H
#define NVSNOOP_PROBE_PROBE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "probe/lib/channel_discovery.h"
#include "probe/lib/driver.h"

/* Ends the program: "nvsnoop-probe: ...", status probe_failure, which is 1 unless a study says so.
 */
extern int probe_failure;
void probe_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The same for a call of the driver that failed. */
void probe_check(int error, const char *what);
/* For free(). Ends the program where there is no memory. */
char *probe_text(const char *format, va_list ap) __attribute__((format(printf, 1, 0)));
#define PROBE_CU(call) probe_check(cu.call, #call)

uint64_t probe_now(void); /* ns, CLOCK_MONOTONIC */

/* ---- memory.c ---- */
enum probe_place { PROBE_HOST, PROBE_DEVICE, PROBE_PEER /* another GPU's; peer.c */ };

struct probe_memory {
	uint64_t gpu; /* address for the GPU */
	void *cpu; /* NULL: device memory, which the process cannot reach */
	size_t size;
	enum probe_place place;
	uint64_t handle; /* of cuMemCreate; 0: by cuMemAlloc or cuMemHostAlloc */
	uint64_t reserved; /* bytes of address space */
};

/*
 * Memory for commands lies below 2^40 where the driver lets a program choose the address, since an
 * entry of the GPFIFO names no more; else anywhere, and the ring must reach it. Ends the program
 * where there is none.
 */
void probe_memory_for_commands(struct probe_memory *memory, enum probe_place place, size_t size);
void probe_memory(struct probe_memory *memory, enum probe_place place, size_t size);
void probe_memory_free(struct probe_memory *memory);
const char *probe_place_name(enum probe_place place);

/* ---- lane.c ---- */
enum probe_lane_kind {
	PROBE_COMPUTE, /* compute on subchannel 1, copies on 4 */
	PROBE_COPY_HTOD, /* what the driver copies to the device by */
	PROBE_COPY_DTOH,
	PROBE_LANES
};

struct probe_lane {
	struct probe_channel channel;
	const char *name; /* "compute", "copy HtoD", "copy DtoH" */
};

struct probe_session {
	int device;
	void *context, *work; /* work: a stream on which the driver goes on */
	struct probe_lane lanes[PROBE_LANES];
	struct probe_memory commands, semaphores; /* host */
	uint32_t payload; /* the last one used */
	char doing[160]; /* what a failure is told with, "" nothing */
	char gpu[96], driver[64], bus[32];
	char link[32]; /* "32.0 GT/s x16", "" not known */
	unsigned sm_mhz; /* as the GPU said after the last work; 0 not known */
	double link_gib_s; /* of payload and headers, by the link's rate and coding; 0 not known */
};

#define PROBE_COMMAND_BYTES (16u << 20)
#define PROBE_SEMAPHORES 256 /* of 16 bytes each */

/* Reads the clock of the SMs, through NVIDIA's management library where it is installed. */
void probe_clock(struct probe_session *session);
/* The context alone, for studies of what the driver submits. */
void probe_open_context(struct probe_session *session, int device);
/* To a context: channels, and memory for commands and semaphores. */
void probe_open_lanes(struct probe_session *session);
void probe_open(struct probe_session *session, int device);
/* Everything is given back, unless a channel has failed. */
void probe_close(struct probe_session *session);
static inline uint64_t probe_semaphore(const struct probe_session *s, uint32_t i)
{
	return s->semaphores.gpu + i * 16ull;
}
/* What was released there: the payload, and the GPU's clock in ns. */
static inline uint32_t probe_payload(const struct probe_session *s, uint32_t i)
{
	return ((const volatile uint32_t *)s->semaphores.cpu)[i * 4];
}
static inline uint64_t probe_timestamp(const struct probe_session *s, uint32_t i)
{
	return ((const volatile uint64_t *)s->semaphores.cpu)[i * 2 + 1];
}
/*
 * What stands at FROM in the session's commands, BYTES of it, to the same place of COMMANDS:
 * nothing where these are the session's own.
 */
void probe_upload(struct probe_session *session, const struct probe_memory *commands,
		  const void *from, size_t bytes);
/*
 * Submits, and ends the program where it cannot. N dwords at COMMANDS + OFFSET bytes, in as many
 * segments as they need.
 */
void probe_submit(struct probe_lane *lane, const struct probe_memory *commands, size_t offset,
		  uint64_t dwords);
/* The same, of pieces that are entries of their own. */
void probe_submit_pieces(struct probe_lane *lane, const struct nvs_piece *pieces, uint32_t n);
/*
 * Until semaphore I holds PAYLOAD. Ends the program with the fault's own words where the channel
 * was stopped, and where nothing comes for SECONDS.
 */
void probe_wait(struct probe_session *session, struct probe_lane *lane, uint32_t i,
		uint32_t payload, unsigned seconds);
/* The same of 32 bits at AT, or 64. OF: " of ..." for what is said where it does not come. */
void probe_wait_at(struct probe_session *session, struct probe_lane *lane, const volatile void *at,
		   bool wide, uint64_t payload, unsigned seconds, const char *of);

#endif
