-- SPDX-License-Identifier: Apache-2.0
-- The sessions of the store.
SELECT session_id, start_ns, wall_ns AS length_ns, program, run_count, lost_count,
       dropped_event_count AS dropped_count
  FROM v_session WHERE session_id IN ({sessions}) ORDER BY start_ns
