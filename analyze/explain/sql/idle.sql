-- SPDX-License-Identifier: Apache-2.0
-- What a device waited for, and how long.
-- takes: 50
-- needs: every_span, launching, counted_span, own_piece, event_awaited
WITH ran AS (
    SELECT *, max(end_ns) OVER (PARTITION BY lane_id ORDER BY start_ns, end_ns DESC, event_id DESC
                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS idle_from_ns,
           max(end_ns) OVER (PARTITION BY lane_id) - min(start_ns) OVER (PARTITION BY lane_id)
           AS active_ns,
           min(start_ns) OVER (PARTITION BY session_id, CASE WHEN session_id IN (
                   SELECT session_id FROM session WHERE source = 'megengine') THEN side END)
           AS first_ns
      FROM every_span WHERE type NOT IN ('label', 'phase', 'mark', 'counter')),
gap AS MATERIALIZED (
    SELECT a.event_id, a.name AS ended_by, a.lane_id, a.lane, a.device, a.session_id, a.side,
           a.idle_from_ns AS from_ns, a.start_ns AS until_ns,
           a.start_ns - a.idle_from_ns AS gap_ns, a.active_ns, a.first_ns,
           l.lane_id AS host_id, l.start_ns AS launch_ns, w.awaited, w.awaited_ns,
           a.idle_from_ns + (l.start_ns - a.idle_from_ns) / 2 AS middle_ns
      FROM ran a LEFT JOIN launching l ON a.side = 'device' AND l.session_id = a.session_id
           AND l.run IS a.run AND l.correlation = a.correlation AND a.session_id NOT IN (
               SELECT session_id FROM session WHERE source = 'megengine')
      LEFT JOIN event_awaited w ON w.event_id = a.event_id AND w.awaited_ns <= a.start_ns
           AND w.awaited_ns - max(l.start_ns, a.idle_from_ns)
               > (a.start_ns - a.idle_from_ns) / 2
     WHERE a.start_ns > a.idle_from_ns AND a.lane_id IN (
           SELECT lane_id FROM counted_span
            WHERE type NOT IN ('label', 'phase', 'mark', 'counter'))),
looked_up AS (
    SELECT event_id, CAST(lane_id AS INTEGER) AS lane_id, CAST(max(place) OVER (
               PARTITION BY lane_id ORDER BY time_ns, is_gap ROWS UNBOUNDED PRECEDING)
           AS INTEGER) AS place
      FROM (SELECT lane_id, time_ns, place, 0 AS is_gap, NULL AS event_id FROM own_piece
            UNION ALL SELECT host_id, middle_ns, NULL, 1, event_id FROM gap
             WHERE launch_ns > from_ns AND awaited_ns IS NULL)),
host_span AS (
    SELECT event_id, name, max(CASE WHEN name GLOB '*Synchronize*' THEN end_ns END) OVER (
               PARTITION BY lane_id ORDER BY start_ns) >= end_ns AS waits
      FROM every_span WHERE lane_id IN (SELECT host_id FROM gap)),
host_in AS (
    SELECT CAST(u.event_id AS INTEGER) AS gap_id, o.name, coalesce(o.waits, 0) AS waits
      FROM looked_up u JOIN own_piece p USING (lane_id, place)
      JOIN (SELECT CAST(event_id AS INTEGER) AS span_id, name, waits FROM host_span) o
        ON o.span_id = p.event_id WHERE u.event_id IS NOT NULL),
/* How much of a gap other lanes of the device were busy: up to any moment the sum of all lanes' busy
 * time grows by the number of spans that are open; what it grew by in the gap is theirs, as nothing
 * of the gap's own lane ran. */
device_point AS (
    SELECT session_id, device, event_id AS span_id, lower(type) = 'copy' AS is_copy, 1 AS opens,
           start_ns AS time_ns, NULL AS gap_id, NULL AS is_end, 0 AS turn FROM every_span
     WHERE side = 'device' AND dur_ns > 0 AND type NOT IN ('label', 'phase', 'mark', 'counter')
    UNION ALL
    SELECT session_id, device, event_id, lower(type) = 'copy', -1, end_ns, NULL, NULL, 0
      FROM every_span
     WHERE side = 'device' AND dur_ns > 0 AND type NOT IN ('label', 'phase', 'mark', 'counter')
    UNION ALL /* one without a length may end a gap, but not at its end */
    SELECT session_id, device, event_id, lower(type) = 'copy', 0, start_ns, NULL, NULL, 2
      FROM every_span
     WHERE side = 'device' AND dur_ns = 0 AND type NOT IN ('label', 'phase', 'mark', 'counter')
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
      FROM ran)
SELECT lane, device, cause, during, sum(gap_ns) AS total_ns,
       sum(gap_ns) * 1.0 / active_ns AS share, count(*) AS gap_count, avg(gap_ns) AS mean_ns,
       max(gap_ns) FILTER (WHERE nth = (gaps + 1) / 2) AS p50_ns, max(gap_ns) AS longest_ns,
       max(from_ns - first_ns) FILTER (WHERE down = 1) AS longest_at_ns,
       max(ended_name) FILTER (WHERE down = 1) AS longest_before,
       max(ended_by) FILTER (WHERE down = 1) AS longest_after, active_ns, session_id
  FROM ranked r LEFT JOIN (SELECT * FROM ended WHERE turn = 1) e
    ON e.ended_lane = r.lane_id AND e.ended_ns = r.from_ns AND r.down = 1
 GROUP BY lane_id, cause, during ORDER BY total_ns DESC
