-- SPDX-License-Identifier: MIT
-- How well times of ranks can be compared: for each clock, how often and by how much its time of day was set while
-- the job ran, how far it drifted from the monotonic clock, and the error that its system reported.
-- Runs in DuckDB, Spark, Trino and ClickHouse, on the views of views-*.sql.
SELECT clock, host, COUNT(*) AS traces, MIN(rank) AS first_rank, MIN(offset_ns) / 1.0E3 AS began_us,
       MAX(clock_steps) AS steps, MAX(ABS(clock_stepped_ns)) / 1.0E3 AS stepped_us,
       MAX(ABS(clock_drift_ns)) / 1.0E3 AS drift_us, MAX(clock_scatter_ns) / 1.0E3 AS scatter_us,
       MAX(day_error_ns) / 1.0E3 AS day_error_us
FROM nvsnoop_process
GROUP BY clock, host
ORDER BY steps DESC, stepped_us DESC, drift_us DESC, host
LIMIT 20
