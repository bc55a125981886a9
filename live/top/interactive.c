/* SPDX-License-Identifier: MIT */
/* The interactive view of nvsnoop-top: process list, process detail, why a process
 * hangs, help, and key handling. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "live/top/columns.h"
#include "live/top/recording.h"
#include "live/top/screen.h"

#define RECORDING_S 0.1 /* between two looks at a trace that is being written */
#define FIRST_UPDATE_S 0.25 /* delay of the first update, so that rates appear soon */

enum view { LIST, DETAIL, HANG, HELP };

struct watch {
	struct nvs_top *top;
	enum view view, behind; /* behind: the view that help covers */
	enum view before; /* the view that the explanation of a hang covers */
	struct nvs_text_page sheet, line, hang;
	uint32_t pid; /* of the selected process */
	uint64_t pid_namespace; /* likewise */
	bool chose; /* selected by the user; otherwise the first row is selected */
	uint32_t first; /* first visible line of the scrolled part */
	uint32_t left; /* columns scrolled off to the left */
	enum nvs_top_part part;
	bool paused, gone; /* gone: the process in the detail view has ended */
	bool asking; /* prompting for an interval */
	char typed[16];
	struct nvs_top_recording recording;
	double next; /* time of the next update, in s of CLOCK_MONOTONIC */
	bool ended;
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- drawing ---- */

static const struct {
	const char *keys, *what;
} help[] = {
	{"up, down, PgUp, PgDn, Home, End", "select a process; scroll"},
	{"Enter", "details of the selected process; Esc returns"},
	{"H", "why the selected process hangs; Esc returns"},
	{"W", "write a trace of the selected process, until W again"},
	{"left, right, < and >", "sort by another column; scroll sideways"},
	{"R", "reverse the order"},
	{"L C S M P N T", "sort by launches, calls, submissions, memory,"},
	{"", "pending submissions, process ID, time in a call"},
	{"Tab, 1 to 7, 0", "details: next section, section N, all sections"},
	{"Space", "pause and resume"},
	{"d", "set the update interval"},
	{"r", "update now"},
	{"h, ?, F1", "this help; any key returns"},
	{"q", "quit"},
};

static void draw_help(struct watch *w)
{
	struct nvs_text_page *s = &w->sheet;

	nvs_text_page_printf(s, NVS_TOP_NAME, "nvsnoop-top " NVS_VERSION);
	nvs_text_page_end_line(s);
	nvs_text_page_end_line(s);
	for (size_t i = 0; i < sizeof(help) / sizeof(*help); i++) {
		nvs_text_page_printf(s, NVS_TOP_STRONG, "  %s", help[i].keys);
		if (nvs_screen_columns() >= 80 || !*help[i].keys) {
			nvs_text_page_pad(s, NVS_TOP_PLAIN, nvs_screen_columns() >= 80 ? 35 : 4);
		} else {
			nvs_text_page_end_line(s);
			nvs_text_page_pad(s, NVS_TOP_PLAIN, 4);
		}
		nvs_text_page_printf(s, NVS_TOP_PLAIN, "%s", help[i].what);
		nvs_text_page_end_line(s);
	}
	nvs_text_page_end_line(s);
	nvs_text_page_printf(s, NVS_TOP_PLAIN,
			     "! has waited in a call for 10 s, and no channel has advanced.");
	nvs_text_page_end_line(s);
	nvs_text_page_printf(s, NVS_TOP_PLAIN,
			     "PEND: submissions that channels have not processed.");
	nvs_text_page_end_line(s);
	nvs_text_page_printf(s, NVS_TOP_PLAIN, "MEM: device memory that is not freed. k, M and G");
	nvs_text_page_end_line(s);
	nvs_text_page_printf(s, NVS_TOP_PLAIN, "are 10^3, 10^6 and 10^9.");
	nvs_text_page_end_line(s);
	nvs_screen_draw(s, 0, s->nlines, 0, 0, UINT32_MAX);
}

/* The bottom line: the main keys, or the text being typed. */
static void draw_foot(struct watch *w)
{
	static const char *const lists[][2] = {
		{"Enter", "Detail"}, {"H", "Hang"},  {"W", "Record"},  {"h", "Help"},
		{"q", "Quit"},	     {"<>", "Sort"}, {"R", "Reverse"}, {"Space", "Pause"},
		{"d", "Interval"},   {NULL, NULL}};
	static const char *const details[][2] = {
		{"Esc", "Back"}, {"Tab", "Part"},    {"H", "Hang"},
		{"W", "Record"}, {"Space", "Pause"}, {"d", "Interval"},
		{"h", "Help"},	 {"q", "Quit"},	     {NULL, NULL}};
	static const char *const hangs[][2] = {
		{"Esc", "Back"}, {"r", "Again"}, {"h", "Help"}, {"q", "Quit"}, {NULL, NULL}};
	const char *const(*keys)[2] = w->view == LIST ? lists : w->view == HANG ? hangs : details;
	struct nvs_text_page *s = &w->line;
	uint32_t columns = nvs_screen_columns();

	nvs_text_page_clear(s);
	if (w->asking)
		nvs_text_page_printf(s, NVS_TOP_STRONG, "Seconds between two updates (now %g): %s_",
				     w->top->interval, w->typed);
	else if (*w->recording.text)
		nvs_text_page_printf(s, NVS_TOP_STRONG, "%s", w->recording.text);
	for (; !w->asking && !*w->recording.text && (*keys)[0]; keys++) {
		if (s->at + strlen((*keys)[0]) + strlen((*keys)[1]) + 2 > columns)
			continue;
		nvs_text_page_printf(s, NVS_TOP_STRONG, "%s", (*keys)[0]);
		nvs_text_page_printf(s, NVS_TOP_HEAD, "%s ", (*keys)[1]);
	}
	nvs_text_page_pad(s, w->asking || *w->recording.text ? NVS_TOP_PLAIN : NVS_TOP_HEAD,
			  columns);
	nvs_text_page_end_line(s);
	nvs_screen_draw(s, 0, 1, nvs_screen_lines() - 1, 0, UINT32_MAX);
}

static void select_row(struct watch *w, uint32_t row)
{
	w->pid = w->top->rows[row].page->pid;
	w->pid_namespace = w->top->rows[row].page->pid_namespace;
}

static uint32_t chosen_row(const struct watch *w)
{
	for (uint32_t i = 0; i < w->top->nrows && w->chose; i++)
		if (w->top->rows[i].page->pid == w->pid &&
		    w->top->rows[i].page->pid_namespace == w->pid_namespace)
			return i;
	return 0;
}

/* Lines of the scrolled part, below FIXED lines and above the bottom line. */
static uint32_t scroll_lines(uint32_t fixed)
{
	uint32_t lines = nvs_screen_lines();

	return lines > fixed + 1 ? lines - fixed - 1 : 0;
}

static void draw_list(struct watch *w)
{
	const char *note = w->paused ? "PAUSED" : "";
	struct nvs_text_page *s = &w->sheet;
	uint32_t fixed, lines, chosen = chosen_row(w);

	if (w->top->nrows)
		select_row(w, chosen);
	nvs_top_add_header(s, w->top, nvs_screen_columns(), note);
	/* A terminal with few lines shows processes instead of the summary. */
	fixed = nvs_screen_lines() > 8 ? s->nlines : 0;
	nvs_text_page_clear(&w->line);
	nvs_screen_draw(s, 0, fixed, 0, 0, UINT32_MAX);
	nvs_text_page_clear(s);
	nvs_top_add_list(s, w->top, nvs_screen_columns());
	nvs_screen_draw(s, 0, 1, fixed, 0, UINT32_MAX);
	lines = scroll_lines(fixed + 1);
	if (chosen < w->first)
		w->first = chosen;
	if (lines && chosen >= w->first + lines)
		w->first = chosen - lines + 1;
	if (w->first + lines > w->top->nrows)
		w->first = w->top->nrows > lines ? w->top->nrows - lines : 0;
	nvs_screen_draw(s, 1 + w->first, lines, fixed + 1, 0, 1 + chosen);
	if (w->top->nrows)
		return;
	nvs_text_page_clear(s);
	nvs_text_page_end_line(s);
	nvs_text_page_printf(s, NVS_TOP_PLAIN, "  No process is recorded now. Start one with");
	nvs_text_page_end_line(s);
	nvs_text_page_printf(s, NVS_TOP_STRONG, "      nvsnoop -o none program");
	nvs_text_page_end_line(s);
	if (w->top->refused) {
		nvs_text_page_printf(s, NVS_TOP_WARN, "  %u file%s skipped: %s", w->top->refused,
				     w->top->refused == 1 ? " was" : "s were", w->top->why);
		nvs_text_page_end_line(s);
	}
	nvs_screen_draw(s, 0, s->nlines, fixed + 1, 0, UINT32_MAX);
}

static void draw_parts(struct watch *w)
{
	struct nvs_text_page *s = &w->line;

	nvs_text_page_clear(s);
	for (int i = 0; i < NVS_TOP_PARTS; i++) {
		nvs_text_page_printf(s, NVS_TOP_DIM, "%s%d ", i ? " " : "", i);
		nvs_text_page_printf(
			s, w->part == (enum nvs_top_part)i ? NVS_TOP_CHOSEN : NVS_TOP_PLAIN, "%s",
			nvs_top_part_name((enum nvs_top_part)i));
	}
	if (w->paused)
		nvs_text_page_printf(s, NVS_TOP_WARN, "  PAUSED");
	if (w->gone)
		nvs_text_page_printf(s, NVS_TOP_BAD, "  process %u has ended", w->pid);
	nvs_text_page_end_line(s);
	nvs_screen_draw(s, 0, 1, 0, 0, UINT32_MAX);
}

/* The last view of an ended process stays on the screen. */
static void draw_detail(struct watch *w)
{
	const struct nvs_top_row *row = nvs_top_find(w->top, w->pid, &w->pid_namespace);
	struct nvs_text_page *s = &w->sheet;
	uint32_t lines = scroll_lines(1);

	if (row) {
		nvs_text_page_clear(s);
		nvs_top_add_detail(s, row, w->part);
	}
	w->gone = !row || row->page->gone;
	draw_parts(w);
	if (w->first + lines > s->nlines)
		w->first = s->nlines > lines ? s->nlines - lines : 0;
	nvs_screen_draw(s, w->first, lines, 1, w->left, UINT32_MAX);
}

static void draw_hang(struct watch *w)
{
	uint32_t lines = scroll_lines(0);

	if (w->first + lines > w->hang.nlines)
		w->first = w->hang.nlines > lines ? w->hang.nlines - lines : 0;
	nvs_screen_draw(&w->hang, w->first, lines, 0, w->left, UINT32_MAX);
}

static void draw_screen(struct watch *w)
{
	nvs_screen_clear();
	if (w->view != DETAIL)
		nvs_text_page_clear(&w->sheet);
	if (w->view == HELP)
		draw_help(w);
	else if (w->view == LIST)
		draw_list(w);
	else if (w->view == HANG)
		draw_hang(w);
	else
		draw_detail(w);
	if (w->view != HELP)
		draw_foot(w);
	nvs_screen_refresh();
}

/* ---- keys ---- */

/* Explains the selected process. Reading its trace may take a while. */
static void explain_hang(struct watch *w)
{
	const struct nvs_top_row *row = nvs_top_find(w->top, w->pid, &w->pid_namespace);

	nvs_text_page_clear(&w->hang);
	nvs_text_page_printf(&w->hang, NVS_TOP_PLAIN, "Explaining process %u ...", w->pid);
	nvs_text_page_end_line(&w->hang);
	draw_screen(w);
	nvs_text_page_clear(&w->hang);
	if (row)
		nvs_top_add_hang(&w->hang, row);
	else
		nvs_text_page_printf(&w->hang, NVS_TOP_BAD, "Process %u has ended.", w->pid);
	if (w->hang.at)
		nvs_text_page_end_line(&w->hang);
}

static void toggle_recording(struct watch *w)
{
	const struct nvs_top_row *row = nvs_top_find(w->top, w->pid, &w->pid_namespace);

	if (row || w->recording.request)
		nvs_top_toggle_recording(&w->recording, row ? row->page : &w->recording.page);
}

static void set_view(struct watch *w, enum view view)
{
	w->behind = w->view;
	w->view = view;
	if (view != HELP && w->behind != HELP)
		w->first = w->left = 0;
	if (view == DETAIL && w->behind == LIST)
		nvs_text_page_clear(&w->sheet);
}

static void sort_by(struct watch *w, const struct nvs_top_column *c)
{
	w->top->sort = c;
	nvs_top_sort(w->top);
}

static void sort_by_step(struct watch *w, int step)
{
	int at = (int)(w->top->sort - nvs_top_columns) + step;

	sort_by(w, nvs_top_columns + (at + NVS_TOP_COLUMNS) % NVS_TOP_COLUMNS);
}

/* Moves the selection in the list, or scrolls the detail view. */
static void move_by(struct watch *w, int64_t lines)
{
	int64_t at = w->view == LIST ? (int64_t)chosen_row(w) : (int64_t)w->first;
	int64_t last = w->view == LIST	 ? (int64_t)w->top->nrows - 1
		       : w->view == HANG ? (int64_t)w->hang.nlines
					 : (int64_t)w->sheet.nlines;

	at += lines;
	at = at > last ? last : at;
	at = at < 0 ? 0 : at;
	if (w->view != LIST)
		w->first = (uint32_t)at;
	else if (w->top->nrows)
		select_row(w, (uint32_t)at);
	/* Moving to the top selects whichever row is first again. */
	if (w->view == LIST)
		w->chose = at;
}

static bool handle_move(struct watch *w, int key)
{
	int64_t screen = scroll_lines(w->view == LIST ? 4 : 1);

	switch (key) {
	case NVS_KEY_UP:
	case 'k':
		move_by(w, -1);
		return true;
	case NVS_KEY_DOWN:
	case 'j':
		move_by(w, 1);
		return true;
	case NVS_KEY_PAGE_UP:
		move_by(w, -screen);
		return true;
	case NVS_KEY_PAGE_DOWN:
		move_by(w, screen);
		return true;
	case NVS_KEY_HOME:
	case 'g':
		move_by(w, INT32_MIN);
		return true;
	case NVS_KEY_LAST:
	case 'G':
		move_by(w, INT32_MAX);
		return true;
	}
	return false;
}

static void handle_typed(struct watch *w, int key)
{
	size_t n = strlen(w->typed);

	if (key == NVS_KEY_ESCAPE) {
		w->asking = false;
	} else if (key == NVS_KEY_ENTER) {
		w->asking = !nvs_top_parse_interval(w->typed, &w->top->interval) && *w->typed;
		w->typed[0] = 0;
		w->next = now_s();
	} else if (key == NVS_KEY_BACKSPACE && n) {
		w->typed[n - 1] = 0;
	} else if ((isdigit(key & 0xff) || key == '.') && key < 0x80 && n + 1 < sizeof(w->typed)) {
		w->typed[n] = (char)key;
		w->typed[n + 1] = 0;
	}
}

/* Keys of the list view. */
static void handle_list_key(struct watch *w, int key)
{
	static const struct {
		int key;
		const char *column;
	} sorts[] = {{'L', "launches_per_s"}, {'C', "calls_per_s"}, {'S', "submissions_per_s"},
		     {'M', "memory"},	      {'P', "pending"},	    {'N', "pid"},
		     {'T', "call_for"}};

	for (size_t i = 0; i < sizeof(sorts) / sizeof(*sorts); i++)
		if (sorts[i].key == key)
			sort_by(w, nvs_top_column(sorts[i].column));
	if (key == NVS_KEY_LEFT || key == '<')
		sort_by_step(w, -1);
	if (key == NVS_KEY_RIGHT || key == '>')
		sort_by_step(w, 1);
	if (key == 'R') {
		w->top->ascending = !w->top->ascending;
		nvs_top_sort(w->top);
	}
	if (key == NVS_KEY_ENTER && w->top->nrows) {
		w->gone = false;
		w->chose = true;
		set_view(w, DETAIL);
	}
}

static void scroll_sideways(struct watch *w, int key)
{
	if (key == NVS_KEY_RIGHT)
		w->left += 8;
	if (key == NVS_KEY_LEFT)
		w->left -= w->left < 8 ? w->left : 8;
}

/* Keys of the view of a hang. */
static void handle_hang_key(struct watch *w, int key)
{
	if (key == NVS_KEY_ESCAPE || key == NVS_KEY_ENTER || key == NVS_KEY_BACKSPACE) {
		set_view(w, w->before);
		nvs_text_page_clear(&w->sheet);
	}
	scroll_sideways(w, key);
}

static void set_part(struct watch *w, int part)
{
	w->part = (enum nvs_top_part)((part + NVS_TOP_PARTS) % NVS_TOP_PARTS);
	w->first = w->left = 0;
}

/* Keys of the detail view. */
static void handle_detail_key(struct watch *w, int key)
{
	if (key == NVS_KEY_ESCAPE || key == NVS_KEY_ENTER || key == NVS_KEY_BACKSPACE)
		set_view(w, LIST);
	if (key == NVS_KEY_TAB || key == NVS_KEY_BACK_TAB)
		set_part(w, (int)w->part + (key == NVS_KEY_TAB ? 1 : -1));
	if (key >= '0' && key < '0' + NVS_TOP_PARTS)
		set_part(w, key - '0');
	scroll_sideways(w, key);
}

static void handle_key(struct watch *w, int key)
{
	if (key == NVS_KEY_RESIZE)
		return;
	/* What was said about the last trace has been read. */
	if (!w->recording.request)
		w->recording.text[0] = '\0';
	if (w->asking) {
		handle_typed(w, key);
	} else if (w->view == HELP) {
		w->view = w->behind;
		w->ended = key == 'q';
	} else if (key == 'q') {
		w->ended = true;
	} else if (key == 'h' || key == '?' || key == NVS_KEY_HELP) {
		set_view(w, HELP);
	} else if (key == ' ') {
		w->paused = !w->paused;
	} else if (key == 'H' || (key == 'r' && w->view == HANG)) {
		if (w->view != HANG) {
			w->before = w->view;
			set_view(w, HANG);
		}
		explain_hang(w);
	} else if (key == 'W') {
		toggle_recording(w);
	} else if (key == 'r') {
		w->next = 0;
	} else if (key == 'd') {
		w->asking = true;
		w->typed[0] = 0;
	} else if (!handle_move(w, key)) {
		if (w->view == LIST)
			handle_list_key(w, key);
		else if (w->view == HANG)
			handle_hang_key(w, key);
		else
			handle_detail_key(w, key);
	}
}

int nvs_top_run_screen(struct nvs_top *top)
{
	struct watch w = {.top = top,
			  .sheet.utf8 = top->utf8,
			  .line.utf8 = top->utf8,
			  .hang.utf8 = top->utf8};
	const char *no_color = getenv("NO_COLOR");
	double first = top->interval < FIRST_UPDATE_S ? top->interval : FIRST_UPDATE_S;
	int key = NVS_KEY_NONE;

	if (nvs_screen_open(!(no_color && *no_color))) {
		fputs("nvsnoop-top: cannot initialize the terminal; use --once to print lines\n",
		      stderr);
		return 1;
	}
	if (top->options->npids == 1) {
		w.pid = top->options->pids[0];
		w.view = DETAIL;
	}
	nvs_top_update(top);
	if (w.view == DETAIL && top->nrows)
		select_row(&w, 0);
	w.next = now_s() + first;
	while (!w.ended && key != NVS_KEY_END) {
		double left;

		if (!w.paused && now_s() >= w.next) {
			nvs_top_update(top);
			w.next = now_s() + top->interval;
		}
		nvs_top_poll_recording(&w.recording);
		draw_screen(&w);
		left = w.paused ? 3600 : w.next - now_s();
		if (w.recording.request && left > RECORDING_S)
			left = RECORDING_S;
		key = nvs_screen_read_key(left > 0 ? (int64_t)(left * 1000) + 1 : 0);
		if (key != NVS_KEY_NONE && key != NVS_KEY_END)
			handle_key(&w, key);
	}
	nvs_top_end_recording(&w.recording);
	nvs_screen_close();
	nvs_text_page_free(&w.sheet);
	nvs_text_page_free(&w.line);
	nvs_text_page_free(&w.hang);
	nvs_screen_raise_signal();
	return 0;
}
