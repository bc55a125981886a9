/* SPDX-License-Identifier: MIT */
/* The terminal: open, draw, read keys, restore. */
#ifndef NVSNOOP_LIVE_TOP_SCREEN_H
#define NVSNOOP_LIVE_TOP_SCREEN_H

#include "live/top/text_page.h"

enum nvs_key {
	NVS_KEY_NONE, /* the timeout expired */
	NVS_KEY_END, /* the terminal was closed, or a terminating signal arrived */
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

/* Returns true if stdin and stdout are a terminal that can address the cursor. */
bool nvs_screen_is_usable(void);
/* Initializes the terminal. Returns 0, or -EIO if that fails. */
int nvs_screen_open(bool color);
/* Restores the terminal. May be called more than once. */
void nvs_screen_close(void);
uint32_t nvs_screen_lines(void), nvs_screen_columns(void);

/* Draws N lines of a sheet, from FIRST on, at line TO of the screen, scrolled left by LEFT columns.
 * Line CHOSEN of the sheet is highlighted; UINT32_MAX: none. */
void nvs_screen_draw(const struct nvs_text_page *s, uint32_t first, uint32_t n, uint32_t to,
		     uint32_t left, uint32_t chosen);
void nvs_screen_clear(void); /* call before redrawing everything */
void nvs_screen_refresh(void);
/* Returns an NVS_KEY_* or a character. Waits at most MS. */
int nvs_screen_read_key(int64_t ms);
/* Raises the terminating signal that was received, if any, with its default action. Call after
 * nvs_screen_close(). */
void nvs_screen_raise_signal(void);

#endif
