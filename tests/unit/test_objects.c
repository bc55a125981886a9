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
/* Objects and channels: which are freed together, and every form of the calls by driver release. */
#include "rm_fake.h"

#define A 0xc1000001u
#define B 0xc1000002u

static void doorbell(uint32_t client, uint32_t handle, uint64_t address)
{
	rm_alloc(client, 3, handle, 0xc661, NULL);
	map_memory(client, handle, 0x10000, 0x1000000a0000, DEV_GPU(0), address, PROT_WRITE);
}

static void test_tree(void)
{
	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 0);
	make_client(B, 1);
	rm_alloc(A, 2, 15, 0xa06c, NULL);
	rm_alloc(A, 15, 16, 0x9067, NULL);
	rm_alloc(A, 16, 17, 0xcbc0, NULL);
	CHECK(object(A, 17) && object(A, 17)->up == object(A, 16));
	CHECK_EQ(object(A, 17)->gpu, 0);
	CHECK_EQ(object(B, 3)->gpu, 1);
	CHECK_EQ(object(A, A)->gpu, NVS_NONE);

	rm_status = 0x57;
	rm_free(A, 15); /* refused: nothing changes */
	rm_alloc(A, 2, 40, 0x0040, NULL);
	rm_status = 0;
	CHECK(object(A, 17) && !object(A, 40));

	rm_free(A, 15);
	CHECK(!object(A, 15) && !object(A, 16) && !object(A, 17));
	CHECK(object(A, 2) && object(B, 2));
	rm_free(A, A);
	CHECK(!object(A, A) && !object(A, 9) && object(B, 9));
	/* Handles come again. */
	make_client(A, 1);
	CHECK_EQ(object(A, 3)->gpu, 1);
}

static void test_alloc_forms(void)
{
	static const struct {
		uint32_t release;
		unsigned size;
		int status;
	} forms[] = {
		{NVS_RELEASE(515, 43, 4), 32, 24},
		{NVS_RELEASE(530, 41, 3), 32, 24},
		{NVS_RELEASE(535, 43, 2), 32, 28},
		{NVS_RELEASE(595, 45, 4), 32, 28},
		{NVS_RELEASE(515, 43, 4), 40, 32},
		{NVS_RELEASE(525, 60, 11), 40, 36},
		{NVS_RELEASE(535, 43, 2), 48, 40},
		{NVS_RELEASE(580, 159, 4), 48, 40},
		{0, 48, 40},
	};

	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		uint8_t space[56] = {0}, a[48];

		fresh(forms[i].release);
		make_client(A, 0);
		put32(space, 0, 3);
		for (unsigned bad = 0; bad < 2; bad++) {
			memset(a, 0, sizeof(a));
			put32(a, 0, A);
			put32(a, 4, 2);
			put32(a, 8, 50 + bad);
			put32(a, 12, 0x90f1);
			put64(a, 16, (uintptr_t)space);
			rm_status = bad ? 0x22 : 0;
			escape(ctl, 0x2b, forms[i].size, a, forms[i].status);
		}
		rm_status = 0;
		CHECK(object(A, 50) && !object(A, 51));
		CHECK_EQ(object(A, 50)->params_length,
			 forms[i].release < NVS_RELEASE(580, 65, 6) && forms[i].release ? 48 : 56);
		/* Index 3 names the device's own address space. */
		CHECK_EQ(nvs_object_vaspace(object(A, 50)), object(A, 2)->entity->id);
		CHECK(nvs_object_vaspace(object(A, 9)) == object(A, 9)->entity->id);
	}
}

static void test_serialized(void)
{
	uint8_t a[48] = {0}, device[56] = {5};

	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 0);
	put32(a, 0, A);
	put32(a, 4, A);
	put32(a, 8, 60);
	put32(a, 12, 0x0080);
	put64(a, 16, (uintptr_t)device);
	put32(a, 36, 1);
	escape(ctl, 0x2b, 48, a, 40);
	CHECK_EQ(object(A, 60)->params_length, 0);
	CHECK_EQ(object(A, 60)->gpu, 0);
}

