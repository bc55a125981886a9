/* SPDX-License-Identifier: MIT */
/* Packs of --html: text, deflated and in base64; and the press, which does that in threads. */
#include "decode/export/html/pack.h"
#include "decode/export/html/fold.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <libdeflate.h>
#include "decode/base/digits.h"
#include "decode/base/pipeline.h"

#define LEVEL 1 /* of libdeflate: 2 to 5 make a page 3 to 12 % smaller, in twice the time */

static char *grow_text(struct nvs_html_pack *p, size_t n)
{
	size_t room = p->room ? p->room : NVS_PACK_BYTES / 4;
	char *grown;

	while (room - p->n < n)
		room *= 2;
	grown = realloc(p->text, room);
	if (!grown) {
		p->status = -ENOMEM;
		return NULL;
	}
	p->text = grown;
	p->room = room;
	return grown + p->n;
}

/* Room for N bytes at the end; the caller adds to p->n what it uses. NULL if memory is short. */
static inline char *reserve_text(struct nvs_html_pack *p, size_t n)
{
	return p->room - p->n > n ? p->text + p->n : grow_text(p, n);
}

void nvs_html_pack_put(struct nvs_html_pack *p, const char *text, size_t n)
{
	char *to = reserve_text(p, n);

	if (!to)
		return;
	memcpy(to, text, n);
	p->n += n;
}

void nvs_html_pack_number(struct nvs_html_pack *p, int64_t number)
{
	char *to = reserve_text(p, 2 + NVS_DIGITS), *end = to;

	if (!to)
		return;
	if (number < 0)
		*end++ = '-';
	end = nvs_put_dec(end, number < 0 ? -(uint64_t)number : (uint64_t)number);
	*end++ = ',';
	p->n += (size_t)(end - to);
}

void nvs_html_pack_print(struct nvs_html_pack *p, const char *format, ...)
{
	char line[512];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	nvs_html_pack_put(p, line, n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

/* ---- elements ---- */

struct page_buffer {
	void *data;
	size_t room;
};

/* Text on its way to the page. */
struct page_element {
	struct nvs_html_pack pack; /* its attributes and text */
	struct nvs_html_pack *owner;
	struct libdeflate_compressor *compressor; /* made when it is first needed */
	struct page_buffer folded, packed, letters; /* kept for the next text */
	size_t nletters; /* of the text, deflated and in base64 */
	uint64_t most; /* maximum of nletters, for this text */
	int status;
};

struct nvs_html_press {
	FILE *out;
	struct nvs_pipeline *pipeline;
	struct page_element elements[NVS_PIPELINE_JOBS];
	unsigned next, in_use; /* next one to use, of the ring; number in the pipeline */
	uint64_t written, waiting; /* bytes of the page: so far; at most, of elements not written */
};

static size_t base64_size(size_t n)
{
	return (n + 2) / 3 * 4;
}

/* Every 3 bytes become 4 letters. */
static void encode_base64(char *to, const unsigned char *data, size_t n)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		uint32_t three = (uint32_t)data[i] << 16 | (i + 1 < n ? data[i + 1] << 8 : 0) |
				 (i + 2 < n ? data[i + 2] : 0);

		*to++ = letters[three >> 18];
		*to++ = letters[three >> 12 & 63];
		*to++ = i + 1 < n ? letters[three >> 6 & 63] : '=';
		*to++ = i + 2 < n ? letters[three & 63] : '=';
	}
}

/* Returns N bytes whose content is undefined, NULL if memory is short. */
static void *reserve(struct page_buffer *b, size_t n)
{
	if (n <= b->room)
		return b->data;
	free(b->data);
	b->data = malloc(n);
	b->room = b->data ? n : 0;
	return b->data;
}

static void free_buffers(struct page_element *e)
{
	libdeflate_free_compressor(e->compressor);
	free(e->folded.data);
	free(e->packed.data);
	free(e->letters.data);
}

/* Returns the size, and the data in E->packed; 0 if memory is short. */
static size_t deflate_text(struct page_element *e)
{
	const char *text = e->pack.text;
	size_t n = e->pack.n, room;

	if (e->pack.folds && !reserve(&e->folded, n))
		return 0;
	if (e->pack.folds) {
		n = nvs_html_fold(e->folded.data, text, n);
		text = e->folded.data;
	}
	if (!e->compressor)
		e->compressor = libdeflate_alloc_compressor(LEVEL);
	if (!e->compressor)
		return 0;
	room = libdeflate_zlib_compress_bound(e->compressor, n);
	return reserve(&e->packed, room)
		       ? libdeflate_zlib_compress(e->compressor, text, n, e->packed.data, room)
		       : 0;
}

