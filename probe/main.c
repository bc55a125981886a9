/* SPDX-License-Identifier: MIT */
/* nvsnoop-probe: submits command streams of its own and measures them. Parses the options and runs
 * a study. */
#include <stdio.h>
#include <string.h>
#include "decode/cli/options.h"
#include "decode/cli/units.h"
#include "probe/studies.h"

static const struct study_name {
	const char *name;
	int (*run)(const struct probe_options *options);
	uint32_t repeat; /* default of --repeat */
} studies[] = {
	{"dma", probe_run_dma, 30},
	{"doorbell", probe_run_doorbell, 30},
	{"submit", probe_run_submit, 0},
	{"graph", probe_run_graph, 200},
	{"bench", probe_run_bench, 0},
	{"copies", probe_run_copies, 0}, /* run by dma */
	{"graph-launches", probe_run_graph_launches, 20}, /* run by graph */
};
enum { STUDIES = sizeof(studies) / sizeof(studies[0]) };

static const char usage[] =
	"Usage: nvsnoop-probe STUDY [OPTION...]\n"
	"       nvsnoop-probe submit FILE [OPTION...]\n"
	"       nvsnoop-probe bench [NAME...] [OPTION...]\n"
	"\n"
	"Submits its own commands to the GPU, on its own channels in its own process,\n"
	"and measures them with the GPU's clock. Needs neither root nor a profiler.\n"
	"\n"
	"Studies:\n"
	"  dma        transfers inline and by copy engine: latency, bandwidth, crossover\n"
	"  doorbell   from the doorbell store to completion, by stages\n"
	"  submit     FILE: methods as text, as --dump prints them; - is stdin\n"
	"  graph      graph launches by length: time, bytes, steps\n"
	"  bench      [NAME...]: GPU microbenchmarks with generated kernels\n";

static int set_sizes(const struct nvs_option *option, void *target, const char *text)
{
	struct probe_options *o = target;
	uint64_t size;

	for (;; text++) {
		if (!nvs_read_size(&text, option->max, &size) || !size || (*text && *text != ','))
			return NVS_OPTION_WRONG;
		if (o->nsizes == PROBE_SIZES_MAX)
			return nvs_usage_error("--sizes: too many sizes");
		o->sizes[o->nsizes++] = (uint32_t)size;
		if (!*text || !text[1])
			return 0;
	}
}

static int set_doorbells(const struct nvs_option *option, void *target, const char *text)
{
	struct probe_options *o = target;
	uint64_t n;

	for (;; text++) {
		if (!nvs_read_number(&text, option->max, &n) || !n || (*text && *text != ','))
			return NVS_OPTION_WRONG;
		if (o->ndoorbells == PROBE_SIZES_MAX)
			return nvs_usage_error("--doorbells: too many numbers");
		o->doorbells[o->ndoorbells++] = (uint32_t)n;
		if (!*text)
			return 0;
	}
}

static int set_nodes(const struct nvs_option *option, void *target, const char *text)
{
	struct probe_options *o = target;
	uint64_t from, to;

	if (!nvs_read_number(&text, option->max, &from))
		return NVS_OPTION_WRONG;
	to = from;
	if (*text == '-' && (text++, !nvs_read_number(&text, option->max, &to)))
		return NVS_OPTION_WRONG;
	o->from = (uint32_t)from;
	o->to = (uint32_t)to;
	return *text || !from || from > to ? NVS_OPTION_WRONG : 0;
}

static int set_load(const struct nvs_option *option, void *target, const char *text)
{
	struct probe_options *o = target;

	if (!*text || o->load[1])
		return NVS_OPTION_WRONG;
	o->load[o->load[0] != NULL] = text;
	return 0;
}

static int set_channel(const struct nvs_option *option, void *target, const char *text)
{
	((struct probe_options *)target)->channel = text;
	return nvs_word_index(option->argument, text) >= 0 ? 0 : NVS_OPTION_WRONG;
}

