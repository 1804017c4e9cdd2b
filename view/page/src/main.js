// The page: reads what it carries, builds the controls and plays.
import { boneColors, CLAY, css, heat } from './colors.js';
import { decodeBase64, decodeOriginal, ErrorTable } from './errors.js';
import { ktx2Loader } from './ktx2.js';
import { parseModel } from './model.js';
import { barPlot, linePlot } from './plots.js';
import { PoseMode } from './pose_mode.js';
import { Stage } from './stage.js';

const $ = (id) => document.getElementById(id);
const say = (sentence) => {
  $('message').hidden = !sentence;
  $('message').textContent = sentence ?? '';
};

const state = { frame: 0, clock: 0, playing: false, show: 'result', color: 'clay', bone: -1, flickerAt: 0 };
let stage = null;
let model = null;
let errors = null;
let palette = [];
let framePlot = null;
let posing = null;
let previous = 0;

const SHOW = [['side', 'Side by side'], ['overlay', 'Overlay'], ['flicker', 'Flicker'], ['result', 'Rig'], ['original', 'Original']];
const COLOR = [['look', 'Look'], ['clay', 'Clay'], ['weights', 'Weights'], ['error', 'Error']];
const TOGGLES = [['bones', 'Bones'], ['wireframe', 'Wireframe'], ['grid', 'Grid'], ['loop', 'Loop clip'], ['between', 'Between keys'], ['pose', 'Pose'], ['light', 'Light']];
const ON_AT_FIRST = new Set(['grid', 'loop', 'between']);
const KEYS = [
  ['space', 'play or pause'], ['← →', 'one frame back or on'], ['home end', 'first or last frame'],
  ['f', 'fit the view'], ['b', 'bones'], ['w', 'wireframe'], ['g', 'grid'], ['l', 'light or dark'],
  ['v', 'next way of showing the original'], ['c', 'next colouring'], ['x', 'go to the worst vertex'], ['o', 'loop the clip, or play all'],
  ['k', 'play between keys, or only keys'], ['p', 'pose bones by hand'], ['ctrl z, ctrl y', 'undo a pose, do it again'], ['s', 'save a picture'], ['?', 'this list'],
];

function segmented(id, entries, pick) {
  $(id).replaceChildren(...entries.map(([value, label]) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.role = 'radio';
    button.dataset.value = value;
    button.textContent = label;
    button.addEventListener('click', () => pick(value));
    return button;
  }));
}

const check = (id, value) => { for (const button of $(id).children) button.setAttribute('aria-checked', button.dataset.value === value); };

function setShow(value) {
  state.show = value;
  check('show', value);
  stage.apply({ show: value });
  const [left, right] = { side: ['Original', 'Rig'], overlay: ['Rig, original translucent', ''], flicker: ['Original / rig', ''], original: ['Original', ''], result: ['', ''] }[value];
  $('label-left').textContent = left;
  $('label-right').textContent = right;
  stage.setFrame(state.frame);
}

function setColor(value) {
  state.color = value;
  if (value !== 'bone') state.bone = -1;
  check('color', value);
  stage.bones.choose(state.bone);
  paint();
  showBones();
  if (value !== 'error') stage.setMark(-1);
  showPose();
}

/** The frame as it is drawn: between keys, or at the key before. */
const shownFrame = () => (isOn('between') || !state.playing ? state.frame : Math.floor(state.frame));

const toggleButton = (name) => [...$('toggles').children].find((button) => button.dataset.value === name);
const isOn = (name) => toggleButton(name).getAttribute('aria-pressed') === 'true';

/** Colours the result by the chosen quantity; errors depend on the frame. */
function paint() {
  $('legend').hidden = state.color !== 'bone' && state.color !== 'error';
  stage.apply({ ownLook: state.color === 'look' });
  if (state.color === 'weights') stage.paint(weightColor);
  else if (state.color === 'bone') paintBone();
  else if (state.color === 'error' && errors) paintErrors();
  else stage.paint(() => CLAY);
}

