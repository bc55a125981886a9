/* SPDX-License-Identifier: MIT */
/* See parameter_layouts.h. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/image_code.h"
#include "decode/analysis/parameter_layouts.h"
#include "decode/base/compare.h"
#include "decode/base/grow.h"
#include "decode/base/hash.h"
#include "decode/calls/images.h"

struct list {
	struct nvs_kernel_parameter *list;
	uint32_t n, room;
};

static int compare_offsets(const void *a, const void *b)
{
	const struct nvs_kernel_parameter *x = a, *y = b;

	return NVS_CMP(x->offset, y->offset) ?: NVS_CMP(x->number, y->number);
}

/* A list whose parameters overlap, or are beyond the maximum, is not used. */
static bool is_sound(const struct list *all, uint32_t *bytes)
{
	*bytes = 0;
	for (uint32_t i = 0; i < all->n; i++) {
		if (all->list[i].offset < *bytes || !all->list[i].size)
			return false;
		*bytes = all->list[i].offset + all->list[i].size;
	}
	return *bytes <= NVS_MAX_PARAMETERS;
}

/* Takes over the memory of ALL. */
static int add_layout(struct nvs_parameter_layouts *l, const char *name, size_t length,
		      struct list *all)
{
	uint64_t key = nvs_hash64(name, length);
	struct nvs_parameter_layout *row = NULL;
	uint32_t bytes;

	if (all->n)
		qsort(all->list, all->n, sizeof(*all->list), compare_offsets);
	if (is_sound(all, &bytes)) {
		if (!l->rows.size)
			l->rows = NVS_ROWS(struct nvs_parameter_layout, key);
		row = nvs_rows_find(&l->rows, &key);
		if (row && (row->n != all->n ||
			    (all->n && memcmp(row->list, all->list, all->n * sizeof(*all->list)))))
			row->several = true;
		if (!row && nvs_budget_allows(sizeof(*row) + length)) {
			row = nvs_rows_at(&l->rows, &key);
			if (row)
				row->name = strndup(name, length);
			if (!row || !row->name) {
				free(all->list);
				return -ENOMEM;
			}
			row->list = all->list;
			row->n = all->n;
			row->bytes = bytes;
			return 0;
		}
	}
	free(all->list);
	return 0;
}

/* ---- cubins ---- */

static int add_function(struct nvs_parameter_layouts *l, const struct nvs_cubin *cubin,
			const struct nvs_cubin_function *f)
{
	struct nvs_kernel_parameter one, *p;
	struct list all = {NULL, 0, 0};
	struct nvs_parameter_reader reader;

	nvs_kernel_parameters_begin(&reader, cubin, f);
	while (nvs_kernel_parameters_next(&reader, &one)) {
		p = NVS_APPEND(all.list, all.n, all.room, 8, NVS_KERNEL_PARAMETERS);
		if (!p) {
			free(all.list);
			return all.n < NVS_KERNEL_PARAMETERS ? -ENOMEM : 0;
		}
		*p = one;
	}
	return add_layout(l, f->name, strlen(f->name), &all);
}

int nvs_parameter_layouts_cubin(struct nvs_parameter_layouts *l, const void *data, size_t size)
{
	struct nvs_cubin_functions all = {0};
	struct nvs_cubin cubin;
	int r = nvs_cubin_open(&cubin, data, size);

	if (!r)
		r = nvs_cubin_functions(&cubin, &nvs_sass_heap, &all);
	for (uint32_t i = 0; i < all.n && !r; i++)
		if (all.function[i].kernel)
			r = add_function(l, &cubin, all.function + i);
	nvs_cubin_functions_free(&all, &nvs_sass_heap);
	return r == -ENOMEM ? r : 0;
}

/* ---- PTX ---- */