static void test_xfer(void)
{
	uint8_t inner[48] = {0}, outer[16] = {0};

	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 0);
	put32(inner, 0, A);
	put32(inner, 4, 2);
	put32(inner, 8, 70);
	put32(inner, 12, 0x0040);
	put32(outer, 0, 0x2b);
	put32(outer, 4, 48);
	put64(outer, 8, (uintptr_t)inner);
	escape(ctl, 0xd3, 16, outer, -1);
	CHECK(object(A, 70) != NULL);
	memset(inner, 0, sizeof(inner));
	put32(inner, 0, A);
	put32(inner, 8, 70);
	put32(outer, 0, 0x29);
	put32(outer, 4, 16);
	escape(ctl, 0xd3, 16, outer, -1);
	CHECK(object(A, 70) == NULL);
}

static void test_vid_heap(void)
{
	uint8_t a[184] = {0};

	fresh(NVS_RELEASE(550, 54, 14));
	make_client(A, 0);
	put32(a, 0, A);
	put32(a, 4, 2);
	put32(a, 8, 2);
	put32(a, 44, 80);
	put32(a, 56, 1u << 25);
	escape(ctl, 0x4a, 184, a, 20);
	CHECK(object(A, 80) && object(A, 80)->object_class == 0x003e);
	put32(a, 44, 81);
	put32(a, 56, 0);
	escape(ctl, 0x4a, 184, a, 20);
	CHECK(object(A, 81) && object(A, 81)->object_class == 0x0040);
	put32(a, 8, 3);
	put32(a, 44, 80);
	rm_status = 1;
	escape(ctl, 0x4a, 184, a, 20);
	CHECK(object(A, 80) != NULL);
	rm_status = 0;
	escape(ctl, 0x4a, 184, a, 20);
	CHECK(!object(A, 80) && object(A, 81));
}

static void test_channel(void)
{
	struct nvs_rec_channel *r;
	unsigned at, free_at, n;

	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 0);
	doorbell(A, 5, 0x7f0000000000);
	CHECK_EQ(find_step(0, "mprotect", 0x7f0000000000), nsteps); /* no session yet */
	ring_memory(A, 0x200600000);
	make_channel(A, 2, 30, 0x200600000, 1024, 20, 0x2000, 0x10012);
	CHECK(session_on);
	CHECK_EQ(view->ndoorbells, 1);
	CHECK_EQ((uintptr_t)viewed(0x10012)->put, 0x20060208c);
	r = last_record(NVS_REC_CHANNEL);
	CHECK_EQ(r->flags, NVS_CHAN_BOUND);
	CHECK_EQ(r->token, 0x10012);
	CHECK_EQ(r->vaspace, 9);

	/* A new token, and one that another channel has had. */
	make_channel(A, 2, 31, 0x200603000, 1024, 20, 0x5000, 0x10013);
	rm_control(A, 30, 0xc36f0108, &(uint32_t){0x10099}, 4);
	CHECK(!viewed(0x10012) && viewed(0x10099));
	rm_control(A, 31, 0xc36f0108, &(uint32_t){0x10012}, 4);
	CHECK_EQ(viewed(0x10012)->number, object(A, 31)->channel->number);

	/* GP_PUT is read after the trap has forgotten the channel and before the call. */
	n = nsteps;
	put_address = 0x20060208c;
	put_value = 77;
	atomic_store((_Atomic uint64_t *)&object(A, 30)->channel->slot->claim,
		     5ull << NVS_PUT_BITS | 76);
	rm_free(A, 30);
	at = find_step(n, "getput", 0x20060208c);
	free_at = find_step(n, "ioctl", 0x29);
	CHECK(n < at && at < free_at && free_at < nsteps);
	CHECK(find_step(n, "publish", 1) < at && steps[find_step(n, "publish", 1)].c == 1);
	CHECK_EQ(find_step(at + 1, "getput", 0x20060208c), nsteps);
	{
		struct nvs_rec_channel_gone *gone = last_record(NVS_REC_CHANNEL_GONE);

		CHECK_EQ(gone->final_put, 77);
		CHECK_EQ(gone->last_put, 76);
		CHECK_EQ(gone->submissions, 5);
		CHECK_EQ(gone->rec.flags, 0);
	}
	CHECK(!viewed(0x10099) && viewed(0x10012));

	/* A free that is refused leaves channel and slot as they are. */
	n = count_records(NVS_REC_CHANNEL_GONE);
	rm_status = 3;
	rm_free(A, A);
	rm_status = 0;
	CHECK(viewed(0x10012) != NULL);
	CHECK_EQ(count_records(NVS_REC_CHANNEL_GONE), n);
	/* But its doorbell's alias went ahead of the call: the page is open, and the trace says so.
	 *  */
	CHECK_EQ(view->ndoorbells, 0);
	CHECK_EQ(((struct nvs_rec *)last_record(NVS_REC_CPU_MAP))->flags, NVS_MAP_UNARMED);
}

