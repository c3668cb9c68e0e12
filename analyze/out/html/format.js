/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them, with the units that the tables use. */

const DECIMAL = ['', 'k', 'M', 'G', 'T', 'P'];
const BINARY = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

/* Three digits and no zeros behind them: 1.23, 12.3, 123. */
function digits(number) {
  const size = Math.abs(number);

  if (size >= 100 || Number.isInteger(number))
    return number.toFixed(0);
  return String(parseFloat(number.toFixed(size >= 10 ? 1 : 2)));
}

function formatScaled(value, step, prefixes, unit) {
  let prefix = 0;

  while (Math.abs(value) >= step && prefix + 1 < prefixes.length) {
    value /= step;
    prefix++;
  }
  return `${digits(value)} ${prefixes[prefix]}${unit}`;
}

function formatDuration(ns) {
  const units = ['ns', 'µs', 'ms', 's'];
  let unit = 0;

  while (Math.abs(ns) >= 1000 && unit + 1 < units.length) {
    ns /= 1000;
    unit++;
  }
  return `${digits(ns)} ${units[unit]}`;
}

/* Points on a time axis `step` apart share a unit and the digits that tell them from each other. */
function formatTick(ns, step) {
  const units = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]];
  let unit = 0;

  while (unit + 1 < units.length && Math.abs(ns) >= units[unit + 1][1])
    unit++;
  const places = Math.max(0, Math.ceil(Math.log10(units[unit][1] / step) - 1e-9));
  return ns === 0 ? '0' : `${(ns / units[unit][1]).toFixed(places)} ${units[unit][0]}`;
}

/* `kind` is the column's: what the number counts. */
function formatValue(kind, value) {
  if (value === null || value === undefined)
    return '-';
  switch (kind) {
  case 'ns':
    return formatDuration(value);
  case 'share':
    return `${(value * 100).toFixed(1)}%`;
  case 'flop':
    return formatScaled(value, 1000, DECIMAL, 'FLOP');
  case 'flop_rate':
    return formatScaled(value, 1000, DECIMAL, 'FLOP/s');
  case 'bytes':
    return formatScaled(value, 1024, BINARY, 'B');
  case 'byte_rate':
    return formatScaled(value, 1024, BINARY, 'B/s');
  case 'real':
    return digits(value);
  default:
    return String(value);
  }
}

/* Names differ at both ends: a long one loses its middle. */
function shorten(text, length) {
  const head = Math.floor((length - 1) / 2);

  if (text.length <= length)
    return text;
  return `${text.slice(0, head)}…${text.slice(text.length - (length - 1 - head))}`;
}

/* How much of two names is the same in front, but for two letters that tell where one is. */
function commonLength(a, b) {
  let length = 0;

  while (length < a.length && a[length] === b[length])
    length++;
  return Math.max(0, length - 2);
}

/* How far a name is the same as every other one that looks like it; 0 where none does. */
function commonWithAlike(names, looks, place) {
  const alike = names.filter((other, at) => other !== names[place] && looks[at] === looks[place]);

  return alike.length ? Math.min(...alike.map((other) => commonLength(names[place], other))) : 0;
}

/* Its head, and from where it differs on. */
function cutCommon(name, common, length) {
  const head = Math.min(common, Math.floor(length / 3));

  return `${name.slice(0, head)}…${name.slice(common, common + Math.max(0, length - head - 1))}`;
}

/* Shortened so that different names stay different: those that would look alike show where they
 * differ; where that does not help they get their place as a number. */
function distinctNames(names, length) {
  const looks = names.map((name) => shorten(name, length));
  const cut = names.map((name, place) => {
    const common = commonWithAlike(names, looks, place);

    return common ? cutCommon(name, common, length) : looks[place];
  });

  return cut.map((text, place) => names.some((other, at) => other !== names[place] && cut[at] === text)
    ? `${text.slice(0, length - 4)} ${place + 1}` : text);
}
