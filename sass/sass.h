/* SPDX-License-Identifier: MIT */
/* Parses kernel code as NVIDIA's tools produce it: fatbins, cubins and their instructions. It is
 * independent of traces and reports, and is linked into the preloaded library and the tools. */
#ifndef NVSNOOP_SASS_SASS_H
#define NVSNOOP_SASS_SASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Input may come from a stranger: every bound is checked. Results point into the input bytes, which
 * must stay. Memory is allocated only by functions that take a struct nvs_sass_memory. Functions
 * return 0 or -errno: -EINVAL not this kind of data, -EBADMSG damaged or truncated, -ENOTSUP
 * unknown format, -ENOMEM.
 */

/* GET returns SIZE zeroed bytes or NULL, PUT frees them. */
struct nvs_sass_memory {
	void *(*get)(void *arg, size_t size);
	void (*put)(void *arg, void *p, size_t size);
	void *arg;
};

/* heap.c: malloc and free, for our own programs. */
extern const struct nvs_sass_memory nvs_sass_heap;

/* ---- image.c: data that a program passes to the driver, or that a file contains ---- */

enum nvs_image_kind {
	NVS_IMAGE_NONE, /* none of these */
	NVS_IMAGE_CUBIN,
	NVS_IMAGE_FATBIN,
	NVS_IMAGE_PTX, /* text */
	NVS_IMAGE_HOST, /* an ELF file for the CPU, which may contain .nv_fatbin */
};

struct nvs_image {
	enum nvs_image_kind kind;
	const uint8_t *data;
	size_t size; /* of PTX without the final zero */
};

/* Identifies the SIZE bytes at DATA. The image may end before them. Returns 0, -EINVAL if it is not
 * an image, -EBADMSG if the image is longer than SIZE. */
int nvs_image_of(const void *data, size_t size, struct nvs_image *image);

/* The same for a pointer as passed to cuModuleLoadData(), whose length is only in the data itself.
 * A wrapper (of cudaFatBinary's kind) is followed. The data is trusted as the driver trusts it. */
int nvs_image_at(const void *pointer, struct nvs_image *image);

/* Iterates over the sections with fatbins of a host's ELF file; *AT is 0 at the beginning. */
bool nvs_image_next(const struct nvs_image *host, uint32_t *at, struct nvs_image *fatbin);

/* ---- fatbin.c ---- */

#define NVS_FATBIN_MAGIC 0xba55ed50u
#define NVS_FATBIN_WRAPPER 0x466243b1u

enum nvs_fatbin_kind {
	NVS_FATBIN_PTX = 1,
	NVS_FATBIN_CUBIN = 2,
	NVS_FATBIN_LTO = 8, /* NVVM's intermediate code */
};

/* Flags of an entry, as observed in the output of nvcc 12 and 13. */
#define NVS_FATBIN_64BIT (1u << 0)
#define NVS_FATBIN_LZ4 (1u << 13)
#define NVS_FATBIN_ZSTD (1u << 15)
#define NVS_FATBIN_SPECIFIC (1u << 20) /* sm_90a: for this architecture only */
#define NVS_FATBIN_FAMILY (1u << 21) /* sm_100f: for its family */

struct nvs_fatbin_entry {
	uint16_t kind; /* enum nvs_fatbin_kind, or an unknown value */
	uint32_t arch; /* 90 */
	uint64_t flags;
	const uint8_t *data; /* as stored, without padding */
	size_t size;
	bool packed;
	size_t unpacked; /* unpacked size in bytes, according to the entry */
	const char *name, *options; /* "" if there are none; options: ptxas options of PTX */
	uint32_t name_size, options_size; /* bytes: not necessarily terminated by a zero */
	const uint8_t *header; /* header of the entry, and distance to the next one */
	size_t whole;
};

