-- SPDX-License-Identifier: Apache-2.0
-- Ops of both sides, matched, with the medians of their runs.
WITH base_sample AS (
    {base}),
new_sample AS (
    {new}),
sample AS MATERIALIZED (
    SELECT 0 AS side, * FROM base_sample UNION ALL SELECT 1, * FROM new_sample),
one AS MATERIALIZED (
    SELECT side, part_id, name, type, input_shapes, input_dtypes, origin, sum(calls) AS calls,
           side * (1 << 40) + row_number() OVER (
               PARTITION BY side ORDER BY min(session_id), min(first_ns), part_id) AS op
      FROM sample WHERE part = 'op' GROUP BY side, part_id),
/* Which is which: the same in all, then of the same model nodes, then the same name and type, then
 * the same work as often on both sides. A line has the number of its first op. */
same AS MATERIALIZED (
    SELECT *, CASE WHEN min(side) OVER twin < max(side) OVER twin THEN min(op) OVER twin END AS line
      FROM (SELECT *, row_number() OVER (PARTITION BY side, name, type, input_shapes, input_dtypes,
                                         origin ORDER BY op) AS nth FROM one)
    WINDOW twin AS (PARTITION BY name, type, input_shapes, input_dtypes, origin, nth)),
node AS (
    SELECT side, op, has_none, CASE WHEN substr(value, -6) = '_nchwc' AND length(value) > 6
                                    THEN substr(value, 1, length(value) - 6) ELSE value END AS node
      FROM (SELECT *, coalesce(json_array_length(CASE json_valid(origin) WHEN 1 THEN origin END), 0)
                      = 0 AS has_none FROM same WHERE line IS NULL),
           json_each(CASE has_none WHEN 1 THEN json_array(name) ELSE origin END)),
used AS MATERIALIZED (
    SELECT op, node FROM (SELECT *, sum(has_none) OVER (PARTITION BY side, node) AS names
                            FROM node) WHERE has_none = 0 OR names = 1),
reached(op, other) AS (
    SELECT op, op FROM used
    UNION SELECT r.op, b.op FROM reached r JOIN used a ON a.op = r.other JOIN used b USING (node)),
joined AS (
    SELECT op, min(other) AS line FROM reached GROUP BY op
    HAVING min(other) < 1 << 40 AND max(other) >= 1 << 40),
named AS (
    SELECT s.side, s.part_id, s.op, s.name, s.type, s.input_shapes, s.input_dtypes, s.calls,
           coalesce(s.line, j.line) AS line, coalesce(s.line, j.line) IS NULL AS is_loose
      FROM same s LEFT JOIN joined j USING (op)),
numbered AS (
    SELECT *, row_number() OVER (PARTITION BY is_loose, side, name, type ORDER BY op) AS nth,
           min(side) OVER alike < max(side) OVER alike
           AND (count(input_shapes) FILTER (WHERE side = 0) OVER alike > 0)
               <> (count(input_shapes) FILTER (WHERE side = 1) OVER alike > 0) AS is_bare,
           min(op) OVER alike AS first_op
      FROM named WINDOW alike AS (PARTITION BY is_loose, name, type)),
alike AS (
    SELECT *, CASE WHEN line IS NOT NULL THEN line WHEN is_bare THEN first_op
                   WHEN min(side) OVER twin < max(side) OVER twin THEN min(op) OVER twin END AS pair
      FROM numbered WINDOW twin AS (PARTITION BY is_loose, name, type, nth)),
turned AS (
    SELECT *, pair IS NULL AND input_shapes IS NOT NULL AS is_work,
           row_number() OVER (PARTITION BY pair IS NULL, side, type, input_shapes, input_dtypes
                              ORDER BY op) AS turn,
           sum(2 * side - 1) OVER (PARTITION BY pair IS NULL, type, input_shapes, input_dtypes) = 0
           AS is_even FROM alike),
grouped AS MATERIALIZED (
    SELECT side, part_id, op, name, type, input_shapes, input_dtypes, calls,
           CASE WHEN pair IS NOT NULL THEN pair
                WHEN is_work AND is_even THEN min(op) OVER (
                     PARTITION BY pair IS NULL, is_work, type, input_shapes, input_dtypes, turn)
                ELSE op END AS line FROM turned),
