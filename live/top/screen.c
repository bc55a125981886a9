/* SPDX-License-Identifier: MIT */
/* Terminal access with ncurses. Terminating signals are delivered only during the wait for keys, so
 * the terminal is never restored from inside a handler. */
#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>
/* term.h defines these as macros; we use them as member names. */
#undef columns
#undef lines
#include "live/top/screen.h"

static volatile sig_atomic_t ended_by;
static bool taken;
static SCREEN *screen;
static attr_t styles[NVS_TOP_STYLES], chosen_style;
static sigset_t outside; /* the signal mask during the wait */

static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void on_end(int signal)
{
	ended_by = signal;
}

bool nvs_screen_is_usable(void)
{
	const char *term = getenv("TERM");
	int wrong;

	return isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && term && *term &&
	       !setupterm(term, STDOUT_FILENO, &wrong) && cursor_address && clear_screen;
}

/* Blocks the terminating signals except during the wait: none can arrive between the check and the
 * wait. */
static void block_signals(void)
{
	struct sigaction action = {.sa_handler = on_end}, old;
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		/* Keep signals ignored that nohup ignores. */
		if (!sigaction(endings[i], NULL, &old) && old.sa_handler == SIG_IGN)
			continue;
		sigaction(endings[i], &action, NULL);
		sigaddset(&blocked, endings[i]);
	}
	sigaddset(&blocked, SIGWINCH);
	sigprocmask(SIG_BLOCK, &blocked, &outside);
}

