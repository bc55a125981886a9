/* SPDX-License-Identifier: MIT */
/*
 * nvsnoop-probe: submits command streams of its own and measures them. Parses the options and runs
 * a study.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe/studies.h"

static const struct study_name {
	const char *name;
	int (*run)(const struct probe_options *options);
	const char *takes; /* study-specific options, as letters of read_options() */
	uint32_t repeat; /* default of --repeat */
	const char *help; /* NULL: internal, run by another study */
} studies[] = {
	{"dma", probe_run_dma, "rvsim", 30,
	 "transfers inline and by copy engine: latency, bandwidth, crossover"},
	{"doorbell", probe_run_doorbell, "r", 30,
	 "from the doorbell store to completion, by stages"},
	{"submit", probe_run_submit, "nuabct", 0,
	 "FILE: methods as text, as --dump prints them; - is stdin"},
	{"graph", probe_run_graph, "rvN", 200, "graph launches by length: time, bytes, steps"},
	{"bench", probe_run_bench, "vnlodkx", 0,
	 "[NAME...]: GPU microbenchmarks with generated kernels"},
	{"copies", probe_run_copies, "s", 0, NULL},
	{"graph-launches", probe_run_graph_launches, "rN", 20, NULL},
};
enum { STUDIES = sizeof(studies) / sizeof(studies[0]) };

static void print_usage(FILE *f)
{
	fprintf(f, "Usage: nvsnoop-probe STUDY [OPTION...]\n"
		   "       nvsnoop-probe submit FILE [OPTION...]\n"
		   "       nvsnoop-probe bench [NAME...] [OPTION...]\n\n"
		   "Submits its own commands to the GPU, on its own channels in its own process,\n"
		   "and measures them with the GPU's clock. Needs neither root nor a profiler.\n\n"
		   "Studies:\n");
	for (int i = 0; i < STUDIES; i++)
		if (studies[i].help)
			fprintf(f, "  %-10s %s\n", studies[i].name, studies[i].help);
	fprintf(f,
		"\nOptions:\n"
		"  --gpu=N          GPU number, as counted by CUDA (0)\n"
		"  --format=FORMAT  text, csv or json (text)\n"
		"  --svg=FOLDER     also write plots to FOLDER, which must exist\n"
		"  --sizes=LIST     bytes per transfer: 4,8K,1M ...; at most %d sizes\n"
		"  --nodes=A-B      chains of A to B kernels, 1 to 2000\n"
		"  --repeat=N       submissions per row, 1 to 1000 (30; graph: 200)\n"
		"  --iterations=N   transfers per submission (as many as take 200 us)\n"
		"  --compare        dma: times of the driver's copies by CUPTI, events and the\n"
		"                   host, next to ours of the same size and mode\n"
		"  --dry-run        submit: only write the dwords, for nvsnoop-report --raw;\n"
		"                   bench: only assemble the kernels and read them back\n"
		"  --unsafe         submit: allow any addresses, classes and grids\n"
		"  --src=FILE       submit: initial contents of $src, up to 1 MiB\n"
		"  --dst=FILE       submit: write the final contents of $dst\n"
		"  --channel=NAME   submit: compute, HtoD or DtoH (chosen by the classes)\n"
		"  --timeout=N      submit: seconds to wait for a payload (5)\n"
		"  --list           bench: list the benchmarks\n"
		"  --save=FILE      bench: also write the raw samples\n"
		"  --load=FILE      bench: evaluate saved samples, without a GPU\n"
		"  --card           bench: print the GPU's card, a page of Markdown\n"
		"  --check=FILE     bench: compare the GPU with such a card; exit status as diff\n"
		"  --help, --version\n",
		PROBE_SIZES_MAX);
}

static void exit_usage(const char *format, const char *what)
{
	fprintf(stderr, "nvsnoop-probe: ");
	fprintf(stderr, format, what);
	fprintf(stderr, "; try --help\n");
	exit(2);
}

static unsigned long parse_number(const char *text, unsigned long low, unsigned long high,
				  const char *name)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || v < low || v > high) {
		fprintf(stderr, "nvsnoop-probe: --%s must be a number from %lu to %lu, not '%s'\n",
			name, low, high, text);
		exit(2);
	}
	return v;
}

