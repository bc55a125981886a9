/* SPDX-License-Identifier: MIT */
/* Looks up classes, methods, fields and values in the generated tables: binary search by number,
 * linear search by name (used only at setup and by tests). */
#include <string.h>
#include <strings.h>
#include "decode/gpu/class.h"

const char *nvs_class_kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[NVS_KIND_COMPUTE] = "compute",
		[NVS_KIND_COPY] = "dma-copy",
		[NVS_KIND_INLINE] = "inline-to-memory",
		[NVS_KIND_HOST] = "host",
		[NVS_KIND_2D] = "twod",
		[NVS_KIND_3D] = "3d",
	};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "?";
}

const struct nvs_class *nvs_class_find(uint32_t id)
{
	uint32_t lo = 0, hi = nvs_nclasses;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (nvs_classes[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < nvs_nclasses && nvs_classes[lo].id == id ? &nvs_classes[lo] : NULL;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

const struct nvs_class *nvs_class_by_name(const char *name)
{
	const char *digits = name;
	uint32_t id = 0;

	for (uint32_t i = 0; i < nvs_nclasses; i++) {
		if (!strcasecmp(nvs_class_string(nvs_classes[i].name), name))
			return &nvs_classes[i];
	}
	if (digits[0] == '0' && (digits[1] | 0x20) == 'x')
		digits += 2;
	if (!*digits || strlen(digits) > 4)
		return NULL;
	for (; *digits; digits++) {
		if (hex_digit(*digits) < 0)
			return NULL;
		id = id << 4 | (uint32_t)hex_digit(*digits);
	}
	return nvs_class_find(id);
}

static bool method_covers(const struct nvs_method *m, uint32_t offset, uint32_t *index)
{
	uint32_t distance = offset - m->offset;

	if (!m->stride || m->count <= 1) {
		*index = 0;
		return distance == 0;
	}
	*index = distance / m->stride;
	return distance % m->stride == 0 && *index < m->count;
}

static bool find_in(const struct nvs_class *cls, uint32_t offset, struct nvs_method_at *at)
{
	const struct nvs_method *first = nvs_methods + cls->methods;
	uint32_t lo = 0, hi = cls->nmethods;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (first[mid].offset <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return false;
	/* Start at the nearest one at or before OFFSET; an array that starts earlier may also cover
	 * it. */
	for (uint32_t i = lo - 1, end = lo - 1 - first[lo - 1].back;; i--) {
		if (method_covers(&first[i], offset, &at->index)) {
			at->method = &first[i];
			at->cls = cls;
			return true;
		}
		if (i == end)
			return false;
	}
}

/* A test ensures that fallbacks form no cycle; the limit of eight steps ends one anyway. */
bool nvs_method_find(const struct nvs_class *cls, uint32_t offset, struct nvs_method_at *at)
{
	bool assumed = false;

	for (int step = 0; cls && step < 8; step++) {
		if (find_in(cls, offset, at)) {
			at->assumed = assumed;
			return true;
		}
		assumed |= cls->assume || cls->fallback;
		cls = nvs_class_find(cls->assume ? cls->assume : cls->fallback);
	}
	memset(at, 0, sizeof(*at));
	return false;
}

/* Names in a table mostly differ within a few letters, so a strcmp() call would cost more. */
static inline bool names_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

const struct nvs_method *nvs_method_by_name(const struct nvs_class *cls, const char *name)
{
	for (int step = 0; cls && step < 8; step++) {
		for (uint32_t i = 0; i < cls->nmethods; i++) {
			const struct nvs_method *m = &nvs_methods[cls->methods + i];

			if (names_equal(nvs_class_string(m->name), name))
				return m;
		}
		cls = nvs_class_find(cls->assume ? cls->assume : cls->fallback);
	}
	return NULL;
}

const struct nvs_field *nvs_field_by_name(const struct nvs_method *method, const char *name)
{
	for (uint32_t i = 0; method && i < method->nfields; i++) {
		const struct nvs_field *f = &nvs_fields[method->fields + i];

		if (names_equal(nvs_class_string(f->name), name))
			return f;
	}
	return NULL;
}

const struct nvs_field *nvs_format_by_name(const struct nvs_class *cls, const char *name)
{
	for (uint32_t i = 0; cls && i < cls->nformats; i++) {
		const struct nvs_field *f = &nvs_formats[cls->formats + i];

		if (names_equal(nvs_class_string(f->name), name))
			return f;
	}
	return NULL;
}

const char *nvs_value_name(const struct nvs_field *field, uint32_t value)
{
	const struct nvs_enum *v = nvs_value_find(field, value);

	return v ? nvs_class_string(v->name) : NULL;
}

const struct nvs_qmd_version *nvs_qmd_version_find(uint32_t major, uint32_t minor)
{
	for (uint32_t i = 0; i < nvs_nqmd_versions; i++) {
		if (nvs_qmd_versions[i].major == major && nvs_qmd_versions[i].minor == minor)
			return &nvs_qmd_versions[i];
	}
	return NULL;
}

static uint32_t listed_bit(const struct nvs_qmd_version *version, uint32_t cls)
{
	for (uint32_t i = 0; i < version->nclasses; i++) {
		if (version->classes[i] == cls)
			return 1u << i;
	}
	return 0;
}

uint32_t nvs_qmd_class_bit(const struct nvs_qmd_version *version, uint32_t cls)
{
	const struct nvs_class *c = nvs_class_find(cls);

	return listed_bit(version, c && c->descriptors ? c->descriptors : cls);
}

const struct nvs_qmd_field *nvs_qmd_field_by_name(const struct nvs_qmd_version *version,
						  uint32_t cls, const char *name)
{
	uint32_t bit = nvs_qmd_class_bit(version, cls);

	for (uint32_t i = 0; i < version->nfields; i++) {
		const struct nvs_qmd_field *f = &nvs_qmd_fields[version->fields + i];

		if ((!f->classes || !bit || f->classes & bit) &&
		    names_equal(nvs_class_string(f->name), name))
			return f;
	}
	return NULL;
}

const struct nvs_chip *nvs_chip_find(uint32_t architecture, uint32_t implementation)
{
	for (uint32_t i = 0; i < nvs_nchips; i++) {
		const struct nvs_chip *chip = &nvs_chips[i];

		if (chip->architecture == architecture &&
		    (chip->implementation == implementation || chip->implementation == UINT32_MAX))
			return chip;
	}
	return NULL;
}
