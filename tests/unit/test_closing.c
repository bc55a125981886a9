/* SPDX-License-Identifier: MIT */
/* LINK: preload/base/text.o */
/* Numbers, sizes and names as the closing line prints them. */
#include "preload/base/text.h"
#include "tests/unit/expect.h"

static const char *quoted(const char *name, size_t size)
{
	static char out[64];
	size_t n;

	memset(out, 'x', sizeof(out));
	n = nvs_text_quote(name, out, size);
	EXPECT(n < size && strlen(out) == n);
	return out;
}

int main(void)
{
	EXPECT(!strcmp(NVS_NUMBER(0), "0") && !strcmp(NVS_NUMBER(999), "999"));
	EXPECT(!strcmp(NVS_NUMBER(1000), "1,000") && !strcmp(NVS_NUMBER(80000), "80,000"));
	EXPECT(!strcmp(NVS_NUMBER(UINT64_MAX), "18,446,744,073,709,551,615"));
	EXPECT(!strcmp(NVS_SIZE(999), "999 bytes") && !strcmp(NVS_SIZE(1000), "1.0 kB"));
	EXPECT(!strcmp(NVS_SIZE(999949), "999.9 kB") && !strcmp(NVS_SIZE(999950), "1.0 MB"));
	EXPECT(!strcmp(NVS_SIZE(UINT64_MAX), "18446744.1 TB"));
	EXPECT(!strcmp(quoted("a/b-1.zst", 64), "a/b-1.zst"));
	EXPECT(!strcmp(quoted("two words", 64), "'two words'"));
	EXPECT(!strcmp(quoted("it's\n", 64), "'it'\\''s?'"));
	EXPECT(!strcmp(quoted("-x", 64), "./'-x'"));
	EXPECT(!strcmp(quoted("plain", 4), "pla") && !strcmp(quoted("two words", 4), "two"));
	EXPECT(strlen(quoted("a name that is too long", 16)) < 16);
	return expect_done();
}
