/* SPDX-License-Identifier: Apache-2.0 */
/* What pointers, wheels and keys do on a timeline. */

/* A drag moves the window; with Shift, or while "Select" is pressed, it marks a range. */
class TimelinePointer {
  constructor(timeline) {
    const {canvas} = timeline;

    this.timeline = timeline;
    this.last = null;  /* x of the drag */
    this.moved = 0;
    this.anchor = null; /* where the range begins, ns */
    this.fingers = new Map(); /* from a pointer that is down to its x */
    canvas.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
    canvas.addEventListener('pointerdown', (event) => this.down(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.up(event));
    canvas.addEventListener('pointercancel', (event) => this.forget(event));
    canvas.addEventListener('pointerleave', () => this.leave());
    canvas.addEventListener('dblclick', (event) => timeline.zoomTo(timeline.spanAt(...this.place(event))));
  }

  place(event) {
    const box = this.timeline.canvas.getBoundingClientRect();

    return [event.clientX - box.left, event.clientY - box.top];
  }

  marks(event) {
    return event.shiftKey
      || this.timeline.figure.querySelector('[data-do=range]').getAttribute('aria-pressed') === 'true';
  }

  wheel(event) {
    if (event.ctrlKey || event.metaKey)
      this.timeline.zoom(Math.exp(event.deltaY * 0.004), this.place(event)[0]);
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      this.timeline.pan(event.deltaX || event.deltaY);
    else
      return;
    event.preventDefault();
  }

  down(event) {
    const {canvas} = this.timeline;

    if (event.button !== 0)
      return;
    if (event.isPrimary)
      this.fingers.clear();
    this.fingers.set(event.pointerId, this.place(event)[0]);
    this.last = event.clientX;
    this.moved = 0;
    this.anchor = this.marks(event) ? this.timeline.timeAt(this.place(event)[0]) : null;
    try {
      canvas.setPointerCapture(event.pointerId);
    } catch { /* a pointer that is gone already */ }
  }

  move(event) {
    const {timeline} = this;

    timeline.pointerX = this.place(event)[0];
    if (this.fingers.size === 2 && this.fingers.has(event.pointerId)) {
      this.pinch(event);
      return;
    }
    if (this.last === null) {
      timeline.track = timeline.tracks.trackAt(this.place(event)[1]);
      timeline.hover(timeline.spanAt(...this.place(event)));
      timeline.describe();
      return;
    }
    this.moved += Math.abs(event.clientX - this.last);
    if (this.anchor !== null)
      this.mark(event);
    else
      timeline.pan(this.last - event.clientX);
    this.last = event.clientX;
  }

  /* What lies below two fingers stays there. */
  pinch(event) {
    const {timeline} = this;
    const before = Array.from(this.fingers.values());

    this.fingers.set(event.pointerId, this.place(event)[0]);
    const after = Array.from(this.fingers.values());
    const [was, is] = [before, after].map(([a, b]) => Math.max(Math.abs(a - b), 10));
    const middle = (after[0] + after[1]) / 2;

    this.moved = Infinity; /* no click */
    timeline.pan((before[0] + before[1]) / 2 - middle);
    timeline.zoom(was / is, middle);
  }

  forget(event) {
    this.fingers.delete(event.pointerId);
    this.last = null;
  }

  leave() {
    this.timeline.track = null;
    this.timeline.hover(null);
    this.timeline.describe();
  }

  mark(event) {
    const {timeline} = this;
    const at = timeline.timeAt(Math.max(this.place(event)[0], timeline.gutter));

    timeline.setRange({from: Math.min(at, this.anchor), until: Math.max(at, this.anchor)});
  }

  up(event) {
    if (this.last !== null && this.moved < 4)
      this.timeline.choose(this.timeline.spanAt(...this.place(event)));
    this.forget(event);
  }
}

/* --- Keys. --- */

/* The neighbour of the chosen span in its row, or the first that is seen. */
function stepInRow(timeline, step) {
  const {chosen, view} = timeline;

  if (!chosen) {
    timeline.choose(view.spans.filter((span) => span.end >= timeline.from)
      .reduce((least, span) => span.start < least.start ? span : least, view.spans[0]));
    return;
  }
  const row = view.lanes.find((lane) => lane.name === chosen.lane).rows[chosen.row];
  const next = row[row.indexOf(chosen) + step];

  if (next)
    timeline.reveal(next);
}

function stepInside(timeline) {
  const inside = timeline.view.spans.filter((span) => span.parent === timeline.chosen);

  if (inside.length)
    timeline.reveal(inside.reduce((least, span) => span.start < least.start ? span : least));
}

/* The time of the chosen span, or what is seen. */
function markRange(timeline) {
  const {chosen, view} = timeline;

  timeline.setRange(chosen
    ? {from: chosen.start, until: chosen.end}
    : {from: Math.max(timeline.from, view.start), until: Math.min(timeline.until, view.end)});
}

function clearTimeline(timeline) {
  if (timeline.range)
    timeline.setRange(null);
  else if (timeline.chosen)
    timeline.choose(null);
  else
    timeline.finder.clear();
}

const TIMELINE_KEYS = {
  '+': (timeline) => timeline.zoom(0.6),
  '=': (timeline) => timeline.zoom(0.6),
  '-': (timeline) => timeline.zoom(1 / 0.6),
  '0': (timeline) => timeline.fit(),
  w: (timeline) => timeline.zoom(0.75, timeline.pointerX),
  s: (timeline) => timeline.zoom(1 / 0.75, timeline.pointerX),
  a: (timeline) => timeline.pan(-80),
  d: (timeline) => timeline.pan(80),
  f: (timeline) => timeline.zoomTo(timeline.chosen),
  m: markRange,
  n: (timeline) => timeline.finder.step(1),
  p: (timeline) => timeline.finder.step(-1),
  '/': (timeline) => timeline.finder.focus(),
  ArrowLeft: (timeline) => timeline.pan(-80),
  ArrowRight: (timeline) => timeline.pan(80),
  'Shift+ArrowLeft': (timeline) => stepInRow(timeline, -1),
  'Shift+ArrowRight': (timeline) => stepInRow(timeline, 1),
  'Shift+ArrowUp': (timeline) => timeline.chosen && timeline.chosen.parent && timeline.reveal(timeline.chosen.parent),
  'Shift+ArrowDown': (timeline) => timeline.chosen && stepInside(timeline),
  Escape: clearTimeline,
};

function pressTimelineKey(timeline, event) {
  const {key} = event;
  const named = key.length === 1 ? key.toLowerCase() : `${event.shiftKey ? 'Shift+' : ''}${key}`;
  const act = TIMELINE_KEYS[named];

  if (!act || event.ctrlKey || event.metaKey || event.altKey)
    return;
  event.preventDefault();
  act(timeline);
}
