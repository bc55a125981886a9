-- SPDX-License-Identifier: MIT
-- Where ranks diverge: for each thread of a rank, the first launch that differs from what most ranks launched there, by
-- kernel name (NCCL's collectives are kernels too). Threads are numbered by their first launch. others: number of ranks
-- that launched the other kernel. A rank that stops launching diverges where the others continue.
-- Runs in DuckDB, Spark, Trino and ClickHouse, on the views of views-*.sql.
WITH launches AS (
    SELECT host, rank, pid, process, thread, call, begin_ns,
           CASE WHEN api_group = 'graph-launch' THEN 'a graph'
                ELSE COALESCE(kernel, 'a kernel without a name') END AS launched,
           MIN(begin_ns) OVER (PARTITION BY host, pid, process, thread) AS thread_began
    FROM nvsnoop_call
    WHERE api_group IN ('launch', 'graph-launch') AND captured = 0 AND error IS NULL
), numbered AS (
    SELECT host, rank, pid, process, launched,
           DENSE_RANK() OVER (PARTITION BY host, pid, process ORDER BY thread_began, thread) AS thread_number,
           ROW_NUMBER() OVER (PARTITION BY host, pid, process, thread ORDER BY begin_ns, call) AS at_launch
    FROM launches
), ended AS (
    SELECT host, rank, pid, process, thread_number, at_launch, launched
    FROM numbered
    UNION ALL
    SELECT host, rank, pid, process, thread_number, MAX(at_launch) + 1 AS at_launch, '(nothing more)' AS launched
    FROM numbered
    GROUP BY host, rank, pid, process, thread_number
), counted AS (
    SELECT thread_number, at_launch, launched, COUNT(*) AS ranks
    FROM ended
    GROUP BY thread_number, at_launch, launched
), usual AS (
    SELECT thread_number, at_launch, launched, ranks,
           ROW_NUMBER() OVER (PARTITION BY thread_number, at_launch ORDER BY ranks DESC, launched) AS place
    FROM counted
), differing AS (
    SELECT e.host, e.rank, e.pid, e.thread_number, e.at_launch, e.launched,
           u.launched AS others_launched, u.ranks AS others,
           ROW_NUMBER() OVER (PARTITION BY e.host, e.pid, e.process, e.thread_number ORDER BY e.at_launch) AS place
    FROM ended e
    JOIN usual u ON u.thread_number = e.thread_number AND u.at_launch = e.at_launch
    WHERE u.place = 1 AND e.launched <> u.launched
)
SELECT rank, host, pid, thread_number, at_launch, launched, others_launched, others
FROM differing
WHERE place = 1
ORDER BY at_launch, rank
LIMIT 50
