-- SPDX-License-Identifier: Apache-2.0
-- What of the critical path each op holds. A call that waits for a stream waits for what was launched there last, others
-- for what ended last in their time; clocks of devices differ from the host's, so that it may seem to end up to 0.1 ms
-- behind the call, and is taken to end with it.
-- takes: 75
-- needs: counted_run, every_span, launching, counted_span, issued_op, event_awaited
WITH chosen AS MATERIALIZED (
    SELECT session_id, run, start_ns, end_ns FROM (
           SELECT *, row_number() OVER (ORDER BY dur_ns, session_id, run) AS nth,
                  count(*) OVER () AS ended FROM (SELECT * FROM counted_run{runs_in_time})
            WHERE dur_ns IS NOT NULL) WHERE nth = (ended + 1) / 2),
bounds AS MATERIALIZED (
    SELECT start_ns AS from_ns, end_ns AS until_ns FROM chosen
    UNION ALL
    SELECT min(start_ns), max(end_ns) FROM every_span WHERE NOT EXISTS (SELECT 1 FROM chosen)
    HAVING NOT EXISTS (SELECT 1 FROM chosen)),
span AS MATERIALIZED (
    SELECT s.event_id, s.session_id, s.lane_id, s.side, s.name, s.type, s.run, s.correlation,
           s.start_ns, s.end_ns,
           s.event_id {is_chosen} AS is_shown,
           l.event_id AS launch_id, l.lane_id AS launch_lane, l.start_ns AS launch_from_ns,
           l.end_ns AS launch_until_ns, l.name AS launch_name
      FROM every_span s LEFT JOIN launching l ON s.side = 'device' AND l.session_id = s.session_id
           AND l.run IS s.run AND l.correlation = s.correlation
     WHERE s.type NOT IN ('label', 'phase', 'mark', 'counter')
       AND (NOT EXISTS (SELECT 1 FROM chosen)
            OR (s.session_id, s.run) IN (SELECT session_id, run FROM chosen))),
seen_on_device AS MATERIALIZED (
    SELECT s.*, max(s.start_ns, from_ns) AS part_from_ns, min(s.end_ns, until_ns) AS part_until_ns
      FROM span s, bounds WHERE side = 'device' AND s.start_ns <= until_ns AND s.end_ns >= from_ns),
/* What lies between two starts or ends of ops on a thread in this time, and the op that it is of. */
turn AS MATERIALIZED (
    SELECT CAST(row_number() OVER o AS INTEGER) AS place, lane_id, event_id, start_ns, end_ns,
           event_id IS NOT NULL AND lead(end_ns) OVER o <= end_ns AS holds,
           lead(start_ns) OVER o AS next_ns
      FROM (SELECT lane_id, event_id, start_ns, end_ns FROM every_span, bounds
             WHERE side = 'host' AND dur_ns > 0 AND start_ns < until_ns AND end_ns > from_ns
               AND type NOT IN ('label', 'phase', 'mark', 'counter')
            UNION ALL SELECT lane_id, NULL, 1 << 62, 1 << 62 FROM lane
             WHERE session_id IN ({sessions}) AND kind = 'thread')
    WINDOW o AS (ORDER BY lane_id, start_ns, end_ns DESC, event_id DESC)),
nest(place, open_ns, open_id, open, now_ns, lane_id, time_ns, ns, event_id) AS (
    SELECT 1, (1 << 62) + 1, 0, '', 0, 0, 0, 0, 0
    UNION ALL
    {nest_step.sql},
           CASE WHEN open_ns < end_ns THEN min(open_ns, start_ns)
                WHEN holds THEN start_ns ELSE min(end_ns, next_ns) END,
           t.lane_id, now_ns, min(open_ns, start_ns) - now_ns, open_id
      FROM nest w JOIN turn t ON t.place = w.place),
own AS (
    SELECT CAST(time_ns AS INTEGER) AS time_ns, ns, CAST(event_id AS INTEGER) AS event_id FROM nest
     WHERE ns > 0 AND event_id > 0
    UNION ALL SELECT start_ns, min(end_ns, next_ns) - start_ns, event_id FROM turn
     WHERE NOT holds AND event_id IS NOT NULL),
