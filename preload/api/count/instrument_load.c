/* SPDX-License-Identifier: MIT */
/*
 * count=: instruments code before the program loads it. Rewrites the code that the driver would
 * choose for this GPU and passes it to the driver instead. If that is impossible, the program's own
 * code is loaded, and the trace gets the reason.
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
#define KEPT 4096 /* instrumented images kept; further ones are leaked */

/* One load, from before the call until after it. */
struct instrumented_load {
	uint64_t program; /* the program's own argument */
	void *image; /* replaces it; owned by COUNTED */
	size_t size;
	int fd; /* replaces a file; -1: none */
	char path[32];
	const char *why; /* reason why the program's own code is loaded; NULL: none */
	struct nvs_image refused; /* machine code whose kernels are recorded with WHY */
	struct nvs_instrumented counted;
	/* Freed after the call. */
	void *file, *unpacked, *assembled;
	uint64_t file_size;
	size_t unpacked_size, assembled_size;
};

/* Instrumented images, by the handle of the module or library made from them. */
static struct {
	_Atomic uint64_t handle;
	void *image;
	size_t size;
} kept[KEPT];

/* Instruction templates made by the driver's assembler, one per architecture. */
static struct {
	_Atomic uint32_t arch;
	struct nvs_count_words words;
} templates[MAX_TEMPLATES];

static void *alloc_memory(void *arg, size_t size)
{
	return nvs_alloc(size);
}

static void free_memory(void *arg, void *p, size_t size)
{
	nvs_free(p, size);
}

static const struct nvs_sass_memory memory = {.get = alloc_memory, .put = free_memory};

/* ---- the program's code ---- */

static bool loads_file(const struct nvs_api *api)
{
	return api->after == nvs_api_after_load_file;
}

static bool loads_library(const struct nvs_api *api)
{
	return api->before == nvs_api_before_load_library;
}

