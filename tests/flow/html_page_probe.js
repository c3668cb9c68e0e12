/* SPDX-License-Identifier: Apache-2.0 */
/* What html_page.py puts at the end of a page: does what a reader would do, and writes into #probe what
 * came of it, "passed: WHAT" or "failed: WHAT: WHY" on each line. */
'use strict';

const results = [];
const timeline = timelines[0];
const {figure} = timeline;

function attempt(what, act) {
  try {
    act();
    results.push(`passed: ${what}`);
  } catch (error) {
    results.push(`failed: ${what}: ${error.message.replace(/\s+/g, ' ')}`);
  }
}

function expect(got, wanted, about) {
  if (String(got) !== String(wanted))
    throw new Error(`${about || 'it'} is ${got}, not ${wanted}`);
}

function expectThat(holds, about) {
  if (!holds)
    throw new Error(about);
}

function press(key, more) {
  timeline.canvas.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true, ...more}));
}

function pointer(type, x, y, more) {
  const box = timeline.canvas.getBoundingClientRect();

  timeline.canvas.dispatchEvent(new PointerEvent(type, {clientX: box.left + x, clientY: box.top + y, button: 0, ...more}));
}

function type(input, text) {
  input.value = text;
  input.dispatchEvent(new Event('input', {bubbles: true}));
}

function buttonOf(box, title) {
  const button = Array.from(box.querySelectorAll('button')).find((one) => one.textContent === title);

  expectThat(button, `no button "${title}"`);
  return button;
}

function startOver() {
  timeline.show(0);
  timeline.finder.clear();
  timeline.setRange(null);
  timeline.choose(null);
  timeline.fit();
  timeline.paint();
}

function spanNamed(name) {
  const span = timeline.view.spans.find((one) => one.name === name);

  expectThat(span, `no span ${name}`);
  return span;
}

const windowLength = () => timeline.until - timeline.from;

setTheme(location.hash === '#dark' ? 'dark' : 'light');

/* --- The timeline. --- */

attempt('W and S zoom, A and D move', () => {
  startOver();
  const whole = windowLength();

  press('w');
  expectThat(Math.abs(windowLength() / whole - 0.75) < 1e-6, 'W does not zoom in');
  press('S');
  expectThat(Math.abs(windowLength() / whole - 1) < 1e-6, 'S does not zoom out');
  timeline.zoom(0.1);
  const from = timeline.from;

  press('d');
  expectThat(timeline.from > from, 'D does not move to later');
  press('a');
  expectThat(Math.abs(timeline.from - from) < 1e-3, 'A does not move back');
});

attempt('keys of the system stay the system\'s', () => {
  startOver();
  const whole = windowLength();

  press('w', {ctrlKey: true});
  expect(windowLength(), whole, 'the window');
});

attempt('a click chooses a span, its card tells of it', () => {
  startOver();
  const span = spanNamed('aten::convolution');
  const [x, y] = timeline.pointOf(span);

  pointer('pointerdown', x + 1, y);
  pointer('pointerup', x + 1, y);
  const card = figure.querySelector('.span-card');

  expectThat(!card.hidden, 'there is no card');
  expectThat(isSameOp(timeline.chosen, span), `${timeline.chosen.name} is chosen`);
  expect(card.querySelector('h3').textContent, 'aten::convolution', 'its head');
  for (const part of ['180 µs', 'aten::conv2d', '10/10'])
    expectThat(card.textContent.includes(part), `the card lacks ${part}: ${card.textContent}`);
});

attempt('the card leads to what is around, and from a launch to its kernel and back', () => {
  startOver();
  timeline.reveal(spanNamed('cudaLaunchKernel'));
  const card = figure.querySelector('.span-card');
  const launched = timeline.chosen.launched[0];

  buttonOf(card, shorten(launched.name, 60)).click();
  expect(timeline.chosen, launched, 'what is chosen');
  buttonOf(card, 'cudaLaunchKernel').click();
  expect(timeline.chosen.name, 'cudaLaunchKernel', 'what is chosen');
  buttonOf(card, 'aten::convolution').click();
  expect(timeline.chosen.name, 'aten::convolution', 'what is chosen');
  buttonOf(card, 'Close').click();
  expectThat(card.hidden && !timeline.chosen, 'it does not close');
});

