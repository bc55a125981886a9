/* SPDX-License-Identifier: MIT */
/* Opens the GPU to measure and reads its properties. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "preload/base/cpu_name.h"
#include "preload/base/sys.h"
#include "probe/bench/frame/internal.h"
#include "probe/lib/driver.h"

enum { /* CU_DEVICE_ATTRIBUTE_* */
       CLOCK_RATE = 13,
       MULTIPROCESSOR_COUNT = 16,
       MEMORY_CLOCK_RATE = 36,
       GLOBAL_MEMORY_BUS_WIDTH = 37,
       L2_CACHE_SIZE = 38,
       COMPUTE_CAPABILITY_MAJOR = 75,
       COMPUTE_CAPABILITY_MINOR = 76,
       MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
       MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

static uint64_t read_attribute(int device, int which)
{
	int v = 0;

	return cu.cuDeviceGetAttribute(&v, which, device) || v < 0 ? 0 : (uint64_t)v;
}

/* Reads the model of the host's processor, without what would end a cell: "Intel(R) Xeon(R)
 * Platinum 8480C, 16 CPUs". */
static void read_cpu(char *cpu, size_t room)
{
	char text[4096], model[64] = "";

	if (nvs_sys_read_file("/proc/cpuinfo", text, sizeof(text)))
		nvs_cpu_name(text, model, sizeof(model));
	for (char *c = model; *c; c++)
		if (!isprint((unsigned char)*c) || *c == '|' || *c == '"')
			*c = ' ';
	if (*model)
		snprintf(cpu, room, "%s, %ld CPUs", model, sysconf(_SC_NPROCESSORS_ONLN));
}

void bench_gpu_read(struct bench_gpu *gpu, const struct probe_session *s)
{
	unsigned char id[16];
	size_t bytes, at = 0;
	time_t now = time(NULL);
	struct tm day;
	int version = 0;

	*gpu = (struct bench_gpu){
		.cc_major = read_attribute(s->device, COMPUTE_CAPABILITY_MAJOR),
		.cc_minor = read_attribute(s->device, COMPUTE_CAPABILITY_MINOR),
		.sms = read_attribute(s->device, MULTIPROCESSOR_COUNT),
		.boost_khz = read_attribute(s->device, CLOCK_RATE),
		.memory_khz = read_attribute(s->device, MEMORY_CLOCK_RATE),
		.bus_bits = read_attribute(s->device, GLOBAL_MEMORY_BUS_WIDTH),
		.l2_bytes = read_attribute(s->device, L2_CACHE_SIZE),
		.shared_sm_bytes = read_attribute(s->device, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
		.shared_block_bytes = read_attribute(s->device, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
	};
	snprintf(gpu->name, sizeof(gpu->name), "%s", s->gpu);
	snprintf(gpu->driver, sizeof(gpu->driver), "%s", s->driver);
	snprintf(gpu->nvsnoop, sizeof(gpu->nvsnoop), "%s", NVS_VERSION);
	read_cpu(gpu->cpu, sizeof(gpu->cpu));
	if (!cu.cuDriverGetVersion(&version) && version > 0)
		gpu->driver_version = (uint64_t)version;
	if (cu.cuDeviceTotalMem_v2 && !cu.cuDeviceTotalMem_v2(&bytes, s->device))
		gpu->memory_bytes = bytes;
	if (cu.cuDeviceGetUuid_v2 && !cu.cuDeviceGetUuid_v2(id, s->device)) {
		at = (size_t)snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU");
		for (int i = 0; i < 16; i++)
			at += (size_t)snprintf(gpu->uuid + at, sizeof(gpu->uuid) - at, "%s%02x",
					       !i || (i >= 4 && i <= 10 && !(i & 1)) ? "-" : "",
					       id[i]);
	}
	if (gmtime_r(&now, &day))
		strftime(gpu->date, sizeof(gpu->date), "%Y-%m-%d", &day);
}

void bench_run_open(struct bench_run *run, int device)
{
	probe_open_context(&run->session, device);
	if (!cu.cuModuleLoadData || !cu.cuModuleGetFunction || !cu.cuModuleUnload ||
	    !cu.cuLaunchKernel)
		probe_die("libcuda.so.1 has no cuLaunchKernel: the driver is too old");
	bench_gpu_read(&run->gpu, &run->session);
	PROBE_CU(cuMemAlloc_v2(&run->control, BENCH_CONTROL));
	PROBE_CU(cuMemAlloc_v2(&run->data, BENCH_DATA));
	PROBE_CU(cuStreamCreate(&run->session.work, PROBE_STREAM_NON_BLOCKING));
	bench_run_begin(run);
}
