/* SPDX-License-Identifier: MIT */
/* NVTX names: each text is stored once with the patterns that match it; domains, strings and
 * categories refer to it by number. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/base/hash.h"
#include "decode/base/numbers.h"
#include "decode/query/nvtx_names.h"
#include "decode/trace/records.h"

#define ROOM_OF_NAME 512u /* memory of a further row in a report */
#define MAX_NAME 4096 /* bytes used of a name; the recorder keeps fewer */

struct kept_text {
	struct nvs_nvtx_text pub; /* first */
	UT_hash_handle hh;
	char text[];
};

struct category {
	struct {
		uint32_t domain, number;
	} key;
	const struct nvs_nvtx_text *name;
};

struct nvs_nvtx_names {
	const struct nvs_patterns *patterns;
	struct kept_text *texts;
	uint32_t ntexts;
	struct nvs_numbers domains, strings; /* struct nvs_nvtx_text * */
	struct nvs_rows categories;
	const struct nvs_nvtx_text *others; /* stands in for names beyond the budget */
	uint64_t lost;
};

void nvs_nvtx_names_free(struct nvs_nvtx_names *n)
{
	struct kept_text *k, *next;

	if (!n)
		return;
	HASH_ITER(hh, n->texts, k, next) {
		HASH_DEL(n->texts, k);
		free(k);
	}
	nvs_numbers_free(&n->domains, NULL);
	nvs_numbers_free(&n->strings, NULL);
	nvs_rows_free(&n->categories, NULL);
	free(n);
}

static uint64_t match_patterns(const struct nvs_patterns *list, const char *name)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < list->n; i++)
		bits |= (uint64_t)nvs_pattern_matches(list->list + i, name) << i;
	return bits;
}

bool nvs_nvtx_is_selected(const struct nvs_patterns *list, uint64_t bits)
{
	uint64_t excluding = 0, asking = 0;

	for (uint32_t i = 0; i < list->n; i++)
		*(list->list[i].excludes ? &excluding : &asking) |= 1ull << i;
	return !(bits & excluding) && (!asking || bits & asking);
}

static const struct nvs_nvtx_text *text_of(struct nvs_nvtx_names *n, const char *text,
					   size_t length)
{
	struct kept_text *k;

	length = strnlen(text, length < MAX_NAME ? length : MAX_NAME);
	HASH_FIND(hh, n->texts, text, length, k);
	if (k)
		return &k->pub;
	if (n->others && !nvs_budget_allows(ROOM_OF_NAME * (n->ntexts + 1ull) + length))
		return n->others;
	k = calloc(1, sizeof(*k) + length + 1);
	if (!k)
		return NULL;
	memcpy(k->text, text, length);
	k->pub = (struct nvs_nvtx_text){n->ntexts++, k->text, match_patterns(n->patterns, k->text)};
	HASH_ADD_KEYPTR(hh, n->texts, k->text, length, k);
	if (k->hh.tbl)
		return &k->pub;
	free(k);
	return NULL;
}

struct nvs_nvtx_names *nvs_nvtx_names_new(const struct nvs_patterns *patterns)
{
	static const char others[] = "[other names]";
	struct nvs_nvtx_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->patterns = patterns;
	n->categories = NVS_ROWS(struct category, key);
	n->others = text_of(n, others, sizeof(others));
	if (n->others)
		return n;
	nvs_nvtx_names_free(n);
	return NULL;
}

const struct nvs_nvtx_text *nvs_nvtx_text_of(struct nvs_nvtx_names *n,
					     const struct nvs_rec_nvtx *rec)
{
	const struct nvs_nvtx_text *t = rec->string ? nvs_number_get(&n->strings, rec->string)
						    : NULL;

	return t ? t : text_of(n, nvs_record_tail(&rec->rec, rec->length), rec->length);
}

static struct category *category_at(struct nvs_nvtx_names *n, uint32_t domain, uint32_t number)
{
	uint32_t key[2] = {domain, number};

	return nvs_rows_at(&n->categories, key);
}

int nvs_nvtx_names_record(struct nvs_nvtx_names *n, const struct nvs_rec_nvtx_name *rec)
{
	const struct nvs_nvtx_text *t = text_of(n, nvs_record_tail(&rec->rec, rec->length),
						rec->length);
	struct category *c;

	if (!t)
		return -ENOMEM;
	switch (rec->kind) {
	case NVS_NVTX_DOMAIN:
	case NVS_NVTX_STRING:
		if (rec->number >= NVS_MAX_NUMBER)
			return 0;
		return nvs_number_set(rec->kind == NVS_NVTX_DOMAIN ? &n->domains : &n->strings,
				      rec->number, (void *)t);
	case NVS_NVTX_CATEGORY:
		c = category_at(n, rec->domain, rec->number);
		if (!c)
			return -ENOMEM;
		c->name = t;
		return 0;
	case NVS_NVTX_LOST:
		n->lost += rec->number;
		return 0;
	}
	return 0;
}

const char *nvs_nvtx_domain(const struct nvs_nvtx_names *n, uint32_t domain)
{
	const struct nvs_nvtx_text *t = nvs_number_get(&n->domains, domain);

	return t ? t->name : domain ? "" : "default";
}

const char *nvs_nvtx_category(struct nvs_nvtx_names *n, uint32_t domain, uint32_t category)
{
	const struct category *c = category ? category_at(n, domain, category) : NULL;

	return c && c->name ? c->name->name : "";
}

static void print_payload(char *text, size_t room, const struct nvs_rec_nvtx *rec)
{
	double real;

	memcpy(&real, &rec->payload, sizeof(real));
	if (rec->payload_type == NVS_NVTX_PAYLOAD_UNSIGNED)
		snprintf(text, room, ", payload %llu", (unsigned long long)rec->payload);
	else if (rec->payload_type == NVS_NVTX_PAYLOAD_SIGNED)
		snprintf(text, room, ", payload %lld", (long long)rec->payload);
	else if (rec->payload_type == NVS_NVTX_PAYLOAD_DOUBLE)
		snprintf(text, room, ", payload %g", real);
	else
		*text = '\0';
}

void nvs_nvtx_describe(struct nvs_nvtx_names *n, const struct nvs_rec_nvtx *rec, char *text,
		       size_t room)
{
	const char *category = nvs_nvtx_category(n, rec->domain, rec->category);
	char payload[64];

	print_payload(payload, sizeof(payload), rec);
	snprintf(text, room, "%s%.200s%s%.200s%s", rec->domain ? ", domain " : "",
		 rec->domain ? nvs_nvtx_domain(n, rec->domain) : "", *category ? ", category " : "",
		 category, payload);
}

uint64_t nvs_nvtx_lost(const struct nvs_nvtx_names *n)
{
	return n->lost;
}
