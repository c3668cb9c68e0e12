-- SPDX-License-Identifier: Apache-2.0
-- Operators by type.
-- takes: 15
-- needs: counted_span, own_host, flat_lane
SELECT type, side, count(*) AS calls, count(DISTINCT op_id) AS op_count,
       CASE WHEN type <> 'label' THEN sum(CASE WHEN session_id IN (
            SELECT session_id FROM session WHERE source = 'megengine')
            THEN dur_ns * ((op_id, side, lane_id) IN flat_lane)
            WHEN side = 'device' THEN dur_ns ELSE coalesce(own_ns, 0) END) END AS self_ns, sum(dur_ns) AS total_ns,
       avg(dur_ns) AS mean_ns, min(dur_ns) AS min_ns, max(dur_ns) AS max_ns
  FROM counted_span LEFT JOIN own_host USING (event_id)
 WHERE type NOT IN ('phase', 'mark', 'counter') GROUP BY type, side ORDER BY self_ns DESC
