-- SPDX-License-Identifier: Apache-2.0
-- Events by name in the tree of those around them, as Paddle shows them.
-- takes: 35
-- needs: every_span, launching, counted_span
-- What ops say of their spans: words and instances as numbers, in their order.
WITH said AS MATERIALIZED (
    SELECT op_id, sort, word, instance, '/' || printf('%05d', dense_rank() OVER (ORDER BY word)) AS step,
           CASE WHEN instance IS NULL THEN ''
                ELSE '#' || printf('%05d', dense_rank() OVER (ORDER BY instance)) END AS below
      FROM (SELECT *, CASE WHEN by_name THEN name ELSE type END AS word,
                   CASE WHEN {detail} = 2 AND sort NOT IN ('label', 'phase')
                        THEN CASE WHEN by_name THEN input_shapes ELSE name END END AS instance
              FROM (SELECT op_id, name, type, input_shapes,
                           CASE WHEN type IN ('label', 'phase') THEN type
                                WHEN type IN ('mark', 'counter') THEN 'mark'
                                WHEN type IN ('copy', 'memset', 'Copy') OR type GLOB 'GpuMemcpy*' THEN 'copy'
                                WHEN type IN ('cuda_runtime', 'cuda_driver', 'os_runtime', 'python_function') THEN 'call'
                                ELSE 'work' END AS sort,
                           type IN ('', 'cpu_op', 'kernel', 'label', 'phase', 'mark', 'counter', 'copy', 'memset',
                                    'cuda_runtime', 'cuda_driver', 'os_runtime', 'collective', 'python_function') AS by_name
                      FROM op WHERE +session_id IN ({sessions})))),
/* Spans of hosts in the order in which they began, outer ones first; behind those of a thread its end. */
turn AS MATERIALIZED (
    SELECT CAST(row_number() OVER o AS INTEGER) AS place, lane_id, event_id, op_id, end_ns, dur_ns, sort,
           has_row, CASE WHEN has_row THEN step ELSE '' END AS step,
           CASE WHEN has_row THEN below ELSE '' END AS below,
           CASE WHEN {per_thread} THEN '' || lane_id ELSE '' END AS root,
           event_id IS NOT NULL AND sort <> 'mark' AND lead(end_ns) OVER o <= end_ns AS holds
      FROM (SELECT s.lane_id, s.event_id, s.op_id, s.start_ns, s.end_ns, s.dur_ns, sort, step, below,
                   s.event_id {is_chosen}
                   AND CASE sort WHEN 'call' THEN {detail} = 2 WHEN 'phase' THEN {detail} > 0
                                 WHEN 'mark' THEN 0 ELSE 1 END AS has_row
              FROM every_span s JOIN said USING (op_id) WHERE side = 'host'
            UNION ALL SELECT lane_id, NULL, NULL, 1 << 62, 1 << 62, 0, '', '', '', 0 FROM lane
             WHERE session_id IN ({sessions}) AND kind = 'thread')
    WINDOW o AS (ORDER BY lane_id, start_ns, end_ns DESC, event_id DESC)),
/* Through all of them with those that are open and hold others: the innermost (open_ns its end, open_id, and open_path
 * what it lies in, with itself), and a list of those around it, "END ID:PATH;END ID:PATH;...". A step closes one that
 * ends before the next span does, and so cannot be around it, or has that span in the one that is open. */
walk(place, open_ns, open_id, open_path, open, parent_id, above, inner_ns) AS (
    SELECT 1, (1 << 62) + 1, 0, '', '', NULL, NULL, NULL
    UNION ALL
    SELECT w.place + (open_ns >= end_ns),
           CASE WHEN open_ns < end_ns THEN CAST(open AS INTEGER)
                WHEN holds THEN end_ns ELSE open_ns END,
           CASE WHEN open_ns < end_ns THEN CAST(substr(open, instr(open, ' ') + 1) AS INTEGER)
                WHEN holds THEN event_id ELSE open_id END,
           CASE WHEN open_ns < end_ns
                THEN substr(open, instr(open, ':') + 1, instr(open, ';') - instr(open, ':') - 1)
                WHEN holds THEN iif(open_id = 0, root, open_path) || step || t.below ELSE open_path END,
           CASE WHEN open_ns < end_ns THEN substr(open, instr(open, ';') + 1)
                WHEN holds THEN open_ns || ' ' || open_id || ':' || open_path || ';' || open ELSE open END,
           CASE WHEN open_ns >= end_ns THEN open_id END, iif(open_id = 0, root, open_path),
           iif(sort IN ('phase', 'mark'), 0, dur_ns)
      FROM walk w JOIN turn t ON t.place = w.place),
