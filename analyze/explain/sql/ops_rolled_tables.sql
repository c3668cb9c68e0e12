-- SPDX-License-Identifier: Apache-2.0
-- Roll-ups of one side, and the bins of its durations.
WITH rolled AS (
    SELECT * FROM (
        SELECT s.*, CASE s.lane_kind WHEN 'thread' THEN 'host' ELSE 'device' END AS side,
               o.name, o.type, o.node_id, o.device AS op_device, o.input_shapes,
               o.input_dtypes FROM v_op_stat s JOIN op o USING (op_id)
         WHERE o.session_id IN ({sessions})
           AND o.type NOT IN ('phase', 'mark', 'counter'{no_labels})){chosen}),
one_side AS (
    SELECT *, min(op_id) OVER (PARTITION BY {line_key}) AS key FROM rolled
     WHERE side = {rolled_side}),
bin_of AS (
    SELECT k.key, h.bin, h.middle_ns, sum(h.event_count) AS n
      FROM (SELECT DISTINCT key, op_id, lane_kind FROM one_side) k
      JOIN v_op_histogram h ON h.op_id = k.op_id AND h.lane_kind = k.lane_kind
     GROUP BY k.key, h.bin),
ranked AS (
    SELECT key, middle_ns, sum(n) OVER (PARTITION BY key ORDER BY bin) AS upto,
           sum(n) OVER (PARTITION BY key) AS total FROM bin_of)
