/* SPDX-License-Identifier: MIT */
/*
 * The probe's context: channels that are its own, submitting, waiting, and telling what went wrong.
 */
#include "probe/probe.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CHANNELS 256
#define FIND_BYTES (1u << 20) /* a copy so long that the driver gives it to a copy engine */
#define SEGMENTS_MAX 64
#define USERD_GP_PUT (0x8c / 4)

/* ---- which channel a stream has ---- */

struct look {
	struct probe_channel at[MAX_CHANNELS];
	uint32_t put[MAX_CHANNELS], n;
};

static void look(struct look *l)
{
	l->n = probe_channels(l->at, MAX_CHANNELS);
	for (uint32_t i = 0; i < l->n; i++)
		l->put[i] = l->at[i].ring.userd[USERD_GP_PUT];
}

/* The one channel that was submitted to since. */
static void moved(const struct look *before, struct probe_lane *lane, const char *name)
{
	static struct look now;
	const struct probe_channel *found = NULL;

	look(&now);
	for (uint32_t i = 0; i < now.n; i++) {
		bool same = i < before->n && before->put[i] == now.put[i];

		/* A stream's first copy may also set things up on another channel. */
		if (!same && (!found || now.at[i].number > found->number))
			found = &now.at[i];
	}
	if (!found)
		probe_die("no channel was submitted to by a %s: %u known. Is the driver's way of "
			  "submitting another one?",
			  name, now.n);
	lane->channel = *found;
	lane->name = name;
	nvs_ring_open(&lane->channel.ring);
}

static void *kept_stream(void)
{
	void *stream;

	PROBE_CU(cuStreamCreate(&stream, PROBE_STREAM_NON_BLOCKING));
	return stream;
}

