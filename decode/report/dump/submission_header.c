/* SPDX-License-Identifier: MIT */
/* --dump: prints the line of a submission: time, thread, API, channel and ring state. */
#include <inttypes.h>
#include <string.h>
#include "decode/base/digits.h"
#include "decode/cli/json.h"
#include "decode/report/dump/methods.h"
#include "decode/report/core/trace_columns.h"
#include "decode/analysis/address_kind.h"

void nvs_dump_trace_name(const struct nvs_run *run, const struct nvs_source *s)
{
	struct nvs_out *out = run->out;

	if (run->options->print.format == NVS_FORMAT_JSON) {
		fprintf(out->file, "{\"schema\":%d,\"kind\":\"trace\",", NVS_SCHEMA);
		nvs_source_json(out, s);
		fputs("}\n", out->file);
		return;
	}
	if (run->n < 2)
		return;
	fputs("== ", out->file);
	nvs_out_text(out, s->path);
	fputs(" ==\n", out->file);
}

/* Untrusted text, escaped. */
static void put_text(struct nvs_line_buffer *l, const char *text)
{
	size_t n = strlen(text), room = 4 * n + 1;
	char *to = nvs_line_reserve(l, room);

	if (to)
		l->length += strlen(nvs_escape(to, room, text, n));
}

static void put_site(struct nvs_line_buffer *l, const struct nvs_dump_origin_key *key)
{
	nvs_line_text(l, " api ");
	put_text(l, key->api);
	if (*key->runtime_api) {
		nvs_line_text(l, " < ");
		put_text(l, key->runtime_api);
	}
	if (*key->site && strcmp(key->site, key->api)) {
		nvs_line_text(l, " < ");
		put_text(l, key->site);
	}
	if (*key->line) {
		nvs_line_text(l, " ");
		put_text(l, key->line);
	}
}

/* From the thread to the token. */
static void put_origin(struct nvs_line_buffer *l, const struct nvs_dump_origin_key *key)
{
	if (key->thread == NVS_NONE)
		nvs_line_text(l, "thread -");
	else
		nvs_line_dec(l, "thread ", key->tid ? key->tid : key->thread);
	if (key->name[0]) {
		nvs_line_text(l, " (");
		put_text(l, key->name);
		nvs_line_text(l, ")");
	}
	put_site(l, key);
	nvs_line_dec(l, " channel ", key->channel);
	nvs_line_hex(l, " token 0x", key->token);
}

/* Appends it; it is made anew only if it is not that of the submission before. */
static void append_origin(struct nvs_line_buffer *l, struct nvs_dump_origin *o,
			  const struct nvs_source *source, const struct nvs_submission *s,
			  const struct nvs_call *call)
{
	const struct nvs_callsite *site = nvs_trace_callsite(source->trace, s->rec->stack);
	struct nvs_dump_origin_key key;
	char *to;

	memset(&key, 0, sizeof(key));
	key.thread = s->thread->thread;
	key.tid = s->thread->tid;
	memcpy(key.name, s->thread->name, sizeof(key.name));
	key.api = nvs_source_api(source, s, call);
	key.runtime_api = site->runtime_api;
	key.site = site->site;
	key.line = nvs_trace_callsite_line(source->trace, s->rec->stack);
	key.channel = s->channel->channel;
	key.token = s->rec->token;
	if (memcmp(&key, &o->key, sizeof(key))) {
		o->key = key;
		o->text.length = 0;
		put_origin(&o->text, &key);
	}
	to = nvs_line_reserve(l, o->text.length);
	if (to && o->text.length)
		l->length = (size_t)(nvs_put_text(to, o->text.text, o->text.length) - l->text);
}

void nvs_dump_json_thread(FILE *f, const struct nvs_trace_thread *t)
{
	struct nvs_json j = {.file = f, .more = true};

	nvs_json_known(&j, "thread", t->thread != NVS_NONE, t->thread);
	nvs_json_known(&j, "tid", t->tid, t->tid);
}

static void put_ring(struct nvs_line_buffer *l, const struct nvs_submission *s)
{
	if (s->get == NVS_NONE)
		nvs_line_text(l, " get -");
	else
		nvs_line_dec(l, " get ", s->get);
	if (s->channel->known && s->channel->rec.gpfifo)
		nvs_line_hex(l, " gpfifo 0x", s->channel->rec.gpfifo);
	else
		nvs_line_text(l, " gpfifo -");
}

static void put_seconds(struct nvs_line_buffer *l, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns, second = 1000000000;

	nvs_line_dec(l, ns < 0 ? "-" : "", size / second);
	/* The leading 1 keeps zeros after the point. */
	nvs_line_dec(l, "", second + size % second);
	if (l->length > 10)
		l->text[l->length - 10] = '.';
	nvs_line_text(l, " s ");
}

