/* SPDX-License-Identifier: MIT */
/*
 * What a stack says about its submission: the driver's entry point, the runtime's above it, and the
 * frame of the program above both.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "decode/base/hash.h"
#include "decode/trace/callsite.h"
#include "decode/trace/internal.h"

#define MAX_FRAMES 4096

/* A stack being looked at, innermost frame first. */
struct walk {
	struct nvs_trace *t;
	const struct nvs_trace_stack *stack;
	uint32_t n;
	const struct nvs_trace_module **module; /* per frame */
};

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* libcuda.so, libcuda.so.1, libcuda.so.580.159.04 */
static bool is_driver(const struct nvs_trace_module *m)
{
	return m && starts(nvs_symbols_file(m), "libcuda.so");
}

/* libcudart.so.13, libcudart-d0da41ae.so.11.0 */
static bool is_runtime(const struct nvs_trace_module *m)
{
	return m && starts(nvs_symbols_file(m), "libcudart");
}

bool nvs_module_is_between(const struct nvs_trace_module *m)
{
	return m && (is_driver(m) || is_runtime(m) || nvs_symbols_own(m) ||
		     starts(nvs_symbols_file(m), "libnvidia-"));
}

/* A return address may be the first byte of what comes next: look at the call before it. */
static uint64_t address(const struct walk *w, uint32_t frame)
{
	return w->stack->pc[frame] - (frame ? 1 : 0);
}

static const char *name_of(const struct walk *w, uint32_t frame, bool dynamic, uint64_t *offset)
{
	return nvs_symbols_lookup(w->t, w->module[frame], address(w, frame), dynamic, offset);
}

/* Index of the outermost frame in libcuda, or n. */
static uint32_t driver_frame(const struct walk *w)
{
	for (uint32_t i = w->n; i-- > 0;)
		if (is_driver(w->module[i]))
			return i;
	return w->n;
}

static bool is_cuda_name(const char *name)
{
	return name && starts(name, "cuda") && isupper((unsigned char)name[4]);
}

/* The outermost exported cuda* among the frames of a shared libcudart from FRAME on; n: none. */
static uint32_t shared_runtime(const struct walk *w, uint32_t frame, const char **name)
{
	uint32_t found = w->n;
	uint64_t offset;

	while (frame < w->n && !is_runtime(w->module[frame]))
		frame++;
	for (; frame < w->n && is_runtime(w->module[frame]); frame++) {
		const char *s = name_of(w, frame, true, &offset);

		if (!is_cuda_name(s))
			continue;
		*name = s;
		found = frame;
	}
	return found;
}

/* A static libcudart lies in the module that calls libcuda; only its symbol table can tell. */
static uint32_t static_runtime(const struct walk *w, uint32_t frame, const char **name)
{
	const struct nvs_trace_module *m = frame < w->n ? w->module[frame] : NULL;
	uint32_t found = w->n;
	uint64_t offset;

	for (; m && frame < w->n && w->module[frame] == m; frame++) {
		const char *s = name_of(w, frame, false, &offset);

		if (is_cuda_name(s)) {
			*name = s;
			found = frame;
		} else if (found < w->n) {
			break;
		}
	}
	return found;
}

/* A string of our own; it lives as long as the trace. */
struct nvs_kept {
	struct nvs_kept *next;
	char text[];
};

