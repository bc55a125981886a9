/* SPDX-License-Identifier: MIT */
/* LINK: trap */
/* The reader of call frame information, compared with readelf: every row of every loaded module;
 * then forms that compilers do not write, and damaged data. */
#include <link.h>
#include <signal.h>
#include <ctype.h>
#include <dlfcn.h>
#include "shapes_arch.h"
#include "tests/unit/fakering.h"
#include "trap/code/cfi.h"
#include "trap/buffer/process.h"

#define MAX_MODULES 32
#define MAX_CIES 64
#define SEED 20240517u

static struct dl_phdr_info infos[MAX_MODULES];
static struct nvs_module_view modules = {.modules = infos};
static uint32_t fuzz = SEED;

static uint32_t next_random(void)
{
	fuzz ^= fuzz << 13;
	fuzz ^= fuzz >> 17;
	fuzz ^= fuzz << 5;
	return fuzz;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	if (modules.nmodules < MAX_MODULES)
		infos[modules.nmodules++] = *info;
	return 0;
}

/* ---- against readelf ---- */

struct row {
	uint64_t pc;
	char cfa[16], rbp[16], ra[16];
};

struct listing {
	const struct dl_phdr_info *module;
	struct row cies[MAX_CIES]; /* by offset in pc */
	uint32_t ncies;
	int rbp_column, ra_column; /* 0: none */
	uint64_t compared, wrong, expressions, same;
};

static const char *reg_name(unsigned reg)
{
	static const char *const names[] = DWARF_NAMES;

	return reg < sizeof(names) / sizeof(*names) ? names[reg] : "?";
}

static bool same_rule(const char *theirs, unsigned rule, int64_t offset)
{
	char text[24];

	switch (rule) {
	case NVS_REG_SAME: /* "u" stands for "nothing said" as well */
		return !*theirs || !strcmp(theirs, "u") || !strcmp(theirs, "s");
	case NVS_REG_UNDEFINED:
		return !strcmp(theirs, "u");
	case NVS_REG_AT_CFA:
		snprintf(text, sizeof(text), "c%+ld", (long)offset);
		return !strcmp(theirs, text);
	case NVS_REG_AT_FP:
		return !strcmp(theirs, "exp");
	default: /* an expression, a register, a value */
		return !strcmp(theirs, "exp") || theirs[0] == 'v' ||
		       isalpha((unsigned char)theirs[0]);
	}
}

static bool same_cfa(const char *theirs, const struct nvs_cfi *cfi)
{
	char text[32];

	if (!strcmp(theirs, "exp"))
		return true;
	if (cfi->cfa_rule != NVS_CFA_REGISTER)
		return false;
	snprintf(text, sizeof(text), "%s%+ld", reg_name(cfi->cfa_register), (long)cfi->cfa_offset);
	return !strcmp(theirs, text);
}

static void compare_at(struct listing *l, const struct row *row, uint64_t pc, uint64_t from,
		       uint64_t to)
{
	struct nvs_cfi cfi = {.module = l->compared & 1 ? l->module : NULL};
	enum nvs_cfi_result result = nvs_cfi_find(nvs_process->modules, l->module->dlpi_addr + pc,
						  &cfi);
	uint64_t bias = l->module->dlpi_addr;

	l->compared++;
	l->expressions += !strcmp(row->cfa, "exp");
	if (result == NVS_CFI_FOUND && cfi.start == bias + from && cfi.end == bias + to &&
	    same_cfa(row->cfa, &cfi) && same_rule(row->rbp, cfi.fp_rule, cfi.fp_offset) &&
	    same_rule(row->ra, cfi.ra_rule, cfi.ra_offset))
		return;
	if (l->wrong++ < 5)
		printf("%s %lx: %s %s %s; found %d: cfa %u %s%+ld rbp %u %+ld ra %u %+ld\n",
		       l->module->dlpi_name, (long)pc, row->cfa, row->rbp, row->ra, result,
		       cfi.cfa_rule, reg_name(cfi.cfa_register), (long)cfi.cfa_offset, cfi.fp_rule,
		       (long)cfi.fp_offset, cfi.ra_rule, (long)cfi.ra_offset);
}

static struct row *cie_row(struct listing *l, uint64_t offset)
{
	for (uint32_t i = 0; i < l->ncies; i++)
		if (l->cies[i].pc == offset)
			return &l->cies[i];
	if (l->ncies == MAX_CIES)
		return NULL;
	l->cies[l->ncies] = (struct row){.pc = offset};
	return &l->cies[l->ncies++];
}

