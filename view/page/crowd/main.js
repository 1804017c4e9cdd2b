// The page of a crowd: reads what it carries, builds the controls and plays.
import { Camera, frustum } from './camera.js';
import { Lists } from './cull.js';
import { decodeBase64, hasMethod, METHODS, readCrowd } from './data.js';
import { CrowdGpu } from './gpu.js';
import { scatter } from './scatter.js';

const $ = (id) => document.getElementById(id);
const SKY = { dark: [0.11, 0.12, 0.145], light: [0.86, 0.88, 0.91] };
const SHOWN_EVERY = 400;  // milliseconds between two sets of figures

const state = { method: 'lbs4', count: 1, level: -1, pixels: 8, cull: true, playing: true, seconds: 0 };
const spent = { frames: 0, between: 0, script: 0, gpu: 0, gpuFrames: 0 };
let crowd = null;
let gl = null;
let gpu = null;
let lists = null;
let instances = null;
let camera = null;
let timer = null;  // of the GPU, where the browser has one
let previous = 0;
let shownAt = 0;

function say(sentence) {
  $('message').hidden = false;
  $('message').textContent = sentence;
}

/** What the camera sees, at a size in pixels. */
function viewOf(width, height) {
  const matrix = camera.matrix(width / height);
  const light = document.documentElement.classList.contains('light');
  return { matrix, eye: camera.eye, sky: light ? SKY.light : SKY.dark, far: 3 * camera.distance + 160, width, height };
}

const BESIDE = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 0, 1];  // puts every vertex outside of the picture

/** Chooses what is drawn and draws it, or poses all of it without a pixel. */
function render(width, height, pixels = true) {
  const view = viewOf(width, height);
  lists.update(instances, state.count, state.seconds, {
    planes: state.cull ? frustum(view.matrix) : null, eye: view.eye, pixelsPerUnit: Camera.pixelsPerUnit(height), pixelsPerTriangle: state.pixels, level: state.level,
  });
  gpu.draw(lists, state.method, pixels ? view : { ...view, matrix: BESIDE });
}

function sizeCanvas() {
  const canvas = $('canvas');
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  const [width, height] = [Math.max(1, Math.floor(canvas.clientWidth * ratio)), Math.max(1, Math.floor(canvas.clientHeight * ratio))];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
}

function tick(now) {
  const seconds = Math.min(0.25, (now - previous) / 1000);
  if (previous) {
    spent.between += now - previous;
    ++spent.frames;
  }
  previous = now;
  if (state.playing) state.seconds += seconds;
  sizeCanvas();
  const begin = performance.now();
  timer?.begin();
  render($('canvas').width, $('canvas').height);
  timer?.end();
  spent.script += performance.now() - begin;
  if (now - shownAt > SHOWN_EVERY) {
    shownAt = now;
    showFigures();
  }
  if (!gl.isContextLost()) requestAnimationFrame(tick);
}

