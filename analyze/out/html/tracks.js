/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and counters under the time axis of the timeline: curves of steps, each as high as a track. */

const TRACK_HEIGHT = 44;

/* From a view's name to its tracks, each {name, color, kind, times, values, least, most}; `color` is the
 * text that the picture of memory has a colour for, too. */
function readTracks() {
  const tracks = new Map();

  for (const [id, names, values, kind] of [
    ['data-timeline_memory', 'device', 'bytes', 'bytes'], ['data-timeline_counters', 'counter', 'value', 'real'],
  ]) {
    const script = document.getElementById(id);

    if (script)
      addTracks(tracks, readData(script), names, values, kind);
  }
  return tracks;
}

function addTracks(tracks, data, names, values, kind) {
  const [views, titles, times, numbers] = [data.texts('view'), data.texts(names), data.numbers('time_ns'), data.numbers(values)];

  views.forEach((view, place) => {
    const name = kind === 'bytes' ? `memory of ${titles[place]}` : titles[place];

    if (!tracks.has(view))
      tracks.set(view, []);
    let track = tracks.get(view).find((one) => one.name === name);

    if (!track) {
      track = {name, color: titles[place], kind, times: [], values: [], least: 0, most: 0};
      tracks.get(view).push(track);
    }
    track.times.push(times[place]);
    track.values.push(numbers[place]);
    track.least = Math.min(track.least, numbers[place]);
    track.most = Math.max(track.most, numbers[place]);
  });
}

/* The place of the last point that is not behind a time, or -1. */
function pointBefore(track, time) {
  let low = 0, high = track.times.length;

  while (low < high) {
    const middle = (low + high) >> 1;

    if (track.times[middle] <= time)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}

/* Held until the next; null before the first. */
function valueAt(track, time) {
  const place = pointBefore(track, time);

  return place < 0 ? null : track.values[place];
}

/* The least, the most and the average over a time; null where nothing is known in it. */
function statisticsOf(track, range) {
  let least = Infinity, most = -Infinity, sum = 0, known = 0;

  for (let place = Math.max(pointBefore(track, range.from), 0); place < track.times.length; place++) {
    const from = Math.max(track.times[place], range.from);
    const until = Math.min(place + 1 < track.times.length ? track.times[place + 1] : Infinity, range.until);

    if (track.times[place] > range.until)
      break;
    least = Math.min(least, track.values[place]);
    most = Math.max(most, track.values[place]);
    sum += track.values[place] * Math.max(0, until - from);
    known += Math.max(0, until - from);
  }
  return least > most ? null : {least, most, average: known > 0 ? sum / known : least};
}

class TrackPainter {
  constructor(timeline) {
    this.timeline = timeline;
  }

  trackAt(y) {
    return this.timeline.view.tracks.find((track) => y >= track.top && y < track.top + TRACK_HEIGHT) || null;
  }

  /* What is told of the track below the pointer. */
  describe(track, time) {
    return `${track.name}: ${formatValue(track.kind, valueAt(track, time))} at ${formatDuration(time - this.timeline.view.start)}`
      + `, at most ${formatValue(track.kind, track.most)}`;
  }

  paint() {
    this.timeline.view.tracks.forEach((track) => this.paintTrack(track));
  }

  paintTrack(track) {
    const {timeline} = this;
    const {context} = timeline;
    const color = colorOf(track.color);

    context.strokeStyle = cssColor('--line');
    context.beginPath();
    context.moveTo(0, track.top - LANE_GAP / 2 + 0.5);
    context.lineTo(timeline.width, track.top - LANE_GAP / 2 + 0.5);
    context.stroke();
    context.save();
    context.beginPath();
    context.rect(timeline.gutter, track.top, timeline.width - timeline.gutter, TRACK_HEIGHT);
    context.clip();
    this.traceSteps(track);
    context.strokeStyle = color;
    context.stroke();
    context.lineTo(this.lastX, this.yOf(track, 0));
    context.lineTo(this.firstX, this.yOf(track, 0));
    context.fillStyle = `${color}40`;
    context.fill();
    context.restore();
    this.paintName(track);
  }

  yOf(track, value) {
    const height = track.most - track.least || 1;

    return track.top + TRACK_HEIGHT - 2 - (value - track.least) / height * (TRACK_HEIGHT - 4);
  }

  /* Of points within a pixel the highest alone is drawn. */
  traceSteps(track) {
    const {timeline} = this;
    const {context} = timeline;
    const first = Math.max(pointBefore(track, timeline.from), 0);
    let y = null, column = null, highest = 0;

    context.beginPath();
    this.firstX = this.lastX = Math.max(timeline.xAt(track.times[first]), timeline.gutter);
    for (let place = first; place < track.times.length && track.times[place] <= timeline.until; place++) {
      const x = Math.max(timeline.xAt(track.times[place]), timeline.gutter);

      highest = Math.floor(x) === column ? Math.max(highest, track.values[place]) : track.values[place];
      column = Math.floor(x);
      if (y === null)
        context.moveTo(x, this.yOf(track, highest));
      else
        context.lineTo(x, y);
      y = this.yOf(track, highest);
      context.lineTo(x, y);
      y = this.yOf(track, track.values[place]);
      this.lastX = x;
    }
    this.lastX = Math.min(timeline.xAt(timeline.view.end), timeline.width);
    if (y !== null)
      context.lineTo(this.lastX, y);
  }

  paintName(track) {
    const {timeline} = this;
    const {context} = timeline;
    const room = timeline.gutter - 10;

    context.textAlign = 'left';
    context.font = `600 12px ${timeline.font}`;
    context.fillStyle = cssColor('--text');
    timeline.write(timeline.titles[timeline.view.lanes.length + timeline.view.tracks.indexOf(track)], 2, track.top + 10, 2);
    context.font = `11px ${timeline.font}`;
    context.fillStyle = cssColor('--muted');
    timeline.write(timeline.fitText(`to ${formatValue(track.kind, track.most)}`, room), 2, track.top + 28, 2);
  }
}
