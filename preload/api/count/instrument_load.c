/* SPDX-License-Identifier: MIT */
/*
 * count=: code is about to be loaded. What the driver would take of it for this GPU is rewritten so
 * that it counts, and handed to the driver in place of the program's own. Whatever cannot be done
 * leaves the program's as it is, and the reason goes into the trace. One file, though a long one:
 * it is the way of one load, from before the call to behind it.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include "preload/api/count/counter_reading.h"
#include "preload/api/images/image.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "sass/count.h"
#include "sass/sass.h"
#include "trap/buffer/calls.h"
#include "trap/low/guard.h"
#include "trap/low/sys.h"

#define LINK_PTX 1 /* CU_JIT_INPUT_PTX */
#define MAX_TEMPLATES 8
#define KEPT 4096 /* images that counts; more are never given back */

/* One load, from before the call to behind it. */
struct load {
	uint64_t program; /* the argument that was the program's own */
	void *image; /* in its place: that of COUNTED */
	size_t size;
	int fd; /* of a file in its place, -1: none */
	char path[32];
	uint64_t counters; /* on the GPU */
	const char *why; /* it is the program's own that is loaded */
	struct nvs_image refused; /* machine code whose kernels are named with WHY */
	struct nvs_counted counted;
	/* What is held meanwhile */
	void *file, *unpacked, *assembled;
	uint64_t file_size;
	size_t unpacked_size, assembled_size;
};

/* Images of ours, by the handle of what was made of them. */
static struct {
	_Atomic uint64_t handle;
	void *image;
	size_t size;
} kept[KEPT];

/* What counting is made of, as the driver's assembler writes it: for each architecture once. */
static struct {
	_Atomic uint32_t arch;
	struct nvs_count_words words;
} templates[MAX_TEMPLATES];

static void *get(void *arg, size_t size)
{
	return nvs_alloc(size);
}

static void put(void *arg, void *p, size_t size)
{
	nvs_free(p, size);
}

static const struct nvs_sass_memory memory = {.get = get, .put = put};

/* ---- the program's code ---- */

static bool by_name(const struct nvs_api *api)
{
	return api->after == nvs_api_after_load_file;
}

static bool as_library(const struct nvs_api *api)
{
	return api->before == nvs_api_before_load_library;
}

/* The machine code that DATA's PTX becomes here. */
static bool assemble(const void *data, size_t size, void **out, size_t *out_size)
{
	int (*create)(unsigned, void *, void *, uint64_t *) = nvs_api_driver("cuLinkCreate_v2");
	int (*add)(uint64_t, int, const void *, size_t, const char *, unsigned, void *,
		   void *) = nvs_api_driver("cuLinkAddData_v2");
	int (*complete)(uint64_t, const void **, size_t *) = nvs_api_driver("cuLinkComplete");
	int (*destroy)(uint64_t) = nvs_api_driver("cuLinkDestroy");
	const void *cubin = NULL;
	uint64_t state;

	*out = NULL;
	if (!create || !add || !complete || !destroy || create(0, NULL, NULL, &state))
		return false;
	if (!add(state, LINK_PTX, data, size, "", 0, NULL, NULL) &&
	    !complete(state, &cubin, out_size) && cubin)
		*out = nvs_alloc(*out_size);
	if (*out)
		memcpy(*out, cubin, *out_size);
	destroy(state);
	return *out != NULL;
}

/* By the driver: with the zero that ends it. */
static const char *assemble_image(struct load *l, const struct nvs_image *ptx)
{
	bool ended = ptx->size && !ptx->data[ptx->size - 1];
	char *copy = ended ? NULL : nvs_alloc(ptx->size + 1);
	bool done;

	if (copy)
		memcpy(copy, ptx->data, ptx->size);
	done = (ended || copy) && assemble(copy ? copy : (const void *)ptx->data,
					   ptx->size + !ended, &l->assembled, &l->assembled_size);
	nvs_free(copy, ptx->size + 1);
	return done ? NULL : "the driver did not assemble its PTX ahead of the load";
}

