/* SPDX-License-Identifier: MIT */
/* LINK: bench cli decode */
/* The probe's results in all formats; what CSV and JSON quote. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "probe/bench/frame/internal.h"
#include "tests/unit/expect.h"

static int terminal;

/* What is printed until end() goes to a file. */
static FILE *begin(void)
{
	FILE *file = tmpfile();

	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	return file;
}

static const char *end(FILE *file)
{
	static char text[4096];
	size_t n;

	fflush(stdout);
	dup2(terminal, STDOUT_FILENO);
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	return text;
}

static const char *print_study(struct probe_table *table, enum probe_format format)
{
	struct probe_session session = {.driver = "1.2", .link_gib_s = 3.04, .sm_mhz = 1980};
	FILE *file = begin();

	strcpy(session.gpu, "GPU \"A\"");
	strcpy(session.link, "x16, \"new\"");
	probe_table_print(table, &session, format);
	return end(file);
}

static void study(void)
{
	static const struct nvs_column columns[] = {
		{"way", "way", .flags = NVS_COLUMN_LEFT},
		{"ns", "ns\nmin", .decimals = 1},
	};
	struct probe_table t = PROBE_TABLE("s", columns);

	probe_table_add_row(&t,
			    (struct nvs_value[]){PROBE_WORDS("a \"b\""), PROBE_NUMBER(1500.25)});
	probe_table_add_row(&t, (struct nvs_value[]){PROBE_WORDS("c"), PROBE_NUMBER(NAN)});
	probe_table_add_note(&t, "%d \"notes\"", 2);
	EXPECT(probe_table_cells(&t, 0)[1].real == 1500.25);
	EXPECT_STR(print_study(&t, PROBE_CSV),
		   "way,ns,gpu,driver,pcie,sm_mhz\n"
		   "\"a \"\"b\"\"\",1500.2,\"GPU \"\"A\"\"\",1.2,\"x16, \"\"new\"\"\",1980\n"
		   "c,,\"GPU \"\"A\"\"\",1.2,\"x16, \"\"new\"\"\",1980\n");
	EXPECT_STR(print_study(&t, PROBE_JSON),
		   "{\"schema\":2,\"study\":\"s\",\"gpu\":\"GPU \\\"A\\\"\",\"driver\":\"1.2\","
		   "\"pcie\":\"x16, \\\"new\\\"\",\"sm_mhz\":1980,\"rows\":[\n"
		   "{\"way\":\"a \\\"b\\\"\",\"ns\":1500.2},\n{\"way\":\"c\",\"ns\":null}],\n"
		   "\"notes\":[\"2 \\\"notes\\\"\"]}\n");
	EXPECT_STR(print_study(&t, PROBE_TEXT),
		   "GPU \"A\", driver 1.2, PCIe x16, \"new\" (3.0 GiB/s), SM 1980 MHz\n\n"
		   "          ns\nway      min\na \"b\"  1,500\nc          -\n\n2 \"notes\"\n");
	probe_table_free(&t);
}

static void bench(void)
{
	struct bench_figure one = {
		"clocks", (char *)"a, \"b\"", (char *)"", (char *)"ns", 1.5, 1, NAN, 1410, true};
	struct bench_figures f = {.figure = &one, .nfigure = 1};
	struct bench_sample_set none = {0};
	FILE *file = begin();

	snprintf(f.gpu.name, sizeof(f.gpu.name), "GPU, \"A\"");
	f.gpu.boost_khz = 1980000;
	bench_print_figures(&f, &none, PROBE_CSV, false);
	EXPECT_STR(end(file),
		   "benchmark,name,parameter,value,unit,min,max,sm_mhz,gpu,driver,date,uuid,"
		   "nvsnoop,cpu,boost_mhz,memory_mhz,memory_bytes,power_limit_w,ecc,ecc_errors,"
		   "clock_limits\n"
		   "clocks,\"a, \"\"b\"\"\",,1.5,ns,1,,1410,\"GPU, \"\"A\"\"\",,,,,,1980,,,,,,\n");
	file = begin();
	bench_print_figures(&f, &none, PROBE_JSON, false);
	EXPECT_STR(end(file),
		   "{\"schema\":2,\"study\":\"bench\",\"gpu\":\"GPU, \\\"A\\\"\",\"driver\":null,"
		   "\"date\":null,\"uuid\":null,\"nvsnoop\":null,\"cpu\":null,\"boost_mhz\":1980,"
		   "\"memory_mhz\":null,\"memory_bytes\":null,\"power_limit_w\":null,\"ecc\":null,"
		   "\"ecc_errors\":null,\"clock_limits\":null,\"rows\":[\n{\"benchmark\":"
		   "\"clocks\",\"name\":\"a, \\\"b\\\"\","
		   "\"parameter\":\"\",\"value\":1.5,\"unit\":\"ns\",\"min\":1,\"max\":null,"
		   "\"sm_mhz\":1410,\"below_boost\":true,\"above_boost\":false,\"detail\":true,"
		   "\"gpu\":\"GPU, \\\"A\\\"\"}],\n\"published\":[],\n\"notes\":[],\n"
		   "\"missing\":[]}\n");
}

int main(void)
{
	terminal = dup(STDOUT_FILENO);
	study();
	bench();
	return expect_done();
}
