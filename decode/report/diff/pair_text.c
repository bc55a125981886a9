/* SPDX-License-Identifier: MIT */
/* --diff A:N B:M: formats a header, method or decoded data as a line. */
#include "decode/gpu/class.h"
#include "decode/gpu/pb.h"
#include "decode/gpu/method_format.h"
#include "decode/report/diff/diff.h"

#define NAME 24 /* characters, to align most values */

static void put_header(struct nvs_line_buffer *l, const struct nvs_diff_word *w)
{
	nvs_line_put(l, "%s", nvs_pb_form_name(w->form));
	if (w->form == NVS_PB_SET_MASK || w->form == NVS_PB_STORE_MASK)
		nvs_line_put(l, " 0x%x", w->value);
	else if (w->form == NVS_PB_NOP)
		nvs_line_put(l, " [%u]", w->count);
	else if (w->form != NVS_PB_USE_MASK && w->form != NVS_PB_END_SEGMENT)
		nvs_line_put(l, " s%u %04x [%u]", w->subch, w->method, w->count);
}

static void put_method(struct nvs_line_buffer *l, const struct nvs_diff_word *w)
{
	const struct nvs_class *cls = nvs_class_find(w->cls);
	struct nvs_method_at at = {NULL};
	size_t name;

	if (cls)
		nvs_method_find(cls, w->method, &at);
	nvs_line_put(l, "  s%u %04x %04x ", w->subch, w->cls, w->method);
	name = l->length;
	nvs_format_method(l, &at, w->method);
	if (w->kind == NVS_DIFF_DATA) {
		nvs_line_put(l, " [%u]", w->count);
		return;
	}
	name = l->length - name;
	nvs_line_put(l, "%*s %08x", name < NAME ? (int)(NAME - name) : 0, "", w->value);
	if (at.method)
		nvs_format_fields(l, at.method, w->value, false);
}

static void put_launch(struct nvs_line_buffer *l, const struct nvs_grid *g)
{
	nvs_line_put(l, "  ; launch");
	if (!g) {
		nvs_line_put(l, " of a descriptor that is not known");
		return;
	}
	nvs_line_put(l, " grid %ux%ux%u block %ux%ux%u", g->grid[0], g->grid[1], g->grid[2],
		     g->block[0], g->block[1], g->block[2]);
	if (g->cluster[0])
		nvs_line_put(l, " cluster %ux%ux%u", g->cluster[0], g->cluster[1], g->cluster[2]);
	nvs_line_put(l, " registers %u shared %u local %u", g->registers, g->shared_bytes,
		     g->local_bytes);
}

void nvs_diff_word_put(struct nvs_line_buffer *l, const struct nvs_diff_word *w,
		       const struct nvs_grid *grid)
{
	switch (w->kind) {
	case NVS_DIFF_HEADER:
		put_header(l, w);
		break;
	case NVS_DIFF_LAUNCH:
		put_launch(l, grid);
		break;
	case NVS_DIFF_FIELD:
		nvs_line_put(l, "    %s", w->text);
		break;
	case NVS_DIFF_COPY:
		nvs_line_put(l, "  ; %s by a macro, %u bytes", nvs_op_kind_name(w->value),
			     w->count);
		break;
	default:
		put_method(l, w);
	}
}
