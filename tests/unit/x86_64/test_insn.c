/* SPDX-License-Identifier: MIT */
/*
 * Lengths, targets and operands of the instruction decoder, compared with objdump: for libraries
 * that every machine has, for this program, and for a random stream of instructions with a fixed
 * seed.
 */
/* LINK: trap */
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/x86_64/objdump.h"
#include "trap/arch/store.h"

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

/* ---- comparison ---- */

struct tally {
	size_t same, unknown, wrong, skipped;
	unsigned shown;
};

static void complain(struct tally *tally, const char *what, const struct line *line,
		     const uint8_t *bytes, int length)
{
	int i;

	if (tally->shown++ >= 20)
		return;
	printf("  %s: %" PRIx64 ":", what, line->address);
	for (i = 0; i < 15; i++)
		printf("%s%02x", i == (int)line->length ? "|" : " ", bytes[i]);
	printf("  we say %d  %s\n", length, line->text);
}

/* True for a listing line that is nothing but prefixes: objdump gives up behind them. */
static bool is_prefixes(const char *text)
{
	static const char *const names[] = {"data16", "addr32", "cs",  "ds",   "es",	"ss", "fs",
					    "gs",     "lock",	"rep", "repz", "repnz", "rex"};
	size_t i, n;

	while (*text) {
		n = strcspn(text, " .");
		for (i = 0; i < sizeof names / sizeof *names; i++)
			if (strlen(names[i]) == n && !strncmp(text, names[i], n))
				break;
		if (i == sizeof names / sizeof *names)
			return false;
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	return true;
}

/* Besides, it joins fwait to the x87 instruction behind it, prefixes before fwait included. */
static bool is_quirk(const struct line *line, const struct nvs_insn *insn, int length)
{
	return line->bad || is_prefixes(line->text) ||
	       (length && insn->map == NVS_MAP_ONE && insn->opcode == 0x9b &&
		line->length > insn->length);
}

static void compare_line(struct tally *tally, const struct listing *list, const struct line *line)
{
	uint8_t bytes[NVS_INSN_MAX] = {0};
	size_t rest = list->nbytes - line->offset;
	struct nvs_insn insn;
	int length;

	memcpy(bytes, list->bytes + line->offset, rest < sizeof bytes ? rest : sizeof bytes);
	length = nvs_insn_decode(&insn, bytes, sizeof bytes);
	if (is_quirk(line, &insn, length)) {
		tally->skipped++;
	} else if (!length) {
		tally->unknown++;
		if (list->nlines < list->nbytes / 8 || getenv("VERBOSE"))
			complain(tally, "unknown", line, bytes, length);
	} else if (length != (int)line->length) {
		tally->wrong++;
		complain(tally, "length", line, bytes, length);
	} else if (line->target >= 0 && line->address + insn.target != (uint64_t)line->target) {
		tally->wrong++;
		complain(tally, "target", line, bytes, length);
	} else if (line->rip != (insn.memory && insn.base == NVS_RIP)) {
		tally->wrong++;
		complain(tally, "rip", line, bytes, length);
	} else if (nvs_insn_decode(&insn, bytes, length - 1)) {
		tally->wrong++;
		complain(tally, "reads on", line, bytes, length);
	} else {
		tally->same++;
	}
}

static struct tally compare(const struct listing *list, const char *name)
{
	struct tally tally = {0};
	size_t i;

	for (i = 0; i < list->nlines; i++)
		compare_line(&tally, list, &list->lines[i]);
	printf("%s: %zu agree, %zu unknown, %zu differ, %zu of objdump's own ways\n", name,
	       tally.same, tally.unknown, tally.wrong, tally.skipped);
	return tally;
}

static void test_file(const char *path)
{
	struct listing list;
	struct tally tally;

	if (!objdump(&list, "-d", path)) {
		printf("skipped: objdump gives nothing for %s\n", path);
		return;
	}
	tally = compare(&list, path);
	CHECK(tally.wrong == 0, "%s", path);
	CHECK(tally.unknown * 1000 < tally.same, "%s", path);
	CHECK(tally.skipped * 100 < tally.same, "%s", path);
	listing_free(&list);
}

static int on_module(struct dl_phdr_info *info, size_t size, void *data)
{
	if (info->dlpi_name[0] == '/')
		test_file(info->dlpi_name);
	return 0;
}

/* ---- a stream of made-up instructions ---- */

static uint64_t seed = 0x6e76736e6f6f7031;

static uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed >> 16;
}

