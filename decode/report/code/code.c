/* SPDX-License-Identifier: MIT */
/* --code: a row for each kernel in cubins, fatbins, programs and libraries, and in traces
 * recorded with code=on. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decode/report/code/code.h"
#include "decode/cli/sentence.h"
#include "decode/report/core/report.h"

/* Instructions are only decoded from Volta on. */
static bool is_decoded(const struct nvs_kernel_code_row *row)
{
	return row->form >= NVS_SASS_VOLTA;
}

static uint64_t sum_cycles(const struct nvs_kernel_code_row *row)
{
	uint64_t sum = 0;

	for (unsigned k = 1; k < 16; k++)
		sum += k * row->tally.stall[k];
	return sum;
}

/* The values of a column. */
#define FUNCTION(member) r->function.member != UINT32_MAX, r->function.member
#define PERCENT(of, all) is_decoded(r) && (all), 100.0 * (double)(of) / (double)(all)
#define STALL(COL, n) \
	COL(known, stall_##n, "S" #n, DETAIL, 0, r->form != NVS_SASS_UNKNOWN, r->tally.stall[n])

#define COLUMNS(COL)                                                                               \
	COL(text, arch, "arch", 0, 1, r->arch)                                                     \
	COL(known, instructions, "instr", 0, 0, r->form != NVS_SASS_UNKNOWN,                       \
	    r->tally.instructions)                                                                 \
	COL(known, registers, "regs", 0, 0, FUNCTION(registers))                                   \
	COL(known, uniform_registers, "UR", 0, 5, is_decoded(r), r->tally.uniform_registers)       \
	COL(known, static_shared_bytes, "shared", IF_ANY, 4, FUNCTION(shared))                     \
	COL(known, stack_bytes, "stack", IF_ANY, 4, FUNCTION(frame))                               \
	COL(real, stall_cycles, "stall", 0, 1,                                                     \
	    r->form != NVS_SASS_UNKNOWN && r->tally.instructions,                                  \
	    (double)sum_cycles(r) / (double)r->tally.instructions)                                 \
	COL(real, yield_percent, "yield %", 0, 3, PERCENT(r->tally.yields, r->tally.instructions)) \
	COL(real, wait_percent, "wait %", 0, 3, PERCENT(r->tally.waits, r->tally.instructions))    \
	COL(known, scoreboards, "scoreboards", 0, 5, is_decoded(r),                                \
	    (uint64_t)__builtin_popcount(r->tally.barriers))                                       \
	COL(real, reuse_percent, "reuse %", 0, 3, PERCENT(r->tally.reused, r->tally.sources))      \
	COL(known, bank_conflicts, "one bank", 0, 4, is_decoded(r), r->tally.conflicts)            \
	COL(known, three_sources, "3 sources", 0, 6, is_decoded(r), r->tally.threes)               \
	COL(real, uniform_percent, "uniform %", 0, 4,                                              \
	    PERCENT(r->tally.uniform, r->tally.instructions))                                      \
	COL(known, branches, "branches", 0, 6, is_decoded(r), r->tally.branches)                   \
	COL(known, unknown_opcodes, "unknown", IF_ANY, 6, is_decoded(r), r->tally.unknown)         \
	COL(nonzero, code_bytes, "bytes", DETAIL, 0, r->function.size)                             \
	COL(known, source_registers, "sources", DETAIL, 0, is_decoded(r), r->tally.sources)        \
	COL(known, write_scoreboards, "writes", DETAIL, 0, is_decoded(r), r->tally.sets[0])        \
	COL(known, read_scoreboards, "reads", DETAIL, 0, is_decoded(r), r->tally.sets[1])          \
	COL(known, named_barriers, "named", DETAIL, 0, FUNCTION(barriers))                         \
	COL(known, parameter_bytes, "parameters", DETAIL, 0, FUNCTION(parameters))                 \
	COL(known, max_threads, "threads", DETAIL, 0, FUNCTION(max_threads))                       \
	STALL(COL, 0)                                                                              \
	STALL(COL, 1)                                                                              \
	STALL(COL, 2)                                                                              \
	STALL(COL, 3)                                                                              \
	STALL(COL, 4)                                                                              \
	STALL(COL, 5)                                                                              \
	STALL(COL, 6)                                                                              \
	STALL(COL, 7)                                                                              \
	STALL(COL, 8)                                                                              \
	STALL(COL, 9)                                                                              \
	STALL(COL, 10)                                                                             \
	STALL(COL, 11)                                                                             \
	STALL(COL, 12)                                                                             \
	STALL(COL, 13)                                                                             \
	STALL(COL, 14)                                                                             \
	STALL(COL, 15)                                                                             \
	COL(text, kernel, "kernel", NAME, 0, r->name)                                              \
	COL(text, mangled, "mangled", DETAIL, 0, r->mangled)                                       \
	COL(text, file, "file", NAME_SEVERAL, 0, r->file)                                          \
	COL(known, image, "image", DETAIL, 0, r->image != NVS_NONE, r->image)                      \
	COL(hex, address, "address", IF_KNOWN, 7, r->address, r->address)
NVS_COLUMNS(columns, struct nvs_kernel_code_row, COLUMNS)

/* ---- files ---- */

static int on_image(void *arg, struct nvs_trace *trace, const struct nvs_trace_image *image)
{
	struct nvs_kernel_code *code = arg;
	int r;

	if (image->image == NVS_NONE || (image->data && !image->whole)) {
		code->broken++;
		return 0;
	}
	if (!image->data)
		return 0;
	code->image = image->image;
	r = nvs_code_read(code, image->data, image->ndata, true);
	code->broken += r == -EBADMSG || r == -EINVAL;
	return r == -ENOMEM ? r : 0;
}

/* If two images have a kernel of this name, it is unknown which one ran. */
static void set_addresses(struct nvs_kernel_code *code, size_t first)
{
	for (size_t i = first; i < code->n; i++) {
		const struct nvs_launched_kernel *ran =
			nvs_launched_kernels_find(code->ran, code->rows[i].mangled);

		if (ran && ran->images <= 1)
			code->rows[i].address = ran->address;
	}
}

/* Reads the images of a trace. A second pass is needed to find which kernels ran; a pipe, which
 * can be read only once, lists all. */
static int read_images(struct nvs_kernel_code *code, struct nvs_trace *trace, bool twice,
		       struct nvs_error *err)
{
	struct nvs_consumer consumer = {.size = sizeof(consumer), .image = on_image};
	struct nvs_launched_kernels ran = {0};
	size_t first = code->n;
	int r = twice ? nvs_launched_kernels_read(&ran, trace, err) : 0;

	code->ran = twice ? &ran : NULL;
	if (!r)
		r = nvs_trace_read(trace, &consumer, code, err);
	code->image = NVS_NONE;
	if (!r && twice && code->cubins_read + code->text)
		r = nvs_code_add_missing(code);
	if (!r && twice)
		set_addresses(code, first);
	code->ran = NULL;
	nvs_launched_kernels_free(&ran);
	return r;
}

static int read_trace(struct nvs_kernel_code *code, const char *path)
{
	struct nvs_read_options read = code->options->read;
	struct nvs_error err = {""};
	struct nvs_trace *trace;
	int r;

	read.size = sizeof(read);
	r = nvs_trace_open(&trace, path, &read, &err);
	if (!r) {
		r = read_images(code, trace, strcmp(path, "-") != 0, &err);
		nvs_trace_close(trace);
	}
	if (r)
		fprintf(stderr, "nvsnoop-report: %s\n", *err.text ? err.text : strerror(-r));
	return r;
}

/* Maps a file. *DATA is NULL if it cannot be mapped. The mapping is never removed: rows point
 * into it. */
static size_t map_file(const char *path, const uint8_t **data)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;
	void *p = MAP_FAILED;

	*data = NULL;
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p == MAP_FAILED)
		return 0;
	*data = p;
	return (size_t)st.st_size;
}

