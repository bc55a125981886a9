/* SPDX-License-Identifier: MIT */
/* One line of text for a call's arguments and result, and for a submission's work. */
#include <stdio.h>
#include <string.h>
#include "decode/analysis/call_text.h"
#include "decode/base/digits.h"
#include "decode/calls/args.h"
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

struct words {
	char *text;
	size_t room, n;
};

/* What does not fit is cut. */
static void append_part(struct words *w, const char *more, size_t length)
{
	size_t left = w->room - 1 - w->n;

	length = length < left ? length : left;
	memcpy(w->text + w->n, more, length);
	w->n += length;
	w->text[w->n] = '\0';
}

static void append_text(struct words *w, const char *more)
{
	append_part(w, more, strlen(more));
}

static void append_number(struct words *w, uint64_t number)
{
	char digits[NVS_DIGITS];

	append_part(w, digits, (size_t)(nvs_put_dec(digits, number) - digits));
}

/* The name of a function, NULL if it is not known or the argument is none. */
static const char *function_name(const struct nvs_source *s, struct nvs_handles *handles,
				 const struct nvs_call *call, uint32_t i)
{
	uint32_t kind = call->api->kinds[i];
	const struct nvs_kernel *k;
	struct nvs_arg arg;

	if (kind != NVS_KIND_FUNCTION && kind != NVS_KIND_KERNEL)
		return NULL;
	arg = nvs_call_arg_at(call, i);
	k = arg.absent ? NULL : nvs_handles_get_kernel(handles, arg.value);
	return k && k->name[0] ? nvs_demangled_name(s->trace, k->name) : NULL;
}

static void append_arg(struct words *w, const struct nvs_source *s, struct nvs_handles *handles,
		       const struct nvs_call *call, uint32_t i)
{
	const char *value = function_name(s, handles, call, i);
	char room[1100];
	size_t n;

	if (!value && w->room - w->n > NVS_ARG_NUMBER_BYTES) {
		char *end = nvs_call_put_number(w->text + w->n, call, i);

		if (end) {
			*end = '\0';
			w->n = (size_t)(end - w->text);
			return;
		}
	}
	if (!value)
		value = nvs_call_print(call, i, room, sizeof(room));
	n = strlen(value);
	append_part(w, value, n > 120 ? 117 : n);
	if (n > 120)
		append_part(w, "...", 3);
}

void nvs_call_text(char text[NVS_CALL_TEXT_BYTES], const struct nvs_source *s,
		   struct nvs_handles *handles, const struct nvs_call *call)
{
	char end[64];
	struct words words = {text, NVS_CALL_TEXT_BYTES, 0}, *w = &words;

	append_part(w, "(", 1);
	for (uint32_t i = 0; i < call->nargs && w->n < MAX_TEXT; i++) {
		if (i)
			append_part(w, ", ", 2);
		append_text(w, call->api->arg[i]);
		append_part(w, "=", 1);
		append_arg(w, s, handles, call, i);
	}
	if (w->n < NVS_CALL_TEXT_BYTES - sizeof(end)) {
		append_part(w, ")", 1);
		append_text(w, print_outcome(call, end, sizeof(end)));
	}
}

static void put_work(struct words *w, uint64_t count, const char *what, const char *many,
		     uint64_t bytes)
{
	if (!count)
		return;
	append_text(w, w->n ? ", " : "");
	if (count > 1) {
		append_number(w, count);
		append_text(w, " ");
	}
	append_text(w, count > 1 ? many : what);
	if (!bytes)
		return;
	append_text(w, " of ");
	append_number(w, bytes);
	append_text(w, " bytes");
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
