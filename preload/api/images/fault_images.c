/* SPDX-License-Identifier: MIT */
/*
 * Without code=on the code that the program loads is recorded once a kernel has faulted, as far as
 * that costs next to nothing before: a fatbin that the compiler put into a program or library is
 * noted by its address, since it stays there as long as the file is mapped. Cubins that the program
 * has in its own memory, where it may free them, are copied up to a total of 8 MiB. Files are not
 * read.
 */
#include <string.h>
#include <sys/syscall.h>
#include "preload/api/images/image.h"
#include "preload/api/intercept/api.h"
#include "preload/base/preload.h"
#include "preload/base/proc_maps.h"
#include "preload/base/sys.h"
#include "preload/writer/session.h"
#include "sass/sass.h"
#include "trap/low/guard.h"

#define MAX_COPIED (8ull << 20) /* of all cubins */
#define MAX_RECORDED (64ull << 20) /* read at a fault, and of each fatbin */
#define MAX_NOTED 16384u /* loads */

struct fatbin_head {
	uint32_t magic;
	uint16_t version, head_bytes;
	uint64_t bytes; /* of the entries */
};

struct noted_load {
	const uint8_t *at; /* of a fatbin in the program's memory, or a copy of the library's own */
	struct fatbin_head head;
	uint64_t copied; /* bytes of the copy; 0: it is the program's */
	struct nvs_image_load load;
};

/* Wiped in a forked child. */
struct noted_list {
	struct noted_load *load;
	uint32_t n, room;
	uint64_t copied; /* bytes */
	bool recorded;
};

/* The lock is held. NULL: no memory. */
static struct noted_list *get_noted(void)
{
	void **slot = nvs_slot(NVS_SLOT_NOTED_CODE);

	if (!*slot)
		*slot = nvs_alloc(sizeof(struct noted_list));
	return *slot;
}

static bool is_wanted(void)
{
	return !nvs_options()->values.code && !nvs_options()->untraced &&
	       !atomic_load(&nvs_writer_signal.ended);
}

static bool copy_guarded(void *to, const void *from, uint64_t bytes)
{
	return !nvs_copy_guarded(to, from, bytes);
}

/* Returns false if the load cannot be noted. */
static bool add_load(const struct noted_load *l)
{
	struct noted_list *list;

	NVS_LOCK_SCOPE();
	list = get_noted();
	if (!list || list->recorded || list->n == MAX_NOTED ||
	    l->copied > MAX_COPIED - list->copied || !NVS_GROW(list->load, list->n, list->room, 64))
		return false;
	list->copied += l->copied;
	list->load[list->n++] = *l;
	return true;
}

static void note_cubin(const void *image, struct noted_load *l)
{
	struct nvs_image is;
	uint8_t *copy;

	if (nvs_image_at(image, &is) || is.kind != NVS_IMAGE_CUBIN || is.size > MAX_COPIED)
		return;
	copy = nvs_alloc(is.size);
	l->at = copy;
	l->copied = is.size;
	if (!copy || !copy_guarded(copy, is.data, is.size) || !add_load(l))
		nvs_free(copy, is.size);
}

void nvs_code_note(const void *image, uint64_t call, uint64_t handle)
{
	struct noted_load l = {.load = {call, handle, (uint32_t)nvs_sys_gettid()}};
	struct {
		uint32_t magic, version;
		const uint8_t *fatbin;
	} wrapper;

	if (!is_wanted() || !copy_guarded(&wrapper, image, 4))
		return;
	if (wrapper.magic != NVS_FATBIN_WRAPPER) {
		note_cubin(image, &l);
		return;
	}
	if (!copy_guarded(&wrapper, image, sizeof(wrapper)) ||
	    !copy_guarded(&l.head, wrapper.fatbin, sizeof(l.head)) ||
	    l.head.magic != NVS_FATBIN_MAGIC)
		return;
	l.at = wrapper.fatbin;
	add_load(&l);
}

/* ---- at a fault ---- */

struct file_range {
	uint64_t start, end;
	uint64_t seen; /* bytes of it that are mapped from a file */
};

static void add_file_line(void *arg, const struct nvs_maps_line *line)
{
	struct file_range *r = arg;
	uint64_t start = line->start > r->start ? line->start : r->start;
	uint64_t end = line->end < r->end ? line->end : r->end;

	if (start < end && line->path[0] == '/' && strncmp(line->path, "/dev/", 5) &&
	    strncmp(line->path, "/memfd:", 7))
		r->seen += end - start;
}

static bool is_in_file(const uint8_t *at, uint64_t bytes)
{
	struct file_range r = {.start = (uintptr_t)at, .end = (uintptr_t)at + bytes};

	return nvs_maps_read(add_file_line, &r) && r.seen == bytes;
}

/* The bytes of the load, which the caller frees. NULL: they are gone, or more than MOST. */
static uint8_t *get_bytes(const struct noted_load *l, uint64_t most, uint64_t *bytes)
{
	struct fatbin_head now;
	uint8_t *data;

	*bytes = l->copied;
	if (l->copied)
		return l->copied <= most ? (uint8_t *)l->at : NULL;
	if (!copy_guarded(&now, l->at, sizeof(now)) || memcmp(&now, &l->head, sizeof(now)) ||
	    now.bytes > most - now.head_bytes)
		return NULL;
	*bytes = now.head_bytes + now.bytes;
	data = is_in_file(l->at, *bytes) ? nvs_alloc(*bytes) : NULL;
	if (data && copy_guarded(data, l->at, *bytes))
		return data;
	nvs_free(data, *bytes);
	return NULL;
}

/* Returns the number of bytes that were read. */
static uint64_t record_noted(const struct noted_load *l, uint64_t most, const uint8_t *gpus)
{
	struct nvs_loaded_image code;
	uint64_t bytes;
	uint8_t *data = get_bytes(l, most, &bytes);

	if (!data)
		return 0;
	nvs_code_select(&code, data, bytes, gpus);
	nvs_code_record(&code, &l->load);
	nvs_code_free(&code);
	nvs_free(data, bytes);
	return bytes;
}

/* Takes the list: it is recorded once. */
static struct noted_list take_noted(void)
{
	struct noted_list *list, all = {0};

	NVS_LOCK_SCOPE();
	list = get_noted();
	if (list && !list->recorded) {
		all = *list;
		*list = (struct noted_list){.recorded = true};
	}
	return all;
}

/* The code that was loaded last comes first, since there is a limit. */
void nvs_api_record_noted_code(void)
{
	uint8_t gpus[NVS_CODE_GPUS] = {0};
	uint64_t most = MAX_RECORDED;
	struct noted_list all;

	if (!is_wanted() || nvs_session_is_confined())
		return;
	all = take_noted();
	if (all.n)
		nvs_code_query_gpus(gpus);
	while (all.n)
		most -= record_noted(&all.load[--all.n], most, gpus);
	nvs_free(all.load, all.room * sizeof(*all.load));
}
