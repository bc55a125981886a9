/* SPDX-License-Identifier: MIT */
/*
 * Decodes launch descriptors. Field names differ between versions (CTA_RASTER_WIDTH became
 * GRID_WIDTH, some sizes are now stored shifted), so each field is looked up under all its names,
 * once a version.
 */
#include <stdlib.h>
#include <string.h>
#include "decode/base/copy.h"
#include "decode/gpu/qmd.h"

/* Position of one value: in the eight bytes at byte `at`, the bits from `from` on that the mask
 * covers, shifted left by `shift`. The mask is 0 if this version does not have it. */
struct qmd_field {
	uint64_t mask;
	uint16_t lo, step; /* bits; step: distance of array elements */
	uint16_t at;
	uint8_t from, shift;
};

struct nvs_qmd_layout {
	const struct nvs_qmd_version *version;
	uint32_t cls;
	bool program_is_offset;
	struct qmd_field type, queue, require, self_copy, dependence;
	struct qmd_field program_lo, program_hi;
	struct qmd_field grid[3], block[3], cluster[3];
	struct qmd_field registers, shared, local_lo, local_hi;
	struct {
		struct qmd_field valid, lo, hi, size;
	} banks[NVS_QMD_BANKS];
	uint32_t nbanks;
	bool listed; /* the version lists the class */
	uint32_t nwords;
	/* Bits that identify a descriptor as this version, and those that identify a newer version
	 * with its number at another position. */
	struct mark {
		uint32_t dword, mask, value;
	} own, newer;
	uint32_t unnamed[NVS_QMD_MAX_BYTES / 4]; /* bits without a name */
	struct {
		struct qmd_field enable, lo, hi, payload_lo, payload_hi, size, reduction, op, wide;
	} releases[NVS_QMD_RELEASES];
	struct {
		struct qmd_field enable, action, pointer;
	} dependents[NVS_QMD_DEPENDENTS];
};

#define MAX_LAYOUTS 32

struct nvs_qmd_layouts {
	uint32_t count;
	const struct nvs_qmd_layout *last; /* most recently used */
	struct nvs_qmd_layout layouts[MAX_LAYOUTS];
};

uint64_t nvs_qmd_bits(const uint32_t *words, size_t nwords, uint32_t hi, uint32_t lo)
{
	uint64_t value = 0;
	uint32_t done = 0, width = hi - lo + 1;

	while (done < width && lo / 32 < nwords && done < 64) {
		uint32_t shift = lo % 32, part = 32 - shift;

		value |= (uint64_t)(words[lo / 32] >> shift) << done;
		done += part;
		lo += part;
	}
	return width < 64 ? value & ((1ull << width) - 1) : value;
}

const struct nvs_qmd_version *nvs_qmd_version_of(const uint32_t *words, size_t nwords, uint32_t cls)
{
	const struct nvs_qmd_version *like = &nvs_qmd_versions[0];

	if (nwords * 4 < 256)
		return NULL;
	/* The version number's position differs between versions, and a class may accept versions
	 * with both positions. */
	for (uint32_t i = nvs_nqmd_versions; i-- > 0;) {
		const struct nvs_qmd_version *v = &nvs_qmd_versions[i];

		if (nvs_qmd_bits(words, nwords, v->major_hi, v->major_lo) == v->major &&
		    nvs_qmd_class_bit(v, cls)) {
			like = v;
			break;
		}
	}
	return nvs_qmd_version_find(
		(uint32_t)nvs_qmd_bits(words, nwords, like->major_hi, like->major_lo),
		(uint32_t)nvs_qmd_bits(words, nwords, like->minor_hi, like->minor_lo));
}

/* Computes how P is read. Values outside the descriptor read as 0. */
static struct qmd_field locate_place(const struct nvs_qmd_layout *l, struct qmd_field p)
{
	uint32_t last = l->nwords * 4 - sizeof(uint64_t);

	if (p.lo + (uint32_t)__builtin_popcountll(p.mask) > l->nwords * 32)
		return (struct qmd_field){0};
	p.at = (uint16_t)(p.lo / 8u < last ? p.lo / 8u : last);
	p.from = (uint8_t)(p.lo - p.at * 8u);
	return p;
}

/* Finds a field. NAMES are alternatives separated by spaces; the first that the version has is
 * used. */
static struct qmd_field find_place(const struct nvs_qmd_layout *l, const char *names)
{
	struct qmd_field p = {0};
	char name[64];