struct text {
	const char *at, *end;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* Skips white space and comments. */
static void skip_blank(struct text *t)
{
	while (t->at < t->end) {
		const char *from = t->at;

		if (isspace((unsigned char)*t->at))
			t->at++;
		else if (t->end - t->at > 1 && !memcmp(t->at, "//", 2))
			t->at = memchr(t->at, '\n', (size_t)(t->end - t->at)) ?: t->end;
		else if (t->end - t->at > 1 && !memcmp(t->at, "/*", 2))
			t->at = memmem(t->at, (size_t)(t->end - t->at), "*/", 2) ?: t->end - 2;
		if (t->at == from)
			return;
		if (t->end - t->at > 1 && !memcmp(t->at, "*/", 2))
			t->at += 2;
	}
}

/* Takes the next token: a word, with a leading dot if it has one, or one other character. */
static bool next_token(struct text *t, struct text *token)
{
	skip_blank(t);
	if (t->at == t->end)
		return false;
	token->at = t->at++;
	if (*token->at == '.' || is_word(*token->at))
		while (t->at < t->end && is_word(*t->at))
			t->at++;
	token->end = t->at;
	return true;
}

static bool is_token(const struct text *t, const char *s)
{
	return (size_t)(t->end - t->at) == strlen(s) && !memcmp(t->at, s, strlen(s));
}

static uint32_t number_of(const struct text *t)
{
	uint32_t n = 0;

	for (const char *p = t->at; p < t->end && isdigit((unsigned char)*p); p++)
		n = n < NVS_MAX_PARAMETERS ? n * 10 + (uint32_t)(*p - '0') : n;
	return n;
}

/* Bytes of .b8, .u64, .f32 ...; 0: not a type */
static uint32_t size_of(const struct text *t)
{
	struct text digits = {t->at + 2, t->end};

	return t->end - t->at > 2 && t->at[0] == '.' && strchr("busf", t->at[1]) &&
			       isdigit((unsigned char)t->at[2])
		       ? number_of(&digits) / 8
		       : 0;
}

/* One parameter: ".param .align 8 .b8 name[24]", up to a comma or the closing bracket. */
static bool read_parameter(struct text *t, uint32_t *end, struct nvs_kernel_parameter *p)
{
	uint32_t size = 0, align = 0, count = 1;
	bool pointer = false;
	struct text token;

	while (next_token(t, &token)) {
		if (is_token(&token, ",") || is_token(&token, ")"))
			break;
		if (is_token(&token, ".ptr"))
			pointer = true; /* an .align after it is that of the memory */
		else if (is_token(&token, ".align") && next_token(t, &token))
			align = pointer ? align : number_of(&token);
		else if (is_token(&token, "[") && next_token(t, &token))
			count = number_of(&token);
		else if (!size)
			size = size_of(&token);
	}
	if (!size || !count || size > 16 || count > NVS_MAX_PARAMETERS)
		return false;
	align = align ? align : size;
	if (align & (align - 1) || align > NVS_MAX_PARAMETERS)
		return false;
	p->offset = (*end + align - 1) & ~(align - 1);
	p->size = size * count;
	*end = p->offset + p->size;
	t->at = token.at; /* the comma or the bracket */
	return *end <= NVS_MAX_PARAMETERS;
}

static int add_entry(struct nvs_parameter_layouts *l, struct text *t)
{
	struct text name, token;
	struct list all = {NULL, 0, 0};
	uint32_t end = 0;

	if (!next_token(t, &name))
		return 0;
	if (!next_token(t, &token) || !is_token(&token, "("))
		return add_layout(l, name.at, (size_t)(name.end - name.at), &all);
	while (next_token(t, &token) && !is_token(&token, ")")) {
		struct nvs_kernel_parameter *p;

		if (is_token(&token, ","))
			continue;
		p = NVS_APPEND(all.list, all.n, all.room, 8, NVS_KERNEL_PARAMETERS);
		if (p)
			*p = (struct nvs_kernel_parameter){.number = all.n - 1};
		if (!p || !read_parameter(t, &end, p)) {
			free(all.list);
			return p || all.n == NVS_KERNEL_PARAMETERS ? 0 : -ENOMEM;
		}
	}
	return add_layout(l, name.at, (size_t)(name.end - name.at), &all);
}

int nvs_parameter_layouts_ptx(struct nvs_parameter_layouts *l, const char *text, size_t size)
{
	struct text t = {text, text + size};
	int r = 0;

	while (!r && (t.at = memmem(t.at, (size_t)(t.end - t.at), ".entry", 6))) {
		t.at += 6;
		r = add_entry(l, &t);
	}
	return r;
}

/* ---- records ---- */

static int add_cubin(void *arg, const void *data, size_t size)
{
	return nvs_parameter_layouts_cubin(arg, data, size);
}

static int add_ptx(void *arg, const char *text, size_t size)
{
	return nvs_parameter_layouts_ptx(arg, text, size);
}

int nvs_parameter_layouts_record(struct nvs_parameter_layouts *l, const struct nvs_rec *rec)
{
	const struct nvs_image_code to = {.cubin = add_cubin, .ptx = add_ptx, .arg = l};
	const struct nvs_trace_image *image;

	if (rec->type != NVS_REC_IMAGE)
		return 0;
	if (!l->images)
		l->images = nvs_images_new();
	if (!l->images)
		return -ENOMEM;
	nvs_images_record(l->images, rec, &image);
	return image ? nvs_image_code_each(image, &to) : 0;
}

const struct nvs_parameter_layout *nvs_parameter_layouts_find(const struct nvs_parameter_layouts *l,
							      const char *kernel)
{
	uint64_t key = nvs_hash64(kernel, strlen(kernel));
	const struct nvs_parameter_layout *row = l->rows.size ? nvs_rows_find(&l->rows, &key)
							      : NULL;

	return row && !row->several && !strcmp(row->name, kernel) ? row : NULL;
}

static void free_row(void *row)
{
	free(((struct nvs_parameter_layout *)row)->name);
	free(((struct nvs_parameter_layout *)row)->list);
}

void nvs_parameter_layouts_free(struct nvs_parameter_layouts *l)
{
	nvs_rows_free(&l->rows, free_row);
	nvs_images_free(l->images);
	l->images = NULL;
}
