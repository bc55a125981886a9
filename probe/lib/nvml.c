/* SPDX-License-Identifier: MIT */
/* Loads NVML and reads the state of the GPU. Values are those of nvml.h. */
#include "probe/lib/nvml.h"
#include <dlfcn.h>
#include <string.h>
#include "probe/lib/driver.h"

enum { CLOCK_SM = 1, UNCORRECTED = 1, VOLATILE = 0 };

const struct probe_clock_limit probe_clock_limits[PROBE_CLOCK_LIMITS] = {
	{"power", 0x4},
	{"hardware", 0x8},
	{"temperature", 0x20},
	{"temperature, hardware", 0x40},
	{"power, hardware", 0x80},
};

static bool set_function(void *lib, const char *name, void *call)
{
	void *found = dlsym(lib, name);

	memcpy(call, &found, sizeof(found));
	return found;
}

/* The address of the current context's GPU. */
static bool find_bus(char *bus, int size)
{
	int device;

	return cu.cuDeviceGetPCIBusId && !cu.cuCtxGetDevice(&device) &&
	       !cu.cuDeviceGetPCIBusId(bus, size, device);
}

bool probe_nvml_open(struct probe_nvml *m, const char *bus)
{
	void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*init)(void), (*device_of)(const char *bus, void **device);
	char own[32];

	*m = (struct probe_nvml){0};
	if (!lib || !set_function(lib, "nvmlInit_v2", &init) ||
	    !set_function(lib, "nvmlDeviceGetHandleByPciBusId_v2", &device_of) ||
	    !set_function(lib, "nvmlDeviceGetClockInfo", &m->clock) ||
	    !set_function(lib, "nvmlDeviceGetPowerUsage", &m->power) ||
	    !set_function(lib, "nvmlDeviceGetTemperature", &m->temperature) || init() ||
	    (!bus && !find_bus(own, sizeof(own))) || device_of(bus ? bus : own, &m->device)) {
		m->device = NULL;
		return false;
	}
	set_function(lib, "nvmlDeviceGetCurrentClocksThrottleReasons", &m->reasons);
	set_function(lib, "nvmlDeviceGetEnforcedPowerLimit", &m->power_limit);
	set_function(lib, "nvmlDeviceGetEccMode", &m->ecc_mode);
	set_function(lib, "nvmlDeviceGetTotalEccErrors", &m->ecc_errors);
	return true;
}

unsigned probe_nvml_sm_mhz(const struct probe_nvml *m)
{
	unsigned mhz = 0;

	return m->device && !m->clock(m->device, CLOCK_SM, &mhz) ? mhz : 0;
}

unsigned probe_nvml_power_limit(const struct probe_nvml *m)
{
	unsigned milliwatts = 0;

	return m->device && m->power_limit && !m->power_limit(m->device, &milliwatts) ? milliwatts
										      : 0;
}

unsigned probe_nvml_ecc(const struct probe_nvml *m, uint64_t *errors)
{
	unsigned long long count = 0;
	int current = 0, pending = 0;

	*errors = 0;
	if (!m->device || !m->ecc_mode || m->ecc_mode(m->device, &current, &pending))
		return 0;
	if (current && m->ecc_errors && !m->ecc_errors(m->device, UNCORRECTED, VOLATILE, &count))
		*errors = count;
	return current ? 2 : 1;
}
