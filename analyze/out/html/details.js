/* SPDX-License-Identifier: Apache-2.0 */
/* The card of the span that is chosen on a timeline: all that is known of it, ways on from there. */

const LAUNCHED_SHOWN = 8;

function element(tag, content, attributes) {
  const made = Object.assign(document.createElement(tag), attributes);

  made.append(...[content].flat().filter((part) => part !== null && part !== undefined));
  return made;
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
    const facts = this.factsOf(span).filter(([, value]) => value !== null && value !== '');

    return [
      element('h3', span.name),
      element('div', this.waysFrom(span), {className: 'ways'}),
      element('dl', facts.map(([name, value]) => element('div', [element('dt', name), element('dd', value)]))),
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