	while (*names) {
		size_t n = strcspn(names, " ");
		const struct nvs_qmd_field *f;
		const char *shifted;

		if (n < sizeof(name)) {
			memcpy(name, names, n);
			name[n] = '\0';
			f = nvs_qmd_field_by_name(l->version, l->cls, name);
			if (f) {
				shifted = strstr(name, "_SHIFTED");
				p.lo = f->lo;
				p.step = f->stride;
				p.mask = ~0ull >> (63 - (f->hi - f->lo));
				p.shift = shifted ? (uint8_t)atoi(shifted + 8) : 0;
				return locate_place(l, p);
			}
		}
		names += n;
		names += *names == ' ';
	}
	return p;
}

/* Like find_place(), with every '#' in NAMES replaced by the digit I; of an array, element I. */
static struct qmd_field find_nth_place(const struct nvs_qmd_layout *l, const char *names,
				       uint32_t i)
{
	char text[256];
	struct qmd_field p;
	size_t n = 0;

	for (; names[n] && n < sizeof(text) - 1; n++)
		text[n] = names[n] == '#' ? (char)('0' + i) : names[n];
	text[n] = '\0';
	p = find_place(l, text);
	p.lo = (uint16_t)(p.lo + p.step * i);
	return locate_place(l, p);
}

static void set_launch_places(struct nvs_qmd_layout *l)
{
	static const char *const grid[] = {"GRID_WIDTH CTA_RASTER_WIDTH",
					   "GRID_HEIGHT CTA_RASTER_HEIGHT",
					   "GRID_DEPTH CTA_RASTER_DEPTH"};
	static const char *const cluster[] = {"GPC_CGA_WIDTH", "GPC_CGA_HEIGHT", "GPC_CGA_DEPTH"};

	l->type = find_place(l, "QMD_TYPE");
	l->queue = find_place(l, "IS_QUEUE");
	l->require = find_place(l, "REQUIRE_SCHEDULING_PCAS");
	l->self_copy = find_place(l, "SELF_COPY_ON_COMPLETION");
	l->dependence = find_place(l, "DEPENDENCE_COUNTER");
	l->program_lo = find_place(
		l, "PROGRAM_ADDRESS_LOWER PROGRAM_ADDRESS_LOWER_SHIFTED4 PROGRAM_OFFSET");
	l->program_hi = find_place(l, "PROGRAM_ADDRESS_UPPER PROGRAM_ADDRESS_UPPER_SHIFTED4");
	l->program_is_offset = l->program_lo.mask && !l->program_hi.mask;
	for (uint32_t i = 0; i < 3; i++) {
		l->grid[i] = find_place(l, grid[i]);
		l->cluster[i] = find_place(l, cluster[i]);
		l->block[i] = find_nth_place(l, "CTA_THREAD_DIMENSION#", i);
	}
	l->registers = find_place(l, "REGISTER_COUNT REGISTER_COUNT_V");
	l->shared = find_place(l, "SHARED_MEMORY_SIZE SHARED_MEMORY_SIZE_SHIFTED7");
	l->local_lo =
		find_place(l, "SHADER_LOCAL_MEMORY_LOW_SIZE SHADER_LOCAL_MEMORY_LOW_SIZE_SHIFTED4");
	l->local_hi = find_place(
		l, "SHADER_LOCAL_MEMORY_HIGH_SIZE SHADER_LOCAL_MEMORY_HIGH_SIZE_SHIFTED4");
}

static void set_bank_places(struct nvs_qmd_layout *l)
{
	const struct nvs_qmd_field *valid = nvs_qmd_field_by_name(l->version, l->cls,
								  "CONSTANT_BUFFER_VALID");

	l->nbanks = valid ? valid->count : 0;
	if (l->nbanks > NVS_QMD_BANKS)
		l->nbanks = NVS_QMD_BANKS;
	for (uint32_t i = 0; i < l->nbanks; i++) {
		l->banks[i].valid = find_nth_place(l, "CONSTANT_BUFFER_VALID", i);
		l->banks[i].lo = find_nth_place(
			l, "CONSTANT_BUFFER_ADDR_LOWER CONSTANT_BUFFER_ADDR_LOWER_SHIFTED6", i);
		l->banks[i].hi = find_nth_place(
			l, "CONSTANT_BUFFER_ADDR_UPPER CONSTANT_BUFFER_ADDR_UPPER_SHIFTED6", i);
		l->banks[i].size =
			find_nth_place(l, "CONSTANT_BUFFER_SIZE CONSTANT_BUFFER_SIZE_SHIFTED4", i);
	}
}

