/* SPDX-License-Identifier: MIT */
/* Writes the folder of --reproduce: a program whose data are tables before body.txt, its code, and
 * a file for each buffer and moment. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/allocations.h"
#include "decode/analysis/memory_ranges.h"
#include "decode/base/grow.h"
#include "decode/cli/sentence.h"
#include "decode/export/output_dir.h"
#include "decode/export/reproduce/launch.h"

#define MAX_ADDRESSES (1u << 20)
#define MAX_BUFFERS 4096u
#define MAX_SCANNED (1ull << 30) /* bytes of buffers, for --deep */

__asm__(".pushsection .rodata\n"
	".global nvs_reproduce_body\n"
	"nvs_reproduce_body:\n.incbin \"decode/export/reproduce/body.txt\"\n.byte 0\n"
	".popsection\n");
extern const char nvs_reproduce_body[];

/* A buffer of the program: an allocation, or a variable of the module. */
struct program_buffer {
	uint64_t address, size;
	const struct nvs_launch_memory *memory; /* NULL: there is no snapshot of it */
	const char *kind; /* of the allocation; "variable" */
};

/* A word that is an address: of the parameters (IN -1) or of a buffer. */
struct program_address {
	int32_t in;
	uint32_t of;
	uint64_t where, offset;
};

struct program_word {
	uint32_t where;
	uint64_t word;
};

struct reproducer {
	struct nvs_run *run;
	struct nvs_launch_facts *f;
	struct program_buffer *buffers;
	struct program_address *addresses;
	struct program_word *unresolved;
	uint32_t nbuffers, buffers_room, naddresses, addresses_room, nunresolved, unresolved_room;
	uint64_t bytes, without; /* of all buffers; of those that begin as zeros */
	uint64_t too_large; /* what a snapshot of all needs, if something was too large */
};

/* ---- what the launch reaches ---- */

static const struct nvs_launch_memory *find_memory(const struct nvs_launch_facts *f,
						   uint64_t address, uint64_t size)
{
	for (uint32_t i = 0; i < f->nmemory; i++)
		if (f->memory[i].address == address && f->memory[i].size == size)
			return f->memory + i;
	return NULL;
}

/* Returns its index, or UINT32_MAX if memory is short. */
static uint32_t get_buffer(struct reproducer *p, uint64_t address, uint64_t size, const char *kind)
{
	struct program_buffer *b;

	for (uint32_t i = 0; i < p->nbuffers; i++)
		if (p->buffers[i].address == address)
			return i;
	b = NVS_APPEND(p->buffers, p->nbuffers, p->buffers_room, 16, MAX_BUFFERS);
	if (!b)
		return UINT32_MAX;
	*b = (struct program_buffer){address, size, find_memory(p->f, address, size), kind};
	p->bytes += size;
	if (!b->memory || !b->memory->bytes[0])
		p->without += size;
	return p->nbuffers - 1;
}

static int add_address(struct reproducer *p, int32_t in, uint64_t where, uint64_t value,
		       const struct nvs_memory_range *range)
{
	const char *kind = nvs_alloc_kind_name(range->kind);
	uint32_t of = get_buffer(p, range->address, range->bytes, kind);
	struct program_address *a;

	if (of == UINT32_MAX)
		return -ENOMEM;
	a = NVS_APPEND(p->addresses, p->naddresses, p->addresses_room, 16, MAX_ADDRESSES);
	if (!a)
		return -ENOMEM;
	*a = (struct program_address){in, of, where, value - range->address};
	return 0;
}

/* Addresses in parameters are at any place of 4 bytes, in memory they are aligned. */
static int scan_parameters(struct reproducer *p)
{
	const struct nvs_launch_facts *f = p->f;
	struct program_word *u;
	uint64_t value;
	int r = 0;

	for (uint32_t at = 0; at + 8 <= f->layout_bytes && !r; at += 4) {
		const struct nvs_memory_range *range;

		memcpy(&value, f->params + at, 8);
		range = nvs_launch_facts_range(f, value);
		if (range) {
			r = add_address(p, -1, at, value, range);
			at += 4;
		} else if (at % 8 == 0 && nvs_looks_like_address(value)) {
			u = NVS_APPEND(p->unresolved, p->nunresolved, p->unresolved_room, 8,
				       MAX_ADDRESSES);
			if (!u)
				return -ENOMEM;
			*u = (struct program_word){at, value};
		}
	}
	return r;
}

