-- SPDX-License-Identifier: MIT
-- Views of the files of nvsnoop-report --export=parquet, for DuckDB; run in their folder:
--   cd DIR && cat .../views-duckdb.sql .../steps.sql | duckdb
CREATE VIEW nvsnoop_process AS SELECT * FROM read_parquet('process/*/*/*.parquet', hive_partitioning = false);
CREATE VIEW nvsnoop_call AS SELECT * FROM read_parquet('call/*/*/*.parquet', hive_partitioning = false);
CREATE VIEW nvsnoop_submission AS SELECT * FROM read_parquet('submission/*/*/*.parquet', hive_partitioning = false);
CREATE VIEW nvsnoop_channel AS SELECT * FROM read_parquet('channel/*/*/*.parquet', hive_partitioning = false);
CREATE VIEW nvsnoop_range AS SELECT *, "range" AS name FROM read_parquet('range/*/*/*.parquet', hive_partitioning = false);
CREATE VIEW nvsnoop_gpu_work AS SELECT * FROM read_parquet('gpu_work/*/*/*.parquet', hive_partitioning = false);
CREATE VIEW nvsnoop_memory AS SELECT * FROM read_parquet('memory/*/*/*.parquet', hive_partitioning = false);