/* USERD without memory of its own; memory that comes after the channel; memory that goes under it.
 *  */
static void test_late_binding(void)
{
	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 0);
	make_channel(A, 2, 30, 0x200600000, 512, 0, 0, 0x30001);
	CHECK_EQ(viewed(0x30001)->entries, 0);
	map_memory(A, 30, 0x1000, 0x5000, DEV_GPU(0), 0x7e0000000000, PROT_READ | PROT_WRITE);
	CHECK_EQ(viewed(0x30001)->entries, 0);
	ring_memory(A, 0x200600000);
	CHECK_EQ(viewed(0x30001)->entries, 512);
	CHECK_EQ((uintptr_t)viewed(0x30001)->put, 0x7e000000008c);
	nvs_maps_munmap((void *)0x7e0000000000, 0x1000);
	CHECK_EQ(viewed(0x30001)->entries, 0);
	map_memory(A, 30, 0x1000, 0x5000, DEV_GPU(0), 0x7e0000010000, PROT_READ | PROT_WRITE);
	CHECK_EQ((uintptr_t)viewed(0x30001)->put, 0x7e000001008c);
	uvm_free(0x200600000, 0x200000);
	CHECK_EQ(viewed(0x30001)->entries, 0);
	CHECK_EQ(((struct nvs_rec_channel *)last_record(NVS_REC_CHANNEL))->flags, 0);
}

static void test_old_channel(void)
{
	uint8_t p[368] = {0};
	struct nvs_rec_remark *r;

	fresh(NVS_RELEASE(535, 54, 3));
	make_client(A, 0);
	rm_alloc(A, 2, 30, 0xc06f, p);
	rm_control(A, 30, 0xc36f0108, &(uint32_t){0x777}, 4);
	CHECK(object(A, 30)->channel->flags & NVS_CHAN_NO_DOORBELL);
	CHECK_EQ(object(A, 30)->params_length, 304);
	CHECK(!viewed(0x777));
	r = last_record(NVS_REC_REMARK);
	CHECK(r && r->kind == NVS_REMARK_NO_DOORBELL);
}

