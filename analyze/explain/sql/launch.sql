-- SPDX-License-Identifier: Apache-2.0
-- How long each kernel waited from its launch to its start.
-- needs: every_span, counted_span
SELECT d.name, count(*) AS calls, sum(h.end_ns IS NULL) AS unlaunched,
       coalesce(sum(d.start_ns > h.end_ns), 0) AS queued,
       sum(max(0, d.start_ns - h.end_ns)) AS delay_ns,
       avg(max(0, d.start_ns - h.end_ns)) AS delay_mean_ns,
       max(max(0, d.start_ns - h.end_ns)) AS delay_max_ns, avg(h.dur_ns) AS call_mean_ns,
       avg(d.start_ns - h.start_ns) AS since_call_mean_ns,
       avg(max(d.end_ns, h.end_ns) - h.start_ns) AS total_mean_ns
  FROM counted_span d LEFT JOIN (SELECT session_id, run, correlation, name, max(start_ns) AS start_ns, end_ns, dur_ns
                     FROM every_span WHERE side = 'host' AND correlation IS NOT NULL
                    GROUP BY session_id, run, correlation) h
       ON h.session_id = d.session_id AND h.run IS d.run AND h.correlation = d.correlation
 WHERE d.side = 'device' AND d.type NOT IN ('label', 'phase', 'mark', 'counter')
 GROUP BY d.name ORDER BY delay_ns DESC
