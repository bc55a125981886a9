/* SPDX-License-Identifier: MIT */
/*
 * Kernel code as NVIDIA's tools make it: fatbins, cubins, and the instructions in them. It knows
 * nothing of traces, of recorded programs and of reports, and both sides are linked with it.
 *
 * All of it may come from a stranger: every bound is checked, and what is handed out points into
 * the bytes that were handed in, which have to stay. Nothing is allocated but where a function
 * takes a struct nvs_sass_memory. Functions return 0 or -errno: -EINVAL what it is no such thing,
 * -EBADMSG what is broken or cut, -ENOTSUP what is not known, -ENOMEM.
 */
#ifndef NVSNOOP_SASS_SASS_H
#define NVSNOOP_SASS_SASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* GET gives SIZE bytes of zeros or NULL, PUT takes them back. */
struct nvs_sass_memory {
	void *(*get)(void *arg, size_t size);
	void (*put)(void *arg, void *p, size_t size);
	void *arg;
};

/* heap.c: the C library's, for programs of our own. */
extern const struct nvs_sass_memory nvs_sass_heap;

/* ---- image.c: what a program hands the driver, or a file holds ---- */

enum nvs_image_kind {
	NVS_IMAGE_NONE, /* none of these */
	NVS_IMAGE_CUBIN,
	NVS_IMAGE_FATBIN,
	NVS_IMAGE_PTX, /* text */
	NVS_IMAGE_HOST, /* an ELF for the CPU: .nv_fatbin may be in it */
};

struct nvs_image {
	enum nvs_image_kind kind;
	const uint8_t *data;
	size_t size; /* of PTX without the zero at its end */
};

/* What SIZE bytes at DATA are. The image may end before them. 0; -EINVAL: none; -EBADMSG: one that
 * is longer than SIZE. */
int nvs_image_of(const void *data, size_t size, struct nvs_image *image);

/* The same of a pointer as cuModuleLoadData() takes it, which has no length but what is told at it.
 * A wrapper (of cudaFatBinary's kind) is followed. Trusted as the driver trusts it. */
int nvs_image_at(const void *pointer, struct nvs_image *image);

/* Where a host's ELF keeps its fatbins: section by section; *AT is 0 at the beginning. */
bool nvs_image_next(const struct nvs_image *host, uint32_t *at, struct nvs_image *fatbin);

/* ---- fatbin.c ---- */

#define NVS_FATBIN_MAGIC 0xba55ed50u
#define NVS_FATBIN_WRAPPER 0x466243b1u

enum nvs_fatbin_kind {
	NVS_FATBIN_PTX = 1,
	NVS_FATBIN_CUBIN = 2,
	NVS_FATBIN_LTO = 8, /* NVVM's intermediate code */
};

/* Flags of an entry, as seen in what nvcc 12 and 13 write. */
#define NVS_FATBIN_64BIT (1u << 0)
#define NVS_FATBIN_LZ4 (1u << 13)
#define NVS_FATBIN_ZSTD (1u << 15)
#define NVS_FATBIN_SPECIFIC (1u << 20) /* sm_90a: for this architecture alone */
#define NVS_FATBIN_FAMILY (1u << 21) /* sm_100f: for its family */

struct nvs_fatbin_entry {
	uint16_t kind; /* enum nvs_fatbin_kind, or what is not known */
	uint32_t arch; /* 90 */
	uint64_t flags;
	const uint8_t *data; /* as it stands, without padding */
	size_t size;
	bool packed;
	size_t unpacked; /* bytes of it unpacked; what the entry says */
	const char *name, *options; /* "" where there are none; ptxas' options of PTX */
	uint32_t name_size, options_size; /* bytes: no zero may follow */
	const uint8_t *header; /* of the entry, and how far to the next one */
	size_t whole;
};

/* Entries, through all fatbins that stand behind each other in SIZE bytes at DATA. */
struct nvs_fatbin {
	const uint8_t *data;
	size_t size;
	size_t at, end; /* of the next entry, and of the fatbin that it is in: 0 at the beginning */
	bool broken; /* something did not fit; the rest is left out */
};

bool nvs_fatbin_next(struct nvs_fatbin *fatbin, struct nvs_fatbin_entry *entry);

/* *OUT: e->unpacked bytes, to be given back to MEMORY; a copy where the entry is not packed. 0,
 * -EBADMSG (also of one that claims to be more than NVS_FATBIN_RATIO times as long unpacked),
 * -ENOTSUP (a packing that is not known), -ENOMEM. */
