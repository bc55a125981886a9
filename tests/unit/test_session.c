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
/*
 * The device calls of a real session on an H200, one by one: all twenty channels must be bound to
 * their rings and USERD pages, both doorbells armed, and every address of the pushbuffer readable.
 */
#include "rm_fake.h"

#define DATA "tests/unit/data/session_h200.txt"
#define CLIENT 0xc1d0005eu

static size_t unhex(const char *hex, uint8_t *out, size_t room)
{
	size_t n = 0;

	memset(out, 0, room);
	for (; hex[0] && hex[1] && hex[0] != '-' && n < room; hex += 2) {
		char two[3] = {hex[0], hex[1], 0};

		out[n++] = (uint8_t)strtoul(two, NULL, 16);
	}
	return n;
}

static dev_t device_of(const char *path)
{
	if (!strcmp(path, "/dev/nvidiactl"))
		return DEV_CTL;
	return strcmp(path, "/dev/nvidia-uvm") ? DEV_GPU(0) : DEV_UVM;
}

static void play(char **w)
{
	static uint8_t bytes[16384], a[48];

#define HEX(i) strtoull(w[i], NULL, 16)
#define DEC(i) atoi(w[i])
	memset(a, 0, sizeof(a));
	if (!strcmp(w[0], "open")) {
		open_device(DEC(1), w[2], device_of(w[2]));
	} else if (!strcmp(w[0], "close")) {
		close_device(DEC(1));
	} else if (!strcmp(w[0], "alloc")) {
		unhex(w[6], bytes, sizeof(bytes));
		ctl = DEC(1);
		rm_alloc((uint32_t)HEX(2), (uint32_t)HEX(3), (uint32_t)HEX(4), (uint32_t)HEX(5),
			 w[6][0] == '-' ? NULL : bytes);
	} else if (!strcmp(w[0], "map")) {
		ctl = DEC(1);
		rm_map((uint32_t)HEX(2), (uint32_t)HEX(3), HEX(4), HEX(5), HEX(6), DEC(7));
	} else if (!strcmp(w[0], "mmap")) {
		next_mmap = HEX(5);
		nvs_maps_mmap(NULL, HEX(2), DEC(3), MAP_SHARED, DEC(1), (off_t)HEX(4), true);
	} else if (!strcmp(w[0], "control")) {
		unhex(w[6], bytes, sizeof(bytes));
		rm_control((uint32_t)HEX(2), (uint32_t)HEX(3), (uint32_t)HEX(4), bytes,
			   (uint32_t)DEC(5));
	} else if (!strcmp(w[0], "escape")) {
		unhex(w[4], bytes, sizeof(bytes));
		escape(DEC(1), (unsigned)HEX(2), (unsigned)DEC(3), bytes, -1);
	} else if (!strcmp(w[0], "extern")) {
		uvm = DEC(1);
		uvm_map(HEX(2), HEX(3), HEX(4), (uint32_t)HEX(5), (uint32_t)HEX(6));
	} else if (!strcmp(w[0], "uvm")) {
		unhex(w[3], bytes, sizeof(bytes));
		uvm = DEC(1);
		uvm_call((unsigned long)DEC(2), bytes);
	}
}

static unsigned play_file(void)
{
	static char line[65536];
	FILE *f = fopen(DATA, "r");
	unsigned n = 0;

	if (!f) {
		perror(DATA);
		exit(1);
	}
	while (fgets(line, sizeof(line), f)) {
		char *w[9] = {0}, *save;
		int words = 0;

		if (line[0] == '#')
			continue;
		for (char *p = strtok_r(line, " \n", &save); p && words < 8;
		     p = strtok_r(NULL, " \n", &save))
			w[words++] = p;
		if (words) {
			play(w);
			n++;
		}
	}
	fclose(f);
	return n;
}