/* A stream for each: whoever is submitted to by us belongs to no stream that the driver uses. */
static void find_lanes(struct probe_session *s)
{
	static struct look before;
	struct probe_memory host, device;
	void *stream;

	probe_memory(&host, PROBE_HOST, FIND_BYTES);
	probe_memory(&device, PROBE_DEVICE, FIND_BYTES);
	stream = kept_stream();
	look(&before);
	PROBE_CU(cuMemsetD8Async(device.gpu, 0, FIND_BYTES, stream));
	PROBE_CU(cuStreamSynchronize(stream));
	moved(&before, &s->lanes[PROBE_COMPUTE], "compute");
	look(&before);
	PROBE_CU(cuMemcpyHtoDAsync_v2(device.gpu, host.cpu, FIND_BYTES, stream));
	PROBE_CU(cuStreamSynchronize(stream));
	moved(&before, &s->lanes[PROBE_COPY_HTOD], "copy HtoD");
	look(&before);
	PROBE_CU(cuMemcpyDtoHAsync_v2(host.cpu, device.gpu, FIND_BYTES, stream));
	PROBE_CU(cuStreamSynchronize(stream));
	moved(&before, &s->lanes[PROBE_COPY_DTOH], "copy DtoH");
	/* The driver's own stream, on channels that are none of these. */
	s->work = kept_stream();
	look(&before);
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
	/* 8b/10b up to 5 GT/s, 128b/130b up to 32, and from 64 on frames of 242 in 256 bytes. */
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

void probe_open_lanes(struct probe_session *s)
{
	find_lanes(s);
	probe_memory_for_commands(&s->commands, PROBE_HOST, PROBE_COMMAND_BYTES);
	probe_memory(&s->semaphores, PROBE_HOST, PROBE_SEMAPHORES * 16);
	memset(s->semaphores.cpu, 0, PROBE_SEMAPHORES * 16);
}

void probe_open(struct probe_session *s, int device)
{
	probe_open_context(s, device);
	probe_open_lanes(s);
}

void probe_close(struct probe_session *s)
{
	probe_memory_free(&s->semaphores);
	probe_memory_free(&s->commands);
	PROBE_CU(cuDevicePrimaryCtxRelease_v2(s->device));
}

void probe_clock(struct probe_session *s)
{
	static int (*init)(void), (*handle)(const char *, void **),
		(*clock)(void *, int, unsigned *);
	void *lib = init ? NULL : dlopen("libnvidia-ml.so.1", RTLD_NOW), *gpu;

	if (lib) {
		init = (int (*)(void))dlsym(lib, "nvmlInit_v2");
		handle = (int (*)(const char *, void **))dlsym(lib,
							       "nvmlDeviceGetHandleByPciBusId_v2");
		clock = (int (*)(void *, int, unsigned *))dlsym(lib, "nvmlDeviceGetClockInfo");
	}
	if (!init || !handle || !clock || init() || handle(s->bus, &gpu) ||
	    clock(gpu, 1 /* NVML_CLOCK_SM */, &s->sm_mhz))
		s->sm_mhz = 0;
}

/* ---- submitting ---- */

void probe_upload(struct probe_session *s, const struct probe_memory *commands, const void *from,
		  size_t bytes)
{
	size_t offset = (size_t)((const char *)from - (const char *)s->commands.cpu);

	if (commands == &s->commands)
		return;
	PROBE_CU(cuMemcpyHtoDAsync_v2(commands->gpu + offset, from, bytes, s->work));
	PROBE_CU(cuStreamSynchronize(s->work));
}

void probe_submit_pieces(struct probe_lane *lane, const struct nvs_piece *pieces, uint32_t n)
{
	int err = nvs_ring_submit(&lane->channel.ring, pieces, n);

	if (err == -ERANGE)
		probe_die(
			"commands at 0x%llx are out of reach of class %04x, whose entries name 40 "
			"bits, and the driver gave no memory below that",
			(unsigned long long)pieces->address, lane->channel.ring.object_class);
	if (err)
		probe_die("channel 0x%x (%s): %s", lane->channel.ring.token, lane->name,
			  err == -EBUSY ? "the GPU does not take entries" : "too long");
}

void probe_submit(struct probe_lane *lane, const struct probe_memory *commands, size_t offset,
		  uint64_t dwords)
{
	struct nvs_piece pieces[SEGMENTS_MAX];
	uint64_t at = commands->gpu + offset;
	uint32_t n = 0;

	while (dwords && n < SEGMENTS_MAX) {
		uint32_t some = dwords < NVS_SEGMENT_DWORDS_MAX ? (uint32_t)dwords
								: NVS_SEGMENT_DWORDS_MAX;

		pieces[n++] = (struct nvs_piece){at, some};
		at += some * 4ull;
		dwords -= some;
	}
	if (dwords)
		probe_die("channel 0x%x (%s): too long", lane->channel.ring.token, lane->name);
	probe_submit_pieces(lane, pieces, n);
}

/* ROBUST_CHANNEL_* of nverror.h, those that a stream of commands can bring about. */
static const char *error_name(uint32_t info)
{
	static const struct {
		uint32_t info;
		const char *name;
	} names[] = {
		{6, "a method with a bad address (FIFO_ERROR_SEMAPHORE)"},
		{8, "a wait that took too long (FIFO_ERROR_IDLE_TIMEOUT)"},
		{13, "an exception of the graphics and compute engine (GR_EXCEPTION)"},
		{31, "an address that is not mapped (FIFO_ERROR_MMU_ERR_FLT)"},
		{32, "a word that the host does not understand (PBDMA_ERROR)"},
		{39, "an error of a copy engine (CE0_ERROR)"},
		{40, "an error of a copy engine (CE1_ERROR)"},
		{41, "an error of a copy engine (CE2_ERROR)"},
		{43, "the driver's reset of the channel (RESETCHANNEL_VERIF_ERROR)"},
		{45, "an error of the channel's group (PREEMPTIVE_REMOVAL)"},
		{69, "an exception of the graphics and compute engine's class (GR_CLASS_ERROR)"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].info == info)
			return names[i].name;
	return "an error";
}

static void stopped(const struct probe_session *s, const struct probe_lane *lane)
{
	const volatile uint32_t *n = lane->channel.notifier;
	int error = cu.cuStreamQuery(s->work);

	if (n && n[3] >> 16)
		probe_die(
			"channel 0x%x (%s) was stopped by %s: robust-channel error %u; the driver "
			"says %s%s",
			lane->channel.ring.token, lane->name, error_name(n[2]), n[2],
			probe_error(error), s->doing);
	if (error && error != 600 /* CUDA_ERROR_NOT_READY */)
		probe_die("channel 0x%x (%s): %s%s", lane->channel.ring.token, lane->name,
			  probe_error(error), s->doing);
}

static uint64_t value_at(const volatile void *at, bool wide)
{
	return wide ? *(const volatile uint64_t *)at : *(const volatile uint32_t *)at;
}

void probe_wait_at(struct probe_session *s, struct probe_lane *lane, const volatile void *at,
		   bool wide, uint64_t payload, unsigned seconds, const char *of)
{
	uint64_t begin = probe_now(), looked = begin, now;

	while (value_at(at, wide) != payload) {
		now = probe_now();
		if (now - looked < 10000000)
			continue;
		looked = now;
		stopped(s, lane);
		if (now - begin > seconds * 1000000000ull)
			probe_die("channel 0x%x (%s): payload 0x%llx%s did not come within %u s; "
				  "0x%llx is there. The GPU waits for something, or is busy%s",
				  lane->channel.ring.token, lane->name, (unsigned long long)payload,
				  of, seconds, (unsigned long long)value_at(at, wide), s->doing);
	}
	/* The timestamp stands there before the payload does. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

void probe_wait(struct probe_session *s, struct probe_lane *lane, uint32_t i, uint32_t payload,
		unsigned seconds)
{
	probe_wait_at(s, lane, (const char *)s->semaphores.cpu + i * 16ull, false, payload, seconds,
		      "");
}
