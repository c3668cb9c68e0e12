-- SPDX-License-Identifier: Apache-2.0
-- One line of all operators, or one for each type, from roll-ups.
{ops_rolled_tables.sql}
SELECT {reduced_type} AS type, count(*) AS op_count, sum(calls) AS calls,
       {reduced}(time_ns) AS time_ns, min(call_min_ns) AS call_min_ns,
       max(call_max_ns) AS call_max_ns
  FROM (SELECT name, type, node_id AS id, sum(event_count) AS calls,
       1.0 * sum({rolled_time}) / {runs} AS time_ns,
       min(min_ns) AS call_min_ns, max(max_ns) AS call_max_ns FROM one_side GROUP BY key) {bounds}
 GROUP BY 1 ORDER BY time_ns DESC
