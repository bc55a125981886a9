/* SPDX-License-Identifier: MIT */
/* `nvsnoop-probe submit`: assembles a text of methods, as --dump prints it, submits it to a channel
 * of the probe, waits for its releases and reports them. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "nvsnoop/ops.h"
#include "probe/studies/submit_check.h"
#include "probe/studies.h"
#include "submit/commands.h"

#define BUFFER_BYTES (1u << 20)
#define SEMAPHORE_BYTES 4096
#define MAX_TEXT_BYTES (64u << 20)

enum { SRC, DST, DEV, SEM, BUFFERS };
/* Addresses used before a GPU is opened; no driver returns such addresses. */
static const struct probe_buffer stand_ins[BUFFERS] = {
	{"src", 0x1ab000000000000, BUFFER_BYTES},
	{"dst", 0x1ab000010000000, BUFFER_BYTES},
	{"dev", 0x1ab000020000000, BUFFER_BYTES},
	{"sem", 0x1ab000030000000, SEMAPHORE_BYTES},
};

struct submit {
	const struct probe_options *options;
	const char *name; /* name of the text, for messages */
	char *text;
	size_t length;
	struct nvs_assembly words;
	struct probe_buffer buffers[BUFFERS];
	struct probe_effects effects;
	struct probe_session session;
	struct probe_memory memory[BUFFERS];
	struct probe_table table;
	char (*cells)[3][64]; /* text cells of the table */
};

/* ---- the text ---- */

/* Reads all of PATH. Exits if it has more than MOST bytes. */
static char *read_path(const char *path, size_t most, size_t *length)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
	char *text;

	if (!f)
		probe_die("%s: %s", path, strerror(errno));
	text = probe_read_all(f, most, length);
	if (*length > most)
		probe_die("%s: more than %zu MiB", path, most >> 20);
	if (ferror(f))
		probe_die("%s: %s", path, strerror(errno));
	if (f != stdin)
		fclose(f);
	return text;
}

static void print_error(void *arg, const struct nvs_asm_place *at, const char *message)
{
	fprintf(stderr, "%s:%u:%u: %s\n", ((struct submit *)arg)->name, at->line, at->column,
		message);
}

/* Exits if the text has errors. */
static void assemble_text(struct submit *s)
{
	struct nvs_asm_symbol symbols[BUFFERS];
	struct nvs_asm_input in = {
		.text = s->text,
		.length = s->length,
		.symbols = symbols,
		.nsymbols = BUFFERS,
		.classes = {[NVS_SUBCH_COMPUTE] = 0xcbc0, [NVS_SUBCH_COPY] = 0xc8b5},
		.complain = print_error,
		.arg = s};
	int r;

	for (int i = 0; i < BUFFERS; i++)
		symbols[i] = (struct nvs_asm_symbol){s->buffers[i].name, s->buffers[i].address};
	nvs_assembly_free(&s->words);
	r = nvs_assemble(&s->words, &in);
	if (r == -ENOMEM)
		probe_die("out of memory");
	if (r)
		exit(1);
}

/* Exits if the commands are not allowed. */
static void check_effects(struct submit *s)
{
	free(s->effects.releases);
	s->effects = (struct probe_effects){.file = s->name,
					    .buffers = s->buffers,
					    .nbuffers = BUFFERS,
					    .unsafe = s->options->unsafe};
	probe_effects(&s->effects, &s->words);
	if (s->effects.refused)
		exit(1);
	for (uint32_t i = 0; i < s->words.nentries; i++) {
		const struct nvs_asm_entry *e = &s->words.entries[i];

		/* The ring sets the base of our own segments. */
		if (!e->control || (e->entry >> 32 & 0xff) == 4)
			continue;
		fprintf(stderr,
			"%s:%u:%u: control entries cannot be submitted, except "
			"SET_PB_SEGMENT_EXTENDED_BASE, which the probe sets itself\n",
			s->name, e->at.line, e->at.column);
		exit(1);
	}
	if (!s->words.nwords)
		probe_die("%s: contains no commands", s->name);
}

