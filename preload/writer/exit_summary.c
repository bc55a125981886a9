/* SPDX-License-Identifier: MIT */
/* The closing line: printed to stderr, or sent to the launcher, which prints one for the whole
 * process tree. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "preload/writer/session.h"
#include "preload/writer/writer.h"
#include "preload/base/names.h"
#include "preload/base/stderr.h"
#include "preload/base/text.h"
#include "trap/low/sys.h"

struct summary_line {
	char text[3 * PATH_MAX];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void add_text(struct summary_line *l,
							   const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(l->text + l->used, sizeof(l->text) - l->used, format, ap);
	va_end(ap);
	if (n > 0)
		l->used += (size_t)n;
	if (l->used >= sizeof(l->text))
		l->used = sizeof(l->text) - 1;
}

static void add_name(struct summary_line *l, const char *name)
{
	char printable[PATH_MAX];

	nvs_name_printable(name, printable, sizeof(printable));
	add_text(l, "%s", printable);
}

static void print_line(struct summary_line *l)
{
	l->text[l->used++] = '\n';
	nvs_stderr_write(l->text, l->used);
}

/* ---- for the launcher ---- */

/* In another root directory the launcher's file is not visible. */
static bool has_ended(int err)
{
	const struct nvs_options *o = nvs_options();
	struct stat root;

	return err == -ENOENT && !nvs_sys_lstat("/", &root) && root.st_dev == o->root_dev &&
	       root.st_ino == o->root_ino;
}

/* Returns true if there is a launcher. It has received the line, or has ended before this program,
 * and then no line is needed. */
static bool send_line(struct summary_line *l)
{
	const char *path = nvs_options()->summary;
	struct stat st;
	int fd;

	if (!*path || nvs_session_is_confined())
		return false;
	fd = nvs_sys_open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		return has_ended(fd);
	l->text[l->used++] = '\n';
	if (!nvs_sys_fstat(fd, &st) && !nvs_sys_over_limit((uint64_t)st.st_size + l->used))
		nvs_sys_write(fd, l->text, l->used);
	nvs_sys_close(fd);
	return true;
}

/* Writes characters that would end a field or a line as \ooo. */
static void add_escaped(struct summary_line *l, const char *path)
{
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (c < ' ' || c == 127 || c == '\\')
			add_text(l, "\\%03o", c);
		else
			add_text(l, "%c", c);
	}
}

static void add_flag(struct summary_line *l, bool on, const char *name, bool *any)
{
	if (!on)
		return;
	add_text(l, "%s%s", *any ? "," : "", name);
	*any = true;
}

static void add_fault(struct summary_line *l, const struct nvs_recorder *session)
{
	char field[NVS_FAULT_FIELD];

	if (!nvs_fault_is_known(&session->fault))
		return;
	nvs_fault_format(&session->fault, field, sizeof(field));
	add_text(l, "\t%s", field);
}

static void add_summary(struct summary_line *l, const struct nvs_recorder *session,
			const struct nvs_outcome *o)
{
	bool any = false;

	add_text(l, "%u\t%llu\t%llu\t%llu\t", session->pid, (unsigned long long)o->submissions,
		 (unsigned long long)o->gaps, (unsigned long long)o->bytes);
	add_escaped(l, session->trace.path);
	add_text(l, "\t");
	add_flag(l, session->renamed, "renamed", &any);
	add_flag(l, !session->crash_safe, "unsafe", &any);
	add_flag(l, o->error != 0 || o->hangs, "lost", &any);
	add_flag(l, nvs_options()->error[0] != '\0', "options", &any);
	add_flag(l, atomic_load(&session->trigger.wrong), "trigger", &any);
	add_flag(l, o->full && !o->stuck, "full", &any);
	add_flag(l, o->stuck != 0, "stuck", &any);
	add_flag(l, o->cut, "cut", &any);
	add_flag(l, session->newer_driver, "newer", &any);
	add_flag(l, session->unknown_form, "unknown", &any);
	if (!any)
		add_text(l, "-");
	add_text(l, "\t%llu\t%d\t%llu", (unsigned long long)o->skipped,
		 o->error ? -o->error : -o->stuck, (unsigned long long)o->lost_submissions);
	add_fault(l, session);
}

static void add_plain(struct summary_line *l, const struct nvs_recorder *session, const char *path)
{
	add_text(l, "%u\t0\t0\t0\t", session->pid);
	add_escaped(l, path);
}

void nvs_summary_report_start(const struct nvs_recorder *session)
{
	struct summary_line l = {.used = 0};

	if (nvs_options()->untraced)
		return;
	add_plain(&l, session, session->trace.path);
	add_text(&l, "\tstarted");
	send_line(&l);
}

void nvs_summary_report_fault(struct nvs_recorder *session)
{
	struct summary_line l = {.used = 0};

	if (nvs_options()->untraced || !nvs_fault_is_known(&session->fault) ||
	    atomic_exchange(&session->fault_sent, true))
		return;
	add_plain(&l, session, session->trace.path);
	add_text(&l, "\tstarted\t0\t0\t0");
	add_fault(&l, session);
	send_line(&l);
}

/* ---- for the terminal ---- */