static const char *unpack(struct load *l, const struct nvs_fatbin_entry *e)
{
	l->unpacked_size = e->unpacked;
	return nvs_fatbin_unpack(e, &memory, &l->unpacked)
		       ? "it is packed in a way that is not known"
		       : NULL;
}

/* The cubin that the driver would take. ASSEMBLE: also what it would make of PTX, by a context. */
static const char *choose(struct load *l, const struct nvs_image *image, uint32_t arch,
			  bool assemble_ptx, struct nvs_image *cubin)
{
	struct nvs_image ptx = *image;
	const char *why = NULL;

	*cubin = *image;
	if (image->kind == NVS_IMAGE_FATBIN) {
		struct nvs_fatbin_entry e, text;

		if (!nvs_fatbin_choose(image->data, image->size, arch, &e, &text)) {
			why = unpack(l, &e);
			*cubin = (struct nvs_image){NVS_IMAGE_CUBIN, l->unpacked, e.unpacked};
			return why;
		}
		if (!text.header)
			return "it has no code for this GPU";
		why = unpack(l, &text);
		ptx = (struct nvs_image){NVS_IMAGE_PTX, l->unpacked, text.unpacked};
	}
	if (image->kind == NVS_IMAGE_CUBIN || why)
		return why;
	if (ptx.kind != NVS_IMAGE_PTX)
		return "it is no code of a kind that is known";
	if (!assemble_ptx)
		return "it is PTX, which the driver assembles later";
	why = assemble_image(l, &ptx);
	*cubin = (struct nvs_image){NVS_IMAGE_CUBIN, l->assembled, l->assembled_size};
	return why;
}

/* ---- counting in it ---- */

/* What counts is cut from what the driver's assembler makes, so that it is right for any GPU. */
static const char *cut(uint32_t arch, struct nvs_count_words *words)
{
	char *ptx = nvs_alloc(NVS_COUNT_PTX);
	size_t size = ptx ? nvs_count_ptx(arch, ptx, NVS_COUNT_PTX) : 0, made_size;
	const char *why = "how to count on such a GPU is not known", *missing;
	void *made = NULL;

	if (size && !assemble(ptx, size, &made, &made_size))
		why = "the driver's assembler is not to be had";
	else if (size && !nvs_count_words(made, made_size, words, &missing))
		why = NULL;
	if (made)
		nvs_free(made, made_size);
	nvs_free(ptx, NVS_COUNT_PTX);
	return why;
}

/* Under the lock; *WORDS stays. */
static const char *words_of(uint32_t arch, const struct nvs_count_words **words)
{
	const char *why = "there are too many kinds of GPUs";

	for (uint32_t i = 0; i < MAX_TEMPLATES; i++) {
		if (!templates[i].arch) {
			why = cut(arch, &templates[i].words);
			if (why)
				return why;
			templates[i].arch = arch;
		}
		if (templates[i].arch != arch)
			continue;
		*words = &templates[i].words;
		return NULL;
	}
	return why;
}

/* Where the kernels' counters lie. */
struct handing {
	uint64_t next;
};

static bool wanted(const char *kernel)
{
	const char *glob = nvs_options()->values.count_kernels;

	return !*glob || !fnmatch(glob, kernel, 0);
}

static uint64_t hand_out(void *arg, const char *kernel)
{
	struct handing *h = arg;
	uint64_t at = h->next;

	if (!wanted(kernel))
		return 0;
	h->next += NVS_COUNT_BYTES;
	return at;
}

/* Of how many kernels counters are needed. */
static uint32_t count_kernels(const struct nvs_image *image)
{
	struct nvs_cubin_functions f;
	struct nvs_cubin cubin;
	uint32_t n = 0;

	if (nvs_cubin_open(&cubin, image->data, image->size) ||
	    nvs_cubin_functions(&cubin, &memory, &f))
		return 0;
	for (uint32_t i = 0; i < f.n; i++)
		n += f.function[i].kernel && wanted(f.function[i].name);
	nvs_cubin_functions_free(&f, &memory);
	return n;
}

