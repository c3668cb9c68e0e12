-- SPDX-License-Identifier: Apache-2.0
-- Each rule with what it measures, and whether it holds where SQL can tell.
-- takes: 30
-- needs: counted_run, every_span, launching, counted_span, self_time
-- What ops say of their spans.
WITH kind AS MATERIALIZED (
    SELECT op_id, name, type, computation_flop, memory_bytes,
           CASE WHEN type IN ('label', 'phase') THEN type
                WHEN type IN ('mark', 'counter') THEN 'mark'
                WHEN type IN ('copy', 'memset', 'Copy') OR type GLOB 'GpuMemcpy*' THEN 'copy'
                WHEN type IN ('cuda_runtime', 'cuda_driver', 'os_runtime') THEN 'call'
                ELSE 'work' END AS sort, lower(type) = 'copy' AS is_copy,
           lower(type) NOT IN ('copy', 'memset')
           AND lower(substr(name, 1, 4)) NOT IN ('nccl', 'rccl', 'hccl', 'xccl') AS computes,
           type = 'phase' AND (name = 'compute' OR name GLOB '*[ /:]compute') AS is_compute,
           CASE WHEN name || ' ' || type GLOB '*DtoD*' OR name || ' ' || type GLOB '*PtoP*'
                     OR name || ' ' || type GLOB '*GPU->GPU*' THEN 0
                WHEN name || ' ' || type GLOB '*Async*' THEN name GLOB '*Pageable*'
                WHEN name || ' ' || type GLOB '*Sync*' THEN 1 END AS blocks,
           name GLOB '*Pageable*' AS is_pageable,
           type NOT IN ('', 'cpu_op', 'kernel', 'copy', 'memset', 'cuda_runtime', 'cuda_driver',
                        'os_runtime', 'collective') AS has_type,
           type NOT IN ('copy', 'memset', 'Copy') AND type NOT GLOB 'GpuMemcpy*' AS is_work,
           type IN ('Reorder', 'Transpose', 'ReorderInput', 'ReorderOutput')
           OR name GLOB '*nchwToNhwc*' OR name GLOB '*nhwcToNchw*' AS is_layout,
           (type GLOB '*_runtime' AND type <> 'os_runtime') OR type GLOB '*_driver' AS is_call
      FROM op WHERE +session_id IN ({sessions})),
flat AS (SELECT session_id FROM session WHERE source = 'megengine'),
host_span AS MATERIALIZED (
    SELECT event_id, session_id, lane_id, sort, is_compute, start_ns, end_ns, kern_ns,
           event_id {is_chosen} AS is_shown
      FROM every_span JOIN kind USING (op_id) WHERE side = 'host'),
device_span AS MATERIALIZED (
    SELECT s.event_id, s.session_id, s.lane_id, coalesce(device, 'queue') AS device, sort, is_copy,
           computes, s.start_ns, s.end_ns, s.dur_ns, s.kern_ns, s.bytes, l.event_id AS launch_id,
           l.start_ns AS launch_from_ns, l.end_ns AS launch_until_ns,
           s.event_id {is_chosen} AS is_shown,
           CASE WHEN blocks IS NOT NULL OR NOT is_copy THEN blocks
                WHEN l.name GLOB '*emcpy*' OR l.name GLOB '*emset*'
                THEN l.name NOT GLOB '*Async*' OR is_pageable ELSE 0 END AS blocks_host
      FROM every_span s JOIN kind USING (op_id)
      LEFT JOIN launching l ON l.session_id = s.session_id
           AND l.run IS s.run AND l.correlation = s.correlation
     WHERE side = 'device'),
device_work AS MATERIALIZED (
    SELECT session_id FROM device_span WHERE sort = 'work' AND is_shown GROUP BY session_id),
/* Those that hold others. Where devices do not work, threads compute in others. */
outer_span AS (
    SELECT event_id FROM (
           SELECT event_id, lead(end_ns) OVER (PARTITION BY lane_id, sort IN ('label', 'mark')
                      ORDER BY start_ns, end_ns DESC, event_id DESC) <= end_ns AS holds FROM host_span)
     WHERE holds),
bounds AS MATERIALIZED (
    SELECT session_id, start_ns AS from_ns, end_ns AS until_ns
      FROM (SELECT * FROM counted_run{runs_in_time}) WHERE end_ns IS NOT NULL AND {per_run}
    UNION ALL
    SELECT session_id, min(start_ns), max(end_ns) FROM (
           SELECT session_id, start_ns, end_ns FROM host_span WHERE sort <> 'mark'
           UNION ALL SELECT session_id, start_ns, end_ns FROM device_span WHERE sort <> 'mark')
     WHERE NOT {per_run} OR session_id IN flat GROUP BY session_id),
