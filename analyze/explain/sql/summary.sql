-- SPDX-License-Identifier: Apache-2.0
-- Operators in the order in which they run, each with the interquartile mean of its runs. What lies in an op and in a
-- label that began in the op and outlasts it is not in the op for the report; here it is.
-- needs: self_time, op_line
SELECT o.name, o.type, o.node_id AS id,
       avg(run_ns) FILTER (WHERE place > n / 4 AND place <= n - n / 4) AS mean_ns,
       min(run_ns) AS min_ns, max(run_ns) AS max_ns, avg(run_ns) AS plain_mean_ns,
       n AS run_count
  FROM (SELECT *, row_number() OVER (PARTITION BY line ORDER BY run_ns) AS place,
               count(*) OVER (PARTITION BY line) AS n
          FROM (SELECT line, sum(own_ns) AS run_ns, min(start_ns) AS first_ns
                  FROM self_time CROSS JOIN op_line USING (op_id)
                 WHERE side = {op_side}
                   AND type <> 'label' AND ({per_run} = 0 OR (session_id, run) IN (
                       SELECT session_id, run FROM run WHERE end_ns IS NOT NULL))
                 GROUP BY line, CASE WHEN {per_run} THEN run END))
  JOIN op o ON o.op_id = line
 GROUP BY line ORDER BY min(first_ns)
