/* SPDX-License-Identifier: MIT */
/* The code of a launch's kernel, for --reproduce: the image of its module, or else the only one
 * that has the kernel; and what in the code cannot be reproduced. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/analysis/image_code.h"
#include "decode/analysis/parameter_layouts.h"
#include "decode/calls/images.h"
#include "decode/calls/pass.h"
#include "decode/export/reproduce/launch.h"
#include "sass/sass.h"

struct code_search {
	struct nvs_launch_facts *f;
	struct nvs_images *images;
	const struct nvs_trace_image *image; /* the current one */
	uint32_t wanted; /* number of the image of the module; NVS_NONE: not loaded yet */
	uint32_t number; /* of the code that was kept */
	bool several; /* other code, in other images, has the kernel too */
	bool failed; /* memory was short */
};

/* Takes the code if it has the kernel. */
static int consider(struct code_search *c, const void *data, size_t size, bool ptx)
{
	struct nvs_parameter_layouts layouts = {.images = NULL};
	const struct nvs_parameter_layout *layout;
	struct nvs_launch_facts *f = c->f;
	int r = ptx ? nvs_parameter_layouts_ptx(&layouts, data, size)
		    : nvs_parameter_layouts_cubin(&layouts, data, size);

	layout = r ? NULL : nvs_parameter_layouts_find(&layouts, f->kernel);
	if (layout && f->code && f->code_size == size && !memcmp(f->code, data, size)) {
		c->number = c->image->image == c->wanted ? c->wanted : c->number;
	} else if (layout && f->code && c->image->image != c->wanted) {
		c->several = true;
	} else if (layout) {
		free(f->code);
		free(f->layout);
		f->code = malloc(size);
		f->layout = calloc(layout->n + 1ul, sizeof(*f->layout));
		if (f->code && f->layout) {
			memcpy(f->code, data, size);
			memcpy(f->layout, layout->list, layout->n * sizeof(*f->layout));
		} else {
			r = -ENOMEM;
		}
		f->code_size = size;
		f->ptx = ptx;
		f->nlayout = layout->n;
		f->layout_bytes = layout->bytes;
		c->number = c->image->image;
	}
	nvs_parameter_layouts_free(&layouts);
	return r;
}

static int on_cubin(void *arg, const void *data, size_t size)
{
	return consider(arg, data, size, false);
}

static int on_ptx(void *arg, const char *text, size_t size)
{
	return consider(arg, text, size, true);
}

static int on_record(void *arg, const struct nvs_rec *rec)
{
	const struct nvs_rec_image *head = (const void *)rec;
	struct code_search *c = arg;
	const struct nvs_image_code to = {
		.arch = nvs_arch_of_class(c->f->cls), .cubin = on_cubin, .ptx = on_ptx, .arg = c};

	if (rec->type != NVS_REC_IMAGE)
		return 0;
	if (rec->flags & NVS_IMAGE_LOAD && c->f->module && head->handle == c->f->module)
		c->wanted = head->image;
	nvs_images_record(c->images, rec, &c->image);
	return c->image ? nvs_image_code_each(c->image, &to) : 0;
}

/* ---- what cannot be reproduced ---- */

/* Returns the reason, or NULL. */
static const char *judge_instruction(const struct nvs_sass_insn *insn)
{
	static const char *const textures[] = {"TEX", "TLD",  "TLD4", "TMML",	"TXD",
					       "TXQ", "SULD", "SUST", "SUATOM", "SURED"};
	const char *name = nvs_sass_insn_name(insn);

	for (size_t i = 0; name && i < sizeof(textures) / sizeof(*textures); i++)
		if (!strcmp(name, textures[i]))
			return "it uses textures or surfaces, whose contents are not in the trace";
	return NULL;
}

static bool is_tensor_map_use(const struct nvs_sass_insn *insn)
{
	const char *name = nvs_sass_insn_name(insn);

	return name && !strncmp(name, "UTMA", 4);
}