static int dry_run(const struct submit *s)
{
	if (isatty(STDOUT_FILENO)) {
		fputs("nvsnoop-probe: refusing to write binary data to a terminal: use > FILE, or "
		      "| nvsnoop-report --raw - "
		      "--subch 4=c8b5\n",
		      stderr);
		return 2;
	}
	fwrite(s->words.words, 4, s->words.nwords, stdout);
	if (fflush(stdout) || ferror(stdout))
		probe_die("output: %s", strerror(errno));
	return 0;
}

/* ---- memory ---- */

static void fill_source(struct submit *s)
{
	uint8_t *to = s->memory[SRC].cpu;
	size_t length;
	char *bytes;

	for (uint32_t i = 0; i < BUFFER_BYTES; i++)
		to[i] = (uint8_t)(1 + i % 251);
	if (!s->options->src)
		return;
	bytes = read_path(s->options->src, BUFFER_BYTES, &length);
	memset(to, 0, BUFFER_BYTES);
	memcpy(to, bytes, length);
	free(bytes);
}

/* Overwrites semaphores that will get a payload of 0, so that it is not there already. */
static void mark_semaphores(struct submit *s)
{
	char *base = s->memory[SEM].cpu;

	for (uint32_t i = 0; i < s->effects.nreleases; i++) {
		const struct probe_release *r = &s->effects.releases[i];
		uint64_t at = r->address - s->buffers[SEM].address;

		if (r->known && !r->value && at + 8 <= SEMAPHORE_BYTES)
			memset(base + at, 0xff, r->wide ? 8 : 4);
	}
}

static void allocate_buffers(struct submit *s)
{
	for (int i = 0; i < BUFFERS; i++) {
		probe_memory(&s->memory[i], i == DEV ? PROBE_DEVICE : PROBE_HOST,
			     stand_ins[i].size);
		s->buffers[i].address = s->memory[i].gpu;
		if (s->memory[i].cpu)
			memset(s->memory[i].cpu, 0, s->memory[i].size);
	}
	PROBE_CU(cuMemsetD8Async(s->memory[DEV].gpu, 0, BUFFER_BYTES, s->session.work));
	PROBE_CU(cuStreamSynchronize(s->session.work));
	fill_source(s);
}

/* Returns the CPU address of SIZE bytes at the GPU's ADDRESS, or NULL if not mapped. */
static const char *cpu_address_of(const struct submit *s, uint64_t address, uint64_t size)
{
	for (int i = 0; i < BUFFERS; i++) {
		const struct probe_memory *m = &s->memory[i];

		if (m->cpu && address >= m->gpu && address - m->gpu + size <= m->size)
			return (const char *)m->cpu + (address - m->gpu);
	}
	return NULL;
}

/* ---- submitting ---- */

static struct probe_channel_kind_entry *lane_of(struct submit *s)
{
	const char *name = s->options->channel;

	for (int i = 0; name && i < PROBE_CHANNEL_KINDS; i++) {
		const char *last = strrchr(s->session.lanes[i].name, ' ');

		if (!strcmp(name, last ? last + 1 : s->session.lanes[i].name))
			return &s->session.lanes[i];
	}
	return &s->session.lanes[s->effects.only_copies ? PROBE_COPY_HTOD : PROBE_COMPUTE];
}

static void submit_text(struct submit *s, struct probe_channel_kind_entry *lane)
{
	struct nvs_ring_segment *pieces = probe_allocate(s->words.nentries, sizeof(*pieces));
	uint32_t n = 0;

	memcpy(s->session.commands.cpu, s->words.words, 4ull * s->words.nwords);
	for (uint32_t i = 0; i < s->words.nentries; i++) {
		const struct nvs_asm_entry *e = &s->words.entries[i];

		if (!e->control)
			pieces[n++] = (struct nvs_ring_segment){
				s->session.commands.gpu + 4ull * e->first, e->dwords,
				e->entry & (NVS_PIECE_CONDITIONAL | NVS_PIECE_SUBROUTINE |
					    NVS_PIECE_SYNC)};
	}
	probe_submit_pieces(lane, pieces, n);
	free(pieces);
}