/* Compiles PTX text to machine code with the driver's linker. */
static bool link_ptx(const void *data, size_t size, void **out, size_t *out_size)
{
	int (*create)(unsigned, void *, void *,
		      uint64_t *) = nvs_api_driver_function("cuLinkCreate_v2");
	int (*add)(uint64_t, int, const void *, size_t, const char *, unsigned, void *,
		   void *) = nvs_api_driver_function("cuLinkAddData_v2");
	int (*complete)(uint64_t, const void **,
			size_t *) = nvs_api_driver_function("cuLinkComplete");
	int (*destroy)(uint64_t) = nvs_api_driver_function("cuLinkDestroy");
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

/* Appends the terminating zero that the driver needs. */
static const char *assemble_image(struct instrumented_load *l, const struct nvs_image *ptx)
{
	bool ended = ptx->size && !ptx->data[ptx->size - 1];
	char *copy = ended ? NULL : nvs_alloc(ptx->size + 1);
	bool done;

	if (copy)
		memcpy(copy, ptx->data, ptx->size);
	done = (ended || copy) && link_ptx(copy ? copy : (const void *)ptx->data,
					   ptx->size + !ended, &l->assembled, &l->assembled_size);
	nvs_free(copy, ptx->size + 1);
	return done ? NULL : "the driver could not compile its PTX before the load";
}

static const char *unpack_entry(struct instrumented_load *l, const struct nvs_fatbin_entry *e)
{
	l->unpacked_size = e->unpacked;
	return nvs_fatbin_unpack(e, &memory, &l->unpacked) ? "its compression is not supported"
							   : NULL;
}

/* Finds the cubin that the driver would choose. ASSEMBLE_PTX: PTX may be compiled too, which needs
 * a context. */
static const char *choose_cubin(struct instrumented_load *l, const struct nvs_image *image,
				uint32_t arch, bool assemble_ptx, struct nvs_image *cubin)
{
	struct nvs_image ptx = *image;
	const char *why = NULL;

	*cubin = *image;
	if (image->kind == NVS_IMAGE_FATBIN) {
		struct nvs_fatbin_entry e, text;

		if (!nvs_fatbin_choose(image->data, image->size, arch, &e, &text)) {
			why = unpack_entry(l, &e);
			*cubin = (struct nvs_image){NVS_IMAGE_CUBIN, l->unpacked, e.unpacked};
			return why;
		}
		if (!text.header)
			return "it has no code for this GPU";
		why = unpack_entry(l, &text);
		ptx = (struct nvs_image){NVS_IMAGE_PTX, l->unpacked, text.unpacked};
	}
	if (image->kind == NVS_IMAGE_CUBIN || why)
		return why;
	if (ptx.kind != NVS_IMAGE_PTX)
		return "its format is unknown";
	if (!assemble_ptx)
		return "it is PTX, which the driver compiles later";
	why = assemble_image(l, &ptx);
	*cubin = (struct nvs_image){NVS_IMAGE_CUBIN, l->assembled, l->assembled_size};
	return why;
}

/* ---- instrumentation ---- */

/* Templates are cut from the output of the driver's assembler: they are correct for any GPU. */
static const char *make_template(uint32_t arch, struct nvs_count_words *words)
{
	char *ptx = nvs_alloc(NVS_COUNT_PTX);
	size_t size = ptx ? nvs_count_ptx(arch, ptx, NVS_COUNT_PTX) : 0, made_size;
	const char *why = "counting is not supported on this GPU architecture", *missing;
	void *made = NULL;

	if (size && !link_ptx(ptx, size, &made, &made_size))
		why = "the driver's PTX compiler is not available";
	else if (size && !nvs_count_words(made, made_size, words, &missing))
		why = NULL;
	if (made)
		nvs_free(made, made_size);
	nvs_free(ptx, NVS_COUNT_PTX);
	return why;
}

/* The lock is held. *WORDS stays valid. */
static const char *get_template(uint32_t arch, const struct nvs_count_words **words)
{
	const char *why = "the process has too many GPU architectures";

	for (uint32_t i = 0; i < MAX_TEMPLATES; i++) {
		if (!templates[i].arch) {
			why = make_template(arch, &templates[i].words);
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

/* The address of the next counter to assign. */
struct handing {
	uint64_t next;
};

static bool is_wanted(const char *kernel)
{
	const char *glob = nvs_options()->values.count_kernels;

	return !*glob || !fnmatch(glob, kernel, 0);
}

static uint64_t assign_counter(void *arg, const char *kernel)
{
	struct handing *h = arg;
	uint64_t at = h->next;

	if (!is_wanted(kernel))
		return 0;
	h->next += NVS_COUNT_BYTES;
	return at;
}

/* Number of kernels that need a counter. */
static uint32_t count_kernels(const struct nvs_image *image)
{
	struct nvs_cubin_functions f;
	struct nvs_cubin cubin;
	uint32_t n = 0;

	if (nvs_cubin_open(&cubin, image->data, image->size) ||
	    nvs_cubin_functions(&cubin, &memory, &f))
		return 0;
	for (uint32_t i = 0; i < f.n; i++)
		n += f.function[i].kernel && is_wanted(f.function[i].name);
	nvs_cubin_functions_free(&f, &memory);
	return n;
}

/* Architecture of the GPU that the code is loaded for; a library may be loaded for all GPUs. Sets
 * *ARCH to 0 if unknown. */
static const char *find_arch(struct nvs_counting *c, bool library, uint32_t *arch)
{
	int device = -1, n = 0;
	bool current = !c->driver.get_device(&device);

	*arch = 0;
	if (c->driver.device_count(&n))
		return "the driver does not report its GPUs";
	for (int i = 0; i < n; i++) {
		uint32_t own = i == device || library ? nvs_code_arch(i) : 0;

		if (!own)
			continue;
		if (*arch && own && own != *arch) {
			*arch = 0;
			return "it is loaded for GPUs of different architectures";
		}
		*arch = own ? own : *arch;
	}
	/* With CUDA_MODULE_LOADING=EAGER the runtime loads a program's code that early. */
	if (!current)
		return "it was loaded before there was a context; "
		       "CUDA_MODULE_LOADING=LAZY loads it later";
	return *arch ? NULL : "the driver does not report its GPUs";
}

static const char *rewrite_code(struct nvs_counting *c, struct instrumented_load *l,
				const struct nvs_image *cubin, uint32_t arch, bool library)
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
		.counters = assign_counter,
		.arg = &handing,
	};
	const char *why;

	if (!kernels)
		return "none of its kernels is selected for counting";
	if (!nvs_counting_lock(c))
		return "another load was in progress";
	why = get_template(arch, &words);
	handing.next = why ? 0 : nvs_counting_alloc(c, (uint64_t)kernels * NVS_COUNT_BYTES, &why);
	if (handing.next && library && c->apart)
		why = "a GPU cannot access the memory of another";
	nvs_counting_unlock(c);
	if (why)
		return why;
	if (nvs_count_rewrite(cubin->data, cubin->size, words, &o, &memory, &l->counted))
		return "its code could not be decoded";
	/* Set even if no kernel counts, so that the record names the kernels. */
	l->image = l->counted.cubin;
	l->size = l->counted.size;
	return l->image ? NULL : "none of its kernels could be instrumented";
}

/* Writes the image to a memfd, which the driver opens by name. A sandbox may not allow the call. */
static bool write_memfd(struct instrumented_load *l)
{
	size_t done = 0;
	long n = 1;

	if (nvs_session_is_confined() || nvs_sys_over_limit(l->size))
		return false;
	l->fd = (int)nvs_syscall(SYS_memfd_create, (long)"nvsnoop", MFD_CLOEXEC, 0, 0, 0, 0);
	while (l->fd >= 0 && done < l->size && n > 0) {
		n = nvs_sys_write(l->fd, (char *)l->image + done, l->size - done);
		done += n > 0 ? (size_t)n : 0;
	}
	snprintf(l->path, sizeof(l->path), "/proc/self/fd/%d", l->fd);
	return l->fd >= 0 && done == l->size;
}

static const char *prepare_load(struct nvs_counting *c, struct instrumented_load *l,
				const struct nvs_api *api)
{
	bool library = loads_library(api);
	struct nvs_image image, cubin;
	const char *why, *early;
	uint32_t arch;

	if (!c->able)
		return "counting is not supported by this driver; it is too old";
	early = find_arch(c, library, &arch);
	if (early && !arch)
		return early;
	if (loads_file(api)) {
		l->file = nvs_code_read_file((const char *)l->program, &l->file_size);
		if (!l->file)
			return "its file could not be read";
		if (nvs_image_of(l->file, l->file_size, &image))
			return "its format is unknown";
	} else if (nvs_image_at((const void *)l->program, &image)) {
		return "its format is unknown";
	}
	why = choose_cubin(l, &image, arch, !early, &cubin);
	if (early) {
		l->refused = why ? (struct nvs_image){0} : cubin;
		return early;
	}
	if (!why)
		why = rewrite_code(c, l, &cubin, arch, library);
	if (!why && loads_file(api) && !write_memfd(l))
		why = "its file could not be replaced";
	return why;
}

/* ---- the call ---- */

/* Arguments: (output, image or file name, ...). */
void nvs_api_before_load(struct nvs_api_frame *f)
{
	const struct nvs_option_values *v = &nvs_options()->values;
	struct nvs_counting *c;
	struct instrumented_load *l;
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
	l->why = prepare_load(c, l, nvs_api_slots[f->index].api);
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

void nvs_counters_record(struct nvs_counting *c)
{
	struct nvs_counter_pending *all = atomic_exchange(&c->unwritten, NULL), *in_order = NULL,
				   *next;

	for (; all; all = next) {
		next = all->next;
		all->next = in_order;
		in_order = all;
	}
	for (; in_order; in_order = next) {
		next = in_order->next;
		nvs_record_write(&in_order->rec.rec);
		nvs_free(in_order,
			 offsetof(struct nvs_counter_pending, rec) + in_order->rec.rec.size);
	}
}

/* Records kernel K. K NULL: the reason applies to the whole image. */
static void record_counter(struct nvs_counting *c, uint32_t number,
			   const struct nvs_instrumented_kernel *k, const char *why)
{
	const struct nvs_option_values *v = &nvs_options()->values;
	const char *name = k ? k->name : "";
	uint32_t length = (uint32_t)strlen(name), reason = why ? (uint32_t)strlen(why) : 0;
	uint32_t size = (uint32_t)(sizeof(struct nvs_rec_counter) + length + reason + 7) & ~7u;
	struct nvs_counter_pending *untold =
		nvs_alloc(offsetof(struct nvs_counter_pending, rec) + size);
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
	untold->next = atomic_load(&c->unwritten);
	while (!atomic_compare_exchange_weak(&c->unwritten, &untold->next, untold))
		;
	if (nvs_session_is_active())
		nvs_counters_record(c);
}

/* Records each kernel of an image that was not instrumented. Returns false if none is known. */
static bool record_refused(struct nvs_counting *c, const struct instrumented_load *l)
{
	struct nvs_cubin_functions f;
	struct nvs_cubin cubin;
	bool any = false;

	if (!l->refused.data || nvs_cubin_open(&cubin, l->refused.data, l->refused.size) ||
	    nvs_cubin_functions(&cubin, &memory, &f))
		return false;
	for (uint32_t i = 0; i < f.n && nvs_counting_lock(c); i++) {
		const struct nvs_instrumented_kernel k = {
			.name = f.function[i].name,
			.instructions = (uint32_t)nvs_sass_code_count(
				f.function[i].code, f.function[i].size, nvs_sass_form(cubin.arch)),
			.registers = {(uint16_t)f.function[i].registers,
				      (uint16_t)f.function[i].registers},
		};
		struct nvs_kernel_counter *counter = f.function[i].kernel && is_wanted(k.name)
							     ? nvs_counting_add(c, k.name, 0)
							     : NULL;

		if (counter)
			record_counter(c, counter->number, &k, l->why);
		any |= counter != NULL;
		nvs_counting_unlock(c);
	}
	nvs_cubin_functions_free(&f, &memory);
	return any;
}

/* Registers the counters after the driver accepted the code. */
static void register_counters(struct nvs_counting *c, const struct instrumented_load *l)
{
	if (l->why && !l->counted.n && !record_refused(c, l))
		record_counter(c, NVS_NONE, NULL, l->why);
	if (!nvs_counting_lock(c))
		return;
	for (uint32_t i = 0; i < l->counted.n; i++) {
		const struct nvs_instrumented_kernel *k = &l->counted.kernel[i];
		const char *why = k->counters ? l->why : k->why;
		struct nvs_kernel_counter *counter;

		if (!k->counters && !k->why)
			continue;
		counter = nvs_counting_add(c, k->name, why ? 0 : k->counters);
		if (counter)
			record_counter(c, counter->number, k, why);
	}
	nvs_counting_unlock(c);
}

/* The driver may read the image as long as its module or library exists. */
static void keep_image(struct instrumented_load *l, uint64_t handle)
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

void nvs_load_free_image(uint64_t handle)
{
	for (uint32_t i = 0; handle && i < KEPT; i++) {
		uint64_t own = handle;
		size_t size;
		void *image;

		if (atomic_load_explicit(&kept[i].handle, memory_order_acquire) != handle)
			continue;
		/* When the handle is 0, another thread may take the place. */
		image = kept[i].image;
		size = kept[i].size;
		kept[i].image = NULL;
		if (atomic_compare_exchange_strong(&kept[i].handle, &own, 0))
			nvs_free(image, size);
		return;
	}
}

static void free_load(struct instrumented_load *l)
{
	nvs_instrumented_free(&l->counted, &memory);
	nvs_free(l->file, l->file_size + 1);
	nvs_free(l->unpacked, l->unpacked_size);
	nvs_free(l->assembled, l->assembled_size);
	if (l->fd >= 0)
		nvs_sys_close(l->fd);
	nvs_free(l, sizeof(*l));
}

typedef uint64_t any_call(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			  uint64_t);

void nvs_load_finish(struct nvs_api_frame *f)
{
	const struct nvs_api_slot *slot = &nvs_api_slots[f->index];
	struct instrumented_load *l = (struct instrumented_load *)f->token;
	struct nvs_counting *c = nvs_counting();
	NVS_KEEP_ERRNO();

	if ((slot->api->before != nvs_api_before_load && !loads_library(slot->api)) || !l)
		return;
	f->token = 0;
	f->regs[1] = l->program;
	/* If the driver refused instrumented code for any reason, load the program's own. */
	if (!l->why && (uint32_t)f->result[0]) {
		any_call *call = (any_call *)slot->original;
		uint64_t a[8];

		for (unsigned i = 0; i < 8; i++)
			a[i] = i < NVS_ARG_REGS + slot->api->words ? nvs_api_argument(f, i) : 0;
		l->why = "the driver refused the instrumented code";
		f->result[0] = call(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
	}
	if (c && !(uint32_t)f->result[0]) {
		register_counters(c, l);
		if (!l->why)
			keep_image(l, *(uint64_t *)f->regs[0]);
	}
	free_load(l);
}
