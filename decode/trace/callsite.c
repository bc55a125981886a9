/* SPDX-License-Identifier: MIT */
/* Derives a submission's call site from its stack: the driver's entry point, the runtime function
 * above it, and the program's frame above both. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "decode/base/hash.h"
#include "decode/trace/callsite.h"
#include "decode/trace/internal.h"

#define MAX_FRAMES 4096

/* The stack being examined, innermost frame first. */
struct callsite_walk {
	struct nvs_trace *t;
	const struct nvs_trace_stack *stack;
	uint32_t n;
	const struct nvs_trace_module **module; /* for each frame */
};

static bool starts_with(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* libcuda.so, libcuda.so.1, libcuda.so.580.159.04 */
static bool is_driver(const struct nvs_trace_module *m)
{
	return m && starts_with(nvs_symbols_file(m), "libcuda.so");
}

/* libcudart.so.13, libcudart-d0da41ae.so.11.0 */
static bool is_runtime(const struct nvs_trace_module *m)
{
	return m && starts_with(nvs_symbols_file(m), "libcudart");
}

bool nvs_module_is_between(const struct nvs_trace_module *m)
{
	return m && (is_driver(m) || is_runtime(m) || nvs_symbols_is_own(m) ||
		     starts_with(nvs_symbols_file(m), "libnvidia-"));
}

/* A return address may be the first byte of the next function: look up the call before it. */
static uint64_t lookup_address(const struct callsite_walk *w, uint32_t frame)
{
	return w->stack->pc[frame] - (frame ? 1 : 0);
}

static const char *get_name(const struct callsite_walk *w, uint32_t frame, bool dynamic,
			    uint64_t *offset)
{
	return nvs_symbols_lookup(w->t, w->module[frame], lookup_address(w, frame), dynamic,
				  offset);
}

/* Returns the index of the outermost libcuda frame, or n. */
static uint32_t find_driver_frame(const struct callsite_walk *w)
{
	for (uint32_t i = w->n; i-- > 0;)
		if (is_driver(w->module[i]))
			return i;
	return w->n;
}

static bool is_cuda_name(const char *name)
{
	return name && starts_with(name, "cuda") && isupper((unsigned char)name[4]);
}

/* Returns the outermost exported cuda* function among the frames of a shared libcudart from FRAME
 * on, or n if there is none. */
static uint32_t find_shared_runtime(const struct callsite_walk *w, uint32_t frame,
				    const char **name)
{
	uint32_t found = w->n;
	uint64_t offset;

	while (frame < w->n && !is_runtime(w->module[frame]))
		frame++;
	for (; frame < w->n && is_runtime(w->module[frame]); frame++) {
		const char *s = get_name(w, frame, true, &offset);

		if (!is_cuda_name(s))
			continue;
		*name = s;
		found = frame;
	}
	return found;
}

/* Finds functions of a statically linked libcudart, which is in the module that calls libcuda; only
 * that module's symbol table has its names. */
static uint32_t find_static_runtime(const struct callsite_walk *w, uint32_t frame,
				    const char **name)
{
	const struct nvs_trace_module *m = frame < w->n ? w->module[frame] : NULL;
	uint32_t found = w->n;
	uint64_t offset;

	for (; m && frame < w->n && w->module[frame] == m; frame++) {
		const char *s = get_name(w, frame, false, &offset);

		if (is_cuda_name(s)) {
			*name = s;
			found = frame;
		} else if (found < w->n) {
			break;
		}
	}
	return found;
}

/* An allocated string; lives as long as the trace. */
struct nvs_kept_string {
	struct nvs_kept_string *next;
	char text[];
};

static __attribute__((format(printf, 2, 3))) const char *keep_string(struct nvs_trace *t,
								     const char *format, ...)
{
	struct nvs_kept_string *k = NULL;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (n >= 0)
		k = calloc(1, sizeof(*k) + (size_t)n + 1);
	if (!k)
		return "[out of memory]";
	va_start(ap, format);
	vsnprintf(k->text, (size_t)n + 1, format, ap);
	va_end(ap);
	k->next = t->kept;
	t->kept = k;
	return k->text;
}

/* Module and offset of the frame's return address, as debuggers print it. */
static const char *format_place(const struct callsite_walk *w, uint32_t frame)
{
	const struct nvs_trace_module *m = w->module[frame];
	unsigned long long pc = w->stack->pc[frame];

	return m ? keep_string(w->t, "%s+0x%llx", nvs_symbols_file(m), pc - m->bias)
		 : keep_string(w->t, "0x%llx", pc);
}

/*
 * Returns the function that called the frames below FRAME. In the innermost module that has names,
 * an exported function is preferred: cufftExecC2C, not its internal helper. Returns NULL if there
 * are no names.
 */
static const char *find_caller(const struct callsite_walk *w, uint32_t frame)
{
	const char *any = NULL;
	uint64_t offset;

	while (frame < w->n && !any) {
		const struct nvs_trace_module *m = w->module[frame];

		for (; frame < w->n && w->module[frame] == m; frame++) {
			const char *exported = get_name(w, frame, true, &offset);

			if (exported)
				return nvs_demangled_name(w->t, exported);
			if (!any)
				any = get_name(w, frame, false, &offset);
		}
	}
	return any ? nvs_demangled_name(w->t, any) : NULL;
}

/*
 * Names a submission that came from no public entry point of libcuda. libcuda's internal functions
 * have no names (they are called through a table of cuGetExportTable, or from its own threads), so
 * the caller's name is used; the doorbell's own address is the same for all submissions.
 */
static const char *format_private_name(const struct callsite_walk *w, uint32_t driver)
{
	const char *file, *name;
	uint32_t i = driver < w->n ? driver + 1 : 0;

	/* Skip frames of libnvsnoop and, after a driver frame, code outside of modules. */
	for (; i < w->n; i++)
		if (w->module[i] ? !nvs_symbols_is_own(w->module[i]) : driver < w->n)
			break;
	if (driver < w->n) {
		file = nvs_symbols_file(w->module[driver]);
		name = find_caller(w, i);
		if (!name && i == w->n)
			return file;
		return keep_string(w->t, "%s < %s", file, name ? name : format_place(w, i));
	}
	if (i == w->n)
		return w->n ? format_place(w, 0) : "[unknown]";
	name = find_caller(w, i);
	return name ? name : format_place(w, i);
}

static void find_site(const struct callsite_walk *w, uint32_t frame, struct nvs_callsite *site)
{
	uint64_t offset = 0;
	const char *name;

	while (frame < w->n && nvs_module_is_between(w->module[frame]))
		frame++;
	if (frame >= w->n)
		return;
	site->site_frame = frame;
	name = get_name(w, frame, false, &offset);
	/* The offset is that of the return address, as debuggers print it. */
	site->site = name ? keep_string(w->t, "%s+0x%llx", nvs_demangled_name(w->t, name),
					(unsigned long long)offset + (frame ? 1 : 0))
			  : format_place(w, frame);
	if (w->module[frame])
		site->site_module = nvs_symbols_file(w->module[frame]);
}

static void examine_stack(const struct callsite_walk *w, struct nvs_callsite *site)
{
	uint32_t driver = find_driver_frame(w), above = driver < w->n ? driver + 1 : 0, runtime;
	const char *name = NULL;
	uint64_t offset;

	if (driver < w->n)
		name = get_name(w, driver, true, &offset);
	if (name && starts_with(name, "cu")) {
		site->api = name;
		site->is_public = true;
	} else {
		site->api = format_private_name(w, driver);
	}
	/* An observed call enters the driver through libnvsnoop. */
	while (above < w->n && w->module[above] && nvs_symbols_is_own(w->module[above]))
		above++;
	runtime = find_shared_runtime(w, above, &site->runtime_api);
	if (runtime == w->n && driver < w->n)
		runtime = find_static_runtime(w, above, &site->runtime_api);
	find_site(w, runtime < w->n ? runtime + 1 : above, site);
}

static const struct nvs_callsite unknown = {"[unknown]", "", "", "", false, NVS_NONE};

static void make_callsite(struct nvs_trace *t, const struct nvs_trace_stack *stack,
			  struct nvs_callsite *site)
{
	struct callsite_walk w = {.t = t, .stack = stack};

	*site = unknown;
	w.n = stack->nframes < MAX_FRAMES ? stack->nframes : MAX_FRAMES;
	w.module = calloc(w.n + 1, sizeof(*w.module));
	if (!w.module)
		return;
	for (uint32_t i = 0; i < w.n; i++)
		w.module[i] = nvs_symbols_module(t, lookup_address(&w, i), stack->time);
	examine_stack(&w, site);
	free(w.module);
}

/* The call site of a stack, and the pass in which it was computed: names may be read later. Its
 * line is looked up when it is asked for, until it is known. */
struct said {
	struct nvs_callsite site; /* first */
	uint32_t pass, names;
	const char *line; /* NULL: not looked up yet */
	uint32_t line_names;
};

const struct nvs_callsite *nvs_trace_callsite(struct nvs_trace *t, uint32_t number)
{
	const struct nvs_trace_stack *stack = nvs_trace_stack_at(t, number);
	struct said *said = stack ? nvs_number_get(&t->callsites, number) : NULL;
	uint32_t names = (uint32_t)t->named.n;

	if (!stack)
		return &unknown;
	if (said && (said->pass == t->passes || said->names == names))
		return &said->site;
	if (!said)
		said = nvs_number_make(&t->callsites, number, sizeof(*said));
	if (!said)
		return &unknown;
	said->pass = t->passes;
	said->names = names;
	said->line = NULL;
	make_callsite(t, stack, &said->site);
	return &said->site;
}

uint64_t nvs_callsite_caller(struct nvs_trace *t, uint32_t number)
{
	const struct nvs_trace_stack *s = nvs_trace_stack_at(t, number);
	uint32_t i = s ? s->nframes : 0;

	while (i && !is_driver(nvs_symbols_module(t, s->pc[i - 1] - (i > 1 ? 1 : 0), s->time)))
		i--;
	return i ? nvs_hash64(s->pc + i, (s->nframes - i) * sizeof(*s->pc)) : 0;
}

static const char *find_line(struct nvs_trace *t, const struct nvs_trace_stack *s, uint32_t frame)
{
	const struct nvs_trace_module *m;
	uint64_t pc;

	if (frame >= s->nframes)
		return "";
	pc = s->pc[frame] - (frame ? 1 : 0);
	m = nvs_symbols_module(t, pc, s->time);
	return m ? nvs_source_line(t, m, pc) : "";
}

const char *nvs_trace_callsite_line(struct nvs_trace *t, uint32_t number)
{
	uint32_t frame = nvs_trace_callsite(t, number)->site_frame, names = (uint32_t)t->named.n;
	struct said *said = nvs_number_get(&t->callsites, number);
	const struct nvs_trace_stack *s = nvs_trace_stack_at(t, number);

	if (!s || !said)
		return "";
	/* A known address may get its line later. */
	if (!said->line || !*said->line || said->line_names != names) {
		said->line = find_line(t, s, frame);
		said->line_names = names;
	}
	return said->line;
}

void nvs_callsites_free(struct nvs_trace *t)
{
	while (t->kept) {
		struct nvs_kept_string *k = t->kept;

		t->kept = k->next;
		free(k);
	}
	nvs_numbers_free(&t->callsites, free);
}