static size_t make_insn(uint8_t *out)
{
	static const uint8_t prefixes[] = {0x66, 0x67, 0xf2, 0xf3, 0x64, 0x65, 0xf0, 0x2e};
	size_t n = 0, i;
	uint32_t kind = rnd() % 8;

	if (rnd() % 4 == 0)
		out[n++] = kind < 5 ? prefixes[rnd() % sizeof prefixes] : 0x67;
	if (kind < 4 && rnd() % 2)
		out[n++] = 0x40 | rnd() % 16;
	switch (kind) {
	case 1:
		out[n++] = 0x0f;
		break;
	case 2:
		out[n++] = 0x0f;
		out[n++] = 0x38;
		break;
	case 3:
		out[n++] = 0x0f;
		out[n++] = 0x3a;
		break;
	case 4:
		out[n++] = 0xc5;
		out[n++] = rnd();
		break;
	case 5:
		out[n++] = 0xc4;
		out[n++] = (rnd() & 0xe0) | (1 + rnd() % 3);
		out[n++] = rnd();
		break;
	case 6:
	case 7:
		out[n++] = 0x62;
		out[n++] = (rnd() & 0xf0) | (1 + rnd() % 6);
		out[n++] = rnd() | 4;
		out[n++] = rnd();
		break;
	}
	for (i = 0; i < 12; i++)
		out[n++] = rnd();
	return n;
}

static void test_stream(void)
{
	char path[] = "/tmp/nvs_insn_XXXXXX";
	int fd = mkstemp(path);
	struct listing list;
	struct tally tally;
	uint8_t bytes[32];
	FILE *out;
	int i;

	printf("seed %#" PRIx64 "\n", seed);
	out = fdopen(fd, "w");
	for (i = 0; i < 60000; i++)
		fwrite(bytes, make_insn(bytes), 1, out);
	fclose(out);
	if (!objdump(&list, "-D -b binary -m i386:x86-64", path)) {
		printf("skipped: no objdump\n");
	} else {
		tally = compare(&list, "stream");
		CHECK(tally.wrong == 0, "stream");
		CHECK(tally.same > 100000, "stream");
	}
	listing_free(&list);
	unlink(path);
}

/* ---- what objdump does not say in numbers ---- */

struct kind {
	uint8_t bytes[NVS_INSN_MAX];
	int length;
	enum nvs_branch branch;
	uint8_t base, index, operand_bytes;
	bool ends;
};

