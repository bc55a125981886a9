/* SPDX-License-Identifier: MIT */
/*
 * Source lines of a cubin's instructions, from .debug_line as ptxas writes it with -lineinfo:
 * DWARF 2 to 4, one sequence for each function, whose address is a relocation against its symbol.
 */
#include <string.h>
#include "sass/sass.h"

enum {
	COPY = 1,
	ADVANCE_PC,
	ADVANCE_LINE,
	SET_FILE,
	SET_COLUMN,
	NEGATE,
	BASIC_BLOCK,
	CONST_ADD_PC,
	FIXED_ADVANCE_PC
};
enum { END_SEQUENCE = 1, SET_ADDRESS = 2 };

struct line_reader {
	const uint8_t *at, *end;
	bool broken; /* the data ended early: what was read is 0 */
};

/* A line program and its header. */
struct line_program {
	const uint8_t *start; /* of the section */
	struct line_reader r;
	uint8_t min_length, opcode_base, line_range;
	int8_t line_base;
	const uint8_t *lengths; /* operands of the standard opcodes, from 1 on */
	struct line_reader folders, files;
};

struct line_row {
	uint64_t address;
	uint32_t section, file, line;
};

/* What is looked for, and the row that covers it so far. */
struct line_search {
	const struct nvs_cubin *cubin;
	struct nvs_cubin_section relocations;
	size_t next; /* offset of the relocation after the one used last */
	uint32_t section;
	uint64_t offset;
	struct line_row found;
	bool is_found;
};

static uint64_t read_fixed(struct line_reader *r, size_t n)
{
	uint64_t v = 0;

	if ((size_t)(r->end - r->at) < n) {
		r->broken = true;
		r->at = r->end;
		return 0;
	}
	memcpy(&v, r->at, n);
	r->at += n;
	return v;
}

static uint64_t read_leb(struct line_reader *r, bool is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)read_fixed(r, 1);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && byte & 0x40)
		v |= ~0ull << shift;
	return v;
}

static const char *read_string(struct line_reader *r)
{
	const char *s = (const char *)r->at;
	const uint8_t *end = memchr(r->at, 0, (size_t)(r->end - r->at));

	if (!end) {
		r->broken = true;
		r->at = r->end;
		return "";
	}
	r->at = end + 1;
	return s;
}

static void skip_strings(struct line_reader *r, unsigned numbers)
{
	while (*read_string(r) && !r->broken)
		for (unsigned i = 0; i < numbers; i++)
			read_leb(r, false);
}

/* Reads the header of the program at R, and moves R behind the program. */
static bool read_header(struct line_reader *r, const uint8_t *start, struct line_program *p)
{
	uint64_t length = read_fixed(r, 4), header;
	uint16_t version;

	memset(p, 0, sizeof(*p));
	if (r->broken || length > (size_t)(r->end - r->at))
		return false;
	p->start = start;
	p->r = (struct line_reader){r->at, r->at + length, false};
	r->at += length;
	version = (uint16_t)read_fixed(&p->r, 2);
	header = read_fixed(&p->r, 4);
	if (version < 2 || version > 4 || header > (size_t)(p->r.end - p->r.at))
		return false;
	p->folders = (struct line_reader){p->r.at, p->r.at + header, false};
	p->r.at += header;
	p->min_length = (uint8_t)read_fixed(&p->folders, 1);
	read_fixed(&p->folders, version == 4 ? 2 : 1); /* maximum_operations, default_is_stmt */
	p->line_base = (int8_t)read_fixed(&p->folders, 1);
	p->line_range = (uint8_t)read_fixed(&p->folders, 1);
	p->opcode_base = (uint8_t)read_fixed(&p->folders, 1);
	p->lengths = p->folders.at;
	if (!p->opcode_base || !p->line_range)
		return false;
	for (unsigned i = 1; i < p->opcode_base; i++)
		read_fixed(&p->folders, 1);
	p->files = p->folders;
	skip_strings(&p->files, 0);
	return !p->folders.broken && !p->files.broken;
}

/* The relocation of the 8 bytes at AT in the section; relocations are in ascending order. */
static void set_address(struct line_search *s, const struct line_program *p, const uint8_t *at,
			uint64_t address, struct line_row *row)
{
	struct nvs_cubin_symbol symbol;
	uint64_t offset, info, addend;

	row->address = address;
	for (; s->relocations.data && s->next + 24 <= s->relocations.size; s->next += 24) {
		memcpy(&offset, s->relocations.data + s->next, 8);
		if (offset < (uint64_t)(at - p->start))
			continue;
		memcpy(&info, s->relocations.data + s->next + 8, 8);
		memcpy(&addend, s->relocations.data + s->next + 16, 8);
		if (offset == (uint64_t)(at - p->start) &&
		    nvs_cubin_symbol(s->cubin, (uint32_t)(info >> 32), &symbol)) {
			row->section = symbol.section;
			row->address = symbol.value + addend;
		}
		return;
	}
}

