-- SPDX-License-Identifier: Apache-2.0
-- Operators in the order in which they run, each with the interquartile mean of its runs. What lies in
-- an op and in a label that began in the op and outlasts it is not in the op for the report; here it is.
-- takes: 15
-- needs: self_time
SELECT name, type, node_id AS id,
       avg(run_ns) FILTER (WHERE place > n / 4 AND place <= n - n / 4) AS mean_ns,
       min(run_ns) AS min_ns, max(run_ns) AS max_ns, avg(run_ns) AS plain_mean_ns,
       n AS run_count
  FROM (SELECT *, row_number() OVER (PARTITION BY {line_key} ORDER BY run_ns) AS place,
               count(*) OVER (PARTITION BY {line_key}) AS n
          FROM (SELECT *, sum(own_ns) AS run_ns, min(start_ns) AS first_ns
                  FROM self_time o LEFT JOIN (SELECT session_id, run, end_ns AS ended_ns
                                               FROM run) r USING (session_id, run)
                 WHERE side = (SELECT min(side) FROM self_time WHERE type <> 'label')
                   AND type <> 'label' AND ({per_run} = 0 OR ended_ns IS NOT NULL)
                 GROUP BY {line_key}, CASE WHEN {per_run} THEN run END))
 GROUP BY {line_key} ORDER BY min(first_ns)
