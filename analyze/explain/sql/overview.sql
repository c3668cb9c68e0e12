-- SPDX-License-Identifier: Apache-2.0
-- Of the table of devices: time with anything recorded, overlaps once.
-- takes: 15
-- needs: counted_run, counted_span
WITH op_span AS (
    SELECT session_id, coalesce(device, 'host') AS device, start_ns, event_id,
           CASE type WHEN 'label' THEN start_ns ELSE end_ns END AS end_ns
      FROM counted_span WHERE type NOT IN ('phase', 'mark', 'counter')),
/* Where runs count, they are the time to fill. */
wall AS (
    SELECT session_id, start_ns, end_ns FROM (SELECT * FROM counted_run{runs_in_time})
     WHERE end_ns IS NOT NULL AND {per_run} AND session_id NOT IN (
           SELECT session_id FROM session WHERE source = 'megengine')),
point AS (
    SELECT session_id, device, start_ns AS time_ns, 1 AS opens, 0 AS begins FROM op_span
    UNION ALL SELECT session_id, device, end_ns, -1, 0 FROM op_span
    UNION ALL SELECT session_id, device, start_ns, 0, 1 FROM wall
              JOIN (SELECT DISTINCT session_id, device FROM op_span) USING (session_id)
    UNION ALL SELECT session_id, device, end_ns, 0, -1 FROM wall
              JOIN (SELECT DISTINCT session_id, device FROM op_span) USING (session_id)),
piece AS (
    SELECT session_id, device, lead(time_ns) OVER o - time_ns AS ns,
           sum(opens) OVER (o ROWS UNBOUNDED PRECEDING) AS spans,
           sum(begins) OVER (o ROWS UNBOUNDED PRECEDING) AS runs
      FROM point WINDOW o AS (PARTITION BY session_id, device ORDER BY time_ns))
SELECT device, sum(CASE WHEN spans > 0 AND (runs > 0 OR NOT EXISTS (SELECT 1 FROM wall)) THEN ns
                   ELSE 0 END) AS busy_ns
  FROM piece GROUP BY session_id, device ORDER BY busy_ns DESC