static void test_dup(void)
{
	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 0);
	make_client(B, 0);
	/* Memory of A, known to B by another handle: mapped for the GPU by B, for the CPU by A. */
	rm_alloc(A, 2, 20, 0x003e, NULL);
	rm_dup(B, 2, 77, A, 20);
	CHECK(object(B, 77) && object(B, 77)->entity == object(A, 20)->entity);
	map_memory(A, 20, 0x10000, 0, DEV_CTL, 0x7d0000000000, PROT_READ);
	uvm_map(0x300000000, 0x10000, 0, B, 77);
	CHECK_EQ(cpu_of(0x300001234, 0), 0x7d0000001234);
	rm_free(A, 20); /* ends the CPU mapping's meaning, not the memory */
	CHECK_EQ(cpu_of(0x300001234, 0), 0);
	map_memory(B, 77, 0x10000, 0, DEV_CTL, 0x7d0000100000, PROT_READ);
	CHECK_EQ(cpu_of(0x300001234, 0), 0x7d0000101234);
	/* A usermode object by its second name. */
	rm_alloc(A, 3, 5, 0xc461, NULL);
	rm_dup(B, 3, 78, A, 5);
	map_memory(B, 78, 0x10000, 0, DEV_GPU(0), 0x7c0000000000, PROT_WRITE);
	CHECK_EQ(view->ndoorbells, 1);
	rm_free(A, 5);
	CHECK_EQ(view->ndoorbells, 1);
	rm_free(B, 78);
	CHECK_EQ(view->ndoorbells, 0);
	/* From a client that is not ours. */
	rm_dup(B, 2, 79, 0xdead, 1);
	CHECK(object(B, 79) &&
	      ((struct nvs_rec_remark *)last_record(NVS_REC_REMARK))->kind == NVS_REMARK_IMPORTED);
}

/* Two GPUs: the same token on both. */
static void test_two_gpus(void)
{
	unsigned seen = 0;

	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 0);
	make_client(B, 1);
	ring_memory(A, 0x200600000);
	ring_memory(B, 0x210600000);
	make_channel(A, 2, 30, 0x200600000, 1024, 20, 0x2000, 0xa);
	make_channel(B, 2, 30, 0x210600000, 1024, 20, 0x2000, 0xa);
	for (uint32_t i = 0; i < view->nchannels; i++) {
		const struct nvs_channel *c = &view->channels[i];

		CHECK_EQ((uintptr_t)c->gpfifo, c->gpu ? 0x210600000 : 0x200600000);
		seen |= 1u << c->gpu;
	}
	CHECK_EQ(seen, 3);
}

/* The trap is told nothing anew of memory that the process does not see. */
static void test_unseen_memory(void)
{
	uint64_t generation, seen = 0x200800000, unseen = 0x200a00000;

	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 0);
	doorbell(A, 5, 0x7f0000000000);
	ring_memory(A, 0x200600000);
	make_channel(A, 2, 30, 0x200600000, 1024, 20, 0x2000, 0xa);
	generation = view->generation;
	rm_alloc(A, 2, 40, 0x0040, NULL);
	uvm_map(unseen, 0x200000, 0, A, 40);
	uvm_free(unseen, 0x200000);
	rm_free(A, 40);
	CHECK_EQ(view->generation, generation);
	rm_alloc(A, 2, 41, 0x003e, NULL);
	uvm_map(seen, 0x1000, 0, A, 41);
	CHECK_EQ(view->generation, generation);
	map_memory(A, 41, 0x1000, 0, DEV_CTL, 0x7b0000000000, PROT_READ | PROT_WRITE);
	CHECK(view->generation > generation && cpu_of(seen, 9) == 0x7b0000000000);
	rm_free(A, 41);
	CHECK(viewed(0xa) != NULL);
}

/* A step of the channel with TOKEN since FROM. */
static bool happened(unsigned from, const char *what, uint32_t token)
{
	const struct nvs_channel *c = viewed(token);
	uint32_t number = c ? c->number : object(A, 31)->channel->number;

	return find_step(from, what, number) < nsteps;
}

/* A shadow needs somebody who carries what is in it: no channel has one that is rung out of sight.
 */
