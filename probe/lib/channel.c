/* SPDX-License-Identifier: MIT */
/* The probe's session: opens the context, finds channels, submits, waits, and describes faults. */
#include "probe/probe.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "probe/lib/nvml.h"

#define MAX_CHANNELS 256
#define FIND_BYTES (1u << 20) /* large enough that the driver uses a copy engine */
#define SEGMENTS_MAX 64
#define USERD_GP_PUT (0x8c / 4)

/* ---- finding a stream's channel ---- */

struct snapshot {
	struct probe_channel at[MAX_CHANNELS];
	uint32_t put[MAX_CHANNELS], n;
};

static void take_snapshot(struct snapshot *l)
{
	l->n = probe_list_channels(l->at, MAX_CHANNELS);
	for (uint32_t i = 0; i < l->n; i++)
		l->put[i] = l->at[i].ring.userd[USERD_GP_PUT];
}

/* Finds the channel that was submitted to since BEFORE, and opens it as LANE. */
static void take_moved_channel(const struct snapshot *before, struct probe_channel_kind_entry *lane,
			       const char *name)
{
	static struct snapshot now;
	const struct probe_channel *found = NULL;

	take_snapshot(&now);
	for (uint32_t i = 0; i < now.n; i++) {
		bool same = i < before->n && before->put[i] == now.put[i];

		/* A stream's first copy may also submit setup work to another channel: take the
		 * newest. */
		if (!same && (!found || now.at[i].number > found->number))
			found = &now.at[i];
	}
	if (!found)
		probe_die("a %s submitted to none of %u known channels. Does this driver submit in "
			  "another way?",
			  name, now.n);
	lane->channel = *found;
	lane->name = name;
	nvs_ring_open(&lane->channel.ring);
}

static void *create_stream(void)
{
	void *stream;

	PROBE_CU(cuStreamCreate(&stream, PROBE_STREAM_NON_BLOCKING));
	return stream;
}

/* Finds the channels of a stream that the driver does not use afterwards, and creates the work
 * stream. */
static void find_lanes(struct probe_session *s)
{
	static struct snapshot before;
	struct probe_memory host, device;
	void *stream;

	probe_memory(&host, PROBE_HOST, FIND_BYTES);
	probe_memory(&device, PROBE_DEVICE, FIND_BYTES);
	stream = create_stream();
	take_snapshot(&before);
	PROBE_CU(cuMemsetD8Async(device.gpu, 0, FIND_BYTES, stream));
	PROBE_CU(cuStreamSynchronize(stream));
	take_moved_channel(&before, &s->lanes[PROBE_COMPUTE], "compute");
	take_snapshot(&before);
	PROBE_CU(cuMemcpyHtoDAsync_v2(device.gpu, host.cpu, FIND_BYTES, stream));
	PROBE_CU(cuStreamSynchronize(stream));
	take_moved_channel(&before, &s->lanes[PROBE_COPY_HTOD], "copy HtoD");
	take_snapshot(&before);
	PROBE_CU(cuMemcpyDtoHAsync_v2(host.cpu, device.gpu, FIND_BYTES, stream));
	PROBE_CU(cuStreamSynchronize(stream));
	take_moved_channel(&before, &s->lanes[PROBE_COPY_DTOH], "copy DtoH");
	/* The driver's work stream, on other channels. */
	s->work = create_stream();
	take_snapshot(&before);
	PROBE_CU(cuMemsetD8Async(device.gpu, 0, FIND_BYTES, s->work));
	PROBE_CU(cuMemcpyHtoDAsync_v2(device.gpu, host.cpu, FIND_BYTES, s->work));
	PROBE_CU(cuMemcpyDtoHAsync_v2(host.cpu, device.gpu, FIND_BYTES, s->work));
	PROBE_CU(cuStreamSynchronize(s->work));
	probe_memory_free(&host);
	probe_memory_free(&device);
}

/* ---- the machine ---- */

static bool read_line(const char *bus, const char *file, char *text, size_t size)
{
	char path[160];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", bus, file);
	f = fopen(path, "r");
	if (!f)
		return false;
	ok = fgets(text, (int)size, f) != NULL;
	fclose(f);
	text[strcspn(text, "\n")] = 0;
	return ok && *text;
}