/* What each line took in each run. */
unit AS MATERIALIZED (
    SELECT *, max(nth) OVER (PARTITION BY side) AS sessions, count(*) OVER (PARTITION BY side)
           AS all_runs FROM (
           SELECT side, session_id, run, dense_rank() OVER (PARTITION BY side ORDER BY session_id)
                  AS nth FROM sample WHERE part = 'run')),
/* -1: between ops; -2: ops not asked for. */
summed AS MATERIALIZED (
    SELECT s.side, session_id, run, CASE WHEN i = 0 THEN -1 WHEN part = 'other' THEN -2
                                         ELSE g.line END AS line,
           sum(CASE WHEN i = 0 AND part <> 'run' THEN -ns ELSE ns END) AS ns
      FROM sample s JOIN (SELECT 0 AS i UNION ALL SELECT 1) ON i = 0 OR part <> 'run'
      LEFT JOIN grouped g ON g.side = s.side AND g.part_id = s.part_id GROUP BY 1, 2, 3, 4),
timed AS (
    SELECT p.side, p.line, u.session_id, u.sessions, coalesce(s.ns, 0) AS ns,
           row_number() OVER unit AS nth, count(*) OVER session AS runs,
           avg(coalesce(s.ns, 0)) OVER session AS mean_ns
      FROM (SELECT DISTINCT side, line FROM summed) p JOIN unit u USING (side)
      LEFT JOIN summed s ON s.side = p.side AND s.line = p.line
           AND s.session_id = u.session_id AND s.run = u.run
    WINDOW session AS (PARTITION BY p.side, p.line, u.session_id),
           unit AS (PARTITION BY p.side, p.line, u.session_id ORDER BY coalesce(s.ns, 0))),
/* Of several sessions each counts once, by its median run. */
counted AS (
    SELECT * FROM timed WHERE sessions = 1 OR nth = (runs + 1) / 2),
placed AS (
    SELECT *, row_number() OVER (PARTITION BY side, line ORDER BY ns) AS place,
           count(*) OVER (PARTITION BY side, line) AS n, rank() OVER (PARTITION BY line ORDER BY ns)
           + (count(*) OVER (PARTITION BY line, ns) - 1) / 2.0 AS mid_rank FROM counted),
measured AS (
    SELECT line, count(*) FILTER (WHERE side = 0) AS base_n,
           count(*) FILTER (WHERE side = 1) AS new_n, sum(mid_rank) FILTER (WHERE side = 1) AS ranks,
           avg(mean_ns) FILTER (WHERE side = 0) AS base_mean_ns,
           avg(mean_ns) FILTER (WHERE side = 1) AS new_mean_ns,
           max(ns) FILTER (WHERE side = 0 AND place = (n + 1) / 2) AS base_ns,
           max(ns) FILTER (WHERE side = 1 AND place = (n + 1) / 2) AS new_ns,
           max(ns) FILTER (WHERE side = 0 AND place = (9 * n + 9) / 10) AS base_p90_ns,
           max(ns) FILTER (WHERE side = 1 AND place = (9 * n + 9) / 10) AS new_p90_ns,
           max(ns) FILTER (WHERE side = 0 AND place = (99 * n + 99) / 100) AS base_p99_ns,
           max(ns) FILTER (WHERE side = 1 AND place = (99 * n + 99) / 100) AS new_p99_ns
      FROM placed GROUP BY line),
spelled AS (
    SELECT line, side, name, type, input_shapes, input_dtypes, op, calls,
           count(*) OVER (PARTITION BY line, side, name) AS times,
           row_number() OVER (PARTITION BY line, side, name ORDER BY op) AS nth
      FROM grouped ORDER BY line, side, op),