attempt('keys walk from span to span', () => {
  startOver();
  timeline.reveal(spanNamed('aten::conv2d'));
  const first = timeline.chosen;

  press('ArrowDown', {shiftKey: true});
  expect(timeline.chosen.name, 'aten::convolution', 'inside');
  press('ArrowUp', {shiftKey: true});
  expect(timeline.chosen, first, 'around');
  press('ArrowRight', {shiftKey: true});
  expectThat(timeline.chosen.start > first.start, 'it is not the next one');
  press('Escape');
  expect(timeline.chosen, null, 'what is chosen');
});

attempt('spans are found by words', () => {
  const input = figure.querySelector('.find input');
  const count = figure.querySelector('.find span');

  startOver();
  type(input, 'CONV2D aten');
  const found = timeline.view.spans.filter((span) => span.name === 'aten::conv2d').length;

  expectThat(found > 0 && count.textContent.startsWith(`${found} spans`), `it says ${count.textContent}`);
  expect(timeline.matches.size, found, 'what is found');
  input.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}));
  expect(timeline.chosen.name, 'aten::conv2d', 'what is chosen');
  expectThat(count.textContent.startsWith('1 of '), `it says ${count.textContent}`);
  press('n');
  expectThat(count.textContent.startsWith('2 of '), `it says ${count.textContent}`);
  press('p');
  expectThat(count.textContent.startsWith('1 of '), `it says ${count.textContent}`);
  type(input, 'nothing is called so');
  expect(count.textContent, 'nothing found');
  input.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}));
  expect(timeline.matches, null, 'what is found');
  press('/');
  expect(document.activeElement, input, 'the focus');
});

attempt('a range has statistics', () => {
  startOver();
  const span = spanNamed('aten::conv2d');
  const [left, y] = timeline.pointOf(span);
  const right = timeline.xAt(span.end);

  pointer('pointerdown', left, y, {shiftKey: true});
  pointer('pointermove', right, y);
  pointer('pointerup', right, y);
  timeline.setRange({from: span.start, until: span.end});
  timeline.parts.forEach((part) => part.fill && part.fill());
  const card = figure.querySelector('.range-card');
  const rows = Array.from(card.querySelectorAll('tbody tr')).map((row) => Array.from(row.cells, (cell) => cell.textContent));
  const line = (name) => rows.find((row) => row[0] === name);

  expectThat(!card.hidden && card.querySelector('h3').textContent.startsWith('200 µs'), card.textContent);
  expect(line('aten::conv2d').slice(2, 4), '1,20 µs', 'conv2d');
  expect(line('aten::convolution').slice(2, 4), '1,170 µs', 'convolution');
  expect(line('cudaLaunchKernel').slice(2, 6), '1,10 µs,5.0%,10 µs', 'the launch');
  press('Escape');
  expectThat(card.hidden && !timeline.range, 'Escape does not close it');
});

attempt('a drag with Shift or "Select" marks a range, others move', () => {
  startOver();
  const button = figure.querySelector('[data-do=range]');
  const drag = (more) => {
    const x = timeline.gutter + 20;

    pointer('pointerdown', x, 60, more);
    pointer('pointermove', x + 60, 60, more);
    pointer('pointerup', x + 60, 60, more);
  };

  drag({shiftKey: true});
  expectThat(timeline.range, 'Shift marks nothing');
  timeline.setRange(null);
  button.click();
  drag();
  expectThat(timeline.range, '"Select" marks nothing');
  expect(button.getAttribute('aria-pressed'), 'true', 'the button');
  button.click();
  timeline.setRange(null);
  timeline.zoom(0.5);
  const from = timeline.from;

  drag();
  expectThat(!timeline.range && timeline.from < from, 'it does not move');
});

attempt('two fingers zoom, and choose nothing', () => {
  startOver();
  timeline.zoom(0.5);
  timeline.paint();
  const [left, right] = [timeline.gutter + 60, timeline.gutter + 120];
  const [atLeft, atRight, whole] = [timeline.timeAt(left), timeline.timeAt(right), windowLength()];

  pointer('pointerdown', left, 60, {pointerId: 11});
  pointer('pointerdown', right, 60, {pointerId: 12});
  pointer('pointermove', left - 30, 60, {pointerId: 11});
  pointer('pointermove', right + 30, 60, {pointerId: 12});
  expectThat(Math.abs(windowLength() / whole - 0.5) < 1e-6, `the window is ${windowLength() / whole} of before`);
  expectThat(Math.abs(timeline.xAt(atLeft) - (left - 30)) < 1 && Math.abs(timeline.xAt(atRight) - (right + 30)) < 1,
    'what was below the fingers is elsewhere');
  pointer('pointerup', left - 30, 60, {pointerId: 11});
  pointer('pointerup', right + 30, 60, {pointerId: 12});
  expect(timeline.chosen, null, 'what is chosen');
  const from = timeline.from;

  pointer('pointermove', left, 60, {pointerId: 11});
  expect(timeline.from, from, 'the window afterwards');
});

