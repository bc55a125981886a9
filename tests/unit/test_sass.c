/* SPDX-License-Identifier: MIT */
/* LINK: sass interp */
/* Kernel code, compared with NVIDIA's tools: fatbins of every compression mode, cubins, and
 * instructions as nvdisasm prints them. Hand-made bundles of Maxwell; damaged code. */
#include <stdlib.h>
#include "sass/sass.h"
#include "sass/blocks.h"
#include "tests/unit/expect.h"

#define DATA "tests/sass/data/"

static uint8_t *load(const char *name, size_t *size)
{
	char path[256];
	uint8_t *data;
	FILE *f;

	snprintf(path, sizeof(path), DATA "%s", name);
	f = fopen(path, "rb");
	if (!f) {
		perror(path);
		exit(1);
	}
	data = malloc(1 << 20);
	*size = fread(data, 1, 1 << 20, f);
	fclose(f);
	return realloc(data, *size);
}

/* ---- fatbins ---- */

static void packing(const char *name, uint64_t flag, bool of_cubins)
{
	struct nvs_fatbin whole = {0}, packed = {0};
	struct nvs_fatbin_entry e, p;
	uint8_t *one = load("packed-none.fatbin", &whole.size), *two = load(name, &packed.size);
	uint32_t n = 0;
	void *bytes;

	whole.data = one;
	packed.data = two;
	while (nvs_fatbin_next(&whole, &e) && nvs_fatbin_next(&packed, &p)) {
		EXPECT(e.kind == p.kind && e.arch == p.arch && !e.packed);
		EXPECT_EQ(p.packed, flag && (of_cubins || e.kind == NVS_FATBIN_PTX));
		EXPECT(!p.packed || p.flags & flag);
		EXPECT_EQ(nvs_fatbin_unpack(&p, &nvs_sass_heap, &bytes), 0);
		/* What is not packed is padded. */
		EXPECT(p.unpacked <= e.size && e.size - p.unpacked < 8);
		EXPECT(bytes && !memcmp(bytes, e.data, p.unpacked));
		free(bytes);
		n++;
	}
	EXPECT_EQ(n, 4);
	EXPECT(!whole.broken && !packed.broken);
	free(one);
	free(two);
}

static void chosen(uint32_t arch, uint32_t cubin, bool specific, uint32_t ptx)
{
	struct nvs_fatbin_entry c, p;
	size_t size;
	uint8_t *data = load("packed-none.fatbin", &size);
	int r = nvs_fatbin_choose(data, size, arch, &c, &p);

	EXPECT_EQ(!r, cubin != 0);
	EXPECT_EQ(c.arch, cubin);
	EXPECT_EQ((c.flags & NVS_FATBIN_SPECIFIC) != 0, specific);
	EXPECT_EQ(p.arch, ptx);
	free(data);
}

static void fatbins(void)
{
	const void *wrapper[3] = {(void *)0x1466243b1, NULL, NULL};
	struct nvs_image image;
	size_t size;
	uint8_t *data = load("packed-size.fatbin", &size);

	packing("packed-none.fatbin", 0, false);
	packing("packed-speed.fatbin", NVS_FATBIN_LZ4, false);
	packing("packed-size.fatbin", NVS_FATBIN_ZSTD, true);
	chosen(70, 0, false, 0);
	chosen(75, 75, false, 0);
	chosen(86, 0, false, 0);
	chosen(90, 90, true, 90);
	chosen(100, 0, false, 90);
	wrapper[1] = data;
	EXPECT_EQ(nvs_image_at(wrapper, &image), 0);
	EXPECT(image.kind == NVS_IMAGE_FATBIN && image.data == data && image.size == size);
	EXPECT(nvs_image_of(data, size - 1, &image) < 0);
	EXPECT_EQ(nvs_image_at("/* a */ // b\n .version 8", &image), 0);
	EXPECT(image.kind == NVS_IMAGE_PTX && image.size == 24);
	EXPECT(nvs_image_at("", &image) < 0 && nvs_image_at("version", &image) < 0);
	free(data);
}

/* ---- cubins ---- */