static void add_lost(struct summary_line *l, const struct nvs_outcome *o)
{
	if (!o->hangs && !o->error)
		return;
	if (o->hangs)
		add_text(l, "; WRITING HANGS, ");
	else
		add_text(l, "; WRITING FAILED (%s), ", strerror(-o->error));
	add_text(l, "%s submission%s lost%s", NVS_NUMBER(o->lost_submissions),
		 o->lost_submissions == 1 ? " was" : "s were",
		 o->hangs ? ", the others are only in the spool" : "");
}

static void add_result(struct summary_line *l, const struct nvs_recorder *session,
		       const struct nvs_outcome *o)
{
	add_name(l, session->shown);
	if (session->renamed)
		add_text(l, " (the requested name was taken)");
	add_text(l, ": %s%s%s submission%s, %s gap%s", NVS_SIZE(o->bytes),
		 o->cut ? NVS_CLOSING_CUT : ", ", NVS_NUMBER(o->submissions),
		 NVS_PLURAL(o->submissions), NVS_NUMBER(o->gaps), NVS_PLURAL(o->gaps));
	if (o->skipped)
		add_text(l, ", %s more only counted", NVS_NUMBER(o->skipped));
	if (o->stuck)
		add_text(l, NVS_CLOSING_STUCK, strerror(-o->stuck));
	else if (o->full)
		add_text(l, NVS_CLOSING_FULL);
	add_lost(l, o);
	if (atomic_load(&session->trigger.wrong))
		add_text(l, "; " NVS_CLOSING_TRIGGER);
	if (session->newer_driver)
		add_text(l, NVS_CLOSING_NEWER);
	if (session->unknown_form)
		add_text(l, NVS_CLOSING_UNKNOWN);
	add_text(l, "; next: nvsnoop-report ");
	l->used += nvs_text_quote(session->shown, l->text + l->used, sizeof(l->text) - l->used);
}

static void add_untraced(struct summary_line *l, const struct nvs_outcome *o)
{
	uint64_t counted = o->submissions + o->skipped + nvs_totals_sum(NVS_COUNT_LOST_SUBMISSIONS);

	add_text(l, "%s submission%s counted, no trace (" NVS_ENV_OUT "=" NVS_OUT_NONE ")",
		 NVS_NUMBER(counted), NVS_PLURAL(counted));
}

static void add_failure(struct summary_line *l, const struct nvs_recorder *session)
{
	add_text(l, "nothing was recorded: ");
	add_name(l, session->shown);
	add_text(l, ": %s", strerror(-session->error));
}

static void print_fault(const struct nvs_recorder *session)
{
	struct summary_line l = {.used = 0};
	char text[NVS_FAULT_TEXT];

	nvs_fault_describe(&session->fault, text, sizeof(text));
	add_text(&l, "nvsnoop: %s", text);
	print_line(&l);
	if (nvs_options()->untraced)
		return;
	l.used = 0;
	add_text(&l, "nvsnoop: which kernel: nvsnoop-report ");
	l.used += nvs_text_quote(session->shown, l.text + l.used, sizeof(l.text) - l.used);
	add_text(&l, " --fault");
	print_line(&l);
}

static void print_closing(const struct nvs_recorder *session, bool failed,
			  const struct nvs_outcome *o)
{
	const struct nvs_options *options = nvs_options();
	struct summary_line l = {.used = 0};

	add_text(&l, "nvsnoop: ");
	if (options->error[0]) {
		add_name(&l, options->error);
		add_text(&l, " (all options were ignored); ");
	}
	if (failed)
		add_failure(&l, session);
	else if (options->untraced)
		add_untraced(&l, o);
	else
		add_result(&l, session, o);
	print_line(&l);
	if (!failed && nvs_fault_is_known(&session->fault))
		print_fault(session);
}

void nvs_summary_report_refusal(void)
{
	static _Atomic bool told;
	struct summary_line l = {.used = 0};

	if (!nvs_options()->refused || nvs_options()->values.quiet || atomic_exchange(&told, true))
		return;
	add_text(&l, "nvsnoop: %s", nvs_options()->refused);
	print_line(&l);
}

void nvs_summary_report_bypass(void)
{
	struct summary_line l = {.used = 0};

	if (nvs_options()->values.quiet)
		return;
	add_text(&l, "%d\t0\t0\t0\t\tbypassed", nvs_sys_getpid());
	if (send_line(&l))
		return;
	l.used = 0;
	add_text(&l, "nvsnoop: nothing was recorded: " NVS_CLOSING_BYPASSED);
	print_line(&l);
}

/* Sends the line to the launcher. Returns false if there is none. */
static bool send_end(const struct nvs_recorder *session, const struct nvs_outcome *o)
{
	struct summary_line l = {.used = 0};

	if (session->error) {
		add_plain(&l, session, session->shown);
		add_text(&l, "\tfailed\t0\t%d", -session->error);
	} else if (!nvs_options()->untraced) {
		add_summary(&l, session, o);
	}
	return send_line(&l);
}

void nvs_summary_report_end(struct nvs_recorder *session)
{
	bool failed = session->error != 0;
	struct nvs_outcome outcome = {0};

	if (!failed)
		nvs_writer_outcome(session, &outcome);
	if (!send_end(session, &outcome) && !nvs_options()->values.quiet)
		print_closing(session, failed, &outcome);
}
