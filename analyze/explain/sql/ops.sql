-- SPDX-License-Identifier: Apache-2.0
-- The operators of one side.
-- takes: 35
-- needs: self_time
SELECT name, type, node_id AS id, calls, time_ns, call_min_ns, call_max_ns,
       max(call_min_ns, min(call_max_ns, (ns_50 >> e_50 << e_50) + ((1 << e_50) - 1) / 2)) AS call_p50_ns,
       max(call_min_ns, min(call_max_ns, (ns_90 >> e_90 << e_90) + ((1 << e_90) - 1) / 2)) AS call_p90_ns,
       max(call_min_ns, min(call_max_ns, (ns_99 >> e_99 << e_99) + ((1 << e_99) - 1) / 2)) AS call_p99_ns
  FROM ({ops_lines.sql})
 ORDER BY time_ns DESC