/* Threads are cut where they launch something, */
part AS MATERIALIZED (
    SELECT s.event_id, s.lane_id, max(p.time_ns, from_ns) AS from_ns,
           min(p.time_ns + p.ns, until_ns) AS until_ns
      FROM own p JOIN span s USING (event_id), bounds
     WHERE p.time_ns < until_ns AND p.time_ns + p.ns > from_ns),
bit AS MATERIALIZED (
    SELECT event_id, lane_id, time_ns AS from_ns,
           lead(time_ns, 1, until_ns) OVER (PARTITION BY event_id, until_ns ORDER BY time_ns) AS until_ns
      FROM (SELECT DISTINCT lane_id, time_ns, max(event_id) OVER around AS event_id,
                   max(until_ns) OVER around AS until_ns
              FROM (SELECT *, sum(NOT is_cut) OVER (
                               PARTITION BY lane_id ORDER BY time_ns, is_cut DESC
                               ROWS UNBOUNDED PRECEDING) AS nth
                      FROM (SELECT event_id, lane_id, from_ns AS time_ns, until_ns, 0 AS is_cut
                              FROM part
                            UNION ALL SELECT NULL, launch_lane, min(start_ns, launch_until_ns),
                                   NULL, 1 FROM seen_on_device WHERE launch_lane IS NOT NULL))
            WINDOW around AS (PARTITION BY lane_id, nth))
     WHERE time_ns < until_ns),
/* and where they wait for a device: what was launched last on the stream that they name, */
awaiting AS MATERIALIZED (
    SELECT s.event_id, (SELECT i.event_id FROM issued_op i
                         WHERE i.lane_id = coalesce(w.lane_id, p.lane_id)
                           AND i.issued_ns < s.start_ns
                         ORDER BY i.issued_ns DESC, i.start_ns DESC LIMIT 1) AS awaited_id
      FROM span s JOIN launching l ON l.event_id = s.event_id
      JOIN every_span p ON p.side = 'device' AND p.type = 'phase' AND p.name = 'Stream Sync'
           AND p.session_id = s.session_id AND p.run IS s.run
           AND p.correlation = s.correlation
      LEFT JOIN lane w ON w.session_id = p.session_id AND w.kind <> 'thread'
           AND w.name IN (SELECT value FROM json_each(p.params, '$.wait_on_lanes'))
     WHERE s.side = 'host' AND s.name GLOB '*Synchronize*'),
named AS MATERIALIZED (
    SELECT b.event_id, b.from_ns, b.until_ns, d.event_id AS awaited_id, d.lane_id, d.start_ns,
           d.part_until_ns AS awaited_ns
      FROM bit b JOIN awaiting n USING (event_id)
      LEFT JOIN seen_on_device d ON d.event_id = n.awaited_id
           AND d.part_until_ns - b.until_ns <= 100000),
on_device AS MATERIALIZED (
    SELECT d.event_id, d.session_id, d.lane_id, d.side, d.name, d.type, d.run, d.start_ns,
           d.end_ns, d.launch_id, d.launch_lane, d.launch_from_ns, d.launch_until_ns,
           d.launch_name, min(d.part_from_ns, coalesce(n.end_ns, d.part_from_ns)) AS part_from_ns,
           min(d.part_until_ns, coalesce(n.end_ns, d.part_until_ns)) AS part_until_ns
      FROM seen_on_device d LEFT JOIN (
           SELECT d.event_id, min(n.until_ns) AS end_ns
             FROM named n JOIN seen_on_device d ON d.lane_id = n.lane_id
                  AND d.start_ns <= n.start_ns AND d.part_until_ns > n.until_ns
            WHERE n.awaited_ns > n.until_ns GROUP BY d.event_id) n USING (event_id)),
/* or what ended last in that time and was launched before. */
waiting AS (
    SELECT event_id, start_ns FROM span WHERE side = 'host' AND name GLOB '*Synchronize*'
    UNION
    SELECT launch_id, launch_from_ns FROM (
           SELECT *, row_number() OVER (PARTITION BY launch_id ORDER BY lane_id, start_ns) AS nth
             FROM span WHERE launch_id IS NOT NULL)
     WHERE nth = 1 AND (type IN ('copy', 'Copy') OR type GLOB 'GpuMemcpy*')
       AND name || type NOT GLOB '*Async*' AND (name || type GLOB '*Sync*'
           OR (launch_name NOT GLOB '*Async*'
               AND (launch_name GLOB '*emcpy*' OR launch_name GLOB '*emset*')))),
