-- SPDX-License-Identifier: MIT
-- Views of the files of nvsnoop-report --export=parquet, for Spark; replace DIR by their folder:
--   (sed 's,DIR,hdfs:///job,' .../views-spark.sql; cat .../steps.sql) >q.sql && spark-sql -f q.sql
CREATE TEMPORARY VIEW nvsnoop_process AS SELECT * FROM parquet.`DIR/process`;
CREATE TEMPORARY VIEW nvsnoop_call AS SELECT * FROM parquet.`DIR/call`;
CREATE TEMPORARY VIEW nvsnoop_submission AS SELECT * FROM parquet.`DIR/submission`;
CREATE TEMPORARY VIEW nvsnoop_channel AS SELECT * FROM parquet.`DIR/channel`;
CREATE TEMPORARY VIEW nvsnoop_range AS SELECT *, `range` AS name FROM parquet.`DIR/range`;
CREATE TEMPORARY VIEW nvsnoop_gpu_work AS SELECT * FROM parquet.`DIR/gpu_work`;
CREATE TEMPORARY VIEW nvsnoop_memory AS SELECT * FROM parquet.`DIR/memory`;
