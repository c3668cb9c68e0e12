/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans in lanes over time, on a canvas: zoom, pan, what is under the pointer, lines from a launch to
 * what it started on a device. Finding spans, the details of one, the statistics of a range and the
 * flame view are parts of their own: each may have show() (another run), draw() (another window) and
 * choose() (another span or range).
 */

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

/* As much of a text as fits; of less than five letters nothing. */
function fitInto(context, text, width) {
  const size = context.measureText(text).width;

  if (size <= width)
    return text;
  const length = Math.floor(text.length * width / size) - 1;
  const fitted = length < 5 ? '' : shorten(text, length);

  return fitted && context.measureText(fitted).width > width ? shorten(fitted, length - 2) : fitted;
}

/* The place of the first span of a row that ends at a time or later; rows do not overlap. */
function endsFrom(row, time) {
  let low = 0, high = row.length;

  while (low < high) {
    const middle = (low + high) >> 1;

    if (row[middle].end < time)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* distinctNames() for a width in pixels. */
function distinctTexts(context, names, width) {
  const fitted = names.map((name) => fitInto(context, name, width));

  const cut = names.map((name, place) => {
    const common = commonWithAlike(names, fitted, place);
    let length = name.length;

    if (!common)
      return fitted[place];
    while (length > 2 && context.measureText(cutCommon(name, common, length)).width > width)
      length--;
    return cutCommon(name, common, length);
  });

  return cut.map((text, place) => text && names.some((other, at) => other !== names[place] && cut[at] === text)
    ? `${text.slice(0, -4)} ${place + 1}` : text);
}

class Timeline {
  constructor(figure) {
    this.figure = figure;
    this.canvas = figure.querySelector('canvas');
    this.ops = readOps();
    this.views = makeViews(readSpans(readFigure(figure), this.ops), readTracks());
    this.tracks = new TrackPainter(this);
    this.track = null;   /* below the pointer */
    this.hovered = null; /* a span */
    this.chosen = null;  /* a span */
    this.range = null;   /* {from, until} */
    this.matches = null; /* a Set of spans: the others are pale */
    this.labels = [];    /* texts on the canvas: {text, left, right, top, bottom} */
    this.makeControls();
    this.finder = new SpanFinder(this);
    this.parts = [this.finder, new SpanCard(this), new RangeCard(this), new Flame(this)];
    this.listen();
    this.show(0);
  }

  show(place) {
    this.view = this.views[place];
    this.chosen = this.hovered = this.range = this.matches = null;
    this.figure.querySelector('select').value = place;
    this.canvas.setAttribute('aria-label', `Timeline of ${this.view.name}: ${this.view.lanes.length} lanes`);
    this.figure.dataset.lanes = this.view.lanes.length;
    this.figure.dataset.spans = this.view.spans.length;
    this.fit();
    this.tell('show');
    this.choose(null);
    this.paint();
  }

  /* Lets the parts know. */
  tell(what) {
    this.parts.forEach((part) => part[what] && part[what]());
  }

  choose(span) {
    this.chosen = span;
    this.describe();
    this.tell('choose');
    this.draw();
  }

  /* A span of any run: it is chosen, and seen together with what is around it. */
  reveal(span) {
    const place = this.views.findIndex((view) => view.name === span.view);

    if (this.views[place] !== this.view)
      this.show(place);
    const length = Math.max(span.duration * 4, (this.until - this.from) / 1000, 100);

    if (span.start < this.from || span.end > this.until || span.duration < (this.until - this.from) / 50)
      this.setWindow(span.start - length / 2, span.end + length / 2);
    this.choose(span);
    this.scrollTo(span);
  }

  /* Lanes may be higher than the stage. */
  scrollTo(span) {
    const stage = this.figure.querySelector('.stage');
    const y = this.pointOf(span)[1];

    if (y < stage.scrollTop + AXIS_HEIGHT || y > stage.scrollTop + stage.clientHeight - ROW_HEIGHT)
      stage.scrollTop = y - stage.clientHeight / 2;
  }

  setRange(range) {
    this.range = range && range.until > range.from ? range : null;
    this.tell('choose');
    this.draw();
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
    this.labels = [];
    context.font = `600 12px ${this.font}`;
    this.titles = distinctTexts(context, [...this.view.lanes, ...this.view.tracks].map((one) => one.name), this.gutter - 10);
    this.paintAxis();
    this.view.lanes.forEach((lane) => this.paintLane(lane));
    this.tracks.paint();
    this.paintRange();
    this.paintFlows();
    this.tell('draw');
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
      this.writeTick(formatTick(Math.abs(tick) < step / 2 ? 0 : tick, step), x);
    }
  }

  /* Where there is room for it. */
  writeTick(text, x) {
    const half = this.context.measureText(text).width / 2;
    const last = this.labels[this.labels.length - 1];

    if (x - half > Math.max(this.gutter, last ? last.right + 8 : 0) && x + half < this.width - 2)
      this.write(text, x, 9, x - half);
  }

  write(text, x, y, left) {
    if (!text)
      return;
    this.context.fillText(text, x, y);
    this.labels.push({text, left, right: left + this.context.measureText(text).width, top: y - 6, bottom: y + 6});
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
    this.write(this.titles[this.view.lanes.indexOf(lane)], 2, lane.top + ROW_HEIGHT / 2, 2);
    if (!two)
      return;
    context.font = `11px ${this.font}`;
    context.fillStyle = cssColor('--muted');
    this.write(this.fitText(lane.side, this.gutter - 10), 2, lane.top + ROW_HEIGHT * 1.4, 2);
  }

  /* What was found is painted above the rest, which is pale. */
  paintRow(row, top) {
    const {context, matches} = this;

    context.globalAlpha = matches ? 0.2 : 1;
    this.paintSpans(row, top, null);
    context.globalAlpha = 1;
    if (matches)
      this.paintSpans(row, top, (span) => matches.has(span));
  }

  /* Of spans within one pixel only the first that is wanted (null: any) is painted. */
  paintSpans(row, top, isWanted) {
    let painted = -1;

    for (let place = endsFrom(row, this.from); place < row.length && row[place].start <= this.until; place++) {
      const span = row[place];
      const left = Math.max(this.xAt(span.start), this.gutter - 2);
      const right = Math.min(this.xAt(span.end), this.width + 2);

      if (right <= painted || (isWanted && !isWanted(span)))
        continue;
      this.paintSpan(span, left, Math.max(right - left, 1), top);
      painted = Math.max(right, left + 1);
      if (!isWanted)
        place = Math.max(place, endsFrom(row, this.timeAt(painted)) - 1);
    }
  }

  paintSpan(span, left, width, top) {
    const {context} = this;
    const color = shadeOf(span.type, span.name);

    context.fillStyle = color;
    context.fillRect(left, top + 1, width > 3 ? width - 0.5 : width, ROW_HEIGHT - 2);
    if (width > 26 && context.globalAlpha === 1) {
      context.fillStyle = textOn(color);
      this.write(this.fitText(span.name, width - 8), left + 4, top + ROW_HEIGHT / 2 + 0.5, left + 4);
    }
    if (span === this.chosen || span === this.hovered) {
      context.strokeStyle = cssColor('--text');
      context.lineWidth = 2;
      context.strokeRect(left + 1, top + 2, Math.max(width - 2, 1), ROW_HEIGHT - 4);
      context.lineWidth = 1;
    }
  }

  fitText(text, width) {
    return fitInto(this.context, text, width);
  }

  paintRange() {
    const {context, range} = this;

    if (!range)
      return;
    const [left, right] = [this.xAt(range.from), this.xAt(range.until)].map((x) => Math.max(x, this.gutter));

    context.fillStyle = `${cssColor('--accent')}24`;
    context.fillRect(left, AXIS_HEIGHT - 6, right - left, this.view.height);
    context.fillStyle = cssColor('--accent');
    context.fillRect(left, AXIS_HEIGHT - 6, 1, this.view.height);
    context.fillRect(right, AXIS_HEIGHT - 6, 1, this.view.height);
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

  /* --- What is where, and what is said of it. --- */

  spanAt(x, y) {
    const lane = this.view.lanes.find((one) => y >= one.top && y < one.top + one.height);

    if (!lane || x < this.gutter)
      return null;
    const row = lane.rows[Math.floor((y - lane.top) / ROW_HEIGHT)];
    const near = this.nsPerPixel() * 2;
    const time = this.timeAt(x);
    let best = null;

    for (let place = endsFrom(row, this.from); place < row.length && row[place].start <= time + near; place++) {
      if (row[place].end >= time - near)
        best = row[place].start <= time || !best ? row[place] : best;
    }
    return best;
  }

  describe() {
    const span = this.hovered || this.chosen;
    const details = this.figure.querySelector('.details');

    details.textContent = this.track ? this.tracks.describe(this.track, this.timeAt(this.pointerX))
      : span ? this.summaryOf(span)
      : 'Drag to move, Shift and drag for the statistics of a range, Ctrl and the wheel to zoom; click a span for its details.';
  }

  summaryOf(span) {
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
    const range = this.figure.querySelector('[data-do=range]');
    const actions = {
      in: () => this.zoom(0.6), out: () => this.zoom(1 / 0.6), fit: () => this.fit(),
      range: () => range.setAttribute('aria-pressed', range.getAttribute('aria-pressed') !== 'true'),
    };

    select.append(...this.views.map((view, place) => new Option(view.name, place)));
    select.disabled = this.views.length < 2;
    select.addEventListener('change', () => this.show(Number(select.value)));
    for (const [name, act] of Object.entries(actions))
      this.figure.querySelector(`[data-do=${name}]`).addEventListener('click', act);
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

  listen() {
    const {canvas} = this;

    new TimelinePointer(this);
    canvas.addEventListener('keydown', (event) => pressTimelineKey(this, event));
    new ResizeObserver(() => this.draw()).observe(this.figure.querySelector('.stage'));
  }
}