static const struct nvs_cubin_function *find(const struct nvs_cubin_functions *all,
					     const char *name)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (!strcmp(all->function[i].name, name))
			return all->function + i;
	printf("no %s\n", name);
	exit(1);
}

static void blocks(const struct nvs_cubin *c, const struct nvs_cubin_function *f)
{
	struct nvs_sass_blocks b;
	uint32_t next = 0;

	EXPECT_EQ(nvs_sass_blocks(c, f, &nvs_sass_heap, &b), 0);
	EXPECT_EQ(b.unknown, 0);
	for (uint32_t i = 0; i < b.n; i++) {
		EXPECT(b.block[i].first == next && b.block[i].last >= next);
		next = b.block[i].last + 1;
	}
	EXPECT_EQ(next, f->size / 16);
	EXPECT(b.block[0].reached);
	nvs_sass_blocks_free(&b, &nvs_sass_heap);
}

/* Figures as ptxas -v prints them: used registers, bytes of shared memory, stack frame. */
static void cubin(const char *name, uint32_t arch, uint32_t saxpy, uint32_t matmul, uint32_t local)
{
	const struct nvs_cubin_function *f;
	struct nvs_cubin_functions all;
	struct nvs_cubin c;
	size_t size;
	uint8_t *data = load(name, &size);

	EXPECT_EQ(nvs_cubin_open(&c, data, size), 0);
	EXPECT_EQ(c.arch, arch);
	EXPECT(!c.specific);
	EXPECT_EQ(nvs_cubin_functions(&c, &nvs_sass_heap, &all), 0);
	f = find(&all, "saxpy");
	EXPECT(f->kernel);
	EXPECT_EQ(f->registers, saxpy);
	EXPECT_EQ(f->frame, 0);
	f = find(&all, "matmul");
	EXPECT_EQ(f->registers, matmul);
	EXPECT_EQ(f->shared - (arch >= 90 ? 1024 : 0), 576); /* the system keeps some */
	f = find(&all, "local");
	EXPECT_EQ(f->frame, local);
	for (uint32_t i = 0; i < all.n; i++)
		blocks(&c, all.function + i);
	nvs_cubin_functions_free(&all, &nvs_sass_heap);
	free(data);
}

/* ---- instructions, as nvdisasm has them ---- */

/* "R4-6 P0 UR3" */
static struct nvs_sass_registers registers(char *text)
{
	struct nvs_sass_registers r = {0};
	char *word, *rest = text;
	unsigned first, last;

	while ((word = strsep(&rest, " "))) {
		bool uniform = *word == 'U';
		char kind = uniform ? word[1] : *word;
		int n = sscanf(word + uniform + 1, "%u-%u", &first, &last);

		for (unsigned k = first; n >= 1 && k <= (n == 2 ? last : first); k++)
			if (kind == 'P')
				*(uniform ? &r.uniform_predicate : &r.predicate) |= 1u << k;
			else if (uniform)
				r.uniform |= 1ull << k;
			else
				r.vector[k / 64] |= 1ull << k % 64;
	}
	return r;
}

/* Has A all of B? */
static bool has(const struct nvs_sass_registers *a, const struct nvs_sass_registers *b)
{
	bool all = !(b->uniform & ~a->uniform) && !(b->predicate & ~a->predicate) &&
		   !(b->uniform_predicate & ~a->uniform_predicate);

	for (unsigned k = 0; k < 4; k++)
		all = all && !(b->vector[k] & ~a->vector[k]);
	return all;
}