#define NVS_FATBIN_RATIO 4096u
int nvs_fatbin_unpack(const struct nvs_fatbin_entry *e, const struct nvs_sass_memory *memory,
		      void **out);

/* Which of a fatbin's cubins the driver takes for a GPU of ARCH (90), by NVIDIA's rule: the same
 * major version and the highest minor one that is not above; of two alike the one that is for this
 * architecture alone. 0, or -ENOENT: only PTX can do. *PTX, where not NULL: the entry with PTX that
 * would be assembled then, its header NULL where there is none. */
int nvs_fatbin_choose(const void *data, size_t size, uint32_t arch, struct nvs_fatbin_entry *cubin,
		      struct nvs_fatbin_entry *ptx);

/* ---- cubin.c ---- */

struct nvs_cubin {
	const uint8_t *data;
	size_t size;
	uint32_t arch; /* 90 */
	bool specific; /* sm_90a */
	uint32_t flags; /* e_flags */
	uint8_t abi[2]; /* EI_OSABI and EI_ABIVERSION */
	uint16_t type; /* ET_EXEC 2, ET_REL 1 */
	uint32_t sections, symbols; /* how many */
	uint32_t symtab; /* section */
	uint64_t section_headers, program_headers; /* where */
	uint32_t segments; /* program headers */
	const char *names, *strings; /* of sections, of symbols */
	size_t names_size, strings_size;
};

/* Takes it apart as far as its tables go: all of them lie within SIZE, and what is read of
 * sections is no more than that. */
int nvs_cubin_open(struct nvs_cubin *cubin, const void *data, size_t size);

struct nvs_cubin_section {
	uint32_t index, type, link, info;
	uint64_t flags, address, offset, align, entry;
	uint64_t size; /* as it says */
	const char *name; /* "" where it has none that ends */
	const uint8_t *data; /* NULL: it has no bytes, or they are not in the file */
};

/* False: no such one. */
bool nvs_cubin_section(const struct nvs_cubin *cubin, uint32_t index, struct nvs_cubin_section *s);
bool nvs_cubin_section_named(const struct nvs_cubin *cubin, const char *name,
			     struct nvs_cubin_section *s);

struct nvs_cubin_symbol {
	uint32_t index;
	uint8_t type, bind, other; /* STT_*, STB_*, st_other: 0x10 on a kernel */
	uint32_t section;
	uint64_t value, size;
	const char *name;
};

bool nvs_cubin_symbol(const struct nvs_cubin *cubin, uint32_t index, struct nvs_cubin_symbol *s);

/* Attributes of .nv.info and its kin, by the numbers that ptxas writes. */
enum nvs_attribute_code {
	NVS_ATTR_CTAIDZ = 0x04,
	NVS_ATTR_MAX_THREADS = 0x05,
	NVS_ATTR_PARAM_CBANK = 0x0a,
	NVS_ATTR_REQNTID = 0x10,
	NVS_ATTR_FRAME_SIZE = 0x11,
	NVS_ATTR_MIN_STACK_SIZE = 0x12,
	NVS_ATTR_KPARAM_INFO = 0x17,
	NVS_ATTR_CBANK_PARAM_SIZE = 0x19,
	NVS_ATTR_MAXREG_COUNT = 0x1b,
	NVS_ATTR_EXIT_OFFSETS = 0x1c,
	NVS_ATTR_S2RCTAID_OFFSETS = 0x1d,
	NVS_ATTR_CRS_STACK_SIZE = 0x1e,
	NVS_ATTR_LD_CACHEMOD_OFFSETS = 0x25,
	NVS_ATTR_COOP_GROUP_OFFSETS = 0x28,
	NVS_ATTR_REGCOUNT = 0x2f,
	NVS_ATTR_INT_WARP_WIDE_OFFSETS = 0x31,
	NVS_ATTR_INDIRECT_BRANCH_TARGETS = 0x34,
	NVS_ATTR_CUDA_API_VERSION = 0x37,
	NVS_ATTR_MBARRIER_OFFSETS = 0x39,
	NVS_ATTR_CTA_PER_CLUSTER = 0x3d,
	NVS_ATTR_EXPLICIT_CLUSTER = 0x3e,
	NVS_ATTR_MAX_CLUSTER_RANK = 0x3f,
	NVS_ATTR_SYSCALL_OFFSETS = 0x46,
	NVS_ATTR_MEMBAR_SYS_OFFSETS = 0x47,
	NVS_ATTR_NUM_BARRIERS = 0x4c,
};

