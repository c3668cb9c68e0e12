/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of tables. A figure holds JSON, a list: what the picture and its columns mean, the texts
 * in it, then a list of values for each column, where a text is its place among the texts.
 */

const PALETTE = {
  light: ['#2563c9', '#d9730d', '#0e8a5f', '#b4328c', '#7a5af0', '#a3860a', '#0f8fae', '#c8383f',
    '#5b7a2a', '#8a5a44', '#4f5fa8', '#7d7f86'],
  dark: ['#6ea3f7', '#f0a050', '#4cc596', '#e57fc4', '#a994ff', '#d9bd4a', '#55c3de', '#f0797d',
    '#9dbf66', '#c99a80', '#97a5e8', '#a6a9b2'],
};
const knownColors = new Map(); /* from a text, such as a type, to its place in the palette */

function cssColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function palette() {
  return PALETTE[document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light'];
}

/* The same text has the same colour in all pictures; the first ones differ from each other. */
function colorOf(text) {
  if (!knownColors.has(text))
    knownColors.set(text, knownColors.size);
  return palette()[knownColors.get(text) % palette().length];
}

const knownShades = new Map(); /* from theme, type and name to a colour */

/* A number that differs where texts differ, mostly. */
function hashOf(text) {
  let hash = 7;

  for (let place = 0; place < text.length; place++)
    hash = (hash * 31 + text.charCodeAt(place)) % 1000003;
  return hash;
}

/* A colour "#rrggbb", lighter (to 1) or darker (to -1). */
function shaded(color, by) {
  const parts = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  const mixed = parts.map((part) => Math.round(by > 0 ? part + (255 - part) * by : part * (1 + by)));

  return `#${mixed.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

/* The colour of a type, in a shade of the name. */
function shadeOf(type, name) {
  const key = `${document.documentElement.dataset.theme}\n${type}\n${name}`;

  if (!knownShades.has(key))
    knownShades.set(key, shaded(colorOf(type), [0, -0.16, 0.16, -0.28, 0.28][hashOf(name) % 5]));
  return knownShades.get(key);
}

/* --- Reading the data of a figure. --- */

/* Points in time, ns since 1970, become durations. */
function countFromFirst(column, times) {
  const first = times.reduce((least, time) => Math.min(least, time), Infinity);

  times.forEach((time, place) => { times[place] = time - first; });
  Object.assign(column, {kind: 'ns', head: 'time after the first'});
}

function readFigure(figure) {
  return readData(figure.querySelector('script'));
}

function readData(script) {
  const [meaning, texts, ...values] = JSON.parse(script.textContent);
  const places = new Map(meaning.columns.map((column, place) => [column.name, place]));

  meaning.columns.forEach((column, place) => {
    if (column.kind === 'when')
      countFromFirst(column, values[place]);
  });
  return {
    chart: meaning.chart,
    count: values[0].length,
    column: (name) => meaning.columns[places.get(name)],
    numbers: (name) => values[places.get(name)],
    texts: (name) => values[places.get(name)].map((place) => place === null ? '' : texts[place]),
  };
}

/* --- Axes. --- */

function tickText(kind) {
  return (value) => formatValue(kind, value);
}

function axis(data, name, more) {
  const column = data.column(name);

  return {
    ...more,
    title: {display: true, text: column.head, color: cssColor('--muted')},
    grid: {color: cssColor('--line'), borderColor: cssColor('--line'), drawTicks: false},
    ticks: {color: cssColor('--muted'), padding: 6, callback: tickText(column.kind), maxRotation: 0,
      autoSkipPadding: 24, precision: column.kind === 'int' ? 0 : undefined, ...(more && more.ticks)},
  };
}

/* Steps of 1, 2, 4, 8, ... bytes, so that names of ticks are short: 1.5 GiB. */
function byteStep(most) {
  return 2 ** Math.ceil(Math.log2(Math.max(most / 8, 1)));
}

/* On a logarithmic axis only powers of ten are named. */
function logTicks(kind) {
  return {
    autoSkip: false,
    callback: (value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9
      ? formatValue(kind, value) : '',
  };
}

function tooltip(callbacks) {
  return {
    backgroundColor: cssColor('--tip'), titleColor: cssColor('--tip-text'),
    bodyColor: cssColor('--tip-text'), padding: 10, cornerRadius: 4, displayColors: false, callbacks,
  };
}

/* --- Guides: lines with a name, such as a percentile or the machine's peak. --- */

function guideAt(guide, x) {
  return guide.kind === 'slope' ? guide.value * x : guide.value;
}

/* A roof ends where it meets the other: a slope at the highest level, a level at the steepest slope. */
function guideSpan(guide, guides, scale) {
  const slopes = guides.filter((other) => other.kind === 'slope').map((other) => other.value);
  const levels = guides.filter((other) => other.kind === 'level').map((other) => other.value);
  let {min, max} = scale;

  if (guide.kind === 'level' && slopes.length)
    min = Math.max(min, guide.value / Math.max(...slopes));
  if (guide.kind === 'slope' && levels.length)
    max = Math.min(max, Math.max(...levels) / guide.value);
  return [min, max];
}

function drawGuide(chart, guide, title, guides, color) {
  const {ctx, chartArea: area, scales} = chart;
  const [from, until] = guideSpan(guide, guides, scales.x);
  const left = [scales.x.getPixelForValue(from), scales.y.getPixelForValue(guideAt(guide, from))];
  const right = [scales.x.getPixelForValue(until), scales.y.getPixelForValue(guideAt(guide, until))];

  if (until <= from)
    return;
  ctx.save();
  ctx.beginPath();
  ctx.rect(area.left, area.top, area.width, area.height);
  ctx.clip();
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.setLineDash([5, 4]);
  ctx.beginPath();
  ctx.moveTo(...left);
  ctx.lineTo(...right);
  ctx.stroke();
  ctx.font = `11px ${Chart.defaults.font.family}`;
  drawGuideTitle(chart, guide, title, left, right);
  ctx.restore();
}

/* Along a slope, at the end of a level; not where another title is. */
function drawGuideTitle(chart, guide, title, left, right) {
  const {ctx} = chart;
  const width = ctx.measureText(title).width;
  const angle = guide.kind === 'slope' ? Math.atan2(right[1] - left[1], right[0] - left[0]) : 0;
  const [x, y] = guide.kind === 'slope'
    ? [(left[0] + right[0]) / 2, (left[1] + right[1]) / 2] : [right[0] - 4 - width / 2, right[1] - 4];
  const reach = {x: Math.abs(Math.cos(angle)) * width / 2 + 6, y: Math.abs(Math.sin(angle)) * width / 2 + 6};
  const label = {text: title, left: x - reach.x, right: x + reach.x, top: y - 4 - reach.y, bottom: y - 4 + reach.y};

  if (!title || chart.labels.some((other) => overlap(label, other)))
    return;
  chart.labels.push(label);
  ctx.translate(x, y);
  ctx.rotate(angle);
  ctx.textAlign = 'center';
  ctx.fillText(title, 0, guide.kind === 'slope' ? -5 : 0);
}

function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/* Levels that lie close together share one name, at the highest of them. */
function levelTitles(chart, guides) {
  const titles = guides.map((guide) => guide.title);
  const levels = guides.map((guide, place) => place).filter((place) => guides[place].kind === 'level')
    .sort((a, b) => guides[a].value - guides[b].value);
  const pixel = (place) => chart.scales.y.getPixelForValue(guides[place].value);

  for (let at = 1; at < levels.length; at++) {
    if (pixel(levels[at - 1]) - pixel(levels[at]) < 14) {
      titles[levels[at]] = `${titles[levels[at - 1]]}, ${titles[levels[at]]}`;
      titles[levels[at - 1]] = '';
    }
  }
  return titles;
}

function guidesPlugin(guides) {
  return {
    id: 'guides',
    afterDatasetsDraw(chart) {
      const titles = levelTitles(chart, guides);

      chart.labels = []; /* of guides */
      guides.forEach((guide, place) =>
        drawGuide(chart, guide, titles[place], guides, palette()[(place + 1) % 8]));
    },
  };
}

/* --- The kinds of charts: each returns the configuration of one. --- */

const BARS_MAX = 20;

/* What the colours of bars mean, where the names of the bars do not say it. */
function barsLegend(data, groups) {
  const texts = Array.from(new Set((groups || []).slice(0, BARS_MAX)));
  const byGroup = texts.length > 1 && data.chart.color !== data.chart.label;
  const labels = {color: cssColor('--text'), boxWidth: 14};

  if (!byGroup)
    return {display: data.chart.values.length > 1, labels};
  const fontColor = labels.color;

  labels.generateLabels = () => texts.map((text) =>
    ({text: text || '-', fillStyle: colorOf(text), strokeStyle: colorOf(text), fontColor}));
  return {display: true, labels, onClick: () => {}};
}

/* Names have shades where the colour is another text's. */
function barColor(group, label) {
  return label === undefined || label === group ? colorOf(group) : shadeOf(group, label);
}

/* A click on the bar of an op or a type shows it on the timeline. */
function barClicks(data, labels, groups) {
  const {label} = data.chart;
  const act = {
    name: (place) => jumpToOp({name: labels[place], type: groups ? groups[place] : undefined}),
    type: (place) => jumpToType(labels[place]),
  }[label];

  return !act || !timelines.length ? {} : {
    onClick: (event, [bar]) => bar && act(bar.index),
    onHover: (event, [bar]) => { event.native.target.style.cursor = bar ? 'pointer' : ''; },
  };
}

function barsChart(data, figure) {
  const labels = data.texts(data.chart.label).slice(0, BARS_MAX);
  const groups = data.chart.color ? data.texts(data.chart.color) : null;
  const kind = data.column(data.chart.values[0]).kind;
  const series = data.chart.values.length;
  const legend = barsLegend(data, groups);

  figure.style.height = `${Math.max(3, labels.length) * (series > 1 ? 34 : 26) + (legend.display ? 96 : 64)}px`;
  return {
    type: 'bar',
    data: {
      labels,
      datasets: data.chart.values.map((name, place) => ({
        label: data.column(name).head,
        data: data.numbers(name).slice(0, BARS_MAX),
        backgroundColor: groups ? groups.map((group, at) => barColor(group, labels[at])) : palette()[place],
        maxBarThickness: 18,
      })),
    },
    options: {
      indexAxis: 'y',
      ...barClicks(data, labels, groups),
      scales: {
        x: axis(data, data.chart.values[0], {beginAtZero: true}),
        y: {
          grid: {display: false, borderColor: cssColor('--line')},
          ticks: {color: cssColor('--text'), autoSkip: false,
            callback: (value) => distinctNames(labels, figure.clientWidth < 600 ? 18 : 36)[value]},
        },
      },
      plugins: {
        legend,
        tooltip: tooltip({
          title: (items) => labels[items[0].dataIndex],
          label: (item) => `${item.dataset.label}: ${formatValue(kind, item.raw)}`,
          afterLabel: (item) => groups && data.chart.color !== data.chart.label
            ? `${data.column(data.chart.color).head}: ${groups[item.dataIndex]}` : '',
        }),
      },
    },
  };
}

function pairs(data, name) {
  const xs = data.numbers(data.chart.x);

  return data.numbers(name).map((y, place) => ({x: xs[place], y, place}));
}

/* Lines: one for each of `values`, or, where there is one, for each text that tells the colour. */
function makeLines(data) {
  const {values, color} = data.chart;
  const lines = new Map();

  if (!color)
    return values.map((name, place) => [data.column(name).head, pairs(data, name), palette()[place]]);
  const texts = data.texts(color);

  for (const point of pairs(data, values[0])) {
    const text = texts[point.place];

    if (!lines.has(text))
      lines.set(text, []);
    lines.get(text).push(point);
  }
  return Array.from(lines, ([text, points]) => [text, points, colorOf(text)]);
}

function xyScales(data) {
  const name = data.chart.values[0];
  const log = (column) => ({type: 'logarithmic', ticks: logTicks(data.column(column).kind)});

  if (data.chart.log)
    return {x: axis(data, data.chart.x, log(data.chart.x)), y: axis(data, name, log(name))};
  const [first, last] = [Math.min(...data.numbers(data.chart.x)), Math.max(...data.numbers(data.chart.x))];
  const most = data.chart.values.map((value) => Math.max(...data.numbers(value)));
  const steps = data.column(name).kind === 'bytes' ? {stepSize: byteStep(Math.max(...most))} : {};

  return {
    x: axis(data, data.chart.x, {type: 'linear', min: first < last * 0.05 ? 0 : first, max: last,
      ticks: {includeBounds: false}}),
    y: axis(data, name, {beginAtZero: true, grace: '8%', ticks: steps}),
  };
}

function xyTooltip(data) {
  const names = data.chart.label ? data.texts(data.chart.label) : null;
  const {kind} = data.column(data.chart.values[0]);
  const x = data.column(data.chart.x);

  return tooltip({
    title: (items) => names ? names[items[0].raw.place] : `${x.head} ${formatValue(x.kind, items[0].raw.x)}`,
    label: (item) => `${item.dataset.label}: ${formatValue(kind, item.raw.y)}`,
    afterLabel: (item) => names ? `${x.head}: ${formatValue(x.kind, item.raw.x)}` : '',
  });
}

/* The highest sum of values of one x. */
function highestStack(data) {
  const sums = new Map();

  for (const point of pairs(data, data.chart.values[0]))
    sums.set(point.x, (sums.get(point.x) || 0) + point.y);
  return Math.max(...sums.values());
}

/* A click on a run shows it on the timeline. */
function runClicks(data, figure) {
  if (data.chart.x !== 'run' || !timelines.length)
    return {};
  const runs = data.numbers('run');

  return {
    onClick: (event, [nearest]) => nearest && showRun(runs[nearest.index], figure),
    onHover: (event, [nearest]) => { event.native.target.style.cursor = nearest ? 'pointer' : ''; },
  };
}

function lineChart(data, figure) {
  const many = data.count > 200;
  const lines = makeLines(data);

  return {
    type: 'line',
    data: {
      datasets: lines.map(([label, points, color]) => ({
        label,
        data: points,
        borderColor: color,
        backgroundColor: `${color}26`,
        pointBackgroundColor: color,
        borderWidth: 1.5,
        pointRadius: many || data.chart.kind === 'steps' ? 0 : 2.5,
        pointHitRadius: 8,
        stepped: data.chart.kind === 'steps',
        fill: data.chart.kind === 'steps',
      })),
    },
    options: {
      parsing: false,
      interaction: {mode: 'nearest', axis: 'x', intersect: false},
      ...runClicks(data, figure),
      scales: xyScales(data),
      plugins: {
        legend: {display: lines.length > 1, labels: {color: cssColor('--text'), boxWidth: 14}},
        tooltip: xyTooltip(data),
      },
    },
    plugins: [guidesPlugin(data.chart.guides)],
  };
}

/* Bars without space between them, those of a part of the time above each other: a bar stands over
 * its x and what follows up to the next. */
function areasChart(data) {
  const lines = makeLines(data);
  const scales = xyScales(data);
  const xs = Array.from(new Set(data.numbers(data.chart.x))).sort((a, b) => a - b);
  const width = xs.length > 1 ? xs[1] - xs[0] : 1;

  lines.forEach(([, points]) => points.forEach((point) => { point.x += width / 2; }));
  Object.assign(scales.x, {stacked: true, offset: false, min: xs[0], max: xs[xs.length - 1] + width});
  scales.x.grid.offset = false;
  Object.assign(scales.y, {stacked: true});
  scales.y.ticks.stepSize = byteStep(highestStack(data));
  return {
    type: 'bar',
    data: {
      datasets: lines.map(([label, points, color]) => ({
        label,
        data: points,
        backgroundColor: color,
        barPercentage: 1,
        categoryPercentage: 1,
        inflateAmount: 0.3,
      })),
    },
    options: {
      parsing: false,
      interaction: {mode: 'index', intersect: false},
      scales,
      plugins: {
        legend: {display: true, labels: {color: cssColor('--text'), boxWidth: 14}},
        tooltip: xyTooltip(data),
      },
    },
  };
}

/* Logarithmic axes go from a power of ten to another, so that both ends have a name; roofs are seen. */
function logBounds(values, more) {
  const known = values.concat(more).filter((value) => value > 0);

  return known.length
    ? {min: 10 ** Math.floor(Math.log10(Math.min(...known) / 1.2)), max: 10 ** Math.ceil(Math.log10(Math.max(...known) * 1.2))}
    : {};
}

/* Where the two parts of a roof meet, and a piece of the slope before it. */
function ridges(guides) {
  const slopes = guides.filter((guide) => guide.kind === 'slope');
  const levels = guides.filter((guide) => guide.kind === 'level');

  return slopes.flatMap((slope) => levels.map((level) => level.value / slope.value / 4));
}

function pointsChart(data) {
  const groups = new Map();
  const colors = data.chart.color ? data.texts(data.chart.color) : null;
  const points = pairs(data, data.chart.values[0]).filter((point) => point.x !== null && point.y !== null);
  const scales = xyScales(data);
  const levels = data.chart.guides.filter((guide) => guide.kind === 'level').map((guide) => guide.value);

  for (const point of points) {
    const group = colors ? colors[point.place] : data.column(data.chart.values[0]).head;

    if (!groups.has(group))
      groups.set(group, []);
    groups.get(group).push(point);
  }
  if (data.chart.log) {
    Object.assign(scales.x, logBounds(points.map((point) => point.x), ridges(data.chart.guides)));
    Object.assign(scales.y, logBounds(points.map((point) => point.y), levels));
  }
  return {
    type: 'scatter',
    data: {
      datasets: Array.from(groups, ([group, members]) => ({
        label: group,
        data: members,
        backgroundColor: `${colorOf(group)}b0`,
        borderColor: colorOf(group),
        pointRadius: 5,
        pointHoverRadius: 7,
      })),
    },
    options: {
      scales,
      plugins: {
        legend: {display: groups.size > 1 && groups.size <= 12, labels: {color: cssColor('--text'), usePointStyle: true}},
        tooltip: xyTooltip(data),
      },
    },
    plugins: [guidesPlugin(data.chart.guides)],
  };
}

const CHARTS = {bars: barsChart, line: lineChart, steps: lineChart, areas: areasChart, points: pointsChart};

/* Returns what can be destroyed before it is drawn anew. */
function drawChart(figure) {
  const data = readFigure(figure);
  const canvas = figure.querySelector('canvas');
  const config = CHARTS[data.chart.kind](data, figure);

  canvas.setAttribute('aria-label', `${figure.dataset.title}: ${data.chart.kind} of ${data.count} rows`);
  Object.assign(config.options, {animation: false, responsive: true, maintainAspectRatio: false});
  return new Chart(canvas, config);
}
