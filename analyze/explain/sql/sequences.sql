-- SPDX-License-Identifier: Apache-2.0
-- Operators that follow each other, and the time between them.
-- takes: 35
-- needs: every_span, counted_span
-- A word of a sequence is a number: that of the first op with the word.
WITH word AS MATERIALIZED (
    SELECT op_id, name, word, CAST(min(op_id) OVER (PARTITION BY word) AS INTEGER) AS number
      FROM (SELECT op_id, name, {grouped} AS word FROM op
             WHERE +session_id IN ({sessions})
               AND type NOT IN ('label', 'phase', 'mark', 'counter', 'python_function')
               AND (type NOT GLOB '*_runtime' OR type = 'os_runtime') AND type NOT GLOB '*_driver')),
worked AS MATERIALIZED (
    SELECT event_id, session_id, lane_id, op_id, side, run, start_ns, end_ns,
           event_id {is_chosen} AS is_shown
      FROM every_span WHERE op_id IN (SELECT op_id FROM word)),
sided AS (
    SELECT w.* FROM worked w JOIN (
           SELECT session_id, min(side) AS side_told FROM worked WHERE side = 'host' OR is_shown
            GROUP BY session_id) USING (session_id)
     WHERE side = side_told),
outer_first AS (
    SELECT *, max(CASE WHEN is_shown THEN end_ns END) OVER (
                  PARTITION BY lane_id ORDER BY start_ns, end_ns DESC, event_id DESC
                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS inside_until_ns
      FROM sided),
met AS (
    SELECT *, lag(is_shown) OVER lane AND run IS lag(run) OVER lane
              AND start_ns - lag(end_ns) OVER lane <= 1000000 AS follows,
           max(0, start_ns - lag(end_ns) OVER lane) AS gap_ns
      FROM outer_first WHERE side = 'device' OR end_ns > coalesce(inside_until_ns, end_ns - 1)
    WINDOW lane AS (PARTITION BY lane_id ORDER BY start_ns, end_ns DESC, event_id DESC)),
/* Up to each, how long all took and what was between them. */
part AS MATERIALIZED (
    SELECT CAST(row_number() OVER every_one AS INTEGER) AS place, op_id, number,
           end_ns - start_ns AS dur_ns,
           sum(end_ns - start_ns) OVER (every_one ROWS UNBOUNDED PRECEDING) AS upto_ns,
           sum(gap_ns) OVER (every_one ROWS UNBOUNDED PRECEDING) AS gaps_ns,
           sum(NOT coalesce(follows, 0)) OVER (every_one ROWS UNBOUNDED PRECEDING) AS chain
      FROM met JOIN word USING (op_id) WHERE is_shown
    WINDOW every_one AS (ORDER BY session_id, lane_id, start_ns, end_ns DESC, event_id DESC)),
row AS MATERIALIZED (
    SELECT *,
           lead(number) OVER o AS word_2, lead(chain) OVER o AS chain_2,
           lead(upto_ns) OVER o AS upto_ns_2, lead(gaps_ns) OVER o AS gaps_ns_2,
           lead(number, 2) OVER o AS word_3, lead(chain, 2) OVER o AS chain_3,
           lead(upto_ns, 2) OVER o AS upto_ns_3, lead(gaps_ns, 2) OVER o AS gaps_ns_3,
           lead(number, 3) OVER o AS word_4, lead(chain, 3) OVER o AS chain_4,
           lead(upto_ns, 3) OVER o AS upto_ns_4, lead(gaps_ns, 3) OVER o AS gaps_ns_4,
           lead(number, 4) OVER o AS word_5, lead(chain, 4) OVER o AS chain_5,
           lead(upto_ns, 4) OVER o AS upto_ns_5, lead(gaps_ns, 4) OVER o AS gaps_ns_5
      FROM part WINDOW o AS (ORDER BY place)),
/* One that lies in the one before it counts only once: the next begins where this one ends, among
 * the next few of its kind. */
gram AS MATERIALIZED (
    SELECT *, lead(place) OVER alike < place + length AS overlaps,
           CAST(CASE WHEN lead(place) OVER alike >= place + length THEN lead(place) OVER alike
                     WHEN lead(place, 2) OVER alike >= place + length THEN lead(place, 2) OVER alike
                     WHEN lead(place, 3) OVER alike >= place + length THEN lead(place, 3) OVER alike
                     WHEN lead(place, 4) OVER alike >= place + length THEN lead(place, 4) OVER alike
                     ELSE lead(place, 5) OVER alike END AS INTEGER) AS next
      FROM (SELECT place, 2 AS length, number || ' ' || word_2 AS words,
                   upto_ns_2 - upto_ns + dur_ns AS total_ns, gaps_ns_2 - coalesce(gaps_ns, 0) AS gap_ns
              FROM row WHERE chain_2 = chain
            UNION ALL SELECT place, 3, number || ' ' || word_2 || ' ' || word_3,
                   upto_ns_3 - upto_ns + dur_ns, gaps_ns_3 - coalesce(gaps_ns, 0)
              FROM row WHERE chain_3 = chain
            UNION ALL SELECT place, 4, number || ' ' || word_2 || ' ' || word_3 || ' ' || word_4,
                   upto_ns_4 - upto_ns + dur_ns, gaps_ns_4 - coalesce(gaps_ns, 0)
              FROM row WHERE chain_4 = chain
            UNION ALL SELECT place, 5, number || ' ' || word_2 || ' ' || word_3 || ' ' || word_4 || ' ' || word_5,
                   upto_ns_5 - upto_ns + dur_ns, gaps_ns_5 - coalesce(gaps_ns, 0)
              FROM row WHERE chain_5 = chain)
    WINDOW alike AS (PARTITION BY words ORDER BY place)),
kind AS MATERIALIZED (
    SELECT words, length, count(*) AS calls, sum(gap_ns) AS gap_ns, sum(total_ns) AS total_ns,
           min(place) AS first_place, coalesce(max(overlaps), 0) AS overlaps
      FROM gram GROUP BY words HAVING count(*) > 1),
picked(words, length, place, next, total_ns, gap_ns) AS (
    SELECT g.words, g.length, g.place, g.next, g.total_ns, g.gap_ns
      FROM kind k JOIN gram g ON g.words = k.words AND g.place = k.first_place WHERE k.overlaps
    UNION ALL
    SELECT g.words, g.length, g.place, g.next, g.total_ns, g.gap_ns
      FROM picked p JOIN gram g ON g.words = p.words AND g.place = p.next),
sums AS MATERIALIZED (
    SELECT words, length, calls, gap_ns, total_ns, first_place FROM kind WHERE NOT overlaps
    UNION ALL
    SELECT words, length, count(*), sum(gap_ns), sum(total_ns), min(place)
      FROM picked GROUP BY words HAVING count(*) > 1),
/* Those that lie in a longer one as often: of its first one the beginning and the end. */
within AS MATERIALIZED (
    SELECT g.words, s.calls FROM sums s JOIN (SELECT 0 AS k UNION ALL SELECT 1)
      JOIN gram g ON g.place = s.first_place + k AND g.length = s.length - 1),
told AS (
    SELECT *, (SELECT group_concat(json_quote(o.word), ', ')
                 FROM json_each('[' || replace(words, ' ', ',') || ']') j
                 CROSS JOIN word o ON o.op_id = j.value) AS shown,
           (SELECT group_concat(json_quote(o.name), ', ')
              FROM json_each('[0,1,2,3,4]') j CROSS JOIN part p ON p.place = s.first_place + j.value
             CROSS JOIN word o ON o.op_id = p.op_id WHERE j.value < s.length) AS names
      FROM sums s WHERE (words, calls) NOT IN (SELECT words, calls FROM within))
SELECT '[' || shown || ']' AS ops, length, calls, gap_ns, gap_ns * 1.0 / calls AS gap_mean_ns,
       total_ns, total_ns * 1.0 / calls AS mean_ns,
       total_ns * 1.0 / (SELECT sum(dur_ns) FROM part) AS share,
       '[' || nullif(names, shown) || ']' AS example
  FROM told ORDER BY gap_ns DESC
