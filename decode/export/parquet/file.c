/* SPDX-License-Identifier: MIT */
/* Writes Parquet: pages of columns, and a footer in Thrift's compact protocol with their offsets.
 */
#include "decode/export/parquet/file.h"
#include <errno.h>
#include <zstd.h>
#include "decode/base/hash.h"
#include "decode/export/export_text.h"
#include "decode/export/proto.h"
#include "decode/export/parquet/delta.h"
#include "decode/export/parquet/thrift.h"

#define GROUP_ROWS 16384u /* maximum rows of a row group */
#define FIRST_ROWS 128u /* room for rows at first; times a power of two it is GROUP_ROWS */
#define GROUP_BYTES (4u << 20) /* maximum bytes of its text */

/* Numbers from parquet.thrift. */
enum { INT64 = 2, BYTE_ARRAY = 6, OPTIONAL = 1, UTF8 = 0, ZSTD = 6 };
enum { PLAIN = 0, RLE = 3, DELTA = 5, RLE_DICTIONARY = 8 };
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };

/* Numbers are stored as differences, text in a dictionary. */
struct column {
	uint8_t *set; /* per row: 1 if not null */
	int64_t *numbers; /* of the non-null rows */
	uint32_t *values; /* text: dictionary indices of the non-null rows */
	uint32_t nvalues;
	struct nvs_proto dictionary; /* the different texts, each after its length */
	uint32_t *words, nwords; /* where each begins, without the length */
	uint32_t *slots; /* number of a word from 1 on, by hash; 0: free */
	uint32_t mask; /* at most half of the slots are used */
};

struct nvs_parquet {
	FILE *file;
	const struct nvs_table_layout *table;
	struct column *columns;
	uint32_t rows, room; /* buffered rows, and room for them */
	size_t held; /* bytes of their dictionaries */
	uint64_t all_rows, at; /* rows so far; bytes of the file so far */
	struct nvs_proto groups; /* row groups, encoded for the footer */
	uint32_t ngroups;
	struct nvs_proto page, head;
	ZSTD_CCtx *zstd;
	uint8_t *packed;
	size_t packed_room;
};

static int write_bytes(struct nvs_parquet *p, const void *data, size_t n)
{
	fwrite(data, 1, n, p->file);
	p->at += n;
	return 0;
}

struct nvs_parquet *nvs_parquet_new(FILE *file, const struct nvs_table_layout *table)
{
	struct nvs_parquet *p = calloc(1, sizeof(*p));
	bool good = p;

	if (!p)
		return NULL;
	p->file = file;
	p->table = table;
	p->zstd = ZSTD_createCCtx();
	p->columns = calloc(table->ncolumns, sizeof(*p->columns));
	good = p->zstd && p->columns;
	if (good) {
		write_bytes(p, "PAR1", 4);
		return p;
	}
	nvs_parquet_free(p);
	return NULL;
}

void nvs_parquet_free(struct nvs_parquet *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; p->columns && i < p->table->ncolumns; i++) {
		free(p->columns[i].set);
		free(p->columns[i].numbers);
		free(p->columns[i].values);
		free(p->columns[i].words);
		free(p->columns[i].slots);
		nvs_proto_free(&p->columns[i].dictionary);
	}
	free(p->columns);
	free(p->packed);
	nvs_proto_free(&p->groups);
	nvs_proto_free(&p->page);
	nvs_proto_free(&p->head);
	ZSTD_freeCCtx(p->zstd);
	free(p);
}

/* ---- a page ---- */

/* Writes p->page with its header. Adds the uncompressed size to *WHOLE. */
static int write_page(struct nvs_parquet *p, int type, int encoding, uint32_t values,
		      uint64_t *whole)
{
	size_t bound = ZSTD_compressBound(p->page.n), n;
	struct nvs_thrift t = {&p->head};

	if (bound > p->packed_room) {
		free(p->packed);
		p->packed = malloc(bound);
		p->packed_room = p->packed ? bound : 0;
	}
	if (!p->packed || p->page.failed)
		return -ENOMEM;
	n = ZSTD_compressCCtx(p->zstd, p->packed, p->packed_room, p->page.data, p->page.n, 3);
	if (ZSTD_isError(n))
		return -ENOMEM;
	p->head.n = 0;
	nvs_thrift_int(&t, 1, type);
	nvs_thrift_int(&t, 2, (int64_t)p->page.n);
	nvs_thrift_int(&t, 3, (int64_t)n);
	nvs_thrift_begin(&t, type == DATA_PAGE ? 5 : 7);
	nvs_thrift_int(&t, 1, values);
	nvs_thrift_int(&t, 2, encoding);
	if (type == DATA_PAGE) {
		nvs_thrift_int(&t, 3, RLE);
		nvs_thrift_int(&t, 4, RLE);
	}
	nvs_thrift_end(&t);
	nvs_thrift_end(&t);
	if (p->head.failed)
		return -ENOMEM;
	*whole += p->head.n + p->page.n;
	write_bytes(p, p->head.data, p->head.n);
	write_bytes(p, p->packed, n);
	return 0;
}

