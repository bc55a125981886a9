/* SPDX-License-Identifier: MIT */
/* LINK: preload/rm/abi.o preload/rm/abi_table.o */
/* LINK: preload/base/arena.o preload/base/state.o preload/rm/spans.o */
/* LINK: preload/rm/rm_state.o preload/rm/object_identity.o preload/rm/files.o */
/* LINK: preload/rm/hooked_call.o */
/* LINK: preload/rm/objects.o preload/rm/mappings.o preload/rm/doorbells.o preload/rm/rmmaps.o */
/* LINK: preload/rm/gpumaps.o preload/rm/segments.o preload/rm/channels.o */
/* LINK: preload/rm/faults.o preload/rm/publish.o */
/* LINK: preload/rm/forms.o */
/* LINK: preload/rm/records.o preload/rm/fdkind.o preload/rm/ioctls.o preload/rm/uvm.o */
/* LINK: preload/rm/replay.o preload/rm/mapscheck.o */
/* Structures whose form does not follow from the release, and calls in an unknown form. */
#include "rm_fake.h"

#define A 0xc1000001u

/* A channel of parameters whose words from 32 on are FIRST, SECOND, and whose offsets of USERD
 * stand at AT. */
static const struct nvs_channel *formed(uint32_t first, uint32_t second, unsigned at,
					uint64_t offset, uint32_t token)
{
	uint8_t p[376] = {0};

	put64(p, 8, 0x200600000);
	put32(p, 16, 1024);
	put32(p, 28, 9);
	put32(p, 32, first);
	put32(p, 36, second);
	put64(p, at, offset);
	put32(p, at + 64, 11);
	rm_alloc(A, 2, token, 0xc86f, p);
	rm_control(A, token, 0xc36f0108, &token, 4);
	return viewed(token);
}

/* Where parameters have USERD is told by what is there, whatever the release is. */
static void test_channel_forms(void)
{
	static const uint32_t releases[] = {NVS_RELEASE(580, 159, 4), NVS_RELEASE(610, 57, 4),
					    NVS_RELEASE(700, 1, 1)};
	uint8_t memory[128] = {0};

	for (unsigned i = 0; i < 3; i++) {
		fresh(releases[i]);
		make_client(A, 0);
		ring_memory(A, 0x200600000);
		CHECK_EQ(formed(20, 0, 64, 0x2000, 0x30)->entries, 1024);
		CHECK_EQ((uintptr_t)viewed(0x30)->put, 0x20060208c);
		CHECK_EQ(object(A, 0x30)->channel->engine, 11);
		rm_free(A, 0x30);
		for (uint32_t handle_vaspace = 0; handle_vaspace <= 9; handle_vaspace += 9) {
			CHECK_EQ(formed(handle_vaspace, 20, 72, 0x3000, 0x31)->entries, 1024);
			CHECK_EQ((uintptr_t)viewed(0x31)->put, 0x20060308c);
			CHECK_EQ(object(A, 0x31)->channel->engine, 11);
			rm_free(A, 0x31);
		}
	}
	/* In no form: two objects, an offset that is none, or behind the end, or another class. */
	CHECK(!last_remark(NVS_REMARK_CHANNEL_FORM));
	CHECK_EQ(formed(20, 20, 64, 0x2000, 0x32)->entries, 0);
	CHECK(last_remark(NVS_REMARK_CHANNEL_FORM)->handle == 0x32);
	CHECK_EQ(formed(20, 0, 64, 0x2010, 0x33)->entries, 0);
	CHECK_EQ(formed(20, 0, 64, 0x200000, 0x34)->entries, 0);
	CHECK_EQ(formed(0, 3, 72, 0x2000, 0x35)->entries, 0);
	CHECK_EQ(formed(3, 0, 64, 0x2000, 0x36)->entries, 0);
	/* Memory that is seen later. */
	CHECK_EQ(formed(0, 21, 72, 0x400, 0x37)->entries, 0);
	put64(memory, 64, 0x1000);
	rm_alloc(A, 2, 21, 0x003e, memory);
	map_memory(A, 21, 0x1000, 0, DEV_CTL, 0x7b0000000000, PROT_READ | PROT_WRITE);
	CHECK_EQ((uintptr_t)viewed(0x37)->put, 0x7b000000048c);
}

