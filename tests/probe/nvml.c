/* SPDX-License-Identifier: MIT */
/* Stands in for libnvidia-ml.so.1: a GPU at a known clock, with known limits. */
#include <string.h>

static int gpu;

int nvmlInit_v2(void)
{
	return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
	*device = &gpu;
	return bus && *bus ? 0 : 2;
}

int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz)
{
	*mhz = which == 1 ? 1755 : 0;
	return device == &gpu ? 0 : 2;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
	*milliwatts = 123000;
	return 0;
}

int nvmlDeviceGetTemperature(void *device, int which, unsigned *celsius)
{
	*celsius = 55;
	return 0;
}

/* Idle, by power, and by temperature. */
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *mask)
{
	*mask = 0x1 | 0x4 | 0x20;
	return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts)
{
	*milliwatts = 700500;
	return 0;
}

int nvmlDeviceGetEccMode(void *device, int *current, int *pending)
{
	*current = 1;
	*pending = 0;
	return 0;
}

int nvmlDeviceGetTotalEccErrors(void *device, int type, int counter, unsigned long long *count)
{
	*count = type == 1 && !counter ? 3 : 99;
	return 0;
}