inner_time AS (
    SELECT CAST(parent_id AS INTEGER) AS outer_id, sum(inner_ns) AS inner_ns FROM walk
     WHERE parent_id > 0 GROUP BY parent_id),
host_work AS MATERIALIZED (
    SELECT t.*, w.parent_id, above, above || step || below AS path,
           max(0, dur_ns - coalesce(i.inner_ns, 0)) AS self_ns
      FROM (SELECT CAST(place - 1 AS INTEGER) AS place, CAST(nullif(parent_id, 0) AS INTEGER) AS parent_id,
                   above FROM walk WHERE parent_id IS NOT NULL) w
      JOIN turn t USING (place) LEFT JOIN inner_time i ON i.outer_id = t.event_id
     WHERE t.event_id IS NOT NULL),
device_work AS MATERIALIZED (
    SELECT d.event_id, d.session_id, d.op_id, d.start_ns, d.end_ns, d.dur_ns, d.step,
           h.event_id AS launch_id, coalesce(d.device, d.lane_id) AS place,
           CASE WHEN h.path <> h.root THEN h.path END AS outer_path, d.root,
           CASE WHEN h.path <> h.root THEN h.root ELSE d.root END AS row_root,
           h.path IS NULL OR h.path = h.root OR (d.op_id <> h.op_id AND d.has_row) AS is_own
      FROM (SELECT s.*, step, CASE WHEN {per_thread} THEN '' || lane_id ELSE '' END AS root,
                   CASE sort WHEN 'copy' THEN 1 WHEN 'call' THEN {detail} = 2 ELSE {detail} > 0 END AS has_row
              FROM every_span s JOIN said USING (op_id)
             WHERE side = 'device' AND sort NOT IN ('label', 'phase', 'mark')
               AND event_id {is_chosen}) d
      LEFT JOIN launching l ON l.session_id = d.session_id AND l.run IS d.run
           AND l.correlation = d.correlation LEFT JOIN host_work h ON h.event_id = l.event_id),
launched(event_id, dur_ns) AS (
    SELECT launch_id, sum(dur_ns) FROM device_work WHERE launch_id IS NOT NULL GROUP BY launch_id
    UNION ALL
    SELECT n.parent_id, l.dur_ns FROM launched l JOIN host_work n USING (event_id)
     WHERE n.parent_id IS NOT NULL),
device_time AS (
    SELECT CAST(event_id AS INTEGER) AS event_id, sum(dur_ns) AS device_ns FROM launched GROUP BY event_id),
host_part AS MATERIALIZED (
    SELECT h.place, op_id, sort, root, end_ns, dur_ns, self_ns, coalesce(d.device_ns, 0) AS device_ns,
           i AS is_instance, CASE i WHEN 0 THEN above || step ELSE path END AS row_path,
           CASE i WHEN 0 THEN above ELSE above || step END AS parent
      FROM host_work h JOIN (SELECT 0 AS i UNION ALL SELECT 1) ON i = 0 OR below <> ''
      LEFT JOIN device_time d USING (event_id) WHERE has_row),
device_part AS MATERIALIZED (
    SELECT *, coalesce(outer_path, root) AS above, CASE WHEN is_own
                  THEN coalesce(outer_path, root) || step ELSE outer_path END AS row_path
      FROM device_work),
line AS MATERIALIZED (
    SELECT row_path, parent, op_id, kind, root, min(turn) /* those of the first */
      FROM (SELECT row_path, parent, op_id,
                   CASE WHEN is_instance THEN 1 WHEN sort = 'label' THEN 2
                        WHEN sort = 'phase' THEN 3 ELSE 0 END AS kind, root, place AS turn
              FROM host_part
            UNION ALL SELECT row_path, above, op_id, 4, row_root, 1 << 40 FROM device_part
             WHERE is_own) GROUP BY row_path),
within(path, row_path, depth) AS (
    SELECT row_path, row_path, 0 FROM line
    UNION ALL
    SELECT w.path, l.parent, w.depth + 1 FROM within w JOIN line l USING (row_path)
     WHERE l.parent <> l.root),