/* Definition levels: run-length encoded, after their length in bytes. */
static void put_levels(struct nvs_proto *page, const uint8_t *set, uint32_t rows)
{
	uint32_t length, n;

	nvs_proto_put(page, &(uint32_t){0}, 4);
	for (uint32_t i = 0; i < rows; i += n) {
		for (n = 1; i + n < rows && set[i + n] == set[i]; n++)
			;
		nvs_proto_varint(page, (uint64_t)n << 1);
		nvs_proto_put(page, set + i, 1);
	}
	length = (uint32_t)page->n - 4;
	if (!page->failed)
		memcpy(page->data, &length, 4);
}

/* Dictionary indices: their bit width, then bit-packed in groups of eight. */
static void put_indices(struct nvs_proto *page, const struct column *c)
{
	uint32_t groups = (c->nvalues + 7) / 8, filled = 0;
	uint8_t width = 1;
	uint64_t bits = 0;

	while (c->nwords >> width)
		width++;
	nvs_proto_put(page, &width, 1);
	if (!groups)
		return;
	nvs_proto_varint(page, (uint64_t)groups << 1 | 1);
	for (uint32_t i = 0; i < 8 * groups; i++) {
		bits |= (uint64_t)(i < c->nvalues ? c->values[i] : 0) << filled;
		filled += width;
		/* Groups of eight end with a whole byte. */
		if (filled < 32 && (i + 1) % 8)
			continue;
		nvs_proto_put(page, &bits, filled / 8);
		bits >>= filled / 8 * 8;
		filled %= 8;
	}
}

/* ---- a row group ---- */

/* DICTIONARY: 0 without one. */
static void write_chunk(struct nvs_thrift *t, const struct nvs_parquet *p, uint32_t i,
			uint64_t dictionary, uint64_t data, uint64_t whole)
{
	const struct nvs_cell_column *column = p->table->columns + i;

	nvs_thrift_item(t);
	nvs_thrift_int64(t, 2, (int64_t)(dictionary ? dictionary : data));
	nvs_thrift_begin(t, 3);
	nvs_thrift_int(t, 1, column->text ? BYTE_ARRAY : INT64);
	nvs_thrift_list(t, 2, NVS_THRIFT_I32, dictionary ? 3 : 2);
	nvs_thrift_number(t, RLE);
	if (dictionary)
		nvs_thrift_number(t, PLAIN);
	nvs_thrift_number(t, dictionary ? RLE_DICTIONARY : DELTA);
	nvs_thrift_list(t, 3, NVS_THRIFT_BINARY, 1);
	nvs_thrift_word(t, column->name);
	nvs_thrift_int(t, 4, ZSTD);
	nvs_thrift_int64(t, 5, p->rows);
	nvs_thrift_int64(t, 6, (int64_t)whole);
	nvs_thrift_int64(t, 7, (int64_t)(p->at - (dictionary ? dictionary : data)));
	nvs_thrift_int64(t, 9, (int64_t)data);
	if (dictionary)
		nvs_thrift_int64(t, 11, (int64_t)dictionary);
	nvs_thrift_end(t);
	nvs_thrift_end(t);
}

static int write_dictionary(struct nvs_parquet *p, const struct column *c, uint64_t *whole)
{
	p->page.n = 0;
	nvs_proto_put(&p->page, c->dictionary.data, c->dictionary.n);
	return c->dictionary.failed ? -ENOMEM
				    : write_page(p, DICTIONARY_PAGE, PLAIN, c->nwords, whole);
}

static void clear_column(struct column *c)
{
	c->nvalues = 0;
	c->dictionary.n = 0;
	c->nwords = 0;
	if (c->slots)
		memset(c->slots, 0, (c->mask + 1ul) * sizeof(*c->slots));
}

