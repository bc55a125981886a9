/* SPDX-License-Identifier: MIT */
/* Which parts of a loaded image are kept: of fatbins, complete and broken, the entries for the
 * machine's GPUs; of files as much as there is; of unreadable memory nothing. */
/* LINK: preload */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "preload/api/images/image.h"
#include "preload/base/preload.h"
#include "sass/sass.h"
#include "tests/unit/expect.h"

#define ENTRY 64u

static const uint8_t hopper[] = {90, 0}, both[] = {86, 90, 0}, none[] = {0};

static struct {
	uint8_t bytes[4096];
	size_t n;
} fatbin;

static void put(const void *bytes, size_t n)
{
	memcpy(fatbin.bytes + fatbin.n, bytes, n);
	fatbin.n += n;
}

static void begin(void)
{
	const uint64_t head[2] = {0x00100001ba55ed50ull, 0};

	fatbin.n = 0;
	put(head, sizeof(head));
}

/* Its contents are ARCH, over and over. */
static void entry(uint16_t kind, uint8_t arch, uint32_t bytes)
{
	uint8_t head[ENTRY] = {0}, body[512];
	const uint32_t head_bytes = ENTRY;
	uint64_t size = fatbin.n - 16 + ENTRY + bytes;

	memcpy(head, &kind, 2);
	memcpy(head + 4, &head_bytes, 4);
	memcpy(head + 8, &bytes, 4);
	head[28] = arch;
	memset(body, arch, sizeof(body));
	put(head, ENTRY);
	put(body, bytes);
	memcpy(fatbin.bytes + 8, &size, 8);
}

static struct nvs_loaded_image code_of(const uint8_t *gpus)
{
	struct nvs_loaded_image c;

	nvs_code_select(&c, fatbin.bytes, UINT64_MAX, gpus);
	return c;
}

/* Of WANT, ended by 0, are the entries that are kept, in order, and nothing else. */
static void expect_kept(const uint8_t *gpus, const uint8_t *want)
{
	/* The head of a fatbin that is chosen from stands in it. */
	struct nvs_loaded_image c;
	struct nvs_fatbin f = {0};
	struct nvs_fatbin_entry e;
	uint8_t copy[4096];

	nvs_code_select(&c, fatbin.bytes, UINT64_MAX, gpus);
	EXPECT_EQ(c.kind, NVS_CODE_FATBIN);
	EXPECT(!c.unread);
	EXPECT_EQ(c.given, fatbin.n);
	EXPECT_EQ(c.chosen, c.size < c.given);
	EXPECT(!nvs_code_read(&c, 1, copy, c.size));
	EXPECT(nvs_code_read(&c, 0, copy, c.size));
	/* In pieces of any size the bytes are the same. */
	for (uint64_t at = 0; at < c.size; at += 7) {
		uint8_t part[7];
		uint64_t n = c.size - at < 7 ? c.size - at : 7;

		EXPECT(nvs_code_read(&c, at, part, n) && !memcmp(part, copy + at, n));
	}
	f.data = copy;
	f.size = c.size;
	while (nvs_fatbin_next(&f, &e)) {
		EXPECT_EQ(e.arch, *want);
		EXPECT(e.data[0] == e.arch && e.data[e.size - 1] == e.arch);
		want += *want != 0;
	}
	EXPECT(!f.broken && !*want);
	nvs_code_free(&c);
}

#define KEPT(...) ((const uint8_t[]){__VA_ARGS__, 0})

static void test_chosen(void)
{
	begin();
	entry(NVS_FATBIN_CUBIN, 75, 64);
	entry(NVS_FATBIN_CUBIN, 80, 72);
	entry(NVS_FATBIN_CUBIN, 86, 80);
	entry(NVS_FATBIN_CUBIN, 90, 88);
	entry(NVS_FATBIN_CUBIN, 90, 8); /* sm_90a beside it */
	entry(NVS_FATBIN_PTX, 90, 96);
	expect_kept(hopper, KEPT(90, 90));
	expect_kept(both, KEPT(80, 86, 90, 90));
	expect_kept(none, KEPT(75, 80, 86, 90, 90, 90)); /* not known: all of it */
}

static void test_text(void)
{
	begin();
	entry(NVS_FATBIN_CUBIN, 100, 64);
	entry(NVS_FATBIN_PTX, 80, 96);
	entry(NVS_FATBIN_PTX, 100, 96);
	expect_kept(hopper, KEPT(80));
	begin();
	entry(NVS_FATBIN_CUBIN, 100, 64);
	entry(8, 90, 64); /* what only the driver knows */
	expect_kept(hopper, KEPT(100, 90));
}