overlaid AS (
    SELECT w.row_path, start_ns, end_ns, max(end_ns) OVER (
               PARTITION BY w.row_path, d.session_id, place ORDER BY start_ns, event_id
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
      FROM device_part d JOIN within w ON w.path = d.row_path),
busy AS (
    SELECT row_path, sum(max(0, end_ns - max(start_ns, coalesce(before_ns, start_ns))))
           AS device_ns FROM overlaid GROUP BY row_path),
own_device AS (
    SELECT row_path, count(*) AS calls, sum(dur_ns) AS total_ns, min(dur_ns) AS min_ns,
           max(dur_ns) AS max_ns, min(end_ns) AS first_end_ns
      FROM device_part WHERE is_own GROUP BY row_path),
own_host_time AS (
    SELECT row_path, count(*) AS calls, sum(dur_ns) AS host_ns, sum(self_ns) AS self_ns,
           min(dur_ns) AS host_min_ns, max(dur_ns) AS host_max_ns, sum(device_ns) AS launched_ns,
           min(device_ns) AS launched_min_ns, max(device_ns) AS launched_max_ns,
           min(dur_ns + device_ns) AS both_min_ns, max(dur_ns + device_ns) AS both_max_ns,
           min(end_ns) AS first_end_ns FROM host_part GROUP BY row_path),
summed AS (
    SELECT l.*, h.*, b.device_ns, d.calls AS own_calls, d.total_ns AS own_total_ns,
           d.min_ns AS own_min_ns, d.max_ns AS own_max_ns, d.first_end_ns AS own_end_ns,
           CASE WHEN {state} <> 'auto' THEN {state}
                WHEN coalesce(sum(b.device_ns) FILTER (WHERE l.parent = l.root) OVER (), 0)
                     > coalesce(sum(h.host_ns) FILTER (WHERE l.parent = l.root) OVER (), 0)
                THEN 'gpu' ELSE 'cpu' END AS state
      FROM (SELECT line.*, max(depth) AS depth FROM line JOIN within w ON w.path = line.row_path
             GROUP BY line.row_path) l
      LEFT JOIN own_host_time h USING (row_path) LEFT JOIN own_device d USING (row_path)
      LEFT JOIN busy b USING (row_path)),
valued AS (
    SELECT *, calls IS NULL AS on_device,
           CASE state WHEN 'cpu' THEN host_ns WHEN 'gpu' THEN launched_ns
                      ELSE host_ns + launched_ns END AS value_ns,
           CASE state WHEN 'cpu' THEN host_min_ns WHEN 'gpu' THEN launched_min_ns
                      ELSE both_min_ns END AS value_min_ns,
           CASE state WHEN 'cpu' THEN host_max_ns WHEN 'gpu' THEN launched_max_ns
                      ELSE both_max_ns END AS value_max_ns FROM summed),
told AS (
    SELECT *, coalesce(value_ns, 0) + CASE WHEN on_device OR state <> 'cpu'
                                           THEN coalesce(own_total_ns, 0) ELSE 0 END AS total_ns,
           on_device OR (state <> 'cpu' AND value_ns = 0 AND own_calls > 0) AS has_own_range
      FROM valued),
whole AS (
    SELECT *, sum(CASE WHEN on_device AND state = 'cpu' THEN 0 ELSE total_ns END)
                  FILTER (WHERE parent = root) OVER main AS main_ns,
           sum(host_ns) FILTER (WHERE parent = root) OVER main AS main_host_ns,
           sum(device_ns) FILTER (WHERE parent = root) OVER main AS main_device_ns
      FROM told WINDOW main AS (PARTITION BY root))
SELECT iif(kind = 1, o.instance, o.word) AS event, CASE kind WHEN 0 THEN 'op' WHEN 1 THEN 'instance' WHEN 2 THEN 'label'
                   WHEN 3 THEN 'phase' ELSE 'device' END AS kind, depth,
       CASE WHEN {per_thread} THEN (SELECT coalesce(l.name, l.kind || ' ' || coalesce(native_id, 0))
                                      FROM lane l WHERE '' || lane_id = root) END AS thread,
       coalesce(calls, own_calls) AS calls, total_ns, host_ns,
       host_ns * 1.0 / CASE state WHEN 'all' THEN total_ns ELSE main_host_ns END AS host_share,
       device_ns, device_ns * 1.0 / CASE state WHEN 'all' THEN total_ns ELSE main_device_ns END
       AS device_share, CASE WHEN has_own_range THEN own_min_ns ELSE value_min_ns END AS min_ns,
       CASE WHEN has_own_range THEN own_max_ns ELSE value_max_ns END AS max_ns,
       total_ns * 1.0 / coalesce(calls, own_calls) AS mean_ns, self_ns,
       total_ns * 1.0 / CASE WHEN on_device AND state = 'cpu' THEN main_device_ns
                             ELSE main_ns END AS share,
       min(coalesce(first_end_ns, own_end_ns), coalesce(own_end_ns, first_end_ns)) AS first_end_ns
  FROM whole JOIN said o USING (op_id) ORDER BY row_path