/* Adds the uncompressed size to *SUM. */
static int write_column(struct nvs_parquet *p, uint32_t i, struct nvs_thrift *t, uint64_t *sum)
{
	struct column *c = p->columns + i;
	bool text = p->table->columns[i].text;
	uint64_t dictionary = text ? p->at : 0, data, whole = 0;
	int r = text ? write_dictionary(p, c, &whole) : 0;

	if (r)
		return r;
	data = p->at;
	p->page.n = 0;
	put_levels(&p->page, c->set, p->rows);
	if (text)
		put_indices(&p->page, c);
	else
		nvs_parquet_put_deltas(&p->page, c->numbers, c->nvalues);
	r = write_page(p, DATA_PAGE, text ? RLE_DICTIONARY : DELTA, p->rows, &whole);
	write_chunk(t, p, i, dictionary, data, whole);
	*sum += whole;
	clear_column(c);
	return r;
}

static int write_group(struct nvs_parquet *p)
{
	struct nvs_thrift t = {&p->groups};
	uint64_t whole = 0;
	int r = 0;

	if (!p->rows)
		return 0;
	nvs_thrift_item(&t);
	nvs_thrift_list(&t, 1, NVS_THRIFT_STRUCT, p->table->ncolumns);
	for (uint32_t i = 0; i < p->table->ncolumns && !r; i++)
		r = write_column(p, i, &t, &whole);
	nvs_thrift_int64(&t, 2, (int64_t)whole);
	nvs_thrift_int64(&t, 3, p->rows);
	nvs_thrift_end(&t);
	p->ngroups++;
	p->all_rows += p->rows;
	p->rows = 0;
	p->held = 0;
	return r ? r : p->groups.failed ? -ENOMEM : 0;
}

/* ---- rows ---- */

/* Most texts are that of the row before. */
static inline bool is_last(const struct column *c, const char *text, uint32_t n)
{
	const uint8_t *at;
	uint32_t length;

	if (!c->nvalues)
		return false;
	at = c->dictionary.data + c->words[c->values[c->nvalues - 1]];
	memcpy(&length, at - sizeof(length), sizeof(length));
	return length == n && n <= NVS_EXPORT_TEXT && !memcmp(at, text, n);
}

static bool is_word(const struct column *c, uint32_t word, const void *text, uint32_t n)
{
	const uint8_t *at = c->dictionary.data + c->words[word];

	return !memcmp(at - sizeof(n), &n, sizeof(n)) && !memcmp(at, text, n);
}

static uint32_t *find_slot(const struct column *c, const void *text, uint32_t n)
{
	uint32_t i = (uint32_t)nvs_hash64(text, n) & c->mask;

	while (c->slots[i] && !is_word(c, c->slots[i] - 1, text, n))
		i = (i + 1) & c->mask;
	return c->slots + i;
}

static bool grow_slots(struct column *c)
{
	free(c->slots);
	c->mask = c->mask ? 2 * c->mask + 1 : 63;
	c->slots = calloc(c->mask + 1ul, sizeof(*c->slots));
	for (uint32_t i = 0; i < c->nwords && c->slots; i++) {
		const uint8_t *at = c->dictionary.data + c->words[i];
		uint32_t n;

		memcpy(&n, at - sizeof(n), sizeof(n));
		*find_slot(c, at, n) = i + 1;
	}
	return c->slots;
}

static int add_word(struct column *c, const char *text, uint32_t n)
{
	uint32_t *slot;

	if ((!c->slots || 2 * c->nwords > c->mask) && !grow_slots(c))
		return -ENOMEM;
	slot = find_slot(c, text, n);
	if (!*slot) {
		nvs_proto_put(&c->dictionary, &n, sizeof(n));
		c->words[c->nwords++] = (uint32_t)c->dictionary.n;
		nvs_proto_put(&c->dictionary, text, n);
		if (c->dictionary.failed)
			return -ENOMEM;
		*slot = c->nwords;
	}
	c->values[c->nvalues++] = *slot - 1;
	return 0;
}

static int add_text(struct column *c, const struct nvs_table_cell *cell)
{
	char safe[NVS_EXPORT_TEXT_BYTES];
	size_t n;
	const char *text;

	if (cell->same && c->nvalues) {
		c->values[c->nvalues] = c->values[c->nvalues - 1];
		c->nvalues++;
		return 0;
	}
	n = strlen(cell->text);
	/* What is in the dictionary is plain. */
	if (n <= NVS_EXPORT_TEXT && is_last(c, cell->text, (uint32_t)n)) {
		c->values[c->nvalues] = c->values[c->nvalues - 1];
		c->nvalues++;
		return 0;
	}
	text = nvs_export_text(safe, cell->text, &n);
	return add_word(c, text, (uint32_t)n);
}

