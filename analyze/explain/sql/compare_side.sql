-- SPDX-License-Identifier: Apache-2.0
-- One side of a comparison: what each op and each run took, in each session and run.
-- needs: counted_run, every_span, sample_of_op, sampled_op
WITH unit AS (
    SELECT session_id, run, dur_ns FROM (SELECT * FROM counted_run{runs_in_time})
     WHERE dur_ns IS NOT NULL
    UNION ALL /* a session without runs is one */
    SELECT session_id, 0, max(end_ns) - min(start_ns) FROM every_span
     WHERE type NOT IN ('label', 'phase', 'mark', 'counter')
       AND session_id NOT IN (SELECT session_id FROM run) GROUP BY session_id),
took AS (
    SELECT u.session_id, u.run, o.part_id, s.is_shown, count(*) AS calls,
           min(s.start_ns) AS first_ns, CASE WHEN s.is_shown AND u.session_id IN (
               SELECT session_id FROM session WHERE source = 'megengine')
           THEN max(s.own_ns) ELSE sum(s.own_ns) END AS ns
      FROM unit u JOIN sample_of_op s ON s.session_id = u.session_id
           AND coalesce(s.run, 0) = u.run
      LEFT JOIN sampled_op o ON o.op_id = s.op_id AND s.is_shown
     GROUP BY u.session_id, u.run, s.is_shown, o.part_id)
SELECT CASE is_shown WHEN 1 THEN 'op' ELSE 'other' END AS part, t.session_id, run, part_id, p.name,
       p.type, p.input_shapes, p.input_dtypes, p.origin, first_ns, calls, ns
  FROM took t LEFT JOIN op p ON p.op_id = t.part_id
UNION ALL
SELECT 'run', session_id, run, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       CASE WHEN session_id IN (SELECT session_id FROM session WHERE source = 'megengine')
            THEN (SELECT sum(ns) FROM took t
                   WHERE t.session_id = u.session_id AND t.run = u.run)
            ELSE dur_ns END FROM unit u
