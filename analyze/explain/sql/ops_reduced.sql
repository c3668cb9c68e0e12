-- SPDX-License-Identifier: Apache-2.0
-- One line of all operators, or one for each type.
-- needs: self_time, op_line
SELECT {reduced_type} AS type, count(*) AS op_count, sum(calls) AS calls,
       {reduced}(time_ns) AS time_ns, min(call_min_ns) AS call_min_ns,
       max(call_max_ns) AS call_max_ns
  FROM ({ops_lines.sql}) {bounds}
 GROUP BY 1 ORDER BY time_ns DESC
