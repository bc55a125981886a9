/* SPDX-License-Identifier: MIT */
/* Libraries, which are modules that can be loaded without a context; modules from files; and the
 * linker, which returns a cubin given to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver.h"

struct CUlinkState_st {
	void *cubin;
	size_t bytes;
};

/* Adds a terminating 0. Free with free(). Returns NULL if the file is unreadable. */
static void *read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *data = NULL;
	long bytes;

	if (!file)
		return NULL;
	if (!fseek(file, 0, SEEK_END) && (bytes = ftell(file)) >= 0) {
		data = calloc(1, (size_t)bytes + 1);
		rewind(file);
		if (fread(data, 1, (size_t)bytes, file) != (size_t)bytes) {
			free(data);
			data = NULL;
		}
	}
	fclose(file);
	return data;
}

API CUresult cuModuleLoad(CUmodule *out, const char *path)
{
	void *image = path ? read_file(path) : NULL;
	CUresult r = image ? sg_module_load(out, image, sg_current()) : CUDA_ERROR_FILE_NOT_FOUND;

	free(image);
	return r;
}

API CUresult cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
	return sg_module_load(out, image, sg_current());
}

API CUresult cuLibraryLoadData(CUlibrary *out, const void *code, int *jit, void **jit_values,
			       unsigned njit, int *options, void **values, unsigned n)
{
	return sg_module_load((CUmodule *)out, code, NULL);
}

API CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path, int *jit, void **jit_values,
				   unsigned njit, int *options, void **values, unsigned n)
{
	void *image = path ? read_file(path) : NULL;
	CUresult r = image ? sg_module_load((CUmodule *)out, image, NULL)
			   : CUDA_ERROR_FILE_NOT_FOUND;

	free(image);
	return r;
}

/* Loaded into the context that first asks for it. */
API CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name)
{
	struct CUmod_st *m = (struct CUmod_st *)library;

	if (!m || !sg_current())
		return CUDA_ERROR_INVALID_VALUE;
	m->ctx = m->ctx ? m->ctx : sg_current();
	return cuModuleGetFunction((CUfunction *)out, m, name);
}

API CUresult cuLibraryUnload(CUlibrary library)
{
	struct CUmod_st *m = (struct CUmod_st *)library;

	if (m && m->ctx)
		return cuModuleUnload(m);
	sg_module_drop(m);
	return CUDA_SUCCESS;
}

API CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
	return cuFuncGetName(name, (CUfunction)kernel);
}

API CUresult cuKernelGetAttribute(int *value, int attribute, CUkernel kernel, CUdevice device)
{
	return cuFuncGetAttribute(value, attribute, (CUfunction)kernel);
}

API CUresult cuLinkCreate_v2(unsigned n, int *options, void **values, CUlinkState *out)
{
	*out = calloc(1, sizeof(**out));
	return CUDA_SUCCESS;
}

/* Replaces the PTX assembler: returns the file named in the environment. */
static CUresult assemble(CUlinkState state)
{
	const char *path = getenv("SOFTGPU_ASSEMBLED");
	FILE *in = path ? fopen(path, "rb") : NULL;
	const size_t most = 1 << 20;

	if (!in)
		return CUDA_ERROR_INVALID_IMAGE;
	state->cubin = malloc(most);
	state->bytes = fread(state->cubin, 1, most, in);
	fclose(in);
	return CUDA_SUCCESS;
}

API CUresult cuLinkAddData_v2(CUlinkState state, int type, void *data, size_t bytes,
			      const char *name, unsigned n, int *options, void **values)
{
	free(state->cubin);
	state->cubin = NULL;
	if (type == 1)
		return assemble(state);
	state->cubin = memcpy(malloc(bytes), data, bytes);
	state->bytes = bytes;
	return CUDA_SUCCESS;
}

API CUresult cuLinkComplete(CUlinkState state, void **cubin, size_t *bytes)
{
	*cubin = state->cubin;
	*bytes = state->bytes;
	return state->cubin ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API CUresult cuLinkDestroy(CUlinkState state)
{
	free(state->cubin);
	free(state);
	return CUDA_SUCCESS;
}
