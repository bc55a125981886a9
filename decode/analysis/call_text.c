/* SPDX-License-Identifier: MIT */
/* One line of text for a call's arguments and result, and for a submission's work. */
#include <stdio.h>
#include <string.h>
#include "decode/analysis/call_text.h"
#include "decode/trace/demangled_names.h"

#define MAX_TEXT (NVS_CALL_TEXT_BYTES / 2) /* no argument begins after it */

const char *nvs_call_exit_text(const struct nvs_call *call)
{
	if (!call->end)
		return "did not return";
	if (call->flags & NVS_CALL_UNWOUND)
		return "left by an exception";
	return call->flags & NVS_CALL_ABANDONED ? "left by a jump" : NULL;
}

static const char *print_outcome(const struct nvs_call *call, char *room, size_t size)
{
	const char *left = nvs_call_exit_text(call);

	if (left) {
		snprintf(room, size, " %s", left);
		return room;
	}
	if (call->result) {
		const char *name = nvs_call_error(call->result);

		snprintf(room, size, " = %s", name ? name : "");
		if (!name)
			snprintf(room, size, " = %u", call->result);
		return room;
	}
	return call->flags & NVS_CALL_CAPTURED ? " captured" : "";
}

/* Prints an argument; functions by name, if known. */
static void print_arg(const struct nvs_source *s, struct nvs_handles *handles,
		      const struct nvs_call *call, uint32_t i, char *value, size_t room)
{
	struct nvs_arg arg = nvs_call_arg_at(call, i);
	const struct nvs_kernel *k = NULL;
	const char *name;

	nvs_call_print(call, i, value, room);
	if (!arg.absent && (arg.kind == NVS_KIND_FUNCTION || arg.kind == NVS_KIND_KERNEL))
		k = nvs_handles_get_kernel(handles, arg.value);
	name = k && k->name[0] ? nvs_demangled_name(s->trace, k->name) : NULL;
	if (name)
		snprintf(value, room, "%s", name);
	if (strlen(value) > 120)
		strcpy(value + 117, "...");
}

/* Returns the new length; what does not fit is cut. */
static size_t append_text(char text[NVS_CALL_TEXT_BYTES], size_t n, const char *more)
{
	size_t length = strlen(more), left = NVS_CALL_TEXT_BYTES - 1 - n;

	length = length < left ? length : left;
	memcpy(text + n, more, length);
	text[n + length] = '\0';
	return n + length;
}

void nvs_call_text(char text[NVS_CALL_TEXT_BYTES], const struct nvs_source *s,
		   struct nvs_handles *handles, const struct nvs_call *call)
{
	char value[1100], end[64];
	size_t n = 1;

	strcpy(text, "(");
	for (uint32_t i = 0; i < call->nargs && n < MAX_TEXT; i++) {
		print_arg(s, handles, call, i, value, sizeof(value));
		n = append_text(text, n, i ? ", " : "");
		n = append_text(text, n, call->api->arg[i]);
		n = append_text(text, n, "=");
		n = append_text(text, n, value);
	}
	if (n < NVS_CALL_TEXT_BYTES - sizeof(end))
		snprintf(text + n, NVS_CALL_TEXT_BYTES - n, ")%s",
			 print_outcome(call, end, sizeof(end)));
}

struct words {
	char *text;
	size_t room, n;
};

static void put_work(struct words *w, uint64_t count, const char *what, const char *many,
		     uint64_t bytes)
{
	if (!count || w->n >= w->room)
		return;
	w->n += (size_t)snprintf(w->text + w->n, w->room - w->n, "%s", w->n ? ", " : "");
	if (w->n < w->room && count > 1)
		w->n += (size_t)snprintf(w->text + w->n, w->room - w->n, "%llu ",
					 (unsigned long long)count);
	if (w->n < w->room)
		w->n += (size_t)snprintf(w->text + w->n, w->room - w->n, "%s",
					 count > 1 ? many : what);
	if (w->n < w->room && bytes)
		w->n += (size_t)snprintf(w->text + w->n, w->room - w->n, " of %llu bytes",
					 (unsigned long long)bytes);
}

/* The driver's own uploads are printed only if there is nothing else. */
void nvs_tally_text(char *text, size_t size, const struct nvs_tally *t)
{
	struct words words = {text, size, 0}, *w = &words;

	*text = 0;
	put_work(w, t->launches, "kernel", "kernels", 0);
	put_work(w, t->copies[NVS_COPY_ENGINE], "engine copy", "engine copies",
		 t->copied[NVS_COPY_ENGINE]);
	put_work(w, t->copies[NVS_COPY_INLINE], "inline copy", "inline copies",
		 t->copied[NVS_COPY_INLINE]);
	put_work(w, t->copies[NVS_COPY_MACRO], "macro copy", "macro copies",
		 t->copied[NVS_COPY_MACRO]);
	put_work(w, t->memsets, "memset", "memsets", t->memset_bytes);
	if (w->n)
		return;
	put_work(w, t->uploads, "upload", "uploads", t->upload_bytes);
	if (w->n)
		return;
	put_work(w, t->acquires, "acquire", "acquires", 0);
	put_work(w, t->releases, "release", "releases", 0);
}