/* The GPU that it is loaded for; a library may be for all of them. *ARCH 0: not known. */
static const char *find_arch(struct nvs_counting *c, bool library, uint32_t *arch)
{
	int device = -1, n = 0;
	bool current = !c->driver.get_device(&device);

	*arch = 0;
	if (c->driver.device_count(&n))
		return "the driver does not tell its GPUs";
	for (int i = 0; i < n; i++) {
		uint32_t own = i == device || library ? nvs_code_arch(i) : 0;

		if (!own)
			continue;
		if (*arch && own && own != *arch) {
			*arch = 0;
			return "the GPUs that it is loaded for are of several kinds";
		}
		*arch = own ? own : *arch;
	}
	/* CUDA_MODULE_LOADING=EAGER has the runtime load a program's code that early. */
	if (!current)
		return "it was loaded before there was a context; "
		       "CUDA_MODULE_LOADING=LAZY loads it later";
	return *arch ? NULL : "the driver does not tell its GPUs";
}

static const char *rewrite(struct nvs_counting *c, struct load *l, const struct nvs_image *cubin,
			   uint32_t arch, bool library)
{
	const struct nvs_option_values *v = &nvs_options()->values;
	uint32_t kernels = count_kernels(cubin);
	const struct nvs_count_words *words = NULL;
	struct handing handing;
	struct nvs_count_options o = {
		.warps = v->count & NVS_COUNT_WARP,
		.threads = v->count & NVS_COUNT_THREAD,
		.skip_off = v->count_pred_on,
		.from = v->count_first,
		.to = v->count_end,
		.counters = hand_out,
		.arg = &handing,
	};
	const char *why;

	if (!kernels)
		return "no kernel in it is to be counted";
	if (!nvs_counting_lock(c))
		return "other code was being loaded meanwhile";
	why = words_of(arch, &words);
	handing.next = why ? 0 : nvs_counting_room(c, (uint64_t)kernels * NVS_COUNT_BYTES, &why);
	if (handing.next && library && c->apart)
		why = "a GPU cannot reach another one's memory";
	nvs_counting_unlock(c);
	if (why)
		return why;
	if (nvs_count_rewrite(cubin->data, cubin->size, words, &o, &memory, &l->counted))
		return "its code is not understood";
	/* Who counts is told even where none of them does. */
	l->image = l->counted.cubin;
	l->size = l->counted.size;
	return l->image ? NULL : "none of its kernels can count";
}

/* What is put there instead of a file: the driver opens it by its name. A sandbox need not know the
 * call. */
static bool as_file(struct load *l)
{
	size_t done = 0;
	long n = 1;

	if (nvs_session_confined() || nvs_sys_over_limit(l->size))
		return false;
	l->fd = (int)nvs_sys(SYS_memfd_create, (long)"nvsnoop", MFD_CLOEXEC, 0, 0, 0, 0);
	while (l->fd >= 0 && done < l->size && n > 0) {
		n = nvs_sys_write(l->fd, (char *)l->image + done, l->size - done);
		done += n > 0 ? (size_t)n : 0;
	}
	snprintf(l->path, sizeof(l->path), "/proc/self/fd/%d", l->fd);
	return l->fd >= 0 && done == l->size;
}

static const char *prepare(struct nvs_counting *c, struct load *l, const struct nvs_api *api)
{
	bool library = as_library(api);
	struct nvs_image image, cubin;
	const char *why, *early;
	uint32_t arch;

	if (!c->able)
		return "this driver is too old to count in";
	early = find_arch(c, library, &arch);
	if (early && !arch)
		return early;
	if (by_name(api)) {
		l->file = nvs_code_file((const char *)l->program, &l->file_size);
		if (!l->file)
			return "its file cannot be read";
		if (nvs_image_of(l->file, l->file_size, &image))
			return "it is no code of a kind that is known";
	} else if (nvs_image_at((const void *)l->program, &image)) {
		return "it is no code of a kind that is known";
	}
	why = choose(l, &image, arch, !early, &cubin);
	if (early) {
		l->refused = why ? (struct nvs_image){0} : cubin;
		return early;
	}
	if (!why)
		why = rewrite(c, l, &cubin, arch, library);
	if (!why && by_name(api) && !as_file(l))
		why = "its file cannot be replaced";
	return why;
}