attempt('bars lead to the timeline', () => {
  startOver();
  const chartOf = (id) => charts.find((one) => one.canvas.closest('section').id === id);
  const click = (chart, label) => {
    const bar = chart.getDatasetMeta(0).data[chart.data.labels.indexOf(label)];
    const event = {type: 'click', x: (bar.x + bar.base) / 2, y: bar.y, native: {target: chart.canvas}};

    chart.options.onClick(event, chart.getElementsAtEventForMode(event, 'nearest', {intersect: true}, false));
  };

  click(chartOf('ops'), 'sgemm');
  expect(timeline.chosen.name, 'sgemm', 'what is chosen');
  click(chartOf('types'), 'kernel');
  expect(timeline.chosen.type, 'kernel', 'what is chosen');
  expect(timeline.matches.size, timeline.view.spans.filter((span) => span.type === 'kernel').length, 'what is found');
});

attempt('M marks the chosen span, or what is seen', () => {
  startOver();
  press('m');
  expect(timeline.range.from, timeline.view.start, 'the beginning');
  timeline.reveal(spanNamed('aten::conv2d'));
  press('m');
  expect(timeline.range.until - timeline.range.from, 200000, 'the length');
});

attempt('the flame view adds up what has one name in one place', () => {
  startOver();
  const button = figure.querySelector('[data-do=flame]');

  press('m');
  button.click();
  const flame = timeline.parts.find((part) => part instanceof Flame);
  const bar = flame.bars.find((one) => one.node.name === 'aten::conv2d');
  const spans = timeline.view.spans.filter((span) => span.name === 'aten::conv2d');

  expect(bar.node.count, spans.length, 'their number');
  expect(bar.node.total, spans.length * 200000, 'their time');
  expect(bar.node.self, spans.length * 20000, 'their self time');
  expect(sortedChildren(bar.node)[0].name, 'aten::convolution', 'what is inside');
  flame.enter(bar.node);
  expect(flame.bars[0].node, bar.node, 'the widest');
  expectThat(flame.said.textContent.includes('aten::conv2d'), flame.said.textContent);
  flame.canvas.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown'}));
  expectThat(flame.said.textContent.includes('aten::convolution'), flame.said.textContent);
  flame.canvas.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}));
  expect(flame.top, flame.root, 'the widest');
  button.click();
  expectThat(figure.querySelector('.flame').hidden, 'it does not close');
});

attempt('a table leads to the timeline, and a span back to its row', () => {
  startOver();
  const row = Array.from(document.querySelectorAll('#ops tbody tr')).find((one) => one.textContent.includes('sgemm'));

  row.querySelector('button.jump').click();
  expect(timeline.chosen.name, 'sgemm', 'what is chosen');
  expectThat(timeline.matches.size > 0, 'the others are not marked');
  buttonOf(figure.querySelector('.span-card'), 'In the table').click();
  expectThat(row.classList.contains('marked'), 'its row is not marked');
  expect(document.activeElement, row.querySelector('button.jump'), 'the focus');
});

/* --- The verdict, memory, the host. --- */

function findingAbout(part) {
  const card = Array.from(document.querySelectorAll('.findings li')).find((one) => one.textContent.includes(part));

  expectThat(card, `no finding says "${part}"`);
  return card;
}

attempt('the verdict stands on top', () => {
  const first = Array.from(document.querySelectorAll('main > section'))
    .reduce((top, one) => one.getBoundingClientRect().top < top.getBoundingClientRect().top ? one : top);

  expect(first.id, 'findings', 'the first section');
  expect(document.querySelector('nav a').textContent, 'Verdict', 'the first of the contents');
  for (const part of ['profile_analyze', '--report idle --device cuda:0', 'See what the host does in these gaps'])
    expectThat(findingAbout('cuda:0 did nothing').textContent.includes(part), `it lacks ${part}`);
});

