/* SPDX-License-Identifier: MIT */
/* The options of a program as a table, from which its command line is parsed and --help printed.
 * NVSNOOP_OPTIONS has such a table too. Needs the C library alone. */
#ifndef NVSNOOP_DECODE_CLI_OPTIONS_H
#define NVSNOOP_DECODE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nvs_option_kind {
	NVS_OPTION_CONSTANT, /* MIN, if the option is given; it takes no argument */
	NVS_OPTION_TEXT, /* const char *: the argument, of at least MIN bytes */
	NVS_OPTION_COPY, /* char[]: a copy of it, which must fit and not be empty */
	NVS_OPTION_WORD, /* its index in the words of .argument; bool: it is not the first */
	NVS_OPTION_SWITCH, /* bool: on or off */
	NVS_OPTION_NUMBER, /* MIN to MAX */
	NVS_OPTION_SIZE, /* bytes, MIN to MAX */
	NVS_OPTION_SECONDS, /* ns, MIN to MAX */
};

enum { NVS_OPTION_WRONG = 1, NVS_USAGE_ERROR = 2 };

/*
 * An option; or a heading of --help, which has no name, with an example command in .argument. A
 * table ends with an empty entry. A name with a value in it ("export=dot") is a line of --help
 * only.
 */
struct nvs_option {
	const char *name; /* without its dashes */
	const char *argument; /* as --help shows it: "FILE", "on|off"; NULL: takes none */
	const char *help; /* no full stop; of a heading, its lines; NULL: not in --help */
	const char *standard; /* default as the user would write it; NULL: none */
	const char *rule; /* what a value must be, if .argument, .min and .max do not say it */
	char letter; /* -x; 0: none */
	bool optional; /* the argument may be left out */
	enum nvs_option_kind kind;
	uint32_t offset, size; /* of the field, in the target */
	uint64_t min, max;
	/* In place of .kind: returns 0, NVS_OPTION_WRONG, or NVS_USAGE_ERROR after a message. */
	int (*set)(const struct nvs_option *option, void *target, const char *text);
	const void *context; /* for the program itself */
};

/* Kind and field of an entry: NVS_OPTION_INTO(NUMBER, struct options, rows). */
#define NVS_OPTION_INTO(of_kind, type, field)                                    \
	.kind = NVS_OPTION_##of_kind, .offset = (uint32_t)offsetof(type, field), \
	.size = sizeof(((type *)NULL)->field)

#define NVS_OPTIONS_MAX 128 /* entries of a table */

struct nvs_command_line {
	const char *program; /* name, for messages */
	const char *usage; /* what --help prints before the options */
	const char *notes; /* and after them; NULL: nothing */
	const struct nvs_option *options; /* all but --help and --version */
	void *target; /* what the options are stored in */
	bool in_order; /* the first operand ends the options */
	/* Set by nvs_command_line_parse(): */
	int operand; /* index of the first operand; they follow all options */
	bool given[NVS_OPTIONS_MAX]; /* by entry of the table */
};

/* Returns -1 to continue, or the exit status: 0 if --help or --version was printed, 1 if stdout
 * could not be written, NVS_USAGE_ERROR after a message. */
int nvs_command_line_parse(struct nvs_command_line *line, int argc, char **argv);
/* Returns true if the option is on the command line. */
bool nvs_option_given(const struct nvs_command_line *line, const char *name);
/* Prints "PROGRAM: ..." and where to find help on stderr. Returns NVS_USAGE_ERROR. */
int nvs_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes stdout out. Returns the exit status: 0, or 1 after a message. */
int nvs_finish_stdout(void);

#endif
