-- SPDX-License-Identifier: Apache-2.0
-- The lines of averages: rows of one name, side and group; and memory that nobody holds.
-- takes: 30
-- needs: every_span, counted_span
-- Rows; starts and ends of those on hosts, and of Python's functions, in order, what takes no time in between. What
-- opens lies in what opened last at the depth above. An only child of its parent's name is one with it.
WITH worker AS (
    SELECT DISTINCT lane_id FROM every_span
     WHERE type NOT IN ('label', 'phase', 'mark', 'counter')),
row AS MATERIALIZED (
    SELECT * FROM every_span
     WHERE type NOT IN ('label', 'phase', 'mark', 'counter', 'python_function')
        OR (type = 'label' AND (lane_id IN (SELECT lane_id FROM worker)
                                OR lane_id IN (SELECT lane_id FROM lane
                                                WHERE native_id IS NOT NULL)
                                OR NOT EXISTS (SELECT 1 FROM worker)))),
holder AS (
    SELECT * FROM row UNION ALL SELECT * FROM every_span WHERE type = 'python_function'),
row_point AS (
    SELECT lane_id, event_id, CASE WHEN type <> 'python_function' THEN name END AS name,
           dur_ns, opens, CASE opens WHEN 1 THEN start_ns ELSE end_ns END AS time_ns
      FROM holder JOIN (SELECT 1 AS opens UNION ALL SELECT -1) WHERE side = 'host'),
row_placed AS (
    SELECT *, row_number() OVER o AS place, sum(opens) OVER o AS depth FROM row_point
    WINDOW o AS (PARTITION BY lane_id ORDER BY time_ns,
                 CASE WHEN dur_ns = 0 THEN 2 ELSE opens = 1 END,
                 CASE WHEN dur_ns = 0 THEN event_id ELSE -opens * dur_ns END,
                 CASE WHEN dur_ns = 0 THEN -opens ELSE -opens * event_id END
                 ROWS UNBOUNDED PRECEDING)),
row_opened AS (
    SELECT *, sum(opens = 1) OVER (PARTITION BY lane_id, depth ORDER BY place
                                   ROWS UNBOUNDED PRECEDING) AS nth FROM row_placed),
row_owned AS (
    SELECT *, first_value(event_id) OVER at_depth AS owner,
           first_value(name) OVER at_depth AS owner_name FROM row_opened
    WINDOW at_depth AS (PARTITION BY lane_id, depth, nth ORDER BY place)),
row_held AS (
    SELECT *, lag(owner) OVER o AS parent_id, lag(owner_name) OVER o AS parent_name,
           lag(depth) OVER o AS parent_depth
      FROM row_owned WINDOW o AS (PARTITION BY lane_id ORDER BY place)),
twin AS (
    SELECT max(event_id) AS event_id FROM row_held WHERE opens = 1 AND parent_depth > 0
     GROUP BY lane_id, parent_id HAVING count(*) = 1 AND max(name) = max(parent_name))
SELECT name, side, type = 'label' AS is_label{grouped}, count(*) AS calls,
       CASE side WHEN 'host' THEN sum(dur_ns) END AS cpu_ns,
       CASE side WHEN 'host' THEN avg(dur_ns) END AS cpu_mean_ns,
       sum(computation_flop) AS computation_flop
  FROM row WHERE event_id IN (SELECT event_id FROM counted_span)
   AND event_id NOT IN (SELECT event_id FROM twin)
 GROUP BY name, side, type = 'label'{group_key}{having}
UNION ALL
SELECT '[memory]', 'host', 0{no_group}, count(*), 0, 0, NULL
  FROM (SELECT *, time_ns AS start_ns FROM memory_event) e JOIN lane l USING (lane_id)
 WHERE l.session_id IN ({sessions}) AND e.bytes IS NOT NULL{in_runs}{in_time}
   AND NOT EXISTS (SELECT 1 FROM every_span s WHERE s.op_id = e.op_id AND s.side = 'host'
                      AND e.time_ns BETWEEN s.start_ns AND s.end_ns
                      AND (s.lane_id = e.lane_id OR l.kind <> 'thread'))
   AND (SELECT count(*) FROM counted_span) = (SELECT count(*) FROM every_span)
HAVING count(*) > 0{zero_is_within} ORDER BY cpu_ns DESC
