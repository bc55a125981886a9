/* SPDX-License-Identifier: MIT */
/*
 * Modules. cubin.c reads binary ones; PTX text is searched for entries and their parameters. Code
 * is uploaded when an entry is first looked up. Entries named like the GPU's own programs
 * (builtin.h) really run; others get filler code, which the GPU treats as a no-op.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../gpu/builtin.h"
#include "driver.h"
#include "push.h"

#define CODE_BYTES 0x280

/* ---- PTX ---- */

static uint32_t type_size(const char *t)
{
	static const struct {
		const char *name;
		uint32_t size;
	} types[] = {{"b8", 1},	 {"u8", 1},  {"s8", 1},	 {"b16", 2}, {"u16", 2},
		     {"s16", 2}, {"f16", 2}, {"b32", 4}, {"u32", 4}, {"s32", 4},
		     {"f32", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}};

	for (uint32_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t n = strlen(types[i].name);

		if (!strncmp(t, types[i].name, n) && !isalnum((unsigned char)t[n]))
			return types[i].size;
	}
	return 0;
}

/* Parses one parameter "[.align N] .type name[ [count] ]" between AT and END. */
static bool parse_param(struct CUfunc_st *f, const char *at, const char *end)
{
	uint32_t size = 0, align = 0, count = 1;

	for (const char *p = at; p < end; p++) {
		if (*p == '.' && !strncmp(p, ".align", 6))
			align = (uint32_t)strtoul(p + 6, NULL, 0);
		else if (*p == '.' && type_size(p + 1))
			size = type_size(p + 1);
		else if (*p == '[')
			count = (uint32_t)strtoul(p + 1, NULL, 0);
	}
	if (!size || f->nparams == 64)
		return false;
	align = align ? align : size;
	f->params_bytes = (f->params_bytes + align - 1) & ~(align - 1);
	f->param_offset[f->nparams] = f->params_bytes;
	f->param_size[f->nparams++] = size * count;
	f->params_bytes += size * count;
	return f->params_bytes <= 4096;
}

static bool parse_params(struct CUfunc_st *f, const char *p)
{
	const char *close = strchr(p, ')'), *open = strpbrk(p, "({");

	if (!open || *open == '{' || !close)
		return true;
	for (p = strstr(open, ".param"); p && p < close;) {
		const char *next = strstr(p + 6, ".param");
		const char *end = next && next < close ? next : close;

		if (!parse_param(f, p + 6, end))
			return false;
		p = next;
	}
	f->params_bytes = (f->params_bytes + 7) & ~7u;
	return true;
}

struct CUfunc_st *sg_function_new(struct CUmod_st *m, const char *name, size_t n)
{
	struct CUfunc_st *f = calloc(1, sizeof(*f));

	f->module = m;
	f->name = strndup(name, n);
	f->code_bytes = CODE_BYTES;
	f->next = m->functions;
	m->functions = f;
	return f;
}

static CUresult parse(struct CUmod_st *m, const char *text)
{
	const char *p = strstr(text, ".version") ? text : NULL;

	if (!p)
		return CUDA_ERROR_INVALID_IMAGE;
	while ((p = strstr(p, ".entry"))) {
		size_t n;

		p += 6;
		p += strspn(p, " \t\r\n");
		n = strcspn(p, " \t\r\n({");
		if (!n || !parse_params(sg_function_new(m, p, n), p + n))
			return CUDA_ERROR_INVALID_IMAGE;
		p += n;
	}
	return CUDA_SUCCESS;
}

/* ---- code ---- */

static CUresult invalidate(struct sg_context *ctx, uint32_t what)
{
	struct softgpu_channel *ch = &ctx->ch[0];
	uint32_t *p = sg_channel_begin(ch, 16);

	if (!p)
		return sg_context_failed(ctx);
	p = push1(p, SUBCH_COMPUTE, 0x1698, what);
	p = sg_push_progress(ch, p, 0);
	sg_channel_submit(ch, p);
	return CUDA_SUCCESS;
}

LEVEL CUresult sg_upload_code(struct sg_context *ctx, CUdeviceptr to, const void *data,
			      uint32_t bytes)
{
	struct softgpu_channel *ch = &ctx->ch[0];
	CUresult r = invalidate(ctx, 0x1000);
	uint32_t *p = r ? NULL : sg_channel_begin(ch, push_upload_words(bytes) + 8);

	if (!p)
		return sg_context_failed(ctx);
	p = push_upload(p, to, data, bytes);
	p = sg_push_progress(ch, p, 0);
	sg_channel_submit(ch, p);
	return invalidate(ctx, 1);
}

static uint32_t program_of(const char *name)
{
	if (!strcmp(name, "softgpu_store"))
		return SG_PROGRAM_STORE;
	if (strstr(name,
		   "softgpu_spin")) /* also as part of a longer name, such as a collective's */
		return SG_PROGRAM_SPIN;
	if (strstr(name, "softgpu_fault"))
		return SG_PROGRAM_FAULT;
	return strncmp(name, "softgpu_add", 11) ? 0 : SG_PROGRAM_ADD;
}