/* ---- the call ---- */

/* What a call has (output, image or file's name, ...). */
void nvs_api_before_load(struct nvs_api_frame *f)
{
	const struct nvs_option_values *v = &nvs_options()->values;
	struct nvs_counting *c;
	struct load *l;
	int saved = errno, mode;
	uint32_t word;

	if (__builtin_expect(!v->count, 1) || nvs_calls.quiet || !f->regs[1] ||
	    nvs_copy_guarded(&word, (const void *)f->regs[1], 1))
		return;
	c = nvs_counting_start();
	l = c ? nvs_alloc(sizeof(*l)) : NULL;
	if (!l)
		return;
	l->program = f->regs[1];
	l->fd = -1;
	nvs_counting_enter(c, &mode);
	l->why = prepare(c, l, nvs_api_slots[f->index].api);
	nvs_counting_leave(c, mode);
	if (!l->why)
		f->regs[1] = l->fd >= 0 ? (uintptr_t)l->path : (uintptr_t)l->image;
	f->token = (uintptr_t)l;
	errno = saved;
}

void nvs_api_before_load_library(struct nvs_api_frame *f)
{
	nvs_api_before_load(f);
}

void nvs_load_tell(struct nvs_counting *c)
{
	struct nvs_counter_untold *all = atomic_exchange(&c->untold, NULL), *in_order = NULL, *next;

	for (; all; all = next) {
		next = all->next;
		all->next = in_order;
		in_order = all;
	}
	for (; in_order; in_order = next) {
		next = in_order->next;
		nvs_record(&in_order->rec.rec);
		nvs_free(in_order,
			 offsetof(struct nvs_counter_untold, rec) + in_order->rec.rec.size);
	}
}

/* One of its kernels, K; or what is true of all of it. */
static void tell(struct nvs_counting *c, uint32_t number, const struct nvs_counted_kernel *k,
		 const char *why)
{
	const struct nvs_option_values *v = &nvs_options()->values;
	const char *name = k ? k->name : "";
	uint32_t length = (uint32_t)strlen(name), reason = why ? (uint32_t)strlen(why) : 0;
	uint32_t size = (uint32_t)(sizeof(struct nvs_rec_counter) + length + reason + 7) & ~7u;
	struct nvs_counter_untold *untold =
		nvs_alloc(offsetof(struct nvs_counter_untold, rec) + size);
	struct nvs_rec_counter *rec = untold ? &untold->rec : NULL;

	if (!rec)
		return;
	rec->rec.type = NVS_REC_COUNTER;
	rec->rec.size = size;
	rec->rec.flags = (uint16_t)((why ? 0 : v->count) |
				    (v->count_pred_on ? NVS_COUNT_PRED_ON : 0) |
				    (k && k->calls_out ? NVS_COUNT_CALLS_OUT : 0));
	rec->counter = number;
	rec->instructions = k ? k->instructions - k->filler : NVS_NONE;
	rec->first = v->count_first;
	rec->end = v->count_end;
	rec->registers[0] = k ? k->registers[0] : NVS_NONE;
	rec->registers[1] = k ? k->registers[1] : NVS_NONE;
	rec->length = length;
	rec->reason_length = reason;
	memcpy(rec->text, name, length);
	memcpy(rec->text + length, why ? why : "", reason);
	untold->next = atomic_load(&c->untold);
	while (!atomic_compare_exchange_weak(&c->untold, &untold->next, untold))
		;
	if (nvs_session_active())
		nvs_load_tell(c);
}

