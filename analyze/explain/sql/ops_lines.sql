-- SPDX-License-Identifier: Apache-2.0
-- The operators of one side, also with what percentiles of their calls are made of: calls in the order of their
-- durations.
-- needs: self_time, op_line
SELECT o.name, o.type, o.node_id, count(*) AS calls, avg(time_ns) * count(*) / {runs} AS time_ns,
               min(dur_ns) AS call_min_ns, max(dur_ns) AS call_max_ns,
               max(dur_ns) FILTER (WHERE nth = (n * 50 + 99) / 100) AS ns_50,
               max(dur_ns) FILTER (WHERE nth = (n * 90 + 99) / 100) AS ns_90,
               max(dur_ns) FILTER (WHERE nth = (n * 99 + 99) / 100) AS ns_99
          FROM (SELECT line, dur_ns, time_ns, row_number() OVER (PARTITION BY line ORDER BY dur_ns) AS nth,
                       count(*) OVER (PARTITION BY line) AS n
                  FROM (SELECT op_id, dur_ns, {top_time} AS time_ns FROM self_time WHERE side = {op_side})
                  CROSS JOIN op_line USING (op_id))
          JOIN op o ON o.op_id = line
         GROUP BY line