static void test_out_of_sight(void)
{
	struct nvs_rec_remark *r;
	unsigned n = nsteps;

	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 5);
	ring_memory(A, 0x200600000);
	make_channel(A, 2, 30, 0x200600000, 1024, 20, 0x2000, 0xa);
	CHECK(viewed(0xa)->entries == 1024 && !happened(n, "shadow", 0xa));
	r = last_record(NVS_REC_REMARK);
	CHECK(r && r->kind == NVS_REMARK_NO_DOORBELL_PAGE && r->gpu == 5 && r->handle == 30);
	/* It comes: of whatever generation. */
	n = nsteps;
	rm_alloc(A, 3, 5, 0xd061, NULL);
	map_memory(A, 5, 0x10000, 0, DEV_GPU(0), 0x7f0000000000, PROT_WRITE);
	CHECK(view->ndoorbells == 1 && happened(n, "shadow", 0xa));
	/* A channel whose token nobody has asked for. */
	n = nsteps;
	make_channel(A, 2, 31, 0x200603000, 1024, 20, 0x5000, NVS_NONE);
	CHECK(object(A, 31)->channel->flags & NVS_CHAN_BOUND);
	CHECK(!happened(n, "shadow", NVS_NONE));
	rm_control(A, 31, 0xc36f0108, &(uint32_t){0xb}, 4);
	CHECK(happened(n, "shadow", 0xb));
	/* A page that the trap does not see, beside one that it sees; then that alone; then none.
	 */
	n = nsteps;
	fail_mprotect = 1;
	doorbell(A, 6, 0x7f0000100000);
	fail_mprotect = 0;
	CHECK(view->ndoorbells == 1 && happened(n, "unshadow", 0xa));
	n = nsteps;
	nvs_maps_munmap((void *)0x7f0000100000, 0x10000);
	CHECK(happened(n, "shadow", 0xa));
	n = nsteps;
	nvs_maps_munmap((void *)0x7f0000000000, 0x10000);
	CHECK(view->ndoorbells == 0 && happened(n, "unshadow", 0xa));
	/* It is not said again: there was one. */
	CHECK(last_record(NVS_REC_REMARK) == r);
}

/* An object of unknown class that is mapped as a usermode object is; others are left alone. */
static void test_likely_doorbell(void)
{
	const struct nvs_rec_remark *r;

	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 5);
	rm_alloc(A, 3, 5, 0xc8ff, NULL);
	rm_alloc(A, 2, 6, 0xc8ff, NULL);
	map_memory(A, 5, 0x1000, 0, DEV_GPU(0), 0x7f0000000000, PROT_WRITE);
	map_memory(A, 5, 0x10000, 0, DEV_GPU(0), 0x7f0000100000, PROT_READ);
	map_memory(A, 5, 0x10000, 0, DEV_CTL, 0x7f0000200000, PROT_WRITE);
	map_memory(A, 6, 0x10000, 0, DEV_GPU(0), 0x7f0000300000, PROT_WRITE);
	CHECK(view->ndoorbells == 0 && !last_remark(NVS_REMARK_LIKELY_DOORBELL));
	map_memory(A, 5, 0x10000, 0, DEV_GPU(0), 0x7f0000400000, PROT_WRITE);
	r = last_remark(NVS_REMARK_LIKELY_DOORBELL);
	CHECK(view->ndoorbells == 1 && r && r->gpu == 5 && r->handle == 5);
}

/* Without a handler for its faults no page may refuse stores, whenever it comes. */
static void test_no_handler(void)
{
	unsigned n;

	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 0);
	signals_refused = true;
	nvs_rm_replay();
	n = nsteps;
	doorbell(A, 5, 0x7f0000000000);
	CHECK_EQ(find_step(n, "mprotect", 0x7f0000000000), nsteps);
	CHECK_EQ(view->ndoorbells, 0);
	CHECK_EQ(((struct nvs_rec *)last_record(NVS_REC_CPU_MAP))->flags, NVS_MAP_UNARMED);
	signals_refused = false;
	nvs_rm_replay();
	CHECK_EQ(view->ndoorbells, 1);
}

/* Of most controls nothing is learned, and no lock is taken behind them. */
static void test_other_controls(void)
{
	static const uint32_t request = 0xc020462a;
	uint8_t control[32] = {0};

	put32(control, 8, 0x20800110); /* NV2080_CTRL_CMD_GPU_GET_NAME_STRING */
	CHECK(!nvs_rm_changes_nothing(request, control, 0));
	put32(control, 8, 0x20801303); /* NV2080_CTRL_CMD_FB_GET_INFO_V2 */
	CHECK(nvs_rm_changes_nothing(request, control, 0));
	CHECK(!nvs_rm_changes_nothing(request, control, -1));
	CHECK(!nvs_rm_changes_nothing(0xc018462a, control, 0)); /* a form that is not known */
	CHECK(!nvs_rm_changes_nothing(0xc030462b, control, 0));
}

