/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a range of a timeline: what each op took in it, how busy each lane was. */

const RANGE_LINES = 100;

/* What each span has in a range without the spans directly inside of it; phases are part of an op. */
function selfTimesIn(spans, range) {
  const self = new Map();

  for (const span of spans) {
    const part = partOf(span, range);

    if (part > 0 || (span.duration === 0 && span.start >= range.from && span.start <= range.until))
      self.set(span, part);
  }
  for (const span of self.keys()) {
    if (span.parent && self.has(span.parent) && span.type !== 'phase')
      self.set(span.parent, self.get(span.parent) - partOf(span, range));
  }
  return self;
}

function sumByOp(self, range) {
  const lines = new Map();

  for (const [span, ns] of self) {
    const key = `${span.side === 'host'}\n${span.type}\n${span.name}`;
    const line = lines.get(key)
      || {name: span.name, type: span.type, count: 0, self: 0, total: 0, least: Infinity, most: 0};

    line.count++;
    line.self += ns;
    line.total += partOf(span, range);
    line.least = Math.min(line.least, span.duration);
    line.most = Math.max(line.most, span.duration);
    lines.set(key, line);
  }
  return Array.from(lines.values()).sort((a, b) => b.self - a.self);
}

/* Time with some span on the lane. */
function busyIn(lane, range) {
  let until = range.from, busy = 0;

  for (const span of lane.spans) {
    const from = Math.max(span.start, until), end = Math.min(span.end, range.until);

    if (end <= from)
      continue;
    busy += end - from;
    until = end;
  }
  return busy;
}

class RangeCard {
  constructor(timeline) {
    this.timeline = timeline;
    this.card = timeline.figure.querySelector('.range-card');
    this.shown = null; /* the range whose statistics these are */
  }

  choose() {
    const {range} = this.timeline;

    if (range === this.shown)
      return;
    this.shown = range;
    this.card.hidden = !range;
    if (!range)
      this.card.replaceChildren();
    else if (!this.frame)
      this.frame = requestAnimationFrame(() => this.fill());
  }

  fill() {
    const {timeline, shown: range} = this;

    this.frame = null;
    if (!range)
      return;
    const self = selfTimesIn(timeline.view.spans, range);
    const lines = sumByOp(self, range);
    const table = this.tableOf(lines.slice(0, RANGE_LINES), range);

    this.card.replaceChildren(
      element('h3', `${formatDuration(range.until - range.from)} from ${formatDuration(range.from - timeline.view.start)} on: ${self.size} spans`),
      element('div', this.buttons(), {className: 'ways'}),
      this.lanesOf(range),
      element('div', table, {className: 'scroll'}));
    if (lines.length > RANGE_LINES)
      this.card.append(element('p', `The first ${RANGE_LINES} of ${lines.length} lines.`, {className: 'cut'}));
    enableTable(table);
  }

  buttons() {
    const {timeline} = this;
    const zoom = element('button', 'Zoom to it', {type: 'button'});
    const close = element('button', 'Close', {type: 'button'});

    zoom.addEventListener('click', () => timeline.setWindow(timeline.range.from, timeline.range.until));
    close.addEventListener('click', () => { timeline.setRange(null); timeline.canvas.focus(); });
    return [zoom, close];
  }

  lanesOf(range) {
    const length = range.until - range.from;
    const facts = this.timeline.view.lanes.map((lane) => [lane.name, busyIn(lane, range)]).filter(([, busy]) => busy > 0);

    return element('dl', [...facts.map(([name, busy]) => element('div', [
      element('dt', `busy: ${name}`),
      element('dd', `${formatDuration(busy)} (${formatValue('share', busy / length)})`),
    ])), ...this.tracksOf(range)]);
  }

  tracksOf(range) {
    return this.timeline.view.tracks.map((track) => [track, statisticsOf(track, range)])
      .filter(([, statistics]) => statistics)
      .map(([track, {least, average, most}]) => element('div', [
        element('dt', track.name),
        element('dd', `${[least, average, most].map((value) => formatValue(track.kind, value)).join(' … ')}`,
          {title: 'the least, on average, the most'}),
      ]));
  }

  tableOf(lines, range) {
    const whole = range.until - range.from;
    const number = (kind, value) => ({text: formatValue(kind, value), value});

    return makeTable(['name', 'type', 'count', 'self time', 'of the range', 'time', 'average', 'shortest', 'longest'],
      lines.map((line) => [line.name, line.type, number('int', line.count), number('ns', line.self),
        number('share', line.self / whole), number('ns', line.total), number('ns', line.total / line.count),
        number('ns', line.least), number('ns', line.most)]));
  }
}