/* A variable of the module that has the address, as a range. */
static bool find_target(const struct nvs_launch_facts *f, uint64_t value,
			struct nvs_memory_range *found)
{
	const struct nvs_memory_range *range = nvs_launch_facts_range(f, value);

	if (range) {
		*found = *range;
		return true;
	}
	for (uint32_t i = 0; i < f->nmemory; i++)
		if (f->memory[i].name && value - f->memory[i].address < f->memory[i].size) {
			*found = (struct nvs_memory_range){.address = f->memory[i].address,
							   .bytes = f->memory[i].size};
			return true;
		}
	return false;
}

/* The words of all buffers, and of the buffers that these point into. */
static int scan_buffers(struct reproducer *p)
{
	uint64_t scanned = 0, value;
	int r = 0;

	for (uint32_t i = 0; i < p->nbuffers && !r; i++) {
		const struct nvs_launch_memory *m = p->buffers[i].memory;
		struct nvs_memory_range range;

		if (!m || !m->bytes[0] || (scanned += m->size) > MAX_SCANNED)
			continue;
		for (uint64_t at = 0; at + 8 <= m->size && !r; at += 8) {
			memcpy(&value, m->bytes[0] + at, 8);
			if (value >> 16 && find_target(p->f, value, &range))
				r = add_address(p, (int32_t)i, at, value, &range);
		}
	}
	return r;
}