static void *grow_array(void *list, size_t size, uint32_t rows, bool *good)
{
	void *grown = realloc(list, rows * size);

	*good &= grown != NULL;
	return grown ? grown : list;
}

static bool grow_column(struct column *c, bool text, uint32_t rows)
{
	bool good = true;

	c->set = grow_array(c->set, sizeof(*c->set), rows, &good);
	if (text) {
		c->values = grow_array(c->values, sizeof(*c->values), rows, &good);
		c->words = grow_array(c->words, sizeof(*c->words), rows, &good);
	} else {
		c->numbers = grow_array(c->numbers, sizeof(*c->numbers), rows, &good);
	}
	return good;
}

/* A trace has many tables with few rows. */
static bool make_room(struct nvs_parquet *p)
{
	uint32_t rows = p->room ? 2 * p->room : FIRST_ROWS;

	for (uint32_t i = 0; i < p->table->ncolumns; i++)
		if (!grow_column(p->columns + i, p->table->columns[i].text, rows))
			return false;
	p->room = rows;
	return true;
}

int nvs_parquet_row(struct nvs_parquet *p, const struct nvs_table_cell *cells)
{
	int r = 0;

	if (p->rows == p->room && !make_room(p))
		return -ENOMEM;
	for (uint32_t i = 0; i < p->table->ncolumns && !r; i++) {
		struct column *c = p->columns + i;
		size_t before;

		c->set[p->rows] = cells[i].known;
		if (!cells[i].known)
			continue;
		if (!p->table->columns[i].text) {
			c->numbers[c->nvalues++] = cells[i].number;
			continue;
		}
		before = c->dictionary.n;
		r = add_text(c, cells + i);
		p->held += c->dictionary.n - before;
	}
	p->rows++;
	if (!r && (p->rows == GROUP_ROWS || p->held > GROUP_BYTES))
		r = write_group(p);
	return r;
}

/* ---- the footer ---- */

static void put_schema(struct nvs_thrift *t, const struct nvs_table_layout *table)
{
	nvs_thrift_list(t, 2, NVS_THRIFT_STRUCT, table->ncolumns + 1);
	nvs_thrift_item(t);
	nvs_thrift_text(t, 4, table->name);
	nvs_thrift_int(t, 5, table->ncolumns);
	nvs_thrift_end(t);
	for (uint32_t i = 0; i < table->ncolumns; i++) {
		nvs_thrift_item(t);
		nvs_thrift_int(t, 1, table->columns[i].text ? BYTE_ARRAY : INT64);
		nvs_thrift_int(t, 3, OPTIONAL);
		nvs_thrift_text(t, 4, table->columns[i].name);
		if (table->columns[i].text)
			nvs_thrift_int(t, 6, UTF8);
		nvs_thrift_end(t);
	}
}

static void put_notes(struct nvs_thrift *t, const struct nvs_parquet_note *notes, uint32_t n)
{
	nvs_thrift_list(t, 5, NVS_THRIFT_STRUCT, n);
	for (uint32_t i = 0; i < n; i++) {
		nvs_thrift_item(t);
		nvs_thrift_text(t, 1, notes[i].key);
		nvs_thrift_text(t, 2, notes[i].value);
		nvs_thrift_end(t);
	}
}

int nvs_parquet_end(struct nvs_parquet *p, const struct nvs_parquet_note *notes, uint32_t nnotes)
{
	struct nvs_thrift t = {&p->head};
	uint32_t length;
	int r = write_group(p);

	p->head.n = 0;
	nvs_thrift_int(&t, 1, 1);
	put_schema(&t, p->table);
	nvs_thrift_int64(&t, 3, (int64_t)p->all_rows);
	nvs_thrift_list(&t, 4, NVS_THRIFT_STRUCT, p->ngroups);
	nvs_proto_put(&p->head, p->groups.data, p->groups.n);
	put_notes(&t, notes, nnotes);
	nvs_thrift_text(&t, 6, "nvsnoop version " NVS_VERSION);
	nvs_thrift_end(&t);
	if (r || p->head.failed)
		return r ? r : -ENOMEM;
	length = (uint32_t)p->head.n;
	write_bytes(p, p->head.data, p->head.n);
	write_bytes(p, &length, 4);
	return write_bytes(p, "PAR1", 4);
}
