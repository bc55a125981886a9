/* SPDX-License-Identifier: MIT */
/*
 * stray [nocode] TRACE...: what would --races find if one call had been given to a wrong stream?
 * Reads each trace once as it is, and once for each copy, memset, kernel and graph launch in it (at
 * most 100), which is given to a stream of its own that nothing waits for. Prints how many of them
 * have a race that the trace has not, by its level: "N certain N likely N possible N none". nocode:
 * without the code in the traces.
 */
#include <stdio.h>
#include <string.h>
#include "decode/analysis/races.h"
#include "decode/query/selection.h"

#define STRAY 0xdead00ull
#define MOST 100u

struct reading {
	struct nvs_source source;
	struct nvs_races races;
	struct nvs_pass_reader real;
	uint64_t n, target; /* calls that may stray so far; the one that does, from 1; 0: none */
};

static bool may_stray(const struct nvs_call *call)
{
	uint8_t group = call->api->group;
	uint64_t stream;

	return call->depth <= 1 && nvs_call_ran(call) &&
	       nvs_call_kind(call, NVS_KIND_STREAM, &stream) &&
	       (group == NVS_CALL_GROUP_COPY || group == NVS_CALL_GROUP_MEMSET ||
		group == NVS_CALL_GROUP_LAUNCH || group == NVS_CALL_GROUP_GRAPH_LAUNCH);
}

/* A non-blocking stream, by a thread that has no work under way. */
static int create_stream(struct reading *r, const struct nvs_call *like)
{
	static const uint64_t args[] = {STRAY, 1};
	static struct nvs_call_api api = {.name = "cuStreamCreate",
					  .nargs = 2,
					  .arg = {"phStream", "Flags"},
					  .kind = {"*stream", "u32"}};
	const struct nvs_call call = {.api = &api,
				      .thread = like->thread + 1000,
				      .begin = 1,
				      .end = 2,
				      .depth = 1,
				      .nargs = 2,
				      .args = args};

	nvs_call_api_resolve(&api, "stream");
	api.at[NVS_ARG_stream] = 1;
	api.role = NVS_CALL_ROLE_STREAM_CREATE;
	return nvs_races_call(&r->races, &call);
}

static int on_call(void *arg, const struct nvs_call *call)
{
	struct reading *r = arg;
	uint64_t args[NVS_CALL_MAX_ARGS];
	struct nvs_call strayed = *call;
	int failed;

	if (!may_stray(call) || ++r->n != r->target)
		return nvs_races_call(&r->races, call);
	failed = create_stream(r, call);
	memcpy(args, call->args, call->nargs * sizeof(*args));
	for (uint32_t i = 0; i < call->nargs; i++)
		if (call->api->kinds[i] == NVS_KIND_STREAM)
			args[i] = STRAY;
	strayed.args = args;
	return failed ? failed : nvs_races_call(&r->races, &strayed);
}

static int on_submission(void *arg, const struct nvs_submission *s, const struct nvs_call *call)
{
	return nvs_races_submission(&((struct reading *)arg)->races, s, call);
}

static int on_op(void *arg, const struct nvs_submission *s, const struct nvs_op *op)
{
	return nvs_races_op(&((struct reading *)arg)->races, s, op);
}

static bool without_code;

static int on_record(void *arg, const struct nvs_rec *rec)
{
	if (rec->type == NVS_REC_IMAGE && without_code)
		return 0;
	return nvs_races_record(&((struct reading *)arg)->races, rec);
}

/* Reads PATH with the call TARGET on a wrong stream. Returns how many could be. */
static uint64_t read_trace(const char *path, uint64_t target, uint64_t found[NVS_RACE_CERTAIN + 1])
{
	static struct reading r;
	static const struct nvs_query query;
	struct nvs_pass_reader reader;
	struct nvs_error err = {""};

	memset(&r, 0, sizeof(r));
	r.target = target;
	r.source.path = path;
	r.source.query = &query;
	if (nvs_trace_open(&r.source.trace, path, NULL, &err))
		return 0;
	r.source.first = nvs_pass_new(r.source.trace);
	nvs_races_begin(&r.races, &r.source, &reader);
	reader.submission = on_submission;
	reader.op = on_op;
	reader.call = on_call;
	reader.record = on_record;
	reader.arg = &r;
	if (nvs_pass_add(r.source.first, &reader) || nvs_pass_run(r.source.first, &err))
		fprintf(stderr, "stray: %s: %s\n", path, err.text);
	nvs_races_end(&r.races);
	memcpy(found, r.races.found, sizeof(r.races.found));
	nvs_races_free(&r.races);
	nvs_pass_free(r.source.first);
	nvs_trace_close(r.source.trace);
	return r.n;
}

int main(int argc, char **argv)
{
	uint64_t total[NVS_RACE_CERTAIN + 1] = {0}, base[NVS_RACE_CERTAIN + 1],
					  with[NVS_RACE_CERTAIN + 1];

	without_code = argc > 1 && !strcmp(argv[1], "nocode");
	for (int i = 1 + without_code; i < argc; i++) {
		uint64_t n = read_trace(argv[i], 0, base), step = n / MOST + 1;

		for (uint64_t k = 1; k <= n; k += step) {
			int level = NVS_RACE_CERTAIN;

			read_trace(argv[i], k, with);
			while (level && with[level] <= base[level])
				level--;
			total[level]++;
		}
	}
	printf("%llu certain %llu likely %llu possible %llu none\n",
	       (unsigned long long)total[NVS_RACE_CERTAIN],
	       (unsigned long long)total[NVS_RACE_LIKELY],
	       (unsigned long long)total[NVS_RACE_POSSIBLE],
	       (unsigned long long)total[NVS_RACE_NONE]);
	return 0;
}
