/* SPDX-License-Identifier: MIT */
/*
 * code=on: records code that the program loads, after the load, and its bytes once per content. The
 * loading thread waits for the writer when its buffer is full. Code loaded before the session is
 * copied, since the program may free it, and recorded when the session starts.
 */
#include <fcntl.h>
#include <string.h>
#include "preload/api/intercept/api.h"
#include "preload/api/images/image.h"
#include "preload/base/preload.h"
#include "preload/base/sys.h"
#include "preload/writer/session.h"
#include "trap/buffer/calls.h"
#include "trap/buffer/process.h"

#define CHUNK (256u << 10)
#define MAX_EARLY (256ull << 20) /* limit for copies made before the session */

enum { UNWRITTEN, BEING_WRITTEN, WRITTEN };

/* A distinct content. */
struct known_image {
	uint64_t hash[2], size;
	uint32_t written;
};

struct early_image {
	struct early_image *next;
	struct nvs_loaded_image code;
	struct nvs_image_load load;
};

/* Wiped in a forked child, which cannot use any of it. */
struct images {
	struct known_image *image;
	uint32_t n, room;
	bool begun; /* the session has started */
	struct early_image *first, *last;
	uint64_t early_bytes;
	uint8_t gpus[NVS_CODE_GPUS];
};

/* The lock is held. */
static struct images *get_images(void)
{
	void **slot = nvs_slot(NVS_SLOT_IMAGES);

	if (!*slot)
		*slot = nvs_alloc(sizeof(struct images));
	return *slot;
}

/* ---- contents ---- */

static uint64_t mix_words(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ 0x9e3779b97f4a7c15ull) *
				    (b ^ 0xd6e8feb86659fd93ull);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* DATA needs space for 16 more bytes after BYTES. */
static void hash_bytes(uint64_t h[2], uint8_t *data, uint32_t bytes)
{
	uint64_t w[2];

	memset(data + bytes, 0, 16);
	for (uint32_t i = 0; i < bytes; i += 16) {
		memcpy(w, data + i, 16);
		h[0] = mix_words(h[0] ^ w[0], w[1]);
		h[1] = mix_words(h[1] + w[1], w[0] ^ 0xa0761d6478bd642full);
	}
}

/* Returns the content's number. *MINE: this thread must record its bytes. */
static uint32_t get_number(const struct known_image *content, bool *mine)
{
	struct images *all;
	uint32_t i;

	*mine = false;
	NVS_LOCK_SCOPE();
	all = get_images();
	for (i = 0; all && i < all->n; i++)
		if (!memcmp(all->image[i].hash, content->hash, sizeof(content->hash)) &&
		    all->image[i].size == content->size)
			break;
	if (!all || (i == all->n && !NVS_GROW(all->image, all->n, all->room, 64)))
		return NVS_NONE;
	if (i == all->n)
		all->image[all->n++] = *content;
	*mine = all->image[i].written == UNWRITTEN;
	if (*mine)
		all->image[i].written = BEING_WRITTEN;
	return i;
}

static void set_written(uint32_t number, bool written)
{
	struct images *all;

	NVS_LOCK_SCOPE();
	all = get_images();
	if (all && number < all->n)
		all->image[number].written = written ? WRITTEN : UNWRITTEN;
}

/* ---- records ---- */

struct image_writer {
	struct nvs_rec_image rec;
	uint8_t data[CHUNK + 16];
};

static bool hash_all(struct image_writer *t, const struct nvs_loaded_image *code,
		     struct known_image *content)
{
	content->hash[0] = code->kind;
	for (uint64_t at = 0; at < code->size; at += CHUNK) {
		uint32_t n = code->size - at < CHUNK ? (uint32_t)(code->size - at) : CHUNK;

		if (!nvs_code_read(code, at, t->data, n))
			return false;
		hash_bytes(content->hash, t->data, n);
	}
	return true;
}

static int write_record(struct image_writer *t, uint16_t flags, uint64_t offset, uint32_t bytes)
{
	t->rec.rec.type = NVS_REC_IMAGE;
	t->rec.rec.flags = flags;
	t->rec.rec.size = (uint32_t)(sizeof(t->rec) + bytes + 7) & ~7u;
	t->rec.offset = offset;
	t->rec.bytes = bytes;
	memset(t->data + bytes, 0, 8);
	return nvs_record_write(&t->rec.rec);
}

uint32_t nvs_largest_record(void)
{
	struct nvs_buffer *buffer = nvs_buffer_enter();
	uint32_t largest = buffer ? nvs_buffer_max_record(buffer) : 0;

	if (buffer)
		nvs_buffer_leave(buffer);
	return largest;
}

