/* SPDX-License-Identifier: MIT */
/* --code: kernels of cubins, wherever these were found, and what their code says of itself. */
#ifndef NVSNOOP_DECODE_REPORT_CODE_CODE_H
#define NVSNOOP_DECODE_REPORT_CODE_CODE_H

#include "decode/analysis/launched_kernels.h"
#include "decode/report/core/report.h"
#include "sass/sass.h"

/* A cubin whose bytes are still there: for listings. */
struct nvs_code_cubin {
	struct nvs_code_cubin *next;
	struct nvs_cubin cubin;
	void *bytes; /* ours, or NULL */
	bool asked; /* nvdisasm has been, whatever came of it */
	char *text; /* all that it printed; NULL: nothing that can be used */
};

struct nvs_code_row {
	char *name, *mangled;
	const char *file; /* as it was given */
	uint32_t image; /* of a trace; NVS_NONE: it is of a file */
	char arch[16]; /* "sm_90a" */
	enum nvs_sass_form form;
	struct nvs_cubin_function function; /* its pointers only where CUBIN is */
	struct nvs_code_cubin *cubin; /* NULL: gone */
	struct nvs_sass_tally tally;
	uint64_t address; /* of its code on the GPU; 0: not known */
};

struct nvs_code {
	const struct nvs_options_report *options;
	struct nvs_patterns kernels; /* those asked for */
	bool keep; /* cubins, for listings */
	bool passing; /* what is read does not stay */
	const char *file; /* that is read, and of a trace its image */
	uint32_t image;
	struct nvs_code_cubin *cubins;
	struct nvs_code_row *rows;
	size_t n, room;
	/* Of the file that is read: how many bytes may still be unpacked and looked at. */
	uint64_t left;
	uint64_t cubins_read, broken, text, other; /* entries: cubins, damaged, PTX, neither */
	struct nvs_ran *ran; /* of a trace: what ran; NULL: all is of interest */
	uint64_t idle; /* kernels that were loaded alone, and are not told */
	uint64_t missing; /* that ran, and there is no code of them */
};

/* Code in SIZE bytes at DATA: a cubin, a fatbin, or an ELF that has fatbins. PASSING: they go when
 * it returns. 0; -EINVAL: none of these; -EBADMSG: broken; -ENOMEM. */
int nvs_code_read(struct nvs_code *code, const uint8_t *data, size_t size, bool passing);
/* A row for each that ran and had none. 0 or -ENOMEM. */
int nvs_code_add_missing(struct nvs_code *code);
void nvs_code_free(struct nvs_code *code);

/* code_list.c: a kernel's instructions, as text. */
void nvs_code_list(struct nvs_out *out, const struct nvs_code_row *row);

#endif