function weightColor(v) {
  const sum = [0, 0, 0];
  for (let k = 0; k < model.slots; ++k) {
    const w = model.weights[v * model.slots + k];
    if (w > 0) for (let c = 0; c < 3; ++c) sum[c] += w * palette[model.weightBones[v * model.slots + k]][c];
  }
  return sum;
}

function paintBone() {
  stage.paint((v) => {
    let weight = 0;
    for (let k = 0; k < model.slots; ++k)
      if (model.weightBones[v * model.slots + k] === state.bone) weight += model.weights[v * model.slots + k];
    return weight > 0 ? heat(weight) : CLAY.map((c) => 0.6 * c);
  });
  legend('weight 0', '1');
}

function paintErrors() {
  const distances = errors.distancesAt(state.frame);
  const top = errors.worst.distance || 1;
  stage.paint((v) => heat(distances[model.controlPoint[v]] / top));
  legend('0 %', `${errors.maxPercent.toPrecision(3)} % of the diagonal`);
}

function legend(low, high) {
  $('legend').hidden = false;
  $('legend-low').textContent = low;
  $('legend-high').textContent = high;
  const bar = $('legend-bar');
  const context = bar.getContext('2d');
  for (let x = 0; x < bar.width; ++x) {
    context.fillStyle = css(heat(x / (bar.width - 1)));
    context.fillRect(x, 0, 1, bar.height);
  }
}

function showBones() {
  const filter = $('search').value.trim().toLowerCase();
  const shares = model.boneShares;
  $('bones').replaceChildren(...model.tree.flatMap(({ bone: b, depth }) => {
    const bone = model.bones[b];
    if (filter && !bone.name.toLowerCase().includes(filter)) return [];
    const button = document.createElement('button');
    button.type = 'button';
    button.setAttribute('aria-pressed', state.bone === b);
    for (const [name, text] of [['swatch', ''], ['name', bone.name], ['share', `${(100 * shares[b]).toFixed(1)} %`]]) {
      const span = document.createElement('span');
      span.className = name;
      span.textContent = text;
      if (name === 'swatch') span.style.background = css(palette[b]);
      button.append(span);
    }
    button.addEventListener('click', () => pickBone(b));
    const item = document.createElement('li');
    item.setAttribute('aria-level', depth + 1);
    if (!filter) item.style.paddingLeft = `${Math.min(depth, 12) * 10}px`;
    item.append(button);
    return [item];
  }));
}

function pickBone(b) {
  if (state.bone === b && !posing.on) return setColor('weights');
  posing.choose(b);
  state.bone = b;
  state.color = 'bone';
  check('color', '');
  stage.bones.choose(b);
  paint();
  showBones();
  showPose();
}

/** The pose of the frame, or in pose mode the one made by hand. */
function showPose() {
  if (!posing.on) return stage.setFrame(shownFrame());
  model.readNodes();
  stage.showPose();
}

function setPosing(on) {
  if (on) {
    setPlaying(false);
    setShow('result');
    goTo(Math.round(state.frame));
  }
  posing.setOn(on);
  toggleButton('pose').setAttribute('aria-pressed', posing.on);
  if (!posing.on) goTo(state.frame);
  else if (!isOn('bones')) toggle('bones');
}

function showErrors() {
  $('error-group').hidden = !errors;
  if (!errors) return;
  const rows = [
    ['E_RMS', errors.eRms.toPrecision(4)], ['RMSE', `${errors.rmsePercent.toPrecision(4)} % of the diagonal`],
    ['largest', `${errors.maxPercent.toPrecision(4)} %`], ['worst', `frame ${errors.worst.frame}, vertex ${errors.worst.vertex}`],
  ];
  $('error-table').replaceChildren(...rows.map((cells) => {
    const row = document.createElement('tr');
    row.append(...cells.map((text) => Object.assign(document.createElement('td'), { textContent: text })));
    return row;
  }));
}

