/* SPDX-License-Identifier: Apache-2.0 */
/* From lines of tables to spans of the timeline, and back. */

const opRows = new Map(); /* from type and name of an op to its row of a table */

function opKey(op) {
  return `${op.type}\n${op.name}`;
}

function findOpRow(span) {
  return opRows.get(opKey(span));
}

/* Rows of a table are, as they came, those of the data beside it. Names that are no span's lead nowhere. */
function connectTable(name) {
  const table = document.getElementById(`table-${name}`);
  const script = document.getElementById(`data-${name}`);

  if (!table || !script)
    return;
  const data = readData(script);
  const [names, types] = [data.texts('name'), data.texts('type')];

  Array.from(table.tBodies[0].rows).forEach((row, place) => {
    const op = {name: names[place], type: types[place]};

    if (name !== 'memory_owners' && !opRows.has(opKey(op)))
      opRows.set(opKey(op), row);
    if (isOnTimeline(op))
      row.cells[0].prepend(jumpButton(`Show ${op.name} on the timeline`, () => jumpToOp(op)));
  });
}

const shownOps = new Set();

function isOnTimeline(op) {
  if (!shownOps.size)
    timelines[0].views.forEach((view) => view.spans.forEach((span) => shownOps.add(opKey(span))));
  return shownOps.has(opKey(op));
}

function jumpButton(title, act) {
  const button = Object.assign(document.createElement('button'),
    {type: 'button', className: 'jump', title});

  button.setAttribute('aria-label', title);
  button.addEventListener('click', act);
  return button;
}

/* The longest span of the op, in the run that is shown or else in any. */
function jumpToOp(op) {
  const [timeline] = timelines;
  const isMeant = (span) => span.name === op.name && (op.type === undefined || span.type === op.type);
  const longest = (spans) => spans.filter(isMeant)
    .reduce((most, span) => !most || span.duration > most.duration ? span : most, null);
  const span = longest(timeline.view.spans) || longest(timeline.views.flatMap((view) => view.spans));

  showTimeline(timeline);
  if (span)
    timeline.reveal(span);
  timeline.finder.input.value = op.name;
  timeline.finder.want(isMeant);
}

function jumpToType(type) {
  const [timeline] = timelines;

  showTimeline(timeline);
  timeline.finder.input.value = type;
  timeline.finder.want((span) => span.type === type);
  timeline.finder.step(1);
}

function showTimeline(timeline) {
  timeline.figure.closest('section').scrollIntoView({block: 'start'});
  timeline.canvas.focus({preventScroll: true});
}

/* Of a run that the page does not hold it says how to get it, below the picture. */
function showRun(run, figure) {
  const [timeline] = timelines;
  const place = timeline.views.findIndex((view) => view.run === run);
  const said = figure.parentElement.querySelector('.said')
    || figure.parentElement.appendChild(element('p', [], {className: 'said cut'}));

  said.setAttribute('aria-live', 'polite');
  said.textContent = place < 0 ? `Run ${run} is not on the timeline of this page; --runs ${run} makes one of it.` : '';
  if (place < 0)
    return;
  timeline.show(place);
  showTimeline(timeline);
}

/* A row that a filter hides is shown again. */
function showRow(row) {
  const filter = row.closest('.scroll').previousElementSibling.querySelector('input');

  if (row.hidden && filter) {
    filter.value = '';
    filter.dispatchEvent(new Event('input'));
  }
  each('tr.marked', (other) => other.classList.remove('marked'));
  row.classList.add('marked');
  row.scrollIntoView({block: 'center'});
  row.tabIndex = -1;
  (row.querySelector('button.jump') || row).focus({preventScroll: true});
}

function connectTables() {
  if (timelines.length)
    ['ops', 'host_ops', 'memory_owners'].forEach(connectTable);
}