static void read_link(struct probe_session *s)
{
	char speed[64], width[16];
	double gt, lanes;

	if (!cu.cuDeviceGetPCIBusId || cu.cuDeviceGetPCIBusId(s->bus, sizeof(s->bus), s->device))
		return;
	for (char *p = s->bus; *p; p++)
		*p = *p >= 'A' && *p <= 'F' ? (char)(*p + 'a' - 'A') : *p;
	if (!read_line(s->bus, "current_link_speed", speed, sizeof(speed)) ||
	    !read_line(s->bus, "current_link_width", width, sizeof(width)))
		return;
	gt = strtod(speed, NULL);
	lanes = strtod(width, NULL);
	if (gt <= 0 || lanes <= 0)
		return;
	snprintf(s->link, sizeof(s->link), "%.1f GT/s x%.0f", gt, lanes);
	/* 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, FLITs of 242 in 256 bytes from 64 GT/s on.
	 *  */
	s->link_gib_s = gt * lanes / 8 *
			(gt < 6	   ? 0.8
			 : gt < 40 ? 128.0 / 130
				   : 242.0 / 256) *
			1e9 / (1 << 30);
}

void probe_open_context(struct probe_session *s, int device)
{
	*s = (struct probe_session){.payload = 0x70726f00};
	probe_driver_load();
	PROBE_CU(cuInit(0));
	PROBE_CU(cuDeviceGet(&s->device, device));
	PROBE_CU(cuDeviceGetName(s->gpu, sizeof(s->gpu), s->device));
	PROBE_CU(cuDevicePrimaryCtxRetain(&s->context, s->device));
	PROBE_CU(cuCtxSetCurrent(s->context));
	snprintf(s->driver, sizeof(s->driver), "%s", probe_driver_version());
	read_link(s);
}

void probe_open_channels(struct probe_session *s)
{
	find_lanes(s);
	probe_allocate_commands(&s->commands, PROBE_HOST, PROBE_COMMAND_BYTES);
	probe_memory(&s->semaphores, PROBE_HOST, PROBE_SEMAPHORES * 16);
	memset(s->semaphores.cpu, 0, PROBE_SEMAPHORES * 16);
}

void probe_open(struct probe_session *s, int device)
{
	probe_open_context(s, device);
	probe_open_channels(s);
}

void probe_close(struct probe_session *s)
{
	probe_memory_free(&s->semaphores);
	probe_memory_free(&s->commands);
	PROBE_CU(cuDevicePrimaryCtxRelease_v2(s->device));
}

void probe_read_sm_clock(struct probe_session *s)
{
	struct probe_nvml nvml;

	s->sm_mhz = probe_nvml_open(&nvml, s->bus) ? probe_nvml_sm_mhz(&nvml) : 0;
}

/* ---- submitting ---- */

void probe_upload_commands(struct probe_session *s, const struct probe_memory *commands,
			   const void *from, size_t bytes)
{
	size_t offset = (size_t)((const char *)from - (const char *)s->commands.cpu);

	if (commands == &s->commands)
		return;
	PROBE_CU(cuMemcpyHtoDAsync_v2(commands->gpu + offset, from, bytes, s->work));
	PROBE_CU(cuStreamSynchronize(s->work));
}

void probe_submit_pieces(struct probe_channel_kind_entry *lane,
			 const struct nvs_ring_segment *pieces, uint32_t n)
{
	int err = nvs_ring_submit(&lane->channel.ring, pieces, n);

	if (err == -ERANGE)
		probe_die(
			"commands at 0x%llx are out of reach of class %04x, whose entries hold 40 "
			"address bits, and the driver gave no memory below that",
			(unsigned long long)pieces->address, lane->channel.ring.object_class);
	if (err)
		probe_die("channel 0x%x (%s): %s", lane->channel.ring.token, lane->name,
			  err == -EBUSY ? "the GPU does not fetch entries" : "too long");
}

