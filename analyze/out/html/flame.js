/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans as a flame view: those of one name inside of the same ones are one bar, as wide as all of
 * them took, below what they lie in; of the range that is marked, or of what is seen.
 */

/* A tree of {name, type, total, self, count, children, parent}; lanes are its first level. */
function makeFlame(view, range) {
  const root = {name: view.name, type: '', total: 0, self: 0, count: 0, children: new Map(), parent: null};
  const nodes = new Map(); /* from a span to its node */
  const childOf = (parent, name, type) => {
    const key = `${type}\n${name}`;

    if (!parent.children.has(key))
      parent.children.set(key, {name, type, total: 0, self: 0, count: 0, children: new Map(), parent});
    return parent.children.get(key);
  };

  for (const lane of view.lanes) {
    for (const span of lane.spans) {
      const part = partOf(span, range);

      if (part <= 0)
        continue;
      const around = span.parent && nodes.get(span.parent) || childOf(root, lane.name, 'lane');
      const node = childOf(around, span.name, span.type);

      nodes.set(span, node);
      node.total += part;
      node.self += part;
      node.count++;
      around.self -= part;
      if (around.parent === root) {
        around.total += part;
        around.self = 0;
        root.total += part;
      }
    }
  }
  return root;
}

const REST_MS = 120;

function sortedChildren(node) {
  return Array.from(node.children.values()).sort((a, b) => b.total - a.total);
}

class Flame {
  constructor(timeline) {
    this.timeline = timeline;
    this.box = timeline.figure.querySelector('.flame');
    this.button = timeline.figure.querySelector('[data-do=flame]');
    this.button.addEventListener('click', () => this.toggle());
  }

  toggle() {
    this.box.hidden = !this.box.hidden;
    this.button.setAttribute('aria-pressed', !this.box.hidden);
    if (!this.canvas)
      this.make();
    this.made = null;
    this.update();
  }

  make() {
    this.canvas = element('canvas', [], {tabIndex: 0});
    this.canvas.setAttribute('role', 'application');
    this.said = element('p', [], {className: 'said'});
    this.said.setAttribute('aria-live', 'polite');
    this.box.append(this.canvas, this.said);
    this.canvas.addEventListener('pointermove', (event) => this.point(this.barAt(event)));
    this.canvas.addEventListener('pointerleave', () => this.point(null));
    this.canvas.addEventListener('click', (event) => this.enter(this.barAt(event)));
    this.canvas.addEventListener('keydown', (event) => this.press(event));
  }

  show() {
    this.made = null;
  }

  choose() {
    this.update();
  }

  rangeOf() {
    const {timeline} = this;

    return timeline.range || {from: timeline.from, until: timeline.until};
  }

  /* While the window moves, what is in it is added up once it rests. */
  draw() {
    if (this.box.hidden)
      return;
    if (this.made === this.key())
      this.paint();
    else {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.update(), REST_MS);
    }
  }

  key() {
    const range = this.rangeOf();

    return `${range.from} ${range.until}`;
  }

  update() {
    if (this.box.hidden)
      return;
    if (this.made !== this.key()) {
      this.made = this.key();
      this.root = makeFlame(this.timeline.view, this.rangeOf());
      this.top = this.root;
      this.pointed = null;
      this.tell();
    }
    this.paint();
  }

  /* Bars of what is below `top`, each {node, left, width, row}. */
  layOut(width) {
    const bars = [];
    const place = (node, left, row, scale) => {
      bars.push({node, left, width: node.total * scale, row});
      let at = left;

      for (const child of sortedChildren(node)) {
        if (child.total * scale >= 0.5)
          place(child, at, row + 1, scale);
        at += child.total * scale;
      }
    };

    place(this.top, 0, 0, this.top.total > 0 ? width / this.top.total : 0);
    return bars;
  }

  paint() {
    const scale = window.devicePixelRatio || 1;
    const context = this.canvas.getContext('2d');
    const width = this.box.clientWidth;

    this.bars = this.layOut(width);
    const height = (Math.max(...this.bars.map((bar) => bar.row)) + 1) * ROW_HEIGHT + 2;

    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.setAttribute('aria-label', `Flame view of ${this.timeline.view.name}: ${this.bars.length} bars`);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.textBaseline = 'middle';
    context.font = `11px ${Chart.defaults.font.family}`;
    this.bars.forEach((bar) => this.paintBar(context, bar));
  }

  paintBar(context, bar) {
    const {node, left, width} = bar;
    const color = node.type === 'lane' || !node.parent ? '#7d7f86' : shadeOf(node.type, node.name);
    const top = bar.row * ROW_HEIGHT;

    context.fillStyle = color;
    context.fillRect(left, top + 1, Math.max(width - 0.5, 0.5), ROW_HEIGHT - 2);
    if (width > 30) {
      context.fillStyle = textOn(color);
      context.fillText(fitInto(context, node.name, width - 8), left + 4, top + ROW_HEIGHT / 2 + 0.5);
    }
    if (node === this.pointed) {
      context.strokeStyle = cssColor('--text');
      context.lineWidth = 2;
      context.strokeRect(left + 1, top + 2, Math.max(width - 2, 1), ROW_HEIGHT - 4);
    }
  }

  barAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, row] = [event.clientX - box.left, Math.floor((event.clientY - box.top) / ROW_HEIGHT)];
    const bar = this.bars.find((one) => one.row === row && x >= one.left && x < one.left + one.width);

    return bar ? bar.node : null;
  }

  point(node) {
    if (node === this.pointed)
      return;
    this.pointed = node;
    this.tell();
    this.paint();
  }

  /* Its width becomes the whole; the widest bar leads back. */
  enter(node) {
    if (!node)
      return;
    this.top = node === this.top && node.parent ? node.parent : node;
    this.point(node);
    this.paint();
  }

  tell() {
    const node = this.pointed;

    this.said.textContent = !node
      ? 'Each bar is all spans of a name in one place, as wide as they took together. Click one to see it in full width.'
      : `${node.name}: ${formatDuration(node.total)}, ${formatValue('share', node.total / this.root.total)} of all`
        + `${node.count ? `, ${node.count} spans, self time ${formatDuration(Math.max(0, node.self))}` : ''}`;
  }

  press(event) {
    const node = this.pointed || this.top;
    const siblings = node.parent ? sortedChildren(node.parent) : [node];
    const at = siblings.indexOf(node);
    const to = {
      ArrowDown: sortedChildren(node)[0], ArrowUp: node.parent,
      ArrowLeft: siblings[at - 1], ArrowRight: siblings[at + 1],
    };

    if (event.key === 'Enter')
      this.enter(node);
    else if (event.key === 'Escape')
      this.enter(this.root);
    else if (event.key in to)
      this.point(to[event.key] || node);
    else
      return;
    event.preventDefault();
  }
}