static void one_line(char *line, uint64_t *known, uint64_t *exact)
{
	char *field[8], *rest = line;
	struct nvs_sass_registers reads, writes;
	struct nvs_sass_insn_use use;
	struct nvs_sass_insn insn;
	struct nvs_sass_flow flow;
	enum nvs_sass_form form;
	uint64_t word[2];
	bool right;

	for (unsigned k = 0; k < 8; k++)
		field[k] = strsep(&rest, "\t");
	form = nvs_sass_form((uint32_t)atoi(field[0]));
	word[0] = strtoull(field[2], NULL, 16);
	word[1] = strtoull(field[3], NULL, 16);
	right = nvs_sass_insn(form, (uint8_t *)word, sizeof(word), 0, &insn);
	insn.at = (uint32_t)strtoul(field[1], NULL, 16);
	nvs_sass_insn_flow(&insn, form, &flow);
	right = right && flow.flow != NVS_FLOW_UNKNOWN;
	if (*field[4] != '-')
		right = right && flow.target_known && flow.target == strtoll(field[4], NULL, 16);
	nvs_sass_insn_use(&insn, form, &use);
	if (use.known && *field[5] != '?') {
		reads = registers(field[5]);
		writes = registers(field[6]);
		right = right && has(&use.read, &reads) && has(&use.written, &writes);
		if (use.whole)
			right = right && has(&writes, &use.written);
		*exact += has(&reads, &use.read) && has(&writes, &use.written);
		*known += 1;
	}
	EXPECT(right);
	if (!right)
		printf("sm_%s %s\n", field[0], field[7]);
}

/* All lines of FILE. */
static uint64_t lines(const char *file, uint64_t *known, uint64_t *exact)
{
	uint64_t n = 0;
	size_t size;
	uint8_t *data = load(file, &size);
	char *rest = strndup((char *)data, size), *text = rest, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line && *line != '#') {
			one_line(line, known, exact);
			n++;
		}
	free(text);
	free(data);
	return n;
}

static void instructions(void)
{
	uint64_t known = 0, exact = 0, n = lines("nvdisasm.txt", &known, &exact);

	EXPECT(n > 1300 && known > n * 97 / 100 && exact > known * 85 / 100);
	known = 0;
	n = lines("ptxas.txt", &known, &exact);
	EXPECT(n > 40 && known == n);
}

/* ---- older forms ---- */

static void bundles(void)
{
	/* Stall 6, then 13 with write barrier 0, then a wait for it; the rest is not there. */
	uint64_t control = 0x7f6ull | (0x71dull << 21) | (0xfe1ull << 42);
	uint64_t code[] = {control, 0x4c98078000870001, 0xf0c8000002170000, 0x50b0000000090f00, 0};
	struct nvs_sass_insn insn;

	EXPECT_EQ(nvs_sass_insn_count(NVS_SASS_MAXWELL, sizeof(code)), 3);
	EXPECT_EQ(nvs_sass_insn_count(NVS_SASS_MAXWELL, 16), 1);
	EXPECT_EQ(nvs_sass_insn_count(NVS_SASS_KEPLER, 64), 7);
	EXPECT_EQ(nvs_sass_insn_count(NVS_SASS_UNKNOWN, 64), 0);
	EXPECT(nvs_sass_insn(NVS_SASS_MAXWELL, (uint8_t *)code, 32, 0, &insn));
	EXPECT(insn.at == 8 && insn.lo == code[1] && insn.predicate == 7);
	EXPECT(insn.control.stall == 6 && insn.control.yield && insn.control.write_barrier == 7);
	EXPECT(nvs_sass_insn(NVS_SASS_MAXWELL, (uint8_t *)code, 32, 1, &insn));
	EXPECT(insn.control.stall == 13 && insn.control.write_barrier == 0);
	EXPECT(nvs_sass_insn(NVS_SASS_MAXWELL, (uint8_t *)code, 32, 2, &insn));
	EXPECT(insn.predicate == 1 && insn.negated && insn.control.wait == 1);
	EXPECT(!nvs_sass_insn(NVS_SASS_MAXWELL, (uint8_t *)code, 32, 3, &insn));
}

/* ---- damage ---- */

static uint64_t seed = 20261123;

