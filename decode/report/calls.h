/* SPDX-License-Identifier: MIT */
/* What the reports on API calls share: the reading, filters, times and names. */
#ifndef NVSNOOP_DECODE_REPORT_CALLS_H
#define NVSNOOP_DECODE_REPORT_CALLS_H

#include "decode/calls/reading.h"
#include "decode/calls/args.h"
#include "decode/report/report.h"

/* Reads S once more, for READER, which gets all there is: nvs_filter_call() says what is asked for.
 * 0 or -errno. */
int nvs_report_read_calls(struct nvs_source *s, const struct nvs_reader *reader);
/* Does the command line select this call? Readers that follow handles are handed all of them. */
bool nvs_filter_call(const struct nvs_source *s, const struct nvs_call *call);
/* By API and thread alone. */
bool nvs_filter_call_name(const struct nvs_source *s, const struct nvs_call *call);
/* "[unknown]" for one that the trace does not name. */
const char *nvs_call_name(const struct nvs_call *call);

/* Durations: exact sum and greatest, quantiles to 3 %. A few hundred bytes, as there may be very
 * many of them. */
struct nvs_times {
	uint64_t count, sum, max; /* ns */
	uint32_t *bucket; /* N of them from number FIRST on; 16 to each doubling */
	uint16_t first, n;
};
/* 0 or -ENOMEM. */
int nvs_times_add(struct nvs_times *t, uint64_t ns);
int nvs_times_merge(struct nvs_times *into, const struct nvs_times *from);
void nvs_times_free(struct nvs_times *t);
uint64_t nvs_times_quantile(const struct nvs_times *t, double q);

/* Durations of which the sum alone is told. */
struct nvs_total {
	uint64_t count, ns;
};

static inline void nvs_total_add(struct nvs_total *t, uint64_t ns)
{
	t->count++;
	t->ns += ns;
}

/* A mangled name as C++ writes it where that can be told, else NAME itself; to be freed. NULL: no
 * memory. */
char *nvs_demangle(const char *name);

/* Prints ROWS (an array of N items of SIZE bytes). */
int nvs_report_rows(struct nvs_out *out, struct nvs_table *table, const void *rows, size_t n,
		    size_t size, const struct nvs_options_report *o);

static inline void nvs_put_count(struct nvs_value *v, uint64_t n)
{
	v->kind = NVS_VALUE_COUNT;
	v->count = n;
}

static inline void nvs_put_known(struct nvs_value *v, bool known, uint64_t n)
{
	v->kind = known ? NVS_VALUE_COUNT : NVS_VALUE_NONE;
	v->count = n;
}

static inline void nvs_put_text(struct nvs_value *v, const char *s)
{
	v->kind = s && *s ? NVS_VALUE_TEXT : NVS_VALUE_NONE;
	v->text = s;
}

static inline void nvs_put_real(struct nvs_value *v, bool known, double x)
{
	v->kind = known ? NVS_VALUE_REAL : NVS_VALUE_NONE;
	v->real = x;
}

/* Microseconds. */
static inline void nvs_put_us(struct nvs_value *v, bool known, double ns)
{
	nvs_put_real(v, known, ns / 1000);
}

/* Getter of a row's member. */
#define NVS_GET_COUNT(type, name, expr)                              \
	static void get_##name(const void *row, struct nvs_value *v) \
	{                                                            \
		const type *r = row;                                 \
		nvs_put_count(v, expr);                              \
	}
/* Of what may not be known. */
#define NVS_GET_KNOWN(type, name, known, expr)                       \
	static void get_##name(const void *row, struct nvs_value *v) \
	{                                                            \
		const type *r = row;                                 \
		nvs_put_known(v, known, expr);                       \
	}
#define NVS_GET_TEXT(type, name, expr)                               \
	static void get_##name(const void *row, struct nvs_value *v) \
	{                                                            \
		const type *r = row;                                 \
		nvs_put_text(v, expr);                               \
	}
#define NVS_GET_REAL(type, name, known, expr)                        \
	static void get_##name(const void *row, struct nvs_value *v) \
	{                                                            \
		const type *r = row;                                 \
		nvs_put_real(v, known, expr);                        \
	}

#endif
