/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of a timeline: views (runs), lanes in them, rows in lanes, who lies inside of whom. */

const ROW_HEIGHT = 20;
const LANE_GAP = 8;
const AXIS_HEIGHT = 26;

/* Names and types are those of the ops. */
function readSpans(data, ops) {
  const column = {
    view: data.texts('view'), lane: data.texts('lane'), side: data.texts('side'),
    start: data.numbers('start_ns'),
    duration: data.numbers('dur_ns'), self: data.numbers('self_ns'), depth: data.numbers('depth'),
    launch: data.numbers('launch'), run: data.numbers('run'), op: data.numbers('op'),
    bytes: data.numbers('bytes'),
  };
  const spans = column.view.map((view, place) => ({
    view, place, lane: column.lane[place], side: column.side[place], name: ops[column.op[place]].name,
    type: ops[column.op[place]].type, start: column.start[place], duration: column.duration[place],
    self: column.self[place], depth: column.depth[place],
    end: column.start[place] + column.duration[place], launch: null, launched: [], row: 0,
    parent: null, run: column.run[place], op: column.op[place], bytes: column.bytes[place],
  }));

  spans.forEach((span) => {
    const launch = column.launch[span.place];

    if (launch !== null) {
      span.launch = spans[launch];
      spans[launch].launched.push(span);
    }
  });
  return spans;
}

/* Below what it lies in; work of a device that overlaps gets rows of its own. */
function placeInRows(lane) {
  const ends = [];

  lane.spans.sort((a, b) => a.start - b.start || b.duration - a.duration || a.depth - b.depth);
  for (const span of lane.spans) {
    span.row = span.depth;
    while (ends[span.row] !== undefined && ends[span.row] > span.start)
      span.row++;
    ends[span.row] = span.end;
  }
  lane.rows = Array.from({length: ends.length}, () => []);
  for (const span of lane.spans)
    lane.rows[span.row].push(span);
}

/* The innermost other span of its lane that a span lies in; spans are sorted, outer ones first. */
function findParents(lane) {
  const open = [];

  for (const span of lane.spans) {
    while (open.length && open[open.length - 1].end <= span.start)
      open.pop();
    for (let place = open.length - 1; place >= 0 && span.depth > 0 && !span.parent; place--) {
      if (open[place].end >= span.end && open[place].depth < span.depth)
        span.parent = open[place];
    }
    open.push(span);
  }
}

function makeViews(spans, tracks) {
  const views = new Map();

  for (const span of spans) {
    if (!views.has(span.view))
      views.set(span.view, {name: span.view, run: span.run, spans: [], lanes: new Map(), start: Infinity, end: -Infinity});
    const view = views.get(span.view);

    if (!view.lanes.has(span.lane))
      view.lanes.set(span.lane, {name: span.lane, side: span.side, spans: []});
    view.lanes.get(span.lane).spans.push(span);
    view.spans.push(span);
    view.start = Math.min(view.start, span.start);
    view.end = Math.max(view.end, span.end, span.start + 1);
  }
  for (const view of views.values()) {
    let top = AXIS_HEIGHT;

    view.lanes = Array.from(view.lanes.values())
      .sort((a, b) => (a.side !== 'host') - (b.side !== 'host'));
    for (const lane of view.lanes) {
      placeInRows(lane);
      findParents(lane);
      lane.top = top + LANE_GAP / 2;
      lane.height = lane.rows.length * ROW_HEIGHT;
      top += lane.height + LANE_GAP;
    }
    view.tracks = (tracks && tracks.get(view.name)) || [];
    for (const track of view.tracks) {
      track.top = top + LANE_GAP / 2;
      top += TRACK_HEIGHT + LANE_GAP;
    }
    view.height = top + 2;
  }
  return Array.from(views.values());
}

/* What of a span lies between two times. */
function partOf(span, range) {
  return Math.max(0, Math.min(span.end, range.until) - Math.max(span.start, range.from));
}

/* What an op is called in tables: another type is another op. */
function isSameOp(a, b) {
  return a.name === b.name && a.type === b.type;
}