struct nvs_cubin_attribute {
	uint8_t format, code; /* 1: no value, 2: one byte, 3: two bytes, 4: SIZE bytes */
	uint16_t size; /* bytes of the value; of formats 1 to 3 the two that stand in the entry */
	const uint8_t *value;
	size_t at; /* of the entry in its section; the value stands 2 (formats 1 to 3) or 4 behind
		    */
};

/* *AT is 0 at the beginning. False: no more; *AT is the section's size then unless it is broken. */
bool nvs_cubin_attribute(const struct nvs_cubin_section *s, size_t *at,
			 struct nvs_cubin_attribute *a);

/* Kernels and device functions that have a symbol. Figures are UINT32_MAX where nothing says. */
struct nvs_cubin_function {
	const char *name; /* mangled */
	bool kernel; /* else a function that kernels call */
	uint32_t symbol, section; /* its code's */
	uint32_t info; /* section .nv.info.NAME of the kernel whose section it is in; 0: none */
	uint64_t offset; /* in the section */
	const uint8_t *code;
	size_t size; /* bytes */
	uint32_t registers, uniform_registers; /* the latter: where the cubin says */
	uint32_t frame, stack, shared, local, constant, parameters; /* bytes */
	uint32_t barriers; /* named ones */
	uint32_t max_threads; /* of a block, by __launch_bounds__ */
	uint32_t max_registers;
	uint32_t registers_at; /* offset in .nv.info of the attribute's value; UINT32_MAX: none */
};

/* In the order of their symbols; in time linear to the cubin. To be given back by
 * nvs_cubin_functions_free(). */
struct nvs_cubin_functions {
	struct nvs_cubin_function *function;
	uint32_t n;
	size_t bytes;
};

int nvs_cubin_functions(const struct nvs_cubin *cubin, const struct nvs_sass_memory *memory,
			struct nvs_cubin_functions *functions);
void nvs_cubin_functions_free(struct nvs_cubin_functions *functions,
			      const struct nvs_sass_memory *memory);

/* ---- insn.c: one instruction ---- */

/* Of which architecture's form code is: how wide instructions are and how they are controlled. */
enum nvs_sass_form {
	NVS_SASS_UNKNOWN,
	NVS_SASS_KEPLER, /* sm_30 to 37: 8 words of 64 bits, the first controls seven */
	NVS_SASS_MAXWELL, /* sm_50 to 62: 4 words of 64 bits, the first controls three */
	NVS_SASS_VOLTA, /* sm_70 to 89: words of 128 bits, each with control fields of its own */
	NVS_SASS_HOPPER, /* sm_90: branches are laid out anew */
	NVS_SASS_BLACKWELL, /* sm_100 on: control fields and branches as Hopper's */
};

enum nvs_sass_form nvs_sass_form(uint32_t arch);

/* Control fields: what the scheduler is told. */
struct nvs_sass_control {
	uint8_t stall; /* cycles until the next one may issue */
	bool yield; /* the bit as it stands: 0 asks to prefer another warp on Volta and newer */
	uint8_t write_barrier, read_barrier; /* 0 to 5; 7: none */
	uint8_t wait; /* mask of six */
	uint8_t reuse; /* mask of source operands that are kept */
};

struct nvs_sass_insn {
	uint32_t at; /* bytes from the beginning of the code */
	uint64_t lo, hi; /* the word; hi is 0 where it has 64 bits */
	uint16_t opcode; /* 12 bits, with the form of operands */
	uint8_t predicate; /* 0 to 6; 7: PT */
	bool negated;
	struct nvs_sass_control control;
};

/* How many instructions SIZE bytes of code are, and the N-th of them. False: no such one. */
size_t nvs_sass_insn_count(enum nvs_sass_form form, size_t size);
bool nvs_sass_insn(enum nvs_sass_form form, const uint8_t *code, size_t size, size_t n,
		   struct nvs_sass_insn *insn);

/* Bits of the word of Volta and newer: N of them, 63 at most, from bit AT (0 to 127) on. */
static inline uint64_t nvs_sass_insn_bits(const struct nvs_sass_insn *insn, unsigned at, unsigned n)
{
	uint64_t v = at < 64 ? insn->lo >> at : insn->hi >> (at - 64);

	if (at && at < 64)
		v |= insn->hi << (64 - at);
	return v & ((1ull << n) - 1);
}

/* Opcode without the form of its operands: of Volta and newer. */
static inline uint16_t nvs_sass_insn_op(const struct nvs_sass_insn *insn)
{
	return insn->opcode & 0x1ff;
}

