/* SPDX-License-Identifier: MIT */
/* Reads fatbins: entries with cubins and PTX for several architectures, some of them compressed.
 * The layout is that of the output of fatbinary from CUDA 11 to 13. */
#include <errno.h>
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include "sass/elf.h"
#include "sass/lz4.h"

/* Offsets in an entry's header. */
enum {
	KIND = 0, /* u16 */
	HEADER = 4, /* u32: bytes of the header, name and options included */
	BYTES = 8, /* u64: after the header, with padding */
	PACKED = 16, /* u32: without padding; 0: not compressed */
	/* u32: offset of the options' descriptor (offset and length of the text); 0: none */
	OPTIONS = 20,
	ARCH = 28, /* u32 */
	NAME = 32, /* u32, u32: offset and length */
	FLAGS = 40, /* u64 */
	UNPACKED = 56, /* u64 */
	FIXED = 64,
};

/* Advances to the next fatbin's header: linkers put padding between them. */
static bool begin_fatbin(struct nvs_fatbin *f)
{
	uint64_t header, body;

	for (;; f->at += 4) {
		if (f->size - f->at < 16)
			return false;
		if (nvs_elf_u32(f->data + f->at) == NVS_FATBIN_MAGIC)
			break;
		if (nvs_elf_u32(f->data + f->at)) {
			f->broken = true;
			return false;
		}
	}
	header = nvs_elf_u16(f->data + f->at + 6);
	body = nvs_elf_u64(f->data + f->at + 8);
	if (header < 16 || header > f->size - f->at || body > f->size - f->at - header) {
		f->broken = true;
		return false;
	}
	f->at += header;
	f->end = f->at + (size_t)body;
	return true;
}

static void read_strings(struct nvs_fatbin_entry *e, uint32_t header)
{
	uint32_t at = nvs_elf_u32(e->header + NAME), n = nvs_elf_u32(e->header + NAME + 4);

	e->name = e->options = "";
	if (n && at >= FIXED && at <= header && n <= header - at) {
		e->name = (const char *)e->header + at;
		e->name_size = n;
	}
	/* The descriptor contains the offset and the length of the text. */
	at = nvs_elf_u32(e->header + OPTIONS);
	if (at < FIXED || at > header || header - at < 16)
		return;
	n = nvs_elf_u32(e->header + at + 4);
	at = nvs_elf_u32(e->header + at);
	if (at >= FIXED && at <= header && n <= header - at) {
		e->options = (const char *)e->header + at;
		e->options_size = n;
	}
}

bool nvs_fatbin_next(struct nvs_fatbin *f, struct nvs_fatbin_entry *e)
{
	uint64_t header, bytes, packed;
	const uint8_t *p;

	while (f->at >= f->end || f->end - f->at < FIXED) {
		if (f->at < f->end)
			f->at = f->end;
		if (f->broken || f->at >= f->size || !begin_fatbin(f))
			return false;
	}
	p = f->data + f->at;
	header = nvs_elf_u32(p + HEADER);
	bytes = nvs_elf_u64(p + BYTES);
	packed = nvs_elf_u32(p + PACKED);
	if (header < FIXED || header > f->end - f->at || bytes > f->end - f->at - header ||
	    packed > bytes) {
		f->broken = true;
		return false;
	}
	*e = (struct nvs_fatbin_entry){
		.kind = nvs_elf_u16(p + KIND),
		.arch = nvs_elf_u32(p + ARCH),
		.flags = nvs_elf_u64(p + FLAGS),
		.data = p + header,
		.packed = packed != 0,
		.size = (size_t)(packed ? packed : bytes),
		.unpacked = (size_t)(packed ? nvs_elf_u64(p + UNPACKED) : bytes),
		.header = p,
		.whole = (size_t)(header + bytes),
	};
	read_strings(e, (uint32_t)header);
	f->at += e->whole;
	return true;
}

static int unpack_zstd(const struct nvs_fatbin_entry *e, void *out,
		       const struct nvs_sass_memory *memory)
{
	size_t room = ZSTD_estimateDCtxSize(), n;
	void *work = memory->get(memory->arg, room);
	ZSTD_DCtx *context = work ? ZSTD_initStaticDCtx(work, room) : NULL;
	int r = -ENOMEM;

	if (context) {
		n = ZSTD_decompressDCtx(context, out, e->unpacked, e->data, e->size);
		r = ZSTD_isError(n) || n != e->unpacked ? -EBADMSG : 0;
	}
	if (work)
		memory->put(memory->arg, work, room);
	return r;
}

int nvs_fatbin_unpack(const struct nvs_fatbin_entry *e, const struct nvs_sass_memory *memory,
		      void **out)
{
	int r = -ENOTSUP;

	*out = NULL;
	if (!e->unpacked || e->unpacked / NVS_FATBIN_RATIO > e->size)
		return -EBADMSG;
	*out = memory->get(memory->arg, e->unpacked);
	if (!*out)
		return -ENOMEM;
	if (!e->packed) {
		memcpy(*out, e->data, e->size);
		return 0;
	}
	if (e->flags & NVS_FATBIN_ZSTD)
		r = unpack_zstd(e, *out, memory);
	else if (e->flags & NVS_FATBIN_LZ4)
		r = nvs_lz4_unpack(e->data, e->size, *out, e->unpacked);
	if (r) {
		memory->put(memory->arg, *out, e->unpacked);
		*out = NULL;
	}
	return r;
}

/* Tegra boards do not run code for other GPUs of their major version, and others do not run theirs.
 *  */
static bool is_tegra(uint32_t arch)
{
	return arch == 53 || arch == 62 || arch == 72 || arch == 87 || arch == 101 || arch == 110;
}

static bool can_run(const struct nvs_fatbin_entry *e, uint32_t arch)
{
	if (e->arch == arch)
		return true;
	return !(e->flags & NVS_FATBIN_SPECIFIC) && e->arch / 10 == arch / 10 && e->arch < arch &&
	       !is_tegra(e->arch) && !is_tegra(arch);
}

static bool can_assemble(const struct nvs_fatbin_entry *e, uint32_t arch)
{
	if (e->flags & NVS_FATBIN_SPECIFIC)
		return e->arch == arch;
	if (e->flags & NVS_FATBIN_FAMILY && e->arch / 10 != arch / 10)
		return false;
	return e->arch <= arch;
}

static bool is_better(const struct nvs_fatbin_entry *e, const struct nvs_fatbin_entry *than)
{
	const uint64_t narrow = NVS_FATBIN_SPECIFIC | NVS_FATBIN_FAMILY;

	return !than->header || e->arch > than->arch ||
	       (e->arch == than->arch && (e->flags & narrow) && !(than->flags & narrow));
}

int nvs_fatbin_choose(const void *data, size_t size, uint32_t arch, struct nvs_fatbin_entry *cubin,
		      struct nvs_fatbin_entry *ptx)
{
	struct nvs_fatbin f = {.data = data, .size = size};
	struct nvs_fatbin_entry e, text = {0};

	*cubin = (struct nvs_fatbin_entry){0};
	while (nvs_fatbin_next(&f, &e)) {
		if (e.kind == NVS_FATBIN_CUBIN && can_run(&e, arch) && is_better(&e, cubin))
			*cubin = e;
		if (e.kind == NVS_FATBIN_PTX && can_assemble(&e, arch) && is_better(&e, &text))
			text = e;
	}
	if (ptx)
		*ptx = text;
	return cubin->header ? 0 : -ENOENT;
}
