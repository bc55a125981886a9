-- SPDX-License-Identifier: MIT
-- GPU time by kernel over all ranks, recorded with timing=work; it is that of submissions, which may hold several
-- kernels. For each kernel the total over all ranks, the mean, and the rank on which it takes longest.
-- Runs in DuckDB, Spark, Trino and ClickHouse, on the views of views-*.sql.
WITH works AS (
    SELECT host, rank, pid, process, COALESCE(work, 'unknown') AS kernel, end_ns - begin_ns AS ns
    FROM nvsnoop_gpu_work
    WHERE end_ns IS NOT NULL
), by_rank AS (
    SELECT host, rank, pid, process, kernel, COUNT(*) AS timed, SUM(ns) AS sum_ns, AVG(ns * 1.0E0) AS mean_ns
    FROM works
    GROUP BY host, rank, pid, process, kernel
), placed AS (
    SELECT host, rank, kernel, mean_ns,
           ROW_NUMBER() OVER (PARTITION BY kernel ORDER BY mean_ns DESC, rank) AS place,
           COUNT(*) OVER (PARTITION BY kernel) AS ranks, SUM(timed) OVER (PARTITION BY kernel) AS all_timed,
           SUM(sum_ns) OVER (PARTITION BY kernel) AS all_ns
    FROM by_rank
)
SELECT kernel, ranks, all_timed, all_ns / 1.0E3 AS gpu_us_total, all_ns / 1.0E3 / all_timed AS gpu_us_mean,
       rank AS slowest_rank, host AS slowest_host, mean_ns / 1.0E3 AS slowest_us_mean
FROM placed
WHERE place = 1
ORDER BY gpu_us_total DESC, kernel
LIMIT 50
