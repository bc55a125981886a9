/* SPDX-License-Identifier: MIT */
/*
 * Fast formatting of numbers and names: each function writes at P and returns the end of the text.
 * A number may overwrite NVS_DIGITS bytes from P on, whatever its length. No terminating NUL is
 * written.
 */
#ifndef NVSNOOP_DECODE_BASE_DIGITS_H
#define NVSNOOP_DECODE_BASE_DIGITS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define NVS_DIGITS 24 /* more than any number has */

/* Eight hexadecimal digits in memory order: the first digit in the lowest byte. */
static inline uint64_t nvs_hex_digits(uint32_t value)
{
	uint64_t x = value, letters;

	/* Spreads the eight nibbles, one into each byte. */
	x = (x | x << 16) & 0x0000ffff0000ffffull;
	x = (x | x << 8) & 0x00ff00ff00ff00ffull;
	x = (x | x << 4) & 0x0f0f0f0f0f0f0f0full;
	letters = (x + 0x0606060606060606ull) >> 4 & 0x0101010101010101ull;
	x += 0x3030303030303030ull + letters * ('a' - '0' - 10);
	return __builtin_bswap64(x);
}

static inline char *nvs_put_hex8(char *p, uint32_t value)
{
	uint64_t x = htole64(nvs_hex_digits(value));

	memcpy(p, &x, 8);
	return p + 8;
}

/* Formats as %x does. */
static inline char *nvs_put_hex(char *p, uint64_t value)
{
	uint32_t high = (uint32_t)(value >> 32), first = high ? high : (uint32_t)value;
	uint32_t left_out = (uint32_t)__builtin_clz(first | 1) / 4;
	uint64_t x = htole64(nvs_hex_digits(first) >> 8 * left_out);

	memcpy(p, &x, 8);
	p += 8 - left_out;
	return high ? nvs_put_hex8(p, (uint32_t)value) : p;
}

/* Formats as %u does. */
static inline char *nvs_put_dec(char *p, uint64_t value)
{
	static const uint64_t powers[] = {0,
					  10,
					  100,
					  1000,
					  10000,
					  100000,
					  1000000,
					  10000000,
					  100000000,
					  1000000000,
					  10000000000,
					  100000000000,
					  1000000000000,
					  10000000000000,
					  100000000000000,
					  1000000000000000,
					  10000000000000000,
					  100000000000000000,
					  1000000000000000000,
					  10000000000000000000u};
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	/* 1233 / 4096 is the logarithm of 2. */
	uint32_t log = (64 - (uint32_t)__builtin_clzll(value | 1)) * 1233 >> 12;
	char *end = p + log + (value >= powers[log]);

	char *d = end;

	for (; value >= 100; value /= 100) {
		d -= 2;
		memcpy(d, pairs + 2 * (value % 100), 2);
	}
	if (value >= 10)
		memcpy(p, pairs + 2 * value, 2);
	else
		*p = (char)('0' + value);
	return end;
}

static inline char *nvs_put_text(char *p, const char *text, size_t n)
{
	memcpy(p, text, n);
	return p + n;
}

/* Groups the leading digits of TEXT, "1234567.89" to "1,234,567.89". Leaves TEXT as it is if the
 * result does not fit in ROOM. */
static inline void nvs_group_digits(char *text, size_t room)
{
	size_t length = strlen(text), digits = strspn(text, "0123456789");
	size_t commas = digits ? (digits - 1) / 3 : 0;

	if (length + commas >= room)
		return;
	memmove(text + digits + commas, text + digits, length - digits + 1);
	/* From the last digit on, each moves right by the number of commas still to come before
	 * it. */
	for (size_t at = digits; commas; at--) {
		text[at - 1 + commas] = text[at - 1];
		if ((digits - at) % 3 == 2)
			text[at - 2 + commas--] = ',';
	}
}

#endif
