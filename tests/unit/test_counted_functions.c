/* SPDX-License-Identifier: MIT */
/* Two threads that ask for the names of two functions with the same place in the cache: each gets
 * its own. */
/* LINK: preload */
#include <stdatomic.h>
#include <string.h>
#include "preload/api/count/counter_reading.h"
#include "preload/base/preload.h"
#include "tests/unit/expect.h"

static void step(const volatile void *to);
static const char *name_of(uint64_t function);
#undef atomic_store
#define atomic_store(to, value) (step(to), atomic_store_explicit(to, value, memory_order_seq_cst))
#define nvs_api_function_name name_of
#include "preload/api/count/counter_memory.c"

static struct nvs_counting *counting;
static uint64_t functions[2];
static bool interrupt;

static const char *name_of(uint64_t function)
{
	return function == functions[0] ? "first" : "second";
}

static struct nvs_counted_name *ask(int which)
{
	return nvs_counting_function(counting, functions[which]);
}

/* The other thread comes before the key of the first is stored. */
static void step(const volatile void *to)
{
	uint32_t at = nvs_hash(nvs_api_known_key(functions[0]), NVS_API_KNOWN_BITS);

	if (!interrupt || to != &counting->function[at].key)
		return;
	interrupt = false;
	EXPECT_STR(ask(1)->text, "second");
}

/* Two handles with the same first place. */
static void choose_functions(void)
{
	uint64_t f = 0x7000;

	functions[0] = f;
	do
		f += 16;
	while (nvs_hash(nvs_api_known_key(f), NVS_API_KNOWN_BITS) !=
	       nvs_hash(nvs_api_known_key(functions[0]), NVS_API_KNOWN_BITS));
	functions[1] = f;
}

int main(void)
{
	counting = nvs_alloc(sizeof(*counting));
	nvs_counting_add(counting, "first", 0x1000);
	nvs_counting_add(counting, "second", 0x2000);
	choose_functions();
	interrupt = true;
	EXPECT_STR(ask(0)->text, "first");
	EXPECT(!interrupt);
	for (int i = 0; i < 2; i++) {
		EXPECT_STR(ask(0)->text, "first");
		EXPECT_STR(ask(1)->text, "second");
	}
	return expect_done();
}
