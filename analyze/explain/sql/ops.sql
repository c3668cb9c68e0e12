-- SPDX-License-Identifier: Apache-2.0
-- The operators of one side. A percentile is the middle of the bin that the call of nearest rank is in, as
-- schema/store/store.md has bins: of 2^e ns, where a duration has e + 5 bits. A number in hexadecimal tells how many.
-- takes: 15
-- needs: self_time, op_line
WITH line AS MATERIALIZED (
    SELECT *, printf('%x', ns_50) AS hex_50, printf('%x', ns_90) AS hex_90,
           printf('%x', ns_99) AS hex_99
      FROM ({ops_lines.sql})),
placed AS (
    SELECT *, max(0, length(hex_50) * 4 - 8 + (hex_50 >= '2') + (hex_50 >= '4') + (hex_50 >= '8')) AS e_50,
           max(0, length(hex_90) * 4 - 8 + (hex_90 >= '2') + (hex_90 >= '4') + (hex_90 >= '8')) AS e_90,
           max(0, length(hex_99) * 4 - 8 + (hex_99 >= '2') + (hex_99 >= '4') + (hex_99 >= '8')) AS e_99
      FROM line)
SELECT name, type, node_id AS id, calls, time_ns, call_min_ns, call_max_ns,
       max(call_min_ns, min(call_max_ns, (ns_50 >> e_50 << e_50) + ((1 << e_50) - 1) / 2)) AS call_p50_ns,
       max(call_min_ns, min(call_max_ns, (ns_90 >> e_90 << e_90) + ((1 << e_90) - 1) / 2)) AS call_p90_ns,
       max(call_min_ns, min(call_max_ns, (ns_99 >> e_99 << e_99) + ((1 << e_99) - 1) / 2)) AS call_p99_ns
  FROM placed
 ORDER BY time_ns DESC
