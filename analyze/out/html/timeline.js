/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans in lanes over time, on a canvas: zoom, pan, details of what is under the pointer, lines from
 * a launch to what it started on a device.
 */

const ROW_HEIGHT = 20;
const LANE_GAP = 8;
const AXIS_HEIGHT = 26;

/* --- The model: views (runs), lanes in them, rows in lanes. --- */

function readSpans(data) {
  const column = {
    view: data.texts('view'), lane: data.texts('lane'), side: data.texts('side'),
    name: data.texts('name'), type: data.texts('type'), start: data.numbers('start_ns'),
    duration: data.numbers('dur_ns'), self: data.numbers('self_ns'), depth: data.numbers('depth'),
    launch: data.numbers('launch'),
  };
  const spans = column.view.map((view, place) => ({
    view, place, lane: column.lane[place], side: column.side[place], name: column.name[place],
    type: column.type[place], start: column.start[place], duration: column.duration[place],
    self: column.self[place], depth: column.depth[place],
    end: column.start[place] + column.duration[place], launch: null, launched: [], row: 0,
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

function makeViews(spans) {
  const views = new Map();

  for (const span of spans) {
    if (!views.has(span.view))
      views.set(span.view, {name: span.view, lanes: new Map(), start: Infinity, end: -Infinity});
    const view = views.get(span.view);

    if (!view.lanes.has(span.lane))
      view.lanes.set(span.lane, {name: span.lane, side: span.side, spans: []});
    view.lanes.get(span.lane).spans.push(span);
    view.start = Math.min(view.start, span.start);
    view.end = Math.max(view.end, span.end, span.start + 1);
  }
  for (const view of views.values()) {
    let top = AXIS_HEIGHT;

    view.lanes = Array.from(view.lanes.values())
      .sort((a, b) => (a.side !== 'host') - (b.side !== 'host'));
    for (const lane of view.lanes) {
      placeInRows(lane);
      lane.top = top + LANE_GAP / 2;
      lane.height = lane.rows.length * ROW_HEIGHT;
      top += lane.height + LANE_GAP;
    }
    view.height = top + 2;
  }
  return Array.from(views.values());
}

/* --- Painting. --- */

/* Room for the names of lanes. */
function gutterOf(width) {
  if (width < 600)
    return 84;
  return width < 1200 ? 150 : 220;
}

/* Steps of 1, 2 or 5 times a power of ten, about `pixels` apart. */
function niceStep(nsPerPixel, pixels) {
  const raw = nsPerPixel * pixels;
  const power = 10 ** Math.floor(Math.log10(raw));

  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw);
}

/* Black or white, whichever is read better on a colour "#rrggbb". */
function textOn(color) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));

  return red * 0.299 + green * 0.587 + blue * 0.114 > 140 ? '#14161a' : '#ffffff';
}

class Timeline {
  constructor(figure) {
    this.figure = figure;
    this.canvas = figure.querySelector('canvas');
    this.views = makeViews(readSpans(readFigure(figure)));
    this.hovered = null;
    this.chosen = null;
    this.makeControls();
    this.listen();
    this.show(0);
  }

  show(place) {
    this.view = this.views[place];
    this.chosen = this.hovered = null;
    this.canvas.setAttribute('aria-label', `Timeline of ${this.view.name}: ${this.view.lanes.length} lanes`);
    this.figure.dataset.lanes = this.view.lanes.length;
    this.figure.dataset.spans = this.view.lanes.reduce((sum, lane) => sum + lane.spans.length, 0);
    this.describe();
    this.fit();
    this.paint();
  }

  fit() {
    const margin = (this.view.end - this.view.start) * 0.01;

    this.from = this.view.start - margin;
    this.until = this.view.end + margin;
    this.draw();
  }

  /* Keeps at least 10 ns and at most the whole on the screen. */
  setWindow(from, until) {
    const whole = (this.view.end - this.view.start) * 1.02;
    const length = Math.min(Math.max(until - from, 10), whole);
    const middle = (from + until) / 2;
    const margin = whole * 0.02;

    this.from = Math.min(Math.max(middle - length / 2, this.view.start - margin), this.view.end + margin - length);
    this.until = this.from + length;
    this.draw();
  }

  zoom(factor, x) {
    const at = this.timeAt(x === undefined ? (this.gutter + this.width) / 2 : x);

    this.setWindow(at - (at - this.from) * factor, at + (this.until - at) * factor);
  }

  pan(pixels) {
    const ns = pixels * this.nsPerPixel();

    this.setWindow(this.from + ns, this.until + ns);
  }

  nsPerPixel() {
    return (this.until - this.from) / Math.max(1, this.width - this.gutter);
  }

  timeAt(x) {
    return this.from + (x - this.gutter) * this.nsPerPixel();
  }

  xAt(ns) {
    return this.gutter + (ns - this.from) / this.nsPerPixel();
  }

