-- SPDX-License-Identifier: MIT
-- Tables of the files of nvsnoop-report --export=parquet, for Trino's Hive connector: replace DIR by their folder, and
-- default by the schema. Columns are matched by name (hive.parquet.use-column-names, the default); the tables declare
-- only those that the queries use. The partitions are the folder names host=... and rank=...
--   (sed 's,DIR,s3://job,' .../views-trino.sql; cat .../steps.sql) | trino --catalog hive --schema default
CREATE TABLE nvsnoop_process (
    process bigint, pid bigint, started_ns bigint, offset_ns bigint, clock bigint, clock_scatter_ns bigint, clock_drift_ns bigint, clock_steps bigint, clock_stepped_ns bigint, day_error_ns bigint,
    host varchar, rank bigint
) WITH (external_location = 'DIR/process', format = 'PARQUET', partitioned_by = ARRAY['host', 'rank']);
CALL system.sync_partition_metadata('default', 'nvsnoop_process', 'ADD');
CREATE TABLE nvsnoop_call (
    process bigint, call bigint, thread bigint, pid bigint, begin_ns bigint, end_ns bigint, captured bigint, submissions bigint, command_bytes bigint, api varchar, api_group varchar, error varchar, kernel varchar,
    host varchar, rank bigint
) WITH (external_location = 'DIR/call', format = 'PARQUET', partitioned_by = ARRAY['host', 'rank']);
CALL system.sync_partition_metadata('default', 'nvsnoop_call', 'ADD');
CREATE TABLE nvsnoop_submission (
    process bigint, submission bigint, channel bigint, call bigint, pid bigint, pending bigint,
    host varchar, rank bigint
) WITH (external_location = 'DIR/submission', format = 'PARQUET', partitioned_by = ARRAY['host', 'rank']);
CALL system.sync_partition_metadata('default', 'nvsnoop_submission', 'ADD');
CREATE TABLE nvsnoop_channel (
    process bigint, channel bigint, pid bigint, gpfifo_entries bigint,
    host varchar, rank bigint
) WITH (external_location = 'DIR/channel', format = 'PARQUET', partitioned_by = ARRAY['host', 'rank']);
CALL system.sync_partition_metadata('default', 'nvsnoop_channel', 'ADD');
CREATE TABLE nvsnoop_range_files (
    process bigint, thread bigint, depth bigint, pid bigint, begin_ns bigint, end_ns bigint, kind varchar, range varchar,
    host varchar, rank bigint
) WITH (external_location = 'DIR/range', format = 'PARQUET', partitioned_by = ARRAY['host', 'rank']);
CALL system.sync_partition_metadata('default', 'nvsnoop_range_files', 'ADD');
CREATE TABLE nvsnoop_gpu_work (
    process bigint, submission bigint, pid bigint, begin_ns bigint, end_ns bigint, work varchar,
    host varchar, rank bigint
) WITH (external_location = 'DIR/gpu_work', format = 'PARQUET', partitioned_by = ARRAY['host', 'rank']);
CALL system.sync_partition_metadata('default', 'nvsnoop_gpu_work', 'ADD');
CREATE TABLE nvsnoop_memory (
    process bigint, pid bigint, time_ns bigint, live_bytes bigint,
    host varchar, rank bigint
) WITH (external_location = 'DIR/memory', format = 'PARQUET', partitioned_by = ARRAY['host', 'rank']);
CALL system.sync_partition_metadata('default', 'nvsnoop_memory', 'ADD');
CREATE VIEW nvsnoop_range AS SELECT *, range AS name FROM nvsnoop_range_files;
