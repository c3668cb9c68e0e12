/* SPDX-License-Identifier: Apache-2.0 */
/* The card of the span that is chosen on a timeline: all that is known of it, ways on from there. */

const LAUNCHED_SHOWN = 8;

function element(tag, content, attributes) {
  const made = Object.assign(document.createElement(tag), attributes);

  made.append(...[content].flat().filter((part) => part !== null && part !== undefined));
  return made;
}

/* What is known of the ops on the timeline, in the order that spans count them in. */
function readOps() {
  const script = document.getElementById('data-timeline_ops');

  if (!script)
    return [];
  const data = readData(script);
  const texts = ['name', 'type', 'id', 'device', 'source', 'in_shapes', 'in_dtypes', 'out_shapes', 'out_dtypes', 'origin',
    'stack', 'params'];
  const columns = texts.map((name) => data.texts(name));
  const [flop, bytes] = [data.numbers('computation_flop'), data.numbers('memory_bytes')];

  return flop.map((value, place) => ({
    ...Object.fromEntries(texts.map((name, at) => [name, columns[at][place]])), flop: value, bytes: bytes[place],
  }));
}

/* JSON from a recording, or what is given in its stead. */
function parsed(text, otherwise) {
  try {
    return JSON.parse(text) || otherwise;
  } catch {
    return otherwise;
  }
}

/* "1×3×224×224 f32", one below the other. */
function shapesText(shapes, dtypes) {
  const kinds = parsed(dtypes, []);

  return parsed(shapes, []).map((shape, place) => {
    const sizes = Array.isArray(shape) && shape.length ? shape.map((size) => size === null ? '?' : size).join('×') : '';

    return [sizes, kinds[place]].filter(Boolean).join(' ') || 'scalar';
  }).join(', ');
}

/* The arguments of an op, but for its stack, which has a place of its own. */
function argumentsOf(op) {
  return Object.entries(parsed(op.params, {})).filter(([name]) => name !== 'stack')
    .map(([name, value]) => [name, typeof value === 'object' ? JSON.stringify(value) : String(value)]);
}

class SpanCard {
  constructor(timeline) {
    this.timeline = timeline;
    this.card = timeline.figure.querySelector('.span-card');
  }

  choose() {
    const span = this.timeline.chosen;

    this.card.hidden = !span;
    this.card.replaceChildren(...(span ? this.contentOf(span) : []));
  }

  contentOf(span) {
    const op = this.timeline.ops[span.op];
    const facts = this.factsOf(span).concat(op ? this.factsOfOp(span, op) : []);
    const args = op ? argumentsOf(op) : [];

    return [
      element('h3', span.name),
      element('div', this.waysFrom(span), {className: 'ways'}),
      this.listOf(facts),
      ...(args.length ? [element('h4', 'Arguments'), this.listOf(args)] : []),
      ...this.stackOf(span),
    ];
  }

  listOf(facts) {
    return element('dl', facts.filter(([, value]) => value !== null && value !== '')
      .map(([name, value]) => element('div', [element('dt', name), element('dd', value)])));
  }

  /* Its own, or that of the nearest op around it or around its launch. */
  stackOf(span) {
    const frames = (one) => parsed((this.timeline.ops[one.op] || {}).stack, []);
    let owner = span;

    while (owner && !frames(owner).length)
      owner = owner.launch || owner.parent;
    if (!owner)
      return [];
    return [
      element('h4', owner === span ? 'Call stack' : ['Call stack of ', this.wayTo(owner)]),
      element('ol', frames(owner).map((frame) => element('li', frame)), {className: 'stack'}),
    ];
  }

  factsOfOp(span, op) {
    const perSecond = (amount) => amount && span.duration > 0 ? amount / span.duration * 1e9 : null;
    const both = (kind, amount) => amount === null ? null
      : [formatValue(kind, amount), perSecond(amount) && `${formatValue(`${kind === 'flop' ? 'flop' : 'byte'}_rate`, perSecond(amount))}`]
          .filter(Boolean).join(', ');

    return [
      ['input shapes', shapesText(op.in_shapes, op.in_dtypes)],
      ['output shapes', shapesText(op.out_shapes, op.out_dtypes)],
      ['computation', both('flop', op.flop)],
      ['bytes read and written', both('bytes', op.bytes)],
      ['copied', both('bytes', span.bytes)],
      ['id in the model', op.id],
      ['made from', parsed(op.origin, []).join(', ')],
      ['device', op.device],
      ['source', op.source],
    ];
  }

  waysFrom(span) {
    const {timeline} = this;
    const row = findOpRow(span);
    const ways = [
      ['Zoom to it', () => timeline.zoomTo(span)],
      ['All of this name', () => timeline.finder.searchOp(span, span.name)],
      ['Its time as range', () => timeline.setRange({from: span.start, until: span.end})],
      ['Close', () => { timeline.choose(null); timeline.canvas.focus(); }],
    ];

    if (row)
      ways.splice(2, 0, ['In the table', () => showRow(row)]);
    return ways.map(([title, act]) => this.button(title, act));
  }

  button(title, act) {
    const made = element('button', title, {type: 'button'});

    made.addEventListener('click', act);
    return made;
  }

  wayTo(span, text) {
    return this.button(text || shorten(span.name, 60), () => this.timeline.reveal(span));
  }

  factsOf(span) {
    const inside = this.timeline.view.spans.filter((other) => other.parent === span).length;

    return [
      ['type', span.type],
      ['lane', span.side && span.side !== span.lane ? `${span.lane} (${span.side})` : span.lane],
      ['begins at', formatDuration(span.start - this.timeline.view.start)],
      ['duration', formatDuration(span.duration)],
      ['self time', span.self === null ? null : formatDuration(span.self)],
      ['inside of', span.parent && this.wayTo(span.parent)],
      ['spans inside', inside ? String(inside) : null],
      ['launched by', span.launch
        && [this.wayTo(span.launch), ` ${formatDuration(span.start - span.launch.start)} before`]],
      ['in', span.launch && span.launch.parent ? this.wayTo(span.launch.parent) : null],
      ['launched', span.launched.length ? this.launchedBy(span) : null],
    ];
  }

  launchedBy(span) {
    const ways = span.launched.slice(0, LAUNCHED_SHOWN).map((other) => this.wayTo(other));

    if (span.launched.length > LAUNCHED_SHOWN)
      ways.push(` and ${span.launched.length - LAUNCHED_SHOWN} more`);
    return ways;
  }
}
