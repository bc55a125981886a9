/* SPDX-License-Identifier: MIT */
/*
 * Time of a doorbell through a patched store site, without a trace, on a channel with a shadow: the
 * fastest tenth of bursts of 200. The real GPFIFO and USERD are ordinary memory here, so that
 * fences wait for nothing. Prints ns.
 */
#include <time.h>
#include "tests/unit/doorbell_page.h"
#include "tests/unit/fakering.h"
#include "trap/buffer/process.h"
#include "trap/copy/shadow.h"
#include "trap/enter/patch.h"

#define RING 1024u
#define CODE 8192u
#define TOKEN 0x10012u
#define SEGMENT (0x200000000ull | 8ull << 42) /* an entry */
#define BURSTS 2000
#define BURST 200

static uint64_t gpfifo[RING], real[RING];
static uint32_t put, userd[NVS_USERD_BYTES / 4], hash[2] = {1, 1};
static struct nvs_spool_channel state;
static struct nvs_shadow shadow = {.gpfifo = real, .userd = userd};
static struct nvs_channel channel = {.token = TOKEN,
				     .entries = RING,
				     .gpfifo = gpfifo,
				     .put = &put,
				     .state = &state,
				     .shadow = &shadow};
static uint8_t *text;

/* mov %esi, (%rdi); a jump over padding; ret */
static const uint8_t code[] = {0x89, 0x37, 0xeb, 0x0d, 0x90, 0x90, 0x90, 0x90, 0x90,
			       0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3};

static bool text_of(uintptr_t address, struct nvs_site_text *t)
{
	*t = (struct nvs_site_text){.bytes = text, .address = (uintptr_t)text, .size = CODE};
	return address - (uintptr_t)text < CODE;
}

static void on_segv(int sig, siginfo_t *info, void *context)
{
	if (!nvs_trap_segv(info, context))
		_exit(97);
}

static void submit(void)
{
	void (*store)(volatile void *, uint32_t);

	memcpy(&store, &(void *){text + 1}, sizeof(store));
	gpfifo[put] = SEGMENT;
	put = (put + 1) % RING;
	store(page + 0x90, TOKEN);
}

static void set_up(void)
{
	static struct nvs_view view = {.ndoorbells = 1,
				       .doorbells = &doorbell,
				       .nchannels = 1,
				       .channels = &channel,
				       .channel_mask = 1,
				       .channel_hash = hash};
	struct nvs_trap_options options = {
		.patch = true, .level = NVS_LEVEL_NONE, .skip_calls = true};
	struct sigaction sa = {.sa_flags = SA_SIGINFO | SA_NODEFER, .sa_sigaction = on_segv};

	CHECK(nvs_trap_init(&options) == 0);
	fake_rings(2, 65536);
	make_doorbell_page();
	nvs_view_publish(&view);
	text = mmap(NULL, CODE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	memset(text, 0xcc, CODE);
	memcpy(text + 1, code, sizeof(code));
	sigaction(SIGSEGV, &sa, NULL);
	submit();
	nvs_patch_pending_sites(text_of);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	static double bursts[BURSTS];

	set_up();
	for (int i = 0; i < BURSTS; i++) {
		double start = now_ns();

		for (int k = 0; k < BURST; k++)
			submit();
		bursts[i] = (now_ns() - start) / BURST;
	}
	CHECK(nvs_buffer_own()->counters[NVS_COUNT_FAST] == BURSTS * BURST);
	CHECK(real[0] == SEGMENT && userd[NVS_USERD_GP_PUT] == put);
	qsort(bursts, BURSTS, sizeof(*bursts), compare);
	printf("doorbell %.1f\n", bursts[BURSTS / 10]);
	return failed > 0;
}
