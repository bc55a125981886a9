/* SPDX-License-Identifier: MIT */
/* LINK: trap */
/* What a doorbell commits is copied completely: rings that wrap, segments across mappings, pieces,
 * gaps. */
#include <ucontext.h>
#include "trap/arch/context.h"
#include "tests/unit/fakering.h"
#include "trap/buffer/process.h"

#define RING 1024u
#define VA 0x200800000ull

static uint64_t gpfifo[RING];
static uint32_t put;
static uint8_t *memory; /* 16 MiB at VA */
static struct nvs_spool_channel state;
static struct nvs_channel channel;
static struct nvs_segment_map maps[3];
static uint32_t hash[4];
static struct nvs_doorbell doorbell = {.map = 7, .gpu = 0};
static struct nvs_view view;
static uint32_t undrained;

static uint64_t entry(uint64_t va, uint32_t dwords)
{
	return va | (uint64_t)dwords << 42;
}

static void set_up(void)
{
	memory = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (uint32_t i = 0; i < (16u << 20) / 4; i++)
		((uint32_t *)(void *)memory)[i] = i * 2654435761u;
	state.channel = 3;
	channel = (struct nvs_channel){.number = 3,
				       .token = 0x10012,
				       .entries = RING,
				       .gpfifo = gpfifo,
				       .put = &put,
				       .state = &state};
	/* Two mappings side by side in GPU addresses, apart in the process; one that is not there.
	 *  */
	maps[0] = (struct nvs_segment_map){.gpu_va = VA, .size = 8 << 20, .cpu = (uintptr_t)memory};
	maps[1] = (struct nvs_segment_map){
		.gpu_va = VA + (8 << 20), .size = 4 << 20, .cpu = (uintptr_t)memory + (12 << 20)};
	maps[2] = (struct nvs_segment_map){.gpu_va = VA + (32 << 20), .size = 1 << 20, .cpu = 4096};
	hash[nvs_channel_hash(0, 0x10012) & 3] = 1;
	view = (struct nvs_view){.nmaps = 3,
				 .maps = maps,
				 .nchannels = 1,
				 .channels = &channel,
				 .channel_mask = 3,
				 .channel_hash = hash,
				 .ndoorbells = 1,
				 .doorbells = &doorbell};
	nvs_view_publish(&view);
}

static void ring_doorbell(uint32_t token)
{
	struct nvs_buffer *ring = nvs_buffer_enter();
	struct nvs_doorbell_event event = {
		.doorbell = &doorbell, .token = token, .stack = 5, .time = nvs_clock_now()};

	nvs_capture_doorbell(ring, nvs_view_get(), &event);
	nvs_buffer_leave(ring);
}

static void *next(uint16_t type)
{
	struct nvs_rec *rec = fake_next(nvs_buffer_own(), &undrained);

	while (rec && rec->type == NVS_REC_THREAD)
		rec = fake_next(nvs_buffer_own(), &undrained);
	if (!rec || rec->type != type) {
		printf("expected record %u, found %d\n", type, rec ? rec->type : -1);
		failed++;
		return NULL;
	}
	return rec;
}

static void push(uint64_t e)
{
	gpfifo[put] = e;
	put = (put + 1) % RING;
}

static void test_one(void)
{
	struct nvs_rec_submission *sub;

	push(entry(VA + 0x100, 393));
	ring_doorbell(0x10012);
	sub = next(NVS_REC_SUBMISSION);
	if (!sub)
		return;
	CHECK(sub->sequence == 0 && sub->old_put == 0 && sub->new_put == 1 && sub->nentries == 1);
	CHECK(sub->token == 0x10012 && sub->doorbell == 7 && sub->stack == 5 && sub->channel == 3);
	CHECK(sub->entries[0].entry == entry(VA + 0x100, 393));
	CHECK(sub->entries[0].state == NVS_SEG_HERE && sub->entries[0].bytes == 393 * 4);
	CHECK(!memcmp(&sub->entries[1], memory + 0x100, 393 * 4));
	CHECK(sub->rec.size == sizeof(*sub) + 16 + 393 * 4 + 4);
	ring_doorbell(0x10012);
	sub = next(NVS_REC_SUBMISSION);
	CHECK(sub && sub->sequence == 1 && sub->old_put == sub->new_put && !sub->nentries);
}

static void test_orphan(void)
{
	struct nvs_rec_orphan *rec;

	ring_doorbell(0x999);
	rec = next(NVS_REC_ORPHAN);
	CHECK(rec && rec->token == 0x999 && rec->doorbell == 7);
}

