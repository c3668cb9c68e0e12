-- SPDX-License-Identifier: Apache-2.0
-- Operators that follow each other, and the time between them.
-- takes: 90
-- needs: every_span, counted_span
WITH worked AS (
    SELECT *, event_id IN (SELECT event_id FROM counted_span) AS is_shown
      FROM every_span WHERE type NOT IN ('label', 'phase', 'mark', 'counter', 'python_function')
       AND (type NOT GLOB '*_runtime' OR type = 'os_runtime') AND type NOT GLOB '*_driver'),
sided AS (
    SELECT *, min(side) FILTER (WHERE side = 'host' OR is_shown) OVER (PARTITION BY session_id)
              AS side_told FROM worked),
outer_first AS (
    SELECT *, max(CASE WHEN is_shown THEN end_ns END) OVER (
                  PARTITION BY lane_id ORDER BY start_ns, end_ns DESC, event_id DESC
                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS inside_until_ns,
           {grouped} AS word
      FROM sided WHERE side = side_told),
met AS (
    SELECT *, lag(is_shown) OVER lane AND run IS lag(run) OVER lane
              AND start_ns - lag(end_ns) OVER lane <= 1000000 AS follows,
           max(0, start_ns - lag(end_ns) OVER lane) AS gap_ns
      FROM outer_first WHERE side = 'device' OR end_ns > coalesce(inside_until_ns, end_ns - 1)
    WINDOW lane AS (PARTITION BY lane_id ORDER BY start_ns, end_ns DESC, event_id DESC)),
part AS MATERIALIZED (
    SELECT row_number() OVER every_one AS place, name, word, dur_ns, gap_ns,
           sum(NOT coalesce(follows, 0)) OVER (every_one ROWS UNBOUNDED PRECEDING) AS chain
      FROM met WHERE is_shown
    WINDOW every_one AS (ORDER BY session_id, lane_id, start_ns, end_ns DESC, event_id DESC)),
grown(place, length, words, names, total_ns, gap_ns, chain) AS (
    SELECT place, 1, json_quote(word), json_quote(name), dur_ns, 0, chain FROM part
    UNION ALL
    SELECT g.place, g.length + 1, g.words || ', ' || json_quote(p.word),
           g.names || ', ' || json_quote(p.name), g.total_ns + p.dur_ns, g.gap_ns + p.gap_ns,
           g.chain
      FROM grown g JOIN part p ON p.place = g.place + g.length AND p.chain = g.chain
     WHERE g.length < 5),
/* One that lies in the one before it counts only once: the next begins where this one ends, among
 * the next few of its kind. */
gram AS MATERIALIZED (
    SELECT *, CAST(nth + CASE WHEN lead(place) OVER alike >= place + length THEN 1
                              WHEN lead(place, 2) OVER alike >= place + length THEN 2
                              WHEN lead(place, 3) OVER alike >= place + length THEN 3
                              WHEN lead(place, 4) OVER alike >= place + length THEN 4
                              ELSE 5 END AS INTEGER) AS next
      FROM (SELECT *, CAST(row_number() OVER (PARTITION BY words ORDER BY place) AS INTEGER) AS nth,
                   CAST(dense_rank() OVER (ORDER BY words) AS INTEGER) AS kind
              FROM grown WHERE length > 1)
    WINDOW alike AS (PARTITION BY words ORDER BY place)),
picked(kind, next, words, length, place, names, total_ns, gap_ns) AS (
    SELECT kind, next, words, length, place, names, total_ns, gap_ns FROM gram WHERE nth = 1
    UNION ALL
    SELECT g.kind, g.next, g.words, g.length, g.place, g.names, g.total_ns, g.gap_ns
      FROM picked p JOIN gram g ON g.kind = p.kind AND g.nth = p.next),
sums AS MATERIALIZED (
    SELECT words, length, count(*) AS calls, sum(gap_ns) AS gap_ns, sum(total_ns) AS total_ns,
           min(place) AS first_place, names /* of the first */
      FROM picked GROUP BY kind HAVING count(*) > 1),
within AS MATERIALIZED (
    SELECT i.words, l.calls FROM sums l JOIN (SELECT 0 AS k UNION ALL SELECT 1)
      JOIN gram i ON i.place = l.first_place + k AND i.length = l.length - 1)
SELECT '[' || s.words || ']' AS ops, s.length, s.calls, s.gap_ns,
       s.gap_ns * 1.0 / s.calls AS gap_mean_ns, s.total_ns,
       s.total_ns * 1.0 / s.calls AS mean_ns,
       s.total_ns * 1.0 / (SELECT sum(dur_ns) FROM part) AS share,
       '[' || nullif(s.names, s.words) || ']' AS example
  FROM sums s WHERE (s.words, s.calls) NOT IN (SELECT words, calls FROM within)
 ORDER BY s.gap_ns DESC
