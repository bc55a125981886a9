/* SPDX-License-Identifier: MIT */
/* Packs of --html: text, deflated and in base64. */
#include "decode/export/html/pack.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <zlib.h>

void nvs_html_pack_put(struct nvs_html_pack *p, const char *text, size_t n)
{
	size_t room = p->room ? p->room : NVS_PACK_BYTES / 4;
	char *grown;

	while (room - p->n < n)
		room *= 2;
	grown = room == p->room ? p->text : realloc(p->text, room);
	if (!grown) {
		p->status = -ENOMEM;
		return;
	}
	p->text = grown;
	p->room = room;
	memcpy(p->text + p->n, text, n);
	p->n += n;
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

/* Every 3 bytes become 4 letters. */
static void write_base64(FILE *out, const unsigned char *data, size_t n)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char line[4096];
	size_t at = 0;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t three = (uint32_t)data[i] << 16 | (i + 1 < n ? data[i + 1] << 8 : 0) |
				 (i + 2 < n ? data[i + 2] : 0);

		line[at++] = letters[three >> 18];
		line[at++] = letters[three >> 12 & 63];
		line[at++] = i + 1 < n ? letters[three >> 6 & 63] : '=';
		line[at++] = i + 2 < n ? letters[three & 63] : '=';
		if (at == sizeof(line)) {
			fwrite(line, 1, at, out);
			at = 0;
		}
	}
	fwrite(line, 1, at, out);
}

static int write_element(struct nvs_html_pack *p)
{
	uLongf size = compressBound(p->n);
	unsigned char *packed = malloc(size);

	if (!packed || compress2(packed, &size, (const Bytef *)p->text, p->n, 6) != Z_OK) {
		free(packed);
		return -ENOMEM;
	}
	fprintf(p->out,
		"<script type=\"application/octet-stream\" data-pack=\"%s\" data-process=\"%u\" "
		"data-at=\"%" PRIu64 "\" data-items=\"%" PRIu64 "\"%s>",
		p->kind, p->process, p->at, p->items, p->heads ? " data-heads" : "");
	write_base64(p->out, packed, size);
	fputs("</script>\n", p->out);
	free(packed);
	p->packed += (size + 2) / 3 * 4;
	return ferror(p->out) ? -EIO : 0;
}

int nvs_html_pack_flush(struct nvs_html_pack *p)
{
	if (p->n && !p->status)
		p->status = write_element(p);
	p->at += p->items;
	p->items = 0;
	p->n = 0;
	return p->status;
}

int nvs_html_pack_end(struct nvs_html_pack *p)
{
	int r = nvs_html_pack_flush(p);

	free(p->text);
	p->text = NULL;
	p->room = 0;
	return r;
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
