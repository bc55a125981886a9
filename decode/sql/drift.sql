-- SPDX-License-Identifier: MIT
-- Drift over hours: how long the outermost ranges of NVTX of a rank take in the last hour beside its first. grew: 1 is
-- no change; of_all_ranks likewise, over all. For shorter runs put fewer nanoseconds than 3.6E12 into an hour.
-- The same in DuckDB, Spark, Trino and ClickHouse, over the views of views-*.sql.
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
