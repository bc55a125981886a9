-- SPDX-License-Identifier: MIT
-- Device memory by rank: the maximum allocated by calls (peak_bytes), its ratio to the mean of all ranks
-- (of_mean_peak), and what was never freed (left_bytes). A rank that leaks leaves more than the others.
-- Runs in DuckDB, Spark, Trino and ClickHouse, on the views of views-*.sql.
WITH placed AS (
    SELECT host, rank, pid, process, live_bytes,
           ROW_NUMBER() OVER (PARTITION BY host, pid, process ORDER BY time_ns DESC, live_bytes DESC) AS back
    FROM nvsnoop_memory
), by_rank AS (
    SELECT host, rank, pid, process, MAX(live_bytes) AS peak_bytes,
           MAX(CASE WHEN back = 1 THEN live_bytes ELSE 0 END) AS left_bytes, COUNT(*) AS changes
    FROM placed
    GROUP BY host, rank, pid, process
)
SELECT rank, host, pid, peak_bytes, left_bytes, changes,
       peak_bytes / NULLIF(AVG(peak_bytes * 1.0E0) OVER (), 0) AS of_mean_peak
FROM by_rank
ORDER BY left_bytes DESC, peak_bytes DESC, rank
LIMIT 20
