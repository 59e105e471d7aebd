// Draws curves again, between other bounds, as draw_lines.cpp and scale.cpp drew them at first.
'use strict';

function svg_element(name, attributes, text = '') {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function place(scale, value) {
  if (value === null || (scale.log && !(value > 0))) return NaN;
  const part = scale.log ? Math.log(value / scale.low) / Math.log(scale.high / scale.low)
                         : (value - scale.low) / (scale.high - scale.low);
  return scale.from + part * (scale.to - scale.from);
}

// Which values are shown

// Of ranges, each from the least to the greatest value or null, the one that holds them all.
function union(ranges) {
  const known = ranges.filter(range => range !== null);
  if (known.length === 0) return null;
  return [Math.min(...known.map(range => range[0])), Math.max(...known.map(range => range[1]))];
}

function length_on(axis, [low, high]) {
  if (axis.log) return Math.log(high / low);
  return axis.zero ? Math.max(high, 0) - Math.min(low, 0) : high - low;
}

// Whether the axis would be more than three times as long with the first twentieth of each curve: bounds.h.
function is_far_longer(axis, all, late) {
  return late !== null && length_on(axis, late) > 0 && length_on(axis, all) > 3 * length_on(axis, late);
}

// Ticks

function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (value >= 1024 && unit + 1 < units.length) { value /= 1024; ++unit; }
  return `${+value.toFixed(1)} ${units[unit]}`;
}

function round_step(span) {
  const rough = span / 6, power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find(factor => factor * power >= rough * (1 - 1e-9)) ?? 10);
}

function fixed(value, step) {
  const digits = step > 0 ? -Math.floor(Math.log10(step) + 1e-9) : 0;
  return value.toFixed(Math.min(12, Math.max(0, digits)));
}

function short_number(value, step) {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) {
    return Number(value.toPrecision(3)).toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  }
  if (size < 1e4) return fixed(value, step);
  const [unit, name] = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']].find(([unit]) => size >= unit);
  return fixed(value / unit, step / unit) + name;
}

function tick_text(tick, step, unit) {
  if (unit === 'percent') return short_number(tick * 100, step * 100) + '%';
  return unit === 'bytes' && tick >= 1 ? bytes(tick) : short_number(tick, step);
}

function log_ticks(low, high) {
  const tens = [], all = [], decades = Math.log10(high / low), stride = Math.max(1, Math.ceil(decades / 6));
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high * (1 + 1e-9); ++power) {
    for (const factor of [1, 2, 5]) {
      const tick = factor * 10 ** power;
      if (tick < low * (1 - 1e-9) || tick > high * (1 + 1e-9)) continue;
      all.push(tick);
      if (factor === 1 && power % stride === 0) tens.push(tick);
    }
  }
  return tens.length < 3 && decades < 3 ? all : tens;
}

// Gives `axis` its bounds for values of a range; with `rounded` those of a linear one are ticks. Returns the ticks.
function fit_axis(axis, [low, high], rounded) {
  if (axis.zero && !axis.log) { low = Math.min(low, 0); high = Math.max(high, 0); }
  if (high - low <= Math.abs(high) * 1e-9) {
    const by = low === 0 ? 1 : Math.abs(low) * 0.1;
    low -= by;
    high += by;
  }
  const step = round_step(high - low), first = low / step, last = high / step;
  if (rounded && !axis.log) { low = Math.floor(first + 1e-9) * step; high = Math.ceil(last - 1e-9) * step; }
  Object.assign(axis, {low, high});
  let values = axis.ticks;
  if (values.length === 0 && axis.log) values = log_ticks(low, high);
  if (values.length === 0 && !axis.log) {
    for (let i = Math.ceil(low / step - 1e-9); i <= Math.floor(high / step + 1e-9); ++i) values = [...values, i * step];
  }
  return values.map(value => ({value, text: tick_text(value, axis.log ? value : step, axis.unit)}));
}

// Drawing

const character = 6.6;  // pixels

function draw_frame(frame, chart, x_ticks, y_ticks, is_cut) {
  const {x, y} = chart, parts = [];
  const add = (name, attributes, text) => parts.push(svg_element(name, attributes, text));
  for (const {value, text} of y_ticks) {
    const at = place(y, value);
    add('path', {class: 'grid', d: `M${x.from},${at}H${x.to}`});
    add('text', {class: 'tick', x: x.from - 6, y: at + 4, 'text-anchor': 'end'}, text);
  }
  add('path', {class: 'base', d: `M${x.from},${y.from}H${x.to}`});
  let free_from = -Infinity;
  for (const {value, text} of x_ticks) {
    const at = place(x, value), half = text.length * character / 2;
    if (at < x.from - 1 || at > x.to + 1 || at - half < free_from) continue;
    free_from = at + half + character;
    add('path', {class: 'base', d: `M${at},${y.from}v4`});
    add('text', {class: 'tick', x: at, y: y.from + 16, 'text-anchor': 'middle'}, text);
  }
  const titles = frame.querySelectorAll('.axis');
  titles[1].textContent = `↑ ${y.title}${y.log ? ', log' : ''}${is_cut ? ', beginning cut off' : ''}`;
  frame.replaceChildren(...parts, ...titles);
}

function draw_series(group, series, chart) {
  const parts = [];
  let path = '', is_drawing = false;
  for (let i = 0; i < series.x.length; ++i) {
    const x = place(chart.x, series.x[i]), y = place(chart.y, series.y[i]), is_there = isFinite(x) && isFinite(y);
    if (is_there) path += `${is_drawing ? 'L' : 'M'}${x.toFixed(1)},${y.toFixed(1)}`;
    const is_last = i + 1 === series.x.length || !isFinite(place(chart.y, series.y[i + 1]));
    if (is_there && !is_drawing && is_last) path += 'h0';
    is_drawing = is_there;
    if (!is_there) continue;
    const [least, greatest] = [series.least, series.greatest].map(ends => place(chart.y, ends?.[i] ?? null));
    if (isFinite(least) && isFinite(greatest)) {
      parts.push(svg_element('path', {class: `whisker ${series.colour}`, d: `M${x},${least}V${greatest}`}));
    }
    if (series.dots) parts.push(svg_element('circle', {class: `fill ${series.colour}`, cx: x, cy: y, r: 2.6}));
  }
  const line = group.querySelector('.line');
  line.setAttribute('d', path);
  group.replaceChildren(line, ...parts);
}

// Draws a plot again, for what is not hidden. With `whole` nothing is cut off. Returns whether something would be.
function fit_plot(svg, chart, hidden, whole) {
  const shown = chart.series.filter(series => !hidden.has(series.input));
  const ranges = name => union(shown.map(series => series.range[name]));
  const x = ranges('x'), y = ranges('y'), late = ranges('late');
  if (x === null || y === null) return chart.cut;  // nothing is left to draw
  chart.cut = is_far_longer(chart.y, y, late);
  const is_cut = chart.cut && !whole;
  const x_ticks = fit_axis(chart.x, x, false), y_ticks = fit_axis(chart.y, is_cut ? late : y, true);
  chart.x.from = Math.max(28, Math.max(...y_ticks.map(tick => tick.text.length)) * character + 10);
  draw_frame(svg.querySelector('.frame'), chart, x_ticks, y_ticks, is_cut);
  svg.querySelectorAll('g[data-input]').forEach((group, i) => draw_series(group, chart.series[i], chart));
  return chart.cut;
}

