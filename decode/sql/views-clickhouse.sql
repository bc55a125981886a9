-- SPDX-License-Identifier: MIT
-- Views of the files of nvsnoop-report --export=parquet, for ClickHouse; run in their folder. On a server replace
-- file() by s3(), or use a folder in its user_files:
--   cd DIR && cat .../views-clickhouse.sql .../steps.sql |
--   clickhouse local --multiquery --join_use_nulls=1 --use_hive_partitioning=0
CREATE VIEW nvsnoop_process AS SELECT * FROM file('process/*/*/*.parquet', Parquet);
CREATE VIEW nvsnoop_call AS SELECT * FROM file('call/*/*/*.parquet', Parquet);
CREATE VIEW nvsnoop_submission AS SELECT * FROM file('submission/*/*/*.parquet', Parquet);
CREATE VIEW nvsnoop_channel AS SELECT * FROM file('channel/*/*/*.parquet', Parquet);
CREATE VIEW nvsnoop_range AS SELECT *, "range" AS name FROM file('range/*/*/*.parquet', Parquet);
CREATE VIEW nvsnoop_gpu_work AS SELECT * FROM file('gpu_work/*/*/*.parquet', Parquet);
CREATE VIEW nvsnoop_memory AS SELECT * FROM file('memory/*/*/*.parquet', Parquet);
