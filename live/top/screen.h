/* SPDX-License-Identifier: MIT */
/* The terminal: taken, drawn upon, asked for keys, and given back as it was. */
#ifndef NVSNOOP_LIVE_TOP_SCREEN_H
#define NVSNOOP_LIVE_TOP_SCREEN_H

#include "live/top/text_page.h"

enum nvs_key {
	NVS_KEY_NONE, /* the time is over */
	NVS_KEY_END, /* the terminal has gone away, or a signal ends us */
	NVS_KEY_RESIZE,
	NVS_KEY_UP = 0x100,
	NVS_KEY_DOWN,
	NVS_KEY_LEFT,
	NVS_KEY_RIGHT,
	NVS_KEY_PAGE_UP,
	NVS_KEY_PAGE_DOWN,
	NVS_KEY_HOME,
	NVS_KEY_LAST,
	NVS_KEY_ENTER,
	NVS_KEY_ESCAPE,
	NVS_KEY_BACKSPACE,
	NVS_KEY_TAB,
	NVS_KEY_BACK_TAB,
	NVS_KEY_HELP, /* F1 */
};

/* Can lines be drawn over each other there? Not on a dumb terminal, nor on none. */
bool nvs_screen_possible(void);
/* Takes the terminal. -EIO: it cannot be had. */
int nvs_screen_open(bool color);
/* Gives it back. More than once is fine. */
void nvs_screen_close(void);
uint32_t nvs_screen_lines(void), nvs_screen_columns(void);

/*
 * Draws lines FIRST and N - 1 behind it of a sheet, from line TO of the screen on, without its
 * first LEFT columns. CHOSEN: this line of the sheet is shown all over as the chosen one;
 * UINT32_MAX: none.
 */
void nvs_screen_draw(const struct nvs_sheet *s, uint32_t first, uint32_t n, uint32_t to,
		     uint32_t left, uint32_t chosen);
void nvs_screen_clear(void); /* ahead of drawing all anew */
void nvs_screen_show(void);
/* A key, or a character as it is; waits for at most MS. */
int nvs_screen_key(int64_t ms);
/* The signal that was to end us, 0: none. It ends us, once the terminal has been given back, here.
 */
void nvs_screen_obey(void);

#endif