static void set_link_places(struct nvs_qmd_layout *l)
{
	for (uint32_t i = 0; i < NVS_QMD_RELEASES; i++) {
		l->releases[i].enable = find_nth_place(
			l, "RELEASE_ENABLE RELEASE#_ENABLE SEMAPHORE_RELEASE_ENABLE#", i);
		l->releases[i].lo = find_nth_place(
			l, "RELEASE_SEMAPHORE#_ADDR_LOWER RELEASE#_ADDRESS_LOWER", i);
		l->releases[i].hi = find_nth_place(
			l, "RELEASE_SEMAPHORE#_ADDR_UPPER RELEASE#_ADDRESS_UPPER", i);
		l->releases[i].payload_lo =
			find_nth_place(l,
				       "RELEASE_SEMAPHORE#_PAYLOAD_LOWER "
				       "RELEASE#_PAYLOAD_LOWER RELEASE#_PAYLOAD",
				       i);
		l->releases[i].payload_hi = find_nth_place(
			l, "RELEASE_SEMAPHORE#_PAYLOAD_UPPER RELEASE#_PAYLOAD_UPPER", i);
		l->releases[i].size =
			find_nth_place(l, "RELEASE_STRUCTURE_SIZE RELEASE#_STRUCTURE_SIZE", i);
		l->releases[i].reduction =
			find_nth_place(l, "RELEASE_REDUCTION_ENABLE RELEASE#_REDUCTION_ENABLE", i);
		l->releases[i].op = find_nth_place(l, "RELEASE_REDUCTION_OP RELEASE#_REDUCTION_OP",
						   i);
		l->releases[i].wide = find_nth_place(l, "RELEASE_PAYLOAD64B RELEASE#_PAYLOAD64B",
						     i);
	}
	for (uint32_t i = 0; i < NVS_QMD_DEPENDENTS; i++) {
		l->dependents[i].enable =
			find_nth_place(l, "DEPENDENT_QMD_ENABLE DEPENDENT_QMD#_ENABLE", i);
		l->dependents[i].action =
			find_nth_place(l, "DEPENDENT_QMD_ACTION DEPENDENT_QMD#_ACTION", i);
		l->dependents[i].pointer = find_nth_place(l, "DEPENDENT_QMD#_POINTER", i);
	}
	if (!l->dependents[0].enable.mask) {
		/* Up to version 2.3 there is one dependent, and the only action is to schedule
		 * it. */
		l->dependents[0].enable = find_place(l, "DEPENDENT_QMD_SCHEDULE_ENABLE");
		l->dependents[0].pointer = find_place(l, "DEPENDENT_QMD_POINTER");
	}
}

static void set_named(struct nvs_qmd_layout *l, uint32_t lo, uint32_t hi)
{
	for (uint32_t bit = lo; bit <= hi && bit < NVS_QMD_MAX_BYTES * 8; bit++)
		l->unnamed[bit / 32] &= ~(1u << bit % 32);
}

static void set_unnamed_bits(struct nvs_qmd_layout *l)
{
	memset(l->unnamed, 0xff, sizeof(l->unnamed));
	for (uint32_t i = 0; i < l->version->nfields; i++) {
		const struct nvs_qmd_field *f = &nvs_qmd_fields[l->version->fields + i];
		uint32_t count = f->count ? f->count : 1;

		for (uint32_t j = 0; j < count; j++)
			set_named(l, f->lo + j * f->stride, f->hi + j * f->stride);
	}
}

struct nvs_qmd_layouts *nvs_qmd_layouts_new(void)
{
	return calloc(1, sizeof(struct nvs_qmd_layouts));
}

void nvs_qmd_layouts_free(struct nvs_qmd_layouts *layouts)
{
	free(layouts);
}

static struct mark make_mark(uint32_t hi, uint32_t lo, uint32_t value)
{
	return (struct mark){lo / 32, (0xffffffffu >> (31 - (hi - lo))) << lo % 32,
			     value << lo % 32};
}

static bool has_mark(const uint32_t *words, const struct mark *m)
{
	return (words[m->dword] & m->mask) == m->value;
}

/* Sets a mark that never matches if there is none, or if more than one would have to be checked. */
static void set_marks(struct nvs_qmd_layout *l)
{
	const struct nvs_qmd_version *v = l->version, *first = nvs_qmd_versions;
	struct mark minor = make_mark(v->minor_hi, v->minor_lo, v->minor), none = {0, 0, 1};

	l->own = make_mark(v->major_hi, v->major_lo, v->major);
	l->newer = none;
	if (l->own.dword == minor.dword && (l->listed || v->major_lo == first->major_lo))
		l->own = (struct mark){minor.dword, l->own.mask | minor.mask,
				       l->own.value | minor.value};
	else
		l->own = none;
	for (uint32_t i = 0; i < nvs_nqmd_versions; i++) {
		const struct nvs_qmd_version *other = &first[i];
		struct mark m = make_mark(other->major_hi, other->major_lo, other->major);

		if (other->major_lo == v->major_lo || (l->listed && other < v) ||
		    !nvs_qmd_class_bit(other, l->cls) || !memcmp(&m, &l->newer, sizeof(m)))
			continue;
		if (l->newer.mask)
			l->own = none;
		l->newer = m;
	}
}