function showPlots(written) {
  const report = written?.solve ?? written;  // what `solve --report` writes holds the iterations one level down
  framePlot = null;
  const figures = [];
  if (errors && errors.frames > 1) {
    framePlot = linePlot('Error per frame, % of the diagonal', errors.perFrame.map((e, f) => [f * errors.step, e]), { onPick: goTo });
    figures.push(framePlot.figure);
  }
  if (report?.iterations?.length > 1)
    figures.push(linePlot('E_RMS per iteration', report.iterations.map((it, i) => [i + 1, it.e_rms])).figure);
  if (report?.search?.length > 1)
    figures.push(linePlot('E_RMS against the number of bones', report.search.map((s) => [s.bones, s.e_rms]).sort((a, b) => a[0] - b[0])).figure);
  figures.push(barPlot('Vertices by number of influences', model.influenceHistogram().map((value, i) => ({ label: String(i + 1), value }))).figure);
  $('plots').replaceChildren(...figures);
}

function goTo(frame) {
  endSliders();
  state.frame = Math.min(model.frameCount - 1, Math.max(0, frame));
  const near = Math.round(shownFrame());
  if (state.color === 'error') paint();
  if (posing.on) posing.restore();
  stage.setFrame(shownFrame());
  if (posing.on) posing.start();
  $('scrub').value = String(near);
  $('frame').textContent = `frame ${near} / ${model.frameCount - 1}`;  // counted from 0, as everywhere in sinew
  const clip = model.clipOf(near);
  if (clip >= 0) $('clip').value = String(clip);
  framePlot?.mark(near);
}

function goToWorst() {
  if (!errors) return;
  setPlaying(false);
  const { frame, vertex } = errors.worst;
  goTo(frame);
  const posed = model.positions();
  stage.lookAt(...posed.subarray(3 * errors.renderVertex[vertex], 3 * errors.renderVertex[vertex] + 3));
  if (state.color !== 'error') setColor('error');
  goTo(frame);
  stage.setMark(errors.renderVertex[vertex]);
}

function setPlaying(on) {
  if (on && posing?.on) setPosing(false);
  state.playing = on && model !== null && model.frameCount > 1;
  $('play').textContent = state.playing ? '❚❚' : '▶';
}

/** Advances by real time through the key times, at the chosen speed. At the end of a clip it starts again, or goes on
 *  with the next one. */
function advance(seconds) {
  const f = Math.min(model.frameCount - 1, Math.floor(state.frame));
  const { clip } = model.frames[f];
  const { first, count } = clip >= 0 ? model.clips[clip] : { first: 0, count: model.frameCount };
  const last = first + count - 1;
  let time = model.timeOf(state.frame) + seconds * Number($('speed').value);
  const begin = model.frames[first].time;
  const end = model.frames[last].time;
  if (time >= end && !isOn('loop') && model.clips.length > 1) {
    state.frame = (last + 1) % model.frameCount;
    return;
  }
  if (time >= end) time = begin + ((time - begin) % (end - begin || 1));
  let next = first;
  while (next < last && model.frames[next + 1].time <= time) ++next;
  const span = next < last ? model.frames[next + 1].time - model.frames[next].time : 1;
  state.frame = next + (next < last ? (time - model.frames[next].time) / span : 0);
}

function tick(now) {
  const seconds = Math.min(0.1, (now - previous) / 1000);
  previous = now;
  if (model) {
    if (state.playing) {
      advance(seconds);
      goTo(state.frame);
    }
    if (state.show === 'flicker' && now - state.flickerAt > 350) {
      state.flickerAt = now;
      stage.flickerOriginal = !stage.flickerOriginal;
      stage.apply();
      stage.setFrame(state.frame);
    }
  }
  stage.render();
  requestAnimationFrame(tick);
}

/** The face as sliders have it, until a frame is gone to or played. */
function setSliders(values) {
  setPlaying(false);
  if (posing.on) setPosing(false);
  model.sliders.values.set(values);
  model.sliders.acting = true;
  showSliders();
  stage.setFrame(shownFrame());
}

function endSliders() {
  if (!model?.sliders?.acting) return;
  model.sliders.acting = false;
  model.sliders.values.fill(0);
  showSliders();
}

