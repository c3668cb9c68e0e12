/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brings the page to life. The root element tells how that went: data-state is "ready" in the end,
 * data-errors counts what went wrong, which also stands on top of the page.
 */

const root = document.documentElement;

function reportError(text) {
  const box = document.getElementById('errors');

  root.dataset.errors = Number(root.dataset.errors || 0) + 1;
  box.hidden = false;
  box.append(Object.assign(document.createElement('p'), {textContent: `A part of this page failed: ${text}`}));
}

window.addEventListener('error', (event) => reportError(event.message));
document.addEventListener('securitypolicyviolation',
  (event) => reportError(`${event.violatedDirective} refused ${event.blockedURI}`));

/* Does something for each element; when one fails, the others are still done. */
function each(selector, act) {
  for (const element of document.querySelectorAll(selector)) {
    try {
      act(element);
    } catch (error) {
      reportError(error.message);
    }
  }
}

/* What a picture of bars needs beside its table. */
const PAIRED_CHART = 480;

/* Side by side where both fit. */
function pairSections() {
  each('figure.bars', (figure) => {
    const section = figure.parentElement;
    const table = section.querySelector(':scope > .scroll > table');

    section.classList.toggle('paired', table && table.offsetWidth + PAIRED_CHART < section.clientWidth);
  });
}

let charts = [];

function drawCharts() {
  charts.forEach((chart) => chart.destroy());
  charts = [];
  each('figure.chart:not(.timeline)', (figure) => charts.push(drawChart(figure)));
}

const timelines = [];

/* Those of the charts are the first of the palette, which differ most. */
function claimColors() {
  each('figure.bars', (figure) => {
    const data = readFigure(figure);

    if (data.chart.color)
      data.texts(data.chart.color).forEach((text) => colorOf(text));
  });
}

function setTheme(theme) {
  root.dataset.theme = theme;
  drawCharts();
  timelines.forEach((timeline) => timeline.paint());
}

/* Paper is white. */
function listenToPrinter() {
  let before;

  window.addEventListener('beforeprint', () => {
    before = root.dataset.theme;
    setTheme('light');
  });
  window.addEventListener('afterprint', () => setTheme(before));
}

function makeContents() {
  const nav = document.querySelector('nav');
  const sections = Array.from(document.querySelectorAll('main > section[id]'));

  if (sections.length < 3)
    return;
  sections.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
  for (const section of sections) {
    const link = document.createElement('a');

    link.href = `#${section.id}`;
    link.textContent = section.querySelector('h2').textContent;
    nav.append(link);
  }
}

function start() {
  root.dataset.errors = 0;
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 12;
  makeFindings();
  makeContents();
  each('table', enableTable);
  pairSections();
  window.addEventListener('resize', pairSections);
  claimColors();
  each('figure.timeline', (figure) => timelines.push(new Timeline(figure)));
  connectTables();
  drawCharts();
  document.getElementById('theme').addEventListener('click', () => {
    root.dataset.chosen = 'yes';
    setTheme(root.dataset.theme === 'dark' ? 'light' : 'dark');
  });
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => setTheme(root.dataset.theme));
  listenToPrinter();
  root.dataset.charts = charts.length + timelines.length;
  root.dataset.state = 'ready';
}

start();