static const struct nvs_qmd_layout *get_layout(struct nvs_qmd_layouts *all,
					       const struct nvs_qmd_version *version, uint32_t cls)
{
	struct nvs_qmd_layout *l;

	for (uint32_t i = 0; i < all->count; i++) {
		if (all->layouts[i].version == version && all->layouts[i].cls == cls)
			return &all->layouts[i];
	}
	/* There are fewer versions and classes than MAX_LAYOUTS; start over if that should
	 * change. */
	if (all->count == MAX_LAYOUTS) {
		all->count = 0;
		all->last = NULL;
	}
	l = &all->layouts[all->count++];
	memset(l, 0, sizeof(*l));
	l->version = version;
	l->cls = cls;
	l->listed = nvs_qmd_class_bit(version, cls);
	l->nwords = version->bytes / 4;
	set_marks(l);
	set_launch_places(l);
	set_bank_places(l);
	set_link_places(l);
	set_unnamed_bits(l);
	return l;
}

/* Returns the layout of the version in the descriptor, or NULL if it is unknown. */
static const struct nvs_qmd_layout *find_layout(struct nvs_qmd_layouts *all, const uint32_t *words,
						size_t nwords, uint32_t cls)
{
	const struct nvs_qmd_version *version = nvs_qmd_version_of(words, nwords, cls);

	return version ? all->last = get_layout(all, version, cls) : NULL;
}

static inline const struct nvs_qmd_layout *
select_layout(struct nvs_qmd_layouts *all, const uint32_t *words, size_t nwords, uint32_t cls)
{
	const struct nvs_qmd_layout *l = all->last;

	/* Fast path: the same version as last time. */
	if (l && l->cls == cls && nwords * 4 >= 256 && has_mark(words, &l->own) &&
	    !has_mark(words, &l->newer))
		return l;
	return find_layout(all, words, nwords, cls);
}

/* W holds the dwords of a whole descriptor. */
static inline uint64_t get_bits(const uint32_t *w, const struct qmd_field *p)
{
	typedef uint64_t bits __attribute__((aligned(1), may_alias));

	return *(const bits *)((const char *)w + p->at) >> p->from & p->mask;
}

static inline uint64_t get_value(const uint32_t *w, const struct qmd_field *p)
{
	return get_bits(w, p) << p->shift;
}

/* Shifted halves are halves of the shifted address: (hi << 32 | lo) << shift. */
static inline uint64_t get_address(const uint32_t *w, const struct qmd_field *hi,
				   const struct qmd_field *lo)
{
	return (get_bits(w, hi) << 32 | get_bits(w, lo)) << lo->shift;
}

static void decode_banks(const struct nvs_qmd_layout *l, const uint32_t *w, struct nvs_qmd *q)
{
	q->nbanks = l->nbanks;
	for (uint32_t i = 0; i < l->nbanks; i++) {
		if (!get_value(w, &l->banks[i].valid))
			continue;
		q->banks[i].bytes = (uint32_t)get_value(w, &l->banks[i].size);
		q->banks[i].address = get_address(w, &l->banks[i].hi, &l->banks[i].lo);
	}
}

static void decode_links(const struct nvs_qmd_layout *l, const uint32_t *w, struct nvs_qmd *q)
{
	for (uint32_t i = 0; i < NVS_QMD_RELEASES; i++) {
		struct nvs_qmd_release *r = &q->releases[i];

		r->enable = get_value(w, &l->releases[i].enable);
		if (!r->enable)
			continue;
		r->address = get_address(w, &l->releases[i].hi, &l->releases[i].lo);
		r->payload = get_value(w, &l->releases[i].payload_lo);
		r->wide = get_value(w, &l->releases[i].wide);
		if (r->wide)
			r->payload |= get_value(w, &l->releases[i].payload_hi) << 32;
		r->reduction = get_value(w, &l->releases[i].reduction);
		r->reduction_op = (uint8_t)get_value(w, &l->releases[i].op);
		r->timestamp = get_value(w, &l->releases[i].size) == 0;
	}
	for (uint32_t i = 0; i < NVS_QMD_DEPENDENTS; i++) {
		struct nvs_qmd_dependent *d = &q->dependents[i];

		d->enable = get_value(w, &l->dependents[i].enable);
		if (!d->enable)
			continue;
		d->address = get_value(w, &l->dependents[i].pointer) << 8;
		d->action = l->dependents[i].action.mask
				    ? (uint8_t)get_value(w, &l->dependents[i].action)
				    : NVS_QMD_SCHEDULE;
	}
}