/* What went on when: starts and ends in order, and how many of each kind are open between two. A span
 * on a thread in another one says nothing more, but where it computes or copies. */
happened AS (
    SELECT session_id, 'all' AS area, start_ns, end_ns, 0 AS wall, 1 AS recorded,
           sort = 'copy' AS copying, 0 AS gap, computing, coalesce(kern_ns, 0) AS kern_ns
      FROM (SELECT *, max(end_ns) OVER (PARTITION BY lane_id
                          ORDER BY start_ns, end_ns DESC, event_id DESC
                          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS inside_until_ns,
                   CASE WHEN sort = 'phase' THEN is_compute WHEN sort <> 'work'
                             OR session_id IN (SELECT session_id FROM device_work) THEN 0
                        ELSE event_id NOT IN (SELECT event_id FROM outer_span) END AS computing
              FROM host_span WHERE is_shown AND sort NOT IN ('label', 'mark')
               AND NOT (session_id IN flat AND session_id IN (SELECT session_id FROM device_work)))
     WHERE computing OR sort = 'copy' OR end_ns > coalesce(inside_until_ns, end_ns - 1)
    UNION ALL
    SELECT session_id, 'all', start_ns, end_ns, 0, 1, sort = 'copy', 0, sort = 'work',
           coalesce(kern_ns, 0)
      FROM device_span WHERE is_shown AND sort NOT IN ('label', 'mark', 'phase')
    UNION ALL SELECT session_id, 'all', from_ns, until_ns, 1, 0, 0, 0, 0, 0 FROM bounds
    UNION ALL
    SELECT session_id, device, start_ns, end_ns, 0, 1, 0, 0, 0, 0 FROM device_span
     WHERE sort IN ('work', 'copy', 'call')
    UNION ALL
    SELECT b.session_id, d.device, from_ns, until_ns, 1, 0, 0, 0, 0, 0 FROM bounds b
      JOIN (SELECT DISTINCT session_id, device FROM device_span) d USING (session_id)
    UNION ALL /* gaps of a stream whose next work was launched later */
    SELECT session_id, device, idle_from_ns, start_ns, 0, 0, 0, 1, 0, 0
      FROM (SELECT *, max(end_ns) OVER (PARTITION BY lane_id
                          ORDER BY start_ns, end_ns DESC, event_id DESC
                          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS idle_from_ns
              FROM device_span WHERE sort IN ('work', 'copy', 'call'))
     WHERE lane_id IN (SELECT lane_id FROM device_span
                        WHERE is_shown AND sort IN ('work', 'copy', 'call'))
       AND session_id NOT IN flat AND start_ns > idle_from_ns AND launch_from_ns > idle_from_ns
    UNION ALL /* each for itself */
    SELECT 0, 'blocking', start_ns, end_ns, 0, 1, 0, 0, 0, 0 FROM device_span
     WHERE is_shown AND is_copy AND blocks_host
    UNION ALL
    SELECT 0, 'small', start_ns, end_ns, 0, 1, 0, 0, 0, 0 FROM device_span
     WHERE is_shown AND is_copy AND bytes < 65536
    UNION ALL
    SELECT 0, 'launching', launch_from_ns, launch_until_ns, 0, 1, 0, 0, 0, 0 FROM device_span
     WHERE launch_id IS NOT NULL AND is_shown AND computes),
moment AS (
    SELECT session_id, area, CASE WHEN opens = 1 THEN start_ns WHEN computes = 1 THEN start_ns + kern_ns
                                  ELSE end_ns END AS time_ns,
           wall * opens AS wall, recorded * opens AS recorded, copying * opens AS copying,
           gap * opens AS gap, computes AS computing
      FROM happened JOIN (SELECT 1 AS opens, 0 AS computes UNION ALL SELECT -1, 0
                          UNION ALL SELECT 0, 1 UNION ALL SELECT 0, -1)
        ON computes = 0 OR computing),
state AS (
    SELECT session_id, area, lead(time_ns) OVER o - time_ns AS ns, sum(wall) OVER o AS wall,
           sum(recorded) OVER o AS recorded, sum(copying) OVER o AS copying,
           sum(gap) OVER o AS gap, sum(computing) OVER o AS computing FROM moment
    WINDOW o AS (PARTITION BY session_id, area ORDER BY time_ns ROWS UNBOUNDED PRECEDING)),
measured AS MATERIALIZED (
    SELECT session_id, area, coalesce(sum(ns) FILTER (WHERE wall > 0), 0) AS wall_ns,
           coalesce(sum(ns) FILTER (WHERE wall > 0 AND recorded > 0), 0) AS recorded_ns,
           coalesce(sum(ns) FILTER (WHERE wall > 0 AND copying > 0 AND computing = 0), 0)
           AS copying_ns,
           coalesce(sum(ns) FILTER (WHERE wall > 0 AND gap > 0 AND recorded = 0), 0) AS idle_ns,
           coalesce(sum(ns) FILTER (WHERE recorded > 0), 0) AS union_ns
      FROM state GROUP BY session_id, area),
whole AS MATERIALIZED (
    SELECT sum(wall_ns) FILTER (WHERE area = 'all') AS wall_ns,
           sum(recorded_ns) FILTER (WHERE area = 'all') AS recorded_ns,
           sum(copying_ns) FILTER (WHERE area = 'all') AS copying_ns,
           max(idle_ns) FILTER (WHERE area NOT IN ('all', 'blocking', 'small', 'launching'))
           AS idle_ns, coalesce(sum(union_ns) FILTER (WHERE area = 'blocking'), 0) AS blocking_ns,
           coalesce(sum(union_ns) FILTER (WHERE area = 'small'), 0) AS small_ns,
           coalesce(sum(union_ns) FILTER (WHERE area = 'launching'), 0) AS launch_ns
      FROM measured),
launch AS (
    SELECT avg(call_ns) FILTER (WHERE by_call IN ((n + 1) / 2, (n + 2) / 2)) AS call_ns,
           avg(work_ns) FILTER (WHERE by_work IN ((n + 1) / 2, (n + 2) / 2)) AS work_ns,
           count(*) AS launches FROM (
           SELECT *, row_number() OVER (ORDER BY call_ns) AS by_call,
                  row_number() OVER (ORDER BY work_ns) AS by_work, count(*) OVER () AS n FROM (
                  SELECT max(launch_until_ns - launch_from_ns) AS call_ns, sum(dur_ns) AS work_ns
                    FROM device_span WHERE launch_id IS NOT NULL AND is_shown AND computes
                   GROUP BY launch_id HAVING sum(dur_ns) > 0))),
/* Ops on devices, where any computes there. */
own AS MATERIALIZED (
    SELECT op_id, count(*) AS calls, sum(own_ns) AS own_ns, sum(own_ns < 5000) AS tiny,
           sum(CASE WHEN own_ns < 5000 THEN own_ns ELSE 0 END) AS tiny_ns
      FROM (SELECT op_id, own_ns FROM self_time
             WHERE type NOT IN ('label', 'cuda_runtime', 'cuda_driver', 'os_runtime', 'python_function')
               AND side = iif((SELECT count(*) FROM device_work) > 0, 'device', 'host'))
     GROUP BY op_id),
op_sums AS (
    SELECT sum(own_ns) AS own_ns,
           coalesce(sum(own_ns) FILTER (WHERE is_layout), 0) AS layout_ns,
           coalesce(sum(calls) FILTER (WHERE is_work AND NOT is_call), 0) AS calls,
           coalesce(sum(tiny) FILTER (WHERE is_work AND NOT is_call), 0) AS tiny,
           coalesce(sum(tiny_ns) FILTER (WHERE is_work AND NOT is_call), 0) AS tiny_ns,
           count(DISTINCT type) FILTER (WHERE has_type) AS types,
           sum(computation_flop * calls) AS flop, sum(memory_bytes * calls) AS bytes
      FROM own JOIN kind USING (op_id)),
op_tops AS (
    SELECT (SELECT max(ns) FROM (SELECT sum(own_ns) AS ns FROM own JOIN kind USING (op_id)
                                  WHERE is_work GROUP BY name)) AS op_ns,
           (SELECT max(ns) FROM (SELECT sum(own_ns) AS ns FROM own JOIN kind USING (op_id)
                                  WHERE has_type AND type <> 'span' GROUP BY type)) AS type_ns),
/* Runs in their order; a slow first one is told of once. */
ran AS (
    SELECT session_id, run, end_ns - start_ns AS ns,
           row_number() OVER (PARTITION BY session_id ORDER BY run) AS nth,
           count(*) OVER (PARTITION BY session_id) AS n
      FROM (SELECT * FROM counted_run{runs_in_time}) WHERE end_ns IS NOT NULL),
later AS (
    SELECT session_id, avg(ns) FILTER (WHERE place IN (n / 2, (n + 1) / 2)) AS median_ns
      FROM (SELECT *, row_number() OVER (PARTITION BY session_id ORDER BY ns) AS place FROM ran
             WHERE nth > 1) WHERE n > 3 GROUP BY session_id),
first_run AS (
    SELECT r.session_id, r.ns AS first_ns, median_ns, n - 1 AS later_runs
      FROM ran r JOIN later USING (session_id)
     WHERE nth = 1 AND run = 1 AND ns >= 1.5 * median_ns),
steady AS (
    SELECT session_id, ns, row_number() OVER (PARTITION BY session_id ORDER BY run) AS nth,
           row_number() OVER (PARTITION BY session_id ORDER BY ns) AS place,
           count(*) OVER (PARTITION BY session_id) AS n, avg(ns) OVER (PARTITION BY session_id)
           AS mean_ns FROM ran
     WHERE nth > 1 OR session_id NOT IN (SELECT session_id FROM first_run)),
halves AS (
    SELECT *, row_number() OVER (PARTITION BY session_id, nth <= n / 2 ORDER BY ns) AS half_place,
           row_number() OVER (PARTITION BY session_id, nth > n - n / 2 ORDER BY ns) AS end_place,
           n / 2 AS early_n, n - n / 2 AS late_n FROM steady),
middle AS (
    SELECT session_id, n, mean_ns, sum((ns - mean_ns) * (ns - mean_ns)) / (n - 1) AS variance,
           avg(ns) FILTER (WHERE place IN ((n + 1) / 2, (n + 2) / 2)) AS median_ns,
           avg(ns) FILTER (WHERE nth <= n / 2 AND half_place IN ((early_n + 1) / 2,
                                                                 (early_n + 2) / 2)) AS early_ns,
           avg(ns) FILTER (WHERE nth > n / 2 AND half_place IN ((late_n + 1) / 2,
                                                                (late_n + 2) / 2)) AS late_ns,
           avg(ns) FILTER (WHERE nth > n - n / 2 AND end_place IN ((early_n + 1) / 2,
                                                                   (early_n + 2) / 2)) AS last_ns
      FROM halves GROUP BY session_id HAVING n > 1),
varied AS (
    SELECT *, sqrt(variance) / mean_ns AS variation,
           (SELECT sum(max(0, ns - median_ns)) FROM steady s WHERE s.session_id = m.session_id)
           AS excess_ns,
           (SELECT sum(max(0, ns - min(early_ns, late_ns))) FROM steady s
             WHERE s.session_id = m.session_id) AS drift_ns
      FROM middle m ORDER BY variance / (mean_ns * mean_ns) DESC LIMIT 1),
/* Bytes alive at the ends of all runs, whatever time is asked for, the slopes of all pairs of
 * them, and their lower bound. */
moved AS (
    SELECT l.session_id, coalesce(l.device, 'host') AS device, m.bytes, m.time_ns, m.rowid AS id,
           coalesce(m.address, 'size ' || abs(m.bytes)) AS place
      FROM memory_event m JOIN lane l USING (lane_id) WHERE l.session_id IN ({sessions})),
changed AS MATERIALIZED (
    SELECT session_id, device, time_ns, CASE WHEN bytes > 0 THEN bytes
                WHEN before > 0 THEN -before ELSE coalesce(bytes, 0) END AS bytes
      FROM (SELECT *, lag(bytes) OVER (PARTITION BY session_id, device, place
                                       ORDER BY time_ns, id) AS before FROM moved)),
alive AS MATERIALIZED (
    SELECT r.session_id, device, r.nth AS x, sum(bytes) FILTER (WHERE time_ns <= end_ns) AS bytes
      FROM (SELECT session_id, end_ns, row_number() OVER (PARTITION BY session_id ORDER BY run)
                   AS nth, count(*) OVER (PARTITION BY session_id) AS n
              FROM counted_run
             WHERE end_ns IS NOT NULL) r JOIN changed USING (session_id)
     WHERE (nth - 1) % ((n + 499) / 500) = 0 GROUP BY r.session_id, device, r.nth),
slope AS (
    SELECT a.session_id, a.device, (b.bytes - a.bytes) * 1.0 / (b.x - a.x) AS slope
      FROM alive a JOIN alive b USING (session_id, device) WHERE b.x > a.x),
growth AS (
    SELECT avg(slope) FILTER (WHERE place IN ((pairs + 1) / 2, (pairs + 2) / 2)) AS slope,
           max(slope) FILTER (WHERE place = 1 + CAST(max(0, floor(
               pairs / 2.0 - 1 - 0.979982 * sqrt(n * (n - 1) * (2 * n + 5) / 18.0))) AS INTEGER))
           AS low FROM (
           SELECT *, row_number() OVER (PARTITION BY session_id, device ORDER BY slope) AS place,
                  count(*) OVER (PARTITION BY session_id, device) AS pairs,
                  (1 + sqrt(1 + 8 * count(*) OVER (PARTITION BY session_id, device))) / 2 AS n
             FROM slope) GROUP BY session_id, device HAVING max(n) > 7.5 AND low > 0
     ORDER BY 1 DESC LIMIT 1),
fact(rule, ns, holds, numbers) AS (
    SELECT 'copies-block', blocking_ns, count(*) > 0 AND blocking_ns >= 0.01 * wall_ns,
           json_object('copies', count(*)) FROM device_span, whole
     WHERE is_shown AND is_copy AND blocks_host
    UNION ALL SELECT 'copies-dominate', copying_ns, copying_ns > 0.1 * wall_ns, NULL FROM whole
    UNION ALL
    SELECT 'copies-small', small_ns, sum(bytes < 65536) >= 100
           AND sum(bytes < 65536) * 2 > count(bytes),
           json_object('small', sum(bytes < 65536), 'copies', count(bytes)) FROM device_span, whole
     WHERE is_shown AND is_copy
    UNION ALL SELECT 'device-idle', idle_ns, idle_ns > 0.1 * wall_ns, NULL FROM whole
    UNION ALL
    SELECT 'launch-bound', launch_ns, launches >= 20 AND work_ns < call_ns,
           json_object('launches', launches, 'call_p50_ns', call_ns, 'work_p50_ns', work_ns)
      FROM launch, whole
    UNION ALL
    SELECT 'one-dominates', CASE WHEN op_ns > 0.5 * own_ns THEN op_ns ELSE type_ns END,
           op_ns > 0.5 * own_ns OR (types > 1 AND type_ns > 0.5 * own_ns),
           json_object('op_ns', op_ns, 'type_ns', type_ns, 'own_ns', own_ns)
      FROM op_sums, op_tops
    UNION ALL SELECT 'below-roof', NULL, NULL, json_object('flop', flop, 'bytes', bytes,
                                                           'own_ns', own_ns) FROM op_sums
    UNION ALL SELECT 'layout-changes', layout_ns, layout_ns > 0.1 * own_ns,
                     json_object('own_ns', own_ns) FROM op_sums
    UNION ALL SELECT 'tiny-ops', tiny_ns, calls >= 100 AND tiny * 2 > calls,
                     json_object('calls', calls, 'tiny', tiny) FROM op_sums
    UNION ALL SELECT 'warm-up', first_ns - median_ns, later_runs >= 3,
                     json_object('first_ns', first_ns, 'later_p50_ns', median_ns)
                FROM (SELECT * FROM first_run ORDER BY first_ns - median_ns DESC LIMIT 1)
    UNION ALL SELECT 'runs-vary', excess_ns, n >= 5 AND variation > 0.1,
                     json_object('runs', n, 'variation', variation) FROM varied
    UNION ALL SELECT 'runs-drift', drift_ns, CASE WHEN n < 8 OR abs(last_ns / early_ns - 1) <= 0.05
                     THEN 0 END, json_object('runs', n, 'early_p50_ns', early_ns, 'late_p50_ns',
                                             last_ns) FROM varied
    UNION ALL SELECT 'memory-grows', NULL, 1, json_object('bytes_per_run', slope, 'low', low)
                FROM growth
    UNION ALL SELECT 'events-lost', NULL, sum(lost_count) > 0, json_object('lost', sum(lost_count))
                FROM gap WHERE session_id IN ({sessions})
    UNION ALL SELECT 'unfinished', NULL, count(*) > 0, json_object('spans', count(*))
                FROM event e JOIN lane l USING (lane_id)
               WHERE l.session_id IN ({sessions}) AND e.dur_ns IS NULL{in_time}
    UNION ALL SELECT 'coverage', wall_ns - recorded_ns, recorded_ns < 0.8 * wall_ns
                     AND (SELECT min(is_shown) FROM (
                         SELECT is_shown FROM host_span UNION ALL SELECT is_shown FROM device_span)), json_object('recorded_ns', recorded_ns)
                FROM whole)
SELECT rule, CASE WHEN wall_ns > 0 THEN min(1.0, ns * 1.0 / wall_ns) END AS share, holds, numbers
  FROM fact, whole WHERE holds IS NOT 0 ORDER BY share DESC