#define INTO(kind, field) NVS_OPTION_INTO(kind, struct probe_options, field)
#define ONLY(studies) .context = (studies) /* the studies that take the option */

static const struct nvs_option known[] = {
	{"gpu", "N", "GPU number, as counted by CUDA", "0", INTO(NUMBER, gpu), .max = 63},
	{"format", "text|csv|json", "output format", "text", INTO(WORD, format)},
	{"svg", "FOLDER", "also write plots to FOLDER, which must exist", INTO(TEXT, svg),
	 ONLY("dma graph bench")},
	{"sizes", "LIST", "bytes per transfer: 4,8K,1M ...; at most 128 sizes", NULL,
	 "a list of 1 to 1G, as in 4,8K,1M", .set = set_sizes, .max = 1u << 30, ONLY("dma copies")},
	{"doorbells", "LIST",
	 "doorbell: 1 MiB of commands with each of these numbers of doorbells: 1,16,256 ...", NULL,
	 "a list of 1 to 1024, as in 1,16,256", .set = set_doorbells, .max = PROBE_DOORBELLS_MAX,
	 ONLY("doorbell")},
	{"nodes", "A-B", "chains of A to B kernels, 1 to 2000", NULL,
	 "A-B within 1 to 2000, for example 1-200", .set = set_nodes, .max = PROBE_NODES_MAX,
	 ONLY("graph graph-launches")},
	{"repeat", "N", "submissions per row, 1 to 1000", "30; graph: 200", INTO(NUMBER, repeat),
	 .min = 1, .max = 1000, ONLY("dma doorbell graph graph-launches")},
	{"iterations", "N", "transfers per submission", "as many as take 200 us",
	 INTO(NUMBER, iterations), .min = 1, .max = 1000000, ONLY("dma")},
	{"compare",
	 .help = "dma: times of the driver's copies by CUPTI, events and the host, next to ours of "
		 "the same size and mode",
	 INTO(CONSTANT, compare), .min = true, ONLY("dma")},
	{"dry-run",
	 .help = "submit: only write the dwords, for nvsnoop-report --raw; bench: only assemble "
		 "the kernels and read them back",
	 INTO(CONSTANT, dry_run), .min = true, ONLY("submit bench")},
	{"unsafe", .help = "submit: allow any addresses, classes and grids", INTO(CONSTANT, unsafe),
	 .min = true, ONLY("submit")},
	{"src", "FILE", "submit: initial contents of $src, up to 1 MiB", INTO(TEXT, src),
	 ONLY("submit")},
	{"dst", "FILE", "submit: write the final contents of $dst", INTO(TEXT, dst),
	 ONLY("submit")},
	{"channel", "compute|HtoD|DtoH", "submit: the channel to use", "chosen by the classes",
	 .set = set_channel, ONLY("submit")},
	{"timeout", "N", "submit: seconds to wait for a payload", "5", INTO(NUMBER, timeout),
	 .min = 1, .max = 3600, ONLY("submit")},
	{"list", .help = "bench: list the benchmarks", INTO(CONSTANT, list), .min = true,
	 ONLY("bench")},
	{"save", "FILE", "bench: also write the raw samples", INTO(TEXT, save), ONLY("bench")},
	{"load", "FILE",
	 "bench: evaluate saved samples, without a GPU; given twice, print the ratios", NULL,
	 "a file, and be given twice at most", .set = set_load, ONLY("bench")},
	{"accel-sim", "FILE",
	 "bench: also write latencies and sizes as parameters of that simulator",
	 INTO(TEXT, accel_sim), ONLY("bench")},
	{"card", .help = "bench: print the GPU's card, a page of Markdown", INTO(CONSTANT, card),
	 .min = true, ONLY("bench")},
	{"check", "FILE|FOLDER",
	 "bench: compare the GPU with such a card, or with all of its product in FOLDER; exit "
	 "status as diff",
	 INTO(TEXT, check), ONLY("bench")},
	{NULL},
};
_Static_assert(PROBE_SIZES_MAX == 128 && PROBE_NODES_MAX == 2000 && PROBE_DOORBELLS_MAX == 1024,
	       "--help says so");