static void press_element(void *element)
{
	struct page_element *e = element;
	size_t size = deflate_text(e);

	e->status = -ENOMEM;
	e->nletters = base64_size(size);
	if (size && reserve(&e->letters, e->nletters)) {
		encode_base64(e->letters.data, e->packed.data, size);
		e->status = 0;
	}
}

static void write_element(FILE *out, struct page_element *e)
{
	const struct nvs_html_pack *p = &e->pack;

	if (!e->status) {
		fprintf(out,
			"<script type=\"application/octet-stream\" data-pack=\"%s\" "
			"data-process=\"%u\" data-at=\"%" PRIu64 "\" data-items=\"%" PRIu64 "\"%s>",
			p->kind, p->process, p->at, p->items, p->heads ? " data-heads" : "");
		fwrite(e->letters.data, 1, e->nletters, out);
		fputs("</script>\n", out);
	}
	if (!e->owner->status)
		e->owner->status = e->status ? e->status : ferror(out) ? -EIO : 0;
}

/* ---- a press ---- */

struct nvs_html_press *nvs_html_press_new(FILE *out)
{
	struct nvs_html_press *press = calloc(1, sizeof(*press));

	if (!press)
		return NULL;
	press->out = out;
	press->pipeline = nvs_pipeline_new(NVS_PIPELINE_JOBS, press_element);
	if (press->pipeline)
		return press;
	free(press);
	return NULL;
}

/* Writes the oldest element, once it is ready. Returns false if there is none. */
static bool finish_oldest(struct nvs_html_press *press)
{
	struct page_element *e = nvs_pipeline_take(press->pipeline);

	if (!e)
		return false;
	press->in_use--;
	write_element(press->out, e);
	press->waiting -= e->most;
	press->written += e->status ? 0 : e->nletters;
	return true;
}

bool nvs_html_press_exceeds(struct nvs_html_press *press, uint64_t limit)
{
	while (press->written <= limit && press->written + press->waiting > limit &&
	       finish_oldest(press))
		;
	return press->written > limit;
}

void nvs_html_press_free(struct nvs_html_press *press)
{
	if (!press)
		return;
	nvs_pipeline_free(press->pipeline);
	for (unsigned i = 0; i < NVS_PIPELINE_JOBS; i++) {
		free_buffers(press->elements + i);
		free(press->elements[i].pack.text);
	}
	free(press);
}

/* The element takes the text of P, and P the room of an earlier one. */
static void hand_over(struct nvs_html_press *press, struct nvs_html_pack *p)
{
	struct page_element *e = press->elements + press->next++ % NVS_PIPELINE_JOBS;
	char *text;
	size_t room;

	if (press->in_use == NVS_PIPELINE_JOBS)
		finish_oldest(press);
	press->in_use++;
	text = e->pack.text;
	room = e->pack.room;
	e->pack = *p;
	e->owner = p;
	e->most = base64_size(libdeflate_zlib_compress_bound(NULL, p->n));
	press->waiting += e->most;
	nvs_pipeline_put(press->pipeline, e);
	p->text = text;
	p->room = room;
}

int nvs_html_pack_flush(struct nvs_html_pack *p)
{
	struct page_element now = {.pack = *p, .owner = p};

	if (p->n && !p->status && p->press) {
		hand_over(p->press, p);
	} else if (p->n && !p->status) {
		press_element(&now);
		write_element(p->out, &now);
		free_buffers(&now);
	}
	p->at += p->items;
	p->items = 0;
	p->n = 0;
	return p->status;
}

int nvs_html_pack_end(struct nvs_html_pack *p)
{
	nvs_html_pack_flush(p);
	while (p->press && finish_oldest(p->press))
		;
	free(p->text);
	p->text = NULL;
	p->room = 0;
	return p->status;
}

FILE *nvs_html_pack_open(void *arg, ssize_t (*write)(void *arg, const char *text, size_t n))
{
	FILE *f = fopencookie(arg, "w", (cookie_io_functions_t){.write = write});

	if (f)
		setvbuf(f, NULL, _IOFBF, 1 << 16);
	return f;
}

ssize_t nvs_html_pack_write(void *pack, const char *text, size_t n)
{
	struct nvs_html_pack *p = pack;

	nvs_html_pack_put(p, text, n);
	return p->status ? 0 : (ssize_t)n;
}