static void read_sizes(struct probe_options *o, const char *text)
{
	const char *all = text;

	while (*text) {
		unsigned long long v;
		char *end;

		errno = 0;
		v = strtoull(text, &end, 10);
		if (*text < '0' || *text > '9' || errno || v > 1u << 30)
			v = 0;
		if (*end == 'K' || *end == 'k')
			v <<= 10, end++;
		else if (*end == 'M' || *end == 'm')
			v <<= 20, end++;
		else if (*end == 'G' || *end == 'g')
			v <<= 30, end++;
		if (!v || v > 1u << 30 || (*end && *end != ','))
			exit_usage("--sizes is a list of 1 to 1G, as in 4,8K,1M, not '%s'", all);
		if (o->nsizes == PROBE_SIZES_MAX)
			exit_usage("%s: too many sizes", "--sizes");
		o->sizes[o->nsizes++] = (uint32_t)v;
		text = end + (*end == ',');
	}
	if (!o->nsizes)
		exit_usage("--sizes is a list of 1 to 1G, as in 4,8K,1M, not '%s'", all);
}

static void read_nodes(struct probe_options *o, const char *text)
{
	char end;
	int n = strspn(text, "0123456789-") == strlen(text)
			? sscanf(text, "%4" SCNu32 "-%4" SCNu32 "%c", &o->from, &o->to, &end)
			: 0;

	if (n == 1 && !strchr(text, '-') && strlen(text) <= 4)
		o->to = o->from;
	else if (n != 2)
		o->to = 0;
	if (!o->from || o->from > o->to || o->to > PROBE_NODES_MAX)
		exit_usage("--nodes must be A-B within 1 to 2000, for example 1-200, not '%s'",
			   text);
}

static enum probe_format read_format(const char *text)
{
	static const char *const names[] = {"text", "csv", "json"};

	for (int i = 0; i < 3; i++)
		if (!strcmp(text, names[i]))
			return (enum probe_format)i;
	exit_usage("--format must be text, csv or json, not '%s'", text);
	return PROBE_TEXT;
}