/* Around the end of the ring many times, 1 to 600 entries at once: chain and bytes without a break.
 *  */
static void test_wrap(void)
{
	uint64_t sequence = state.claim >> NVS_PUT_BITS, wrong = 0;
	uint32_t at = put, seed = 12345;

	printf("seed %u\n", seed);
	for (int round = 0; round < 400; round++) {
		uint32_t n = 1 + (seed = seed * 1664525 + 1013904223) % 600, got = 0;

		if (n > 100 && round % 20)
			n %= 7;
		for (uint32_t i = 0; i < n; i++)
			push(entry(VA + 4ull * ((seed >> 8) % 1000000 + i), i % 5 ? i % 3 + 1 : 0));
		ring_doorbell(0x10012);
		while (got < n || !n) {
			struct nvs_rec_submission *sub = next(NVS_REC_SUBMISSION);
			const uint8_t *data;

			if (!sub)
				return;
			wrong += sub->sequence != sequence++ || sub->old_put != at;
			wrong += (sub->rec.flags & NVS_SUB_CONTINUED ? 1 : 0) != (got ? 1 : 0);
			data = (const uint8_t *)&sub->entries[sub->nentries];
			for (uint32_t i = 0; i < sub->nentries; i++, at = (at + 1) % RING) {
				uint64_t e = gpfifo[at];
				uint32_t bytes = (uint32_t)(e >> 42 & 0x1fffff) * 4;

				wrong += sub->entries[i].entry != e ||
					 sub->entries[i].bytes != bytes;
				wrong += memcmp(data, memory + ((e & 0xfffffffffcull) - VA),
						bytes) != 0;
				data += bytes;
			}
			wrong += sub->new_put != at;
			got += sub->nentries;
			if (!n)
				break;
		}
	}
	CHECK(wrong == 0);
	CHECK(put == at);
}

static void test_two_mappings(void)
{
	struct nvs_rec_submission *sub;

	push(entry(VA + (8 << 20) - 64, 64));
	ring_doorbell(0x10012);
	sub = next(NVS_REC_SUBMISSION);
	if (!sub)
		return;
	CHECK(!memcmp(&sub->entries[1], memory + (8 << 20) - 64, 64));
	CHECK(!memcmp((uint8_t *)&sub->entries[1] + 64, memory + (12 << 20), 192));
}

/* A GPU address nobody knows, and a mapping whose pages are gone: a gap each, the neighbours whole.
 *  */
static void test_gaps(void)
{
	struct nvs_rec_submission *sub;
	struct nvs_rec_gap *gap;

	push(entry(VA, 8));
	push(entry(VA + (64 << 20), 16));
	push(entry(VA + (32 << 20), 24));
	push(entry(VA + 0x40, 8));
	ring_doorbell(0x10012);
	sub = next(NVS_REC_SUBMISSION);
	if (!sub)
		return;
	CHECK(sub->nentries == 4);
	CHECK(sub->entries[1].state == NVS_SEG_GAP && sub->entries[2].state == NVS_SEG_GAP);
	CHECK(!memcmp(&sub->entries[4], memory, 32));
	CHECK(!memcmp((uint8_t *)&sub->entries[4] + 32, memory + 0x40, 32));
	gap = next(NVS_REC_GAP);
	CHECK(gap && gap->reason == NVS_GAP_UNMAPPED && gap->entry == 1 && gap->bytes == 64 &&
	      gap->address == VA + (64 << 20));
	gap = next(NVS_REC_GAP);
	CHECK(gap && gap->reason == NVS_GAP_FAULT && gap->entry == 2 && gap->bytes == 96);
}

/* A large map of one address space, and over it many small ones of another: to each its own. */
static void test_address_spaces(void)
{
	static struct nvs_segment_map many[301];
	struct nvs_view crowded = view;

	for (uint32_t large = 1; large <= 2; large++) {
		uint32_t n = 0;

		for (uint32_t space = 1; space <= 2; space++)
			for (uint32_t i = 0; i < (space == large ? 1 : 300); i++)
				many[n++] = (struct nvs_segment_map){
					.vaspace = space,
					.gpu_va = VA + (space == large ? 0 : 4096 * (i + 1)),
					.size = space == large ? 8 << 20 : 64,
					.cpu = (uintptr_t)memory +
					       (space == large ? 0 : (8u << 20) + 4096 * (i + 1)),
				};
		crowded.maps = many;
		crowded.nmaps = n;
		nvs_view_publish(&crowded);
		for (uint32_t space = 1; space <= 2; space++) {
			uint32_t at = space == large ? 7 << 20 : 4096 * 299;
			struct nvs_rec_submission *sub;

			channel.vaspace = space;
			push(entry(VA + at, 16));
			ring_doorbell(0x10012);
			sub = next(NVS_REC_SUBMISSION);
			CHECK(sub && sub->entries[0].state == NVS_SEG_HERE);
			CHECK(sub && !memcmp(&sub->entries[1],
					     memory + at + (space == large ? 0 : 8 << 20), 64));
			if (sub && sub->entries[0].state == NVS_SEG_GAP)
				next(NVS_REC_GAP);
		}
	}
	channel.vaspace = 0;
	nvs_view_publish(&view);
}