/* Submits a final semaphore and waits for it: memory then holds the results of the whole text. */
static void submit_end(struct submit *s, struct probe_channel_kind_entry *lane, unsigned seconds)
{
	size_t offset = PROBE_COMMAND_BYTES - 4096;
	uint32_t *words = (uint32_t *)((char *)s->session.commands.cpu + offset);
	uint32_t payload = ++s->session.payload;

	nvs_put_host_semaphore(words, probe_semaphore_address(&s->session, 0), payload,
			       NVS_SEM_RELEASE | NVS_SEM_RELEASE_WFI | NVS_SEM_RELEASE_TIMESTAMP);
	probe_submit(lane, &s->session.commands, offset, NVS_WORDS_HOST_SEMAPHORE);
	probe_wait_at(&s->session, lane, s->session.semaphores.cpu, false, payload, seconds,
		      " after the end of the text");
	nvs_ring_mark_idle(&lane->channel.ring);
}

/* Returns the index of a later release to the same address, or 0. */
static uint32_t overwritten_by(const struct submit *s, uint32_t i)
{
	const struct probe_release *r = s->effects.releases;

	for (uint32_t k = i + 1; k < s->effects.nreleases; k++)
		if (r[k].address < r[i].address + (r[i].timestamp ? 16 : 4) &&
		    r[i].address < r[k].address + (r[k].timestamp ? 16 : 4))
			return k;
	return 0;
}

static void wait_for_releases(struct submit *s, struct probe_channel_kind_entry *lane,
			      unsigned seconds)
{
	for (uint32_t i = 0; i < s->effects.nreleases; i++) {
		const struct probe_release *r = &s->effects.releases[i];
		const char *at = cpu_address_of(s, r->address, r->wide ? 8 : 4);
		char of[512];

		if (!r->known || !at || overwritten_by(s, i))
			continue;
		snprintf(of, sizeof(of), " of %s:%u:%u", s->name, r->at.line, r->at.column);
		probe_wait_at(&s->session, lane, at, r->wide, r->value, seconds, of);
	}
}

/* ---- results ---- */

static const struct nvs_column columns[] = {
	{"line", "line"},
	{"by", "by", .flags = NVS_COLUMN_LEFT},
	{"address", "address", .flags = NVS_COLUMN_LEFT},
	{"payload", "payload", .flags = NVS_COLUMN_LEFT},
	{"state", "state", .flags = NVS_COLUMN_LEFT},
	{"gpu_time_ns", "", .flags = NVS_COLUMN_DETAIL},
	{"since_first_ns", "ns since first"},
	{"since_last_ns", "since last"},
};

static void format_address(const struct submit *s, uint64_t address, char text[64])
{
	snprintf(text, 64, "0x%llx", (unsigned long long)address);
	for (int i = 0; i < BUFFERS; i++) {
		const struct probe_buffer *b = &s->buffers[i];
		uint64_t offset = address - b->address;

		if (offset < b->size)
			snprintf(text, 64, offset ? "$%s+%llu" : "$%s", b->name,
				 (unsigned long long)offset);
	}
}

static const char *by_name(uint8_t by)
{
	return by == NVS_BY_HOST ? "host" : by == NVS_BY_ENGINE ? "engine" : "grid";
}