attempt('each finding leads to its place', () => {
  startOver();
  const cards = Array.from(document.querySelectorAll('.findings li'));

  expectThat(cards.length >= 3, `${cards.length} findings`);
  for (const card of cards) {
    document.activeElement.blur();
    buttonOf(card, 'Show').click();
    expect(document.activeElement.tagName, 'SECTION', card.textContent);
  }
  buttonOf(findingAbout('cuda:0 did nothing'), 'Show').click();
  expect(document.activeElement.id, 'timeline', 'the place');
  expectThat(timeline.range, 'no gap is marked');
  expectThat(timeline.view.spans.every((span) => span.side !== 'cuda:0' || partOf(span, timeline.range) === 0),
    'something is in the gap');
  buttonOf(findingAbout('runs vary'), 'Show').click();
  expect(document.activeElement.id, 'run_times', 'the place');
  expect(timeline.view.run, 5, 'the run');
});

attempt('who holds memory stands below its curve and leads to the timeline', () => {
  startOver();
  const rows = Array.from(document.querySelectorAll('#memory_curve #table-memory_owners tbody tr'));
  const row = rows.find((one) => one.textContent.includes('cuda:0'));

  expectThat(rows.length >= 2 && row, `${rows.length} owners`);
  expectThat(row.textContent.includes('1 MiB') && row.textContent.includes('100.00%'), row.textContent);
  expectThat(document.querySelector('#memory_curve canvas'), 'the curve is elsewhere');
  row.querySelector('button.jump').click();
  expectThat(timeline.chosen.name.startsWith('aten::conv'), timeline.chosen.name);
});

attempt('operators of the host stand beside kernels, with what they launched', () => {
  startOver();
  const [kernels, host] = ['ops', 'host_ops'].map((id) => document.getElementById(id).getBoundingClientRect());
  const isWide = document.documentElement.clientWidth >= 1300;

  expect(kernels.top === host.top, isWide, 'side by side');
  const rows = Array.from(document.querySelectorAll('#host_ops tbody tr')).filter((one) => one.cells[0].textContent === 'aten::conv2d');
  const [row] = rows;
  const cells = Array.from(row.cells, (cell) => cell.textContent);

  expect(rows.length, 1, 'the lines of one name');
  expect(cells.slice(1, 6), 'cpu_op,40.000 µs,210.000 µs,10.00%,16', 'conv2d');
  row.querySelector('button.jump').click();
  expect(timeline.chosen.name, 'aten::conv2d', 'what is chosen');
  buttonOf(figure.querySelector('.span-card'), 'In the table').click();
  expectThat(row.classList.contains('marked'), 'its row is not marked');
});

function factsOf(card) {
  return Object.fromEntries(Array.from(card.querySelectorAll('dl > div'),
    (fact) => [fact.querySelector('dt').textContent, fact.querySelector('dd').textContent]));
}

attempt('the card has shapes, arguments and the call stack', () => {
  startOver();
  const card = figure.querySelector('.span-card');

  timeline.reveal(spanNamed('aten::conv2d'));
  expect(factsOf(card)['input shapes'], '1×3×8×8 f32, 4×3×3×3 f32', 'input shapes');
  expect(factsOf(card).source, 'model.py:12', 'source');
  const frames = Array.from(card.querySelectorAll('.stack li'), (frame) => frame.textContent);

  expect(frames.length, 3, 'the number of frames');
  expect(frames[0], 'model.py(12): forward', 'the nearest');
  expectThat(frames[2].startsWith('\x3c/script>\x3cimg'), frames[2]);
  timeline.reveal(spanNamed('sgemm'));
  expect(factsOf(card).grid, '[8,1,1]', 'grid');
  expect(factsOf(card).block, '[128,1,1]', 'block');
  expectThat(factsOf(card)['launched by'].startsWith('cudaLaunchKernel'), factsOf(card)['launched by']);
  expect(factsOf(card).in, 'aten::convolution', 'the op that launched it');
  expect(Array.from(card.querySelectorAll('h4'), (head) => head.textContent).join(), 'Arguments,Call stack of aten::conv2d',
    'the heads of a kernel\'s card');
});

attempt('a copy tells how much it moved and how fast', () => {
  startOver();
  timeline.reveal(spanNamed('Memcpy HtoD (Pageable -> Device)'));
  expect(factsOf(figure.querySelector('.span-card')).copied, '1.91 MiB, 186 GiB/s', 'it');
});

