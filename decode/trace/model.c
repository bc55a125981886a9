/* SPDX-License-Identifier: MIT */
/* The model of the session, updated by records: strings, threads, modules, stacks, GPUs,
 * channels. */
#include <stdlib.h>
#include "decode/trace/internal.h"

struct nvs_thread_state *nvs_model_thread(struct nvs_trace *t, uint32_t number)
{
	struct nvs_thread_state *thr = nvs_number_make(&t->threads, number, sizeof(*thr));

	if (thr)
		thr->pub.thread = number;
	return thr;
}

struct nvs_channel_state *nvs_model_channel(struct nvs_trace *t, uint32_t number)
{
	struct nvs_channel_state *chan = nvs_number_get(&t->channels, number);

	if (chan)
		return chan;
	chan = nvs_number_make(&t->channels, number, sizeof(*chan));
	if (!chan)
		return NULL;
	chan->pub.channel = number;
	chan->pub.rec.channel = number;
	chan->pub.rec.token = NVS_NONE;
	return chan;
}

static int take_attr(struct nvs_trace *t, const struct nvs_rec_attr *rec)
{
	struct nvs_session *s = &t->session;
	char *value;

	if (rec->key >= NVS_ATTR_COUNT)
		return 0;
	if (s->attr[rec->key] && s->attr_length[rec->key] == rec->length &&
	    !memcmp(s->attr[rec->key], nvs_record_tail(&rec->rec, rec->length), rec->length))
		return 0;
	value = calloc(1, (size_t)rec->length + 1);
	if (!value)
		return -ENOMEM;
	memcpy(value, nvs_record_tail(&rec->rec, rec->length), rec->length);
	if (s->attr[rec->key])
		free((void *)s->attr[rec->key]);
	s->attr[rec->key] = value;
	s->attr_length[rec->key] = rec->length;
	return 0;
}

static int take_thread(struct nvs_trace *t, const struct nvs_rec_thread *rec)
{
	struct nvs_thread_state *thr = nvs_model_thread(t, rec->thread);

	if (!thr)
		return -E2BIG;
	thr->pub.tid = rec->tid;
	memcpy(thr->pub.name, rec->name, sizeof(rec->name));
	return 0;
}

static int take_module(struct nvs_trace *t, const struct nvs_rec_module *rec)
{
	size_t tail = (size_t)rec->build_id_length + rec->path_length;
	struct nvs_trace_module *m = nvs_number_get(&t->modules, rec->module);
	char *text;
	int r;

	if (m)
		return 0;
	m = calloc(1, sizeof(*m) + tail + 1);
	if (!m)
		return -ENOMEM;
	m->module = rec->module;
	m->build_id_length = rec->build_id_length;
	m->bias = rec->bias;
	m->start = rec->start;
	m->end = rec->end;
	m->time = rec->rec.time;
	m->gone_time = UINT64_MAX;
	text = (char *)(m + 1);
	memcpy(text, nvs_record_tail(&rec->rec, tail), tail);
	m->build_id = (const uint8_t *)text;
	m->path = text + rec->build_id_length;
	r = nvs_number_set(&t->modules, rec->module, m);
	if (r)
		free(m);
	return r;
}

static int take_stack(struct nvs_trace *t, const struct nvs_rec_stack *rec)
{
	size_t bytes = (size_t)rec->nframes * 8;
	struct nvs_trace_stack *s = nvs_number_get(&t->stacks, rec->stack);
	int r;

	if (s)
		return 0;
	s = calloc(1, sizeof(*s) + bytes);
	if (!s)
		return -ENOMEM;
	s->stack = rec->stack;
	s->nframes = rec->nframes;
	s->time = rec->rec.time;
	memcpy(s + 1, nvs_record_tail(&rec->rec, bytes), bytes);
	s->pc = (const uint64_t *)(s + 1);
	r = nvs_number_set(&t->stacks, rec->stack, s);
	if (r)
		free(s);
	return r;
}

static int take_gpu(struct nvs_trace *t, const struct nvs_rec_gpu *rec)
{
	uint32_t i;

	for (i = 0; i < t->ngpus && t->gpus[i].gpu != rec->gpu; i++)
		;
	if (i >= 4096)
		return -E2BIG;
	if (i == t->ngpus) {
		void *p = realloc(t->gpus, (i + 1) * sizeof(*t->gpus));

		if (!p)
			return -ENOMEM;
		t->gpus = p;
		t->ngpus++;
	}
	memcpy(t->gpus + i, rec, sizeof(*rec));
	t->gpus[i].name[sizeof(rec->name) - 1] = 0;
	return 0;
}