told AS (
    SELECT line, count(*) FILTER (WHERE side = 0) AS base_op_count,
           count(*) FILTER (WHERE side = 1) AS new_op_count,
           coalesce(sum(calls) FILTER (WHERE side = 0), 0) AS base_calls,
           coalesce(sum(calls) FILTER (WHERE side = 1), 0) AS new_calls,
           group_concat(CASE nth WHEN 1 THEN name || CASE WHEN times > 1 THEN ' x ' || times
                             ELSE '' END END, ' + ') FILTER (WHERE side = 0) AS base_names,
           group_concat(CASE nth WHEN 1 THEN name || CASE WHEN times > 1 THEN ' x ' || times
                             ELSE '' END END, ' + ') FILTER (WHERE side = 1) AS new_names,
           min(name) FILTER (WHERE side = 0 AND op = first_op) AS base_name,
           min(name) FILTER (WHERE side = 1 AND op = first_op) AS new_name,
           min(type) FILTER (WHERE side = 0 AND op = first_op) AS base_type,
           min(type) FILTER (WHERE side = 1 AND op = first_op) AS new_type,
           min(json_array(input_shapes, input_dtypes)) FILTER (WHERE side = 0 AND op = first_op)
           AS base_input,
           min(json_array(input_shapes, input_dtypes)) FILTER (WHERE side = 1 AND op = first_op)
           AS new_input
      FROM (SELECT *, min(op) OVER (PARTITION BY line, side) AS first_op FROM spelled)
     GROUP BY line)
SELECT CASE m.line WHEN -1 THEN 'between ops' WHEN -2 THEN 'ops not asked for'
            ELSE coalesce(new_names, base_names) END AS name,
       coalesce(new_type, base_type) AS type,
       CASE WHEN m.line < 0 THEN NULL WHEN new_op_count = 0 THEN 'removed'
            WHEN base_op_count = 0 THEN 'added'
            WHEN base_op_count > 1 AND new_op_count > 1 THEN 'regrouped'
            WHEN base_op_count > 1 THEN 'fused' WHEN new_op_count > 1 THEN 'split'
            WHEN base_type <> new_type THEN 'changed type'
            WHEN base_input <> new_input THEN 'changed shape'
            WHEN base_name <> new_name THEN 'renamed' ELSE 'same' END AS kind,
       CASE WHEN m.line <> -2 THEN base_ns END AS base_ns,
       CASE WHEN m.line <> -2 THEN new_ns END AS new_ns,
       CASE WHEN m.line = -2 THEN NULL WHEN base_ns = new_ns THEN 0
            WHEN base_ns <> 0 THEN new_ns * 1.0 / base_ns - 1 END AS change,
       coalesce(new_mean_ns, 0) - coalesce(base_mean_ns, 0) AS delta_ns,
       CASE WHEN m.line <> -2 AND base_n > 1 AND new_n > 1
            THEN (ranks - new_n * (new_n + 1) / 2.0) / (base_n * new_n) END AS superiority,
       CASE WHEN m.line < 0 THEN coalesce(base_mean_ns, 0) ELSE base_mean_ns END AS base_mean_ns,
       CASE WHEN m.line < 0 THEN coalesce(new_mean_ns, 0) ELSE new_mean_ns END AS new_mean_ns,
       CASE WHEN m.line <> -2 THEN base_p90_ns END AS base_p90_ns,
       CASE WHEN m.line <> -2 THEN new_p90_ns END AS new_p90_ns,
       CASE WHEN m.line <> -2 THEN base_p99_ns END AS base_p99_ns,
       CASE WHEN m.line <> -2 THEN new_p99_ns END AS new_p99_ns,
       coalesce(base_calls, 0) * 1.0 / (SELECT max(all_runs) FROM unit WHERE side = 0)
       AS base_calls,
       coalesce(new_calls, 0) * 1.0 / (SELECT max(all_runs) FROM unit WHERE side = 1)
       AS new_calls,
       coalesce(base_op_count, 0) AS base_op_count, coalesce(new_op_count, 0) AS new_op_count,
       base_name
  FROM measured m LEFT JOIN told t USING (line)
 WHERE m.line <> -2 OR base_mean_ns > 0 OR new_mean_ns > 0 ORDER BY abs(delta_ns) DESC