/* Calls whose form is unknown are reported once for each form. */
static void test_unknown_forms(void)
{
	uint8_t a[64] = {0}, params[376] = {0};

	fresh(NVS_RELEASE(999, 1, 1));
	make_client(A, 0);
	escape(ctl, 0x2b, 56, a, -1);
	CHECK_EQ(last_remark(NVS_REMARK_CALL_FORM)->client, 0x2b);
	CHECK_EQ(last_remark(NVS_REMARK_CALL_FORM)->handle, 56);
	escape(ctl, 0x28, 16, a, -1);
	CHECK_EQ(last_remark(NVS_REMARK_CALL_FORM)->client, 0x28);
	escape(ctl, 0x32, 16, a, -1); /* known, and of no interest */
	CHECK_EQ(last_remark(NVS_REMARK_CALL_FORM)->client, 0x28);
	/* Serialized parameters are not read. */
	put32(a, 0, A);
	put32(a, 4, 2);
	put32(a, 8, 0x40);
	put32(a, 12, 0xc86f);
	put64(a, 16, (uintptr_t)params);
	put32(a, 36, NVOS64_FLAGS_FINN_SERIALIZED);
	escape(ctl, 0x2b, 48, a, 40);
	CHECK_EQ(last_remark(NVS_REMARK_SERIALIZED)->client, 0xc86f);
	CHECK_EQ(object(A, 0x40)->params_length, 0);
	/* An unknown class that is mapped. */
	rm_alloc(A, 2, 0x41, 0x00c9, NULL);
	CHECK(!last_remark(NVS_REMARK_MAPPED_CLASS));
	map_memory(A, 0x41, 0x1000, 0, DEV_CTL, 0x7b0000000000, PROT_READ | PROT_WRITE);
	CHECK_EQ(last_remark(NVS_REMARK_MAPPED_CLASS)->client, 0x00c9);
}

/* Parameters that are shorter than those of the newest release, at the end of what is mapped. */
static void test_short_params(void)
{
	uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
	uint8_t *end = pages + 4096;

	fresh(NVS_RELEASE(999, 1, 1));
	make_client(A, 0);
	munmap(end, 4096);
	put32(end - 300, 16, 1024);
	rm_alloc(A, 2, 0x42, 0xc86f, end - 300);
	CHECK_EQ(object(A, 0x42)->params_length, 300);
	CHECK_EQ(object(A, 0x42)->channel->entries, 1024);
	rm_alloc(A, 2, 0x43, 0xc86f, end);
	CHECK_EQ(object(A, 0x43)->params_length, 0);
	munmap(pages, 4096);
}

/* Said once, and only where it is on. */
static void test_confidential(void)
{
	uint32_t before;

	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 0);
	before = nvs_rm()->nremarks;
	rm_control(A, A, 0xcb330101, (uint8_t[8]){1, 2, 2, 0}, 5);
	CHECK(!last_remark(NVS_REMARK_CONFIDENTIAL));
	rm_control(A, A, 0xcb330101, (uint8_t[8]){1, 2, 2, 2}, 6);
	rm_control(A, A, 0xcb330101, (uint8_t[8]){1, 2, 2, 2}, 6);
	CHECK(last_remark(NVS_REMARK_CONFIDENTIAL));
	CHECK_EQ(nvs_rm()->nremarks, before + 1);
}

int main(void)
{
	test_channel_forms();
	test_confidential();
	test_unknown_forms();
	test_short_params();
	return finish();
}
