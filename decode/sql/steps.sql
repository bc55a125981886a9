-- SPDX-License-Identifier: MIT
-- Slowest rank by step. A step is an outermost NVTX range, or the time between two launches of a graph; the n-th step
-- of a name is compared with the n-th on all other ranks. slowness: mean ratio of its steps to the median of all ranks;
-- slowest_of: number of steps in which it was the slowest; lost_us: by how much these took longer than the median.
-- Runs in DuckDB, Spark, Trino and ClickHouse, on the views of views-*.sql.
WITH steps AS (
    SELECT host, rank, pid, process, name AS step_name, begin_ns, end_ns - begin_ns AS ns
    FROM nvsnoop_range
    WHERE kind = 'push' AND depth = 0 AND end_ns IS NOT NULL
    UNION ALL
    SELECT host, rank, pid, process, 'graph launch' AS step_name, begin_ns,
           LEAD(begin_ns) OVER (PARTITION BY host, pid, process ORDER BY begin_ns) - begin_ns AS ns
    FROM nvsnoop_call
    WHERE api_group = 'graph-launch' AND captured = 0 AND error IS NULL
), numbered AS (
    SELECT host, rank, pid, step_name, ns,
           ROW_NUMBER() OVER (PARTITION BY host, pid, process, step_name ORDER BY begin_ns) AS step
    FROM steps
    WHERE ns IS NOT NULL
), placed AS (
    SELECT host, rank, pid, step_name, step, ns,
           ROW_NUMBER() OVER (PARTITION BY step_name, step ORDER BY ns) AS place,
           COUNT(*) OVER (PARTITION BY step_name, step) AS ranks
    FROM numbered
), medians AS (
    SELECT step_name, step, ns AS median_ns
    FROM placed
    WHERE 2 * place = ranks OR 2 * place = ranks + 1
)
SELECT p.step_name, p.rank, p.host, p.pid, COUNT(*) AS steps,
       AVG(p.ns * 1.0E0 / m.median_ns) AS slowness,
       SUM(CASE WHEN p.place = p.ranks THEN 1 ELSE 0 END) AS slowest_of,
       SUM(CASE WHEN p.place = p.ranks THEN p.ns - m.median_ns ELSE 0 END) / 1.0E3 AS lost_us
FROM placed p
JOIN medians m ON m.step_name = p.step_name AND m.step = p.step
WHERE m.median_ns > 0
GROUP BY p.step_name, p.rank, p.host, p.pid
ORDER BY slowest_of DESC, slowness DESC, rank
LIMIT 20
