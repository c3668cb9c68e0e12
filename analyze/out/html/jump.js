/* SPDX-License-Identifier: Apache-2.0 */
/* From lines of tables to spans of the timeline, and back. */

const opRows = new Map(); /* from type and name of an op to its row of a table */

function opKey(op) {
  return `${op.type}\n${op.name}`;
}

function findOpRow(span) {
  return opRows.get(opKey(span));
}

/* Rows of a table of ops are, as they came, those of the picture above it. */
function connectTable(section) {
  const figure = section.querySelector('figure');
  const table = section.querySelector('table');
  const data = readFigure(figure);
  const [names, types] = [data.texts('name'), data.texts('type')];

  Array.from(table.tBodies[0].rows).forEach((row, place) => {
    const op = {name: names[place], type: types[place]};

    if (!opRows.has(opKey(op)))
      opRows.set(opKey(op), row);
    row.cells[0].prepend(jumpButton(`Show ${op.name} on the timeline`, () => jumpToOp(op)));
  });
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
  const longest = (spans) => spans.filter((span) => isSameOp(span, op))
    .reduce((most, span) => !most || span.duration > most.duration ? span : most, null);
  const span = longest(timeline.view.spans) || longest(timeline.views.flatMap((view) => view.spans));

  showTimeline(timeline);
  if (span)
    timeline.reveal(span);
  timeline.finder.searchOp(op, op.name);
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
  const filter = row.closest('section').querySelector('.filter input');

  if (row.hidden && filter) {
    filter.value = '';
    filter.dispatchEvent(new Event('input'));
  }
  each('tr.marked', (other) => other.classList.remove('marked'));
  row.classList.add('marked');
  row.scrollIntoView({block: 'center'});
  row.querySelector('button.jump').focus({preventScroll: true});
}

function connectTables() {
  if (timelines.length)
    each('#ops:has(table):has(figure)', connectTable);
}