static const struct kind kinds[] = {
	{{0xeb, 0xfe}, 2, NVS_BRANCH_JMP, NVS_REG_NONE, NVS_REG_NONE, 4, true},
	{{0xe9, 1, 0, 0, 0}, 5, NVS_BRANCH_JMP, NVS_REG_NONE, NVS_REG_NONE, 4, true},
	{{0xe8, 1, 0, 0, 0}, 5, NVS_BRANCH_CALL, NVS_REG_NONE, NVS_REG_NONE, 4, false},
	{{0x74, 0}, 2, NVS_BRANCH_JCC, NVS_REG_NONE, NVS_REG_NONE, 4, false},
	{{0xe3, 0}, 2, NVS_BRANCH_JCC, NVS_REG_NONE, NVS_REG_NONE, 4, false},
	{{0x0f, 0x8f, 0, 0, 0, 0}, 6, NVS_BRANCH_JCC, NVS_REG_NONE, NVS_REG_NONE, 4, false},
	{{0xc7, 0xf8, 0, 0, 0, 0}, 6, NVS_BRANCH_JCC, NVS_REG_NONE, NVS_REG_NONE, 4, false},
	{{0xff, 0x24, 0xc8}, 3, NVS_BRANCH_JMP_INDIRECT, NVS_RAX, NVS_RCX, 8, true},
	{{0x41, 0xff, 0xd4}, 3, NVS_BRANCH_CALL_INDIRECT, NVS_REG_NONE, NVS_REG_NONE, 8, false},
	{{0x3e, 0xff, 0xe0}, 3, NVS_BRANCH_JMP_INDIRECT, NVS_REG_NONE, NVS_REG_NONE, 8, true},
	{{0xf3, 0xc3}, 2, NVS_BRANCH_RET, NVS_REG_NONE, NVS_REG_NONE, 4, true},
	{{0xc2, 8, 0}, 3, NVS_BRANCH_RET, NVS_REG_NONE, NVS_REG_NONE, 4, true},
	{{0x0f, 0x0b}, 2, NVS_BRANCH_STOP, NVS_REG_NONE, NVS_REG_NONE, 4, true},
	{{0xcc}, 1, NVS_BRANCH_NONE, NVS_REG_NONE, NVS_REG_NONE, 4, false},
	{{0x89, 0x08}, 2, NVS_BRANCH_NONE, NVS_RAX, NVS_REG_NONE, 4, false},
	{{0x66, 0x43, 0x89, 0x4c, 0x65, 8}, 6, NVS_BRANCH_NONE, NVS_R13, NVS_R12, 2, false},
	{{0x48, 0x89, 0x04, 0x25, 0, 0, 0, 0},
	 8,
	 NVS_BRANCH_NONE,
	 NVS_REG_NONE,
	 NVS_REG_NONE,
	 8,
	 false},
	{{0x88, 0x05, 0, 0, 0, 0}, 6, NVS_BRANCH_NONE, NVS_RIP, NVS_REG_NONE, 1, false},
	/* Not to be told: lengths on which processors differ, prefixes that rule each other out,
	   junk. */
	{{0x66, 0xe9, 0, 0, 0, 0}, 0, 0, 0, 0, 0, false},
	{{0x66, 0x74, 0}, 0, 0, 0, 0, 0, false},
	{{0x66, 0xc5, 0xf8, 0x11, 0x00}, 0, 0, 0, 0, 0, false},
	{{0x48, 0x62, 0xf1, 0x7c, 0x48, 0x11, 0x00}, 0, 0, 0, 0, 0, false},
	{{0x62, 0xf9, 0x7c, 0x48, 0x11, 0x00}, 0, 0, 0, 0, 0, false},
	{{0xd5, 0x00, 0x89, 0x08}, 0, 0, 0, 0, 0, false},
	{{0x06}, 0, 0, 0, 0, 0, false},
	{{0x8f, 0xe0}, 0, 0, 0, 0, 0, false},
	{{0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66},
	 0,
	 0,
	 0,
	 0,
	 0,
	 false},
};

static void test_kinds(void)
{
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct kind *k = &kinds[i];
		struct nvs_insn insn;
		int length = nvs_insn_decode(&insn, k->bytes, sizeof k->bytes);

		CHECK(length == k->length, "kind %zu: %d", i, length);
		if (!length || !k->length)
			continue;
		CHECK(insn.branch == k->branch, "kind %zu: %d", i, insn.branch);
		CHECK(nvs_insn_ends_flow(&insn) == k->ends, "kind %zu", i);
		CHECK(insn.base == k->base && insn.index == k->index, "kind %zu: base %d, index %d",
		      i, insn.base, insn.index);
		CHECK(insn.operand_bytes == k->operand_bytes, "kind %zu: %d", i,
		      insn.operand_bytes);
	}
}

int main(int argc, char **argv)
{
	char self[512] = "";
	int i;

	test_kinds();
	for (i = 1; i < argc; i++)
		test_file(argv[i]);
	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
		self[0] = 0;
	test_file(self);
	dl_iterate_phdr(on_module, NULL);
	test_stream();
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}
