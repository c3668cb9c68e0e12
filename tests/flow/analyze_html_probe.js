/* SPDX-License-Identifier: Apache-2.0 */
/* What analyze_html.c puts at the end of a page: uses it as a reader would, and writes what it finds
 * into #probe, a "name=value" on each line. */
'use strict';

const found = [];

function note(name, value) {
  found.push(`${name}=${value}`);
}

/* Whether anything but one colour is on a canvas. */
function isDrawn(canvas) {
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const pixels = new Set(new Uint32Array(data.buffer));

  return pixels.size > 2;
}

function firstCells(table) {
  return Array.from(table.tBodies[0].rows).filter((row) => !row.hidden)
    .map((row) => row.cells[0].textContent).join(',');
}

function probeTables() {
  const table = document.querySelector('#ops table');
  const heads = Array.from(table.tHead.rows[0].cells);
  const time = heads.findIndex((head) => head.textContent === 'time');
  const press = (place) => heads[place].querySelector('button').click();

  note('ops.at_first', firstCells(table));
  press(0);
  note('ops.by_name', firstCells(table));
  press(time);
  note('ops.by_time', firstCells(table));
  press(time);
  note('ops.by_time_again', firstCells(table));
  note('ops.sorted', heads[time].getAttribute('aria-sort'));
}

function probeFilter() {
  const input = document.querySelector('#ops .filter input');

  input.value = 'op_ RELU';
  input.dispatchEvent(new Event('input'));
  note('ops.filtered', firstCells(document.querySelector('#ops table')));
  note('ops.counted', document.querySelector('#ops .filter span').textContent);
}

function pointAt(canvas, type, x, y) {
  const box = canvas.getBoundingClientRect();

  canvas.dispatchEvent(new PointerEvent(type, {clientX: box.left + x, clientY: box.top + y}));
}

function probeTimeline() {
  const timeline = timelines[0];
  const whole = timeline.until - timeline.from;
  const launched = timeline.view.lanes.flatMap((lane) => lane.spans).find((span) => span.launch);
  const [x, y] = timeline.pointOf(launched);

  note('timeline.runs', timeline.figure.querySelector('select').options.length);
  note('timeline.lanes', timeline.view.lanes.map((lane) => lane.name).join(','));
  pointAt(timeline.canvas, 'pointermove', x + 3, y);
  note('timeline.details', timeline.figure.querySelector('.details').textContent);
  timeline.figure.querySelector('[data-do=in]').click();
  note('timeline.zoom', ((timeline.until - timeline.from) / whole).toFixed(2));
  timeline.zoomTo(launched);
  note('timeline.zoomed', ((timeline.until - timeline.from) / launched.duration).toFixed(2));
  timeline.figure.querySelector('[data-do=fit]').click();
  note('timeline.fit', ((timeline.until - timeline.from) / whole).toFixed(2));
  timeline.figure.querySelector('select').value = 1;
  timeline.figure.querySelector('select').dispatchEvent(new Event('change'));
  note('timeline.other', timeline.view.name);
}

function probe() {
  const canvases = Array.from(document.querySelectorAll('canvas'));

  note('drawn', canvases.filter(isDrawn).length);
  probeTables();
  probeFilter();
  probeTimeline();
  document.getElementById('theme').click();
  note('theme', root.dataset.theme);
  note('drawn_again', canvases.filter(isDrawn).length);
  window.dispatchEvent(new Event('beforeprint'));
  note('paper', root.dataset.theme);
  window.dispatchEvent(new Event('afterprint'));
  note('errors', root.dataset.errors);
}

try {
  probe();
} catch (error) {
  note('failed', error.stack);
}
document.body.append(Object.assign(document.createElement('pre'),
  {id: 'probe', textContent: found.join('\n')}));
