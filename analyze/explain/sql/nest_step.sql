-- SPDX-License-Identifier: Apache-2.0
-- A step through spans in the order in which they began, outer ones first (t), with those that are open and hold others
-- (w): the innermost (open_ns its end, open_id), and a list of those around it, "END ID;END ID;...". It closes one that
-- ends before the next span does, and so cannot be around it, or goes on to that span.
SELECT w.place + (open_ns >= end_ns),
           CASE WHEN open_ns < end_ns THEN CAST(open AS INTEGER)
                WHEN holds THEN end_ns ELSE open_ns END,
           CASE WHEN open_ns < end_ns THEN CAST(substr(open, instr(open, ' ') + 1) AS INTEGER)
                WHEN holds THEN t.event_id ELSE open_id END,
           CASE WHEN open_ns < end_ns THEN substr(open, instr(open, ';') + 1)
                WHEN holds THEN open_ns || ' ' || open_id || ';' || open ELSE open END
