-- SPDX-License-Identifier: Apache-2.0
-- What was counted op by op.
-- needs: counted_span, own_piece
-- Where a span begins as another ends there are two readings of one time.
WITH reading AS MATERIALIZED (
    SELECT c.lane_id, replace(o.name, ':u', '') AS counter, c.time_ns, min(c.value) AS low,
           max(c.value) AS high
      FROM counter c JOIN op o USING (op_id)
     WHERE o.session_id IN ({sessions}) AND o.type = 'counter' AND o.name LIKE 'perf.%'
     GROUP BY 1, 2, 3),
counted AS (
    SELECT s.* FROM counted_span s WHERE s.type NOT IN ('phase', 'mark', 'counter'{no_labels})
       AND s.lane_id IN (SELECT lane_id FROM reading)),
-- What lies between two starts or ends of ops, and whose it is.
own AS MATERIALIZED (
    SELECT p.event_id, a.counter, sum(b.low - a.high) AS own
      FROM own_piece p JOIN reading a ON a.lane_id = p.lane_id AND a.time_ns = p.time_ns
      JOIN reading b ON b.lane_id = p.lane_id AND b.time_ns = p.time_ns + p.ns
       AND b.counter = a.counter
     WHERE p.event_id IS NOT NULL AND p.ns > 0 GROUP BY 1, 2),
span_count AS (
    SELECT s.event_id, s.name, s.type, s.dur_ns, a.counter,
           CASE s.dur_ns WHEN 0 THEN b.high - a.low ELSE b.low - a.high END AS total,
           CASE WHEN s.side = 'device' OR s.type = 'label' THEN b.low - a.high
                ELSE coalesce(w.own, 0) END AS own
      FROM counted s JOIN reading a ON a.lane_id = s.lane_id AND a.time_ns = s.start_ns
      JOIN reading b ON b.lane_id = s.lane_id AND b.time_ns = s.end_ns
       AND b.counter = a.counter
      LEFT JOIN own w ON w.event_id = s.event_id AND w.counter = a.counter),
op_time AS (
    SELECT {grouped} AS name, count(*) AS calls, sum(dur_ns) AS time_ns FROM counted GROUP BY 1)
SELECT t.name, t.calls, t.time_ns,
       sum(total) FILTER (WHERE counter = 'perf.task-clock_ns') * 1.0 /
       sum(c.dur_ns) FILTER (WHERE counter = 'perf.task-clock_ns') AS cpu_share,
       sum(total) FILTER (WHERE counter = 'perf.task-clock_ns') AS task_clock_ns,
       sum(own) FILTER (WHERE counter = 'perf.task-clock_ns') AS self_task_clock_ns,
       avg(total) FILTER (WHERE counter = 'perf.task-clock_ns') AS task_clock_per_call_ns,
       sum(total) FILTER (WHERE counter = 'perf.page-faults') AS page_faults,
       sum(own) FILTER (WHERE counter = 'perf.page-faults') AS self_page_faults,
       avg(total) FILTER (WHERE counter = 'perf.page-faults') AS page_faults_per_call,
       sum(total) FILTER (WHERE counter = 'perf.context-switches') AS context_switches,
       sum(own) FILTER (WHERE counter = 'perf.context-switches') AS self_context_switches,
       avg(total) FILTER (WHERE counter = 'perf.context-switches') AS context_switches_per_call,
       sum(total) FILTER (WHERE counter = 'perf.cpu-migrations') AS cpu_migrations,
       sum(own) FILTER (WHERE counter = 'perf.cpu-migrations') AS self_cpu_migrations,
       avg(total) FILTER (WHERE counter = 'perf.cpu-migrations') AS cpu_migrations_per_call,
       sum(total) FILTER (WHERE counter = 'perf.instructions') AS instructions,
       sum(own) FILTER (WHERE counter = 'perf.instructions') AS self_instructions,
       avg(total) FILTER (WHERE counter = 'perf.instructions') AS instructions_per_call,
       sum(total) FILTER (WHERE counter = 'perf.cycles') AS cycles,
       sum(own) FILTER (WHERE counter = 'perf.cycles') AS self_cycles,
       avg(total) FILTER (WHERE counter = 'perf.cycles') AS cycles_per_call,
       sum(total) FILTER (WHERE counter = 'perf.cache-misses') AS cache_misses,
       sum(own) FILTER (WHERE counter = 'perf.cache-misses') AS self_cache_misses,
       avg(total) FILTER (WHERE counter = 'perf.cache-misses') AS cache_misses_per_call,
       sum(total) FILTER (WHERE counter = 'perf.branch-misses') AS branch_misses,
       sum(own) FILTER (WHERE counter = 'perf.branch-misses') AS self_branch_misses,
       avg(total) FILTER (WHERE counter = 'perf.branch-misses') AS branch_misses_per_call
  FROM op_time t LEFT JOIN span_count c ON c.{group_key} = t.name
 GROUP BY t.name ORDER BY t.time_ns DESC