static int words(char *line, char **word, int max)
{
	int n = 0;

	/* A register as a rule is followed by its name in parentheses. */
	for (char *w = strtok(line, " \n"); w && n < max; w = strtok(NULL, " \n"))
		if (*w != '(')
			word[n++] = w;
	return n;
}

static void read_columns(struct listing *l, char **word, int n)
{
	l->rbp_column = l->ra_column = 0;
	for (int i = 0; i < n; i++) {
		if (!strcmp(word[i], reg_name(NVS_DW_FP)))
			l->rbp_column = i;
		if (!strcmp(word[i], "ra"))
			l->ra_column = i;
	}
}

static struct row read_row(const struct listing *l, char **word, int n)
{
	struct row row = {.pc = strtoull(word[0], NULL, 16)};

	snprintf(row.cfa, sizeof(row.cfa), "%.15s", word[1]);
	if (l->rbp_column && l->rbp_column < n)
		snprintf(row.rbp, sizeof(row.rbp), "%.15s", word[l->rbp_column]);
	if (l->ra_column && l->ra_column < n)
		snprintf(row.ra, sizeof(row.ra), "%.15s", word[l->ra_column]);
	return row;
}

/* What holds from ROW to just before TO: compared at both ends. */
static void end_row(struct listing *l, const struct row *row, uint64_t to, const uint64_t *range)
{
	if (row->pc >= to)
		return;
	compare_at(l, row, row->pc, range[0], range[1]);
	compare_at(l, row, to - 1, range[0], range[1]);
}

static void compare_listing(struct listing *l, FILE *f)
{
	struct row row = {0}, *cie = NULL;
	uint64_t range[2] = {0, 0};
	char line[1024], *word[32];
	bool in_fde = false;

	while (fgets(line, sizeof(line), f)) {
		char *pc = strstr(line, " pc="), *of = strstr(line, " cie=");
		int n;

		if (strstr(line, "Contents of") && !strstr(line, ".eh_frame section"))
			break;
		if (of && pc) {
			uint64_t offset = strtoull(of + 5, NULL, 16);

			if (in_fde)
				end_row(l, &row, range[1], range);
			range[0] = strtoull(pc + 4, &pc, 16);
			range[1] = strtoull(pc + 2, NULL, 16);
			cie = cie_row(l, offset);
			row = *cie;
			row.pc = range[0];
			in_fde = true;
			continue;
		}
		if (strstr(line, " CIE ")) {
			if (in_fde)
				end_row(l, &row, range[1], range);
			in_fde = false;
			cie = cie_row(l, strtoull(line, NULL, 16));
			continue;
		}
		n = words(line, word, 32);
		if (n > 1 && !strcmp(word[0], "LOC")) {
			read_columns(l, word, n);
		} else if (n > 1 && strlen(word[0]) == 16 && cie) {
			struct row new = read_row(l, word, n);

			if (!in_fde) {
				new.pc = cie->pc;
				*cie = new;
			} else {
				end_row(l, &row, new.pc, range);
				row = new;
			}
		}
	}
	if (in_fde)
		end_row(l, &row, range[1], range);
}

static void test_module(const struct dl_phdr_info *m, bool main_program)
{
	static struct listing l;
	char command[4200];
	FILE *f;

	snprintf(command, sizeof(command), "readelf --debug-dump=frames-interp %s 2>/dev/null",
		 main_program ? "/proc/self/exe" : m->dlpi_name);
	if (main_program) {
		char self[4096];
		ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

		self[n > 0 ? n : 0] = '\0';
		snprintf(command, sizeof(command),
			 "readelf --debug-dump=frames-interp %s 2>/dev/null", self);
	}
	/* readelf is the host's, which sees other libraries at those paths. */
	if (!main_program && getenv("QEMU_LD_PREFIX"))
		snprintf(command, sizeof(command),
			 "readelf --debug-dump=frames-interp %s%s 2>/dev/null",
			 getenv("QEMU_LD_PREFIX"), m->dlpi_name);
	f = popen(command, "r");
	memset(&l, 0, sizeof(l));
	l.module = m;
	compare_listing(&l, f);
	pclose(f);
	printf("%s: %lu places compared, %lu with an expression, %lu wrong\n",
	       main_program ? "the test itself" : m->dlpi_name, (long)l.compared,
	       (long)l.expressions, (long)l.wrong);
	CHECK(l.compared > 20);
	CHECK(!l.wrong);
}

static void test_modules(void)
{
	dlopen("libstdc++.so.6", RTLD_NOW); /* where there is one: other compilers, other forms */
	dl_iterate_phdr(add_module, NULL);
	nvs_modules_publish(&modules);
	for (uint32_t i = 0; i < modules.nmodules; i++)
		if (i == 0 || infos[i].dlpi_name[0] == '/')
			test_module(&infos[i], i == 0);
}