static int wrong_file(const char *path, const char *what)
{
	fprintf(stderr, "nvsnoop-report: %s: %s\n", path, what);
	return -EBADMSG;
}

/* Reports what else the file contains, or why it has no kernels. */
static int report_rest(const struct nvs_kernel_code *code, const char *path, bool trace)
{
	if (code->broken)
		return wrong_file(path, "some of its code is damaged and was left out");
	if (!code->cubins_read && code->text)
		return wrong_file(path,
				  "contains only PTX, which the driver compiles when it is loaded");
	if (!code->cubins_read)
		return wrong_file(path, trace ? "contains no code: record with code=on"
					      : "contains no GPU code");
	return 0;
}

static int read_file(struct nvs_kernel_code *code, const char *path)
{
	const uint8_t *data;
	size_t size = map_file(path, &data);
	bool trace;
	int r = -EINVAL;

	code->file = path;
	code->cubins_read = code->broken = code->text = code->other = 0;
	if (data) {
		nvs_budget_read(size);
		r = nvs_code_read(code, data, size, false);
	}
	trace = r == -EINVAL;
	if (trace)
		r = read_trace(code, path);
	else if (r == -EBADMSG)
		return wrong_file(path, "is truncated or damaged");
	return r ? r : report_rest(code, path, trace);
}

/* ---- printing ---- */