const showSliders = () => [...$('sliders').children].forEach((item, s) => {
  item.querySelector('input').value = String(model.sliders.values[s]);
  item.querySelector('output').textContent = model.sliders.values[s].toFixed(2);
});

function listSliders() {
  $('slider-group').hidden = !model.sliders;
  $('sliders').replaceChildren(...(model.sliders?.names ?? []).map((name, s) => {
    const input = Object.assign(document.createElement('input'), { type: 'range', min: '0', max: '1', step: '0.01', value: '0' });
    input.addEventListener('input', () => setSliders(model.sliders.values.map((value, i) => (i === s ? Number(input.value) : value))));
    const label = document.createElement('label');
    label.append(Object.assign(document.createElement('span'), { textContent: name }), document.createElement('output'), input);
    const item = document.createElement('li');
    item.append(label);
    return item;
  }));
  if (model.sliders) showSliders();
}

function setRank(rank) {
  model.shownRank = rank;
  $('rank-value').textContent = `${rank} of ${model.rank}`;
  if (errors) {
    errors.compute();
    showErrors();
  }
  goTo(state.frame);
}

/** Shows a parsed model; `original` are the frames to compare with, or null. */
function show(parsed, original, report) {
  say(null);
  setPlaying(false);
  model = parsed;
  model.boneShares = model.shares();
  palette = boneColors(model.boneCount);
  errors = original && original.vertices === model.controlPointCount ? new ErrorTable(model, original) : null;
  stage.setModel(model, errors ? original : null);
  posing.setModel(model);
  toggleButton('pose').setAttribute('aria-pressed', false);
  document.title = `${model.name} — sinew`;
  $('title').textContent = model.name;
  $('facts').textContent = `${model.controlPointCount.toLocaleString('en')} vertices · ${model.boneCount} bones · ${model.frameCount} frames`;
  $('scrub').max = String(model.frameCount - 1);
  $('clip').hidden = model.clips.length < 2;
  $('clip').replaceChildren(...model.clips.map((clip, i) => new Option(clip.name, String(i))));
  $('correction-group').hidden = model.rank === 0;
  $('rank').max = $('rank').value = String(model.rank);
  $('rank-value').textContent = `${model.rank} of ${model.rank}`;
  segmented('show', errors ? SHOW : SHOW.filter(([value]) => value === 'result'), setShow);
  $('show').hidden = !errors;
  segmented('color', COLOR.filter(([value]) => (value !== 'error' || errors) && (value !== 'look' || model.painted)), setColor);
  listSliders();
  toggleButton('loop').hidden = model.clips.length < 2;
  state.bone = -1;
  showErrors();
  showPlots(report);
  setShow(errors ? 'side' : 'result');
  setColor(model.painted ? 'look' : 'clay');
  if (isOn('bones') !== model.hierarchy) toggle('bones');
  stage.fit();
  goTo(0);
}

function toggle(name) {
  if (name === 'pose') return setPosing(!posing.on);
  const button = toggleButton(name);
  const on = button.getAttribute('aria-pressed') !== 'true';
  button.setAttribute('aria-pressed', on);
  if (name === 'light') document.documentElement.classList.toggle('light', on);
  else stage.apply({ [name]: on });
  if (model) showPose();
}