/* A client dies with the last fd of the open file it lives on. */
static void test_ctl_closed(void)
{
	fresh(NVS_RELEASE(580, 159, 4));
	open_device(9, "/dev/nvidiactl", DEV_CTL);
	make_client(A, 0);
	fd_device[90] = DEV_CTL;
	nvs_fd_duped(9, 90);
	close_device(9);
	CHECK(object(A, 9) != NULL);
	close_device(90);
	CHECK(object(A, 9) == NULL && object(A, A) == NULL);
}

/* What a call that failed was about is not remembered: another one may be refused much later. */
static void test_failed_calls(void)
{
	static const uint32_t free_call = 0xc0104629, unmap_call = 0xc020464f, other = 0xc020462a;
	uint8_t gone[16] = {0}, unmapped[32] = {0}, control[32] = {0};
	struct nvs_transit t = {0}, gone_t = {0}, unmapped_t = {0};
	unsigned before;

	fresh(NVS_RELEASE(580, 159, 4));
	open_device(9, "/dev/nvidiactl", DEV_CTL);
	make_client(A, 0);
	rm_alloc(A, 3, 30, 0xc461, NULL);
	map_memory(A, 30, 0x10000, 0, DEV_GPU(0), 0x7f0000000000, PROT_READ | PROT_WRITE);
	put32(gone, 0, A);
	put32(gone, 8, 30);
	put32(unmapped, 0, A);
	put32(unmapped, 8, 30);
	put64(unmapped, 16, 0x7f0000000000);
	/* Begins first, without the lock, and ends last. */
	t.call = gone_t.call = unmapped_t.call = nvs_rm()->calls + 1;
	nvs_rm_before(other, control, &t);
	CHECK(!t.frees && !t.map);
	/* What has nothing to do ahead of it is spared the lock. */
	CHECK(!nvs_rm_needs_before(other, control) && nvs_rm_needs_before(unmap_call, unmapped) &&
	      nvs_rm_needs_before(free_call, gone));
	nvs_rm_before(unmap_call, unmapped, &unmapped_t);
	CHECK(unmapped_t.map);
	nvs_rm_after(ctl, unmap_call, unmapped, -1, &unmapped_t);
	nvs_rm_before(free_call, gone, &gone_t);
	CHECK(gone_t.frees && object(A, 30)->leaving == 1);
	nvs_rm_after(ctl, free_call, gone, -1, &gone_t);
	CHECK(object(A, 30) && !object(A, 30)->leaving);
	close_device(9);
	CHECK(!object(A, 30));
	before = nsteps;
	nvs_rm_after(ctl, other, control, -1, &t);
	CHECK_EQ(nsteps, before);
}

static void test_unknown_calls(void)
{
	uint8_t a[64] = {0};
	uint64_t before = nvs_rm_unknown_calls();

	fresh(NVS_RELEASE(580, 159, 4));
	escape(ctl, 0xfe, 64, a, -1); /* no such number */
	escape(ctl, 0xfe, 64, a, -1);
	escape(ctl, 0x2b, 56, a, -1); /* a form that is still to come */
	escape(ctl, 0xd6, 8, a, -1); /* known, of no concern */
	uvm_call(200, a);
	CHECK_EQ(nvs_rm_unknown_calls() - before, 4);
	nvs_rm_final_records(true);
	CHECK_EQ(count_records(NVS_REC_IOCTL), 3);
	CHECK_EQ(count_records(NVS_REC_CHECK), 1);
}