/* ---- a module of our own making ---- */

#define TEXT 0x1000u /* where its one function lies; 256 bytes */
#define CIE 32u
#define FDE 128u

static uint8_t *image; /* two pages */
static ElfW(Phdr) image_phdrs[2];
static struct dl_phdr_info image_info;
static struct nvs_module_view image_view = {.nmodules = 1, .modules = &image_info};

static void put32(uint32_t at, uint32_t v)
{
	memcpy(image + at, &v, 4);
}

/* Header and table, a CIE with AUGMENTATION, an FDE with PROGRAM. */
static void make_image(const char *augmentation, const uint8_t *aug_data, uint8_t aug_bytes,
		       const uint8_t *pointers, uint8_t pointer_bytes, const uint8_t *program,
		       uint8_t bytes)
{
	uint8_t *p;

	memset(image, 0, 0x2000);
	memcpy(image, "\x01\x1b\x03\x3b", 4);
	put32(8, 1);
	put32(12, TEXT);
	put32(16, FDE);
	p = image + CIE + 8;
	*p++ = 1;
	strcpy((char *)p, augmentation);
	p += strlen(augmentation) + 1;
	*p++ = 1; /* code alignment */
	*p++ = 0x78; /* data alignment -8 */
	*p++ = 16;
	if (augmentation[0] == 'z') {
		*p++ = aug_bytes;
		memcpy(p, aug_data, aug_bytes);
		p += aug_bytes;
	}
	memcpy(p, "\x0c\x07\x08\x90\x01", 5); /* CFA rsp+8, ra at CFA-8 */
	p += 5;
	put32(CIE, (uint32_t)(p - (image + CIE) - 4));
	p = image + FDE + 8;
	put32(FDE + 4, FDE + 4 - CIE);
	memcpy(p, pointers, pointer_bytes);
	p += pointer_bytes;
	if (augmentation[0] == 'z')
		*p++ = 0;
	memcpy(p, program, bytes);
	p += bytes;
	put32(FDE, (uint32_t)(p - (image + FDE) - 4));
}

static const uint8_t plain_encoding[] = {0x1b};

/* pcrel | sdata4 */
static const uint8_t *plain_pointers(void)
{
	static uint8_t pointers[8];
	uint32_t start = TEXT - (FDE + 8), range = 256;

	memcpy(pointers, &start, 4);
	memcpy(pointers + 4, &range, 4);
	return pointers;
}

static enum nvs_cfi_result find(uint32_t offset, struct nvs_cfi *cfi)
{
	memset(cfi, 0, sizeof(*cfi));
	return nvs_cfi_find(nvs_process->modules, (uintptr_t)image + TEXT + offset, cfi);
}

static void program(const void *bytes, size_t n)
{
	make_image("zR", plain_encoding, 1, plain_pointers(), 8, bytes, (uint8_t)n);
}

