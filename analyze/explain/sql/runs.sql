-- SPDX-License-Identifier: Apache-2.0
-- The runs.
-- needs: counted_run
SELECT run, session_id, start_ns, dur_ns FROM counted_run{runs_in_time}
 ORDER BY dur_ns DESC
