/* SPDX-License-Identifier: MIT */
/* The database: creates its tables, and fills them from the traces. */
#include "decode/export/database.h"
#include <ctype.h>
#include <errno.h>
#include "decode/export/export_text.h"

/* Numbers of Nsight Systems: event class 1 is the driver API; event types are 59 pushed range, 60
 * started range, 34 mark, 75 domain name. A thread is identified by pid and tid in one number. */
static const char *const nsys[] = {
	"CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)",
	"INSERT INTO META_DATA_EXPORT VALUES ('EXPORTER', 'nvsnoop " NVS_VERSION "')",
	"CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)",
	"INSERT INTO StringIds (value)"
	" SELECT api FROM NVSNOOP_CALL WHERE api NOT NULL"
	" UNION SELECT kernel FROM NVSNOOP_LAUNCH WHERE kernel NOT NULL"
	" UNION SELECT base_name FROM NVSNOOP_LAUNCH WHERE base_name NOT NULL"
	" UNION SELECT mangled FROM NVSNOOP_LAUNCH WHERE mangled NOT NULL"
	" UNION SELECT \"range\" FROM NVSNOOP_RANGE WHERE \"range\" NOT NULL"
	" UNION SELECT domain FROM NVSNOOP_RANGE WHERE domain_id > 0 AND domain NOT NULL"
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
	"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT,"
	" localTime TEXT)",
	"INSERT INTO TARGET_INFO_SESSION_START_TIME SELECT ns,"
	" strftime('%Y-%m-%d %H:%M:%S', ns / 1000000000, 'unixepoch'), NULL FROM"
	" (SELECT started_ns - offset_ns AS ns FROM NVSNOOP_PROCESS WHERE started_ns NOT NULL"
	" AND offset_ns NOT NULL ORDER BY offset_ns LIMIT 1)",
	"CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER, module INTEGER,"
	" unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER NOT NULL)",
	"INSERT INTO CUDA_CALLCHAINS SELECT f.process << 20 | f.stack, s.id, m.id, s.id IS NULL,"
	" f.pc, f.depth FROM NVSNOOP_FRAME f LEFT JOIN StringIds s ON s.value = f.symbol"
	" LEFT JOIN StringIds m ON m.value = f.module",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, \"end\" INTEGER NOT "
	"NULL,"
	" eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,"
	" nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER)",
	/* Numbers of threads have 20 bits. A row by its rowid is found in half the time. */
	"CREATE TEMP TABLE who (id INTEGER PRIMARY KEY, globalTid INTEGER)",
	"INSERT INTO who SELECT t.process << 20 | t.thread, p.pid << 24 | t.tid"
	" FROM NVSNOOP_THREAD t JOIN NVSNOOP_PROCESS p USING (process)",
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT c.begin_ns, c.end_ns, 1,"
	" w.globalTid, c.rowid, s.id, c.result, c.process << 20 | c.stack"
	" FROM NVSNOOP_CALL c LEFT JOIN who w ON w.id = c.process << 20 | c.thread"
	" JOIN StringIds s ON s.value = c.api WHERE c.begin_ns NOT NULL AND c.end_ns NOT NULL",
	"DROP TABLE who",
	/* GPU work with its own time, for the next three tables. */
	"CREATE TEMP VIEW one AS SELECT g.begin_ns AS start, g.end_ns AS \"end\", h.gpu AS "
	"deviceId,"
	" g.context AS contextId, g.stream AS streamId, c.rowid AS correlationId,"
	" p.pid << 24 AS globalPid, g.process, g.call, g.bytes, c.api, g.work, s.launches,"
	" s.engine_copies + s.inline_copies + s.macro_copies + s.code_uploads AS copies,"
	" s.memsets, s.memset_bytes FROM NVSNOOP_GPU_WORK g"
	" JOIN NVSNOOP_SUBMISSION s USING (process, submission)"
	" JOIN NVSNOOP_PROCESS p USING (process)"
	" LEFT JOIN NVSNOOP_CHANNEL h ON h.process = g.process AND h.channel = g.channel"
	" LEFT JOIN NVSNOOP_CALL c ON c.process = g.process AND c.call = g.call"
	" WHERE g.begin_ns NOT NULL AND g.end_ns NOT NULL AND g.note IS NULL",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, \"end\" INTEGER NOT NULL,"
	" deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER,"
	" correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,"
	" shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER,"
	" cacheConfig INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER,"
	" gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,"
	" staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER,"
	" localMemoryTotal INTEGER, gridId INTEGER, sharedMemoryExecuted INTEGER,"
	" graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER, graphId INTEGER,"
	" clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER)",
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, \"end\", deviceId, contextId, streamId,"
	" correlationId, globalPid, demangledName, shortName, mangledName, registersPerThread,"
	" gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory,"
	" localMemoryPerThread) SELECT one.start, one.\"end\", one.deviceId, one.contextId,"
	" one.streamId, one.correlationId, one.globalPid, n.id, b.id, m.id, l.registers, l.grid_x,"
	" l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z, l.static_shared_bytes,"
	" l.dynamic_shared_bytes, l.local_bytes FROM one"
	" JOIN NVSNOOP_LAUNCH l ON l.process = one.process AND l.call = one.call"
	" JOIN StringIds n ON n.value = l.kernel JOIN StringIds b ON b.value = l.base_name LEFT "
	"JOIN StringIds m ON m.value = l.mangled"
	" WHERE one.launches = 1 AND one.copies = 0 AND one.memsets = 0",
	"CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label "
	"TEXT)",
	"INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES"
	" (0, 'CUDA_MEMCPY_KIND_UNKNOWN', 'Unknown'), (1, 'CUDA_MEMCPY_KIND_HTOD', "
	"'Host-to-Device'),"
	" (2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host'),"
	" (8, 'CUDA_MEMCPY_KIND_DTOD', 'Device-to-Device'),"
	" (9, 'CUDA_MEMCPY_KIND_HTOH', 'Host-to-Host'),"
	" (10, 'CUDA_MEMCPY_KIND_PTOP', 'Peer-to-Peer')",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, \"end\" INTEGER NOT NULL,"
	" deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER,"
	" correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,"
	" copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER, graphNodeId INTEGER,"
	" copyCount INTEGER)",
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY SELECT start, \"end\", deviceId, contextId, NULL,"
	" streamId, correlationId, globalPid, bytes, CASE WHEN api LIKE 'cuMemcpy%Peer%' THEN 10"
	" WHEN work = 'copy HtoD' THEN 1 WHEN work = 'copy DtoH' THEN 2"
	" WHEN work = 'copy DtoD' THEN 8 WHEN work = 'copy HtoH' THEN 9 ELSE 0 END,"
	" NULL, NULL, NULL, 1 FROM one WHERE bytes NOT NULL AND work LIKE 'copy%'",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, \"end\" INTEGER NOT NULL,"
	" deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER,"
	" correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER NOT NULL,"
	" graphNodeId INTEGER, memKind INTEGER)",
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET SELECT start, \"end\", deviceId, contextId, NULL,"
	" streamId, correlationId, globalPid, NULL, memset_bytes, NULL, NULL FROM one"
	" WHERE memsets = 1 AND launches = 0 AND copies = 0 AND work = 'memset'",
	"DROP VIEW one",
	"CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, \"end\" INTEGER,"
	" eventType INTEGER NOT NULL, rangeId INTEGER, color INTEGER, text TEXT,"
	" globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER)",
	"INSERT INTO NVTX_EVENTS SELECT r.begin_ns, r.end_ns,"
	" CASE r.kind WHEN 'push' THEN 59 WHEN 'start' THEN 60 ELSE 34 END,"
	" CASE r.kind WHEN 'start' THEN r.id END, r.color, r.\"range\", p.pid << 24 | t.tid, NULL,"
	" s.id, r.domain_id FROM NVSNOOP_RANGE r JOIN NVSNOOP_PROCESS p USING (process)"
	" LEFT JOIN NVSNOOP_THREAD t ON t.process = r.process AND t.thread = r.thread"
	" LEFT JOIN StringIds s ON s.value = r.\"range\" WHERE r.begin_ns NOT NULL",
	"INSERT INTO NVTX_EVENTS SELECT min(r.begin_ns), NULL, 75, NULL, NULL, r.domain,"
	" p.pid << 24 | t.tid, NULL, s.id, r.domain_id FROM NVSNOOP_RANGE r"
	" JOIN NVSNOOP_PROCESS p USING (process)"
	" LEFT JOIN NVSNOOP_THREAD t ON t.process = r.process AND t.thread = r.thread"
	" JOIN StringIds s ON s.value = r.domain WHERE r.domain_id > 0 AND r.begin_ns NOT NULL"
	" GROUP BY r.process, r.domain_id",
};

