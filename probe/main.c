/* SPDX-License-Identifier: MIT */
/* nvsnoop-probe: command streams of our own, and what they measure. */
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
	const char *takes; /* options that not all take: their letters in read_options() */
	uint32_t repeat; /* where --repeat does not say */
	const char *help; /* NULL: for another study, which runs it */
} studies[] = {
	{"dma", probe_dma, "rvsim", 30,
	 "transfers inline and by copy engine: latency, bandwidth, crossover"},
	{"doorbell", probe_doorbell, "r", 30,
	 "from the store to the doorbell to the end, by stages"},
	{"submit", probe_submit_text, "nuabct", 0,
	 "FILE, a text of methods as --dump prints it; - is stdin"},
	{"graph", probe_graph, "rvN", 200,
	 "launches of graphs by their length: time, bytes, steps"},
	{"bench", probe_bench, "vnlodkx", 0,
	 "[NAME...]: microbenchmarks of the GPU by kernels of our own"},
	{"copies", probe_copies, "s", 0, NULL},
	{"graph-launches", probe_graph_launches, "rN", 20, NULL},
};
enum { STUDIES = sizeof(studies) / sizeof(studies[0]) };

static void usage(FILE *f)
{
	fprintf(f,
		"Usage: nvsnoop-probe STUDY [OPTION...]\n"
		"       nvsnoop-probe submit FILE [OPTION...]\n"
		"       nvsnoop-probe bench [NAME...] [OPTION...]\n\n"
		"Submits commands of its own to the GPU, in a process and on channels of its own,\n"
		"and measures them by the GPU's clock. Needs no root and no profiler.\n\n"
		"Studies:\n");
	for (int i = 0; i < STUDIES; i++)
		if (studies[i].help)
			fprintf(f, "  %-10s %s\n", studies[i].name, studies[i].help);
	fprintf(f,
		"\nOptions:\n"
		"  --gpu=N          the GPU, as CUDA counts them (0)\n"
		"  --format=FORMAT  text, csv or json (text)\n"
		"  --svg=FOLDER     also draw pictures, into FOLDER, which must be there\n"
		"  --sizes=LIST     bytes a transfer: 4,8K,1M ...; at most %d\n"
		"  --nodes=A-B      chains of A to B kernels, 1 to 2000\n"
		"  --repeat=N       submissions a row, 1 to 1000 (30; graph: 200)\n"
		"  --iterations=N   transfers a submission (as many as take 200 us)\n"
		"  --compare        dma: what CUPTI, events and the host say of the driver's\n"
		"                   copies, beside ours of the same size and mode\n"
		"  --dry-run        submit: only write the words, for nvsnoop-report --raw;\n"
		"                   bench: only assemble the kernels and read them back\n"
		"  --unsafe         submit: whatever addresses, classes and grids there are\n"
		"  --src=FILE       submit: what $src holds, up to 1 MiB\n"
		"  --dst=FILE       submit: write what $dst holds afterwards\n"
		"  --channel=NAME   submit: compute, HtoD or DtoH (as the classes need)\n"
		"  --timeout=N      submit: seconds to wait for a payload (5)\n"
		"  --list           bench: which there are\n"
		"  --save=FILE      bench: also write the raw samples\n"
		"  --load=FILE      bench: tell of samples that were saved, without a GPU\n"
		"  --card           bench: the GPU's card, a page of Markdown\n"
		"  --check=FILE     bench: hold the GPU against such a card; status as diff's\n"
		"  --help, --version\n",
		PROBE_SIZES_MAX);
}

static void wrong(const char *format, const char *what)
{
	fprintf(stderr, "nvsnoop-probe: ");
	fprintf(stderr, format, what);
	fprintf(stderr, "; try --help\n");
	exit(2);
}

