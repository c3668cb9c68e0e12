-- SPDX-License-Identifier: Apache-2.0
-- What ran on each thread.
-- needs: counted_span
SELECT lane, session_id, device, count(*) AS span_count, count(DISTINCT op_id) AS op_count,
       sum(max(0, end_ns - max(start_ns, coalesce(before_ns, start_ns)))) AS busy_ns,
       coalesce(sum(start_ns > before_ns), 0) AS gap_count,
       coalesce(max(max(0, start_ns - before_ns)), 0) AS longest_gap_ns
  FROM (SELECT lane_id, lane, session_id, device, op_id, start_ns, end_ns, max(end_ns) OVER (PARTITION BY lane_id
               ORDER BY start_ns, end_ns DESC, event_id
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
          FROM counted_span WHERE type NOT IN ('label', 'phase', 'mark', 'counter'))
 GROUP BY lane_id ORDER BY busy_ns DESC