/* Iterates over the entries of all fatbins that follow one another in SIZE bytes at DATA. */
struct nvs_fatbin {
	const uint8_t *data;
	size_t size;
	/* of the next entry, and end of the fatbin that contains it: 0 at the beginning */
	size_t at, end;
	bool broken; /* something was inconsistent; the rest is skipped */
};

bool nvs_fatbin_next(struct nvs_fatbin *fatbin, struct nvs_fatbin_entry *entry);

/*
 * *OUT: e->unpacked bytes, to be freed through MEMORY; a copy if the entry is not packed. Returns
 * 0, -EBADMSG (also if the entry claims to unpack to more than NVS_FATBIN_RATIO times its size),
 * -ENOTSUP (unknown compression), -ENOMEM.
 */
#define NVS_FATBIN_RATIO 4096u
int nvs_fatbin_unpack(const struct nvs_fatbin_entry *e, const struct nvs_sass_memory *memory,
		      void **out);

/*
 * Chooses the cubin that the driver takes for a GPU of ARCH (90), by NVIDIA's rule: same major
 * version and the highest minor version that is not above; of two equal ones that for this
 * architecture only. Returns 0, or -ENOENT if only PTX is usable. *PTX, if not NULL: the entry with
 * the PTX that would be assembled, its header NULL if there is none.
 */
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
	uint32_t sections, symbols; /* number of them */
	uint32_t symtab; /* section index of the symbol table */
	uint64_t section_headers, program_headers; /* file offsets */
	uint32_t segments; /* number of program headers */
	const char *names, *strings; /* of sections, of symbols */
	size_t names_size, strings_size;
};

/* Opens a cubin and checks that all tables are within SIZE, and that the sections that are read do
 * not add up to more than that. */
int nvs_cubin_open(struct nvs_cubin *cubin, const void *data, size_t size);

struct nvs_cubin_section {
	uint32_t index, type, link, info;
	uint64_t flags, address, offset, align, entry;
	uint64_t size; /* according to its header */
	const char *name; /* "" if it has none, or one that is not terminated */
	const uint8_t *data; /* NULL: it has no bytes, or they are not in the file */
};

/* Returns false if there is none. */
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

/* Attributes of .nv.info and its variants, with the numbers that ptxas writes. */
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
	/* bytes of the value; of formats 1 to 3 the two bytes that the entry contains */
	uint16_t size;
	const uint8_t *value;
	/* offset of the entry in its section; the value is 2 (formats 1 to 3) or 4 bytes after
	 * it */
	size_t at;
};

/* Iterates over attributes; *AT is 0 at the beginning. Returns false at the end; *AT is then the
 * section's size, unless it is damaged. */
bool nvs_cubin_attribute(const struct nvs_cubin_section *s, size_t *at,
			 struct nvs_cubin_attribute *a);

/* Kernels and device functions that have a symbol. Unknown figures are UINT32_MAX. */
struct nvs_cubin_function {
	const char *name; /* mangled */
	bool kernel; /* false: a function that kernels call */
	uint32_t symbol, section; /* symbol and section of its code */
	uint32_t info; /* section .nv.info.NAME of the kernel in whose section it is; 0: none */
	uint64_t offset; /* in the section */
	const uint8_t *code;
	size_t size; /* bytes */
	uint32_t registers, uniform_registers; /* uniform_registers: if the cubin has the figure */
	uint32_t frame, stack, shared, local, constant, parameters; /* bytes */
	uint32_t barriers; /* named barriers */
	uint32_t max_threads; /* of a block, from __launch_bounds__ */
	uint32_t max_registers;
	uint32_t registers_at; /* offset in .nv.info of the attribute's value; UINT32_MAX: none */
};

/* Lists functions in the order of their symbols, in time linear in the cubin's size. Free them with
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

/* ---- line.c: lines of the source ---- */

struct nvs_cubin_line {
	const char *file, *folder; /* as the compiler was given them; "": unknown */
	uint32_t line;
};

/* The source line of the instruction at OFFSET in a section of code. Returns false if the cubin has
 * no such line: it was not compiled with -lineinfo, or is linked. Takes time linear in the lines.
 */
