-- SPDX-License-Identifier: Apache-2.0
-- Operators with the work that they do. Of those of a device of which the host's part alone is there it is not known
-- how long they compute.
-- takes: 30
-- needs: self_time
WITH work AS (
    SELECT *, CASE WHEN kern_ns IS NULL THEN own_ns ELSE dur_ns - kern_ns END AS work_ns,
           side = 'device' OR coalesce(op_device, 'cpu') GLOB 'cpu*' AS is_timed
      FROM self_time WHERE type <> 'label' AND (side = 'device' OR
           op_id NOT IN (SELECT op_id FROM self_time WHERE side = 'device')))
SELECT name, type, count(*) AS calls, sum(work_ns) * 1.0 / {runs} AS time_ns,
       sum(computation_flop) FILTER (WHERE is_timed) * 1e9 / sum(work_ns) AS flop_per_s,
       sum(memory_bytes) FILTER (WHERE is_timed) * 1e9 / sum(work_ns) AS bytes_per_s,
       1.0 * max(computation_flop) / max(memory_bytes) AS flop_per_byte
  FROM work GROUP BY {line_key} ORDER BY time_ns DESC