/* Each kernel of an image that was left as it is, with the reason. False: none is known. */
static bool tell_refused(struct nvs_counting *c, const struct load *l)
{
	struct nvs_cubin_functions f;
	struct nvs_cubin cubin;
	bool any = false;

	if (!l->refused.data || nvs_cubin_open(&cubin, l->refused.data, l->refused.size) ||
	    nvs_cubin_functions(&cubin, &memory, &f))
		return false;
	for (uint32_t i = 0; i < f.n && nvs_counting_lock(c); i++) {
		const struct nvs_counted_kernel k = {
			.name = f.function[i].name,
			.instructions = (uint32_t)nvs_sass_code_count(
				f.function[i].code, f.function[i].size, nvs_sass_form(cubin.arch)),
			.registers = {(uint16_t)f.function[i].registers,
				      (uint16_t)f.function[i].registers},
		};
		struct nvs_kernel_counter *counter = f.function[i].kernel && wanted(k.name)
							     ? nvs_counting_add(c, k.name, 0)
							     : NULL;

		if (counter)
			tell(c, counter->number, &k, l->why);
		any |= counter != NULL;
		nvs_counting_unlock(c);
	}
	nvs_cubin_functions_free(&f, &memory);
	return any;
}

/* The driver has taken it. */
static void enlist(struct nvs_counting *c, const struct load *l)
{
	if (l->why && !l->counted.n && !tell_refused(c, l))
		tell(c, NVS_NONE, NULL, l->why);
	if (!nvs_counting_lock(c))
		return;
	for (uint32_t i = 0; i < l->counted.n; i++) {
		const struct nvs_counted_kernel *k = &l->counted.kernel[i];
		const char *why = k->counters ? l->why : k->why;
		struct nvs_kernel_counter *counter;

		if (!k->counters && !k->why)
			continue;
		counter = nvs_counting_add(c, k->name, why ? 0 : k->counters);
		if (counter)
			tell(c, counter->number, k, why);
	}
	nvs_counting_unlock(c);
}

/* The driver may go on reading it for as long as what it made of it is there. */
static void keep(struct load *l, uint64_t handle)
{
	for (uint32_t i = 0; i < KEPT; i++) {
		uint32_t k = (uint32_t)((handle >> 4) + i) % KEPT;
		uint64_t none = 0;

		if (!atomic_compare_exchange_strong(&kept[k].handle, &none, handle))
			continue;
		kept[k].image = l->image;
		kept[k].size = l->counted.cubin_bytes;
		break;
	}
	l->counted.cubin = NULL;
}

void nvs_load_forget(uint64_t handle)
{
	for (uint32_t i = 0; handle && i < KEPT; i++) {
		uint64_t own = handle;
		void *image = kept[i].image;

		if (atomic_load_explicit(&kept[i].handle, memory_order_relaxed) != handle)
			continue;
		kept[i].image = NULL;
		if (atomic_compare_exchange_strong(&kept[i].handle, &own, 0))
			nvs_free(image, kept[i].size);
		return;
	}
}

static void drop(struct load *l)
{
	nvs_counted_free(&l->counted, &memory);
	nvs_free(l->file, l->file_size + 1);
	nvs_free(l->unpacked, l->unpacked_size);
	nvs_free(l->assembled, l->assembled_size);
	if (l->fd >= 0)
		nvs_sys_close(l->fd);
	nvs_free(l, sizeof(*l));
}

typedef uint64_t any_call(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			  uint64_t);

void nvs_load_done(struct nvs_api_frame *f)
{
	const struct nvs_api_slot *slot = &nvs_api_slots[f->index];
	struct load *l = (struct load *)f->token;
	struct nvs_counting *c = nvs_counting();
	int saved = errno;

	if ((slot->api->before != nvs_api_before_load && !as_library(slot->api)) || !l)
		return;
	f->token = 0;
	f->regs[1] = l->program;
	/* Whatever the driver has against it, the program's own has to have its chance. */
	if (!l->why && (uint32_t)f->result[0]) {
		any_call *call = (any_call *)slot->original;
		const uint64_t *r = f->regs, *s = f->stack;
		bool two = slot->api->words > 1;

		l->why = "the driver did not take it with counting";
		f->result[0] = call(r[0], r[1], r[2], r[3], r[4], r[5], two ? s[0] : 0,
				    two ? s[1] : 0);
	}
	if (c && !(uint32_t)f->result[0]) {
		enlist(c, l);
		if (!l->why)
			keep(l, *(uint64_t *)f->regs[0]);
	}
	drop(l);
	errno = saved;
}