back AS (
    SELECT b.event_id, b.from_ns, d.event_id AS awaited_id, d.part_until_ns AS back_ns,
           row_number() OVER (PARTITION BY b.event_id, b.from_ns
                              ORDER BY d.part_until_ns DESC, d.part_from_ns DESC, d.lane_id DESC,
                                       d.start_ns DESC, d.end_ns, d.event_id) AS nth
      FROM waiting w CROSS JOIN bit b USING (event_id) CROSS JOIN on_device d
        ON b.event_id NOT IN (SELECT event_id FROM awaiting) AND d.part_until_ns > b.from_ns AND d.part_until_ns <= b.until_ns
           AND (d.launch_id IS NULL OR d.launch_id = b.event_id
                OR d.launch_from_ns < w.start_ns)
    UNION ALL
    SELECT event_id, from_ns, awaited_id, max(from_ns, min(awaited_ns, until_ns)),
           row_number() OVER (PARTITION BY event_id, from_ns ORDER BY awaited_ns DESC) FROM named
     WHERE awaited_id IS NOT NULL),
cut AS (
    SELECT event_id, lane_id, 0 AS side, part_from_ns AS from_ns, part_until_ns AS until_ns,
           0 AS is_wait, NULL AS awaited_id, launch_lane,
           min(part_from_ns, launch_until_ns) AS launch_ns, start_ns, end_ns FROM on_device
    UNION ALL
    SELECT b.event_id, lane_id, 1, CASE i WHEN 1 THEN back_ns ELSE b.from_ns END,
           CASE i WHEN 0 THEN back_ns ELSE until_ns END, i = 0 AND back_ns IS NOT NULL,
           CASE i WHEN 1 THEN awaited_id END, NULL, NULL, b.from_ns, i
      FROM bit b LEFT JOIN back k ON k.event_id = b.event_id AND k.from_ns = b.from_ns AND k.nth = 1
      JOIN (SELECT 0 AS i UNION ALL SELECT 1 UNION ALL SELECT 2)
        ON (i = 2) = (k.back_ns IS NULL)),
lined AS MATERIALIZED (
    SELECT *, CASE WHEN lag(until_ns) OVER lane <= from_ns THEN lag(place) OVER lane
                   WHEN lag(until_ns, 2) OVER lane <= from_ns THEN lag(place, 2) OVER lane END
           AS before, CASE WHEN lag(until_ns) OVER lane <= from_ns THEN lag(until_ns) OVER lane
                   WHEN lag(until_ns, 2) OVER lane <= from_ns THEN lag(until_ns, 2) OVER lane END
           AS before_ns
      FROM (SELECT *, row_number() OVER (ORDER BY side, lane_id, start_ns,
                          CASE side WHEN 0 THEN -end_ns ELSE end_ns END, -event_id) AS place
              FROM cut)
    WINDOW lane AS (PARTITION BY side, lane_id ORDER BY place)),
/* What its stream waited for counts as what ran before on it. */
piece AS MATERIALIZED (
    SELECT p.place, p.event_id, p.lane_id, p.side, p.from_ns, p.until_ns, p.is_wait, p.awaited_id,
           p.launch_lane, p.launch_ns,
           iif(d.until_ns >= coalesce(p.before_ns, d.until_ns), d.place, p.before) AS before,
           iif(d.until_ns >= coalesce(p.before_ns, d.until_ns), d.until_ns, p.before_ns)
           AS before_ns
      FROM lined p LEFT JOIN event_awaited a ON p.side = 0 AND a.event_id = p.event_id
      LEFT JOIN lined d ON d.side = 0 AND d.event_id = a.awaited_id AND d.until_ns <= p.from_ns),
/* What of the launching thread had ended when a piece was launched. */
launch_of AS MATERIALIZED (
    SELECT launched, launch FROM (
           SELECT launched, max(place) OVER (PARTITION BY lane_id ORDER BY time_ns, launched
                                             ROWS UNBOUNDED PRECEDING) AS launch
             FROM (SELECT iif(side = 1, lane_id, launch_lane) AS lane_id,
                          iif(side = 1, until_ns, launch_ns) AS time_ns,
                          iif(side = 1, place, NULL) AS place,
                          iif(side = 1, NULL, place) AS launched
                     FROM lined WHERE side = 1 OR launch_lane IS NOT NULL))
     WHERE launched IS NOT NULL),