attempt('memory and counters lie under the same time axis', () => {
  startOver();
  const names = timeline.view.tracks.map((track) => track.name);

  expect(names.sort(), 'memory of cuda:0,memory of host,queue length', 'the tracks');
  const track = timeline.view.tracks.find((one) => one.name === 'memory of host');
  const taken = spanNamed('aten::conv2d');

  expect(valueAt(track, taken.start + 100000), 4096, 'after it is taken');
  expect(valueAt(track, taken.end), 0, 'after it is given back');
  pointer('pointermove', timeline.xAt(taken.start + 100000), track.top + TRACK_HEIGHT / 2);
  expectThat(figure.querySelector('.details').textContent.startsWith('memory of host: 4 KiB at 120 µs'),
    figure.querySelector('.details').textContent);
  pointer('pointerleave', 0, 0);
  timeline.setRange({from: taken.start, until: taken.end});
  timeline.parts.forEach((part) => part.fill && part.fill());
  expect(factsOf(figure.querySelector('.range-card'))['memory of host'], '0 B … 3.1 KiB … 4 KiB', 'in the range');
});

attempt('a click on a run shows it on the timeline', () => {
  startOver();
  const section = document.querySelector('#run_times');
  const chart = charts.find((one) => one.canvas.closest('section') === section);
  const runs = readFigure(section.querySelector('figure')).numbers('run');
  const click = (run) => {
    const {x} = chart.getDatasetMeta(0).data[runs.indexOf(run)];
    const event = {type: 'click', x, y: chart.chartArea.top + 1, native: {target: chart.canvas}};

    chart.options.onClick(event, chart.getElementsAtEventForMode(event, 'nearest', chart.options.interaction, false));
  };

  expect(timeline.views.length, runs.length, 'the number of runs on the timeline');
  click(5);
  expect(timeline.view.run, 5, 'the run');
  expectThat(timeline.view.name.includes('the slowest'), timeline.view.name);
  expect(figure.querySelector('select').selectedOptions[0].textContent, timeline.view.name, 'what is selected');
  click(7);
  expect(timeline.view.run, 7, 'the run');
  showRun(1000, section.querySelector('figure'));
  expectThat(section.textContent.includes('Run 1000 is not on the timeline of this page'), section.textContent);
});

/* --- How it looks. --- */

