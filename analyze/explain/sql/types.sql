-- SPDX-License-Identifier: Apache-2.0
-- Operators by type: those of each op and lane first, whose texts are looked up once.
-- takes: 15
-- again: every_span
-- needs: counted_span, own_inner, flat_lane
WITH part AS (
    SELECT op_id, lane_id, side, count(*) AS calls, sum(dur_ns) AS total_ns, min(dur_ns) AS min_ns,
           max(dur_ns) AS max_ns, sum(CASE side WHEN 'device' THEN dur_ns
               ELSE max(0, dur_ns - coalesce(inner_ns, 0)) END) AS self_ns
      FROM counted_span LEFT JOIN own_inner USING (event_id)
     WHERE type NOT IN ('phase', 'mark', 'counter') GROUP BY op_id, lane_id)
SELECT o.type, side, sum(calls) AS calls, count(DISTINCT op_id) AS op_count,
       CASE WHEN o.type <> 'label' THEN sum(CASE WHEN o.session_id IN (
            SELECT session_id FROM session WHERE source = 'megengine')
            THEN total_ns * ((op_id, side, lane_id) IN flat_lane) ELSE self_ns END) END AS self_ns,
       sum(total_ns) AS total_ns, sum(total_ns) * 1.0 / sum(calls) AS mean_ns,
       min(min_ns) AS min_ns, max(max_ns) AS max_ns
  FROM part JOIN op o USING (op_id) GROUP BY o.type, side ORDER BY self_ns DESC