int nvs_database_error(const struct nvs_database *st)
{
	char safe[512];

	fprintf(stderr, "nvsnoop-report: %s: %s\n",
		nvs_escape(safe, sizeof(safe), st->name, strlen(st->name)), sqlite3_errmsg(st->db));
	return -EIO;
}

static bool run_sql(const struct nvs_database *st, const char *sql)
{
	return sqlite3_exec(st->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* ---- our own tables ---- */

static void name_table(char *name, size_t room, enum nvs_table_id table)
{
	snprintf(name, room, "NVSNOOP_%s", nvs_tables[table].name);
	for (; *name; name++)
		*name = (char)toupper((unsigned char)*name);
}

enum nvs_table_id nvs_database_table(const char *name)
{
	char ours[32];
	int i = 0;

	for (; i < NVS_TABLES; i++) {
		name_table(ours, sizeof(ours), (enum nvs_table_id)i);
		if (!strcmp(ours, name))
			break;
	}
	return (enum nvs_table_id)i;
}

static bool make_table(struct nvs_database *st, enum nvs_table_id table)
{
	const struct nvs_table_layout *t = nvs_tables + table;
	char name[32], create[1024], insert[256];
	size_t c, i;

	name_table(name, sizeof(name), table);
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

/* Plain text is not copied: it is valid while it stays bound. */
static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
	char safe[NVS_EXPORT_TEXT_BYTES];
	size_t n = strlen(text);
	const char *plain = nvs_export_text(safe, text, &n);

	sqlite3_bind_text(s, at, plain, (int)n, plain == text ? SQLITE_STATIC : SQLITE_TRANSIENT);
}

static int on_row(void *arg, enum nvs_table_id table, const struct nvs_table_cell *cells)
{
	const struct nvs_table_layout *t = nvs_tables + table;
	struct nvs_database *st = arg;
	sqlite3_stmt *s = st->insert[table];
	int done;

	if (st->unused[table])
		return 0;
	for (uint32_t i = 0; i < t->ncolumns; i++) {
		const struct nvs_table_cell *cell = cells + i;

		/* A value stays bound. */
		if (cell->same)
			continue;
		if (!cell->known)
			sqlite3_bind_null(s, (int)i + 1);
		else if (t->columns[i].text)
			bind_text(s, (int)i + 1, cell->text);
		else
			sqlite3_bind_int64(s, (int)i + 1, cell->number);
	}
	done = sqlite3_step(s);
	sqlite3_reset(s);
	return done == SQLITE_DONE ? 0 : nvs_database_error(st);
}

/* ---- the database ---- */

/* Runs the statements that create the tables of Nsight Systems, or the others. */
static bool run_nsys(const struct nvs_database *st, bool create)
{
	static const char creates[] = "CREATE TABLE";
	bool good = true;

	for (size_t i = 0; i < sizeof(nsys) / sizeof(*nsys) && good; i++)
		if (!strncmp(nsys[i], creates, sizeof(creates) - 1) == create)
			good = run_sql(st, nsys[i]);
	return good;
}

/* No journal: an incomplete database is of no use. */
int nvs_database_open(struct nvs_database *st, const char *path, const char *name)
{
	bool good;

	/* One thread uses it at a time. Refused, and not needed, if there was a database before. */
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	good = sqlite3_open_v2(path, &st->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) ==
		       SQLITE_OK &&
	       /* Large pages: fewer system calls. */
	       run_sql(st, "PRAGMA page_size=16384") && run_sql(st, "PRAGMA journal_mode=OFF") &&
	       run_sql(st, "PRAGMA synchronous=OFF") && run_sql(st, "BEGIN");

	st->name = name;
	for (int i = 0; i < NVS_TABLES && good; i++)
		good = make_table(st, (enum nvs_table_id)i);
	return good && run_nsys(st, true) ? 0 : nvs_database_error(st);
}

int nvs_database_fill(struct nvs_database *st, struct nvs_run *run)
{
	int r = nvs_tables_deliver(run, NULL, on_row, st);

	if (r)
		return r;
	return (st->ours || run_nsys(st, false)) && run_sql(st, "COMMIT") ? 0
									  : nvs_database_error(st);
}

void nvs_database_close(struct nvs_database *st)
{
	for (int i = 0; i < NVS_TABLES; i++)
		sqlite3_finalize(st->insert[i]);
	sqlite3_close(st->db);
}