static const struct option known[] = {
	{"gpu", required_argument, NULL, 'g'},
	{"format", required_argument, NULL, 'f'},
	{"svg", required_argument, NULL, 'v'},
	{"sizes", required_argument, NULL, 's'},
	{"nodes", required_argument, NULL, 'N'},
	{"repeat", required_argument, NULL, 'r'},
	{"iterations", required_argument, NULL, 'i'},
	{"compare", no_argument, NULL, 'm'},
	{"dry-run", no_argument, NULL, 'n'},
	{"unsafe", no_argument, NULL, 'u'},
	{"src", required_argument, NULL, 'a'},
	{"dst", required_argument, NULL, 'b'},
	{"channel", required_argument, NULL, 'c'},
	{"timeout", required_argument, NULL, 't'},
	{"list", no_argument, NULL, 'l'},
	{"save", required_argument, NULL, 'o'},
	{"load", required_argument, NULL, 'd'},
	{"card", no_argument, NULL, 'k'},
	{"check", required_argument, NULL, 'x'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

/* GIVEN holds the letters of the options on the command line. */
static void check_takes(const struct study_name *study, const char *given)
{
	for (const struct option *o = known; o->name; o++)
		if (strchr("rvsNimnuabctlodkx", o->val) && strchr(given, o->val) &&
		    !strchr(study->takes, o->val)) {
			fprintf(stderr, "nvsnoop-probe: %s does not take --%s; try --help\n",
				study->name, o->name);
			exit(2);
		}
}

/* Exits after --help or --version; a failed write is an error. */
static void finish_output(void)
{
	if (fflush(stdout) || ferror(stdout))
		probe_die("output: %s", strerror(errno));
	exit(0);
}

/* Returns the letters of the options on the command line. */
static const char *read_options(struct probe_options *o, int argc, char **argv)
{
	static char given[64];
	size_t n = 0;
	int c;

	while ((c = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		if (n + 1 < sizeof(given))
			given[n++] = (char)c;
		switch (c) {
		case 'g':
			o->gpu = (int)parse_number(optarg, 0, 63, "gpu");
			break;
		case 'f':
			o->format = read_format(optarg);
			break;
		case 'v':
			o->svg = optarg;
			break;
		case 's':
			read_sizes(o, optarg);
			break;
		case 'N':
			read_nodes(o, optarg);
			break;
		case 'r':
			o->repeat = (uint32_t)parse_number(optarg, 1, 1000, "repeat");
			break;
		case 'i':
			o->iterations = (uint32_t)parse_number(optarg, 1, 1000000, "iterations");
			break;
		case 'm':
			o->compare = true;
			break;
		case 'n':
			o->dry_run = true;
			break;
		case 'u':
			o->unsafe = true;
			break;
		case 'a':
			o->src = optarg;
			break;
		case 'b':
			o->dst = optarg;
			break;
		case 'c':
			if (strcmp(optarg, "compute") && strcmp(optarg, "HtoD") &&
			    strcmp(optarg, "DtoH"))
				exit_usage("--channel must be compute, HtoD or DtoH, not '%s'",
					   optarg);
			o->channel = optarg;
			break;
		case 't':
			o->timeout = (uint32_t)parse_number(optarg, 1, 3600, "timeout");
			break;
		case 'l':
			o->list = true;
			break;
		case 'o':
			o->save = optarg;
			break;
		case 'd':
			o->load = optarg;
			break;
		case 'k':
			o->card = true;
			break;
		case 'x':
			o->check = optarg;
			break;
		case 'h':
			print_usage(stdout);
			finish_output();
			break;
		case 'V':
			puts("nvsnoop-probe " NVS_VERSION);
			finish_output();
			break;
		default:
			fprintf(stderr, "nvsnoop-probe: try --help\n");
			exit(2);
		}
	}
	return given;
}

static bool has_both(const char *given, char a, char b)
{
	return strchr(given, a) && strchr(given, b);
}

/* Rejects combinations of bench's options that exclude each other. */
static void check_bench(const char *given)
{
	if (has_both(given, 'k', 'f') || has_both(given, 'x', 'f') || has_both(given, 'k', 'x'))
		exit_usage("%s", "--format, --card and --check cannot be used together");
	if (has_both(given, 'd', 'o') || has_both(given, 'd', 'g'))
		exit_usage("%s", "--load uses no GPU and takes neither --gpu nor --save");
	if (strchr(given, 'l') && strpbrk(given, "fvodkxng"))
		exit_usage("%s", "--list takes only names");
	if (strchr(given, 'n') && strpbrk(given, "fvodkx"))
		exit_usage("%s", "--dry-run measures nothing and takes only --gpu");
}

int main(int argc, char **argv)
{
	struct probe_options options = {.timeout = 5};
	const struct study_name *study = studies;
	const char *given;
	bool text, bench;

	argv[0] = (char *)"nvsnoop-probe";
	given = read_options(&options, argc, argv);
	if (optind == argc)
		exit_usage("%s", "no study given");
	while (study < studies + STUDIES && strcmp(argv[optind], study->name))
		study++;
	if (study == studies + STUDIES)
		exit_usage("there is no study '%s'", argv[optind]);
	text = study->run == probe_run_submit;
	if (text && ++optind == argc)
		exit_usage("%s", "submit needs a FILE; - is standard input");
	if (text)
		options.file = argv[optind];
	bench = study->run == probe_run_bench;
	if (bench) {
		options.names = argv + optind + 1;
		options.nnames = argc - optind - 1;
	} else if (optind + 1 < argc)
		exit_usage(text ? "only one FILE at a time, unexpected '%s'"
				: "only one study at a time, unexpected '%s'",
			   argv[optind + 1]);
	check_takes(study, given);
	if (bench)
		check_bench(given);
	else if (options.dry_run && strchr(given, 'f'))
		exit_usage("%s", "--dry-run writes raw dwords and takes no --format");
	if (!options.repeat)
		options.repeat = study->repeat;
	return study->run(&options);
}
