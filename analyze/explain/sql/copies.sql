-- SPDX-License-Identifier: Apache-2.0
-- Copies and sets of memory by name, mode and direction.
-- needs: every_span, counted_span
SELECT d.name, CASE WHEN h.name LIKE '%Async%' THEN 'async'
       WHEN h.name LIKE '%Memcpy%' OR h.name LIKE '%Memset%' THEN 'sync' END AS mode,
       sum(d.dur_ns) AS total_ns, count(*) AS calls, sum(d.bytes) AS bytes,
       min(d.dur_ns) AS min_ns, max(d.dur_ns) AS max_ns
  FROM counted_span d LEFT JOIN (SELECT session_id, run, correlation, name, max(start_ns) AS start_ns, end_ns, dur_ns
                     FROM every_span WHERE side = 'host' AND correlation IS NOT NULL
                    GROUP BY session_id, run, correlation) h ON d.side = 'device'
       AND h.session_id = d.session_id AND h.run IS d.run AND h.correlation = d.correlation
 WHERE lower(d.type) IN ('copy', 'memset') AND (d.side = 'device'
       OR d.op_id NOT IN (SELECT op_id FROM every_span WHERE side = 'device'))
 GROUP BY 1, 2 ORDER BY total_ns DESC