attempt('colours are by type, shades by name', () => {
  const near = (a, b) => Math.max(...[1, 3, 5].map((at) =>
    Math.abs(parseInt(a.slice(at, at + 2), 16) - parseInt(b.slice(at, at + 2), 16))));
  const names = Array.from({length: 20}, (_, place) => `name ${place}`);
  const shades = new Set(names.map((name) => shadeOf('kernel', name)));

  expectThat(shades.size >= 4, `${shades.size} shades`);
  for (const shade of shades)
    expectThat(/^#[0-9a-f]{6}$/.test(shade) && near(shade, colorOf('kernel')) < 80, shade);
  expect(shadeOf('kernel', 'name 1'), shadeOf('kernel', 'name 1'), 'the same');
});

function overlapping(labels) {
  return labels.flatMap((a, place) => labels.slice(place + 1)
    .filter((b) => overlap(a, b))
    .map((b) => `"${a.text}" and "${b.text}"`));
}

attempt('labels of the timeline do not overlap', () => {
  for (const place of timeline.views.keys()) {
    timeline.show(place);
    for (let zoom = 0; zoom < 12; zoom++) {
      timeline.paint();
      expectThat(timeline.labels.length > 0, 'there are none');
      expect(overlapping(timeline.labels).slice(0, 3).join('; '), '', 'overlapping');
      timeline.zoom(0.6);
    }
  }
});

attempt('names of lanes that differ look different', () => {
  const {context} = timeline;
  const names = ['thread 25738 (python)', 'thread 25772 (python)', 'stream 7', 'memory of cuda:0', 'memory of cuda:1'];

  context.font = '600 12px sans-serif';
  for (const width of [60, 74, 140, 210]) {
    const texts = distinctTexts(context, names, width);

    expect(new Set(texts).size, names.length, `at ${width}, ${texts}: the number`);
    expectThat(texts.every((text) => context.measureText(text).width <= width), `at ${width}, ${texts}: wider`);
  }
});

attempt('names of bars that differ look different', () => {
  const names = ['void cudnn::detail::dgrad_engine<float, 512>(int, int, int)', 'void cudnn::cnn::wgrad_alg0_engine<float, 128>(int, int, int)',
    'void cudnn::detail::dgrad_engine<half, 512>(int, int, int)', 'relu', `${'x'.repeat(60)}a${'y'.repeat(60)}`,
    `${'x'.repeat(60)}b${'y'.repeat(60)}`];

  for (const length of [18, 36]) {
    const texts = distinctNames(names, length);

    expect(new Set(texts).size, names.length, `of ${length}, ${texts.join('; ')}: the number`);
    expectThat(texts.every((text) => text.length <= length), texts.join('; '));
  }
});

attempt('labels of charts do not overlap', () => {
  const section = document.querySelector('#run_times');
  const chart = charts.find((one) => one.canvas.closest('section') === section);

  expectThat(chart.labels.length > 0, 'guides have no titles');
  expect(levelTitles(chart, ['a', 'b'].map((title, place) => ({kind: 'level', title, value: 1000 + place}))), ',a, b',
    'what is near to each other, on top,');
  for (const one of charts) {
    expect(overlapping(one.labels || []).join('; '), '', 'overlapping');
    for (const scale of Object.values(one.scales))
      expect(overlapping(tickBoxes(one, scale)).slice(0, 2).join('; '), '', `overlapping on ${scale.id}`);
  }
});

/* What is written at an axis. */
function tickBoxes(chart, scale) {
  const size = scale.options.ticks.font && scale.options.ticks.font.size || Chart.defaults.font.size;

  chart.ctx.font = `${size}px ${Chart.defaults.font.family}`;
  return scale.ticks.map((tick, place) => {
    const text = String(tick.label || '');
    const at = scale.getPixelForTick(place);
    const reach = scale.isHorizontal() ? chart.ctx.measureText(text).width / 2 : size / 2;

    return scale.isHorizontal()
      ? {text, left: at - reach, right: at + reach, top: 0, bottom: 1}
      : {text, left: 0, right: 1, top: at - reach, bottom: at + reach};
  }).filter((box) => box.text);
}

attempt('nothing is wider than the page', () => {
  startOver();
  press('m');
  timeline.reveal(spanNamed('aten::conv2d'));
  timeline.parts.forEach((part) => part.fill && part.fill());
  const wide = Array.from(document.querySelectorAll('main > section, .card, .controls, .stage, nav, header'))
    .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5);

  expect(wide.map((one) => one.id || one.className), '', 'too wide');
  expectThat(document.documentElement.scrollWidth <= document.documentElement.clientWidth,
    `the page is ${document.documentElement.scrollWidth} wide`);
});

attempt('names stay names', () => {
  expectThat(!document.querySelector('img'), 'a name became an element');
  expectThat(document.title !== 'owned', 'a name ran');
});

attempt('a hundred thousand spans are drawn and searched fast', () => {
  const count = 100000;
  const spans = Array.from({length: count}, (_, place) => ({
    view: 'many', place, lane: `lane ${place % 4}`, side: 'host', name: `op ${place % 300}`, type: `type ${place % 9}`,
    start: Math.floor(place / 8) * 1000 + (place % 8 < 4 ? 0 : 100), duration: place % 8 < 4 ? 900 : 500,
    self: 400, depth: place % 8 < 4 ? 0 : 1, launch: null, launched: [], row: 0, parent: null,
  }));
  const before = timeline.views;

  spans.forEach((span) => { span.end = span.start + span.duration; });
  const fastest = (act) => Math.min(...[1, 2, 3, 4, 5].map(() => {
    const begin = performance.now();

    act();
    return performance.now() - begin;
  }));
  const made = fastest(() => {
    timeline.views = makeViews(spans);
    timeline.show(0);
  });
  const painted = fastest(() => timeline.paint());
  const answered = fastest(() => {
    timeline.finder.search('op 17');
    timeline.setRange({from: timeline.view.start, until: timeline.view.end});
    timeline.parts.forEach((part) => part.fill && part.fill());
  });

  timeline.views = before;
  startOver();
  expectThat(made < 4000, `it took ${Math.round(made)} ms to make`);
  expectThat(painted < 400, `it took ${Math.round(painted)} ms to paint`);
  expectThat(answered < 4000, `it took ${Math.round(answered)} ms to answer`);
});

attempt('no script failed', () => expect(root.dataset.errors, 0, 'errors'));

document.body.append(Object.assign(document.createElement('pre'), {id: 'probe', textContent: results.join('\n')}));