static void test_version(void)
{
	uint8_t a[72] = {0}, p[40] = {0};
	char text[64] = "555.58.02";

	fresh(0);
	make_client(A, 0);
	memcpy(a + 8, "570.86.15", 10);
	escape(ctl, 0xd2, 72, a, -1);
	CHECK_EQ(nvs_rm_release(), NVS_RELEASE(570, 86, 15));
	CHECK(!strcmp(nvs_rm_driver_version(), "570.86.15"));
	put32(p, 0, 64);
	put64(p, 8, (uintptr_t)text);
	rm_control(A, A, 0x101, p, 40);
	CHECK_EQ(nvs_rm_release(), NVS_RELEASE(555, 58, 2));
	/* One that came after these tables. */
	CHECK(!nvs_rm_release_is_newer() && !last_remark(NVS_REMARK_NEWER_RELEASE));
	memcpy(a + 8, "620.06.00", 10);
	escape(ctl, 0xd2, 72, a, -1);
	CHECK(!nvs_rm_release_is_newer());
	memcpy(a + 8, "621.01.00", 10);
	escape(ctl, 0xd2, 72, a, -1);
	CHECK(nvs_rm_release_is_newer() && last_remark(NVS_REMARK_NEWER_RELEASE));
	fresh(0);
	nvs_rm_replay();
	CHECK(last_remark(NVS_REMARK_NO_RELEASE) != NULL);
}

/* The kernel has put the token there when UVM has been told of the channel. */
static void test_token_in_notifier(void)
{
	static uint8_t page[4096] __attribute__((aligned(4096)));
	uint8_t memory[128] = {0}, p[368] = {0}, uvm_channel[56] = {0};

	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 0);
	ring_memory(A, 0x200600000);
	put64(memory, 64, 0x1000);
	rm_alloc(A, 2, 21, 0x003e, memory);
	map_memory(A, 21, 0x1000, 0, DEV_CTL, (uintptr_t)page, PROT_READ | PROT_WRITE);
	put32(p, 0, 21);
	put64(p, 8, 0x200600000);
	put32(p, 16, 1024);
	put32(p, 28, 9);
	put32(p, 32, 20);
	put64(p, 64, 0x2000);
	rm_alloc(A, 2, 30, 0xc86f, p);
	put32(page, 24, 0x1001e);
	put32(uvm_channel, 20, A);
	put32(uvm_channel, 24, 30);
	/* Nothing was written there yet, by its status; or the call was refused. */
	uvm_call(27, uvm_channel);
	CHECK_EQ(object(A, 30)->channel->token, NVS_NONE);
	put32(page, 28, 0xffff0000);
	put32(uvm_channel, 48, 0x57);
	uvm_call(27, uvm_channel);
	CHECK_EQ(object(A, 30)->channel->token, NVS_NONE);
	put32(uvm_channel, 48, 0);
	uvm_call(27, uvm_channel);
	CHECK(viewed(0x1001e) && viewed(0x1001e)->entries == 1024);
	/* One without a notifier. */
	put32(p, 0, 0);
	rm_alloc(A, 2, 31, 0xc86f, p);
	put32(uvm_channel, 24, 31);
	uvm_call(27, uvm_channel);
	CHECK_EQ(object(A, 31)->channel->token, NVS_NONE);
	rm_free(A, A);
}

/* Before LAST, and after FROM, the pages at START were the program's own again. */
static void check_cleared(unsigned from, uint64_t start, const char *last, uint64_t last_a)
{
	unsigned a = find_step(from, "clear", start), b = find_step(from, last, last_a);

	CHECK(from <= a && a < b && b < nsteps);
}

/* The GPU was waited for ahead of that, and what it did not free was cut off if the pages go. */
static void check_prepared(unsigned from, uint64_t start, const char *last, uint64_t last_a)
{
	unsigned prepare = find_step(from, "prepare", start),
		 clear = find_step(from, "clear", start);
	unsigned cut = find_step(from, "cut", start), end = find_step(from, last, last_a);

	check_cleared(from, start, last, last_a);
	CHECK(prepare < clear);
	if (strcmp(last, "mprotect"))
		CHECK(clear < cut && cut < end);
	else
		CHECK_EQ(cut, nsteps);
}