enum nvs_flow {
	NVS_FLOW_NEXT, /* on to the next one, nothing else */
	NVS_FLOW_BRANCH, /* BRA, BRA.U, JMP */
	NVS_FLOW_INDIRECT, /* BRX, JMX: its targets stand in .nv.info */
	NVS_FLOW_CALL,
	NVS_FLOW_RETURN,
	NVS_FLOW_EXIT,
	NVS_FLOW_BSSY, /* names where the warp meets again */
	NVS_FLOW_BSYNC,
	NVS_FLOW_WARPSYNC,
	NVS_FLOW_TRAP, /* BPT, KILL, RTT */
	NVS_FLOW_OTHER, /* BREAK, YIELD, BMOV, NANOSLEEP, LEPC: on to the next one */
	NVS_FLOW_UNKNOWN, /* a control instruction that is not known */
};

struct nvs_sass_flow {
	enum nvs_flow flow;
	bool target_known;
	int64_t target; /* bytes from the beginning of the code; of BRA, CALL.REL, BSSY, WARPSYNC */
	bool falls; /* the next one may be run after it; of a CALL when it comes back */
	bool ends; /* a block ends behind it */
	bool active; /* the set of active threads may be another one afterwards */
};

/* Volta and newer; of other forms NVS_FLOW_UNKNOWN. */
void nvs_sass_insn_flow(const struct nvs_sass_insn *insn, enum nvs_sass_form form,
			struct nvs_sass_flow *flow);

/* Registers that an instruction reads and writes; rather too many than too few, and ALL when
 * nothing is known of it. RZ, URZ, PT and UPT are in none. */
struct nvs_sass_registers {
	uint64_t vector[4]; /* R0 to R254 */
	uint64_t uniform; /* UR0 to UR62 */
	uint8_t predicate, uniform_predicate; /* P0 to P6 */
};

struct nvs_sass_insn_use {
	struct nvs_sass_registers read, written;
	/* Written for certain: each bit, whatever the thread; without a predicate. */
	bool whole;
	bool known; /* false: all registers stand in both */
	bool late; /* sources may be read after it has issued: a read barrier or more says when */
};

void nvs_sass_insn_use(const struct nvs_sass_insn *insn, enum nvs_sass_form form,
		       struct nvs_sass_insn_use *use);

/* The registers in an instruction's three places for sources, of which reuse bits are;
 * NVS_SASS_NONE: none is there, or RZ. Of Volta and newer; of memory and control none. */
#define NVS_SASS_NONE 255
void nvs_sass_insn_sources(const struct nvs_sass_insn *insn, uint8_t source[3]);

/* ---- tally.c: what a function's code says of itself ---- */

struct nvs_sass_tally {
	uint64_t instructions; /* NOPs behind the last one, which fill up, are not counted */
	uint64_t stall[16]; /* instructions by their cycles */
	uint64_t yields; /* that ask for another warp */
	uint64_t waits; /* that wait for a barrier */
	uint64_t sets[2]; /* that set one: when what they write, when what they read is done */
	uint8_t barriers; /* mask of those that are set or waited for */
	uint64_t sources,
		reused; /* registers read in the three places, and of them from the cache */
	/* With three different registers to read, and those of them in one bank of two. */
	uint64_t threes, conflicts;
	uint64_t uniform; /* of the warp's own path */
	uint32_t uniform_registers; /* the highest one that a known instruction names, and one */
	uint64_t branches; /* that may be taken or not, or go to several places */
	uint64_t unknown; /* opcodes that are in no row of ours */
};

/* How many instructions a function's code has, without the branch to itself and the NOPs with which
 * ptxas fills it up. */
size_t nvs_sass_code_count(const uint8_t *code, size_t size, enum nvs_sass_form form);
void nvs_sass_tally(const uint8_t *code, size_t size, enum nvs_sass_form form,
		    struct nvs_sass_tally *tally);

/* ---- blocks.c: a function's basic blocks ---- */

struct nvs_sass_block {
	uint32_t first, last; /* instructions, both included */
	bool reached; /* from the entry, or an entry that a symbol or an attribute names */
};

struct nvs_sass_blocks {
	struct nvs_sass_block *block; /* in the order of the code; they cover all of it */
	uint32_t n;
	uint32_t instructions;
	uint32_t unknown; /* control instructions that are not known, outside targets among them */
	uint32_t unknown_at; /* bytes: of the first of these */
	size_t bytes;
};

int nvs_sass_blocks(const struct nvs_cubin *cubin, const struct nvs_cubin_function *function,
		    const struct nvs_sass_memory *memory, struct nvs_sass_blocks *blocks);
void nvs_sass_blocks_free(struct nvs_sass_blocks *blocks, const struct nvs_sass_memory *memory);

#endif
