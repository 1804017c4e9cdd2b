// Small SVG plots.
const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 290;
const HEIGHT = 96;
const LEFT = 38;
const BOTTOM = 16;

function element(name, attributes, parent, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

const short = (value) => (value === 0 ? '0' : Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(2));

function frame(caption, title) {
  const figure = document.createElement('figure');
  const svg = element('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img' }, figure);
  element('title', {}, svg, title ?? caption);
  element('path', { class: 'axis', d: `M${LEFT} 4V${HEIGHT - BOTTOM}H${WIDTH - 4}` }, svg);
  const text = document.createElement('figcaption');
  text.textContent = caption;
  figure.append(text);
  return { figure, svg };
}

/** A curve over x; `onPick(x)` is called with the nearest point's x on a click. Returns { figure, mark(x) }. */
export function linePlot(caption, points, { onPick } = {}) {
  const { figure, svg } = frame(caption);
  const xs = points.map((p) => p[0]);
  const ys = points.map((p) => p[1]);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const top = Math.max(...ys) || 1;
  const X = (x) => LEFT + ((x - x0) / (x1 - x0 || 1)) * (WIDTH - LEFT - 6);
  const Y = (y) => HEIGHT - BOTTOM - (y / top) * (HEIGHT - BOTTOM - 8);
  element('path', { class: 'curve', d: points.map(([x, y], i) => `${i ? 'L' : 'M'}${X(x).toFixed(1)} ${Y(y).toFixed(1)}`).join('') }, svg);
  element('text', { x: LEFT - 4, y: 12, 'text-anchor': 'end' }, svg, short(top));
  element('text', { x: LEFT - 4, y: HEIGHT - BOTTOM, 'text-anchor': 'end' }, svg, '0');
  element('text', { x: LEFT, y: HEIGHT - 4 }, svg, String(x0));
  element('text', { x: WIDTH - 6, y: HEIGHT - 4, 'text-anchor': 'end' }, svg, String(x1));
  const now = element('path', { class: 'now', d: '' }, svg);
  if (onPick) {
    svg.style.cursor = 'pointer';
    svg.addEventListener('click', (event) => {
      const box = svg.getBoundingClientRect();
      const x = x0 + (((event.clientX - box.left) / box.width) * WIDTH - LEFT) * ((x1 - x0) / (WIDTH - LEFT - 6));
      onPick(Math.round(Math.min(x1, Math.max(x0, x))));
    });
  }
  return { figure, mark: (x) => now.setAttribute('d', `M${X(x).toFixed(1)} 4V${HEIGHT - BOTTOM}`) };
}

/** Bars with a label under each. */
export function barPlot(caption, bars) {
  const { figure, svg } = frame(caption);
  const top = Math.max(...bars.map((bar) => bar.value)) || 1;
  const width = (WIDTH - LEFT - 6) / bars.length;
  const every = Math.ceil(bars.length / 12);
  bars.forEach((bar, i) => {
    const height = (bar.value / top) * (HEIGHT - BOTTOM - 8);
    const x = LEFT + i * width;
    const rect = element('rect', { class: 'bar', x: x + width * 0.1, y: HEIGHT - BOTTOM - height, width: width * 0.8, height }, svg);
    element('title', {}, rect, `${bar.label}: ${bar.value}`);
    if (i % every === 0) element('text', { x: x + width / 2, y: HEIGHT - 4, 'text-anchor': 'middle' }, svg, bar.label);
  });
  element('text', { x: LEFT - 4, y: 12, 'text-anchor': 'end' }, svg, short(top));
  return { figure };
}