static CUresult upload(struct CUfunc_st *f)
{
	struct sg_context *ctx = f->module->ctx;
	uint64_t code[CODE_BYTES / 8];
	const void *bytes = f->bytes ? f->bytes : (void *)code;
	struct sg_program head = {SG_PROGRAM_MAGIC, program_of(f->name), 0};
	CUresult r;

	for (uint32_t i = 0; i < CODE_BYTES / 8; i++)
		code[i] = (i + 1) * 0x9e3779b97f4a7c15ull ^
			  (uint64_t)(uint8_t)f->name[i % strlen(f->name)];
	if (head.op)
		memcpy(code, &head, sizeof(head));
	pthread_mutex_lock(&ctx->lock);
	f->code = sg_device_alloc(ctx, f->code_bytes);
	pthread_mutex_unlock(&ctx->lock);
	if (!f->code)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = sg_place_variables(f->module);
	if (r)
		return r;
	r = sg_upload_code(ctx, f->code, bytes, f->code_bytes);
	return r ? r : sg_channel_wait(&ctx->ch[0], ctx->ch[0].payload);
}

/* The driver's own kernels; their nparams is their number, parameters are passed unchanged. */
CUresult sg_builtin_load(struct sg_context *ctx)
{
	struct CUmod_st *m = calloc(1, sizeof(*m));

	m->ctx = ctx;
	for (uint32_t op = SG_PROGRAM_COPY; op <= SG_PROGRAM_FILL_2D; op++) {
		struct CUfunc_st *f = sg_function_new(m, "builtin", 7);
		uint64_t code[CODE_BYTES / 8] = {0};
		struct sg_program head = {SG_PROGRAM_MAGIC, op, 0};

		memcpy(code, &head, sizeof(head));
		f->nparams = op;
		f->uploaded = true;
		f->code = ctx->code + op * 0x1000;
		if (sg_upload_code(ctx, f->code, code, CODE_BYTES))
			return CUDA_ERROR_UNKNOWN;
	}
	ctx->builtin = m;
	return CUDA_SUCCESS;
}

void sg_module_drop(CUmodule m)
{
	while (m && m->functions) {
		struct CUfunc_st *f = m->functions;

		m->functions = f->next;
		free(f->name);
		free(f->bytes);
		free(f);
	}
	free(m);
}

/* ---- the API ---- */

CUresult sg_module_load(CUmodule *out, const void *image, struct sg_context *ctx)
{
	struct CUmod_st *m;
	CUresult r;

	if (!out || !image)
		return CUDA_ERROR_INVALID_VALUE;
	/* Real modules take milliseconds to load, for copying and linking code. */
	if (sg_option("slow-modules"))
		nanosleep(&(struct timespec){0, 20000000}, NULL);
	m = calloc(1, sizeof(*m));
	m->ctx = ctx;
	r = sg_is_cubin(image) ? sg_cubin_parse(m, image) : parse(m, image);
	if (r)
		sg_module_drop(m);
	else
		*out = m;
	return r;
}

API CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
	struct sg_context *ctx = sg_current();

	return ctx ? sg_module_load(out, image, ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

API CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned n, int *options,
				void **values)
{
	return cuModuleLoadData(out, image);
}

API CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
	struct CUfunc_st *f;
	CUresult r = CUDA_SUCCESS;

	if (!m || !name)
		return CUDA_ERROR_INVALID_VALUE;
	for (f = m->functions; f && strcmp(f->name, name); f = f->next)
		;
	if (!f)
		return CUDA_ERROR_NOT_FOUND;
	if (!f->uploaded) {
		r = upload(f);
		f->uploaded = !r;
	}
	*out = f;
	return r;
}

API CUresult cuModuleUnload(CUmodule m)
{
	CUresult r = cuCtxSynchronize();

	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&m->ctx->lock);
	for (struct CUfunc_st *f = m->functions; f; f = f->next)
		if (f->code)
			sg_device_free(m->ctx, f->code);
	pthread_mutex_unlock(&m->ctx->lock);
	sg_module_drop(m);
	return r;
}

API CUresult cuFuncGetName(const char **name, CUfunction f)
{
	*name = f->name;
	return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction f, size_t n, size_t *offset, size_t *size);
CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value);

/* Since CUDA 12.4. */
API CUresult cuFuncGetParamInfo(CUfunction f, size_t n, size_t *offset, size_t *size)
{
	if (!f || !offset || n >= f->nparams)
		return CUDA_ERROR_INVALID_VALUE;
	*offset = f->param_offset[n];
	if (size)
		*size = f->param_size[n];
	return CUDA_SUCCESS;
}

API CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value)
{
	return f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* The same numbers as in every launch's descriptor. */
API CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction f)
{
	*value = attribute == 0 ? 1024 : attribute == 4 ? 20 : 0;
	return CUDA_SUCCESS;
}