static __attribute__((format(printf, 2, 3))) const char *keep(struct nvs_trace *t,
							      const char *format, ...)
{
	struct nvs_kept *k = NULL;
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

/* Module and offset of a frame, as a debugger shows them: of the return address. */
static const char *place(const struct walk *w, uint32_t frame)
{
	const struct nvs_trace_module *m = w->module[frame];
	unsigned long long pc = w->stack->pc[frame];

	return m ? keep(w->t, "%s+0x%llx", nvs_symbols_file(m), pc - m->bias)
		 : keep(w->t, "0x%llx", pc);
}

/*
 * The function that called what lies below FRAME. Of the innermost module that has names an
 * exported one, since that is what its makers call it: cufftExecC2C rather than a helper of it.
 * NULL: no names at all.
 */
static const char *caller(const struct walk *w, uint32_t frame)
{
	const char *any = NULL;
	uint64_t offset;

	while (frame < w->n && !any) {
		const struct nvs_trace_module *m = w->module[frame];

		for (; frame < w->n && w->module[frame] == m; frame++) {
			const char *exported = name_of(w, frame, true, &offset);

			if (exported)
				return nvs_written_name(w->t, exported);
			if (!any)
				any = name_of(w, frame, false, &offset);
		}
	}
	return any ? nvs_written_name(w->t, any) : NULL;
}

/*
 * What submitted without an entry point of libcuda. Inside libcuda, whose functions have no names
 * (they are called by a table of cuGetExportTable, or by a thread of its own), it is told by who
 * called; the doorbell's own address, which all submissions share, says nothing.
 */
static const char *private_name(const struct walk *w, uint32_t driver)
{
	const char *file, *name;
	uint32_t i = driver < w->n ? driver + 1 : 0;

	/* Our own frames are passed over, and below a store that is nobody's so is code of no
	 * module. */
	for (; i < w->n; i++)
		if (w->module[i] ? !nvs_symbols_own(w->module[i]) : driver < w->n)
			break;
	if (driver < w->n) {
		file = nvs_symbols_file(w->module[driver]);
		name = caller(w, i);
		if (!name && i == w->n)
			return file;
		return keep(w->t, "%s < %s", file, name ? name : place(w, i));
	}
	if (i == w->n)
		return w->n ? place(w, 0) : "[unknown]";
	name = caller(w, i);
	return name ? name : place(w, i);
}

static void find_site(const struct walk *w, uint32_t frame, struct nvs_callsite *site)
{
	uint64_t offset = 0;
	const char *name;

	while (frame < w->n && nvs_module_is_between(w->module[frame]))
		frame++;
	if (frame >= w->n)
		return;
	site->site_frame = frame;
	name = name_of(w, frame, false, &offset);
	/* The offset is that of the return address, as a debugger shows it. */
	site->site = name ? keep(w->t, "%s+0x%llx", nvs_written_name(w->t, name),
				 (unsigned long long)offset + (frame ? 1 : 0))
			  : place(w, frame);
	if (w->module[frame])
		site->site_module = nvs_symbols_file(w->module[frame]);
}

static void examine(const struct walk *w, struct nvs_callsite *site)
{
	uint32_t driver = driver_frame(w), above = driver < w->n ? driver + 1 : 0, runtime;
	const char *name = NULL;
	uint64_t offset;

	if (driver < w->n)
		name = name_of(w, driver, true, &offset);
	if (name && starts(name, "cu")) {
		site->api = name;
		site->is_public = true;
	} else {
		site->api = private_name(w, driver);
	}
	/* An observed call comes into the driver by way of our own library. */
	while (above < w->n && w->module[above] && nvs_symbols_own(w->module[above]))
		above++;
	runtime = shared_runtime(w, above, &site->runtime_api);
	if (runtime == w->n && driver < w->n)
		runtime = static_runtime(w, above, &site->runtime_api);
	find_site(w, runtime < w->n ? runtime + 1 : above, site);
}

static const struct nvs_callsite unknown = {"[unknown]", "", "", "", false, NVS_NONE};

static void make(struct nvs_trace *t, const struct nvs_trace_stack *stack,
		 struct nvs_callsite *site)
{
	struct walk w = {.t = t, .stack = stack};

	*site = unknown;
	w.n = stack->nframes < MAX_FRAMES ? stack->nframes : MAX_FRAMES;
	w.module = calloc(w.n + 1, sizeof(*w.module));
	if (!w.module)
		return;
	for (uint32_t i = 0; i < w.n; i++)
		w.module[i] = nvs_symbols_module(t, address(&w, i), stack->time);
	examine(&w, site);
	free(w.module);
}

/* What is said of a stack, and in which reading that was found: names may come after it. */
struct said {
	struct nvs_callsite site; /* first */
	uint32_t pass, names;
};

const struct nvs_callsite *nvs_trace_callsite(struct nvs_trace *t, uint32_t number)
{
	const struct nvs_trace_stack *stack = nvs_trace_stack_at(t, number);
	struct said *said = stack ? nvs_number_get(&t->callsites, number) : NULL;
	uint32_t names = nvs_named_count(t);

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
	make(t, stack, &said->site);
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

const char *nvs_trace_callsite_line(struct nvs_trace *t, uint32_t stack)
{
	const struct nvs_trace_stack *s = nvs_trace_stack_at(t, stack);
	uint32_t frame = nvs_trace_callsite(t, stack)->site_frame;
	const struct nvs_trace_module *m;
	uint64_t pc;

	if (!s || frame >= s->nframes)
		return "";
	pc = s->pc[frame] - (frame ? 1 : 0);
	m = nvs_symbols_module(t, pc, s->time);
	return m ? nvs_written_line(t, m, pc) : "";
}

void nvs_callsites_free(struct nvs_trace *t)
{
	while (t->kept) {
		struct nvs_kept *k = t->kept;

		t->kept = k->next;
		free(k);
	}
	nvs_numbers_free(&t->callsites, free);
}
