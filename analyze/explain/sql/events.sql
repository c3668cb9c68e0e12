-- SPDX-License-Identifier: Apache-2.0
-- Events by name in the tree of those around them, as Paddle shows them.
-- takes: 50
-- needs: every_span, launching, counted_span
-- Spans of hosts in the order in which they began, outer ones first; behind those of a thread its end.
WITH turn AS MATERIALIZED (
    SELECT CAST(row_number() OVER (ORDER BY lane_id, start_ns, end_ns DESC, event_id DESC)
                AS INTEGER) AS place, event_id, end_ns, holds
      FROM (SELECT lane_id, event_id, start_ns, end_ns, type NOT IN ('mark', 'counter') AS holds
              FROM every_span WHERE side = 'host'
            UNION ALL SELECT DISTINCT lane_id, NULL, 1 << 62, 1 << 62, 0 FROM every_span
             WHERE side = 'host')),
/* Through all of them with a list of those that are open, the innermost first, each with its end:
 * "END ID;END ID;...". A step closes one that ends before the next span does, and so cannot be
 * around it, or puts that span into the one that is first in the list. */
walk(place, open, event_id, parent_id) AS (
    SELECT 1, ((1 << 62) + 1) || ' 0;', NULL, NULL
    UNION ALL
    SELECT w.place + (CAST(open AS INTEGER) >= end_ns),
           CASE WHEN CAST(open AS INTEGER) < end_ns THEN substr(open, instr(open, ';') + 1)
                WHEN holds THEN end_ns || ' ' || t.event_id || ';' || open ELSE open END,
           CASE WHEN CAST(open AS INTEGER) >= end_ns THEN t.event_id END,
           CAST(substr(open, instr(open, ' ') + 1) AS INTEGER)
      FROM walk w JOIN turn t ON t.place = w.place),
inside AS MATERIALIZED (
    SELECT CAST(event_id AS INTEGER) AS event_id,
           CAST(nullif(parent_id, 0) AS INTEGER) AS parent_id
      FROM walk WHERE event_id IS NOT NULL),
sorted AS (
    SELECT s.*, CASE WHEN type IN ('label', 'phase') THEN type
                     WHEN type IN ('mark', 'counter') THEN 'mark'
                     WHEN type IN ('copy', 'memset', 'Copy') OR type GLOB 'GpuMemcpy*' THEN 'copy'
                     WHEN type IN ('cuda_runtime', 'cuda_driver', 'os_runtime', 'python_function') THEN 'call'
                     ELSE 'work' END AS sort,
           type IN ('', 'cpu_op', 'kernel', 'label', 'phase', 'mark', 'counter', 'copy', 'memset',
                    'cuda_runtime', 'cuda_driver', 'os_runtime', 'collective', 'python_function') AS by_name,
           event_id IN (SELECT event_id FROM counted_span) AS is_shown FROM every_span s),
span AS MATERIALIZED (
    SELECT s.*, i.parent_id, CASE WHEN by_name THEN name ELSE type END AS word,
           is_shown AND CASE sort WHEN 'copy' THEN 1 WHEN 'call' THEN {detail} = 2
                WHEN 'label' THEN side = 'host' WHEN 'phase' THEN side = 'host' AND {detail} > 0
                WHEN 'work' THEN side = 'host' OR {detail} > 0 ELSE 0 END AS has_row,
           CASE WHEN {detail} = 2 AND side = 'host' AND sort NOT IN ('label', 'phase')
                THEN CASE WHEN by_name THEN input_shapes ELSE name END END AS instance
      FROM sorted s LEFT JOIN inside i USING (event_id)),
named AS MATERIALIZED (
    SELECT *, CASE WHEN has_row THEN '/' || json_quote(word) ELSE '' END AS step,
           CASE WHEN has_row AND instance IS NOT NULL THEN '#' || json_quote(instance) ELSE '' END
           AS below, CASE WHEN {per_thread} THEN '' || lane_id ELSE '' END AS root FROM span),
located(event_id, above, path) AS (
    SELECT event_id, root, root || step || below FROM named
     WHERE side = 'host' AND parent_id IS NULL
    UNION ALL
    SELECT n.event_id, l.path, l.path || n.step || n.below
      FROM located l JOIN named n ON n.parent_id = l.event_id),