async function savePicture() {
  const link = document.createElement('a');
  link.download = `${(model?.name ?? 'sinew').replace(/\.[^.]*$/, '')}-${Math.round(state.frame)}.png`;
  link.href = URL.createObjectURL(await stage.picture());
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const nextOf = (id, value) => {
  const values = [...$(id).children].map((button) => button.dataset.value);
  return values[(values.indexOf(value) + 1) % values.length];
};

function onKey(event) {
  if (posing.on && (event.ctrlKey || event.metaKey) && /^[zy]$/i.test(event.key)) {
    event.preventDefault();
    if (event.key.toLowerCase() === 'y' || event.shiftKey) posing.redo();
    else posing.undo();
    return;
  }
  if (event.target.matches('input[type=search], input[type=number], #sliders input, select') || event.ctrlKey || event.metaKey || event.altKey || !model) return;
  const actions = {
    ' ': () => setPlaying(!state.playing), ArrowLeft: () => goTo(Math.round(state.frame) - 1), ArrowRight: () => goTo(Math.round(state.frame) + 1),
    Home: () => goTo(0), End: () => goTo(model.frameCount - 1), f: () => stage.fit(), b: () => toggle('bones'), w: () => toggle('wireframe'),
    g: () => toggle('grid'), l: () => toggle('light'), v: () => setShow(nextOf('show', state.show)), c: () => setColor(nextOf('color', state.color)),
    x: goToWorst, o: () => toggle('loop'), k: () => toggle('between'), p: () => toggle('pose'), s: savePicture, '?': () => $('help').showModal(),
  };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

async function openFile(file) {
  try {
    show(await parseModel(await file.arrayBuffer(), file.name, ktx2Loader(stage.renderer)), null, null);
  } catch (error) {
    say(error.message);
  }
}

function wire() {
  segmented('toggles', TOGGLES, toggle);
  posing = new PoseMode(stage, $('pose-group'), { changed: showPose, picked: pickBone, said: say });
  for (const button of $('toggles').children) {
    button.removeAttribute('role');
    button.setAttribute('aria-pressed', ON_AT_FIRST.has(button.dataset.value));
  }
  $('play').addEventListener('click', () => setPlaying(!state.playing));
  $('scrub').addEventListener('input', () => { setPlaying(false); goTo(Number($('scrub').value)); });
  $('clip').addEventListener('change', () => goTo(model.clips[Number($('clip').value)].first));
  $('rank').addEventListener('input', () => setRank(Number($('rank').value)));
  $('sliders-rest').addEventListener('click', () => setSliders(model.sliders.values.map(() => 0)));
  $('search').addEventListener('input', showBones);
  $('worst').addEventListener('click', goToWorst);
  $('picture').addEventListener('click', savePicture);
  $('help-button').addEventListener('click', () => $('help').showModal());
  $('keys').replaceChildren(...KEYS.map((cells) => {
    const row = document.createElement('tr');
    row.append(...cells.map((text) => Object.assign(document.createElement('td'), { textContent: text })));
    return row;
  }));
  document.addEventListener('keydown', onKey);
  document.addEventListener('dragover', (event) => { event.preventDefault(); $('drop').hidden = false; });
  document.addEventListener('dragleave', (event) => { if (!event.relatedTarget) $('drop').hidden = true; });
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    $('drop').hidden = true;
    if (event.dataTransfer.files[0]) openFile(event.dataTransfer.files[0]);
  });
}

async function start() {
  try {
    stage = new Stage($('canvas'));
  } catch {
    say('This browser gives the page no WebGL 2, so the model cannot be drawn.');
    return;
  }
  wire();
  requestAnimationFrame(tick);
  const data = $('sinew-data') ? JSON.parse($('sinew-data').textContent) : null;
  if (!data) {
    say('Drop a GLB on this page to view it.');
    return;
  }
  try {
    const parsed = await parseModel(decodeBase64($('sinew-model').textContent).buffer, data.name, ktx2Loader(stage.renderer));
    const original = data.original ? decodeOriginal($('sinew-original'), data.original) : null;
    show(parsed, original, data.report);
    setPlaying(model.frameCount > 1 && !matchMedia('(prefers-reduced-motion: reduce)').matches);
  } catch (error) {
    say(error.message);
  }
}

// What tests and the curious may ask of the page.
window.sinew = {
  ready: start(),
  get model() { return model; },
  get errors() { return errors; },
  get state() { return state; },
  get stage() { return stage; },
  get posing() { return posing; },
  goTo: (frame) => { setPlaying(false); goTo(frame); },
  /** Plays for so many seconds and gives the frame. */
  step: (seconds) => { advance(seconds); return state.frame; },
  shownFrame: (playing) => { state.playing = playing; const frame = shownFrame(); state.playing = false; return frame; },
  heat, setShow, setColor, setRank, setPosing, setSliders, pickBone, goToWorst, openFile,
  gpuPositions: () => stage.readBack(),
  gpuNormals: () => stage.readBack(true),
};
