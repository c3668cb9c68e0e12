-- SPDX-License-Identifier: Apache-2.0
-- What a device waited for, and how long.
-- takes: 45
-- needs: every_span, launching, counted_span, event_awaited
WITH ran AS MATERIALIZED (
    SELECT event_id, op_id, lane_id, session_id, side, device, run, correlation, start_ns, end_ns,
           dur_ns, lower(type) = 'copy' AS is_copy,
           max(end_ns) OVER (PARTITION BY lane_id ORDER BY start_ns, end_ns DESC, event_id DESC
                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS idle_from_ns
      FROM every_span WHERE type NOT IN ('label', 'phase', 'mark', 'counter')),
lane_time AS MATERIALIZED (
    SELECT lane_id, active_ns, min(start_ns) OVER (
               PARTITION BY session_id, CASE WHEN session_id IN (
                   SELECT session_id FROM session WHERE source = 'megengine') THEN side END)
           AS first_ns
      FROM (SELECT lane_id, session_id, side, min(start_ns) AS start_ns,
                   max(end_ns) - min(start_ns) AS active_ns FROM ran GROUP BY lane_id)),
gap AS MATERIALIZED (
    SELECT a.event_id, o.name AS ended_by, a.lane_id, a.device, a.session_id, a.side,
           a.idle_from_ns AS from_ns, a.start_ns AS until_ns,
           a.start_ns - a.idle_from_ns AS gap_ns, t.active_ns, t.first_ns,
           l.lane_id AS host_id, l.start_ns AS launch_ns, w.awaited, w.awaited_ns,
           a.idle_from_ns + (l.start_ns - a.idle_from_ns) / 2 AS middle_ns
      FROM ran a JOIN op o USING (op_id) JOIN lane_time t USING (lane_id)
      LEFT JOIN launching l ON a.side = 'device' AND l.session_id = a.session_id
           AND l.run IS a.run AND l.correlation = a.correlation AND a.session_id NOT IN (
               SELECT session_id FROM session WHERE source = 'megengine')
      LEFT JOIN event_awaited w ON w.event_id = a.event_id AND w.awaited_ns <= a.start_ns
           AND w.awaited_ns - max(l.start_ns, a.idle_from_ns)
               > (a.start_ns - a.idle_from_ns) / 2
     WHERE a.start_ns > a.idle_from_ns AND ({filtered} = 0 OR a.lane_id IN (
           SELECT lane_id FROM counted_span
            WHERE type NOT IN ('label', 'phase', 'mark', 'counter')))),
/* In which op the launching thread was in the middle of the wait for it: these moments, with the
 * numbers of their gaps below 0, among the ops of threads, and behind those of a thread its end. */
turn AS MATERIALIZED (
    SELECT CAST(row_number() OVER o AS INTEGER) AS place, event_id, end_ns,
           event_id > 0 AND lead(end_ns) OVER o <= end_ns AS holds
      FROM (SELECT lane_id, event_id, start_ns, end_ns FROM ran
             WHERE dur_ns > 0 AND lane_id IN (SELECT host_id FROM gap)
            UNION ALL SELECT host_id, -event_id, middle_ns, middle_ns + 1 FROM gap
             WHERE launch_ns > from_ns AND awaited_ns IS NULL
            UNION ALL SELECT lane_id, NULL, 1 << 62, 1 << 62 FROM lane
             WHERE session_id IN ({sessions}) AND kind = 'thread')
    WINDOW o AS (ORDER BY lane_id, start_ns, end_ns DESC, event_id DESC)),
walk(place, open_ns, open_id, open, event_id, outer_id) AS (
    SELECT 1, (1 << 62) + 1, 0, '', NULL, NULL
    UNION ALL
    {nest_step.sql},
           CASE WHEN open_ns >= end_ns THEN t.event_id END, open_id
      FROM walk w JOIN turn t ON t.place = w.place),
launch_op AS MATERIALIZED (
    SELECT CAST(-event_id AS INTEGER) AS gap_id, CAST(outer_id AS INTEGER) AS span_id
      FROM walk WHERE event_id < 0 AND outer_id > 0),
host_span AS (
    SELECT CAST(event_id AS INTEGER) AS span_id, name, max(CASE WHEN name GLOB '*Synchronize*' THEN end_ns END)
           OVER (PARTITION BY lane_id ORDER BY start_ns) >= end_ns AS waits
      FROM every_span WHERE event_id IN (SELECT span_id FROM launch_op)
        OR (side = 'host' AND op_id IN (SELECT op_id FROM op WHERE name GLOB '*Synchronize*'))),
host_in AS (
    SELECT CAST(gap_id AS INTEGER) AS gap_id, name, coalesce(waits, 0) AS waits
      FROM launch_op JOIN host_span USING (span_id)),
/* How much of a gap other lanes of the device were busy: up to any moment the sum of all lanes' busy
 * time grows by the number of spans that are open; what it grew by in the gap is theirs, as nothing
 * of the gap's own lane ran. */
device_point AS (
    SELECT session_id, device, event_id AS span_id, is_copy, 1 AS opens,
           start_ns AS time_ns, NULL AS gap_id, NULL AS is_end, 0 AS turn FROM ran
     WHERE side = 'device' AND dur_ns > 0
    UNION ALL
    SELECT session_id, device, event_id, is_copy, -1, end_ns, NULL, NULL, 0 FROM ran
     WHERE side = 'device' AND dur_ns > 0
    UNION ALL /* one without a length may end a gap, but not at its end */
    SELECT session_id, device, event_id, is_copy, 0, start_ns, NULL, NULL, 2 FROM ran
     WHERE side = 'device' AND dur_ns = 0
    UNION ALL
    SELECT g.session_id, g.device, NULL, NULL, 0, i.time_ns, g.event_id, i.is_end, 1
      FROM (SELECT event_id, 0 AS is_end, from_ns AS time_ns FROM gap
             WHERE launch_ns <= from_ns AND device IS NOT NULL
            UNION ALL SELECT event_id, 1, until_ns FROM gap
             WHERE launch_ns <= from_ns AND device IS NOT NULL) i
      JOIN gap g USING (event_id)),
device_open AS (
    SELECT *, lead(time_ns) OVER o - time_ns AS ns,
           sum(opens * coalesce(is_copy, 0)) OVER (o ROWS UNBOUNDED PRECEDING) AS copies,
           sum(opens * (1 - coalesce(is_copy, 0))) OVER (o ROWS UNBOUNDED PRECEDING) AS others,
           max(CASE WHEN opens < 1 AND gap_id IS NULL THEN time_ns * 2 + is_copy END)
               OVER (o ROWS UNBOUNDED PRECEDING) AS last_ended
      FROM device_point
    WINDOW o AS (PARTITION BY session_id, device ORDER BY time_ns, turn, opens, span_id, gap_id)),
device_busy AS (
    SELECT gap_id, is_end, last_ended, sum(copies * ns) OVER o AS copy_ns,
           sum(others * ns) OVER o AS other_ns FROM device_open
    WINDOW o AS (PARTITION BY session_id, device ORDER BY time_ns, turn, opens, span_id, gap_id
                 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
beside AS (
    SELECT CAST(gap_id AS INTEGER) AS gap_id, max(copy_ns * is_end) - max(copy_ns * (1 - is_end)) AS copy_ns,
           max(other_ns * is_end) - max(other_ns * (1 - is_end)) AS other_ns,
           max(last_ended) FILTER (WHERE is_end) AS last_ended
      FROM device_busy WHERE gap_id IS NOT NULL GROUP BY gap_id),
judged AS (
    SELECT g.*, coalesce(g.awaited, h.name) AS during,
           CASE WHEN g.side = 'host' THEN 'nothing recorded'
                WHEN g.awaited_ns IS NOT NULL THEN 'event'
                WHEN g.launch_ns IS NULL THEN 'not known'
                WHEN g.launch_ns > g.from_ns THEN CASE h.waits WHEN 1 THEN 'host waited'
                     WHEN 0 THEN 'host busy' ELSE 'nothing queued' END
                WHEN b.copy_ns > g.gap_ns / 2 THEN 'copy'
                WHEN b.other_ns > g.gap_ns / 2 THEN 'other stream'
                WHEN b.last_ended / 2 > g.until_ns - g.gap_ns / 10 THEN
                     CASE b.last_ended % 2 WHEN 1 THEN 'copy' ELSE 'other stream' END
                ELSE 'launched, not started' END AS cause
      FROM gap g LEFT JOIN host_in h ON h.gap_id = g.event_id
      LEFT JOIN beside b ON b.gap_id = g.event_id),
ranked AS (
    SELECT *, count(*) OVER line AS gaps,
           row_number() OVER (line ORDER BY gap_ns) AS nth,
           row_number() OVER (line ORDER BY gap_ns DESC, from_ns) AS down
      FROM judged WINDOW line AS (PARTITION BY lane_id, cause, during)),
ended AS (
    SELECT CAST(lane_id AS INTEGER) AS ended_lane, CAST(end_ns AS INTEGER) AS ended_ns,
           name AS ended_name, row_number() OVER (
               PARTITION BY lane_id, end_ns ORDER BY start_ns DESC, event_id DESC) AS turn
      FROM ran JOIN op USING (op_id) WHERE (lane_id, end_ns) IN (
           SELECT lane_id, from_ns FROM gap))
SELECT coalesce(l.name, l.kind || ' ' || coalesce(l.native_id, 0)) AS lane, r.device, cause, during,
       sum(gap_ns) AS total_ns,
       sum(gap_ns) * 1.0 / active_ns AS share, count(*) AS gap_count, avg(gap_ns) AS mean_ns,
       max(gap_ns) FILTER (WHERE nth = (gaps + 1) / 2) AS p50_ns, max(gap_ns) AS longest_ns,
       max(from_ns - first_ns) FILTER (WHERE down = 1) AS longest_at_ns,
       max(ended_name) FILTER (WHERE down = 1) AS longest_before,
       max(ended_by) FILTER (WHERE down = 1) AS longest_after, active_ns, r.session_id
  FROM ranked r JOIN lane l USING (lane_id)
  LEFT JOIN (SELECT * FROM ended WHERE turn = 1) e
    ON e.ended_lane = r.lane_id AND e.ended_ns = r.from_ns AND r.down = 1
 GROUP BY r.lane_id, cause, during ORDER BY total_ns DESC
