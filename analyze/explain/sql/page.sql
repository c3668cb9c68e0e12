-- SPDX-License-Identifier: Apache-2.0
-- Of its first table; that of the operators is the report ops'.
-- needs: self_time
SELECT type, sum(own_ns) * 1.0 / {runs} AS time_ns,
       count(*) AS calls
  FROM self_time WHERE side = {op_side}
 GROUP BY type ORDER BY time_ns DESC
