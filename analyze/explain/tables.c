/* SPDX-License-Identifier: Apache-2.0 */
/* The common tables that the SQL of --explain is made of. */
#include "analyze/explain/tables.h"

const struct explain_table explain_tables[EXPLAIN_TABLES] = {
    {"counted_run", "SELECT session_id, run, start_ns, end_ns, end_ns - start_ns AS dur_ns\n"
                    "      FROM run WHERE session_id IN ({sessions}) AND {counted}"},
    {"every_span",
     "SELECT e.rowid AS event_id, l.session_id, e.lane_id,\n"
     "           coalesce(l.name, l.kind || ' ' || coalesce(l.native_id, 0)) AS lane, l.device,\n"
     "           CASE l.kind WHEN 'thread' THEN 'host' ELSE 'device' END AS side,\n"
     "           e.op_id, o.name, o.type, o.node_id, o.device AS op_device, o.input_shapes,\n"
     "           o.input_dtypes, o.params, o.computation_flop, o.memory_bytes, e.run, e.start_ns,\n"
     "           e.start_ns + e.dur_ns AS end_ns, e.dur_ns, e.kern_ns, e.correlation, e.bytes\n"
     "      FROM event e JOIN lane l USING (lane_id) JOIN op o USING (op_id)\n"
     "     WHERE l.session_id IN ({sessions}) AND e.dur_ns IS NOT NULL{in_runs}{in_time}"},
    /* What runs on a device and what launched it have a number in common. */
    {"launching",
     "SELECT * FROM (\n"
     "        SELECT *, row_number() OVER (\n"
     "                   PARTITION BY session_id, run, correlation\n"
     "                   ORDER BY lane_id DESC, start_ns DESC, dur_ns, event_id) AS nth\n"
     "          FROM every_span WHERE side = 'host' AND correlation IS NOT NULL)\n"
     "     WHERE nth = 1"},
    /* What autograd runs on a thread of its own belongs to the labels around the call of
     * backward(), whose thread waits: it is in no op then. */
    {"backward_in_label",
     "SELECT DISTINCT b.event_id FROM every_span b JOIN every_span l ON l.op_id IN ({labels})\n"
     "           AND l.side = 'host' AND l.session_id = b.session_id AND l.lane_id <> b.lane_id\n"
     "           AND l.start_ns <= b.start_ns AND l.end_ns >= b.end_ns\n"
     "     WHERE b.side = 'host' AND b.type = 'cpu_op' AND (\n"
     "           b.name GLOB 'autograd::engine::evaluate_function: *'\n"
     "           OR b.name GLOB 'torch::autograd::*' OR rtrim(b.name, '0123456789') GLOB "
     "'*Backward')\n"
     "       AND NOT EXISTS (\n"
     "           SELECT 1 FROM every_span o WHERE o.lane_id = l.lane_id AND o.start_ns <= "
     "b.start_ns\n"
     "              AND o.end_ns > b.start_ns AND o.type NOT IN (\n"
     "                  'label', 'phase', 'mark', 'counter', 'python_function'))"},
    /* Outer spans come first: a span lies in a label that began before it and ends after it. */
    {"in_label",
     "SELECT * FROM (\n"
     "        SELECT *, max(end_ns) FILTER (WHERE op_id IN ({labels}) OR event_id IN (\n"
     "                   SELECT event_id FROM backward_in_label)) OVER (\n"
     "                   PARTITION BY lane_id ORDER BY start_ns, end_ns DESC, event_id DESC\n"
     "                   ROWS UNBOUNDED PRECEDING) >= end_ns AS is_inside FROM every_span)\n"
     "     WHERE is_inside"},
    {"labelled", "SELECT event_id FROM in_label\n"
                 "    UNION SELECT d.event_id FROM every_span d JOIN launching l\n"
                 "        ON l.session_id = d.session_id AND l.run IS d.run\n"
                 "       AND l.correlation = d.correlation\n"
                 "     WHERE d.side = 'device' AND l.event_id IN (SELECT event_id FROM in_label)"},
    {"counted_span", "SELECT * FROM every_span{chosen}"},
    /* Starts and ends in order; what lies between two belongs to the innermost span, which is the
     * last one that opened at this depth. */
    {"own_point", "SELECT lane_id, event_id, dur_ns, 1 AS opens, start_ns AS time_ns\n"
                  "      FROM every_span WHERE side = 'host' AND dur_ns > 0\n"
                  "       AND type NOT IN ('label', 'phase', 'mark', 'counter')\n"
                  "    UNION ALL SELECT lane_id, event_id, dur_ns, -1, end_ns\n"
                  "      FROM every_span WHERE side = 'host' AND dur_ns > 0\n"
                  "       AND type NOT IN ('label', 'phase', 'mark', 'counter')"},
    {"own_placed", "SELECT *, row_number() OVER o AS place, sum(opens) OVER o AS depth,\n"
                   "           lead(time_ns) OVER o - time_ns AS ns FROM own_point\n"
                   "    WINDOW o AS (PARTITION BY lane_id\n"
                   "                 ORDER BY time_ns, opens, -opens * dur_ns, -opens * event_id\n"
                   "                 ROWS UNBOUNDED PRECEDING)"},
    /* What opened at a depth, and all at that depth until the next one opens. */
    {"own_nth", "SELECT *, sum(opens = 1) OVER (PARTITION BY lane_id, depth ORDER BY place\n"
                "                                   ROWS UNBOUNDED PRECEDING) AS nth\n"
                "      FROM own_placed"},
    /* The casts let SQLite make an index for joins. */
    {"own_piece",
     "SELECT CAST(lane_id AS INTEGER) AS lane_id, CAST(place AS INTEGER) AS place, time_ns, ns,\n"
     "           CAST(CASE WHEN nth > 0 THEN\n"
     "           first_value(event_id) OVER (PARTITION BY lane_id, depth, nth ORDER BY place)\n"
     "           END AS INTEGER) AS event_id FROM own_nth"},
    {"own_host", "SELECT event_id, sum(ns) AS own_ns FROM own_piece\n"
                 "     WHERE event_id IS NOT NULL AND ns IS NOT NULL GROUP BY event_id"},
    {"sample_of_op",
     "SELECT session_id, run, op_id, start_ns,\n"
     "           event_id IN (SELECT event_id FROM counted_span) AS is_shown,\n"
     "           CASE WHEN side = 'device' OR session_id IN (\n"
     "                    SELECT session_id FROM session WHERE source = 'megengine')\n"
     "                THEN dur_ns ELSE coalesce(own_ns, 0) END AS own_ns\n"
     "      FROM every_span LEFT JOIN own_host USING (event_id)\n"
     "     WHERE type NOT IN ('label', 'phase', 'mark', 'counter')\n"
     "       AND side = (SELECT min(side) FROM every_span\n"
     "                    WHERE type NOT IN ('label', 'phase', 'mark', 'counter'))"},
    {"issued_op",
     "SELECT d.event_id, d.lane_id, d.name, d.start_ns, d.end_ns, l.start_ns AS issued_ns,\n"
     "           lag(l.start_ns) OVER (PARTITION BY d.lane_id ORDER BY l.start_ns, d.start_ns)\n"
     "           AS before_ns\n"
     "      FROM every_span d JOIN launching l ON d.side = 'device' AND l.run IS d.run\n"
     "           AND l.session_id = d.session_id AND l.correlation = d.correlation\n"
     "     WHERE d.type NOT IN ('label', 'phase', 'mark', 'counter')"},
    {"stream_wait",
     "SELECT w.event_id AS wait_id, w.lane_id, w.start_ns AS issued_ns,\n"
     "           r.start_ns AS recorded_ns, min(s.lane_id) AS source_lane\n"
     "      FROM every_span w JOIN launching r ON r.session_id = w.session_id AND r.run IS w.run\n"
     "           AND r.correlation = w.correlation AND r.start_ns <= w.start_ns\n"
     "      JOIN lane s ON s.session_id = w.session_id AND s.device = w.device\n"
     "           AND s.kind <> 'thread' AND s.native_id = json_extract(w.params, "
     "'$.wait_on_stream')\n"
     "     WHERE w.side = 'device' AND w.type = 'phase' AND r.name GLOB '*EventRecord*'\n"
     "     GROUP BY w.event_id"},
    /* The other stream itself waited for a third one, since what it ran last before. */
    {"waited_for",
     "SELECT wait_id, source_lane AS lane_id, recorded_ns AS until_ns FROM stream_wait\n"
     "    UNION SELECT f.wait_id, w.source_lane, w.recorded_ns\n"
     "      FROM waited_for f JOIN stream_wait w ON w.lane_id = f.lane_id\n"
     "           AND w.issued_ns < f.until_ns AND w.issued_ns > coalesce((\n"
     "               SELECT max(i.issued_ns) FROM issued_op i\n"
     "                WHERE i.lane_id = f.lane_id AND i.issued_ns < f.until_ns), 0)"},
    {"event_awaited",
     "SELECT i.event_id, a.event_id AS awaited_id, a.name AS awaited, max(a.end_ns) AS awaited_ns\n"
     "      FROM issued_op i JOIN stream_wait w ON w.lane_id = i.lane_id AND w.issued_ns < "
     "i.issued_ns\n"
     "           AND w.issued_ns > coalesce(i.before_ns, 0)\n"
     "      JOIN waited_for f USING (wait_id) JOIN issued_op a ON a.event_id = (\n"
     "               SELECT l.event_id FROM issued_op l\n"
     "                WHERE l.lane_id = f.lane_id AND l.issued_ns < f.until_ns\n"
     "                ORDER BY l.issued_ns DESC, l.start_ns DESC LIMIT 1)\n"
     "     GROUP BY i.event_id"},
    /* Of those that look alike in a session the first is the first of another. */
    {"sampled_op",
     "SELECT *, first_value(op_id) OVER (PARTITION BY name, type, input_shapes, input_dtypes,\n"
     "                                   origin, twin ORDER BY session_id) AS part_id\n"
     "      FROM (SELECT *, row_number() OVER (PARTITION BY session_id, name, type, input_shapes,\n"
     "                                         input_dtypes, origin ORDER BY client_op) AS twin\n"
     "              FROM op WHERE op_id IN (SELECT op_id FROM sample_of_op WHERE is_shown))"},
    {"self_time", "SELECT s.*, CASE WHEN type = 'label' OR side = 'device' OR session_id IN (\n"
                  "                    SELECT session_id FROM session WHERE source = 'megengine')\n"
                  "                THEN s.dur_ns\n"
                  "                ELSE coalesce(h.own_ns, 0) END AS own_ns\n"
                  "      FROM counted_span s LEFT JOIN own_host h USING (event_id)\n"
                  "     WHERE type NOT IN ('phase', 'mark', 'counter'{no_labels})"},
};