#define PROGRAM(...) program((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void test_program(void)
{
	struct nvs_cfi c;

	/* push %rbp; mov %rsp,%rbp; remember; leave; (cold part) restore */
	PROGRAM(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x20, 0x0a, 0x0c, 7, 8, 0xc6, 0x41,
		0x0b);
	CHECK(find(0, &c) == NVS_CFI_FOUND && c.cfa_register == 7 && c.cfa_offset == 8 &&
	      c.fp_rule == NVS_REG_SAME && c.ra_rule == NVS_REG_AT_CFA && c.ra_offset == -8);
	CHECK(find(1, &c) == NVS_CFI_FOUND && c.cfa_register == 7 && c.cfa_offset == 16 &&
	      c.fp_rule == NVS_REG_AT_CFA && c.fp_offset == -16);
	CHECK(find(4, &c) == NVS_CFI_FOUND && c.cfa_register == 6 && c.cfa_offset == 16);
	CHECK(find(0x24, &c) == NVS_CFI_FOUND && c.cfa_register == 7 && c.cfa_offset == 8 &&
	      c.fp_rule == NVS_REG_SAME);
	CHECK(find(0x25, &c) == NVS_CFI_FOUND && c.cfa_register == 6 && c.cfa_offset == 16 &&
	      c.fp_rule == NVS_REG_AT_CFA);
	CHECK(find(255, &c) == NVS_CFI_FOUND && find(256, &c) == NVS_CFI_NO_FUNCTION);
	CHECK(c.start == 0 && nvs_cfi_find(nvs_process->modules, (uintptr_t)image + TEXT - 1, &c) ==
				      NVS_CFI_NO_FUNCTION);
	CHECK(nvs_cfi_find(nvs_process->modules, (uintptr_t)image + 0x2000, &c) ==
	      NVS_CFI_NO_MODULE);

	/* The function that aligns its stack: CFA from r10, then from the word at rbp-8, rbp saved
	 * at rbp. */
	PROGRAM(0x45, 0x0c, 10, 0, 0x49, 0x10, 6, 2, 0x76, 0, 0x46, 0x0f, 3, 0x76, 0x78, 0x06);
	CHECK(find(5, &c) == NVS_CFI_FOUND && c.cfa_rule == NVS_CFA_REGISTER &&
	      c.cfa_register == 10);
	CHECK(find(20, &c) == NVS_CFI_FOUND && c.cfa_rule == NVS_CFA_LOADED &&
	      c.cfa_register == 6 && c.cfa_offset == -8 && c.fp_rule == NVS_REG_AT_FP &&
	      c.fp_offset == 0);

	/* An entry of the procedure linkage table: rsp + 8 + ((rip & 15) >= 11) * 8 */
	PROGRAM(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	CHECK(find(0, &c) == NVS_CFI_FOUND && c.cfa_rule == NVS_CFA_UNKNOWN);

	/* Signed and extended forms, args_size, rip undefined, rbp in another register. */
	PROGRAM(0x12, 7, 0x7e, 0x2e, 0x90, 0x01, 0x11, 6, 3, 0x41, 0x13, 0x7d, 0x2f, 6, 4, 0x41,
		0x09, 6, 3, 0x41, 0x07, 16, 0x08, 6, 0x41, 0x06, 16, 0x16, 6, 1, 0x50);
	CHECK(find(0, &c) == NVS_CFI_FOUND && c.cfa_offset == 16 && c.fp_offset == -24);
	CHECK(find(1, &c) == NVS_CFI_FOUND && c.cfa_offset == 24 && c.fp_offset == 32);
	CHECK(find(2, &c) == NVS_CFI_FOUND && c.fp_rule == NVS_REG_UNKNOWN);
	CHECK(find(3, &c) == NVS_CFI_FOUND && c.ra_rule == NVS_REG_UNDEFINED &&
	      c.fp_rule == NVS_REG_SAME);
	CHECK(find(4, &c) == NVS_CFI_FOUND && c.ra_rule == NVS_REG_AT_CFA && c.ra_offset == -8 &&
	      c.fp_rule == NVS_REG_UNKNOWN);

	/* advance_loc2, 4 and 8; set_loc of the same encoding as the FDE's pointers */
	PROGRAM(0x03, 0x10, 0x00, 0x0e, 16, 0x04, 0x10, 0, 0, 0, 0x0e, 24, 0x1d, 0x10, 0, 0, 0, 0,
		0, 0, 0, 0x0e, 32);
	CHECK(find(0x0f, &c) == NVS_CFI_FOUND && c.cfa_offset == 8);
	CHECK(find(0x10, &c) == NVS_CFI_FOUND && c.cfa_offset == 16);
	CHECK(find(0x2f, &c) == NVS_CFI_FOUND && c.cfa_offset == 24);
	CHECK(find(0x30, &c) == NVS_CFI_FOUND && c.cfa_offset == 32);

	/* Assembly that keeps the caller's RSP in r8, and what is said of it afterwards. */
	PROGRAM(0x09, 7, 8, 0x41, 0xc7);
	CHECK(find(0, &c) == NVS_CFI_FOUND && !c.sp_is_cfa);
	CHECK(find(1, &c) == NVS_CFI_FOUND && c.sp_is_cfa);

	/* What is not known is said to be so. */
	PROGRAM(0x3f);
	CHECK(find(0, &c) == NVS_CFI_BAD);
	PROGRAM(0x0b);
	CHECK(find(0, &c) == NVS_CFI_BAD);
	PROGRAM(0x0f, 0x7f, 0x77);
	CHECK(find(0, &c) == NVS_CFI_BAD);
}

static void test_encodings(void)
{
	static const uint8_t nop[] = {0x0e, 16};
	uint64_t absolute[2] = {(uintptr_t)image + TEXT, 256};
	uint8_t full[6] = {0x9b, 0, 0, 0, 0, 0x00}, datarel[1] = {0x3a};
	uint16_t relative[2] = {TEXT, 256};
	struct nvs_cfi c;

	/* Personality (indirect, not followed) and an absolute pointer; L after it. */
	uint8_t with_lsda[7];
	memcpy(with_lsda, full, 6);
	with_lsda[6] = 0x1b;
	make_image("zPRL", with_lsda, 7, (void *)absolute, 16, nop, 2);
	CHECK(find(3, &c) == NVS_CFI_FOUND && c.cfa_offset == 16 && !c.signal);
	make_image("zRS", (const uint8_t[]){0x3a}, 1, (void *)relative, 4, nop, 2);
	CHECK(find(3, &c) == NVS_CFI_FOUND && c.signal && c.start == (uintptr_t)image + TEXT);
	make_image("zR", datarel, 1, (void *)relative, 4, nop, 2);
	CHECK(find(3, &c) == NVS_CFI_FOUND && !c.signal && c.end == (uintptr_t)image + TEXT + 256);
	make_image("", NULL, 0, (void *)absolute, 16, nop, 2);
	CHECK(find(3, &c) == NVS_CFI_FOUND && c.cfa_offset == 16);
	make_image("zX", plain_encoding, 1, plain_pointers(), 8, nop, 2);
	CHECK(find(3, &c) == NVS_CFI_BAD);
	make_image("zR", (const uint8_t[]){0x9b}, 1, plain_pointers(), 8, nop, 2);
	CHECK(find(3, &c) == NVS_CFI_BAD);
	/* A table that is not sorted, or not there, or longer than its segment. */
	program(nop, 2);
	image[3] = 0xff;
	CHECK(find(3, &c) == NVS_CFI_NO_TABLE);
	program(nop, 2);
	put32(8, 3);
	CHECK(find(3, &c) == NVS_CFI_BAD);
	program(nop, 2);
	put32(16, 0x7fffff00);
	CHECK(find(3, &c) == NVS_CFI_BAD);
	image_info.dlpi_phnum = 1;
	CHECK(find(3, &c) == NVS_CFI_NO_TABLE);
	image_info.dlpi_phnum = 2;
}

/* Damaged bytes give some answer, soon, and never a fault that is not survived. */
static void test_damage(void)
{
	static const uint8_t bytes[] = {0x41, 0x0e, 16,	  0x86, 2,    0x43, 0x0d, 6,
					0x02, 0x20, 0x0a, 0x0c, 7,    8,    0xc6, 0x41,
					0x0b, 0x0f, 3,	  0x76, 0x78, 6,    0x2e, 0x10};
	uint32_t found = 0, bad = 0;
	struct nvs_cfi c;

	for (int i = 0; i < 200000; i++) {
		enum nvs_cfi_result r;

		program(bytes, sizeof(bytes));
		for (uint32_t k = next_random() % 4 + 1; k; k--)
			image[next_random() % 180] = (uint8_t)next_random();
		r = find(next_random() % 256, &c);
		found += r == NVS_CFI_FOUND;
		bad += r == NVS_CFI_BAD;
	}
	printf("damage, seed %u: %u found, %u bad\n", SEED, found, bad);
	CHECK(found > 1000 && bad > 1000);
}

static void on_segv(int sig, siginfo_t *info, void *uc)
{
	if (!nvs_trap_segv(info, uc))
		_exit(3);
}

/* The module went away after the snapshot was taken. */
static void test_gone(void)
{
	struct sigaction sa = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_NODEFER};
	struct nvs_cfi c;

	sigaction(SIGSEGV, &sa, NULL);
	PROGRAM(0x00);
	CHECK(find(0, &c) == NVS_CFI_FOUND);
	mprotect(image, 0x1000, PROT_NONE);
	CHECK(find(0, &c) == NVS_CFI_BAD);
	mprotect(image, 0x1000, PROT_READ | PROT_WRITE);
}

static void make_module(void)
{
	image = mmap(NULL, 0x2000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	image_phdrs[0] = (ElfW(Phdr)){
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 0x2000, .p_memsz = 0x2000};
	image_phdrs[1] = (ElfW(Phdr)){
		.p_type = PT_GNU_EH_FRAME, .p_flags = PF_R, .p_filesz = 20, .p_memsz = 20};
	image_info = (struct dl_phdr_info){.dlpi_addr = (uintptr_t)image,
					   .dlpi_name = "image",
					   .dlpi_phdr = image_phdrs,
					   .dlpi_phnum = 2};
	nvs_modules_publish(&image_view);
}

int main(void)
{
	struct nvs_trap_options options = {0};

	if (nvs_trap_init(&options))
		return 1;
	test_modules();
	/* What is made here has the register numbers of x86-64. */
	if (NVS_DW_RA == 16) {
		make_module();
		test_program();
		test_encodings();
		test_damage();
		test_gone();
	}
	return test_result();
}
