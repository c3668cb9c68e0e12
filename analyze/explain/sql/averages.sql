-- SPDX-License-Identifier: Apache-2.0
-- The lines of averages: rows of one name, side and group; and memory that nobody holds.
-- takes: 20
-- needs: every_span, counted_span
-- Rows; starts and ends of those on hosts, and of Python's functions, in order, what takes no time in between. What
-- opens lies in what opened last at the depth above. An only child of its parent's name is one with it: it opens next
-- after the parent, and the next one of its depth lies behind the next one of the parent's.
WITH worker AS (
    SELECT lane_id FROM every_span WHERE type NOT IN ('label', 'phase', 'mark', 'counter')),
row AS (
    SELECT * FROM every_span
     WHERE type NOT IN ('label', 'phase', 'mark', 'counter', 'python_function')
        OR (type = 'label' AND (lane_id IN (SELECT lane_id FROM lane WHERE native_id IS NOT NULL)
                                OR lane_id IN (SELECT lane_id FROM worker)
                                OR NOT EXISTS (SELECT 1 FROM worker)))),
holder AS (
    SELECT lane_id, event_id, op_id, start_ns, end_ns, dur_ns FROM row WHERE side = 'host'
    UNION ALL
    SELECT lane_id, event_id, NULL, start_ns, end_ns, dur_ns FROM every_span
     WHERE side = 'host' AND type = 'python_function'),
row_placed AS (
    SELECT lane_id, event_id, op_id, opens, row_number() OVER o AS place, sum(opens) OVER o AS depth
      FROM (SELECT *, 1 AS opens, start_ns AS time_ns FROM holder
            UNION ALL SELECT *, -1, end_ns FROM holder)
    WINDOW o AS (PARTITION BY lane_id ORDER BY time_ns,
                 CASE WHEN dur_ns = 0 THEN 2 ELSE opens = 1 END,
                 CASE WHEN dur_ns = 0 THEN event_id ELSE -opens * dur_ns END,
                 CASE WHEN dur_ns = 0 THEN -opens ELSE -opens * event_id END
                 ROWS UNBOUNDED PRECEDING)),
row_opened AS (
    SELECT *, lead(place) OVER (PARTITION BY lane_id, depth ORDER BY place) AS next_place
      FROM row_placed WHERE opens = 1),
row_held AS (
    SELECT *, lag(op_id) OVER o AS parent_op, lag(depth) OVER o AS parent_depth,
           lag(next_place) OVER o AS parent_next
      FROM row_opened WINDOW o AS (PARTITION BY lane_id ORDER BY place)),
twin AS MATERIALIZED (
    SELECT event_id FROM row_held h
     WHERE depth = parent_depth + 1 AND (next_place IS NULL OR next_place > parent_next)
       AND (op_id = parent_op OR (SELECT name FROM op o WHERE o.op_id = h.op_id)
                                 = (SELECT name FROM op o WHERE o.op_id = h.parent_op))),
part AS (
    SELECT op_id, side, count(*) AS calls, sum(dur_ns) AS total_ns FROM row
     WHERE event_id {is_chosen}
       AND event_id NOT IN (SELECT event_id FROM twin)
     GROUP BY op_id, side)
SELECT name, side, type = 'label' AS is_label{grouped}, sum(calls) AS calls,
       CASE side WHEN 'host' THEN sum(total_ns) END AS cpu_ns,
       CASE side WHEN 'host' THEN sum(total_ns) * 1.0 / sum(calls) END AS cpu_mean_ns,
       sum(computation_flop * calls) AS computation_flop
  FROM part JOIN op USING (op_id)
 GROUP BY name, side, type = 'label'{group_key}{having}
UNION ALL
SELECT '[memory]', 'host', 0{no_group}, count(*), 0, 0, NULL
  FROM (SELECT *, time_ns AS start_ns FROM memory_event) e JOIN lane l USING (lane_id)
 WHERE l.session_id IN ({sessions}) AND e.bytes IS NOT NULL{in_runs}{in_time}
   AND NOT EXISTS (SELECT 1 FROM every_span s WHERE s.op_id = e.op_id AND s.side = 'host'
                      AND e.time_ns BETWEEN s.start_ns AND s.end_ns
                      AND (s.lane_id = e.lane_id OR l.kind <> 'thread'))
   AND ({filtered} = 0 OR (SELECT count(*) FROM counted_span) = (SELECT count(*) FROM every_span))
HAVING count(*) > 0{zero_is_within} ORDER BY cpu_ns DESC