/* Prints the distribution of stall cycles over all rows. */
static void print_stalls(struct nvs_out *out, const struct nvs_kernel_code *code)
{
	uint64_t stall[16] = {0}, all = 0;
	char text[16 * 24 + 32];
	int at = snprintf(text, sizeof(text), "stall cycles, all kernels:");
	const char *comma = "";

	for (size_t i = 0; i < code->n; i++)
		for (unsigned k = 0; k < 16; k++) {
			stall[k] += code->rows[i].tally.stall[k];
			all += code->rows[i].tally.stall[k];
		}
	if (!all)
		return;
	for (unsigned k = 0; k < 16; k++) {
		if (!stall[k])
			continue;
		at += snprintf(text + at, sizeof(text) - (size_t)at,
			       "%s %u" NVS_TIED "%.1f" NVS_TIED "%%", comma, k,
			       100.0 * (double)stall[k] / (double)all);
		comma = ",";
	}
	nvs_print_wrapped(out, text, 0);
}

static void print_others(struct nvs_out *out, const struct nvs_kernel_code *code)
{
	char text[160];

	if (code->missing) {
		snprintf(text, sizeof(text),
			 "%" PRIu64 " kernel%s no code here: the driver compiled it from PTX, or "
			 "it was loaded in another way",
			 code->missing, code->missing == 1 ? " has" : "s have");
		nvs_print_wrapped(out, text, 0);
	}
	if (code->idle)
		fprintf(out->file,
			"%" PRIu64 " more %s loaded but did not run; --kernel='*' shows all\n",
			code->idle, code->idle == 1 ? "was" : "were");
}

static int print_rows(struct nvs_run *run, struct nvs_kernel_code *code)
{
	const struct nvs_options_report *o = run->options;
	struct nvs_table table = NVS_RUN_TABLE(run, columns, NULL);
	int r;

	table.several = o->nfiles > 1;
	r = nvs_table_print_array(run->out, &table, code->rows, code->n, sizeof(*code->rows),
				  &o->print);
	if (r || o->print.format != NVS_FORMAT_TEXT)
		return r;
	print_stalls(run->out, code);
	print_others(run->out, code);
	for (size_t i = 0; code->keep && i < code->n; i++) {
		fputc('\n', run->out->file);
		nvs_code_print_listing(run->out, code->rows + i);
	}
	return 0;
}

static int add_kernel(struct nvs_kernel_code *code, const char *text)
{
	const char *trouble = nvs_patterns_add(&code->kernels, text);

	if (!trouble)
		return 0;
	fprintf(stderr, "nvsnoop-report: --kernel: %s: '%s'\n", trouble, text);
	return -EINVAL;
}

static int print_code(struct nvs_run *run)
{
	const struct nvs_options_report *o = run->options;
	struct nvs_kernel_code *code = run->state;
	int r = 0, one;

	code->options = o;
	code->image = NVS_NONE;
	code->keep = o->print.wide && o->print.format == NVS_FORMAT_TEXT;
	for (uint32_t i = 0; i < o->nmore && !r; i++)
		r = add_kernel(code, o->more[i]);
	for (int i = 0; i < o->nfiles && (!r || r == -EBADMSG); i++) {
		one = read_file(code, o->files[i]);
		r = one ? one : r;
	}
	/* Print the rows that were read even if some files failed. */
	if (r && (r != -EBADMSG || !code->n))
		return r;
	if (!code->n) {
		fputs(o->nmore ? "nvsnoop-report: --kernel: no kernel matches\n"
			       : "nvsnoop-report: --code: no kernels\n",
		      stderr);
		return -ENOENT;
	}
	one = print_rows(run, code);
	return one ? one : r;
}

static void free_code(struct nvs_run *run)
{
	nvs_code_free(run->state);
}

static const struct nvs_report_option kernel_option = {
	.name = "kernel",
	.argument = "NAME",
	.help = "with --code: only these kernels; a glob, /regex/, "
		"or ! before either; may be given several times",
	.man = "With\n.BR \\-\\-code :\nonly kernels of this name, demangled or "
	       "mangled. A glob, a regular expression between slashes, or either after "
	       "! to exclude. May be given several times.",
};

NVS_REPORT(code, .name = "code", .group = NVS_WITHOUT_TRACE, .place = 225, .option = &kernel_option,
	   .help = "kernels of cubins, fatbins, programs and libraries, or "
		   "of traces with code=on: registers, stalls, barriers, "
		   "reuse; with --wide their instructions",
	   .man = "The files are cubins, fatbins, programs or libraries that contain "
		  "these, or traces recorded with\n.BR code=on .\nOne row per kernel: "
		  "instructions, registers, and what the control words of its instructions "
		  "say: stall cycles, how many yield and how many wait for scoreboards, "
		  "the number of scoreboards, sources from the reuse cache, instructions "
		  "that read three registers of one bank, and instructions on the warp's "
		  "uniform path. With\n.B \\-\\-wide\nthe instructions are listed: "
		  "address, words, wait mask, read and write barrier, yield and stall; "
		  "with mnemonics if\n.B nvdisasm\nis installed.",
	   .needs = NVS_NEED_FILES, .prints = NVS_PRINTS_TABLE, NVS_REPORT_COLUMNS(columns),
	   .state = sizeof(struct nvs_kernel_code), .print = print_code, .free = free_code);