  /* Painted once per frame, however often it is asked for. */
  draw() {
    if (this.frame)
      return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.paint();
    });
  }

  paint() {
    const scale = window.devicePixelRatio || 1;
    const context = this.canvas.getContext('2d');

    this.width = this.figure.querySelector('.stage').clientWidth;
    this.gutter = gutterOf(this.width);
    this.canvas.style.height = `${this.view.height}px`;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.view.height * scale);
    this.context = context;
    this.font = getComputedStyle(document.body).fontFamily;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, this.width, this.view.height);
    context.textBaseline = 'middle';
    this.paintAxis();
    this.view.lanes.forEach((lane) => this.paintLane(lane));
    this.paintFlows();
    this.figure.dataset.drawn = 'yes';
  }

  paintAxis() {
    const {context} = this;
    const step = niceStep(this.nsPerPixel(), 110);
    const origin = this.view.start;

    context.font = `11px ${this.font}`;
    context.textAlign = 'center';
    for (let tick = Math.ceil((this.from - origin) / step) * step; tick <= this.until - origin; tick += step) {
      const x = Math.round(this.xAt(origin + tick)) + 0.5;

      if (x < this.gutter)
        continue;
      context.strokeStyle = cssColor('--line');
      context.beginPath();
      context.moveTo(x, AXIS_HEIGHT - 6);
      context.lineTo(x, this.view.height);
      context.stroke();
      context.fillStyle = cssColor('--muted');
      if (x > this.gutter + 20 && x < this.width - 24)
        context.fillText(formatTick(Math.abs(tick) < step / 2 ? 0 : tick, step), x, 9);
    }
  }

  paintLane(lane) {
    const {context} = this;

    context.strokeStyle = cssColor('--line');
    context.beginPath();
    context.moveTo(0, lane.top - LANE_GAP / 2 + 0.5);
    context.lineTo(this.width, lane.top - LANE_GAP / 2 + 0.5);
    context.stroke();
    context.save();
    context.beginPath();
    context.rect(this.gutter, lane.top, this.width - this.gutter, lane.height);
    context.clip();
    context.font = `11px ${this.font}`;
    context.textAlign = 'left';
    lane.rows.forEach((row, place) => this.paintRow(row, lane.top + place * ROW_HEIGHT));
    context.restore();
    this.paintLaneName(lane);
  }

  paintLaneName(lane) {
    const {context} = this;
    const two = lane.height >= 2 * ROW_HEIGHT && lane.side;

    context.textAlign = 'left';
    context.font = `600 12px ${this.font}`;
    context.fillStyle = cssColor('--text');
    context.fillText(this.fitText(lane.name, this.gutter - 10), 2, lane.top + ROW_HEIGHT / 2);
    if (!two)
      return;
    context.font = `11px ${this.font}`;
    context.fillStyle = cssColor('--muted');
    context.fillText(lane.side, 2, lane.top + ROW_HEIGHT * 1.4);
  }

  /* Of spans within one pixel only the first is painted. */
  paintRow(row, top) {
    let painted = -1;

    for (let place = this.firstVisible(row); place < row.length; place++) {
      const span = row[place];
      const left = Math.max(this.xAt(span.start), this.gutter - 2);
      const right = Math.min(this.xAt(span.end), this.width + 2);

      if (span.start > this.until)
        break;
      if (right <= painted)
        continue;
      this.paintSpan(span, left, Math.max(right - left, 1), top);
      painted = Math.max(right, left + 1);
    }
  }

  /* The place of the first span that ends behind the left edge; rows do not overlap. */
  firstVisible(row) {
    let low = 0, high = row.length;

    while (low < high) {
      const middle = (low + high) >> 1;

      if (row[middle].end < this.from)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  paintSpan(span, left, width, top) {
    const {context} = this;
    const color = colorOf(span.type);

    context.fillStyle = color;
    context.fillRect(left, top + 1, width > 3 ? width - 0.5 : width, ROW_HEIGHT - 2);
    if (width > 26) {
      context.fillStyle = textOn(color);
      context.fillText(this.fitText(span.name, width - 8), left + 4, top + ROW_HEIGHT / 2 + 0.5);
    }
    if (span === this.chosen || span === this.hovered) {
      context.strokeStyle = cssColor('--text');
      context.lineWidth = 2;
      context.strokeRect(left + 1, top + 2, Math.max(width - 2, 1), ROW_HEIGHT - 4);
      context.lineWidth = 1;
    }
  }

  fitText(text, width) {
    const size = this.context.measureText(text).width;

    if (size <= width)
      return text;
    const length = Math.floor(text.length * width / size) - 1;

    return length < 5 ? '' : shorten(text, length);
  }

  paintFlows() {
    const span = this.hovered || this.chosen;

    if (!span)
      return;
    for (const target of span.launched)
      this.paintFlow(span, target);
    if (span.launch)
      this.paintFlow(span.launch, span);
  }

  paintFlow(from, to) {
    const {context} = this;
    const [x1, y1, x2, y2] = [...this.pointOf(from), ...this.pointOf(to)];
    const bend = Math.max(30, Math.abs(x2 - x1) / 2);

    context.save();
    context.beginPath();
    context.rect(this.gutter, AXIS_HEIGHT, this.width, this.view.height);
    context.clip();
    context.strokeStyle = cssColor('--text');
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
    context.stroke();
    context.beginPath();
    context.arc(x2, y2, 3, 0, 7);
    context.fillStyle = cssColor('--text');
    context.fill();
    context.restore();
  }

  /* Where lines of a span begin and end: its start, in the middle of its row. */
  pointOf(span) {
    const lane = this.view.lanes.find((one) => one.name === span.lane);

    return [this.xAt(span.start), lane.top + (span.row + 0.5) * ROW_HEIGHT];
  }

  /* --- The pointer, keys and buttons. --- */

  spanAt(x, y) {
    const lane = this.view.lanes.find((one) => y >= one.top && y < one.top + one.height);

    if (!lane || x < this.gutter)
      return null;
    const row = lane.rows[Math.floor((y - lane.top) / ROW_HEIGHT)];
    const near = this.nsPerPixel() * 2;
    const time = this.timeAt(x);
    let best = null;

    for (let place = this.firstVisible(row); place < row.length && row[place].start <= time + near; place++) {
      if (row[place].end >= time - near)
        best = row[place].start <= time || !best ? row[place] : best;
    }
    return best;
  }

  describe() {
    const span = this.hovered || this.chosen;
    const details = this.figure.querySelector('.details');

    details.textContent = span ? this.detailsOf(span)
      : 'Drag to move, Ctrl and the wheel or + and - to zoom, double-click to zoom to a span; point at a span for its details.';
  }

  detailsOf(span) {
    const parts = [
      `${span.name}${span.type && span.type !== span.name ? ` (${span.type})` : ''}`,
      `${formatDuration(span.duration)} from ${formatDuration(span.start - this.view.start)} on`,
    ];

    if (span.self !== null && span.self !== span.duration)
      parts.push(`self time ${formatDuration(span.self)}`);
    if (span.launch)
      parts.push(`started ${formatDuration(span.start - span.launch.start)} after its launch by ${span.launch.name}`);
    if (span.launched.length)
      parts.push(`launched ${span.launched.length} on a device`);
    return parts.join(' · ');
  }

  makeControls() {
    const select = this.figure.querySelector('select');
    const buttons = {in: () => this.zoom(0.6), out: () => this.zoom(1 / 0.6), fit: () => this.fit()};

    select.append(...this.views.map((view, place) => new Option(view.name, place)));
    select.disabled = this.views.length < 2;
    select.addEventListener('change', () => this.show(Number(select.value)));
    for (const button of this.figure.querySelectorAll('button[data-do]'))
      button.addEventListener('click', buttons[button.dataset.do]);
  }

  listen() {
    const {canvas} = this;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();

      return [event.clientX - box.left, event.clientY - box.top];
    };
    let dragged = null, moved = 0;

    canvas.addEventListener('wheel', (event) => {
      if (event.ctrlKey || event.metaKey)
        this.zoom(Math.exp(event.deltaY * 0.004), place(event)[0]);
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
        this.pan(event.deltaX || event.deltaY);
      else
        return;
      event.preventDefault();
    }, {passive: false});
    canvas.addEventListener('pointerdown', (event) => {
      dragged = event.clientX;
      moved = 0;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (dragged !== null) {
        moved += Math.abs(event.clientX - dragged);
        this.pan(dragged - event.clientX);
        dragged = event.clientX;
        return;
      }
      this.hover(this.spanAt(...place(event)));
    });
    canvas.addEventListener('pointerup', (event) => {
      if (dragged !== null && moved < 4)
        this.chosen = this.spanAt(...place(event));
      dragged = null;
      this.describe();
      this.draw();
    });
    canvas.addEventListener('pointercancel', () => { dragged = null; });
    canvas.addEventListener('pointerleave', () => this.hover(null));
    canvas.addEventListener('dblclick', (event) => this.zoomTo(this.spanAt(...place(event))));
    canvas.addEventListener('keydown', (event) => this.press(event));
    new ResizeObserver(() => this.draw()).observe(this.figure.querySelector('.stage'));
  }

  hover(span) {
    if (span === this.hovered)
      return;
    this.hovered = span;
    this.canvas.style.cursor = span ? 'pointer' : 'grab';
    this.describe();
    this.draw();
  }

  zoomTo(span) {
    if (span)
      this.setWindow(span.start - span.duration * 0.1, span.end + span.duration * 0.1);
  }

  press(event) {
    const actions = {
      '+': () => this.zoom(0.6), '=': () => this.zoom(0.6), '-': () => this.zoom(1 / 0.6),
      '0': () => this.fit(), ArrowLeft: () => this.pan(-80), ArrowRight: () => this.pan(80),
    };

    if (!actions[event.key] || event.ctrlKey || event.metaKey)
      return;
    event.preventDefault();
    actions[event.key]();
  }
}