const bytesText = (bytes) => (bytes < 1e4 ? `${Math.round(bytes)} B` : bytes < 1e7 ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(0)} MB`);

/** Bytes of the instances that are drawn, on the mean. */
function bytesPerInstance() {
  let sum = 0;
  for (const { character, level, count } of lists.groups)
    sum += count * gpu.bytesPerInstance(state.method, crowd.characters[character], crowd.characters[character].levels[level]);
  return lists.total ? sum / lists.total : 0;
}

function showFigures() {
  const { stats } = gpu;
  const mean = (sum, n) => (n ? `${(sum / n).toFixed(1)} ms` : '–');
  const rows = [
    ['Frame', mean(spent.between, spent.frames)], ['of that script', mean(spent.script, spent.frames)],
    ...(timer ? [['of that GPU', mean(spent.gpu, spent.gpuFrames)]] : []),
    ['Instances seen', `${lists.total.toLocaleString('en')} of ${state.count.toLocaleString('en')}`],
    ...lists.groups.map(({ character, level, count }) => [`${crowd.characters[character].name}, level ${level + 1}`, count.toLocaleString('en')]),
    ['Triangles', stats.triangles.toLocaleString('en')], ['Draw calls', String(stats.draws)],
    ['Bytes per instance', bytesText(bytesPerInstance())], ['Shared by all', bytesText(gpu.shared)], ['Sent per frame', bytesText(stats.sent)],
  ];
  $('figures').replaceChildren(...rows.map((cells) => {
    const row = document.createElement('tr');
    row.append(...cells.map((text) => Object.assign(document.createElement('td'), { textContent: text })));
    return row;
  }));
  Object.assign(spent, { frames: 0, between: 0, script: 0, gpu: 0, gpuFrames: 0 });
}

/** Times the GPU where the browser lets pages do that. */
function gpuTimer() {
  const extension = gl.getExtension('EXT_disjoint_timer_query_webgl2');
  if (!extension) return null;
  let waiting = null;
  let running = false;
  return {
    begin() {
      if (waiting && gl.getQueryParameter(waiting, gl.QUERY_RESULT_AVAILABLE)) {
        if (!gl.getParameter(extension.GPU_DISJOINT_EXT)) {
          spent.gpu += gl.getQueryParameter(waiting, gl.QUERY_RESULT) / 1e6;
          ++spent.gpuFrames;
        }
        gl.deleteQuery(waiting);
        waiting = null;
      }
      if (waiting) return;
      waiting = gl.createQuery();
      gl.beginQuery(extension.TIME_ELAPSED_EXT, waiting);
      running = true;
    },
    end() {
      if (running) gl.endQuery(extension.TIME_ELAPSED_EXT);
      running = false;
    },
  };
}

function setMethod(method) {
  state.method = method;
  for (const button of $('method').children) button.setAttribute('aria-checked', button.dataset.value === method);
}

function setCount(count) {
  state.count = Math.min(crowd.most, Math.max(1, Math.round(count)));
  if (!instances || instances.count < state.count) instances = scatter(crowd.characters, state.count);
  $('count').value = String(state.count);
  $('count-value').textContent = state.count.toLocaleString('en');
}

function setLevel(level) {
  state.level = level;
  $('level').value = String(level);
}

function setDetail(power) {
  state.pixels = 2 ** power;
  $('detail-value').textContent = state.pixels.toPrecision(2);
}

function flip(id) {
  const on = $(id).getAttribute('aria-pressed') !== 'true';
  $(id).setAttribute('aria-pressed', on);
  return on;
}

function wireControls() {
  $('method').replaceChildren(...METHODS.filter(([name]) => hasMethod(crowd, name)).map(([name, label]) => {
    const button = Object.assign(document.createElement('button'), { type: 'button', role: 'radio', textContent: label });
    button.dataset.value = name;
    button.addEventListener('click', () => setMethod(name));
    return button;
  }));
  const levels = Math.max(...crowd.characters.map((character) => character.levels.length));
  $('level').replaceChildren(new Option('By distance', '-1'), ...Array.from({ length: levels }, (_, i) => new Option(i === 0 ? '1, the finest' : String(i + 1), String(i))));
  $('level').addEventListener('change', () => setLevel(Number($('level').value)));
  $('detail').addEventListener('input', () => setDetail(Number($('detail').value)));
  $('count').max = String(Math.max(20000, crowd.count));
  $('count').addEventListener('input', () => setCount(Number($('count').value)));
  $('cull').addEventListener('click', () => { state.cull = flip('cull'); });
  $('play').addEventListener('click', () => { state.playing = flip('play'); });
  $('light').addEventListener('click', () => document.documentElement.classList.toggle('light', flip('light')));
}

function wireCamera() {
  const canvas = $('canvas');
  const fingers = new Map();
  canvas.addEventListener('pointerdown', (event) => {
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
    canvas.setPointerCapture(event.pointerId);
  });
  const lift = (event) => fingers.delete(event.pointerId);
  canvas.addEventListener('pointerup', lift);
  canvas.addEventListener('pointercancel', lift);
  canvas.addEventListener('pointermove', (event) => {
    const from = fingers.get(event.pointerId);
    if (!from) return;
    const [dx, dy] = [event.clientX - from[0], event.clientY - from[1]];
    const apart = () => {
      const [a, b] = [...fingers.values()];
      return Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
    };
    const before = fingers.size === 2 ? apart() : 0;
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
    if (fingers.size === 2) camera.zoom(before / apart());
    else if (event.buttons === 2 || event.shiftKey) camera.move(-dx / canvas.clientHeight, dy / canvas.clientHeight);
    else camera.rotate((4 * dx) / canvas.clientHeight, (3 * dy) / canvas.clientHeight);
  });
  canvas.addEventListener('contextmenu', (event) => event.preventDefault());
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    camera.zoom(Math.exp(event.deltaY * 0.001));
  }, { passive: false });
  canvas.addEventListener('keydown', (event) => {
    const actions = {
      ArrowLeft: () => camera.move(-0.05, 0), ArrowRight: () => camera.move(0.05, 0), ArrowUp: () => camera.move(0, 0.05), ArrowDown: () => camera.move(0, -0.05),
      '+': () => camera.zoom(0.9), '=': () => camera.zoom(0.9), '-': () => camera.zoom(1.1), ' ': () => $('play').click(),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
}

/** Milliseconds that a frame takes from its first call until its last pixel is there, on the mean of so many frames,
 *  after one that is not counted (0 frames: that one alone); at a size that leaves
 *  little to the pixels; without `pixels` it is the time of the vertices alone. */
function measure({ method = state.method, count = state.count, frames = 5, level = state.level, cull = state.cull, width = 320, height = 180, pixels = true } = {}) {
  const kept = { ...state };
  const pixel = new Uint8Array(4);
  setCount(count);
  Object.assign(state, { method, level, cull });
  Object.assign($('canvas'), { width, height });
  const frame = () => {
    state.seconds += 1 / 60;
    render(width, height, pixels);
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
  };
  frame();
  const begin = performance.now();
  for (let i = 0; i < frames; ++i) frame();
  const milliseconds = (performance.now() - begin) / Math.max(1, frames);
  const out = { method, count, milliseconds, drawn: lists.total, bytesPerInstance: bytesPerInstance(), ...gpu.stats };
  Object.assign(state, kept);
  setCount(kept.count);
  return out;
}

function start() {
  const facts = $('sinew-crowd') ? JSON.parse($('sinew-crowd').textContent) : null;
  if (!facts) {
    say('This page holds no crowd.');
    return;
  }
  crowd = readCrowd(facts, decodeBase64($('sinew-arrays').textContent));
  gl = $('canvas').getContext('webgl2', { antialias: true, alpha: false, powerPreference: 'high-performance', preserveDrawingBuffer: true });
  if (!gl) {
    say('This browser gives the page no WebGL 2, so the crowd cannot be drawn.');
    return;
  }
  try {
    gpu = new CrowdGpu(gl, crowd);
  } catch (error) {
    say(error.message);
    return;
  }
  $('canvas').addEventListener('webglcontextlost', () => say('The browser took the GPU away from this page; load it again.'));
  timer = gpuTimer();
  lists = new Lists(crowd.characters, crowd.most);
  camera = new Camera(Math.max(6, 0.55 * Math.sqrt(crowd.count)));
  document.title = `${crowd.name} — sinew`;
  $('title').textContent = crowd.name;
  const sum = (of) => crowd.characters.reduce((total, character) => total + of(character), 0);
  $('facts').textContent = `${crowd.characters.length === 1 ? '1 rig' : `${crowd.characters.length} rigs`} · ${sum((c) => c.clips.length)} clips · `
    + `${Math.max(...crowd.characters.map((c) => c.bones))} bones · transforms in ${crowd.half ? 16 : 32} bits`;
  $('notes').replaceChildren(...(crowd.notes ?? []).map((text) => Object.assign(document.createElement('p'), { textContent: text })));
  wireControls();
  wireCamera();
  setCount(crowd.count);
  setLevel(-1);
  setDetail(Number($('detail').value));
  setMethod(crowd.characters.some((character) => character.virtualBones) ? 'two_layer' : 'lbs4');
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) $('play').click();
  requestAnimationFrame(tick);
}

start();

// What tests and the curious may ask of the page.
window.sinew = {
  get crowd() { return crowd; },
  get state() { return state; },
  get camera() { return camera; },
  get lists() { return lists; },
  get stats() { return gpu?.stats; },
  measure, setCount, setMethod, setLevel, showFigures,
  render: () => { sizeCanvas(); render($('canvas').width, $('canvas').height); },
  gpuPositions: (method, character, level, frame) => gpu.readBack(method, character, level, frame),
};
