-- SPDX-License-Identifier: Apache-2.0
-- Each rank's steps: how long it worked and waited.
-- needs: counted_run, sample_of_op, sampled_op
WITH ran AS (
    SELECT session_id, run, start_ns, dur_ns FROM (SELECT * FROM counted_run{runs_in_time})
     WHERE dur_ns IS NOT NULL),
placed AS (
    SELECT r.*, m.run AS step, m.overlap_ns, row_number() OVER (
               PARTITION BY r.session_id, r.run ORDER BY m.overlap_ns DESC, m.start_ns) AS nth
      FROM ran r JOIN (SELECT o.*, b.session_id AS of_session, b.run AS of_run,
                              min(o.start_ns + o.dur_ns, b.start_ns + b.dur_ns)
                              - max(o.start_ns, b.start_ns) AS overlap_ns
                         FROM ran b JOIN ran o ON CASE
                              WHEN {by_time} AND b.session_id > (SELECT min(session_id) FROM ran)
                              THEN o.session_id = (SELECT min(session_id) FROM ran)
                                   AND o.start_ns < b.start_ns + b.dur_ns
                                   AND b.start_ns < o.start_ns + o.dur_ns
                              ELSE o.session_id = b.session_id AND o.run = b.run END) m
           ON m.of_session = r.session_id AND m.of_run = r.run),
alone AS (
    SELECT *, row_number() OVER (PARTITION BY session_id, step ORDER BY overlap_ns DESC, run)
              AS again FROM placed WHERE nth = 1),
member AS MATERIALIZED (
    SELECT session_id, run, step, dur_ns, min(dur_ns) OVER step AS fastest_ns,
           max(dur_ns) OVER step AS slowest_ns, count(*) OVER step AS members,
           row_number() OVER (step ORDER BY dur_ns) AS nth,
           row_number() OVER (step ORDER BY dur_ns DESC, session_id) AS down
      FROM alone WHERE again = 1 WINDOW step AS (PARTITION BY step)),
step AS (
    SELECT step, avg(dur_ns) FILTER (WHERE nth IN ((members + 1) / 2, (members + 2) / 2))
                 AS median_ns FROM member WHERE members > 1 GROUP BY step),
worked AS (
    SELECT session_id, run, sum(own_ns) AS own_ns FROM sample_of_op GROUP BY 1, 2),
known AS (
    SELECT step FROM member LEFT JOIN worked USING (session_id, run) WHERE members > 1
     GROUP BY step HAVING min(coalesce(own_ns, 0)) > 0),
took AS (
    SELECT s.session_id, s.run, o.part_id, sum(s.own_ns) AS own_ns
      FROM sample_of_op s JOIN sampled_op o USING (op_id) WHERE s.is_shown GROUP BY 1, 2, 3
    UNION ALL
    SELECT session_id, run, -1, sum(own_ns) FROM sample_of_op WHERE NOT is_shown GROUP BY 1, 2
    UNION ALL
    SELECT session_id, run, -2, dur_ns - own_ns
      FROM worked JOIN member USING (session_id, run)),
piece AS MATERIALIZED (
    SELECT m.step, m.session_id, p.part_id, coalesce(t.own_ns, 0) AS own_ns
      FROM member m JOIN known USING (step) JOIN (SELECT DISTINCT part_id FROM took) p
      LEFT JOIN took t ON t.session_id = m.session_id AND t.run = m.run
           AND t.part_id = p.part_id),
other AS (
    SELECT a.step, a.session_id, a.part_id, a.own_ns, b.own_ns AS other_ns,
           count(*) OVER part AS others, row_number() OVER (part ORDER BY b.own_ns) AS nth
      FROM piece a JOIN piece b ON b.step = a.step AND b.part_id = a.part_id
           AND b.session_id <> a.session_id
    WINDOW part AS (PARTITION BY a.step, a.session_id, a.part_id)),
more AS (
    SELECT session_id, part_id, avg(more_ns) AS more_ns FROM (
           SELECT step, session_id, part_id, own_ns - avg(other_ns) AS more_ns FROM other
            WHERE nth IN ((others + 1) / 2, (others + 2) / 2) GROUP BY step, session_id, part_id)
     GROUP BY session_id, part_id HAVING avg(more_ns) > 0),
cause AS (
    SELECT *, row_number() OVER (PARTITION BY session_id ORDER BY more_ns DESC) AS nth FROM more),
late AS (
    SELECT *, count(*) OVER session AS steps,
           row_number() OVER (session ORDER BY dur_ns) AS of_session
      FROM member JOIN step USING (step) WINDOW session AS (PARTITION BY session_id))
SELECT l.session_id, s.host, s.pid, count(*) AS step_count,
       max(l.dur_ns) FILTER (WHERE of_session = (steps + 1) / 2) AS dur_p50_ns,
       max(l.dur_ns) FILTER (WHERE of_session = (9 * steps + 9) / 10) AS dur_p90_ns,
       sum(down = 1 AND slowest_ns > fastest_ns) AS slowest_count,
       avg(down = 1 AND slowest_ns > fastest_ns) AS slowest_share,
       avg(l.dur_ns - fastest_ns) AS behind_fastest_ns,
       sum(l.dur_ns - fastest_ns) * 1.0 / sum(fastest_ns) AS behind_fastest_share,
       avg(l.dur_ns - median_ns) AS behind_median_ns,
       sum(l.dur_ns - median_ns) / sum(median_ns) AS behind_median_share,
       CASE WHEN sum(l.dur_ns - median_ns) > 0 THEN CASE c.part_id WHEN -2 THEN 'between ops'
            WHEN -1 THEN 'ops left out by the filter'
            ELSE (SELECT name FROM op WHERE op_id = c.part_id) END END AS cause,
       CASE WHEN sum(l.dur_ns - median_ns) > 0 THEN c.more_ns END AS cause_ns
  FROM late l JOIN session s USING (session_id)
  LEFT JOIN cause c ON c.session_id = l.session_id AND c.nth = 1
 GROUP BY l.session_id ORDER BY behind_fastest_ns DESC