bool nvs_cubin_line(const struct nvs_cubin *cubin, uint32_t section, uint64_t offset,
		    struct nvs_cubin_line *line);

/* ---- insn.c: one instruction ---- */

/* Instruction format of an architecture: the width of instructions and how they are controlled. */
enum nvs_sass_form {
	NVS_SASS_UNKNOWN,
	NVS_SASS_KEPLER, /* sm_30 to 37: 8 words of 64 bits, the first controls seven */
	NVS_SASS_MAXWELL, /* sm_50 to 62: 4 words of 64 bits, the first controls three */
	NVS_SASS_VOLTA, /* sm_70 to 89: words of 128 bits, each with its own control fields */
	NVS_SASS_HOPPER, /* sm_90: branches have another format */
	NVS_SASS_BLACKWELL, /* sm_100 on: control fields and branches as on Hopper */
};

enum nvs_sass_form nvs_sass_form(uint32_t arch);

/* Control fields: instructions to the scheduler. */
struct nvs_sass_control {
	uint8_t stall; /* cycles until the next one may issue */
	bool yield; /* the bit as stored: 0 asks to prefer another warp on Volta and newer */
	uint8_t write_barrier, read_barrier; /* 0 to 5; 7: none */
	uint8_t wait; /* mask of six */
	uint8_t reuse; /* mask of source operands that stay in the reuse cache */
};

struct nvs_sass_insn {
	uint32_t at; /* bytes from the beginning of the code */
	uint64_t lo, hi; /* the word; hi is 0 if it has 64 bits */
	uint16_t opcode; /* 12 bits, including the form of operands */
	uint8_t predicate; /* 0 to 6; 7: PT */
	bool negated;
	struct nvs_sass_control control;
};

/* Number of instructions in SIZE bytes of code, and the N-th one. Returns false if there is none.
 *  */
size_t nvs_sass_insn_count(enum nvs_sass_form form, size_t size);
bool nvs_sass_insn(enum nvs_sass_form form, const uint8_t *code, size_t size, size_t n,
		   struct nvs_sass_insn *insn);

/* Extracts N bits, at most 63, from bit AT (0 to 127) on. For Volta and newer. */
static inline uint64_t nvs_sass_insn_bits(const struct nvs_sass_insn *insn, unsigned at, unsigned n)
{
	uint64_t v = at < 64 ? insn->lo >> at : insn->hi >> (at - 64);

	if (at && at < 64)
		v |= insn->hi << (64 - at);
	return v & ((1ull << n) - 1);
}

/* Opcode without the form of its operands. For Volta and newer. */
static inline uint16_t nvs_sass_insn_op(const struct nvs_sass_insn *insn)
{
	return insn->opcode & 0x1ff;
}

enum nvs_flow {
	NVS_FLOW_NEXT, /* continues with the next instruction, nothing else */
	NVS_FLOW_BRANCH, /* BRA, BRA.U, JMP */
	NVS_FLOW_INDIRECT, /* BRX, JMX: its targets are in .nv.info */
	NVS_FLOW_CALL,
	NVS_FLOW_RETURN,
	NVS_FLOW_EXIT,
	NVS_FLOW_BSSY, /* names the place where the warp reconverges */
	NVS_FLOW_BSYNC,
	NVS_FLOW_WARPSYNC,
	NVS_FLOW_TRAP, /* BPT, KILL, RTT */
	/* BREAK, YIELD, BMOV, NANOSLEEP, LEPC: continues with the next instruction */
	NVS_FLOW_OTHER,
	NVS_FLOW_UNKNOWN, /* an unknown control instruction */
};

struct nvs_sass_flow {
	enum nvs_flow flow;
	bool target_known;
	int64_t target; /* byte offset in the code; for BRA, CALL.REL, BSSY, WARPSYNC */
	bool falls; /* the next instruction may run after it; for a CALL, when it returns */
	bool ends; /* a block ends after it */
	bool active; /* the set of active threads may change */
};