/* Returns false if not all bytes were recorded. */
static bool write_bytes(struct image_writer *t, const struct nvs_loaded_image *code, uint16_t flags)
{
	uint32_t n, step = CHUNK, largest = nvs_largest_record();

	if (!largest)
		return false;
	if (step > largest - sizeof(t->rec))
		step = (largest - (uint32_t)sizeof(t->rec)) & ~15u;
	for (uint64_t at = 0; at < code->size; at += n) {
		bool last = code->size - at <= step;

		n = last ? (uint32_t)(code->size - at) : step;
		if (!nvs_code_read(code, at, t->data, n) ||
		    write_record(t, flags | (last ? NVS_IMAGE_LAST : 0), at, n))
			return false;
		flags &= (uint16_t)~NVS_IMAGE_LOAD;
	}
	return true;
}

static void record_load(struct image_writer *t, const struct nvs_loaded_image *code,
			const struct nvs_image_load *load)
{
	uint16_t flags = NVS_IMAGE_LOAD | (code->chosen ? NVS_IMAGE_CHOSEN : 0);
	struct known_image content = {.size = code->size};
	bool mine = false, unread = code->unread || !hash_all(t, code, &content);

	if (!nvs_largest_record())
		return;
	t->rec.thread = load->tid == (uint32_t)nvs_sys_gettid() ? nvs_tls.thread - 1 : NVS_NONE;
	t->rec.call = load->call;
	t->rec.handle = load->handle;
	t->rec.given = code->given;
	t->rec.size = unread ? 0 : code->size;
	t->rec.kind = code->kind;
	t->rec.image = unread ? NVS_NONE : get_number(&content, &mine);
	if (t->rec.image == NVS_NONE)
		write_record(t, flags | NVS_IMAGE_UNREAD | NVS_IMAGE_LAST, 0, 0);
	else if (mine)
		set_written(t->rec.image, write_bytes(t, code, flags));
	else
		write_record(t, flags, 0, 0);
}

void nvs_code_record(const struct nvs_loaded_image *code, const struct nvs_image_load *load)
{
	struct image_writer *t = nvs_alloc(sizeof(*t));

	if (t)
		record_load(t, code, load);
	nvs_free(t, sizeof(*t));
}

/* ---- before the session ---- */

static bool has_room(uint64_t bytes)
{
	struct images *all;

	NVS_LOCK_SCOPE();
	all = get_images();
	if (!all || bytes > MAX_EARLY - all->early_bytes)
		return false;
	all->early_bytes += bytes;
	return true;
}

/* Copies only the description if there is no space for the bytes. */
static struct early_image *make_early(const struct nvs_loaded_image *code,
				      const struct nvs_image_load *load)
{
	struct early_image *e = nvs_alloc(sizeof(*e));
	uint8_t *copy = NULL;

	if (!e)
		return NULL;
	e->load = *load;
	e->code = *code;
	e->code.npieces = e->code.room = 0;
	e->code.piece = NULL;
	if (!code->unread && has_room(code->size))
		copy = nvs_alloc(code->size);
	if (copy && nvs_code_read(code, 0, copy, code->size))
		e->code.piece = nvs_alloc(sizeof(*e->code.piece));
	if (e->code.piece) {
		e->code.room = e->code.npieces = 1;
		*e->code.piece = (struct nvs_image_piece){copy, code->size};
		return e;
	}
	nvs_free(copy, code->size);
	e->code.unread = true;
	return e;
}

static void free_early(struct early_image *e)
{
	if (e->code.npieces)
		nvs_free((void *)e->code.piece->at, e->code.size);
	nvs_code_free(&e->code);
	nvs_free(e, sizeof(*e));
}

/* Returns false if the session has started. */
static bool queue_early(struct early_image *e)
{
	struct images *all;

	NVS_LOCK_SCOPE();
	all = get_images();
	if (!all || all->begun)
		return false;
	*(all->last ? &all->last->next : &all->first) = e;
	all->last = e;
	return true;
}

static bool has_begun(bool begin, struct early_image **first)
{
	struct images *all;

	NVS_LOCK_SCOPE();
	all = get_images();
	if (all && begin) {
		*first = all->first;
		all->first = all->last = NULL;
		all->begun = true;
	}
	return all && all->begun;
}

static bool is_wanted(void)
{
	const struct nvs_recorder *session = nvs_session();

	return nvs_options()->values.code && !nvs_options()->untraced &&
	       !atomic_load(&nvs_writer_signal.ended) &&
	       !(session && atomic_load(&session->state) == NVS_SESSION_FAILED);
}

