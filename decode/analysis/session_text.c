/* SPDX-License-Identifier: MIT */
/* Formats the process attributes of a trace, and how the process ended, as text for the reports. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "decode/analysis/session_text.h"

/* Joins argv with spaces. An argument that is empty or contains a space is quoted. */
static void set_command(struct nvs_session_text *r)
{
	const char *s = r->session->attr[NVS_ATTR_COMMAND];
	size_t left = s ? r->session->attr_length[NVS_ATTR_COMMAND] : 0, at = 0;

	while (left && at < sizeof(r->command) - 1) {
		size_t n = strnlen(s, left);
		const char *quote = !n || memchr(s, ' ', n) ? "'" : "";

		at += (size_t)snprintf(r->command + at, sizeof(r->command) - at, "%s%s%.*s%s",
				       at ? " " : "", quote, (int)(n < 4096 ? n : 4096), s, quote);
		if (n == left)
			break;
		s += n + 1;
		left -= n + 1;
	}
}

static void set_host(struct nvs_session_text *r)
{
	const char *const *a = r->session->attr;

	if (a[NVS_ATTR_HOST])
		snprintf(r->host, sizeof(r->host), "%s%s%s%s%s", a[NVS_ATTR_HOST],
			 a[NVS_ATTR_KERNEL] ? ", Linux " : "",
			 a[NVS_ATTR_KERNEL] ? a[NVS_ATTR_KERNEL] : "", a[NVS_ATTR_CPU] ? ", " : "",
			 a[NVS_ATTR_CPU] ? a[NVS_ATTR_CPU] : "");
}

/* "3 of 8, local rank 1, by torchrun (job)" */
static void set_rank(struct nvs_session_text *r)
{
	const char *const *a = r->session->attr;
	char *p = r->rank, *end = p + sizeof(r->rank);

	if (!a[NVS_ATTR_RANK])
		return;
	p += snprintf(p, (size_t)(end - p), "%.10s", a[NVS_ATTR_RANK]);
	if (a[NVS_ATTR_WORLD_SIZE])
		p += snprintf(p, (size_t)(end - p), " of %.10s", a[NVS_ATTR_WORLD_SIZE]);
	if (a[NVS_ATTR_LOCAL_RANK])
		p += snprintf(p, (size_t)(end - p), ", local rank %.10s", a[NVS_ATTR_LOCAL_RANK]);
	if (a[NVS_ATTR_LAUNCHER])
		p += snprintf(p, (size_t)(end - p), ", by %.16s", a[NVS_ATTR_LAUNCHER]);
	if (a[NVS_ATTR_JOB])
		snprintf(p, (size_t)(end - p), " (%.32s)", a[NVS_ATTR_JOB]);
}

/* Formats as nvidia-smi does: "GPU-xxxxxxxx-xxxx-...". */
static void format_uuid(char text[48], const uint8_t uuid[16])
{
	char *p = text + sprintf(text, "GPU-");

	for (int i = 0; i < 16; i++)
		p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			     uuid[i]);
}

static void set_gpus(struct nvs_session_text *r)
{
	size_t at = 0, to = 0;

	for (uint32_t i = 0; i < nvs_trace_gpu_count(r->trace); i++) {
		const struct nvs_rec_gpu *g = nvs_trace_gpu_at(r->trace, i);
		char uuid[48];

		format_uuid(uuid, g->uuid);
		if (at < sizeof(r->gpu))
			at += (size_t)snprintf(r->gpu + at, sizeof(r->gpu) - at, "%s%u: %s",
					       at ? ", " : "", g->gpu,
					       g->name[0] ? g->name : "name not known");
		if (to < sizeof(r->uuid))
			to += (size_t)snprintf(r->uuid + to, sizeof(r->uuid) - to, "%s%u: %s",
					       to ? ", " : "", g->gpu, uuid);
	}
}

static void set_started(struct nvs_session_text *r)
{
	time_t t = (time_t)(r->session->header.realtime_ns / 1000000000);
	struct tm tm;

	if (r->session->header.realtime_ns && gmtime_r(&t, &tm))
		strftime(r->started, sizeof(r->started), "%Y-%m-%d %H:%M:%S UTC", &tm);
}

static void set_end(struct nvs_session_text *r)
{
	const struct nvs_session *s = r->session;
	uint64_t problems = nvs_trace_problems(r->trace);

	if (s->end == NVS_END_ORDERLY)
		snprintf(r->ended, sizeof(r->ended), "%s",
			 nvs_trace_goes_on(r->trace) ? "not yet: only the recording ended"
						     : "normally");
	else if (s->end == NVS_END_RUNNING)
		snprintf(r->ended, sizeof(r->ended), "not yet: still running, read up to now");
	else if (s->end == NVS_END_DAMAGED)
		snprintf(r->ended, sizeof(r->ended), "damaged, read up to there");
	else if (s->spool_read)
		snprintf(r->ended, sizeof(r->ended),
			 "in a crash, or still running; %llu submissions read from the spool",
			 (unsigned long long)s->counts.spooled);
	else
		snprintf(r->ended, sizeof(r->ended), "in a crash, or still running; no spool");
	if (problems)
		snprintf(r->whole, sizeof(r->whole), "no: %llu problem%s (see --verify)",
			 (unsigned long long)problems, problems == 1 ? "" : "s");
	else
		snprintf(r->whole, sizeof(r->whole), "%s",
			 s->end == NVS_END_ORDERLY   ? "yes"
			 : s->end == NVS_END_RUNNING ? "so far"
						     : "up to the crash");
}

/* Lists calls that had not returned: "cuStreamSynchronize (thread 3, for 12.3 s)". */
static void set_in_flight(struct nvs_session_text *r)
{
	const struct nvs_inflight *f;
	uint32_t i, n = 0;

	for (i = 0; (f = nvs_trace_inflight(r->trace, i)) && n < sizeof(r->in_flight) - 64; i++) {
		int64_t begin, end;
		char seconds[32] = "";

		if (nvs_clock_since_start(r->trace, f->begin, &begin) &&
		    nvs_clock_since_start(r->trace, f->end, &end))
			snprintf(seconds, sizeof(seconds), ", for %.3f s",
				 (double)(end - begin) / 1e9);
		n += (uint32_t)snprintf(r->in_flight + n, sizeof(r->in_flight) - n,
					"%s%s (thread %u%s)", i ? ", " : "", f->api, f->thread,
					seconds);
	}
	n = n < sizeof(r->in_flight) - 32 ? n : sizeof(r->in_flight) - 32;
	if (f)
		snprintf(r->in_flight + n, 32, ", and more (see --verify)");
}

void nvs_session_text_fill(struct nvs_session_text *r, const struct nvs_trace *trace)
{
	*r = (struct nvs_session_text){.trace = trace, .session = nvs_trace_session(trace)};
	set_command(r);
	set_host(r);
	set_rank(r);
	set_gpus(r);
	set_started(r);
	set_end(r);
	set_in_flight(r);
}