static void choose_styles(bool color)
{
	static const short inks[NVS_TOP_STYLES] = {[NVS_TOP_NAME] = COLOR_CYAN,
						   [NVS_TOP_GOOD] = COLOR_GREEN,
						   [NVS_TOP_WARN] = COLOR_YELLOW,
						   [NVS_TOP_BAD] = COLOR_RED};

	styles[NVS_TOP_DIM] = A_DIM;
	styles[NVS_TOP_STRONG] = styles[NVS_TOP_NAME] = styles[NVS_TOP_BAD] = A_BOLD;
	styles[NVS_TOP_HEAD] = A_REVERSE;
	styles[NVS_TOP_CHOSEN] = A_REVERSE | A_BOLD;
	chosen_style = A_REVERSE;
	if (!color || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	for (short i = 0; i < NVS_TOP_STYLES; i++)
		if (inks[i] && init_pair(i + 1, inks[i], -1) != ERR)
			styles[i] |= (attr_t)COLOR_PAIR(i + 1);
	/* htop's colors for headings and the selected line. */
	init_pair(NVS_TOP_STYLES + 1, COLOR_BLACK, COLOR_GREEN);
	init_pair(NVS_TOP_STYLES + 2, COLOR_BLACK, COLOR_CYAN);
	styles[NVS_TOP_HEAD] = (attr_t)COLOR_PAIR(NVS_TOP_STYLES + 1);
	styles[NVS_TOP_CHOSEN] = chosen_style = (attr_t)COLOR_PAIR(NVS_TOP_STYLES + 2);
}

int nvs_screen_open(bool color)
{
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return -EIO;
	set_term(screen);
	taken = true;
	block_signals();
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	set_escdelay(25);
	nodelay(stdscr, TRUE);
	choose_styles(color);
	return 0;
}

void nvs_screen_close(void)
{
	if (!taken)
		return;
	taken = false;
	endwin();
	delscreen(screen);
	sigprocmask(SIG_SETMASK, &outside, NULL);
}

uint32_t nvs_screen_lines(void)
{
	return (uint32_t)LINES;
}

uint32_t nvs_screen_columns(void)
{
	return (uint32_t)COLS;
}

/* Skips COLUMNS of TEXT. A wide character at the edge is skipped completely. */
static const char *skip_columns(const char *text, uint32_t columns, uint32_t all)
{
	wchar_t c;
	int n;

	if (columns >= all)
		return "";
	for (; columns && *text; text += n) {
		n = mbtowc(&c, text, MB_CUR_MAX);
		n = n > 0 ? n : 1;
		columns -= columns < (uint32_t)wcwidth(c) ? columns : (uint32_t)wcwidth(c);
	}
	return text;
}

static void draw_line(const struct nvs_text_page *s, const struct nvs_text_line *line, int y,
		      uint32_t left, bool is_chosen)
{
	move(y, 0);
	for (uint32_t i = 0; i < line->n; i++) {
		const struct nvs_text_piece *piece = s->pieces + line->first + i;
		const char *text = s->text + piece->text;
		uint32_t off = left < piece->columns ? left : piece->columns;

		left -= off;
		attrset(is_chosen ? chosen_style : styles[piece->style]);
		if (getcurx(stdscr) + (int)(piece->columns - off) < COLS) {
			addstr(skip_columns(text, off, piece->columns));
			continue;
		}
		/* Cut the text here: ncurses would continue it on the next line. */
		{
			char fit[2048];

			nvs_escape_to_columns(fit, sizeof(fit),
					      skip_columns(text, off, piece->columns),
					      (uint32_t)(COLS - getcurx(stdscr)), s->utf8);
			addstr(fit);
		}
		attrset(A_NORMAL);
		return;
	}
	if (is_chosen)
		while (getcury(stdscr) == y && getcurx(stdscr) < COLS - 1)
			addch(' ');
	clrtoeol();
	if (is_chosen)
		mvchgat(y, COLS - 1, 1, chosen_style & ~A_COLOR, (short)PAIR_NUMBER(chosen_style),
			NULL);
	attrset(A_NORMAL);
}

void nvs_screen_draw(const struct nvs_text_page *s, uint32_t first, uint32_t n, uint32_t to,
		     uint32_t left, uint32_t chosen)
{
	for (uint32_t i = 0; i < n && to + i < (uint32_t)LINES && first + i < s->nlines; i++)
		draw_line(s, s->lines + first + i, (int)(to + i), left, first + i == chosen);
}

void nvs_screen_clear(void)
{
	erase();
}

void nvs_screen_refresh(void)
{
	refresh();
}

/* ---- keys ---- */

static int translate_key(int c)
{
	switch (c) {
	case KEY_RESIZE:
		return NVS_KEY_RESIZE;
	case KEY_UP:
		return NVS_KEY_UP;
	case KEY_DOWN:
		return NVS_KEY_DOWN;
	case KEY_LEFT:
		return NVS_KEY_LEFT;
	case KEY_RIGHT:
		return NVS_KEY_RIGHT;
	case KEY_PPAGE:
		return NVS_KEY_PAGE_UP;
	case KEY_NPAGE:
		return NVS_KEY_PAGE_DOWN;
	case KEY_HOME:
		return NVS_KEY_HOME;
	case KEY_END:
		return NVS_KEY_LAST;
	case KEY_ENTER:
	case '\r':
	case '\n':
		return NVS_KEY_ENTER;
	case KEY_BACKSPACE:
	case 8:
	case 127:
		return NVS_KEY_BACKSPACE;
	case KEY_BTAB:
		return NVS_KEY_BACK_TAB;
	case KEY_F(1):
		return NVS_KEY_HELP;
	case '\t':
		return NVS_KEY_TAB;
	case 27:
		return NVS_KEY_ESCAPE;
	default:
		return c > 0 && c < 0x80 ? c : NVS_KEY_NONE;
	}
}

int nvs_screen_read_key(int64_t ms)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	int c = getch(), ready; /* input that ncurses has buffered */

	if (c != ERR)
		return translate_key(c);
	ready = ppoll(&in, 1, &time, &outside);
	if (ended_by)
		return NVS_KEY_END;
	c = getch();
	if (c != ERR)
		return translate_key(c);
	/* Readable without data: the terminal was closed. */
	return ready > 0 ? NVS_KEY_END : NVS_KEY_NONE;
}

void nvs_screen_raise_signal(void)
{
	int signal_number = ended_by;

	if (!signal_number)
		return;
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}