void nvs_dump_text_submission(struct nvs_line_buffer *l, struct nvs_dump_origin *o,
			      const struct nvs_out *out, const struct nvs_source *source,
			      const struct nvs_submission *s, const struct nvs_call *call,
			      bool ring)
{
	int64_t ns;

	nvs_line_text(l, nvs_out_style(out, NVS_STYLE_HEAD));
	nvs_line_dec(l, "#", s->number);
	nvs_line_text(l, " ");
	if (nvs_clock_since_start(source->trace, s->rec->rec.time, &ns))
		put_seconds(l, ns);
	append_origin(l, o, source, s, call);
	nvs_line_dec(l, " sequence ", s->rec->sequence);
	nvs_line_dec(l, " put ", s->rec->old_put);
	nvs_line_dec(l, "->", s->rec->new_put);
	if (ring)
		put_ring(l, s);
	if (s->rec->rec.flags & NVS_SUB_CONTINUED)
		nvs_line_text(l, " continued");
	if (s->marks & NVS_MARK_LATE)
		nvs_line_text(l, " late");
	if (s->marks & NVS_MARK_UNCERTAIN)
		nvs_line_text(l, " perhaps-not-rung");
	if (s->marks & NVS_MARK_TORN)
		nvs_line_text(l, " torn");
	nvs_line_text(l, nvs_out_style(out, NVS_STYLE_PLAIN));
	nvs_line_text(l, "\n");
}

static uint8_t ring_in(const struct nvs_source *source, const struct nvs_submission *s)
{
	struct nvs_address_space place = {source->trace, s->channel->rec.vaspace};
	uint64_t address = nvs_dump_entry_address(s, 0);

	return address ? nvs_address_memory(&place, address) : 0;
}

void nvs_dump_json_submission(struct nvs_out *out, const struct nvs_source *source,
			      const struct nvs_submission *s, const struct nvs_call *call)
{
	const struct nvs_callsite *site = nvs_trace_callsite(source->trace, s->rec->stack);
	struct nvs_json j = {.file = out->file, .more = true};
	FILE *f = out->file;
	int64_t ns;

	fprintf(f, "{\"schema\":%d,\"kind\":\"submission\",\"submission\":%" PRIu64 ",\"time_ns\":",
		NVS_SCHEMA, s->number);
	if (nvs_clock_since_start(source->trace, s->rec->rec.time, &ns))
		fprintf(f, "%" PRId64, ns);
	else
		fputs("null", f);
	nvs_dump_json_thread(f, s->thread);
	nvs_json_name(&j, "thread_name", s->thread->name);
	nvs_json_known(&j, "call", call, call ? call->number : 0);
	nvs_json_name(&j, "api", nvs_source_api(source, s, call));
	nvs_json_name(&j, "runtime_api", site->runtime_api);
	nvs_json_name(&j, "callsite", site->site);
	nvs_json_name(&j, "line", nvs_trace_callsite_line(source->trace, s->rec->stack));
	nvs_json_name(&j, "module", site->site_module);
	fprintf(f,
		",\"channel\":%u,\"token\":%u,\"sequence\":%" PRIu64
		",\"old_put\":%u,\"new_put\":%u,\"entries\":%u,\"command_bytes\":%" PRIu64,
		s->channel->channel, s->rec->token, s->rec->sequence, s->rec->old_put,
		s->rec->new_put, s->nentries, nvs_submission_bytes(s));
	nvs_json_known(&j, "gp_get", s->get != NVS_NONE, s->get);
	nvs_dump_json_address(f, "gpfifo_address", s->channel->known ? s->channel->rec.gpfifo : 0);
	nvs_json_name(&j, "ring_in", nvs_memory_bits_name(ring_in(source, s)));
	nvs_json_name(&j, "userd_in",
		      nvs_memory_bits_name(nvs_userd_memory(source->trace, s->channel)));
	fputs("}\n", f);
}

static const char *where_name(uint8_t in)
{
	return in ? nvs_memory_bits_name(in) : "-";
}

void nvs_dump_text_writes(struct nvs_out *out, const struct nvs_source *source,
			  const struct nvs_submission *s, uint8_t pushbuffer)
{
	fprintf(out->file,
		"  ; writes: pushbuffer %" PRIu64 " bytes (%s), GPFIFO %u (%s), GP_PUT 4 (%s), "
		"doorbell 4 (MMIO)\n",
		nvs_submission_bytes(s), where_name(pushbuffer), 8 * s->nentries,
		where_name(ring_in(source, s)),
		where_name(nvs_userd_memory(source->trace, s->channel)));
}