inner_time AS MATERIALIZED (
    SELECT CAST(parent_id AS INTEGER) AS outer_id, sum(dur_ns) AS inner_ns FROM named
     WHERE sort NOT IN ('phase', 'mark') AND parent_id IS NOT NULL GROUP BY parent_id),
host_work AS MATERIALIZED (
    SELECT n.*, l.above, l.path, max(0, dur_ns - coalesce(i.inner_ns, 0)) AS self_ns
      FROM named n JOIN located l USING (event_id)
      LEFT JOIN inner_time i ON i.outer_id = n.event_id),
device_work AS MATERIALIZED (
    SELECT d.*, h.event_id AS launch_id, coalesce(d.device, d.lane_id) AS place,
           CASE WHEN h.path <> h.root THEN h.path END AS outer_path,
           CASE WHEN h.path <> h.root THEN h.root ELSE d.root END AS row_root,
           h.path IS NULL OR h.path = h.root OR (d.op_id <> h.op_id AND d.has_row) AS is_own
      FROM named d LEFT JOIN launching l ON l.session_id = d.session_id AND l.run IS d.run
           AND l.correlation = d.correlation LEFT JOIN host_work h ON h.event_id = l.event_id
     WHERE d.side = 'device' AND d.is_shown AND d.sort NOT IN ('label', 'phase', 'mark')),
launched(event_id, dur_ns) AS (
    SELECT launch_id, dur_ns FROM device_work WHERE launch_id IS NOT NULL
    UNION ALL
    SELECT n.parent_id, l.dur_ns FROM launched l JOIN named n USING (event_id)
     WHERE n.parent_id IS NOT NULL),
device_time AS (SELECT event_id, sum(dur_ns) AS device_ns FROM launched GROUP BY event_id),
host_part AS MATERIALIZED (
    SELECT h.*, coalesce(d.device_ns, 0) AS device_ns, i AS is_instance,
           CASE i WHEN 0 THEN above || step ELSE path END AS row_path
      FROM host_work h JOIN (SELECT 0 AS i UNION ALL SELECT 1) ON i = 0 OR below <> ''
      LEFT JOIN device_time d USING (event_id) WHERE has_row),
device_part AS MATERIALIZED (
    SELECT *, coalesce(outer_path, root) AS above, CASE WHEN is_own
                  THEN coalesce(outer_path, root) || '/' || json_quote(word)
                  ELSE outer_path END AS row_path FROM device_work),
line AS MATERIALIZED (
    SELECT row_path, parent, event, kind, root, min(turn) /* those of the first */
      FROM (SELECT row_path, CASE is_instance WHEN 1 THEN above || step ELSE above END AS parent,
                   CASE is_instance WHEN 1 THEN instance ELSE word END AS event,
                   CASE WHEN is_instance THEN 1 WHEN sort = 'label' THEN 2
                        WHEN sort = 'phase' THEN 3 ELSE 0 END AS kind, root,
                   row_number() OVER (ORDER BY lane_id, start_ns, end_ns DESC, event_id DESC)
                   AS turn
              FROM host_part
            UNION ALL SELECT row_path, above, word, 4, row_root, 1 << 40 FROM device_part
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
SELECT event, CASE kind WHEN 0 THEN 'op' WHEN 1 THEN 'instance' WHEN 2 THEN 'label'
                   WHEN 3 THEN 'phase' ELSE 'device' END AS kind, depth,
       CASE WHEN {per_thread} THEN (SELECT coalesce(name, kind || ' ' || coalesce(native_id, 0))
                                      FROM lane WHERE '' || lane_id = root) END AS thread,
       coalesce(calls, own_calls) AS calls, total_ns, host_ns,
       host_ns * 1.0 / CASE state WHEN 'all' THEN total_ns ELSE main_host_ns END AS host_share,
       device_ns, device_ns * 1.0 / CASE state WHEN 'all' THEN total_ns ELSE main_device_ns END
       AS device_share, CASE WHEN has_own_range THEN own_min_ns ELSE value_min_ns END AS min_ns,
       CASE WHEN has_own_range THEN own_max_ns ELSE value_max_ns END AS max_ns,
       total_ns * 1.0 / coalesce(calls, own_calls) AS mean_ns, self_ns,
       total_ns * 1.0 / CASE WHEN on_device AND state = 'cpu' THEN main_device_ns
                             ELSE main_ns END AS share,
       min(coalesce(first_end_ns, own_end_ns), coalesce(own_end_ns, first_end_ns)) AS first_end_ns
  FROM whole ORDER BY row_path