static int add_variables(struct reproducer *p)
{
	for (uint32_t i = 0; i < p->f->nmemory; i++) {
		const struct nvs_launch_memory *m = p->f->memory + i;

		if (m->name && get_buffer(p, m->address, m->size, "variable") == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

/* ---- files ---- */

static int write_file(struct reproducer *p, const char *name, const void *bytes, size_t n)
{
	FILE *file = nvs_output_dir_file(p->run, name);

	if (!file)
		return -EIO;
	fwrite(bytes, 1, n, file);
	return nvs_output_dir_close(p->run, file);
}

static int write_data(struct reproducer *p)
{
	static const char *const moments[] = {"before", "after"};
	char name[64];
	int r = write_file(p, p->f->ptx ? "code.ptx" : "code.cubin", p->f->code, p->f->code_size);

	for (uint32_t i = 0; i < p->nbuffers; i++)
		for (int k = 0; k < 2 && !r; k++) {
			const struct nvs_launch_memory *m = p->buffers[i].memory;

			snprintf(name, sizeof(name), "%u.%s", i, moments[k]);
			if (m && m->bytes[k])
				r = write_file(p, name, m->bytes[k], m->size);
		}
	return r;
}

/* Text from the trace, for a comment or a string of C. */
static void print_safe(FILE *f, const char *text)
{
	for (; text && *text; text++)
		if (*text == '"' || *text == '\\' || *text == '*' || *text == '/' || *text == '?' ||
		    (unsigned char)*text < ' ' || (unsigned char)*text > '~')
			fprintf(f, "\\%03o", (unsigned char)*text);
		else
			fputc(*text, f);
}

static uint32_t reason_of(const struct program_buffer *b)
{
	return b->memory ? b->memory->reason[0] ? b->memory->reason[0] : b->memory->reason[1]
			 : NVS_SNAPSHOT_TAKEN;
}

static void print_buffers(const struct reproducer *p, FILE *f)
{
	fputs("\n/* Memory that the launch reaches: where it was, its bytes before and after. */\n"
	      "static struct buffer {\n"
	      "\taddress_t was;\n"
	      "\tsize_t size;\n"
	      "\tconst char *variable, *before, *after, *why;\n"
	      "\taddress_t at;\n"
	      "\tunsigned char *bytes;\n"
	      "} buffers[] = {\n",
	      f);
	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const struct program_buffer *b = p->buffers + i;
		const struct nvs_launch_memory *m = b->memory;
		uint32_t reason = reason_of(b);

		fprintf(f, "\t{0x%" PRIx64 ", %" PRIu64 ", ", b->address, b->size);
		if (m && m->name) {
			fputc('"', f);
			print_safe(f, m->name);
			fputs("\", ", f);
		} else {
			fputs("0, ", f);
		}
		for (int k = 0; k < 2; k++)
			if (m && m->bytes[k])
				fprintf(f, "\"%u.%s\", ", i, k ? "after" : "before");
			else
				fputs("0, ", f);
		if (m && m->bytes[0] && m->bytes[1])
			fprintf(f, "0, 0, 0}, /* %s */\n", b->kind);
		else
			fprintf(f, "\"%s\", 0, 0}, /* %s */\n",
				nvs_snapshot_reason_text(reason ? reason : p->f->reason), b->kind);
	}
	fputs("\t{0, 0, 0, 0, 0, 0, 0, 0},\n};\n", f);
}

static void print_tables(const struct reproducer *p, FILE *f)
{
	fputs("\n/* Word WHERE of the parameters (IN -1) or of a buffer is byte OFFSET of buffer "
	      "OF. */\n"
	      "static const struct {\n\tint in;\n\tsize_t where;\n\tint of;\n\tsize_t offset;\n"
	      "} addresses[] = {\n",
	      f);
	for (uint32_t i = 0; i < p->naddresses; i++)
		fprintf(f, "\t{%d, %" PRIu64 ", %u, %" PRIu64 "},\n", p->addresses[i].in,
			p->addresses[i].where, p->addresses[i].of, p->addresses[i].offset);
	fprintf(f, "\t{-2, 0, 0, 0},\n};\nenum { NADDRESSES = sizeof(addresses) / "
		   "sizeof(*addresses) - 1 };\n"
		   "\nstatic const struct {\n\tunsigned where;\n\taddress_t word;\n"
		   "} unresolved[] = {\n");
	for (uint32_t i = 0; i < p->nunresolved; i++)
		fprintf(f, "\t{%u, 0x%" PRIx64 "},\n", p->unresolved[i].where,
			p->unresolved[i].word);
	fputs("\t{0, 0},\n};\nenum { NUNRESOLVED = sizeof(unresolved) / sizeof(*unresolved) - 1 "
	      "};\n"
	      "\nstatic _Alignas(16) unsigned char parameters[] = {",
	      f);
	for (uint32_t i = 0; i < p->f->layout_bytes || i < 8; i++)
		fprintf(f, "%s0x%02x,", i % 16 ? " " : "\n\t",
			i < p->f->layout_bytes ? p->f->params[i] : 0);
	fputs("\n};\nstatic const unsigned layout[] = {", f); /* offsets by number */
	for (uint32_t n = 0; n < p->f->nlayout; n++)
		for (uint32_t i = 0; i < p->f->nlayout; i++)
			if (p->f->layout[i].number == n)
				fprintf(f, "%u, ", p->f->layout[i].offset);
	fprintf(f, "0};\nenum { NPARAMETERS = sizeof(layout) / sizeof(*layout) - 1 };\n");
}

static void print_program(const struct reproducer *p, FILE *out)
{
	const struct nvs_launch_facts *f = p->f;
	bool cluster = f->cluster[0] * f->cluster[1] * f->cluster[2] > 1 && !f->by_cluster;

	fputs("/* One launch of ", out);
	print_safe(out, f->kernel);
	fprintf(out,
		", by itself: submission %" PRIu64
		" of a trace of nvsnoop.\n * make && ./reproduce; \"./reproduce moved\" does not "
		"try the recorded addresses. Exit status 0: as recorded, 1: it\n * differs, 2: it "
		"could not run. The folder has data of the recorded program, and its code. */\n"
		"#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include "
		"<string.h>\n#include <unistd.h>\n\n",
		f->submission);
	fputs("#define KERNEL \"", out);
	print_safe(out, f->kernel);
	fprintf(out, "\"\n#define CODE \"%s\"\n#define CODE_BYTES %zu\n",
		f->ptx ? "code.ptx" : "code.cubin", f->code_size);
	fprintf(out, "#define GRID %u, %u, %u\n#define BLOCK_SHAPE %u, %u, %u\n", f->grid[0],
		f->grid[1], f->grid[2], f->block[0], f->block[1], f->block[2]);
	fprintf(out,
		"#define SHARED %" PRIu64 "\n#define CLUSTER_X %u\n#define CLUSTER_Y %u\n#define "
		"CLUSTER_Z %u\n#define COOPERATIVE %d\n#define EXPECTED_ERROR %u\n",
		f->shared, cluster ? f->cluster[0] : 0, cluster ? f->cluster[1] : 0,
		cluster ? f->cluster[2] : 0, f->cooperative, f->error);
	fputs("\ntypedef unsigned long long address_t; /* on the GPU */\n", out);
	print_buffers(p, out);
	print_tables(p, out);
	fputs(nvs_reproduce_body, out);
}

static int write_program(struct reproducer *p)
{
	static const char makefile[] =
		"# make, then ./reproduce; CUDA=DIR: where libcuda.so is, if the linker does not "
		"find it\n"
		"CUDA ?= /usr/lib/x86_64-linux-gnu\n"
		"CFLAGS ?= -O1 -Wall\n"
		"reproduce: reproduce.c\n"
		"\t$(CC) $(CFLAGS) -o $@ $< -L$(CUDA) -lcuda\n";
	FILE *file = nvs_output_dir_file(p->run, "reproduce.c");
	int r;

	if (!file)
		return -EIO;
	print_program(p, file);
	r = nvs_output_dir_close(p->run, file);
	return r ? r : write_file(p, "Makefile", makefile, sizeof(makefile) - 1);
}

/* TAKEN: of a launch of the kernel that has a snapshot; UINT64_MAX: none is of use. */
static void print_sentence(const struct reproducer *p, uint64_t taken, FILE *f)
{
	char bytes[32], more[32];

	fprintf(f,
		"%s: %u parameter%s, %u address%s in them and in buffers, %u buffer%s of %s bytes",
		NVS_TEXT(p->f->kernel, 120), p->f->nlayout, p->f->nlayout == 1 ? "" : "s",
		p->naddresses, p->naddresses == 1 ? "" : "es", p->nbuffers,
		p->nbuffers == 1 ? "" : "s", nvs_format_grouped(bytes, p->bytes));
	if (p->without)
		fprintf(f, ", of which %s begin as zeros", nvs_format_grouped(more, p->without));
	fputs(".\n", f);
	for (uint32_t i = 0; i < p->nbuffers; i++)
		if (!p->buffers[i].memory || !p->buffers[i].memory->bytes[0])
			fprintf(f, "Buffer %u, %s bytes at 0x%" PRIx64 ": %s.\n", i,
				nvs_format_grouped(bytes, p->buffers[i].size),
				p->buffers[i].address,
				nvs_snapshot_reason_text(reason_of(p->buffers + i)
								 ? reason_of(p->buffers + i)
								 : p->f->reason));
	if (p->too_large)
		fprintf(f, "Its memory needs --snapshot-size=%" PRIu64 "M.\n",
			(p->too_large >> 20) + 1);
	if (taken != UINT64_MAX)
		fprintf(f,
			"There is a snapshot of this kernel's launch in submission %" PRIu64 ".\n",
			taken);
	for (uint32_t i = 0; i < p->nunresolved; i++)
		fprintf(f,
			"The word 0x%" PRIx64
			" at offset %u of the parameters looks like an address, but is in no "
			"allocation.\n",
			p->unresolved[i].word, p->unresolved[i].where);
	fputs("The folder has data of the program and code that may be its vendor's: pass it on "
	      "with care. Next: make -C ",
	      f);
	nvs_print_shell_word(f, p->run->options->print.output);
	fputs("\n", f);
}

/* What nvsnoop --snapshot itself copies: with what only buffers point into, half is for that. */
static void judge_size(struct reproducer *p)
{
	bool other = false, too_large = false;

	for (uint32_t i = 0; i < p->nbuffers; i++) {
		const struct nvs_launch_memory *m = p->buffers[i].memory;

		too_large |= m && m->reason[0] == NVS_SNAPSHOT_TOO_LARGE;
		other |= m && m->flags & NVS_SNAPSHOT_OTHER;
	}
	p->too_large = too_large ? 2 * p->bytes * (other ? 2 : 1) : 0;
}

int nvs_program_write(struct nvs_run *run, struct nvs_launch_facts *f, bool deep)
{
	struct reproducer p = {.run = run, .f = f};
	uint64_t taken = UINT64_MAX;
	int r = scan_parameters(&p);

	if (!r)
		r = add_variables(&p);
	if (!r && deep)
		r = scan_buffers(&p);
	if (!r)
		r = write_data(&p);
	if (!r)
		r = write_program(&p);
	judge_size(&p);
	if (!r && p.without)
		r = nvs_launch_facts_find_taken(f, &taken);
	if (!r)
		print_sentence(&p, taken == f->submission ? UINT64_MAX : taken, stderr);
	free(p.buffers);
	free(p.addresses);
	free(p.unresolved);
	return r;
}
