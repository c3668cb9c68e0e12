-- SPDX-License-Identifier: Apache-2.0
-- Kernels by name and device.
-- needs: counted_span
SELECT name, coalesce(device, op_device) AS device{grouped},
       sum(dur_ns) AS total_ns, count(*) AS calls, avg(dur_ns) AS mean_ns,
       min(dur_ns) AS min_ns, max(dur_ns) AS max_ns
  FROM counted_span s WHERE side = 'device' AND type NOT IN ('label', 'phase', 'mark', 'counter')
   AND lower(type) NOT IN ('copy', 'memset') GROUP BY 1, 2{group_key} ORDER BY total_ns DESC