/* A tensor map is a parameter of 128 bytes, or in memory. */
static bool has_resolved_map(const struct nvs_launch_facts *f)
{
	uint64_t value;

	for (uint32_t i = 0; i < f->nlayout; i++)
		for (uint32_t at = 0; f->layout[i].size >= 128 && at + 8 <= f->layout[i].size;
		     at += 8) {
			memcpy(&value, f->params + f->layout[i].offset + at, 8);
			if (nvs_launch_facts_range(f, value))
				return true;
		}
	return false;
}

static const char *judge_code(const struct nvs_launch_facts *f, const struct nvs_cubin *cubin,
			      const struct nvs_cubin_function *k)
{
	enum nvs_sass_form form = nvs_sass_form(cubin->arch);
	size_t n = nvs_sass_code_count(k->code, k->size, form);
	struct nvs_sass_insn insn;
	const char *why = NULL;
	bool maps = false;

	for (size_t i = 0; i < n && !why; i++) {
		if (!nvs_sass_insn(form, k->code, k->size, i, &insn))
			break;
		why = judge_instruction(&insn);
		maps |= is_tensor_map_use(&insn);
	}
	if (!why && maps && !has_resolved_map(f))
		why = "it uses tensor maps, whose addresses are in no allocation of the trace";
	return why;
}

static bool launches_kernels(const struct nvs_cubin *cubin)
{
	struct nvs_cubin_symbol symbol;

	for (uint32_t i = 0; i < cubin->symbols; i++)
		if (nvs_cubin_symbol(cubin, i, &symbol) &&
		    (strstr(symbol.name, "cudaGetParameterBuffer") ||
		     strstr(symbol.name, "cudaLaunchDevice")))
			return true;
	return false;
}

static bool has_cluster(const struct nvs_cubin *cubin, const struct nvs_cubin_function *k)
{
	struct nvs_cubin_section info;
	struct nvs_cubin_attribute a;
	size_t at = 0;

	if (!k->info || !nvs_cubin_section(cubin, k->info, &info))
		return false;
	while (nvs_cubin_attribute(&info, &at, &a))
		if (a.code == NVS_ATTR_CTA_PER_CLUSTER)
			return true;
	return false;
}

static int judge_cubin(struct nvs_launch_facts *f, const char **why)
{
	struct nvs_cubin_functions all = {0};
	struct nvs_cubin cubin;
	int r = nvs_cubin_open(&cubin, f->code, f->code_size);

	if (!r)
		r = nvs_cubin_functions(&cubin, &nvs_sass_heap, &all);
	for (uint32_t i = 0; i < all.n && !r && !*why; i++)
		if (all.function[i].kernel && !strcmp(all.function[i].name, f->kernel)) {
			*why = judge_code(f, &cubin, all.function + i);
			f->by_cluster = has_cluster(&cubin, all.function + i);
		}
	if (!r && !*why && launches_kernels(&cubin))
		*why = "its code launches kernels from the GPU";
	nvs_cubin_functions_free(&all, &nvs_sass_heap);
	return r;
}

int nvs_launch_facts_read_code(struct nvs_launch_facts *f, const char **why)
{
	struct code_search c = {.f = f, .wanted = NVS_NONE, .number = NVS_NONE};
	const struct nvs_pass_reader reader = {.record = on_record, .arg = &c};
	int r;

	*why = NULL;
	c.images = nvs_images_new();
	r = c.images ? nvs_source_read(f->source, &reader) : -ENOMEM;
	nvs_source_read_end(f->source);
	nvs_images_free(c.images);
	if (r)
		return r;
	if (!f->code)
		*why = "the trace does not have its code: record with nvsnoop --snapshot or "
		       "--code=on";
	else if (c.several && c.number != c.wanted)
		*why = "several images of the trace have a kernel of its name, and which of them "
		       "was launched is unknown";
	else if (f->layout_bytes > f->nparams)
		*why = "the trace has fewer parameters than its code";
	else if (!f->ptx)
		r = judge_cubin(f, why);
	return r;
}