/* Line and mnemonic of the instruction at AT of the kernel NAME: "STG lines.cu:7". */
static void describe(const struct nvs_cubin *c, const char *name, uint64_t at, char text[64])
{
	struct nvs_cubin_functions all;
	struct nvs_cubin_line line;
	struct nvs_sass_insn insn;

	*text = '\0';
	EXPECT(!nvs_cubin_functions(c, &nvs_sass_heap, &all));
	for (uint32_t i = 0; i < all.n; i++) {
		const struct nvs_cubin_function *f = all.function + i;

		if (strcmp(f->name, name) ||
		    !nvs_sass_insn(NVS_SASS_HOPPER, f->code, f->size, at / 16, &insn))
			continue;
		nvs_cubin_line(c, f->section, f->offset + at, &line);
		snprintf(text, 64, "%s %s:%u", nvs_sass_insn_name(&insn), line.file, line.line);
	}
	nvs_cubin_functions_free(&all, &nvs_sass_heap);
}

static void source_lines(void)
{
	struct nvs_cubin_line line;
	struct nvs_cubin c;
	char text[64];
	size_t size;
	uint8_t *data = load("lines-sm_90.cubin", &size);

	EXPECT(!nvs_cubin_open(&c, data, size));
	describe(&c, "store", 0x90, text);
	EXPECT(!strcmp(text, "STG lines.cu:7"));
	describe(&c, "store", 0xa0, text);
	EXPECT(!strcmp(text, "EXIT lines.cu:8"));
	describe(&c, "load", 0x30, text);
	EXPECT(!strcmp(text, "LDG lines.cu:12"));
	describe(&c, "load", 0x50, text);
	EXPECT(!strcmp(text, "STG lines.cu:14"));
	EXPECT(!nvs_cubin_line(&c, 0, 0, &line) && !*line.file && !line.line);
	free(data);
	data = load("kernels-sm_90.cubin", &size);
	EXPECT(!nvs_cubin_open(&c, data, size));
	EXPECT(!nvs_cubin_line(&c, 1, 0, &line));
	free(data);
}

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % below);
}

static void all_of(const uint8_t *data, size_t size)
{
	struct nvs_fatbin f = {.data = data, .size = size};
	struct nvs_cubin_functions all;
	struct nvs_sass_tally tally;
	struct nvs_fatbin_entry e;
	struct nvs_cubin_line line;
	struct nvs_cubin c;
	void *bytes;

	if (!nvs_cubin_open(&c, data, size) && !nvs_cubin_functions(&c, &nvs_sass_heap, &all)) {
		for (uint32_t i = 0; i < all.n; i++)
			nvs_sass_tally(all.function[i].code, all.function[i].size,
				       nvs_sass_form(c.arch), &tally);
		for (uint32_t i = 0; i < all.n; i++)
			nvs_cubin_line(&c, all.function[i].section, all.function[i].offset + 16,
				       &line);
		nvs_cubin_functions_free(&all, &nvs_sass_heap);
	}
	while (nvs_fatbin_next(&f, &e))
		if (e.unpacked < 1 << 20 && !nvs_fatbin_unpack(&e, &nvs_sass_heap, &bytes))
			free(bytes);
}

static void damage(const char *name, unsigned times)
{
	size_t size, head;
	uint8_t *data = load(name, &size), *bent = malloc(size);

	/* In an ELF what tells of all else stands at the beginning, and at the end. */
	head = size < 4096 ? size : 4096;
	for (unsigned i = 0; i < times; i++) {
		memcpy(bent, data, size);
		for (uint32_t k = draw(8) + 1; k; k--)
			bent[draw(2) ? draw((uint32_t)head) : size - 1 - draw((uint32_t)head)] =
				(uint8_t)draw(256);
		all_of(bent, draw(4) ? size : draw((uint32_t)size));
	}
	EXPECT(true);
	free(data);
	free(bent);
}

int main(void)
{
	printf("seed %llu\n", (unsigned long long)seed);
	fatbins();
	cubin("kernels-sm_75.cubin", 75, 12, 42, 64);
	cubin("kernels-sm_80.cubin", 80, 12, 32, 64);
	cubin("kernels-sm_90.cubin", 90, 14, 32, 64);
	instructions();
	bundles();
	source_lines();
	damage("lines-sm_90.cubin", 300);
	damage("packed-none.fatbin", 300);
	damage("packed-size.fatbin", 300);
	damage("packed-speed.fatbin", 300);
	damage("kernels-sm_90.cubin", 60);
	return expect_done();
}
