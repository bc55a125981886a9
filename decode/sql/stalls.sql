-- SPDX-License-Identifier: MIT
-- Launches that stalled: calls that took over 1 ms and over twenty times the mean of their API, with the fill level of
-- the channel's ring (pending of gpfifo_entries) when they submitted: if nearly full, the driver waited for space.
-- Runs in DuckDB, Spark, Trino and ClickHouse, on the views of views-*.sql.
WITH usual AS (
    SELECT api, AVG(end_ns - begin_ns) AS mean_ns
    FROM nvsnoop_call
    WHERE api_group IN ('launch', 'graph-launch') AND end_ns IS NOT NULL
    GROUP BY api
), slow AS (
    SELECT c.host, c.rank, c.pid, c.process, c.call, c.api, c.kernel, c.begin_ns, c.end_ns - c.begin_ns AS ns
    FROM nvsnoop_call c
    JOIN usual u ON u.api = c.api
    WHERE c.api_group IN ('launch', 'graph-launch') AND c.end_ns - c.begin_ns > 1000000
      AND c.end_ns - c.begin_ns > 20 * u.mean_ns
), submitted AS (
    SELECT host, pid, process, call, MAX(pending) AS pending, MAX(channel) AS channel
    FROM nvsnoop_submission
    WHERE call IS NOT NULL
    GROUP BY host, pid, process, call
)
SELECT w.rank, w.host, w.pid, w.api, w.kernel, w.begin_ns, w.ns / 1.0E3 AS host_us, s.pending, ch.gpfifo_entries
FROM slow w
LEFT JOIN submitted s ON s.host = w.host AND s.pid = w.pid AND s.process = w.process AND s.call = w.call
LEFT JOIN nvsnoop_channel ch ON ch.host = s.host AND ch.pid = s.pid AND ch.process = s.process
                            AND ch.channel = s.channel
ORDER BY host_us DESC, w.begin_ns
LIMIT 50
