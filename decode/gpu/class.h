/* SPDX-License-Identifier: MIT */
/*
 * What NVIDIA calls the methods of a class, their fields and the values of those; and the fields of
 * the launch descriptors (QMD). Made at build time from the tables in decode/gpu/classes.
 *
 * Everything is constant and addressed by number, so nothing is set up at run time and any thread
 * may look anything up. Strings are offsets into one pool: nvs_str().
 */
#ifndef NVSNOOP_DECODE_GPU_CLASS_H
#define NVSNOOP_DECODE_GPU_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nvs_class_kind {
	NVS_KIND_COMPUTE,
	NVS_KIND_COPY,
	NVS_KIND_INLINE,
	NVS_KIND_HOST,
	NVS_KIND_2D,
	NVS_KIND_3D,
	NVS_KINDS,
};

struct nvs_enum {
	uint32_t value;
	uint32_t name;
	uint16_t classes; /* QMD: bit per entry of nvs_qmd_version.classes, 0 all */
	uint16_t length; /* of the name */
};

enum nvs_field_flags {
	NVS_FIELD_DENSE = 1, /* its values are 0, 1, 2, ... in order */
	NVS_FIELD_TELL_ZERO = 2, /* 0 has a name, and says more than that something is off */
};

/* Bits [hi, lo] of the method's data word. hi 255: a constant, whose value stands in values. */
struct nvs_field {
	uint32_t name;
	uint32_t values; /* first of nvalues in nvs_values */
	uint8_t hi, lo;
	uint16_t nvalues;
	uint16_t length; /* of the name */
	uint16_t flags; /* enum nvs_field_flags */
};

/* Element i of an array stands at offset + i * stride; count 1: no array. */
struct nvs_method {
	uint16_t offset; /* bytes */
	uint16_t count;
	uint16_t stride; /* bytes */
	uint16_t back; /* how many entries before this one may still cover what follows it */
	uint32_t name;
	uint32_t fields; /* first of nfields in nvs_fields */
	uint16_t nfields;
	uint16_t bound; /* count is only a bound: up to the next method */
	uint16_t cls; /* whose header has it: its table's class, or one that this inherits from */
	uint16_t length; /* of the name */
};

struct nvs_class {
	uint16_t id; /* 0xcbc0 */
	uint16_t kind; /* enum nvs_class_kind */
	uint16_t fallback; /* class asked for what this one lacks; 0: none */
	uint16_t assume; /* class whose methods this one is assumed to have; 0: none */
	uint16_t descriptors; /* class whose versions of descriptors it has; 0: none */
	uint32_t name;
	uint32_t methods, nmethods; /* sorted by offset */
	uint32_t formats, nformats; /* what else its headers define: of entries, constants */
};

/* Bits in the whole descriptor; element [i][j] is stride * i + stride2 * j higher. count 0: not
 * known. */
struct nvs_qmd_field {
	uint32_t name;
	uint32_t values;
	uint16_t hi, lo;
	uint16_t count, stride, stride2; /* strides in bits */
	uint16_t classes; /* bit per entry of nvs_qmd_version.classes, 0 all */
	uint16_t nvalues;
};

struct nvs_qmd_version {
	uint16_t major, minor;
	uint16_t major_hi, major_lo, minor_hi, minor_lo; /* where a descriptor has these two */
	uint16_t bytes; /* of a descriptor */
	uint16_t nclasses;
	uint16_t classes[8];
	uint32_t fields, nfields; /* sorted by position */
};

extern const char nvs_class_strings[];
extern const struct nvs_enum nvs_values[];
extern const struct nvs_field nvs_fields[], nvs_formats[];
extern const struct nvs_method nvs_methods[];
extern const struct nvs_class nvs_classes[]; /* sorted by id */
extern const uint32_t nvs_nclasses;
extern const struct nvs_qmd_field nvs_qmd_fields[];
extern const struct nvs_qmd_version nvs_qmd_versions[]; /* sorted by version */
extern const uint32_t nvs_nqmd_versions;
/* For each kind the class that stands in for those that are not known; 0: none does. */
extern const uint16_t nvs_default_classes[];

static inline const char *nvs_str(uint32_t offset)
{
	return nvs_class_strings + offset;
}

static inline uint32_t nvs_field_get(const struct nvs_field *f, uint32_t word)
{
	return word >> f->lo & (0xffffffffu >> (31 - (f->hi - f->lo)));
}

/* "compute", "dma-copy", ... */
const char *nvs_class_kind_name(uint32_t kind);

/* NULL: no table. */
const struct nvs_class *nvs_class_find(uint32_t id);
/* "HOPPER_COMPUTE_A" or "cbc0", in either case; NULL: none such. */
const struct nvs_class *nvs_class_by_name(const char *name);

/* A method found by its offset. */
struct nvs_method_at {
	const struct nvs_method *method;
	const struct nvs_class
		*cls; /* the one whose table it stands in: not always the one asked */
	uint32_t index; /* in the array, 0 for no array */
	bool assumed; /* found through a class that is only assumed to be the same */
};

/* OFFSET in bytes. False: no such method, *at is zeroed. */
bool nvs_method_find(const struct nvs_class *cls, uint32_t offset, struct nvs_method_at *at);
/* By NVIDIA's name, fallbacks included; NULL: none. */
const struct nvs_method *nvs_method_by_name(const struct nvs_class *cls, const char *name);
/* NULL: the method is NULL or has no such field. */
const struct nvs_field *nvs_field_by_name(const struct nvs_method *method, const char *name);
/* A format (GP_ENTRY1_LENGTH, ...) of a host class; NULL: none. */
const struct nvs_field *nvs_format_by_name(const struct nvs_class *cls, const char *name);
/* The first of FIELD's values that is VALUE; NULL: none. */
static inline const struct nvs_enum *nvs_value_find(const struct nvs_field *field, uint32_t value)
{
	const struct nvs_enum *v = nvs_values + field->values;

	if (field->flags & NVS_FIELD_DENSE)
		return value < field->nvalues ? v + value : NULL;
	for (uint32_t i = 0; i < field->nvalues; i++) {
		if (v[i].value == value)
			return v + i;
	}
	return NULL;
}

/* Name of VALUE, the first where it has several; NULL: none. */
const char *nvs_value_name(const struct nvs_field *field, uint32_t value);

/* NULL: no table. */
const struct nvs_qmd_version *nvs_qmd_version_find(uint32_t major, uint32_t minor);
/* The field NAME as class CLS has it (0: any). NULL: none. */
const struct nvs_qmd_field *nvs_qmd_field_by_name(const struct nvs_qmd_version *version,
						  uint32_t cls, const char *name);
/* Bit of CLS in the masks of VERSION, or 0 where neither it nor the class whose descriptors it has
 * is listed there. */
uint32_t nvs_qmd_class_bit(const struct nvs_qmd_version *version, uint32_t cls);

/* Classes of a chip, for subchannels of which the trace says nothing. */
struct nvs_chip {
	uint32_t architecture, implementation; /* implementation UINT32_MAX: all others */
	uint16_t classes[NVS_KINDS]; /* 0: not known */
};
extern const struct nvs_chip nvs_chips[]; /* those that name an implementation first */
extern const uint32_t nvs_nchips;
/* By NV2080_CTRL_MC_ARCH_INFO (0x180 Hopper). NULL: unknown chip. */
const struct nvs_chip *nvs_chip_find(uint32_t architecture, uint32_t implementation);

#endif
