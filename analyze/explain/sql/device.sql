-- SPDX-License-Identifier: Apache-2.0
-- How busy each device was.
-- needs: counted_span
SELECT coalesce(device, 'queue') AS device, lane AS stream, session_id, count(*) AS span_count,
       sum(max(0, end_ns - max(start_ns, coalesce(before_ns, start_ns)))) AS busy_ns,
       max(end_ns) - min(start_ns) AS active_ns
  FROM (SELECT *, max(end_ns) OVER (PARTITION BY lane_id
               ORDER BY start_ns, end_ns DESC, event_id
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
          FROM counted_span WHERE side = 'device' AND type NOT IN ('label', 'phase', 'mark', 'counter'))
 GROUP BY lane_id
UNION ALL
SELECT coalesce(device, 'queue'), 'all', session_id, count(*) AS span_count,
       sum(max(0, end_ns - max(start_ns, coalesce(before_ns, start_ns)))) AS busy_ns,
       max(end_ns) - min(start_ns) AS active_ns
  FROM (SELECT *, max(end_ns) OVER (PARTITION BY session_id, device
               ORDER BY start_ns, end_ns DESC, event_id
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
          FROM counted_span WHERE side = 'device' AND type NOT IN ('label', 'phase', 'mark', 'counter'))
 GROUP BY session_id, device HAVING count(DISTINCT lane_id) > 1 ORDER BY busy_ns DESC