static void test_broken(void)
{
	struct nvs_loaded_image c;
	uint64_t huge = 1ull << 40;

	/* The last entry says more than there is: the driver may take what is before it. */
	begin();
	entry(NVS_FATBIN_CUBIN, 90, 64);
	entry(NVS_FATBIN_CUBIN, 90, 64);
	memcpy(fatbin.bytes + fatbin.n - 64 - ENTRY + 8, &huge, 8);
	c = code_of(hopper);
	EXPECT(!c.unread && !c.chosen && c.size == fatbin.n && c.npieces == 1);
	nvs_code_free(&c);
	/* More than is kept of anything. */
	memcpy(fatbin.bytes + 8, &huge, 8);
	c = code_of(none);
	EXPECT(c.unread && c.given == huge + 16);
	nvs_code_free(&c);
	/* A file that ends before. */
	nvs_code_select(&c, fatbin.bytes, fatbin.n, hopper);
	EXPECT(c.unread);
	nvs_code_free(&c);
	nvs_code_select(&c, fatbin.bytes, 3, hopper);
	EXPECT(c.unread);
	nvs_code_free(&c);
	nvs_code_select(&c, NULL, UINT64_MAX, hopper);
	EXPECT(c.unread);
	nvs_code_free(&c);
	nvs_code_select(&c, "junk", UINT64_MAX, hopper);
	EXPECT(c.unread && c.kind == NVS_CODE_OTHER);
	nvs_code_free(&c);
}

static void test_ptx(void)
{
	static const char text[] = "// made\n.version 7.0\n.target sm_70\n";
	char copy[sizeof(text)];
	struct nvs_loaded_image c;

	nvs_code_select(&c, text, UINT64_MAX, hopper);
	EXPECT(c.kind == NVS_CODE_PTX && !c.unread && c.size == sizeof(text) - 1);
	EXPECT(nvs_code_read(&c, 0, copy, c.size) && !memcmp(copy, text, c.size));
	nvs_code_free(&c);
	/* A file has no 0 behind it. */
	nvs_code_select(&c, text, sizeof(text) - 1, hopper);
	EXPECT(c.kind == NVS_CODE_PTX && c.size == sizeof(text) - 1);
	nvs_code_free(&c);
	/* At the end of what is mapped, too. */
	{
		char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);
		char *at = page + 4096 - sizeof(text);

		munmap(page + 4096, 4096);
		memcpy(at, text, sizeof(text));
		nvs_code_select(&c, at, UINT64_MAX, hopper);
		EXPECT(c.size == sizeof(text) - 1 && !c.unread);
		nvs_code_free(&c);
		munmap(page, 4096);
	}
}

static void test_wrapper(void)
{
	struct {
		uint32_t magic, version;
		const void *fatbin;
		void *unused;
	} wrapper = {NVS_FATBIN_WRAPPER, 1, fatbin.bytes, NULL};
	struct nvs_loaded_image c;

	begin();
	entry(NVS_FATBIN_CUBIN, 75, 64);
	entry(NVS_FATBIN_CUBIN, 90, 64);
	nvs_code_select(&c, &wrapper, UINT64_MAX, hopper);
	EXPECT(c.kind == NVS_CODE_FATBIN && c.chosen && c.size == 16 + ENTRY + 64);
	nvs_code_free(&c);
}

/* A file's bytes, with a zero behind them; nothing of what is none, nor in a sandbox. */
static void test_file(void)
{
	char path[] = "/tmp/nvsnoop-code.XXXXXX";
	int fd = mkstemp(path);
	uint64_t bytes = 0;
	char *copy;

	EXPECT(fd >= 0 && !nvs_code_read_file(path, &bytes));
	EXPECT(write(fd, "code", 4) == 4);
	copy = nvs_code_read_file(path, &bytes);
	EXPECT(copy && bytes == 4 && !memcmp(copy, "code", 5));
	nvs_free(copy, bytes + 1);
	EXPECT(!nvs_code_read_file("/tmp", &bytes) && !nvs_code_read_file("/nowhere/code", &bytes));
	atomic_store(&nvs_writer_signal.confined, 1);
	EXPECT(!nvs_code_read_file(path, &bytes));
	atomic_store(&nvs_writer_signal.confined, 0);
	unlink(path);
	close(fd);
}

int main(void)
{
	test_file();
	test_chosen();
	test_text();
	test_broken();
	test_ptx();
	test_wrapper();
	return expect_done();
}
