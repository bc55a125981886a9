/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA's names of classes' methods, their fields and field values, and of the fields of launch
 * descriptors (QMD). Generated at build time from the tables in decode/gpu/classes.
 *
 * All data is constant and addressed by number: nothing is initialised at run time, and any thread
 * may look names up. Strings are offsets into one pool, see nvs_class_string().
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
	uint16_t classes; /* QMD: bit per entry of nvs_qmd_version.classes, 0: all */
	uint16_t length; /* of the name */
};

enum nvs_field_flags {
	NVS_FIELD_DENSE = 1, /* its values are 0, 1, 2, ... */
	NVS_FIELD_SHOW_ZERO = 2, /* print the name of the value 0 too; 0 is not merely "off" */
};

/* Bits [hi, lo] of the method's data word. hi is 255 for a constant, whose value is in values. */
struct nvs_field {
	uint32_t name;
	uint32_t values; /* first of nvalues in nvs_values */
	uint8_t hi, lo;
	uint16_t nvalues;
	uint16_t length; /* of the name */
	uint16_t flags; /* enum nvs_field_flags */
};

/* Element i of an array is at offset + i * stride; count is 1 for a method that is no array. */
struct nvs_method {
	uint16_t offset; /* bytes */
	uint16_t count;
	uint16_t stride; /* bytes */
	uint16_t back; /* how many preceding entries may also cover offsets after this one */
	uint32_t name;
	uint32_t fields; /* first of nfields in nvs_fields */
	uint16_t nfields;
	uint16_t bound; /* count is only an upper bound: up to the next method */
	uint16_t cls; /* class whose header defines it: the table's own, or one that it inherits
		       * from */
	uint16_t length; /* of the name */
};

struct nvs_class {
	uint16_t id; /* 0xcbc0 */
	uint16_t kind; /* enum nvs_class_kind */
	uint16_t fallback; /* class searched for methods that this one lacks; 0: none */
	uint16_t assume; /* class whose methods this one is assumed to have; 0: none */
	uint16_t descriptors; /* class whose QMD versions it uses; 0: none */
	uint32_t name;
	uint32_t methods, nmethods; /* sorted by offset */
	uint32_t formats, nformats; /* other definitions of its headers: entry formats, constants */
};

/* Positions are bits in the whole descriptor; element [i][j] is stride * i + stride2 * j bits
 * further. count is 0 if unknown. */
struct nvs_qmd_field {
	uint32_t name;
	uint32_t values;
	uint16_t hi, lo;
	uint16_t count, stride, stride2; /* strides in bits */
	uint16_t classes; /* bit per entry of nvs_qmd_version.classes, 0: all */
	uint16_t nvalues;
};

struct nvs_qmd_version {
	uint16_t major, minor;
	uint16_t major_hi, major_lo, minor_hi, minor_lo; /* position of the two in a descriptor */
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
/* For each kind, the class assumed where it is unknown; 0: none. */
extern const uint16_t nvs_default_classes[];

static inline const char *nvs_class_string(uint32_t offset)
{
	return nvs_class_strings + offset;
}

static inline uint32_t nvs_field_get(const struct nvs_field *f, uint32_t word)
{
	return word >> f->lo & (0xffffffffu >> (31 - (f->hi - f->lo)));
}

/* "compute", "dma-copy", ... */
const char *nvs_class_kind_name(uint32_t kind);

/* Returns NULL if there is no table for it. */
const struct nvs_class *nvs_class_find(uint32_t id);
/* Finds "HOPPER_COMPUTE_A" or "cbc0", ignoring case. Returns NULL if there is none. */
const struct nvs_class *nvs_class_by_name(const char *name);

/* Result of a lookup by offset. */
struct nvs_method_at {
	const struct nvs_method *method;
	const struct nvs_class *cls; /* class whose table has it, which may be a fallback */
	uint32_t index; /* in the array; 0 if it is no array */
	bool assumed; /* found in a class that is only assumed to be compatible */
};

/* OFFSET is in bytes. Returns false and zeroes *AT if there is no such method. */
bool nvs_method_find(const struct nvs_class *cls, uint32_t offset, struct nvs_method_at *at);
/* Finds a method by NVIDIA's name, in fallback classes too. Returns NULL if there is none. */
const struct nvs_method *nvs_method_by_name(const struct nvs_class *cls, const char *name);
/* Returns NULL if METHOD is NULL or has no such field. */
const struct nvs_field *nvs_field_by_name(const struct nvs_method *method, const char *name);
/* Finds a format (GP_ENTRY1_LENGTH, ...) of a host class. Returns NULL if there is none. */
const struct nvs_field *nvs_format_by_name(const struct nvs_class *cls, const char *name);
/* Returns the first entry of FIELD with VALUE, or NULL. */
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

/* Returns the name of VALUE, the first if it has several, or NULL. */
const char *nvs_value_name(const struct nvs_field *field, uint32_t value);

/* Returns NULL if there is no table for it. */
const struct nvs_qmd_version *nvs_qmd_version_find(uint32_t major, uint32_t minor);
/* Returns field NAME as defined for class CLS (0: any class), or NULL. */
const struct nvs_qmd_field *nvs_qmd_field_by_name(const struct nvs_qmd_version *version,
						  uint32_t cls, const char *name);
/* Returns the bit of CLS in the class masks of VERSION, or 0 if neither CLS nor the class whose
 * descriptors it uses is listed there. */
uint32_t nvs_qmd_class_bit(const struct nvs_qmd_version *version, uint32_t cls);

/* The classes of a chip, used for subchannels whose class the trace does not give. */
struct nvs_chip {
	uint32_t architecture, implementation; /* implementation UINT32_MAX: all others */
	uint16_t classes[NVS_KINDS]; /* 0: unknown */
};
extern const struct nvs_chip nvs_chips[]; /* those with an implementation come first */
extern const uint32_t nvs_nchips;
/* Finds a chip by the numbers of NV2080_CTRL_MC_ARCH_INFO (0x180: Hopper). Returns NULL if it is
 * unknown. */
const struct nvs_chip *nvs_chip_find(uint32_t architecture, uint32_t implementation);

#endif