static void check_channels(void)
{
	struct nvs_channel_entry *c;
	unsigned n = 0;

	CHECK_EQ(view->nchannels, 20);
	DL_FOREACH(nvs_rm()->channels, c)
	{
		uint64_t ring = 0x200600000ull + n * 0x3000ull;
		const struct nvs_channel *v = viewed(c->token);

		CHECK_EQ(c->number, n);
		CHECK_EQ(c->flags, NVS_CHAN_BOUND);
		CHECK_EQ(c->gpfifo, ring);
		CHECK(v != NULL);
		if (v) {
			CHECK_EQ(v->entries, 1024);
			CHECK_EQ((uintptr_t)v->gpfifo, ring);
			CHECK_EQ((uintptr_t)v->put, ring + 0x2000 + 0x8c);
			CHECK_EQ(v->gpu, 0);
			CHECK(v->state && v->state->channel == n);
		}
		/* The first eight name their address space through the context share. */
		CHECK_EQ(c->vaspace_handle, 0x5c000009);
		CHECK_EQ(c->engine, n < 8 ? 1 : n < 12 ? 11 : n < 16 ? 12 : 13);
		n++;
	}
	CHECK_EQ(n, 20);
	CHECK(viewed(0xa001c) && !viewed(0x1c));
}

static void check_doorbells(void)
{
	CHECK_EQ(view->ndoorbells, 2);
	if (view->ndoorbells != 2)
		return;
	CHECK_EQ(view->doorbells[0].start, 0x7f1ac06b4000);
	CHECK_EQ(view->doorbells[1].start, 0x7f1ac06d4000);
	for (unsigned i = 0; i < 2; i++) {
		const struct nvs_doorbell *d = &view->doorbells[i];
		unsigned at = find_step(0, "mprotect", d->start), view_at = at;

		CHECK_EQ(d->end - d->start, 0x10000);
		CHECK(d->alias && d->alias != d->start);
		CHECK_EQ(d->gpu, 0);
		/* Armed when the session began, not before: and in the view already by then. */
		CHECK(at < nsteps && steps[at].c == PROT_READ);
		CHECK(at > find_step(0, "start", 0));
		while (view_at && strcmp(steps[view_at].what, "publish"))
			view_at--;
		CHECK(view_at && steps[view_at].a == 2);
	}
}

int main(void)
{
	const struct nvs_rec_gpu *g;
	unsigned calls = play_file(), slots_left = 0;

	printf("%u calls, %u records, %u segment maps\n", calls, nrecords, view ? view->nmaps : 0);
	CHECK(calls > 300 && view);
	if (!view)
		return finish();
	check_channels();
	check_doorbells();
	/* The pushbuffer's first and last byte, and semaphores: GPU address equals CPU address. */
	CHECK_EQ(cpu_of(0x200800000, 0), 0x200800000);
	CHECK_EQ(cpu_of(0x203ffffff, 0), 0x203ffffff);
	CHECK_EQ(cpu_of(0x204600000, 0), 0x204600000);
	CHECK_EQ(cpu_of(0x204800123, 0), 0x204800123);
	CHECK_EQ(cpu_of(0x204a00000, 0), 0x204a00000); /* managed memory */
	CHECK_EQ(cpu_of(0x7f1882800000, 0), 0x7f1882800000); /* pinned user pages */
	CHECK_EQ(cpu_of(0x7f1883a00000 + 0x5eafff, 0), 0x7f1883feafff);
	CHECK_EQ(cpu_of(0x200000000, 0), 0); /* local memory that was never mapped */
	CHECK_EQ(cpu_of(0x204000000, 0), 0);
	g = last_record(NVS_REC_GPU);
	CHECK(g && !strcmp(g->name, "NVIDIA H200") && g->architecture == 0x180 &&
	      g->uuid[0] == 0x3b);
	CHECK_EQ(count_records(NVS_REC_OBJECT_GONE),
		 0); /* the first client went before the session */
	CHECK(count_records(NVS_REC_CHANNEL) >=
	      40); /* at the allocation, bound, and with its token */
	CHECK_EQ(nvs_rm_unknown_calls(), 0);

	/* The client goes, and everything with it. */
	put_value = 7;
	rm_free(CLIENT, CLIENT);
	CHECK_EQ(count_records(NVS_REC_CHANNEL_GONE), 20);
	CHECK_EQ(((struct nvs_rec_channel_gone *)last_record(NVS_REC_CHANNEL_GONE))->final_put, 7);
	CHECK_EQ(view->ndoorbells, 0);
	CHECK_EQ(view->nchannels, 0);
	CHECK(nvs_rm()->objects == NULL);
	for (unsigned i = 0; i < 4096; i++)
		slots_left += slot_used[i];
	CHECK_EQ(slots_left, 0);
	return finish();
}
