// What moves in the page. The plots are there without it; this adds numbers under the pointer, hides and shows inputs,
// changes the axis and the colours, and copies tables. All text from files is put in as text, never as markup.

const charts = JSON.parse(document.getElementById('charts').textContent);
const tip = document.getElementById('tip');
const hidden = new Set();  // the inputs that are switched off

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function remember(name, value) {
  try { localStorage.setItem('lockstep-report-' + name, value); } catch { /* a page from a file may have no storage */ }
}

function remembered(name) {
  try { return localStorage.getItem('lockstep-report-' + name); } catch { return null; }
}

// Numbers

function number(value, unit) {
  if (unit === 'percent') return (value * 100).toFixed(2) + '%';
  if (unit === 'bytes') return bytes(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e9)) return value.toExponential(3);
  return value.toLocaleString('en', size >= 1000 ? {maximumFractionDigits: 0} : {maximumSignificantDigits: 5});
}

// The number under the pointer

// The index of the value in a rising list that is nearest, by place on the axis.
function nearest(list, scale, at) {
  let low = 0, high = list.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (place(scale, list[middle]) < at) low = middle + 1; else high = middle;
  }
  return low > 0 && at - place(scale, list[low - 1]) < place(scale, list[low]) - at ? low - 1 : low;
}

// Of every curve that is shown the point nearest to `at`, a place on the x axis; those of one place together.
function points_at(chart, at) {
  const found = [];
  for (const series of chart.series) {
    if (series.ruled || hidden.has(series.input) || series.x.length === 0) continue;
    const i = nearest(series.x, chart.x, at);
    if (series.y[i] === null) continue;
    found.push({series, x: series.x[i], y: series.y[i], distance: Math.abs(place(chart.x, series.x[i]) - at)});
  }
  const least = Math.min(...found.map(point => point.distance));
  return found.filter(point => point.distance <= least + 12);
}

function clear_cross() {
  document.querySelectorAll('.cross, .at').forEach(mark => mark.remove());
  tip.hidden = true;
}

function show_tip(x, y) {
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 16 + box.width > innerWidth ? x - 16 - box.width : x + 16;
  tip.style.left = Math.max(4, left) + 'px';
  tip.style.top = Math.max(4, Math.min(y - box.height / 2, innerHeight - box.height - 4)) + 'px';
}

// Draws the cross at the points that are nearest to `at`, and returns the place where it stands.
function show_cross(svg, at) {
  clear_cross();
  const chart = charts[svg.dataset.chart];
  const points = points_at(chart, at);
  if (points.length === 0) return at;
  const closest = points.reduce((a, b) => b.distance < a.distance ? b : a);
  const x = place(chart.x, closest.x);
  svg.append(svg_element('path', {class: 'cross', d: `M${x},${chart.y.from}V${chart.y.to}`}));
  for (const point of points) {
    const y = place(chart.y, point.y);
    if (y < chart.y.to - 1 || y > chart.y.from + 1) continue;  // cut off, and only its number is seen
    svg.append(svg_element('circle', {class: `at fill ${point.series.colour}`, r: 4, cx: place(chart.x, point.x), cy: y}));
  }
  points.sort((a, b) => b.y - a.y);
  const where = value => `${chart.x.title} ${number(value, chart.x.unit)}`;
  // A curve with fewer points may have its nearest a little to the side, and says so.
  const label = point => (point.series.name || chart.y.title) +
      (Math.abs(place(chart.x, point.x) - x) > 2 ? ` (${where(point.x)})` : '');
  tip.replaceChildren(
      element('b', {}, where(closest.x)),
      ...points.map(point => element('div', {},
          element('i', {className: point.series.colour}), label(point),
          element('span', {}, number(point.y, chart.y.unit)))));
  const frame = svg.getBoundingClientRect(), factor = frame.width / svg.viewBox.baseVal.width;
  show_tip(frame.left + x * factor, frame.top + (chart.y.from + chart.y.to) / 2 * factor);
  return x;
}

function follow_pointer(svg) {
  let at = 0;
  const move = event => {
    const frame = svg.getBoundingClientRect();
    at = show_cross(svg, (event.clientX - frame.left) * svg.viewBox.baseVal.width / frame.width);
  };
  svg.addEventListener('pointermove', move);
  svg.addEventListener('pointerdown', move);
  svg.addEventListener('pointerleave', clear_cross);
  svg.addEventListener('blur', clear_cross);
  svg.addEventListener('keydown', event => {
    const chart = charts[svg.dataset.chart];
    if (event.key === 'Escape') return clear_cross();
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    event.preventDefault();
    const right = event.key === 'ArrowRight';
    const places = chart.series.filter(series => !series.ruled && !hidden.has(series.input))
        .flatMap(series => series.x.map(value => place(chart.x, value)))
        .filter(value => right ? value > at + 0.5 : value < at - 0.5);
    if (places.length > 0) at = show_cross(svg, right ? places.reduce((a, b) => Math.min(a, b))
                                                      : places.reduce((a, b) => Math.max(a, b)));
  });
}

