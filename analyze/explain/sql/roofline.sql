-- SPDX-License-Identifier: Apache-2.0
-- Operators with the work that they do. Of those of a device of which the host's part alone is there it is not known
-- how long they compute.
-- takes: 25
-- needs: counted_span, self_time
WITH work AS (
    SELECT op_id, side = 'device' OR coalesce(op_device, 'cpu') GLOB 'cpu*' AS is_timed,
           count(*) AS calls,
           sum(CASE WHEN kern_ns IS NULL THEN own_ns ELSE dur_ns - kern_ns END) AS work_ns
      FROM self_time WHERE type <> 'label' AND (side = 'device' OR
           op_id NOT IN (SELECT op_id FROM counted_span WHERE side = 'device'))
     GROUP BY 1, 2)
SELECT name, type, sum(calls) AS calls, sum(work_ns) * 1.0 / {runs} AS time_ns,
       sum(computation_flop * calls) FILTER (WHERE is_timed) * 1e9 / sum(work_ns) AS flop_per_s,
       sum(memory_bytes * calls) FILTER (WHERE is_timed) * 1e9 / sum(work_ns) AS bytes_per_s,
       1.0 * max(computation_flop) / max(memory_bytes) AS flop_per_byte
  FROM work JOIN (SELECT *, device AS op_device FROM op) USING (op_id)
 GROUP BY {line_key} ORDER BY time_ns DESC
