/* SPDX-License-Identifier: MIT */
/* Reads bytes, numbers and pointers as .eh_frame encodes them, from memory that may not be mapped.
 *  */
#include "trap/code/cursor.h"
#include <sys/uio.h>
#include "trap/low/guard.h"
#include "trap/low/sys.h"
#include "trap/low/poison.h"

__thread bool nvs_cfi_by_kernel;

size_t nvs_cfi_copy(void *to, const void *from, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)from, bytes};
	long n;

	if (!nvs_cfi_by_kernel)
		return bytes - nvs_copy_guarded(to, from, bytes);
	n = nvs_syscall(SYS_process_vm_readv, nvs_sys4(SYS_getpid, 0, 0, 0, 0), (long)&here, 1,
			(long)&there, 1, 0);
	return n > 0 ? (size_t)n : 0;
}

void nvs_cfi_cursor_set(struct nvs_cfi_cursor *c, uintptr_t at, uintptr_t end)
{
	c->at = at;
	c->end = end;
	c->have = 0;
	c->window_at = at;
	c->bad = at > end;
}

static bool refill_window(struct nvs_cfi_cursor *c)
{
	size_t n = c->end - c->at < sizeof(c->window) ? c->end - c->at : sizeof(c->window);

	c->window_at = c->at;
	c->have = (uint32_t)nvs_cfi_copy(c->window, (const void *)c->at, n);
	return c->have;
}

uint8_t nvs_get_byte(struct nvs_cfi_cursor *c)
{
	if (c->bad || c->at >= c->end || (c->at - c->window_at >= c->have && !refill_window(c))) {
		c->bad = true;
		return 0;
	}
	return c->window[c->at++ - c->window_at];
}

uint64_t nvs_get_bytes(struct nvs_cfi_cursor *c, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)nvs_get_byte(c) << 8 * i;
	return v;
}

static uint64_t get_leb(struct nvs_cfi_cursor *c, bool is_signed)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = nvs_get_byte(c);

		v |= (uint64_t)(b & 0x7f) << shift;
		if (b & 0x80)
			continue;
		if (is_signed && b & 0x40 && shift + 7 < 64)
			v |= ~0ull << (shift + 7);
		return v;
	}
	c->bad = true;
	return 0;
}

uint64_t nvs_get_uleb(struct nvs_cfi_cursor *c)
{
	return get_leb(c, false);
}

int64_t nvs_get_sleb(struct nvs_cfi_cursor *c)
{
	return (int64_t)get_leb(c, true);
}

void nvs_cfi_cursor_skip(struct nvs_cfi_cursor *c, uint64_t n)
{
	if (n > c->end - c->at)
		c->bad = true;
	else
		c->at += n;
}

uint64_t nvs_get_value(struct nvs_cfi_cursor *c, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		return nvs_get_bytes(c, 8);
	case 0x01:
		return nvs_get_uleb(c);
	case 0x02:
		return nvs_get_bytes(c, 2);
	case 0x03:
		return nvs_get_bytes(c, 4);
	case 0x09:
		return (uint64_t)nvs_get_sleb(c);
	case 0x0a:
		return (uint64_t)(int16_t)nvs_get_bytes(c, 2);
	case 0x0b:
		return (uint64_t)(int32_t)nvs_get_bytes(c, 4);
	}
	c->bad = true;
	return 0;
}

/* textrel and funcrel do not occur on x86-64. */
uintptr_t nvs_get_pointer(struct nvs_cfi_cursor *c, uint8_t encoding, uintptr_t data)
{
	uintptr_t here = c->at, v;

	if (encoding == 0x50) { /* aligned */
		nvs_cfi_cursor_skip(c, -here & 7);
		return nvs_get_bytes(c, 8);
	}
	v = nvs_get_value(c, encoding);
	switch (encoding & 0xf0) {
	case 0x00:
		return v;
	case 0x10:
		return v ? here + v : 0;
	case 0x30:
		return v ? data + v : 0;
	}
	c->bad = true;
	return 0;
}
