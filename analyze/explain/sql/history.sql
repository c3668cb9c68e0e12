-- SPDX-License-Identifier: Apache-2.0
-- Each op's median in each session of a model.
-- needs: counted_run, every_span, counted_span, own_inner
WITH told AS (
    SELECT session_id, start_ns, host,
           (SELECT group_concat(model, ', ') FROM (
                   SELECT coalesce(name, path) AS model FROM model m
                    WHERE m.session_id = s.session_id AND coalesce(name, path) <> ''
                    GROUP BY 1 ORDER BY min(model_id))) AS model,
           (SELECT group_concat(digest, ', ') FROM (
                   SELECT digest FROM model m WHERE m.session_id = s.session_id AND digest <> ''
                    GROUP BY 1 ORDER BY min(model_id))) AS digest
      FROM session s WHERE session_id IN ({sessions})),
wanted AS (
    SELECT coalesce({model}, (SELECT coalesce(digest, model) FROM told
                               ORDER BY start_ns DESC, session_id DESC LIMIT 1)) AS wanted),
past AS MATERIALIZED (
    SELECT * FROM told, wanted
     WHERE CASE WHEN wanted IS NULL THEN model IS NULL ELSE wanted IN (model, digest) END),
ran AS MATERIALIZED (
    SELECT session_id, run, dur_ns FROM (SELECT * FROM counted_run{runs_in_time})
     WHERE dur_ns IS NOT NULL AND session_id IN (SELECT session_id FROM past)),
worked AS MATERIALIZED (
    SELECT s.session_id, s.run, s.op_id, s.side, s.start_ns,
           s.event_id {is_chosen} AS is_shown,
           CASE side WHEN 'device' THEN dur_ns ELSE max(0, dur_ns - coalesce(inner_ns, 0)) END AS own_ns
      FROM every_span s LEFT JOIN own_inner USING (event_id)
     WHERE type NOT IN ('label', 'phase', 'mark', 'counter')
       AND session_id IN (SELECT session_id FROM past)),
/* That of the last session which has any. */
told_side AS (
    SELECT side FROM (SELECT session_id, min(side) AS side FROM worked GROUP BY session_id) l
     WHERE EXISTS (SELECT 1 FROM worked w JOIN ran USING (session_id, run)
                    WHERE w.session_id = l.session_id AND w.side = l.side AND w.is_shown)
     ORDER BY (SELECT start_ns FROM past p WHERE p.session_id = l.session_id) DESC LIMIT 1),
timed AS MATERIALIZED (
    SELECT w.session_id, w.run, w.op_id, sum(own_ns) AS own_ns, min(start_ns) AS first_ns
      FROM worked w JOIN ran USING (session_id, run)
     WHERE is_shown AND side = (SELECT side FROM told_side) GROUP BY 1, 2, 3),
twin AS (
    SELECT o.session_id, op_id, name, type, input_shapes, input_dtypes, row_number() OVER (
               PARTITION BY o.session_id, name, type, input_shapes, input_dtypes
               ORDER BY min(first_ns), client_op) AS twin
      FROM op o JOIN timed USING (op_id) GROUP BY op_id),
value AS (
    SELECT r.session_id, r.run, name, type, input_shapes, input_dtypes, twin,
           coalesce(own_ns, 0) AS ns
      FROM twin w JOIN ran r USING (session_id) LEFT JOIN timed t
           ON t.session_id = r.session_id AND t.run = r.run AND t.op_id = w.op_id
    UNION ALL
    SELECT session_id, run, CASE WHEN {filtered} THEN 'ops asked for' ELSE 'one run' END,
           NULL, NULL, NULL, 0, CASE WHEN {filtered} THEN coalesce((
               SELECT sum(own_ns) FROM timed t WHERE t.session_id = r.session_id
                                                 AND t.run = r.run), 0) ELSE dur_ns END
      FROM ran r WHERE NOT {filtered} OR session_id IN (SELECT session_id FROM worked
                                                         WHERE is_shown)),
placed AS (
    SELECT *, row_number() OVER (one ORDER BY ns) AS place, count(*) OVER one AS runs
      FROM value WINDOW one AS (PARTITION BY session_id, name, type, input_shapes, input_dtypes,
                                             twin))
SELECT v.name, v.type, p.session_id, p.start_ns, p.host, v.runs AS run_count, v.ns AS median_ns,
       v.ns * 1.0 / lag(v.ns) OVER series - 1 AS change, v.input_shapes, v.twin
  FROM placed v JOIN past p USING (session_id) WHERE v.place = (v.runs + 1) / 2
WINDOW series AS (PARTITION BY v.name, v.type, v.input_shapes, v.input_dtypes, v.twin
                  ORDER BY p.start_ns, p.session_id)
 ORDER BY v.twin > 0, v.name, v.type, v.twin, p.start_ns
