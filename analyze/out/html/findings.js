/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict: each finding a card that leads to what it is about. */

/* The longest time in [from, until) without a span of these, which are sorted by start. */
function longestGap(spans, from, until) {
  let best = null, end = from;

  for (const next of [...spans, {start: until, end: until}]) {
    if (next.start > end && (!best || next.start - end > best.until - best.from))
      best = {from: end, until: next.start};
    end = Math.max(end, next.end);
  }
  return best;
}

function showGap(timeline, isMeant) {
  const {view} = timeline;
  const gap = longestGap(view.spans.filter(isMeant).sort((a, b) => a.start - b.start), view.start, view.end);

  if (!gap)
    return;
  const margin = (gap.until - gap.from) * 0.3;

  timeline.setWindow(gap.from - margin, gap.until + margin);
  timeline.setRange(gap);
}

function showWanted(timeline, title, isMeant) {
  timeline.finder.input.value = title;
  timeline.finder.want(isMeant);
  timeline.finder.step(1);
}

function showView(timeline, part) {
  const place = timeline.views.findIndex((view) => view.name.includes(part));

  if (place >= 0)
    timeline.show(place);
}

const isCopy = (span) => /^(gpu_)?(mem)?(cpy|copy|set)/i.test(span.type) || /^mem(cpy|set)/i.test(span.name);
const isLayout = (span) => /^(reorder|transpose)$/i.test(span.type);
const TINY_NS = 5000; /* as in the rule */

/* What a finding of a rule is about: a section, and, on the timeline, what to show there. Of several
 * sections the first that the page has. */
const PLACES = {
  'copies-block': {sections: ['timeline', 'types'], show: (timeline) => showWanted(timeline, 'copies', isCopy)},
  'copies-dominate': {sections: ['timeline', 'types'], show: (timeline) => showWanted(timeline, 'copies', isCopy)},
  'copies-small': {sections: ['timeline', 'types'], show: (timeline) => showWanted(timeline, 'copies', isCopy)},
  'device-idle': {sections: ['timeline'],
    show: (timeline, finding) => showGap(timeline, (span) => span.side === finding.device)},
  'launch-bound': {sections: ['timeline'],
    show: (timeline) => showWanted(timeline, 'launches', (span) => span.launched.length > 0)},
  'one-dominates': {sections: ['timeline', 'ops', 'types'], show: (timeline, finding) => finding.op
    ? jumpToOp({name: finding.op}) : showWanted(timeline, finding.op_type, (span) => span.type === finding.op_type)},
  'below-roof': {sections: ['roofline', 'ops']},
  'layout-changes': {sections: ['timeline', 'types'], show: (timeline) => showWanted(timeline, 'changes of layout', isLayout)},
  'tiny-ops': {sections: ['timeline', 'ops'], show: (timeline) => showWanted(timeline, 'less than 5 µs of self time',
    (span) => span.self !== null && span.self < TINY_NS)},
  'warm-up': {sections: ['timeline', 'run_times'], show: (timeline) => showView(timeline, ', the first')},
  'runs-vary': {sections: ['run_times', 'timeline'], show: (timeline) => showView(timeline, ', the slowest')},
  'runs-drift': {sections: ['run_times', 'timeline'], show: (timeline) => showView(timeline, ', the slowest')},
  'memory-grows': {sections: ['memory_curve', 'timeline']},
  'events-lost': {sections: ['warnings']},
  unfinished: {sections: ['warnings']},
  coverage: {sections: ['timeline'], show: (timeline) => showGap(timeline, (span) => span.type !== 'label')},
};

function placeOf(finding) {
  const place = PLACES[finding.rule] || {sections: []};

  return {...place, section: place.sections.map((id) => document.getElementById(id)).find(Boolean)};
}

function showFinding(finding) {
  const {section, show} = placeOf(finding);
  const [timeline] = timelines;

  if (show && timeline) {
    timeline.finder.clear();
    timeline.setRange(null);
    show(timeline, finding);
  }
  section.tabIndex = -1;
  section.focus({preventScroll: true});
  section.scrollIntoView({block: 'start'});
}

function findingCard(finding) {
  const {section} = placeOf(finding);
  const button = element('button', 'Show', {type: 'button'});
  const copy = element('button', 'Copy', {type: 'button'});
  const share = element('span', finding.share === null ? '' : formatValue('share', finding.share), {className: 'of-wall'});

  button.setAttribute('aria-label', `Show: ${finding.finding}`);
  button.addEventListener('click', () => showFinding(finding));
  copy.setAttribute('aria-label', 'Copy the command');
  copy.addEventListener('click', () => copyText(copy, finding.command));
  share.title = 'of the wall time';
  return element('li', [
    element('p', [share, element('strong', finding.finding), section ? button : null]),
    element('p', finding.action, {className: 'action'}),
    element('p', [element('code', finding.command), copy]),
  ]);
}

/* Where a browser lets no page copy, the command is selected. */
async function copyText(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    window.getSelection().selectAllChildren(button.previousSibling);
  }
}

/* In place of the table, which stands there for those without scripts. */
function makeFindings() {
  const script = document.getElementById('data-findings');

  if (!script)
    return;
  const data = readData(script);
  const names = ['rule', 'finding', 'action', 'command', 'op', 'op_type', 'device'];
  const columns = names.map((name) => data.texts(name));
  const findings = data.numbers('share').map((share, place) =>
    ({share, ...Object.fromEntries(names.map((name, at) => [name, columns[at][place]]))}));

  document.getElementById('table-findings').parentElement
    .replaceWith(element('ol', findings.map(findingCard), {className: 'findings'}));
}