function follow_bars() {
  for (const bar of document.querySelectorAll('[data-tip]')) {
    bar.addEventListener('pointermove', event => {
      tip.replaceChildren(bar.dataset.tip);
      show_tip(event.clientX, event.clientY);
    });
    bar.addEventListener('pointerleave', clear_cross);
  }
}

// Controls

function add_toggles() {
  for (const chip of document.querySelectorAll('[data-toggle]')) {
    chip.addEventListener('click', () => {
      const input = Number(chip.dataset.toggle);
      if (!hidden.delete(input)) hidden.add(input);
      chip.setAttribute('aria-pressed', String(!hidden.has(input)));
      document.querySelectorAll(`[data-input="${input}"]`)
          .forEach(part => part.classList.toggle('off', hidden.has(input)));
      document.querySelectorAll('figure').forEach(fit_axes);
    });
  }
}

// The axes of a figure's plots span what is shown; its button, where some of that would be cut off, makes them span all.
function fit_axes(figure) {
  clear_cross();
  const button = figure.querySelector('.range'), whole = button?.getAttribute('aria-pressed') === 'true';
  let is_cut = false;
  for (const svg of figure.querySelectorAll('svg[tabindex]')) {
    is_cut = fit_plot(svg, charts[svg.dataset.chart], hidden, whole) || is_cut;
  }
  if (button !== null) button.hidden = !is_cut;
}

function add_ranges() {
  for (const figure of document.querySelectorAll('figure:has(svg[tabindex])')) {
    const button = element('button', {type: 'button', className: 'range', title: 'Show the beginning of all curves'},
                           'whole range');
    button.setAttribute('aria-pressed', 'false');
    button.hidden = !charts[figure.querySelector('svg[tabindex]').dataset.chart].cut;
    button.addEventListener('click', () => {
      button.setAttribute('aria-pressed', String(button.getAttribute('aria-pressed') === 'false'));
      fit_axes(figure);
    });
    figure.querySelector('figcaption').prepend(button);
  }
}

function show_axis(name) {
  document.querySelectorAll('.axes button')
      .forEach(button => button.setAttribute('aria-pressed', String(button.dataset.axis === name)));
  for (const figure of document.querySelectorAll('figure')) {
    const views = [...figure.querySelectorAll('svg[data-view]')];
    if (!views.some(view => view.dataset.view === name)) continue;
    views.forEach(view => view.classList.toggle('off', view.dataset.view !== name));
  }
}

function add_axes() {
  const names = new Set([...document.querySelectorAll('svg[data-view]')].map(svg => svg.dataset.view).filter(Boolean));
  if (names.size < 2) return;
  for (const name of names) {
    const button = element('button', {type: 'button'}, name);
    button.dataset.axis = name;
    button.addEventListener('click', () => show_axis(name));
    document.querySelector('.axes').append(button);
  }
  show_axis([...names][0]);
}

function add_theme() {
  const button = document.getElementById('theme'), names = ['auto', 'light', 'dark'];
  const set = name => {
    button.textContent = name;
    if (name === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
  };
  if (names.includes(remembered('theme'))) set(remembered('theme'));
  button.addEventListener('click', () => {
    const next = names[(names.indexOf(button.textContent) + 1) % names.length];
    set(next);
    remember('theme', next);
  });
}

function as_tsv(table) {
  return [...table.rows].filter(row => !row.classList.contains('off'))
      .map(row => [...row.cells].map(cell => cell.textContent.replace(/[\t\n]/g, ' ')).join('\t')).join('\n') + '\n';
}

// Where a page may not reach the clipboard by itself, as one from a file in some browsers, the old way still works.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element('textarea', {value: text});
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}

function add_copies() {
  for (const button of document.querySelectorAll('.copy')) {
    button.addEventListener('click', async event => {
      event.preventDefault();  // the summary that it is in stays as it is
      await copy(as_tsv(button.closest('details, .block').querySelector('table')));
      button.textContent = 'copied';
      setTimeout(() => { button.textContent = 'copy'; }, 1500);
    });
  }
}

function add_differences() {
  const box = document.getElementById('only-differences');
  if (box === null) return;
  const show = () => document.querySelectorAll('#configuration tbody tr:not(.differs)')
      .forEach(row => row.classList.toggle('off', box.checked));
  box.checked = document.querySelector('#configuration tr.differs') !== null;
  box.addEventListener('change', show);
  show();
}

add_toggles();
add_ranges();
add_axes();
add_theme();
add_copies();
add_differences();
document.querySelectorAll('svg[tabindex]').forEach(follow_pointer);
follow_bars();
