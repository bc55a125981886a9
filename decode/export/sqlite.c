/* SPDX-License-Identifier: MIT */
/*
 * --export=sqlite: a database with our tables (NVSNOOP_CALL and so on), and, made of them, those
 * tables of Nsight Systems' export whose meaning is equal, by its names and columns. None of those
 * has a row of which a time is not known. Of what the GPU did there is none: theirs are of kernels,
 * the times that there are of submissions.
 */
#include <ctype.h>
#include <errno.h>
#include <sqlite3.h>
#include "decode/export/tables.h"
#include "decode/report/report.h"

#define MOST_TEXT 4096u /* bytes of one, before it is escaped */

struct state {
	sqlite3 *db;
	sqlite3_stmt *insert[NVS_TABLES];
};

/*
 * As Nsight Systems numbers things: event class 1 is the driver's API, type 59 a range that is
 * pushed, 60 one that is started, 34 a mark; a thread is known by process and tid in one number.
 */
static const char *const nsys[] = {
	"CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)",
	"INSERT INTO META_DATA_EXPORT VALUES ('EXPORTER', 'nvsnoop " NVS_VERSION "')",
	"CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
	"INSERT INTO StringIds (value)"
	" SELECT api FROM NVSNOOP_CALL WHERE api NOT NULL"
	" UNION SELECT \"range\" FROM NVSNOOP_RANGE WHERE \"range\" NOT NULL"
	" UNION SELECT name FROM NVSNOOP_THREAD WHERE name NOT NULL"
	" UNION SELECT symbol FROM NVSNOOP_FRAME WHERE symbol NOT NULL"
	" UNION SELECT module FROM NVSNOOP_FRAME WHERE module NOT NULL",
	"CREATE UNIQUE INDEX NVSNOOP_STRING ON StringIds (value)",
	"CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)",
	"INSERT INTO PROCESSES SELECT pid << 24, pid, program FROM NVSNOOP_PROCESS"
	" WHERE pid NOT NULL",
	"CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER)",
	"INSERT INTO ThreadNames SELECT s.id, NULL, p.pid << 24 | t.tid FROM NVSNOOP_THREAD t"
	" JOIN NVSNOOP_PROCESS p USING (process) JOIN StringIds s ON s.value = t.name"
	" WHERE t.tid NOT NULL",
	"CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, uuid TEXT)",
	"INSERT INTO TARGET_INFO_GPU SELECT DISTINCT gpu, name, uuid FROM NVSNOOP_GPU",
	"CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER, module INTEGER,"
	" unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER NOT NULL)",
	"INSERT INTO CUDA_CALLCHAINS SELECT f.process << 20 | f.stack, s.id, m.id, s.id IS NULL,"
	" f.pc, f.depth FROM NVSNOOP_FRAME f LEFT JOIN StringIds s ON s.value = f.symbol"
	" LEFT JOIN StringIds m ON m.value = f.module",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, \"end\" INTEGER NOT "
	"NULL,"
	" eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,"
	" nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER)",
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT c.begin_ns, c.end_ns, 1,"
	" p.pid << 24 | t.tid, c.rowid, s.id, c.result, c.process << 20 | c.stack"
	" FROM NVSNOOP_CALL c JOIN NVSNOOP_PROCESS p USING (process)"
	" LEFT JOIN NVSNOOP_THREAD t ON t.process = c.process AND t.thread = c.thread"
	" JOIN StringIds s ON s.value = c.api WHERE c.begin_ns NOT NULL AND c.end_ns NOT NULL",
	"CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, \"end\" INTEGER,"
	" eventType INTEGER NOT NULL, rangeId INTEGER, color INTEGER, text TEXT,"
	" globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER)",
	"INSERT INTO NVTX_EVENTS SELECT r.begin_ns, r.end_ns,"
	" CASE r.kind WHEN 'push' THEN 59 WHEN 'start' THEN 60 ELSE 34 END,"
	" CASE r.kind WHEN 'start' THEN r.id END, r.color, r.\"range\", p.pid << 24 | t.tid, NULL,"
	" s.id, r.domain_id FROM NVSNOOP_RANGE r JOIN NVSNOOP_PROCESS p USING (process)"
	" LEFT JOIN NVSNOOP_THREAD t ON t.process = r.process AND t.thread = r.thread"
	" LEFT JOIN StringIds s ON s.value = r.\"range\" WHERE r.begin_ns NOT NULL",
};

static int fail(const struct state *st, const char *path)
{
	char safe[512];

	fprintf(stderr, "nvsnoop-report: %s: %s\n",
		nvs_escape(safe, sizeof(safe), path, strlen(path)), sqlite3_errmsg(st->db));
	return -EIO;
}

