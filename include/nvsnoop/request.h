/* SPDX-License-Identifier: MIT */
/* Recording on demand: how another process asks one that has a live page to write a trace. */
#ifndef NVSNOOP_REQUEST_H
#define NVSNOOP_REQUEST_H

/*
 * Only a process whose live page has the flag NVS_LIVE_RECORDS answers. One request is open at a
 * time. Both files of a request are beside the page; with a page nvsnoop.PID.live they are
 *
 *   nvsnoop.PID.record       the request, and the answers to it
 *   nvsnoop.PID.record.zst   the trace
 *
 * The side that asks creates the request under another name, with mode 0600, locks it with
 * flock(LOCK_EX), writes the first line, links it to its name, which must not exist, and increments
 * `requests` in the page. The process looks there 20 times a second; only if the number has changed
 * does it open the file. It accepts a plain file of mode 0600 that belongs to its effective user or
 * to root and has one or two names.
 *
 * Each line is appended by one write(). The side that asks writes
 *
 *   record AT SUBMISSIONS OPTIONS
 *   stop                            at any time; `requests` is incremented again
 *
 * AT: CLOCK_REALTIME in ns at which the window opens, 0: at once. SUBMISSIONS: how many are
 * recorded at most, 0: no limit. OPTIONS: "-", or keys as in NVSNOOP_OPTIONS, of level, timing,
 * api, backtrace, max-size and duration; what is not named is as the process was started. The
 * process writes
 *
 *   refused REASON
 *   ready
 *   open REALTIME
 *   done SUBMISSIONS GAPS SKIPPED BYTES LOST ERRNO FULL REALTIME
 *
 * in this order, or REFUSED alone. DONE comes when the trace is whole and closed. It has the
 * submissions recorded, gaps, submissions that were only counted, the trace's size, submissions
 * lost by a failed write, the errno of that (0: none), 1 if the trace has reached max-size, and
 * when the window closed. The side that asks then moves or removes the trace, and removes the
 * request.
 *
 * If the side that asked is gone, nobody has the lock any more: the process ends the window,
 * removes both files, and answers the next request. If the process is gone, its page says so
 * (nvsnoop/live.h); the trace then lacks its end.
 */
#define NVS_RECORD_SUFFIX ".record" /* in place of ".live" */
#define NVS_RECORD_TRACE ".zst" /* after that */
#define NVS_RECORD_LINE 2048 /* bytes of a line at most */

#endif