/* Bits 56:40 of segment addresses come from a control entry and stay until the next one. */
static void test_extended_base(void)
{
	struct nvs_rec_submission *sub;

	maps[2] = (struct nvs_segment_map){
		.gpu_va = 0x1230000000000ull, .size = 1 << 20, .cpu = (uintptr_t)memory};
	push(4ull << 32 | 0x123 << 8);
	push(entry(0x40, 8));
	ring_doorbell(0x10012);
	sub = next(NVS_REC_SUBMISSION);
	CHECK(sub && sub->entries[0].state == NVS_SEG_NONE &&
	      sub->entries[1].state == NVS_SEG_HERE);
	CHECK(sub && !memcmp(&sub->entries[2], memory + 0x40, 32));
	push(entry(0x80, 8));
	ring_doorbell(0x10012);
	sub = next(NVS_REC_SUBMISSION);
	CHECK(sub && !memcmp(&sub->entries[1], memory + 0x80, 32));
	push(4ull << 32);
	ring_doorbell(0x10012);
	next(NVS_REC_SUBMISSION);
}

/* Larger than a quarter of the ring: in pieces, in order, the last one marked. */
static void test_pieces(void)
{
	struct nvs_rec_submission *sub;
	uint32_t at[2] = {0, 0}, size[2] = {40000, 9000}, wrong = 0;
	bool last = false;

	push(entry(VA + 0x1000, size[0] / 4));
	push(entry(VA + 0x100000, size[1] / 4));
	ring_doorbell(0x10012);
	sub = next(NVS_REC_SUBMISSION);
	CHECK(sub && sub->rec.flags == NVS_SUB_MORE && sub->entries[0].state == NVS_SEG_FOLLOWS);
	while (sub && !last) {
		struct nvs_rec_data *d = next(NVS_REC_DATA);

		if (!d)
			break;
		wrong += d->sequence != state.claim >> NVS_PUT_BITS && d->entry > 1;
		wrong += d->offset != at[d->entry];
		wrong += memcmp(d->data, memory + (d->entry ? 0x100000 : 0x1000) + d->offset,
				d->bytes) != 0;
		at[d->entry] += d->bytes;
		last = d->rec.flags & NVS_DATA_LAST;
	}
	CHECK(wrong == 0 && at[0] == size[0] && at[1] == size[1]);
}

/* overflow=drop and a full ring: what is lost is counted, told once there is room, and the chain
 * goes on. */
static void test_drop(void)
{
	struct nvs_buffer *ring = nvs_buffer_own();
	uint64_t first = state.claim >> NVS_PUT_BITS, recorded = 0;
	struct nvs_rec_submission *sub = NULL;
	struct nvs_rec *rec;
	struct nvs_rec_gap *gap;
	uint32_t start;

	nvs_process->options.drop = true;
	ring->shared->tail += undrained;
	undrained = 0;
	for (int i = 0; i < 100; i++) {
		push(entry(VA, 250));
		ring_doorbell(0x10012);
	}
	CHECK(state.lost > 0);
	while ((rec = fake_next(ring, &undrained)))
		recorded += rec->type == NVS_REC_SUBMISSION;
	CHECK(recorded + state.lost == 100);
	start = state.lost_put;
	push(entry(VA, 1));
	ring_doorbell(0x10012);
	gap = next(NVS_REC_GAP);
	CHECK(gap && gap->reason == NVS_GAP_DROPPED && gap->submissions == 100 - recorded);
	CHECK(gap && gap->sequence == first + recorded && gap->old_put == start);
	CHECK(gap && gap->bytes == (100 - recorded) * 1000);
	CHECK(state.lost == 0);
	sub = next(NVS_REC_SUBMISSION);
	CHECK(sub && sub->sequence == first + 100);
	nvs_process->options.drop = false;
}

/* The slot of the channel's progress release is learned from its own methods, and read at the next
 * one. */