/* Adds a row. FIRST and LAST are the first and the previous timestamp; 0: none. */
static void add_row(struct submit *s, uint32_t i, uint64_t *first, uint64_t *last)
{
	const struct probe_release *r = &s->effects.releases[i];
	const char *at = cpu_address_of(s, r->address, r->timestamp ? 16 : r->wide ? 8 : 4);
	bool gone = overwritten_by(s, i);
	/* ns since 1970: too large for a cell's double. */
	uint64_t time = at && r->timestamp && !gone ? *(const uint64_t *)(at + 8) : 0;
	char(*cell)[64] = s->cells[i];

	*first = *first ? *first : time;
	format_address(s, r->address, cell[0]);
	snprintf(cell[1], 64, "0x%llx", (unsigned long long)r->payload);
	snprintf(cell[2], 64, "%llu", (unsigned long long)time);
	probe_table_add_row(&s->table,
			    (struct nvs_value[]){
				    PROBE_NUMBER(r->at.line),
				    PROBE_WORDS(by_name(r->by)),
				    PROBE_WORDS(cell[0]),
				    PROBE_WORDS(cell[1]),
				    PROBE_WORDS(gone	    ? "overwritten"
						: !at	    ? "not seen"
						: !r->known ? "reduced"
							    : "came"),
				    time ? PROBE_WORDS(cell[2]) : PROBE_NUMBER(NAN),
				    PROBE_NUMBER(time ? (double)(time - *first) : NAN),
				    PROBE_NUMBER(time && *last ? (double)(time - *last) : NAN),
			    });
	*last = time ? time : *last;
}

/* Notes how $dst, which was 0, has changed. */
static void note_target(struct submit *s)
{
	const uint8_t *from = s->memory[SRC].cpu, *to = s->memory[DST].cpu;
	uint32_t n = 0, same = 0, first = 0, last = 0;

	for (uint32_t i = 0; i < BUFFER_BYTES; i++) {
		if (!to[i])
			continue;
		first = n ? first : i;
		last = i;
		same += to[i] == from[i];
		n++;
	}
	if (n)
		probe_table_add_note(&s->table,
				     "$dst: %u bytes are not 0, from %u to %u; %u of them equal "
				     "$src",
				     n, first, last, same);
	else
		probe_table_add_note(&s->table, "$dst: all bytes are 0");
}

static void print_results(struct submit *s)
{
	uint64_t first = 0, last = 0;

	s->table = (struct probe_table)PROBE_TABLE("submit", columns);
	s->cells = probe_allocate(s->effects.nreleases, sizeof(*s->cells));
	for (uint32_t i = 0; i < s->effects.nreleases; i++)
		add_row(s, i, &first, &last);
	probe_table_add_note(&s->table, "%u dwords", s->words.nwords);
	note_target(s);
	probe_table_print(&s->table, &s->session, s->options->format);
	probe_table_free(&s->table);
	free(s->cells);
}

static void write_target(const struct submit *s)
{
	FILE *f = fopen(s->options->dst, "wb");

	if (!f || fwrite(s->memory[DST].cpu, 1, BUFFER_BYTES, f) != BUFFER_BYTES || fclose(f))
		probe_die("%s: %s", s->options->dst, strerror(errno));
}

static void run_text(struct submit *s)
{
	struct probe_channel_kind_entry *lane;

	probe_open(&s->session, s->options->gpu);
	allocate_buffers(s);
	assemble_text(s);
	check_effects(s);
	mark_semaphores(s);
	lane = lane_of(s);
	submit_text(s, lane);
	wait_for_releases(s, lane, s->options->timeout);
	submit_end(s, lane, s->options->timeout);
	probe_read_sm_clock(&s->session);
	print_results(s);
	if (s->options->dst)
		write_target(s);
	for (int i = 0; i < BUFFERS; i++)
		probe_memory_free(&s->memory[i]);
	probe_close(&s->session);
}

int probe_run_submit(const struct probe_options *options)
{
	static struct submit s;
	int status = 0;

	s.options = options;
	s.name = strcmp(options->file, "-") ? options->file : "<stdin>";
	s.text = read_path(options->file, MAX_TEXT_BYTES, &s.length);
	memcpy(s.buffers, stand_ins, sizeof(stand_ins));
	/* Assemble before opening a GPU, which may be missing. */
	assemble_text(&s);
	if (options->dry_run) {
		status = dry_run(&s);
	} else {
		check_effects(&s);
		run_text(&s);
	}
	free(s.effects.releases);
	nvs_assembly_free(&s.words);
	free(s.text);
	return status;
}
