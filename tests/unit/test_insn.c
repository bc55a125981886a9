/* SPDX-License-Identifier: MIT */
/*
 * Lengths, targets and operands of the instruction decoder, held against objdump's: over libraries that
 * every machine has, over this program, and over a stream of instructions made from a fixed seed.
 */
/* LINK: trap */
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "trap/insn.h"

static unsigned passed, failed;

#define CHECK(cond, ...)                                                                           \
	do {                                                                                       \
		if (cond) {                                                                        \
			passed++;                                                                  \
		} else {                                                                           \
			failed++;                                                                  \
			printf("%s:%d: %s: ", __FILE__, __LINE__, #cond);                          \
			printf(__VA_ARGS__);                                                       \
			putchar('\n');                                                             \
		}                                                                                  \
	} while (0)

/* ---- objdump's view ---- */

struct line {
	uint64_t address;
	uint32_t offset, length; /* in the listing's bytes */
	int64_t target; /* of a direct branch, else -1 */
	bool bad, rip, starts; /* starts: not contiguous with the line before */
	char text[56];
};

struct listing {
	struct line *lines;
	uint8_t *bytes;
	size_t nlines, nbytes, lines_room, bytes_room;
};

static void *grow(void *array, size_t need, size_t *room, size_t size)
{
	if (need <= *room)
		return array;
	*room = need * 2;
	array = realloc(array, *room * size);
	if (!array) {
		perror("realloc");
		exit(1);
	}
	return array;
}

/* "  addr:\tb0 b1 b2 \ttext" */
static void parse_line(struct listing *list, char *text)
{
	struct line line = { .target = -1, .offset = list->nbytes };
	char *rest, *hex, *word;

	line.address = strtoull(text, &rest, 16);
	if (rest == text || rest[0] != ':' || rest[1] != '\t')
		return;
	rest += 2;
	for (;;) {
		unsigned long byte = strtoul(rest, &hex, 16);

		if (hex != rest + 2)
			break;
		list->bytes = grow(list->bytes, list->nbytes + 1, &list->bytes_room, 1);
		list->bytes[list->nbytes++] = byte;
		line.length++;
		rest = hex + 1;
	}
	while (*rest == ' ' || *rest == '\t')
		rest++;
	rest[strcspn(rest, "\n")] = 0;
	snprintf(line.text, sizeof line.text, "%s", rest);
	line.bad = strstr(rest, "(bad)") || strstr(rest, ".byte") || !*rest;
	line.rip = strstr(rest, "(%rip)") != NULL || strstr(rest, "(%eip)") != NULL;
	word = rest;
	if (!strncmp(word, "bnd ", 4) || !strncmp(word, "notrack ", 8))
		word = strchr(word, ' ') + 1;
	if (*word == 'j' || !strncmp(word, "call", 4) || !strncmp(word, "loop", 4)) {
		hex = strchr(word, ' ');
		while (hex && (*hex == ' ' || *hex == ','))
			hex++;
		if (hex && *hex != '*' && strchr("0123456789abcdef", *hex) && *hex)
			line.target = strtoull(hex, NULL, 16);
	}
	if (list->nlines) {
		struct line *last = &list->lines[list->nlines - 1];

		line.starts = last->address + last->length != line.address;
	}
	list->lines = grow(list->lines, list->nlines + 1, &list->lines_room, sizeof line);
	list->lines[list->nlines++] = line;
}

static bool objdump(struct listing *list, const char *options, const char *path)
{
	char command[1024], text[1024];
	FILE *in;

	memset(list, 0, sizeof *list);
	snprintf(command, sizeof command, "LC_ALL=C objdump -w -z --insn-width=16 %s '%s' 2>/dev/null",
		 options, path);
	in = popen(command, "r");
	if (!in)
		return false;
	while (fgets(text, sizeof text, in))
		parse_line(list, text);
	return pclose(in) == 0 && list->nlines;
}

static void listing_free(struct listing *list)
{
	free(list->lines);
	free(list->bytes);
}

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
	static const char *const names[] = { "data16", "addr32", "cs", "ds", "es", "ss", "fs",
					     "gs", "lock", "rep", "repz", "repnz", "rex" };
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
	uint8_t bytes[NVS_INSN_MAX] = { 0 };
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
	struct tally tally = { 0 };
	size_t i;

	for (i = 0; i < list->nlines; i++)
		compare_line(&tally, list, &list->lines[i]);
	printf("%s: %zu agree, %zu unknown, %zu differ, %zu of objdump's own ways\n", name, tally.same,
	       tally.unknown, tally.wrong, tally.skipped);
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
	static const uint8_t prefixes[] = { 0x66, 0x67, 0xf2, 0xf3, 0x64, 0x65, 0xf0, 0x2e };
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

int main(int argc, char **argv)
{
	char self[512] = "";
	int i;

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