/* Returns true if WORD is one of those in LIST, which are separated by spaces. */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; list; list = strchr(list, ' ') ? strchr(list, ' ') + 1 : NULL)
		if (!strncmp(list, word, n) && (!list[n] || list[n] == ' '))
			return true;
	return false;
}

static int check_takes(const struct nvs_command_line *line, const struct study_name *study)
{
	for (int i = 0; known[i].name; i++)
		if (line->given[i] && known[i].context && !has_word(known[i].context, study->name))
			return nvs_usage_error("%s does not take --%s", study->name, known[i].name);
	return -1;
}

/* Returns true if one of the OPTIONS, separated by spaces, is given. */
static bool has_any(const struct nvs_command_line *line, const char *options)
{
	for (int i = 0; known[i].name; i++)
		if (line->given[i] && has_word(options, known[i].name))
			return true;
	return false;
}

/* Rejects combinations of bench's options that exclude each other. */
static int check_bench(const struct nvs_command_line *line, const struct probe_options *options)
{
	if (options->load[1] && has_any(line, "svg card check accel-sim"))
		return nvs_usage_error("two --load print ratios and take only --format");
	if (has_any(line, "format") + has_any(line, "card") + has_any(line, "check") > 1)
		return nvs_usage_error("--format, --card and --check cannot be used together");
	if (has_any(line, "load") && has_any(line, "save gpu"))
		return nvs_usage_error("--load uses no GPU and takes neither --gpu nor --save");
	if (has_any(line, "list") &&
	    has_any(line, "format svg save load card check accel-sim dry-run gpu"))
		return nvs_usage_error("--list takes only names");
	if (has_any(line, "dry-run") && has_any(line, "format svg save load card check accel-sim"))
		return nvs_usage_error("--dry-run measures nothing and takes only --gpu");
	return -1;
}

static int check_options(const struct nvs_command_line *line, const struct probe_options *options,
			 const struct study_name *study)
{
	int status = check_takes(line, study);

	if (status >= 0)
		return status;
	if (study->run == probe_run_bench)
		return check_bench(line, options);
	if (has_any(line, "dry-run") && has_any(line, "format"))
		return nvs_usage_error("--dry-run writes raw dwords and takes no --format");
	return -1;
}

/* Stores the arguments after the study's name. */
static int take_operands(struct probe_options *options, const struct study_name *study, int argc,
			 char **argv)
{
	int taken = study->run == probe_run_submit ? 1 : 0;

	if (argc < taken)
		return nvs_usage_error("submit needs a FILE; - is standard input");
	if (taken)
		options->file = argv[0];
	if (study->run == probe_run_bench) {
		options->names = argv;
		options->nnames = argc;
	} else if (argc > taken) {
		return nvs_usage_error("only one %s at a time, unexpected '%s'",
				       taken ? "FILE" : "study", argv[taken]);
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct probe_options options = {.timeout = 5};
	struct nvs_command_line line = {
		.program = "nvsnoop-probe",
		.usage = usage,
		.notes = "Exit status: 0; 1 on failure or wrong data; 2 on a usage error. With "
			 "--check as\ndiff.\n",
		.options = known,
		.target = &options,
	};
	int status = nvs_command_line_parse(&line, argc, argv), at = line.operand;
	const struct study_name *study = studies;

	if (status >= 0)
		return status;
	if (at == argc)
		return nvs_usage_error("no study given");
	while (study < studies + STUDIES && strcmp(argv[at], study->name))
		study++;
	if (study == studies + STUDIES)
		return nvs_usage_error("there is no study '%s'", argv[at]);
	status = take_operands(&options, study, argc - at - 1, argv + at + 1);
	if (status < 0)
		status = check_options(&line, &options, study);
	if (status >= 0)
		return status;
	if (!options.repeat)
		options.repeat = study->repeat;
	return study->run(&options);
}
