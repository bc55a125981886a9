/* SPDX-License-Identifier: MIT */
/* --code: kernels of cubins, fatbins, programs and traces, and properties of their code. */
#ifndef NVSNOOP_DECODE_REPORT_CODE_CODE_H
#define NVSNOOP_DECODE_REPORT_CODE_CODE_H

#include "decode/analysis/launched_kernels.h"
#include "decode/report/core/report.h"
#include "sass/sass.h"

/* A cubin that is kept for listings. */
struct nvs_kernel_code_cubin {
	struct nvs_kernel_code_cubin *next;
	struct nvs_cubin cubin;
	void *bytes; /* owned, or NULL */
	bool asked; /* nvdisasm has been run, successfully or not */
	char *text; /* its output; NULL: none */
};

struct nvs_kernel_code_row {
	char *name, *mangled;
	const char *file; /* path as given */
	uint32_t image; /* image of the trace; NVS_NONE: the row is from a file */
	char arch[16]; /* "sm_90a" */
	enum nvs_sass_form form;
	struct nvs_cubin_function function; /* its pointers are valid only while CUBIN is set */
	struct nvs_kernel_code_cubin *cubin; /* NULL: not kept */
	struct nvs_sass_tally tally;
	uint64_t address; /* of the code on the GPU; 0: unknown */
};

struct nvs_kernel_code {
	const struct nvs_options_report *options;
	struct nvs_patterns kernels; /* selected by --kernel */
	bool keep; /* keep cubins for listings */
	bool passing; /* the bytes being read will be unmapped */
	const char *file; /* file being read, and image if it is a trace */
	uint32_t image;
	struct nvs_kernel_code_cubin *cubins;
	struct nvs_kernel_code_row *rows;
	size_t n, room;
	/* Budget of bytes to unpack and decode, for the current file. */
	uint64_t left;
	uint64_t cubins_read, broken, text, other; /* fatbin entries: cubins, damaged, PTX, other */
	struct nvs_launched_kernels *ran; /* kernels that ran in the trace; NULL: list all */
	uint64_t idle; /* kernels loaded but never launched, which are not listed */
	uint64_t missing; /* kernels that ran and whose code is missing */
};

/*
 * Reads code from SIZE bytes at DATA: a cubin, a fatbin, or an ELF file that contains fatbins.
 * PASSING: the bytes are not valid after the call. Returns 0, -EINVAL if none of these, -EBADMSG if
 * damaged, or -ENOMEM.
 */
int nvs_code_read(struct nvs_kernel_code *code, const uint8_t *data, size_t size, bool passing);
/* Adds a row for each kernel that ran and whose code was not found. Returns 0 or -ENOMEM. */
int nvs_code_add_missing(struct nvs_kernel_code *code);
void nvs_code_free(struct nvs_kernel_code *code);

/* listing.c: prints the instructions of a kernel. */
void nvs_code_print_listing(struct nvs_out *out, const struct nvs_kernel_code_row *row);

#endif