void nvs_api_images_flush(void)
{
	struct early_image *e = NULL, *next;
	struct image_writer *t;

	if (!is_wanted())
		return;
	has_begun(true, &e);
	t = e ? nvs_alloc(sizeof(*t)) : NULL;
	for (; e; e = next) {
		next = e->next;
		if (t)
			record_load(t, &e->code, &e->load);
		free_early(e);
	}
	nvs_free(t, sizeof(*t));
}

/* ---- loads ---- */

/* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR */
enum { MAJOR = 75, MINOR = 76 };

uint32_t nvs_code_arch(int device)
{
	int (*get)(int *, int, int) = nvs_api_driver_function("cuDeviceGetAttribute");
	int major = 0, minor = 0;

	NVS_QUIET();
	if (!get || get(&major, MAJOR, device) || get(&minor, MINOR, device))
		major = 0;
	return major > 0 && major <= 24 ? (uint32_t)(major * 10 + minor) : 0;
}

void nvs_code_query_gpus(uint8_t gpus[NVS_CODE_GPUS])
{
	int (*count)(int *) = nvs_api_driver_function("cuDeviceGetCount");
	uint32_t used = 0, arch;
	int n = 0;

	NVS_QUIET();
	if (!count || count(&n))
		n = 0;
	for (int i = 0; i < n && used < NVS_CODE_GPUS - 1; i++) {
		arch = nvs_code_arch(i);
		if (arch && !memchr(gpus, (int)arch, used))
			gpus[used++] = (uint8_t)arch;
	}
}

static void process_load(const void *image, uint64_t most, const struct nvs_api_frame *f,
			 uint64_t handle)
{
	const struct nvs_image_load load = {f->number, handle, (uint32_t)nvs_sys_gettid()};
	uint8_t gpus[NVS_CODE_GPUS] = {0};
	struct early_image *e, *none;
	struct nvs_loaded_image code;

	if (nvs_api_get_snapshots())
		nvs_api_get_snapshots()->loaded(image, handle);
	nvs_code_query_gpus(gpus);
	nvs_code_select(&code, image, most, gpus);
	if (!has_begun(false, &none)) {
		e = make_early(&code, &load);
		if (e && queue_early(e)) {
			nvs_code_free(&code);
			return;
		}
		if (e)
			free_early(e);
	}
	if (has_begun(false, &none))
		nvs_code_record(&code, &load);
	nvs_code_free(&code);
}

void nvs_api_after_load_data(struct nvs_api_frame *f, uint32_t result)
{
	NVS_KEEP_ERRNO();

	if (result || !f->regs[0])
		return;
	if (is_wanted())
		process_load((const void *)f->regs[1], UINT64_MAX, f, *(uint64_t *)f->regs[0]);
	else
		nvs_code_note((const void *)f->regs[1], f->number, *(uint64_t *)f->regs[0]);
}

void nvs_api_after_link_complete(struct nvs_api_frame *f, uint32_t result)
{
	NVS_KEEP_ERRNO();

	if (result || !is_wanted() || !f->regs[1])
		return;
	process_load(*(const void **)f->regs[1], f->regs[2] ? *(uint64_t *)f->regs[2] : UINT64_MAX,
		     f, f->regs[0]);
}

void *nvs_code_read_file(const char *path, uint64_t *bytes)
{
	int fd = nvs_session_is_confined() ? -1 : nvs_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	uint64_t got = 0;
	char *copy = NULL;
	struct stat st;
	long n = 1;

	*bytes = 0;
	if (fd < 0)
		return NULL;
	if (!nvs_sys_fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    (uint64_t)st.st_size <= NVS_CODE_MAX_BYTES) {
		*bytes = (uint64_t)st.st_size;
		copy = nvs_alloc(*bytes + 1);
	}
	while (copy && got < *bytes && n > 0) {
		n = nvs_sys_read(fd, copy + got, *bytes - got);
		got += n > 0 ? (uint64_t)n : 0;
	}
	nvs_sys_close(fd);
	if (copy && got == *bytes)
		return copy;
	nvs_free(copy, *bytes + 1);
	return NULL;
}

void nvs_api_after_load_file(struct nvs_api_frame *f, uint32_t result)
{
	NVS_KEEP_ERRNO();
	uint64_t bytes;
	void *image;

	if (result || !is_wanted() || !f->regs[0])
		return;
	image = nvs_code_read_file((const char *)f->regs[1], &bytes);
	process_load(image, bytes, f, *(uint64_t *)f->regs[0]);
	nvs_free(image, bytes + 1);
}
