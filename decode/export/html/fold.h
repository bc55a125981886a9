/* SPDX-License-Identifier: MIT */
/* Makes the text of --dump smaller before it is deflated, in a fraction of the time that deflating
 * it would take. The page undoes it: unfolded() in stream.js.
 *
 * - "    202800010: INC ..." becomes "    +8: INC ...": the address less that of the last such
 * line.
 * - A line that was there before, after this, becomes a character: NVS_FOLD_FIRST for the first
 *   line of the text that begins with a space, and so on. Such characters that follow each other
 *   are a line of their own. */
#ifndef NVSNOOP_DECODE_EXPORT_HTML_FOLD_H
#define NVSNOOP_DECODE_EXPORT_HTML_FOLD_H

#include <stddef.h>

#define NVS_FOLD_FIRST 0x30u

/* Folds N bytes of whole lines that begin with '#' or a space. TO has room for N bytes. Returns how
 * many it used. */
size_t nvs_html_fold(char *to, const char *text, size_t n);

#endif
