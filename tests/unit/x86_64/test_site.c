/* SPDX-License-Identifier: MIT */
/* Which store sites may be patched: synthetic ones of every kind, one that is patched and run, and
 * those of this program's libraries, compared with objdump's jump targets. */
/* LINK: trap */
#include <inttypes.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/unit/x86_64/objdump.h"
#include "trap/arch/site.h"

static unsigned passed, failed;

#define CHECK(cond, ...)                                                  \
	do {                                                              \
		if (cond) {                                               \
			passed++;                                         \
		} else {                                                  \
			failed++;                                         \
			printf("%s:%d: %s: ", __FILE__, __LINE__, #cond); \
			printf(__VA_ARGS__);                              \
			putchar('\n');                                    \
		}                                                         \
	} while (0)

static const char *name_verdict(enum nvs_site_verdict verdict)
{
	switch (verdict) {
	case NVS_SITE_OK:
		return "ok";
	case NVS_SITE_UNKNOWN:
		return "code not understood";
	case NVS_SITE_TARGET:
		return "jump target inside";
	case NVS_SITE_NO_CAVE:
		return "no padding in reach";
	case NVS_SITE_FAR:
		return "trampoline out of reach";
	}
	return "unknown verdict";
}

/* ---- made-up sites ---- */

/* Code with the labels NAME_begin, NAME_store, NAME_cave (where one is expected) and NAME_end. */
#define SITE(name, code)                                                                      \
	asm(".pushsection site_blobs, \"ax\", @progbits\n.balign 64\n" #name "_begin:\n" code \
	    "\n" #name "_end:\n.popsection\n");                                               \
	extern const uint8_t name##_begin[], name##_store[], name##_cave[], name##_end[]

/* Fifteen bytes before a store of two and a jump of five: ten are left to a multiple of 16. */
#define LEAD ".balign 16\n.rept 5\nadd %rax, %rbx\n.endr\n"
#define FAR ".rept 200\nadd %rax, %rbx\n.endr\n" /* more than 8 bits reach */
#define NEAR ".rept 10\nadd %rax, %rbx\n.endr\n"
#define STORE "mov %ecx, (%rax)\n"
#define JUMP32(label) ".byte 0xe9; .long " label " - . - 4\n"
#define NOP10 ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"

/* As in libcuda: the jump behind the store is a jump target itself. */
SITE(real, FAR "je real_jump\n" LEAD "real_store: " STORE
	       "real_jump: " JUMP32("real_out") "real_cave: " NOP10 FAR "real_out: ret");
SITE(jump_to_store,
     "je jump_to_store_store\n" LEAD
     "jump_to_store_store: " STORE JUMP32("jump_to_store_end") "jump_to_store_cave: " NOP10 NEAR);
SITE(ret_int3, LEAD "ret_int3_store: " STORE "nop\nnop\nnop\nnop\nret\n"
		    "ret_int3_cave: .fill 10, 1, 0xcc\n" NEAR);
SITE(small_nops, LEAD "small_nops_store: " STORE "nop\nnop\nnop\njmp *%rdx\n"
		      "small_nops_cave: nop\nxchg %ax, %ax\nnopl (%rax)\nnopl 0(%rax)\n" NEAR);
SITE(wide_store, LEAD "wide_store_store: movl $5, 0x12345(%rax)\nnop\nret\nnop\nnop\n" NEAR
		      ".balign 16\n.rept 3\nnop\n.endr\njmp *%rdx\n"
		      "wide_store_cave: nopw 0(%rax)\nnopl (%rax)\n");
SITE(reach, ".balign 16\nreach_store: " STORE ".fill 126, 1, 0x90\nret\nreach_cave: " NOP10 NEAR);
SITE(before,
     ".balign 16\nnop\njmp *%rax\nbefore_cave: " NOP10 ".balign 16\nnop\nbefore_store: " STORE FAR);

/* Jumps into the middle of a store. */
SITE(inside_near,
     "je inside_near_store + 1\n" LEAD "inside_near_store: " STORE JUMP32("inside_near_end") NOP10);
SITE(inside_far, LEAD "inside_far_store: " STORE JUMP32("inside_far_end") NOP10 FAR
     ".byte 0x0f, 0x84; .long inside_far_store + 1 - . - 4\n");
SITE(inside_odd, LEAD "inside_odd_store: " STORE JUMP32("inside_odd_end") NOP10 FAR
     "mov $0x11e9, %ax\n.byte 0xb8, 0xe8; .long inside_odd_store + 1 - . - 4\nnop\n");
SITE(inside_wide, LEAD "inside_wide_store: movl $5, 0x12345(%rax)\n"
		       "ret\n.balign 16\nnop\nret\n" NOP10 "loop inside_wide_store + 6\n");

/* No cave. */
SITE(dense, FAR "dense_store: " STORE FAR);
SITE(fallen_into, LEAD "fallen_into_store: " STORE ".byte 0x0f, 0x84; .long 0x1000\n" NOP10 NEAR);
SITE(behind_call, LEAD "behind_call_store: " STORE "call behind_call_end\n" NOP10 NEAR);
SITE(too_small, LEAD "too_small_store: " STORE JUMP32("too_small_end") "nopl (%rax)\nnop\n" NEAR);
SITE(too_far, ".balign 16\ntoo_far_store: " STORE ".fill 127, 1, 0x90\nret\n" NOP10 NEAR);
SITE(pauses, LEAD "pauses_store: " STORE JUMP32("pauses_end") "pause\npause\npause\n" NEAR);
SITE(endbr, LEAD "endbr_store: " STORE JUMP32("endbr_end") "endbr64\nnopl (%rax)\n" NEAR);
SITE(across,
     ".balign 16\n.rept 5\nnop\n.endr\nacross_store: " STORE JUMP32("across_end") NOP10 NEAR);
SITE(target_near,
     "je target_near_pad\n" LEAD
     "target_near_store: " STORE JUMP32("target_near_end") "target_near_pad: " NOP10 NEAR);
SITE(target_middle,
     "je target_middle_pad + 4\n" LEAD
     "target_middle_store: " STORE JUMP32("target_middle_end") "target_middle_pad: " NOP10 NEAR);
SITE(target_tail,
     "je target_tail_pad + 9\n" LEAD
     "target_tail_store: " STORE JUMP32("target_tail_end") "target_tail_pad: " NOP10 NEAR);
SITE(target_far,
     LEAD "target_far_store: " STORE JUMP32("target_far_end") "target_far_pad: " NOP10 FAR
							      "call target_far_pad + 1\n");
SITE(target_lea,
     LEAD "target_lea_store: " STORE JUMP32("target_lea_end") "target_lea_pad: " NOP10 FAR
							      "lea target_lea_pad(%rip), %r9\n");
SITE(data_behind, LEAD "data_behind_store: " STORE ".fill 20, 1, 0x06\n");

/* Behind something that is no instruction, every byte counts as one. */
SITE(data_jump, LEAD "data_jump_store: " STORE JUMP32("data_jump_end") NOP10
     ".byte 0x06, 0x06, 0x48, 0xeb; .byte data_jump_store + 1 - . - 1\n");

struct made_up {
	const char *name;
	const uint8_t *begin, *store, *cave, *end;
	bool function; /* its start is told */
	enum nvs_site_verdict verdict;
};

/* clang-format off */
#define GOOD(name)                                                                                 \
	{ #name, name##_begin, name##_store, name##_cave, name##_end, false, NVS_SITE_OK }
#define GOOD_FROM_START(name)                                                                      \
	{ #name, name##_begin, name##_store, name##_cave, name##_end, true, NVS_SITE_OK }
#define VERDICT(name, verdict)                                                                     \
	{ #name, name##_begin, name##_store, NULL, name##_end, true, verdict },                    \
	{ #name " guessed", name##_begin, name##_store, NULL, name##_end, false, verdict }
/* clang-format on */

static const struct made_up made_up[] = {
	GOOD(real),
	GOOD_FROM_START(real),
	GOOD(jump_to_store),
	GOOD(ret_int3),
	GOOD(small_nops),
	GOOD(wide_store),
	GOOD(reach),
	GOOD_FROM_START(before),
	{"before, start unknown", before_begin, before_store, NULL, before_end, false,
	 NVS_SITE_NO_CAVE},
	VERDICT(inside_near, NVS_SITE_TARGET),
	VERDICT(inside_far, NVS_SITE_TARGET),
	VERDICT(inside_odd, NVS_SITE_TARGET),
	VERDICT(inside_wide, NVS_SITE_TARGET),
	VERDICT(dense, NVS_SITE_NO_CAVE),
	VERDICT(fallen_into, NVS_SITE_NO_CAVE),
	VERDICT(behind_call, NVS_SITE_NO_CAVE),
	VERDICT(too_small, NVS_SITE_NO_CAVE),
	VERDICT(too_far, NVS_SITE_NO_CAVE),
	VERDICT(pauses, NVS_SITE_NO_CAVE),
	VERDICT(endbr, NVS_SITE_NO_CAVE),
	VERDICT(across, NVS_SITE_NO_CAVE),
	VERDICT(target_near, NVS_SITE_NO_CAVE),
	VERDICT(target_middle, NVS_SITE_NO_CAVE),
	VERDICT(target_tail, NVS_SITE_NO_CAVE),
	VERDICT(target_far, NVS_SITE_NO_CAVE),
	VERDICT(target_lea, NVS_SITE_NO_CAVE),
	VERDICT(data_behind, NVS_SITE_NO_CAVE),
	VERDICT(data_jump, NVS_SITE_TARGET),
};

static struct nvs_site_text text_of(const struct made_up *m)
{
	return (struct nvs_site_text){m->begin, (uintptr_t)m->begin, m->end - m->begin,
				      m->function ? (uintptr_t)m->begin : 0};
}

/* The bytes say what they should: a jump to the cave, and one from there to the trampoline. */
static void check_bytes(const struct nvs_site *site, uint64_t trampoline)
{
	struct nvs_insn insn;

	CHECK(nvs_insn_decode(&insn, site->store_new, 2) == 2 && insn.branch == NVS_BRANCH_JMP,
	      "head");
	CHECK(site->store + insn.target == site->cave, "head to %+" PRId64, insn.target);
	CHECK(nvs_insn_decode(&insn, site->cave_new, 5) == 5 && insn.branch == NVS_BRANCH_JMP,
	      "tail");
	CHECK(site->cave + insn.target == (site->hop ? site->hop : trampoline), "tail to %+" PRId64,
	      insn.target);
	CHECK(!memcmp(site->store_old, (void *)site->store, 2), "old head");
	CHECK(!memcmp(site->cave_old, (void *)site->cave, 5), "old tail");
}

/* A trampoline beyond 2 GiB is reached by the slack behind the text, if there is enough of it. */
static void check_hop(const struct made_up *m, struct nvs_site_text text)
{
	uint64_t trampoline = (uintptr_t)m->begin + 0x1234567890, to = 0;
	enum nvs_site_verdict verdict;
	struct nvs_site site;

	text.slack = text.address + text.size;
	text.slack_end = text.slack + NVS_SITE_HOP;
	verdict = nvs_site_analyse(&site, &text, (uintptr_t)m->store, trampoline);
	CHECK(verdict == NVS_SITE_OK && site.hop == text.slack, "%s: %s", m->name,
	      name_verdict(verdict));
	check_bytes(&site, trampoline);
	memcpy(&to, site.hop_new + 6, 8);
	CHECK(!memcmp(site.hop_new, "\xff\x25\0\0\0\0", 6) && to == trampoline, "hop to %" PRIx64,
	      to);
	text.slack_end--;
	verdict = nvs_site_analyse(&site, &text, (uintptr_t)m->store, trampoline);
	CHECK(verdict == NVS_SITE_FAR, "%s: %s", m->name, name_verdict(verdict));
}

static void test_made_up(void)
{
	size_t i;

	for (i = 0; i < sizeof made_up / sizeof *made_up; i++) {
		const struct made_up *m = &made_up[i];
		struct nvs_site_text text = text_of(m);
		uint64_t trampoline = (uintptr_t)m->begin + 0x10000000;
		enum nvs_site_verdict verdict;
		struct nvs_site site;

		verdict = nvs_site_analyse(&site, &text, (uintptr_t)m->store, trampoline);
		CHECK(verdict == m->verdict, "%s: %s", m->name, name_verdict(verdict));
		if (verdict != NVS_SITE_OK || !m->cave)
			continue;
		CHECK(site.cave == (uintptr_t)m->cave, "%s: cave at store%+d", m->name,
		      (int)(site.cave - site.store));
		check_bytes(&site, trampoline);
		trampoline = (uintptr_t)m->begin + 0x90000000;
		verdict = nvs_site_analyse(&site, &text, (uintptr_t)m->store, trampoline);
		CHECK(verdict == NVS_SITE_FAR, "%s: %s", m->name, name_verdict(verdict));
		verdict = nvs_site_analyse(&site, &text, (uintptr_t)m->store,
					   (uintptr_t)m->begin - 0x90000000);
		CHECK(verdict == NVS_SITE_FAR, "%s: %s", m->name, name_verdict(verdict));
		check_hop(m, text);
	}
}

static void test_edges(void)
{
	static const uint8_t junk[4] = {0x06, 0x06, 0x06, 0x06};
	static const uint8_t bare[2] = {0x89, 0x08};
	struct nvs_site_text text = {junk, (uintptr_t)junk, sizeof junk, 0};
	struct nvs_site site;
	size_t i, size;

	CHECK(nvs_site_analyse(&site, &text, (uintptr_t)junk, (uintptr_t)junk) == NVS_SITE_UNKNOWN,
	      "junk");
	CHECK(nvs_site_analyse(&site, &text, (uintptr_t)junk + 4, (uintptr_t)junk) ==
		      NVS_SITE_UNKNOWN,
	      "end");
	CHECK(nvs_site_analyse(&site, &text, (uintptr_t)junk - 1, (uintptr_t)junk) ==
		      NVS_SITE_UNKNOWN,
	      "front");
	text = (struct nvs_site_text){bare, (uintptr_t)bare, 1, 0};
	CHECK(nvs_site_analyse(&site, &text, (uintptr_t)bare, (uintptr_t)bare) == NVS_SITE_UNKNOWN,
	      "cut off");
	text.size = 2;
	CHECK(nvs_site_analyse(&site, &text, (uintptr_t)bare, (uintptr_t)bare) == NVS_SITE_NO_CAVE,
	      "bare");
	/* A function start that is none, or not one that leads to the store, is no help and does no
	 * harm. */
	text = (struct nvs_site_text){before_begin, (uintptr_t)before_begin,
				      before_end - before_begin, 1};
	CHECK(nvs_site_analyse(&site, &text, (uintptr_t)before_store, (uintptr_t)before_begin) ==
		      NVS_SITE_NO_CAVE,
	      "wrong start");
	text.function = (uintptr_t)before_begin + 7;
	CHECK(nvs_site_analyse(&site, &text, (uintptr_t)before_store, (uintptr_t)before_begin) ==
		      NVS_SITE_NO_CAVE,
	      "start within an instruction");
	/* Cut the text short everywhere: nothing is read behind it (memory there is not mapped). */
	size = real_end - real_begin;
	for (i = 0; i < 64; i++) {
		uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		size_t cut = real_store - real_begin + i;
		uint8_t *copy = pages + 4096 - cut;

		munmap(pages + 4096, 4096);
		memcpy(copy, real_begin, cut < size ? cut : size);
		text = (struct nvs_site_text){copy, (uintptr_t)copy, cut, 0};
		nvs_site_analyse(&site, &text, (uintptr_t)copy + (real_store - real_begin),
				 (uintptr_t)copy);
		munmap(pages, 4096);
	}
	passed++;
}

/* ---- patched and run ---- */

/* uint32_t lived(uint32_t *where, uint32_t value): stores, and returns value + 1. */
SITE(lived, "mov %rdi, %rax\nmov %esi, %ecx\n.balign 16\n.rept 15\nnop\n.endr\n"
	    "lived_store: " STORE JUMP32("lived_out") "lived_cave: " NOP10
						      "lived_out: lea 1(%rsi), %eax\nret");

static void test_run(void)
{
	static uint32_t count;
	/* incl count; mov %ecx, (%rax); jmp resume */
	uint8_t trampoline[] = {0x41, 0x53, 0x49, 0xbb, 0,    0,    0,	  0,	0, 0, 0, 0,
				0x41, 0xff, 0x03, 0x41, 0x5b, 0x89, 0x08, 0xe9, 0, 0, 0, 0};
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *jump = page + 4096;
	struct nvs_site_text text = {page, (uintptr_t)page, lived_end - lived_begin, 0};
	uint32_t (*lived)(uint32_t *, uint32_t) = (void *)page;
	uint32_t out = 0, *counter = &count;
	enum nvs_site_verdict verdict;
	struct nvs_site site;
	int32_t back;

	if (page == MAP_FAILED) {
		printf("skipped: no memory that is writable and executable\n");
		return;
	}
	memcpy(page, lived_begin, text.size);
	CHECK(lived(&out, 7) == 8 && out == 7, "as it was");
	verdict = nvs_site_analyse(&site, &text, (uintptr_t)page + (lived_store - lived_begin),
				   (uintptr_t)jump);
	CHECK(verdict == NVS_SITE_OK, "%s", name_verdict(verdict));
	if (verdict != NVS_SITE_OK)
		return;
	memcpy(trampoline + 4, &counter, 8);
	back = site.resume - ((uintptr_t)jump + sizeof trampoline);
	memcpy(trampoline + 20, &back, 4);
	memcpy(jump, trampoline, sizeof trampoline);
	memcpy((void *)site.cave, site.cave_new, sizeof site.cave_new);
	memcpy((void *)site.store, site.store_new, sizeof site.store_new);
	CHECK(lived(&out, 41) == 42 && out == 41, "patched: %u", out);
	CHECK(count == 1, "trampoline ran %u times", count);
	munmap(page, 8192);
}

/* ---- real code ---- */

static int by_address(const void *key, const void *line)
{
	uint64_t a = *(const uint64_t *)key, b = ((const struct line *)line)->address;

	return a < b ? -1 : a > b;
}

static const struct line *line_at(const struct listing *list, uint64_t address)
{
	return bsearch(&address, list->lines, list->nlines, sizeof *list->lines, by_address);
}

static bool jumped_to(const struct listing *list, uint64_t from, uint64_t to)
{
	size_t i;

	for (i = 0; i < list->nlines; i++)
		if (list->lines[i].target >= (int64_t)from && list->lines[i].target < (int64_t)to)
			return true;
	return false;
}

static bool ends_flow(const char *text)
{
	return !strncmp(text, "jmp", 3) || !strncmp(text, "ret", 3) || !strncmp(text, "ud2", 3) ||
	       !strncmp(text, "hlt", 3) || !strncmp(text, "notrack jmp", 11) ||
	       !strncmp(text, "bnd jmp", 7) || !strncmp(text, "repz ret", 8);
}

static bool pads(const char *text)
{
	return strstr(text, "nop") || !strncmp(text, "int3", 4) ||
	       !strncmp(text, "xchg   %ax,%ax", 14) || !strncmp(text, "data16", 6);
}

/* What objdump says about a cave that was found good. */
static void check_cave(const struct listing *list, const struct nvs_site *site, const char *name)
{
	const struct line *line = line_at(list, site->cave);

	CHECK(line && line > list->lines && ends_flow(line[-1].text), "%s: cave %" PRIx64, name,
	      site->cave);
	for (; line && line < list->lines + list->nlines &&
	       line->address < site->cave + NVS_SITE_TAIL;
	     line++)
		CHECK(pads(line->text), "%s: %" PRIx64 " %s", name, line->address, line->text);
	CHECK(!jumped_to(list, site->cave, site->cave + NVS_SITE_TAIL), "%s: cave %" PRIx64, name,
	      site->cave);
	CHECK(!jumped_to(list, site->store + 1, site->resume), "%s: store %" PRIx64, name,
	      site->store);
}

/* The contiguous stretch of the listing around line AT. */
static struct nvs_site_text stretch(const struct listing *list, size_t at)
{
	size_t first = at, last = at;

	while (first && !list->lines[first].starts)
		first--;
	while (last + 1 < list->nlines && !list->lines[last + 1].starts)
		last++;
	return (struct nvs_site_text){
		list->bytes + list->lines[first].offset, list->lines[first].address,
		list->lines[last].offset + list->lines[last].length - list->lines[first].offset,
		list->lines[first].address};
}

/* A register stored to memory, by objdump's spelling. */
static bool is_store(const struct line *line)
{
	size_t n = strlen(line->text);

	return !strncmp(line->text, "mov    %", 8) && n && line->text[n - 1] == ')' && !line->rip;
}

static void test_file(const char *path)
{
	unsigned verdicts[5] = {0}, stores = 0;
	struct listing list;
	size_t i;

	if (!objdump(&list, "-d", path)) {
		printf("skipped: objdump gives nothing for %s\n", path);
		return;
	}
	for (i = 0; i < list.nlines; i++) {
		struct nvs_site_text text;
		struct nvs_site site;
		enum nvs_site_verdict verdict;

		/* Each takes a look at all of the text: one in a hundred. */
		if (!is_store(&list.lines[i]) || stores++ % 100)
			continue;
		text = stretch(&list, i);
		/* Now with the start of the stretch, now without. */
		if (stores / 100 % 2)
			text.function = 0;
		verdict = nvs_site_analyse(&site, &text, list.lines[i].address, text.address);
		verdicts[verdict]++;
		CHECK(verdict == NVS_SITE_TARGET || verdict == NVS_SITE_OK ||
			      verdict == NVS_SITE_NO_CAVE,
		      "%s", name_verdict(verdict));
		if (verdict == NVS_SITE_OK)
			check_cave(&list, &site, path);
	}
	printf("%s: %u stores looked at: %u good, %u jump target, %u no cave\n", path,
	       (stores + 99) / 100, verdicts[NVS_SITE_OK], verdicts[NVS_SITE_TARGET],
	       verdicts[NVS_SITE_NO_CAVE]);
	/* Nothing was tested if none passes. */
	CHECK(!strstr(path, "libc.so") || verdicts[NVS_SITE_OK] > 10, "%s", path);
	listing_free(&list);
}

static int on_module(struct dl_phdr_info *info, size_t size, void *data)
{
	if (info->dlpi_name[0] == '/')
		test_file(info->dlpi_name);
	return 0;
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		test_file(argv[i]);
	test_made_up();
	test_edges();
	test_run();
	dl_iterate_phdr(on_module, NULL);
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}
