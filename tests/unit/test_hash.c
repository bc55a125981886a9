/* SPDX-License-Identifier: MIT */
/* The probe loops, and a table under random inserts and removals, against a plain list. */
#include <stdbool.h>
#include "preload/base/hash.h"
#include "tests/unit/expect.h"

#define BITS 6
#define SIZE (1u << BITS)
#define KEYS 200u
#define MAX_USED (SIZE - 1)

static struct entry {
	uint64_t key;
	uint32_t value;
} table[SIZE];
static uint32_t expected[KEYS + 1]; /* value by key; 0: not in the table */

static uint32_t next_random(void)
{
	static uint64_t state = 12345;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33);
}

static void check_all(void)
{
	for (uint64_t key = 1; key <= KEYS; key++) {
		const struct entry *e = nvs_hash_find(table, sizeof(*e), BITS, key);

		if (expected[key] ? e->key != key || e->value != expected[key] : e->key != 0)
			EXPECT(!"an entry is lost, or one is left");
	}
}

static void test_table(void)
{
	uint32_t used = 0;

	for (uint32_t i = 1; i < 20000; i++) {
		uint64_t key = next_random() % KEYS + 1;
		struct entry *e = nvs_hash_find(table, sizeof(*e), BITS, key);

		if (e->key) {
			nvs_hash_remove(table, sizeof(*e), BITS, e);
			expected[key] = 0;
			used--;
		} else if (used < MAX_USED) {
			*e = (struct entry){key, i};
			expected[key] = i;
			used++;
		}
		check_all();
	}
	EXPECT(used > SIZE / 2);
}

static void test_loops(void)
{
	static const uint8_t full[8] = {[0] = 1, [6] = 1, [7] = 1};
	uint32_t seen = 0, last = 99, at = 6;

	NVS_HASH_PROBE(at, 8, full[at]);
	EXPECT(at == 1);
	NVS_HASH_EACH(k, 14, 4, 8)
	{
		seen |= 1u << k;
		last = k;
	}
	EXPECT(seen == 0xc3 && last == 1);
	EXPECT(nvs_hash(1, 32) == 0x9e3779b9 && nvs_hash(1, 6) == 0x27);
}

int main(void)
{
	test_table();
	test_loops();
	return expect_done();
}
