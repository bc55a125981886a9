-- SPDX-License-Identifier: MIT
-- Drift over hours: the mean duration of a rank's outermost NVTX ranges in its last hour, compared with its first.
-- grew: 1 is no change; of_all_ranks: the mean over all ranks. For shorter runs replace 3.6E12 ns by less.
-- Runs in DuckDB, Spark, Trino and ClickHouse, on the views of views-*.sql.
WITH steps AS (
    SELECT host, rank, pid, process, FLOOR(begin_ns / 3.6E12) AS hour_number, end_ns - begin_ns AS ns
    FROM nvsnoop_range
    WHERE kind = 'push' AND depth = 0 AND end_ns IS NOT NULL
), by_hour AS (
    SELECT host, rank, pid, process, hour_number, AVG(ns * 1.0E0) AS mean_ns
    FROM steps
    GROUP BY host, rank, pid, process, hour_number
), compared AS (
    SELECT host, rank, pid, hour_number, mean_ns,
           FIRST_VALUE(mean_ns) OVER (PARTITION BY host, pid, process ORDER BY hour_number) AS first_ns,
           ROW_NUMBER() OVER (PARTITION BY host, pid, process ORDER BY hour_number DESC) AS back
    FROM by_hour
)
SELECT rank, host, pid, hour_number AS last_hour, first_ns / 1.0E3 AS first_us, mean_ns / 1.0E3 AS last_us,
       mean_ns / NULLIF(first_ns, 0) AS grew, AVG(mean_ns / NULLIF(first_ns, 0)) OVER () AS of_all_ranks
FROM compared
WHERE back = 1 AND hour_number > 0
ORDER BY grew DESC, rank
LIMIT 20
