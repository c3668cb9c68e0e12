-- SPDX-License-Identifier: Apache-2.0
-- Of the table of devices: time with anything recorded, overlaps once. Spans come in the order in which they began, with
-- how far those before them reach, and starts and ends of runs among them: what begins in a run counts as far as it is
-- new, and what reaches over the start or the end of one is added or taken off there.
-- needs: counted_run, counted_span
WITH wall AS (
    SELECT session_id, start_ns, end_ns FROM (SELECT * FROM counted_run{runs_in_time})
     WHERE end_ns IS NOT NULL AND {per_run} AND session_id NOT IN (
           SELECT session_id FROM session WHERE source = 'megengine')),
point AS (
    SELECT session_id, coalesce(device, 'host') AS device, start_ns AS time_ns,
           CASE type WHEN 'label' THEN start_ns ELSE end_ns END AS end_ns, 0 AS begins
      FROM counted_span WHERE type NOT IN ('phase', 'mark', 'counter')
    UNION ALL /* where runs count, they are the time to fill */
    SELECT session_id, d.device, CASE begins WHEN 1 THEN start_ns ELSE end_ns END, NULL, begins
      FROM wall JOIN (SELECT 1 AS begins UNION ALL SELECT -1) JOIN (
           SELECT DISTINCT session_id, coalesce(device, 'host') AS device FROM lane) d USING (session_id)),
reached AS (
    SELECT session_id, device, time_ns, end_ns, begins, max(end_ns) OVER before AS before_ns,
           coalesce(sum(begins) OVER before, 0) AS runs
      FROM point
    WINDOW before AS (PARTITION BY session_id, device ORDER BY time_ns
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))
SELECT device, sum(CASE begins
           WHEN 0 THEN (runs > 0 OR NOT EXISTS (SELECT 1 FROM wall))
                * max(0, end_ns - max(time_ns, coalesce(before_ns, time_ns)))
           WHEN 1 THEN (runs = 0) * max(0, before_ns - time_ns)
           ELSE (runs = 1) * -max(0, before_ns - time_ns) END) AS busy_ns
  FROM reached GROUP BY session_id, device HAVING min(abs(begins)) = 0 ORDER BY busy_ns DESC
