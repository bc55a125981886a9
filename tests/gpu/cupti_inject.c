/* SPDX-License-Identifier: MIT */
/* A tracer built on CUPTI, to compare costs: loaded by CUDA_INJECTION64_PATH, it records kernels,
 * copies, driver and runtime calls, and discards the records. nvsnoop itself does not use CUPTI. */
#include <cupti.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define BUFFER_BYTES (4u << 20)

static unsigned long long records;

static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
				      size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;

	while (valid && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		records++;
	free(buffer);
}

static void at_exit(void)
{
	cuptiActivityFlushAll(1);
	if (getenv("CUPTI_INJECT_VERBOSE"))
		fprintf(stderr, "cupti: %llu records\n", records);
}

static int enable(CUpti_ActivityKind kind, const char *name)
{
	CUptiResult result = cuptiActivityEnable(kind);

	if (result == CUPTI_SUCCESS)
		return 1;
	fprintf(stderr, "cupti: %s cannot be recorded (%d)\n", name, (int)result);
	return 0;
}

/* Called by the driver when it is initialised. 1: go on. */
int InitializeInjection(void)
{
	if (cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed) != CUPTI_SUCCESS)
		return 0;
	enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels");
	enable(CUPTI_ACTIVITY_KIND_MEMCPY, "copies");
	enable(CUPTI_ACTIVITY_KIND_DRIVER, "driver calls");
	enable(CUPTI_ACTIVITY_KIND_RUNTIME, "runtime calls");
	atexit(at_exit);
	return 1;
}
