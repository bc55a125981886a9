/* SPDX-License-Identifier: MIT */
/* A consumer that trusts the library: it reads every byte that it is given. */
#include <string.h>
#include "decode/trace/stream.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/reading.h"

static int on_submission(void *arg, struct nvs_trace *t, const struct nvs_submission *s)
{
	struct nvs_segment_iter it = nvs_segments(s);
	struct nvs_segment seg;
	size_t bytes = 0;

	fuzz_touch(s->rec, sizeof(*s->rec));
	fuzz_touch(s->thread, sizeof(*s->thread));
	fuzz_touch(s->channel, sizeof(*s->channel));
	while (nvs_segment_next(&it, &seg)) {
		fuzz_touch(seg.data, seg.bytes);
		bytes += seg.bytes;
	}
	FUZZ_HOLDS(bytes <= s->ndata);
	fuzz_touch(s->data, s->ndata);
	for (uint32_t i = 0; i < s->nentries && i < 4; i++) {
		const struct nvs_mapping *m = nvs_trace_gpu_map(t, s->channel->rec.vaspace,
								s->entries[i].entry);

		if (m)
			fuzz_touch(m, sizeof(*m));
	}
	return 0;
}

static int on_object(void *arg, const struct nvs_trace_object *o)
{
	fuzz_touch(o->params, o->params_length);
	return 0;
}

static int on_record(void *arg, struct nvs_trace *t, const struct nvs_rec *rec)
{
	int64_t ns;

	fuzz_touch(rec, rec->size);
	nvs_clock_since_start(t, rec->time, &ns);
	if (rec->type == NVS_REC_OBJECT) {
		const struct nvs_rec_object *o = (const void *)rec;

		nvs_trace_children(t, o->client, o->parent, on_object, NULL);
	}
	return 0;
}

static void touch_all(struct nvs_trace *t)
{
	const struct nvs_finding *f;
	struct nvs_symbol symbol;

	for (uint32_t i = 0; i < NVS_ATTR_COUNT; i++)
		fuzz_touch(nvs_trace_session(t)->attr[i], nvs_trace_session(t)->attr_length[i]);
	for (uint32_t i = 0; (f = nvs_trace_finding(t, i)); i++)
		fuzz_touch(f->text, strlen(f->text));
	for (uint32_t i = 0; i < nvs_trace_thread_count(t); i++)
		if (nvs_trace_thread_at(t, i))
			fuzz_touch(nvs_trace_thread_at(t, i), sizeof(struct nvs_trace_thread));
	for (uint32_t i = 0; i < nvs_trace_module_count(t) && i < 64; i++)
		if (nvs_trace_module_at(t, i)) {
			const struct nvs_trace_module *m = nvs_trace_module_at(t, i);

			fuzz_touch(m->path, strlen(m->path));
			nvs_symbol_find(t, m->start + 1, m->gone_time, &symbol);
		}
	for (uint32_t i = 0; i < nvs_trace_stack_count(t) && i < 64; i++) {
		const struct nvs_trace_stack *s = nvs_trace_stack_at(t, i);
		const struct nvs_callsite *c = nvs_trace_callsite(t, i);

		fuzz_touch(c->api, strlen(c->api));
		fuzz_touch(c->site, strlen(c->site));
		if (s)
			fuzz_touch(s->pc, s->nframes * 8);
	}
}

void fuzz_read(const char *path, const char *spool)
{
	const struct nvs_stream_consumer pieces = {0, on_submission, on_record};
	const struct nvs_stream_consumer whole = {NVS_READ_WHOLE, on_submission, on_record};
	struct nvs_error err;

	for (int partial = 0; partial < 2; partial++) {
		struct nvs_read_options o = {
			.size = sizeof(o), .partial = partial, .spool = spool, .no_spool = !spool};
		struct nvs_trace *t = NULL;

		err.text[0] = 0;
		if (nvs_trace_open(&t, path, &o, &err)) {
			FUZZ_HOLDS(err.text[0]);
			nvs_trace_close(t);
			continue;
		}
		if (nvs_stream_read(t, partial ? &pieces : &whole, NULL, &err) == 0 || partial) {
			nvs_stream_read(t, &whole, NULL, &err);
			touch_all(t);
			FUZZ_HOLDS(!fuzz_consume(t, &err) || err.text[0]);
		}
		nvs_trace_close(t);
	}
}
