-- SPDX-License-Identifier: Apache-2.0
-- What held memory at the peak.
-- needs: counted_run
-- Rows in order; pieces from one row to the next of the same address or size.
WITH moved AS (
    SELECT row_number() OVER (ORDER BY m.time_ns, m.rowid) AS n, l.session_id,
           coalesce(l.device, 'host') AS device, m.op_id, m.bytes, m.lane_id,
           coalesce(m.address, 'size ' || abs(m.bytes)) AS piece, m.time_ns, m.rowid AS id,
           m.address IS NULL AS by_size, CASE WHEN m.bytes > 0 THEN 1 ELSE -1 END AS step
      FROM memory_event m JOIN lane l USING (lane_id)
     WHERE l.session_id IN ({sessions})),
-- Of pieces of one size the last one taken goes back first: the one of the same level.
counted AS (
    SELECT *, sum(step) OVER (PARTITION BY session_id, device, piece ORDER BY n) AS count
      FROM moved),
lowest AS (
    SELECT *, min(count) OVER p AS low FROM counted
    WINDOW p AS (PARTITION BY session_id, device, piece ORDER BY n)),
leveled AS (
    SELECT *, CASE WHEN NOT by_size THEN 1 WHEN step > 0 THEN count - min(0, low)
                   WHEN count < min(0, coalesce(lag(low) OVER p, 0)) THEN 0
                   ELSE count - min(0, low) + 1 END AS level FROM lowest
    WINDOW p AS (PARTITION BY session_id, device, piece ORDER BY n)),
matched AS (
    SELECT *, lag(bytes) OVER p AS before, lead(n) OVER p AS next_n FROM leveled
    WINDOW p AS (PARTITION BY session_id, device, piece, level ORDER BY n)),
stray AS (
    SELECT session_id, device, n, coalesce(-bytes, 0) AS bytes FROM matched
     WHERE coalesce(bytes, 0) <= 0 AND coalesce(before, 0) <= 0),
-- What the first event says was there before.
told AS (
    SELECT c.lane_id, min(c.time_ns) AS time_ns, CAST(c.value AS INTEGER) AS bytes
      FROM counter c JOIN op o USING (op_id)
     WHERE o.type = 'counter' AND o.name = 'Total Allocated' GROUP BY c.lane_id),
base AS (
    SELECT m.session_id, m.device, t.bytes - m.bytes - (
               SELECT coalesce(sum(s.bytes), 0) FROM stray s
                WHERE s.session_id = m.session_id AND s.device = m.device) AS bytes
      FROM moved m JOIN told t USING (lane_id, time_ns)
     WHERE t.bytes > 0 AND n IN (SELECT min(n) FROM moved GROUP BY session_id, device)),
held AS (
    SELECT session_id, device, op_id, bytes, n AS start_n,
           coalesce(next_n, 1 << 60) AS end_n, time_ns AS start_ns
      FROM matched WHERE bytes > 0
    UNION ALL SELECT session_id, device, -1, bytes, 0, n, NULL FROM stray
    UNION ALL SELECT session_id, device, -1, bytes, 0, 1 << 60, NULL FROM base
     WHERE bytes > 0),
step AS (
    SELECT session_id, device, start_n AS n, sum(bytes) AS bytes FROM held
     GROUP BY session_id, device, start_n
    UNION ALL SELECT session_id, device, end_n, -bytes FROM held),
sums AS (
    SELECT session_id, device, n, sum(sum(bytes)) OVER (
           PARTITION BY session_id, device ORDER BY n) AS alive FROM step
     GROUP BY session_id, device, n),
-- Times that are asked for, and the last sum before them.
of_runs AS (
    SELECT session_id, min(start_ns) AS from_ns, max(end_ns) AS until_ns FROM counted_run
     WHERE end_ns IS NOT NULL GROUP BY session_id),
bound AS (
    {bounds_of_sessions}),
near AS (
    SELECT s.*, max(s.n) FILTER (WHERE coalesce(m.time_ns < b.from_ns, 1)) OVER (
               PARTITION BY s.session_id, device) AS first_n
      FROM sums s JOIN bound b USING (session_id)
      LEFT JOIN (SELECT n, time_ns FROM moved) m USING (n)
     WHERE coalesce(m.time_ns < b.until_ns, s.n = 0)),
peak AS (
    SELECT session_id, device, min(n) AS n
      FROM (SELECT *, max(alive) OVER (PARTITION BY session_id, device) AS most FROM near
             WHERE n >= coalesce(first_n, 0))
     WHERE alive = most
     GROUP BY session_id, device)
SELECT CASE h.op_id WHEN -1 THEN 'before the recording' ELSE {grouped},
       h.device, h.session_id,
       coalesce(sum(bytes) FILTER (WHERE start_n <= p.n AND end_n > p.n), 0)
       AS at_peak_bytes,
       count(*) FILTER (WHERE start_ns >= from_ns AND start_ns < until_ns) AS taken_count,
       coalesce(sum(bytes) FILTER (WHERE start_ns >= from_ns AND start_ns < until_ns), 0)
       AS taken_bytes
  FROM held h JOIN bound b USING (session_id) LEFT JOIN peak p USING (session_id, device)
  LEFT JOIN op o USING (op_id)
 GROUP BY h.session_id, h.device, h.op_id = -1, {group_key} ORDER BY at_peak_bytes DESC