/* Back from the end: a piece waited for what ended last of the piece before it on its lane and of
 * `other`, one of another lane. */
walk(n, place, event_id, lane_id, side, from_ns, until_ns, before, before_ns, launch, other) AS (
    SELECT -1, NULL, NULL, NULL, NULL, NULL, NULL, (SELECT place FROM lined
            ORDER BY until_ns DESC, from_ns DESC, place DESC LIMIT 1), NULL, NULL, NULL
    UNION ALL
    SELECT n + 1, p.place, p.event_id, p.lane_id, p.side, p.from_ns, p.until_ns, p.before,
           p.before_ns,
           (SELECT l.launch FROM launch_of l WHERE l.launched = p.place),
           CASE WHEN p.awaited_id IS NOT NULL
                THEN (SELECT d.place FROM lined d WHERE d.side = 0 AND d.event_id = p.awaited_id)
                WHEN p.before IS NULL OR (p.side = 1 AND p.from_ns > p.before_ns)
                THEN (SELECT x.place FROM lined x WHERE x.lane_id <> p.lane_id AND NOT x.is_wait
                         AND x.until_ns <= p.from_ns
                         AND (p.before IS NULL
                              OR x.until_ns > p.from_ns - (p.from_ns - p.before_ns) / 10)
                         AND (x.until_ns, x.from_ns, x.place) < (p.until_ns, p.from_ns, p.place)
                       ORDER BY x.until_ns DESC, x.from_ns DESC, x.place DESC LIMIT 1) END
      FROM walk w JOIN piece p ON p.place = CASE
           WHEN coalesce(w.launch, w.other) IS NULL THEN w.before WHEN w.before IS NULL OR (
                SELECT until_ns FROM lined x WHERE x.place = coalesce(w.launch, w.other))
                >= w.before_ns
           THEN coalesce(w.launch, w.other) ELSE w.before END),
held AS (
    SELECT *, lead(place) OVER back AS holder, lead(until_ns) OVER back AS held_ns FROM walk
     WHERE n >= 0 WINDOW back AS (ORDER BY n)),
/* Each piece, what is between it and what held it up, what is behind the last. */
step AS (
    SELECT 2 * n + i AS n, CASE WHEN i = 0 OR kind <> 'not recorded' THEN event_id END AS event_id,
           CASE WHEN i <> 0 THEN kind WHEN side = 0 THEN 'device' ELSE 'host' END AS kind,
           CASE i WHEN 0 THEN until_ns - from_ns WHEN 1 THEN from_ns - held_ns
                  ELSE run_until_ns - coalesce(until_ns, run_from_ns) END AS ns
      FROM (SELECT i, n, event_id, side, h.from_ns, h.until_ns, b.from_ns AS run_from_ns,
                   b.until_ns AS run_until_ns, coalesce(held_ns, b.from_ns) AS held_ns,
                   CASE WHEN i = -1 OR side = 1 OR holder IS NULL THEN 'not recorded'
                        WHEN holder = before THEN 'between'
                        WHEN launch IS NOT NULL THEN 'launch' ELSE 'not recorded' END AS kind
              FROM bounds b JOIN (SELECT 0 AS i UNION ALL SELECT 1 UNION ALL SELECT -1)
              LEFT JOIN held h ON i >= 0 OR n = 0)),
joined AS (
    SELECT event_id, kind, sum(ns) AS ns FROM (
           SELECT *, sum(begins) OVER (ORDER BY n ROWS UNBOUNDED PRECEDING) AS island FROM (
                  SELECT *, NOT (event_id IS lag(event_id) OVER o AND kind IS lag(kind) OVER o)
                            AS begins FROM step WHERE ns > 0 WINDOW o AS (ORDER BY n)))
     GROUP BY island)
SELECT CASE WHEN j.event_id IS NULL THEN '(nothing recorded)'
            WHEN s.is_shown THEN s.name ELSE '(left out by what is asked for)' END AS name,
       CASE WHEN s.is_shown THEN s.type END AS type, kind, sum(ns) AS time_ns,
       sum(ns) * 1.0 / (SELECT until_ns - from_ns FROM bounds) AS share, count(*) AS count,
       avg(ns) AS mean_ns, max(ns) AS longest_ns
  FROM joined j LEFT JOIN span s USING (event_id) GROUP BY 1, 2, 3 ORDER BY time_ns DESC
