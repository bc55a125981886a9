/* SPDX-License-Identifier: MIT */
/* LINK: bench cli decode */
/* What is read of the GPU's state with NVML, whose functions are stood in for here. */
#include "probe/bench/frame/internal.h"
#include "tests/unit/expect.h"

static unsigned long long mask;
static int ecc = 1, failure;

static int get_reasons(void *device, unsigned long long *of)
{
	*of = mask;
	return failure;
}

static int get_limit(void *device, unsigned *milliwatts)
{
	*milliwatts = 700500;
	return failure;
}

static int get_mode(void *device, int *current, int *pending)
{
	*current = ecc;
	*pending = !ecc;
	return failure;
}

/* Uncorrected ones since the driver was loaded. */
static int get_errors(void *device, int type, int counter, unsigned long long *count)
{
	*count = type == 1 && counter == 0 ? 3 : 99;
	return failure;
}

static void unknown(void)
{
	struct probe_nvml nvml = {.device = &mask};
	struct bench_gpu gpu = {.name = "x"};

	bench_gpu_take_state(&gpu, &nvml);
	EXPECT(!gpu.power_limit_mw && !gpu.ecc && !gpu.limit_readings && !gpu.limits);
	EXPECT_STR(bench_clock_limits(&gpu), "");
}

static void known(void)
{
	struct probe_nvml nvml = {.device = &mask,
				  .reasons = get_reasons,
				  .power_limit = get_limit,
				  .ecc_mode = get_mode,
				  .ecc_errors = get_errors};
	struct bench_gpu gpu = {.name = "x"};

	mask = 0x1; /* idle: no limit */
	bench_gpu_take_state(&gpu, &nvml);
	EXPECT(gpu.limit_readings == 1 && !gpu.limits);
	EXPECT_STR(bench_clock_limits(&gpu), "none");
	EXPECT(gpu.power_limit_mw == 700500 && gpu.ecc == 2 && gpu.ecc_errors == 3);
	mask = 0x4;
	bench_gpu_take_state(&gpu, &nvml);
	EXPECT_STR(bench_clock_limits(&gpu), "power");
	mask = 0x20 | 0x80;
	ecc = 0;
	bench_gpu_take_state(&gpu, &nvml);
	EXPECT_STR(bench_clock_limits(&gpu), "power; temperature; power, hardware");
	EXPECT(gpu.limit_readings == 3 && gpu.ecc == 1 && !gpu.ecc_errors);
	failure = 3; /* not supported */
	bench_gpu_take_state(&gpu, &nvml);
	EXPECT(gpu.limit_readings == 3 && !gpu.ecc && !gpu.power_limit_mw);
	EXPECT_STR(bench_clock_limits(&gpu), "power; temperature; power, hardware");
}

int main(void)
{
	unknown();
	known();
	return expect_done();
}