/* For Volta and newer; for other forms NVS_FLOW_UNKNOWN. */
void nvs_sass_insn_flow(const struct nvs_sass_insn *insn, enum nvs_sass_form form,
			struct nvs_sass_flow *flow);

/* Registers that an instruction reads and writes: too many rather than too few, and all of them if
 * the instruction is unknown. RZ, URZ, PT and UPT are never included. */
struct nvs_sass_registers {
	uint64_t vector[4]; /* R0 to R254 */
	uint64_t uniform; /* UR0 to UR62 */
	uint8_t predicate, uniform_predicate; /* P0 to P6 */
};

struct nvs_sass_insn_use {
	struct nvs_sass_registers read, written;
	/* All bits of `written` are written for certain, in all threads, without a predicate. */
	bool whole;
	bool known; /* false: both sets contain all registers */
	/* sources may be read after the instruction has issued, until a read barrier or later */
	bool late;
};

void nvs_sass_insn_use(const struct nvs_sass_insn *insn, enum nvs_sass_form form,
		       struct nvs_sass_insn_use *use);
/* Mnemonic of an instruction without its operands: "STG"; NULL: unknown. For Volta and newer. */
const char *nvs_sass_insn_name(const struct nvs_sass_insn *insn);

/*
 * Registers in the three source operands of an instruction, to which the reuse bits apply;
 * NVS_SASS_NONE: no register, or RZ. For Volta and newer; none for memory and control instructions.
 */
#define NVS_SASS_NONE 255
void nvs_sass_insn_sources(const struct nvs_sass_insn *insn, uint8_t source[3]);

/* ---- tally.c: statistics of a function's code ---- */

struct nvs_sass_tally {
	uint64_t instructions; /* without the NOPs that pad its end */
	uint64_t stall[16]; /* instructions by stall cycles */
	uint64_t yields; /* instructions that ask for another warp */
	uint64_t waits; /* instructions that wait for a barrier */
	/* instructions that set one: when their results are written, when their sources are read */
	uint64_t sets[2];
	uint8_t barriers; /* mask of the barriers that are set or waited for */
	uint64_t sources,
		/* registers read as source operands, and those of them from the reuse cache */
		reused;
	/* instructions with three different registers to read, and those with all in one of two
	 * banks */
	uint64_t threes, conflicts;
	uint64_t uniform; /* instructions of the warp's uniform datapath */
	uint32_t uniform_registers; /* highest register that a known instruction names, plus one */
	uint64_t branches; /* that are conditional, or have several targets */
	uint64_t unknown; /* instructions with an opcode that is not in our table */
};

/* Number of instructions of a function's code, without the branch to itself and the NOPs with which
 * ptxas pads it. */
size_t nvs_sass_code_count(const uint8_t *code, size_t size, enum nvs_sass_form form);
void nvs_sass_tally(const uint8_t *code, size_t size, enum nvs_sass_form form,
		    struct nvs_sass_tally *tally);

/* ---- parameter_use.c: what a kernel does with the memory that its parameters point to ---- */

/* Bit i is the 8-byte word i of the parameters; the last bit is the 64th and all further ones. */
struct nvs_sass_parameter_use {
	uint64_t loaded, stored; /* memory at this address is read, written */
	uint64_t added; /* written by atomic operations */
	/* Its memory may be used in ways that cannot be followed: the word was stored to memory, or
	 * an instruction or function is not known. */
	uint64_t unknown;
	/* It waits for the kernel before it in its stream, which with programmatic stream
	 * serialization may still be running. */
	bool waits;
};

/* For Volta and newer. Returns 0, -ENOTSUP or -ENOMEM. */
int nvs_sass_parameter_use(const struct nvs_cubin *cubin, const struct nvs_cubin_function *kernel,
			   const struct nvs_sass_memory *memory,
			   struct nvs_sass_parameter_use *use);

#endif
