-- SPDX-License-Identifier: Apache-2.0
-- The operators of one side from roll-ups, where events were dropped.
{ops_rolled_tables.sql}
SELECT name, type, node_id AS id, sum(event_count) AS calls,
       1.0 * sum({rolled_time}) / {runs} AS time_ns,
       min(min_ns) AS call_min_ns, max(max_ns) AS call_max_ns,
       max(min(min_ns), min(max(max_ns), (SELECT min(middle_ns) FROM ranked r
                                         WHERE r.key = o.key AND upto * 100 >= total * 50))) AS call_p50_ns,
       max(min(min_ns), min(max(max_ns), (SELECT min(middle_ns) FROM ranked r
                                         WHERE r.key = o.key AND upto * 100 >= total * 90))) AS call_p90_ns,
       max(min(min_ns), min(max(max_ns), (SELECT min(middle_ns) FROM ranked r
                                         WHERE r.key = o.key AND upto * 100 >= total * 99))) AS call_p99_ns
  FROM one_side o GROUP BY key ORDER BY time_ns DESC