static bool run_sql(const struct state *st, const char *sql)
{
	return sqlite3_exec(st->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* ---- our own tables ---- */

static bool make_table(struct state *st, enum nvs_tables_of table)
{
	const struct nvs_tables_one *t = nvs_tables + table;
	char name[32], create[1024], insert[256];
	size_t c, i;

	snprintf(name, sizeof(name), "NVSNOOP_%s", t->name);
	for (char *p = name; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	c = (size_t)snprintf(create, sizeof(create), "CREATE TABLE %s (", name);
	i = (size_t)snprintf(insert, sizeof(insert), "INSERT INTO %s VALUES (", name);
	for (uint32_t k = 0; k < t->ncolumns; k++) {
		c += (size_t)snprintf(create + c, sizeof(create) - c, "%s\"%s\" %s", k ? ", " : "",
				      t->columns[k].name, t->columns[k].text ? "TEXT" : "INTEGER");
		i += (size_t)snprintf(insert + i, sizeof(insert) - i, k ? ",?" : "?");
	}
	snprintf(create + c, sizeof(create) - c, ")");
	snprintf(insert + i, sizeof(insert) - i, ")");
	return run_sql(st, create) &&
	       sqlite3_prepare_v2(st->db, insert, -1, st->insert + table, NULL) == SQLITE_OK;
}

static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
	char safe[4 * MOST_TEXT + 1];
	size_t n = strlen(text);

	nvs_escape(safe, sizeof(safe), text, n < MOST_TEXT ? n : MOST_TEXT);
	sqlite3_bind_text(s, at, safe, -1, SQLITE_TRANSIENT);
}

static int on_row(void *arg, const struct nvs_walk *w, enum nvs_tables_of table,
		  const struct nvs_cell *cells)
{
	const struct nvs_tables_one *t = nvs_tables + table;
	struct state *st = arg;
	sqlite3_stmt *s = st->insert[table];
	int done;

	for (uint32_t i = 0; i < t->ncolumns; i++) {
		if (!cells[i].known)
			sqlite3_bind_null(s, (int)i + 1);
		else if (t->columns[i].text)
			bind_text(s, (int)i + 1, cells[i].text);
		else
			sqlite3_bind_int64(s, (int)i + 1, cells[i].number);
	}
	done = sqlite3_step(s);
	sqlite3_reset(s);
	return done == SQLITE_DONE ? 0 : fail(st, w->run->options->output);
}

/* ---- from the beginning to the end ---- */

/* Its journal would only be for a database that somebody else has a use for already. */
static bool begin(struct state *st, const char *path)
{
	bool good = sqlite3_open_v2(path, &st->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
				    NULL) == SQLITE_OK &&
		    run_sql(st, "PRAGMA journal_mode=OFF") &&
		    run_sql(st, "PRAGMA synchronous=OFF") && run_sql(st, "BEGIN");

	for (int i = 0; i < NVS_TABLES && good; i++)
		good = make_table(st, (enum nvs_tables_of)i);
	return good;
}

static bool finish(struct state *st)
{
	for (size_t i = 0; i < sizeof(nsys) / sizeof(*nsys); i++)
		if (!run_sql(st, nsys[i]))
			return false;
	return run_sql(st, "COMMIT");
}

static int print(struct nvs_run *run)
{
	const char *path = run->options->output;
	struct state st = {NULL};
	int r = begin(&st, path) ? 0 : fail(&st, path);

	if (!r)
		r = nvs_tables_walk(run, on_row, &st);
	if (!r && !finish(&st))
		r = fail(&st, path);
	for (int i = 0; i < NVS_TABLES; i++)
		sqlite3_finalize(st.insert[i]);
	sqlite3_close(st.db);
	return r;
}

NVS_REPORT(
	export_sqlite, .name = "export=sqlite", .place = 330,
	.help = "an SQLite database: calls, submissions, ranges and\n"
		"more, also by Nsight Systems' tables; -o FILE",
	.man = "An SQLite database, into the file of\n.BR \\-o .\nCalls, submissions, ranges, "
	       "channels, graphs and stacks stand in tables of our own (NVSNOOP_CALL ...), calls, "
	       "ranges, threads and stacks also\nin those that Nsight Systems has for them "
	       "(CUPTI_ACTIVITY_KIND_RUNTIME, NVTX_EVENTS ...), for what was written for it. What "
	       "the GPU did, by the times of\n.BR timing=work ,\nstands in NVSNOOP_GPU_WORK alone.",
	.needs = NVS_NEED_TRACE | NVS_NEED_NAMES, .prints = NVS_PRINTS_TEXT | NVS_PRINTS_FILE,
	.print = print);