static void decode_grid(const struct nvs_qmd_layout *l, const uint32_t *w, struct nvs_qmd *q)
{
	q->program_is_offset = l->program_is_offset;
	q->program = get_address(w, &l->program_hi, &l->program_lo);
	for (uint32_t i = 0; i < 3; i++) {
		q->grid[i] = (uint32_t)get_value(w, &l->grid[i]);
		q->block[i] = (uint32_t)get_value(w, &l->block[i]);
		if (q->type >= NVS_QMD_GRID_GPC_CGA)
			q->cluster[i] = (uint32_t)get_value(w, &l->cluster[i]);
	}
	q->registers = (uint32_t)get_value(w, &l->registers);
	q->shared_bytes = (uint32_t)get_value(w, &l->shared);
	q->local_bytes = (uint32_t)(get_value(w, &l->local_lo) + get_value(w, &l->local_hi));
}

static void decode_whole(const struct nvs_qmd_layout *l, const uint32_t *w, struct nvs_qmd *q)
{
	q->major = l->version->major;
	q->minor = l->version->minor;
	q->bytes = l->version->bytes;
	if (l->type.mask)
		q->type = (uint8_t)get_value(w, &l->type);
	else
		q->type = get_value(w, &l->queue) ? NVS_QMD_QUEUE : NVS_QMD_GRID_CTA;
	q->require_scheduling = get_value(w, &l->require);
	q->self_copy = get_value(w, &l->self_copy);
	q->dependence = (uint32_t)get_value(w, &l->dependence);
	if (q->type != NVS_QMD_GRID_NULL) {
		decode_grid(l, w, q);
		decode_banks(l, w, q);
	}
	decode_links(l, w, q);
}

/* Decodes a short descriptor: missing values read as 0. */
static void decode_short(const struct nvs_qmd_layout *l, const uint32_t *words, size_t nwords,
			 struct nvs_qmd *q)
{
	uint32_t whole[NVS_QMD_MAX_BYTES / 4] = {0};

	memcpy(whole, words, nwords * 4);
	decode_whole(l, whole, q);
}

bool nvs_qmd_decode(struct nvs_qmd_layouts *layouts, const uint32_t *words, size_t nwords,
		    uint32_t cls, struct nvs_qmd *q)
{
	const struct nvs_qmd_layout *l = select_layout(layouts, words, nwords, cls);

	nvs_clear(q, sizeof(*q));
	if (!l)
		return false;
	if (nwords < NVS_QMD_MAX_BYTES / 4)
		decode_short(l, words, nwords, q);
	else
		decode_whole(l, words, q);
	return true;
}

typedef uint64_t bits128 __attribute__((vector_size(16), aligned(4), may_alias));

/* Checks that no unnamed bit is set. N is the descriptor's size in dwords. */
static bool all_named(const struct nvs_qmd_layout *l, const uint32_t *words, size_t n)
{
	bits128 a = {0}, b = {0};

	for (size_t i = 0; i + 8 <= n; i += 8) {
		a |= *(const bits128 *)(words + i) & *(const bits128 *)(l->unnamed + i);
		b |= *(const bits128 *)(words + i + 4) & *(const bits128 *)(l->unnamed + i + 4);
	}
	a |= b;
	return !(a[0] | a[1]);
}

enum nvs_qmd_guess nvs_qmd_classify(struct nvs_qmd_layouts *layouts, const uint32_t *words,
				    size_t nwords, uint32_t cls)
{
	const struct nvs_qmd_layout *l = select_layout(layouts, words, nwords, cls);

	if (!l || !l->listed || nwords != l->nwords || !all_named(l, words, nwords))
		return NVS_QMD_NO;
	if (!get_value(words, &l->block[0]) || !get_value(words, &l->block[1]) ||
	    !get_value(words, &l->block[2]))
		return NVS_QMD_NO;
	if (!get_value(words, &l->grid[0]) || !get_value(words, &l->program_lo))
		return NVS_QMD_AUXILIARY;
	return NVS_QMD_LAUNCH;
}