/* The row ROW ends where NEXT begins. */
static void check_row(struct line_search *s, const struct line_row *row, uint64_t next)
{
	if (row->section != s->section || !row->line || s->offset < row->address ||
	    s->offset >= next)
		return;
	s->found = *row;
	s->is_found = true;
}

static void run_extended(struct line_search *s, struct line_program *p, struct line_row *row,
			 struct line_row *last)
{
	uint64_t length = read_leb(&p->r, false);
	const uint8_t *start = p->r.at;
	uint8_t op = length ? (uint8_t)read_fixed(&p->r, 1) : 0;

	if (length > (size_t)(p->r.end - start)) {
		p->r.broken = true;
		return;
	}
	if (op == SET_ADDRESS && length == 9) {
		uint64_t address = read_fixed(&p->r, 8);

		set_address(s, p, start + 1, address, row);
	} else if (op == END_SEQUENCE) {
		check_row(s, last, row->address);
		*row = (struct line_row){.file = 1, .line = 1};
		*last = (struct line_row){0};
	}
	p->r.at = start + length;
}

static void add_row(struct line_search *s, const struct line_row *row, struct line_row *last)
{
	check_row(s, last, row->address);
	*last = *row;
}

static void run_standard(struct line_search *s, struct line_program *p, uint8_t op,
			 struct line_row *row, struct line_row *last)
{
	switch (op) {
	case COPY:
		add_row(s, row, last);
		break;
	case ADVANCE_PC:
		row->address += read_leb(&p->r, false) * p->min_length;
		break;
	case ADVANCE_LINE:
		row->line += (uint32_t)read_leb(&p->r, true);
		break;
	case SET_FILE:
		row->file = (uint32_t)read_leb(&p->r, false);
		break;
	case CONST_ADD_PC:
		row->address += (255u - p->opcode_base) / p->line_range * p->min_length;
		break;
	case FIXED_ADVANCE_PC:
		row->address += read_fixed(&p->r, 2);
		break;
	default:
		for (uint8_t i = 0; i < p->lengths[op - 1]; i++)
			read_leb(&p->r, false);
	}
}

static void run_program(struct line_search *s, struct line_program *p)
{
	struct line_row row = {.file = 1, .line = 1}, last = {0};

	while (p->r.at < p->r.end && !p->r.broken && !s->is_found) {
		uint8_t op = (uint8_t)read_fixed(&p->r, 1);

		if (!op) {
			run_extended(s, p, &row, &last);
		} else if (op < p->opcode_base) {
			run_standard(s, p, op, &row, &last);
		} else {
			op -= p->opcode_base;
			row.address += op / p->line_range * p->min_length;
			row.line += (uint32_t)(p->line_base + op % p->line_range);
			add_row(s, &row, &last);
		}
	}
}

/* Sets the file's name and folder by their numbers in the header, which count from 1. */
static void name_file(struct line_program *p, uint32_t number, struct nvs_cubin_line *line)
{
	const char *name = "";
	uint64_t folder = 0;

	for (uint32_t i = 0; i < number && !p->files.broken; i++) {
		name = read_string(&p->files);
		if (!*name)
			return;
		folder = read_leb(&p->files, false);
		read_leb(&p->files, false);
		read_leb(&p->files, false);
	}
	line->file = name;
	for (uint64_t i = 0; i < folder && !p->folders.broken; i++) {
		name = read_string(&p->folders);
		if (!*name)
			return;
		line->folder = name;
	}
}

bool nvs_cubin_line(const struct nvs_cubin *cubin, uint32_t section, uint64_t offset,
		    struct nvs_cubin_line *line)
{
	struct line_search s = {.cubin = cubin, .section = section, .offset = offset};
	struct nvs_cubin_section lines;
	struct line_program p;
	struct line_reader r;

	*line = (struct nvs_cubin_line){"", "", 0};
	if (!nvs_cubin_section_named(cubin, ".debug_line", &lines) || !lines.data ||
	    !nvs_cubin_section_named(cubin, ".rela.debug_line", &s.relocations))
		return false;
	r = (struct line_reader){lines.data, lines.data + lines.size, false};
	while (r.at < r.end && !s.is_found && read_header(&r, lines.data, &p))
		run_program(&s, &p);
	if (!s.is_found)
		return false;
	line->line = s.found.line;
	name_file(&p, s.found.file, line);
	return *line->file;
}
