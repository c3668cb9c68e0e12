/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that are sorted by a click on a head and filtered by a text. */

const FILTER_FROM_ROWS = 6;

function cellKey(row, column) {
  const cell = row.cells[column];

  if (cell.dataset.v !== undefined)
    return Number(cell.dataset.v);
  return cell.textContent === '-' ? null : cell.textContent;
}

/* Rows without a value come last in both directions, equal ones stay in their first order. */
function compareKeys(a, b, direction) {
  if (a === null || b === null)
    return (a === null) - (b === null);
  if (typeof a === 'number' && typeof b === 'number')
    return direction * (a - b);
  return direction * String(a).localeCompare(String(b), undefined, {numeric: true});
}

function sortTable(table, rows, column, direction) {
  const sorted = direction === 0
    ? rows
    : rows.map((row) => [cellKey(row, column), row])
        .sort((a, b) => compareKeys(a[0], b[0], direction))
        .map((pair) => pair[1]);

  table.tBodies[0].append(...sorted);
  for (const head of table.tHead.rows[0].cells)
    head.removeAttribute('aria-sort');
  if (direction !== 0)
    table.tHead.rows[0].cells[column].setAttribute(
      'aria-sort', direction < 0 ? 'descending' : 'ascending');
}

function enableSorting(table, rows) {
  Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
    const first = head.classList.contains('n') ? -1 : 1; /* numbers: the largest on top */
    const button = document.createElement('button');
    let direction = 0;

    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      if (!head.hasAttribute('aria-sort'))
        direction = first;
      else
        direction = direction === first ? -first : 0;
      sortTable(table, rows, column, direction);
    });
  });
}

function enableFilter(table, rows) {
  const bar = document.createElement('div');
  const input = document.createElement('input');
  const count = document.createElement('span');

  function apply() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;

    for (const row of rows) {
      const text = row.textContent.toLowerCase();

      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = words.length ? `${shown} of ${rows.length} rows` : `${rows.length} rows`;
  }
  bar.className = 'filter';
  input.type = 'search';
  input.placeholder = 'Filter rows';
  input.setAttribute('aria-label', 'Filter rows');
  input.addEventListener('input', apply);
  bar.append(input, count);
  table.parentElement.before(bar);
  apply();
}

function enableTable(table) {
  const rows = Array.from(table.tBodies[0].rows);

  if (rows.length > 1)
    enableSorting(table, rows);
  if (rows.length >= FILTER_FROM_ROWS)
    enableFilter(table, rows);
}

/* A table of texts and of numbers, which are {text, value}. */
function makeTable(heads, lines) {
  const table = document.createElement('table');
  const head = table.createTHead().insertRow();
  const body = table.createTBody();
  const isNumber = (column) => lines.length > 0 && typeof lines[0][column] === 'object';

  heads.forEach((text, column) => {
    const cell = Object.assign(document.createElement('th'), {textContent: text, scope: 'col'});

    cell.classList.toggle('n', isNumber(column));
    head.append(cell);
  });
  for (const line of lines) {
    const row = body.insertRow();

    line.forEach((value, column) => {
      const cell = row.insertCell();

      cell.textContent = isNumber(column) ? value.text : value;
      if (isNumber(column)) {
        cell.className = 'n';
        cell.dataset.v = value.value;
      }
    });
  }
  return table;
}
