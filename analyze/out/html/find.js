/* SPDX-License-Identifier: Apache-2.0 */
/* Finding spans on a timeline: all words in name or type, or all spans of one op. */

class SpanFinder {
  constructor(timeline) {
    this.timeline = timeline;
    this.input = timeline.figure.querySelector('.find input');
    this.count = timeline.figure.querySelector('.find span');
    this.found = [];  /* of the run that is shown, by start */
    this.wants = null; /* which spans are meant; null: no question */
    this.input.addEventListener('input', () => this.search(this.input.value));
    this.input.addEventListener('keydown', (event) => this.press(event));
    for (const [name, step] of [['previous', -1], ['next', 1]])
      timeline.figure.querySelector(`[data-do=${name}]`).addEventListener('click', () => this.step(step));
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  press(event) {
    if (event.key === 'Enter')
      this.step(event.shiftKey ? -1 : 1);
    else if (event.key === 'Escape')
      this.leave();
    else
      return;
    event.preventDefault();
  }

  search(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);

    this.want(words.length ? (span) => {
      const haystack = `${span.name} ${span.type}`.toLowerCase();

      return words.every((word) => haystack.includes(word));
    } : null);
  }

  leave() {
    this.clear();
    this.timeline.canvas.focus();
  }

  clear() {
    this.input.value = '';
    this.want(null);
  }

  /* All spans like this one; `title` stands where questions stand. */
  searchOp(op, title) {
    this.input.value = title;
    this.want((span) => isSameOp(span, op));
  }

  want(wants) {
    this.wants = wants;
    this.show();
    this.timeline.draw();
  }

  show() {
    const {timeline, wants} = this;

    this.found = wants ? timeline.view.spans.filter(wants).sort((a, b) => a.start - b.start) : [];
    timeline.matches = wants ? new Set(this.found) : null;
    this.tellCount();
  }

  choose() {
    this.tellCount();
  }

  tellCount() {
    const at = this.found.indexOf(this.timeline.chosen) + 1;
    const sum = this.found.reduce((ns, span) => ns + span.duration, 0);
    const all = this.found.length ? `${this.found.length} spans, ${formatDuration(sum)}` : 'nothing found';

    this.count.textContent = !this.wants ? '' : at ? `${at} of ${all}` : all;
  }

  /* To the next one behind what is chosen, around the end. */
  step(step) {
    const {found, timeline} = this;
    const at = found.indexOf(timeline.chosen);
    const from = at < 0 && step < 0 ? 0 : at;

    if (found.length)
      timeline.reveal(found[(from + step + found.length) % found.length]);
  }
}