/* The channel that currently has a handle. */
struct channel_handle {
	uint32_t key[2]; /* client, handle */
	uint32_t channel;
};

static int note_handle(struct nvs_trace *t, const struct nvs_rec_channel *rec)
{
	struct channel_handle *h;

	if (!t->handles.size)
		t->handles = NVS_ROWS(struct channel_handle, key);
	h = nvs_rows_at(&t->handles, (uint32_t[]){rec->client, rec->handle});
	if (!h)
		return -ENOMEM;
	h->channel = rec->channel;
	return 0;
}

const struct nvs_trace_channel *nvs_trace_channel_of(const struct nvs_trace *t, uint32_t client,
						     uint32_t handle)
{
	const struct channel_handle *h = nvs_rows_find(&t->handles, (uint32_t[]){client, handle});
	const struct nvs_trace_channel *c = h ? nvs_trace_channel_at(t, h->channel) : NULL;

	return c && c->rec.client == client && c->rec.handle == handle ? c : NULL;
}

static int take_channel(struct nvs_trace *t, const struct nvs_rec_channel *rec)
{
	struct nvs_channel_state *chan = nvs_model_channel(t, rec->channel);

	if (!chan)
		return -E2BIG;
	if (!chan->pub.known)
		chan->pub.alloc_time = rec->rec.time;
	chan->pub.known = true;
	memcpy(&chan->pub.rec, rec, sizeof(*rec));
	return note_handle(t, rec);
}

static int take_channel_gone(struct nvs_trace *t, const struct nvs_rec_channel_gone *rec)
{
	struct nvs_channel_state *chan = nvs_model_channel(t, rec->channel);

	if (!chan)
		return -E2BIG;
	chan->pub.gone = true;
	memcpy(&chan->pub.gone_rec, rec, sizeof(*rec));
	if (rec->rec.flags & NVS_CHAN_GONE_DONE) {
		memcpy(&chan->pub.done, rec + 1, sizeof(chan->pub.done));
		chan->pub.done_time = rec->rec.time;
		chan->pub.done_get = NVS_NONE;
	}
	if (!(rec->rec.flags & NVS_CHAN_GONE_AT_EXIT))
		chan->pub.free_time = rec->rec.time;
	return 0;
}

/* Members that both kinds of mapping records have. */
#define MAPPING(rec_)                                                                       \
	.map = (rec_)->map, .flags = (rec_)->rec.flags, .client = (rec_)->client,           \
	.handle = (rec_)->handle, .object_class = (rec_)->object_class, .gpu = (rec_)->gpu, \
	.address = (rec_)->address, .size = (rec_)->size, .offset = (rec_)->offset,         \
	.time = (rec_)->rec.time

static int take_cpu_map(struct nvs_trace *t, const struct nvs_rec_cpu_map *rec)
{
	struct nvs_mapping m = {MAPPING(rec), .kind = rec->kind};

	return nvs_maps_add(&t->cpu_maps, &m);
}

static int take_gpu_map(struct nvs_trace *t, const struct nvs_rec_gpu_map *rec)
{
	struct nvs_mapping m = {MAPPING(rec), .vaspace = rec->vaspace};

	return nvs_maps_add(&t->gpu_maps, &m);
}

static void take_module_gone(struct nvs_trace *t, const struct nvs_rec_module_gone *rec)
{
	struct nvs_trace_module *m = nvs_number_get(&t->modules, rec->module);

	if (m && rec->rec.time < m->gone_time)
		m->gone_time = rec->rec.time;
}

int nvs_model_update(struct nvs_trace *t, const struct nvs_rec *rec)
{
	const struct nvs_rec_clock *clock = (const void *)rec;

	switch (rec->type) {
	case NVS_REC_ATTR:
		return take_attr(t, (const void *)rec);
	case NVS_REC_CLOCK:
		return nvs_clock_add(t, rec->time, clock->mono_ns, clock->real_ns);
	case NVS_REC_THREAD:
		return take_thread(t, (const void *)rec);
	case NVS_REC_MODULE:
		return take_module(t, (const void *)rec);
	case NVS_REC_MODULE_GONE:
		take_module_gone(t, (const void *)rec);
		return 0;
	case NVS_REC_STACK:
		return take_stack(t, (const void *)rec);
	case NVS_REC_NAME:
		return nvs_embedded_names_add(t, (const void *)rec);
	case NVS_REC_GPU:
		return take_gpu(t, (const void *)rec);
	case NVS_REC_OBJECT:
		return nvs_objects_add(t, (const void *)rec);
	case NVS_REC_CPU_MAP:
		return take_cpu_map(t, (const void *)rec);
	case NVS_REC_GPU_MAP:
		return take_gpu_map(t, (const void *)rec);
	case NVS_REC_CHANNEL:
		return take_channel(t, (const void *)rec);
	case NVS_REC_CHANNEL_GONE:
		return take_channel_gone(t, (const void *)rec);
	default:
		return 0;
	}
}