void probe_submit(struct probe_channel_kind_entry *lane, const struct probe_memory *commands,
		  size_t offset, uint64_t dwords)
{
	struct nvs_ring_segment pieces[SEGMENTS_MAX];
	uint64_t at = commands->gpu + offset;
	uint32_t n = 0;

	while (dwords && n < SEGMENTS_MAX) {
		uint32_t some = dwords < NVS_SEGMENT_DWORDS_MAX ? (uint32_t)dwords
								: NVS_SEGMENT_DWORDS_MAX;

		pieces[n++] = (struct nvs_ring_segment){at, some};
		at += some * 4ull;
		dwords -= some;
	}
	if (dwords)
		probe_die("channel 0x%x (%s): too long", lane->channel.ring.token, lane->name);
	probe_submit_pieces(lane, pieces, n);
}

/* ROBUST_CHANNEL_* errors of nverror.h that a command stream can cause. */
static const char *error_name(uint32_t info)
{
	static const struct {
		uint32_t info;
		const char *name;
	} names[] = {
		{6, "a method with a bad address (FIFO_ERROR_SEMAPHORE)"},
		{8, "a wait that took too long (FIFO_ERROR_IDLE_TIMEOUT)"},
		{13, "a graphics and compute engine exception (GR_EXCEPTION)"},
		{31, "an address that is not mapped (FIFO_ERROR_MMU_ERR_FLT)"},
		{32, "a malformed command (PBDMA_ERROR)"},
		{39, "a copy engine error (CE0_ERROR)"},
		{40, "a copy engine error (CE1_ERROR)"},
		{41, "a copy engine error (CE2_ERROR)"},
		{43, "a channel reset by the driver (RESETCHANNEL_VERIF_ERROR)"},
		{45, "an error in its channel group (PREEMPTIVE_REMOVAL)"},
		{69, "a graphics and compute engine class exception (GR_CLASS_ERROR)"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].info == info)
			return names[i].name;
	return "an error";
}

static void check_stopped(const struct probe_session *s,
			  const struct probe_channel_kind_entry *lane)
{
	const volatile uint32_t *n = lane->channel.notifier;
	int error = cu.cuStreamQuery(s->work);

	if (n && n[3] >> 16)
		probe_die(
			"channel 0x%x (%s) was stopped by %s: robust-channel error %u; the driver "
			"reports %s%s",
			lane->channel.ring.token, lane->name, error_name(n[2]), n[2],
			probe_error_name(error), s->doing);
	if (error && error != 600 /* CUDA_ERROR_NOT_READY */)
		probe_die("channel 0x%x (%s): %s%s", lane->channel.ring.token, lane->name,
			  probe_error_name(error), s->doing);
}

static uint64_t value_at(const volatile void *at, bool wide)
{
	return wide ? *(const volatile uint64_t *)at : *(const volatile uint32_t *)at;
}

void probe_wait_at(struct probe_session *s, struct probe_channel_kind_entry *lane,
		   const volatile void *at, bool wide, uint64_t payload, unsigned seconds,
		   const char *of)
{
	uint64_t begin = probe_now(), checked = begin, now;

	while (value_at(at, wide) != payload) {
		now = probe_now();
		if (now - checked < 10000000)
			continue;
		checked = now;
		check_stopped(s, lane);
		if (now - begin > seconds * 1000000000ull)
			probe_die("channel 0x%x (%s): payload 0x%llx%s did not arrive within %u s; "
				  "the value is 0x%llx. The GPU is waiting for something, or is "
				  "busy%s",
				  lane->channel.ring.token, lane->name, (unsigned long long)payload,
				  of, seconds, (unsigned long long)value_at(at, wide), s->doing);
	}
	/* The GPU writes the timestamp before the payload. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

void probe_wait(struct probe_session *s, struct probe_channel_kind_entry *lane, uint32_t i,
		uint32_t payload, unsigned seconds)
{
	probe_wait_at(s, lane, (const char *)s->semaphores.cpu + i * 16ull, false, payload, seconds,
		      "");
	nvs_ring_mark_idle(&lane->channel.ring);
}