static unsigned long number(const char *text, unsigned long low, unsigned long high,
			    const char *name)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || v < low || v > high) {
		fprintf(stderr, "nvsnoop-probe: --%s is a number from %lu to %lu, not '%s'\n", name,
			low, high, text);
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
			wrong("--sizes is a list of 1 to 1G, as in 4,8K,1M, not '%s'", all);
		if (o->nsizes == PROBE_SIZES_MAX)
			wrong("%s: too many sizes", "--sizes");
		o->sizes[o->nsizes++] = (uint32_t)v;
		text = end + (*end == ',');
	}
	if (!o->nsizes)
		wrong("--sizes is a list of 1 to 1G, as in 4,8K,1M, not '%s'", all);
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
		wrong("--nodes is A-B within 1 to 2000, as in 1-200, not '%s'", text);
}

static enum probe_format read_format(const char *text)
{
	static const char *const names[] = {"text", "csv", "json"};

	for (int i = 0; i < 3; i++)
		if (!strcmp(text, names[i]))
			return (enum probe_format)i;
	wrong("--format is text, csv or json, not '%s'", text);
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

/* GIVEN has the letters of the options that were given. */
static void check_takes(const struct study_name *study, const char *given)
{
	for (const struct option *o = known; o->name; o++)
		if (strchr("rvsNimnuabctlodkx", o->val) && strchr(given, o->val) &&
		    !strchr(study->takes, o->val)) {
			fprintf(stderr, "nvsnoop-probe: %s takes no --%s; try --help\n",
				study->name, o->name);
			exit(2);
		}
}

/* What --help and --version print has to arrive. */
static void told(void)
{
	if (fflush(stdout) || ferror(stdout))
		probe_die("output: %s", strerror(errno));
	exit(0);
}

/* Returns the letters of those that were given. */
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
			o->gpu = (int)number(optarg, 0, 63, "gpu");
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
			o->repeat = (uint32_t)number(optarg, 1, 1000, "repeat");
			break;
		case 'i':
			o->iterations = (uint32_t)number(optarg, 1, 1000000, "iterations");
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
				wrong("--channel is compute, HtoD or DtoH, not '%s'", optarg);
			o->channel = optarg;
			break;
		case 't':
			o->timeout = (uint32_t)number(optarg, 1, 3600, "timeout");
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
			usage(stdout);
			told();
			break;
		case 'V':
			puts("nvsnoop-probe " NVS_VERSION);
			told();
			break;
		default:
			fprintf(stderr, "nvsnoop-probe: try --help\n");
			exit(2);
		}
	}
	return given;
}

static bool both(const char *given, char a, char b)
{
	return strchr(given, a) && strchr(given, b);
}

/* Of bench's options those that leave no room for another. */
static void check_bench(const char *given)
{
	if (both(given, 'k', 'f') || both(given, 'x', 'f') || both(given, 'k', 'x'))
		wrong("%s", "one of --format, --card and --check at a time");
	if (both(given, 'd', 'o') || both(given, 'd', 'g'))
		wrong("%s", "--load needs no GPU, and takes neither --gpu nor --save");
	if (strchr(given, 'l') && strpbrk(given, "fvodkxng"))
		wrong("%s", "--list takes names alone");
	if (strchr(given, 'n') && strpbrk(given, "fvodkx"))
		wrong("%s", "--dry-run measures nothing, and takes --gpu alone");
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
		wrong("%s", "no study is named");
	while (study < studies + STUDIES && strcmp(argv[optind], study->name))
		study++;
	if (study == studies + STUDIES)
		wrong("there is no study '%s'", argv[optind]);
	text = study->run == probe_submit_text;
	if (text && ++optind == argc)
		wrong("%s", "submit which FILE? - is standard input");
	if (text)
		options.file = argv[optind];
	bench = study->run == probe_bench;
	if (bench) {
		options.names = argv + optind + 1;
		options.nnames = argc - optind - 1;
	} else if (optind + 1 < argc)
		wrong(text ? "one FILE at a time, not also '%s'"
			   : "one study at a time, not also '%s'",
		      argv[optind + 1]);
	check_takes(study, given);
	if (bench)
		check_bench(given);
	else if (options.dry_run && strchr(given, 'f'))
		wrong("%s", "--dry-run writes words, and takes no --format");
	if (!options.repeat)
		options.repeat = study->repeat;
	return study->run(&options);
}
