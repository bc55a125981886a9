-- SPDX-License-Identifier: MIT
-- Command bytes by kernel over all ranks: the cost of launching it, and whether all ranks launch it equally often.
-- Runs in DuckDB, Spark, Trino and ClickHouse, on the views of views-*.sql.
WITH launches AS (
    SELECT host, pid, process, submissions, command_bytes,
           CASE WHEN api_group = 'graph-launch' THEN 'a graph' ELSE COALESCE(kernel, api) END AS launched
    FROM nvsnoop_call
    WHERE api_group IN ('launch', 'graph-launch') AND captured = 0
), by_rank AS (
    SELECT host, pid, process, launched, COUNT(*) AS launches, SUM(submissions) AS submissions,
           SUM(command_bytes) AS command_bytes
    FROM launches
    GROUP BY host, pid, process, launched
)
SELECT launched, COUNT(*) AS ranks, SUM(launches) AS all_launches, SUM(submissions) AS all_submissions,
       SUM(command_bytes) AS all_bytes, SUM(command_bytes) * 1.0E0 / SUM(launches) AS bytes_per_launch,
       MIN(launches) AS least_launches, MAX(launches) AS most_launches
FROM by_rank
GROUP BY launched
ORDER BY all_bytes DESC, launched
LIMIT 50