static void test_progress(void)
{
	uint32_t *w = (uint32_t *)(void *)(memory + 0x20000);
	uint64_t *slot = (uint64_t *)(void *)(memory + 0x30000);
	struct nvs_rec_submission *sub;
	uint64_t va = VA + 0x30000;

	w[0] = 0x200426c0;
	w[1] = (uint32_t)(va >> 32);
	w[2] = (uint32_t)va;
	w[3] = 9;
	w[4] = 4;
	slot[0] = 8;
	slot[1] = 0x1122334455667788;
	push(entry(VA + 0x20000, 5));
	ring_doorbell(0x10012);
	sub = next(NVS_REC_SUBMISSION);
	CHECK(sub && sub->progress_address != va);
	push(entry(VA, 1));
	ring_doorbell(0x10012);
	sub = next(NVS_REC_SUBMISSION);
	CHECK(sub && sub->progress_address == va && sub->progress[0] == 8 &&
	      sub->progress[1] == slot[1]);
	/* The copy engine's form. */
	w[0] = 0x20038090;
	w[1] = (uint32_t)(va >> 32);
	w[2] = (uint32_t)va + 16;
	w[3] = 2;
	w[4] = 0x200180c0;
	w[5] = 0x14;
	push(entry(VA + 0x20000, 6));
	ring_doorbell(0x10012);
	next(NVS_REC_SUBMISSION);
	CHECK(state.progress_address == va + 16);
}

static void test_unbound(void)
{
	uint64_t sequence = state.claim >> NVS_PUT_BITS;
	struct nvs_rec_gap *gap;

	channel.entries = 0;
	ring_doorbell(0x10012);
	gap = next(NVS_REC_GAP);
	CHECK(gap && gap->reason == NVS_GAP_UNBOUND && gap->submissions == 1 &&
	      gap->sequence == sequence);
	channel.entries = RING;
}

/* N segments as large as they can be, into a large buffer that nobody drains: how many bytes of
 * them are there. */
static uint64_t record_large(struct nvs_buffer *buffer, uint32_t n, uint32_t *gaps)
{
	struct nvs_doorbell_event event = {
		.doorbell = &doorbell, .token = 0x10012, .stack = 5, .time = nvs_clock_now()};
	uint32_t left = 0, too_large = 0;
	uint64_t bytes = 0;
	struct nvs_rec *rec;

	for (uint32_t i = 0; i < n; i++)
		push(entry(VA, 0x1fffff));
	nvs_capture_doorbell(buffer, nvs_view_get(), &event);
	for (*gaps = 0; (rec = fake_next(buffer, &left));) {
		const struct nvs_rec_data *d = (const void *)rec;

		too_large += rec->size > NVS_LARGEST_RECORD;
		*gaps += rec->type == NVS_REC_GAP &&
			 ((struct nvs_rec_gap *)rec)->reason == NVS_GAP_STALLED;
		if (rec->type != NVS_REC_DATA)
			continue;
		bytes += d->bytes;
		too_large += memcmp(d->data, memory + d->offset, d->bytes) != 0;
	}
	CHECK(!too_large);
	return bytes;
}

static void test_large(void)
{
	uint64_t each = 0x1fffff * 4ull;
	struct nvs_buffer *buffer;
	uint32_t gaps;

	fake_rings(1, 64 << 20);
	buffer = nvs_buffer_at(nvs_buffer_count() - 1);
	for (uint32_t n = 1; n < 8; n += 2) {
		CHECK(record_large(buffer, n, &gaps) == n * each);
		CHECK(gaps == 0);
	}
	/* More than it takes: the wait for a writer that does nothing ends. */
	CHECK(record_large(buffer, 9, &gaps) == 7 * each);
	CHECK(gaps == 2);
	CHECK(state.lost == 0);
}

/* What the fault handler does for a guarded access. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uintptr_t on = nvs_guard_fixup(nvs_context_pc(&uc->uc_mcontext));

	if (!on)
		_exit(99);
	nvs_context_set_pc(&uc->uc_mcontext, on);
}

int main(void)
{
	struct nvs_trap_options options = {.backtrace = false};
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	CHECK(nvs_trap_init(&options) == 0);
	fake_rings(2, 65536);
	set_up();
	sigaction(SIGSEGV, &sa, NULL);
	test_one();
	test_orphan();
	test_wrap();
	test_two_mappings();
	test_gaps();
	test_address_spaces();
	test_extended_base();
	test_pieces();
	test_drop();
	test_progress();
	test_unbound();
	test_large();
	return test_result();
}