/* Shadows end before the pages, or what they mean, become something else. */
static void test_shadows(void)
{
	const uint64_t va = 0x200600000;
	void *page = (void *)(va + 0x2000);
	uint8_t p[368] = {0};
	unsigned n;

	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 0);
	rm_alloc(A, 2, 15, 0xa06c, NULL);
	ring_memory(A, va);
	make_channel(A, 15, 30, va, 1024, 20, 0x2000, 0x10030);

	/* Another channel's USERD comes to lie in the page, before the RM writes there. */
	n = nsteps;
	make_channel(A, 15, 31, va + 0x3000, 1024, 20, 0x2200, 0x10031);
	check_cleared(n, va + 0x2200, "ioctl", 0x2b);
	CHECK_EQ(find_step(n, "prepare", va + 0x2200), nsteps);
	/* With timing the GPU is waited for first. */
	n = nsteps;
	options.values.timing = true;
	make_channel(A, 15, 33, va + 0x9000, 1024, 20, 0x2600, 0x10033);
	options.values.timing = false;
	CHECK(find_step(n, "prepare", va + 0x2600) < find_step(n, "clear", va + 0x2600));
	check_cleared(n, va + 0x2600, "ioctl", 0x2b);
	/* Nothing is known of where it lies. */
	n = nsteps;
	make_channel(A, 15, 32, va + 0x6000, 1024, 99, 0x2400, 0x10032);
	CHECK_EQ(find_step(n, "clear", 0x2400), nsteps);
	CHECK_EQ(nvs_channel_predict_userd(A, NULL), 0);
	CHECK_EQ(nvs_channel_predict_userd(A, p), 0);
	put32(p, 32, 20);
	put64(p, 64, 0x2400);
	CHECK_EQ(nvs_channel_predict_userd(A, p), va + 0x2400);
	/* The other form. */
	put32(p, 32, 0);
	put64(p, 64, 0);
	put32(p, 36, 20);
	put64(p, 72, 0x2600);
	CHECK_EQ(nvs_channel_predict_userd(A, p), va + 0x2600);

	n = nsteps;
	nvs_maps_mprotect(page, 0x1000, PROT_READ);
	check_prepared(n, va + 0x2000, "mprotect", va + 0x2000);
	n = nsteps;
	next_mmap = va + 0x400000;
	nvs_maps_mremap(page, 0x1000, 0x1000, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)next_mmap);
	check_prepared(n, va + 0x2000, "mremap", va + 0x2000);
	n = nsteps;
	nvs_maps_munmap((void *)va, 0x1000);
	check_prepared(n, va, "munmap", va);

	/* A second mapping shows what is written through the first. */
	fresh(NVS_RELEASE(580, 159, 4));
	make_client(A, 0);
	ring_memory(A, va);
	n = nsteps;
	map_memory(A, 20, 0x200000, 0x110000000000, DEV_GPU(0), va + 0x800000,
		   PROT_READ | PROT_WRITE);
	CHECK(find_step(n, "clear", va) < nsteps);
	n = nsteps;
	rm_unmap(A, 20, 0x110000000000);
	check_cleared(n, va + 0x800000, "ioctl", 0x4f);
	n = nsteps;
	rm_free(A, 20);
	check_cleared(n, va, "ioctl", 0x29);
}

int main(void)
{
	test_tree();
	test_alloc_forms();
	test_serialized();
	test_xfer();
	test_vid_heap();
	test_channel();
	test_late_binding();
	test_old_channel();
	test_dup();
	test_shadows();
	test_two_gpus();
	test_out_of_sight();
	test_likely_doorbell();
	test_no_handler();
	test_unseen_memory();
	test_other_controls();
	test_ctl_closed();
	test_failed_calls();
	test_version();
	test_token_in_notifier();
	test_unknown_calls();
	return finish();
}
