-- SPDX-License-Identifier: Apache-2.0
-- Collective operations by name.
-- needs: counted_span
SELECT name, side, count(*) AS calls, sum(dur_ns) AS total_ns, avg(dur_ns) AS mean_ns,
       min(dur_ns) AS min_ns, max(dur_ns) AS max_ns FROM counted_span
 WHERE type = 'kernel' AND lower(substr(name, 1, 4)) IN ('nccl', 'rccl', 'hccl', 'xccl')
    OR type = 'collective' AND (side = 'device' OR lower(substr(name, 2, 4)) <> 'ccl:')
 GROUP BY name ORDER BY total_ns DESC