int nvs_model_remove(struct nvs_trace *t, const struct nvs_rec *rec)
{
	const struct nvs_rec_object_gone *object = (const void *)rec;
	const struct nvs_rec_cpu_map_gone *map = (const void *)rec;

	if (rec->type == NVS_REC_OBJECT_GONE)
		nvs_objects_remove(t, object->client, object->handle);
	else if (rec->type == NVS_REC_CPU_MAP_GONE)
		nvs_maps_remove(&t->cpu_maps, map->map);
	else if (rec->type == NVS_REC_GPU_MAP_GONE)
		nvs_maps_remove(&t->gpu_maps, ((const struct nvs_rec_gpu_map_gone *)rec)->map);
	return 0;
}

void nvs_model_restart(struct nvs_trace *t)
{
	nvs_objects_free(t);
	nvs_maps_free(&t->cpu_maps);
	nvs_maps_free(&t->gpu_maps);
	for (uint32_t i = 0; i < t->threads.count; i++) {
		struct nvs_thread_state *thr = nvs_number_get(&t->threads, i);

		if (thr)
			thr->pub.submissions = 0;
	}
	for (uint32_t i = 0; i < t->channels.count; i++) {
		struct nvs_channel_state *chan = nvs_number_get(&t->channels, i);

		if (!chan)
			continue;
		chan->pub.next_sequence = 0;
		chan->pub.next_put = 0;
		chan->pub.breaks = 0;
		memset(&chan->pub.counts, 0, sizeof(chan->pub.counts));
	}
}

void nvs_model_free(struct nvs_trace *t)
{
	nvs_rows_free(&t->handles, NULL);
	nvs_objects_free(t);
	nvs_maps_free(&t->cpu_maps);
	nvs_maps_free(&t->gpu_maps);
	nvs_numbers_free(&t->threads, free);
	nvs_numbers_free(&t->channels, free);
	nvs_numbers_free(&t->modules, free);
	nvs_numbers_free(&t->stacks, free);
	for (uint32_t i = 0; i < NVS_ATTR_COUNT; i++)
		free((void *)t->session.attr[i]);
	free(t->clock.points);
	free(t->gpus);
}

struct nvs_trace_thread *nvs_trace_thread_at(const struct nvs_trace *t, uint32_t number)
{
	return nvs_number_get(&t->threads, number);
}

struct nvs_trace_channel *nvs_trace_channel_at(const struct nvs_trace *t, uint32_t number)
{
	return nvs_number_get(&t->channels, number);
}

struct nvs_trace_module *nvs_trace_module_at(const struct nvs_trace *t, uint32_t number)
{
	return nvs_number_get(&t->modules, number);
}

struct nvs_trace_stack *nvs_trace_stack_at(const struct nvs_trace *t, uint32_t number)
{
	return nvs_number_get(&t->stacks, number);
}

uint32_t nvs_trace_thread_count(const struct nvs_trace *t)
{
	return t->threads.count;
}

uint32_t nvs_trace_channel_count(const struct nvs_trace *t)
{
	return t->channels.count;
}

uint32_t nvs_trace_module_count(const struct nvs_trace *t)
{
	return t->modules.count;
}

uint32_t nvs_trace_stack_count(const struct nvs_trace *t)
{
	return t->stacks.count;
}

uint32_t nvs_trace_gpu_count(const struct nvs_trace *t)
{
	return t->ngpus;
}

const struct nvs_rec_gpu *nvs_trace_gpu_at(const struct nvs_trace *t, uint32_t index)
{
	return index < t->ngpus ? t->gpus + index : NULL;
}

const struct nvs_rec_gpu *nvs_trace_gpu(const struct nvs_trace *t, uint32_t gpu)
{
	for (uint32_t i = 0; i < t->ngpus; i++)
		if (t->gpus[i].gpu == gpu)
			return t->gpus + i;
	return NULL;
}
