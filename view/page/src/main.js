// The page: reads what it carries, builds the controls and plays.
import { boneColors, CLAY, css, heat } from './colors.js';
import { boxesAt, nodesAt } from './bounds.js';
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
let family = [];  // what can be shown side by side: { label, model, palette, errors }
let chosen = null;  // the one that the panel is about
let model = null;  // its model
let errors = null;  // and its errors
let original = null;  // frames to compare with
let like = -1;  // the rig that plays those frames, which are not shown twice
let framePlot = null;
let posing = null;
let previous = 0;

const SHOW = [['side', 'Side by side'], ['overlay', 'Overlay'], ['flicker', 'Flicker'], ['result', 'Rig'], ['original', 'Original']];
const COLOR = [['look', 'Look'], ['clay', 'Clay'], ['weights', 'Weights'], ['cores', 'Cores'], ['error', 'Error']];
const TOGGLES = [['bones', 'Bones'], ['wireframe', 'Wireframe'], ['grid', 'Grid'], ['loop', 'Loop clip'], ['between', 'Between keys'], ['bounds', 'Bounds'], ['pose', 'Pose'], ['light', 'Light']];
const ON_AT_FIRST = new Set(['grid', 'loop', 'between']);
const KEYS = [
  ['space', 'play or pause'], ['← →', 'one frame back or on'], ['home end', 'first or last frame'],
  ['f', 'fit the view'], ['b', 'bones'], ['w', 'wireframe'], ['g', 'grid'], ['l', 'light or dark'],
  ['v', 'next way of showing the original'], ['r', 'next rig or level of detail'], ['u', 'bounds'], ['c', 'next colouring'], ['x', 'go to the worst vertex'], ['o', 'loop the clip, or play all'],
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
  showLabels();
  stage.setFrame(state.frame);
}

/** What each pane shows, where that is not the rig alone. */
function showLabels() {
  const alone = { overlay: 'Rig, original translucent', flicker: 'Original / rig', original: 'Original', result: '' };
  const texts = state.show === 'side' ? stage.panes.map((pane) => (pane === 'original' ? 'Original' : labelOf(family[pane]))) : [alone[state.show]];
  const { rows, columns } = stage.layout;
  $('labels').style.gridTemplate = `repeat(${rows}, 1fr) / repeat(${columns}, 1fr)`;
  $('labels').replaceChildren(...texts.map((textContent) => Object.assign(document.createElement('span'), { textContent })));
}

function labelOf(one) {
  if (family.length < 2) return 'Rig';
  const scale = stage.drawnScale(family.indexOf(one));
  const size = scale === 1 ? '' : scale > 1 ? ` · drawn ${scale.toPrecision(2)}× as large` : ` · drawn at 1/${(1 / scale).toPrecision(2)}`;
  return one.label + (one.errors ? ` · E_RMS ${one.errors.eRms.toPrecision(3)}` : '') + size;
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
  family.forEach((one, i) => {
    const figure = stage.figures[i];
    if (state.color === 'weights') figure.paint(weightColor(one));
    else if (state.color === 'cores' && one.model.cores) figure.paint(coreColor(one));
    else if (state.color === 'bone') figure.paint(boneColor(one));
    else if (state.color === 'error' && one.errors) figure.paint(errorColor(one));
    else figure.paint(() => CLAY);
  });
  if (state.color === 'bone') legend('weight 0', '1');
  if (state.color === 'error' && errors) {
    const { distance, all } = errorScale();
    legend('0', `${((100 * distance) / model.diagonal).toPrecision(2)} % of the diagonal${all ? '' : ' or more'}`);
  }
}

function weightColor({ model: { weights, weightBones, slots }, palette }) {
  return (v) => {
    const sum = [0, 0, 0];
    for (let i = v * slots; i < (v + 1) * slots; ++i)
      if (weights[i] > 0) for (let c = 0; c < 3; ++c) sum[c] += weights[i] * palette[weightBones[i]][c];
    return sum;
  };
}

const OUTLIER = [0.16, 0.17, 0.2];

/** Cores in the colour of the bone that moves them most; what is near-rigid with no other part stays dark. */
function coreColor({ model: { weights, weightBones, slots, controlPoint, cores }, palette }) {
  return (v) => {
    if (!cores(controlPoint[v])) return OUTLIER;
    let most = v * slots;
    for (let i = v * slots; i < (v + 1) * slots; ++i) if (weights[i] > weights[most]) most = i;
    return palette[weightBones[most]];
  };
}

/** Weights of the chosen bone; of other rigs, those of their bone of that name. */
function boneColor({ model: { weights, weightBones, slots, bones } }) {
  const { name } = model.bones[state.bone];
  return (v) => {
    let weight = 0;
    for (let i = v * slots; i < (v + 1) * slots; ++i) if (weights[i] > 0 && bones[weightBones[i]].name === name) weight += weights[i];
    return weight > 0 ? heat(weight) : CLAY.map((c) => 0.6 * c);
  };
}

/** One scale for all rigs: its upper end, and whether nothing is beyond. */
function errorScale() {
  const most = (of) => family.reduce((largest, { errors: own }) => (own ? Math.max(largest, of(own)) : largest), 0);
  const distance = most((own) => own.usual);
  return { distance, all: distance >= most((own) => own.worst.distance) };
}

function errorColor({ model: own, errors: table }) {
  const distances = table.distancesAt(own.frameLike(model, state.frame));
  const top = errorScale().distance || 1;
  return (v) => heat(distances[own.controlPoint[v]] / top);
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
      if (name === 'swatch') span.style.background = css(chosen.palette[b]);
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
  stage.lookAt(errors.renderVertex[vertex]);
  if (state.color !== 'error') setColor('error');
  goTo(frame);
  stage.setMark(errors.renderVertex[vertex]);
}

function setPlaying(on) {
  if (on && posing?.on) setPosing(false);
  state.playing = on && model !== null && model.frameCount > 1;
  $('play').textContent = state.playing ? '❚❚' : '▶\uFE0E';  // as a letter, not as a picture
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
  state.frame = model.frameAt(clip, time);
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
  if (state.playing || stage.awake) stage.render();  // a page at rest leaves the GPU alone
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
    showLabels();
  }
  goTo(state.frame);
}

const counted = (count, one, many) => `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

/** A parsed model and its levels of detail as they are listed. */
function withLevels(parsed) {
  if (parsed.levels.length === 0) return [{ label: parsed.name, model: parsed }];
  const triangles = (one) => counted(one.triangles.length / 3, 'triangle', 'triangles');
  return [parsed, ...parsed.levels].map((one, i) => ({ label: `${i === 0 ? 'Full' : `Level ${i}`}, ${triangles(one)}`, model: one }));
}

/** Shows parsed models, the first of them chosen; `frames` are what they are compared with, or null: those of the
 *  `player`-th, where that is not -1. */
function show(models, frames, report, player = -1) {
  say(null);
  setPlaying(false);
  gather(models, frames, player);
  choose(0, report);
  setShow(errors || family.length > 1 ? 'side' : 'result');
  setColor(family.some((one) => one.model.painted) ? 'look' : 'clay');
  if (isOn('bones') !== model.hierarchy) toggle('bones');
  stage.fit();
  goTo(0);
}

function gather(models, frames, player) {
  family = models.flatMap(withLevels);
  for (const one of family) {
    one.model.boneShares = one.model.shares();
    one.palette = boneColors(one.model.boneCount);
    one.errors = null;
  }
  original = frames;
  like = player < 0 ? -1 : family.findIndex((one) => one.model === models[player]);
  $('rig').hidden = family.length < 2;
  $('rig').replaceChildren(...family.map(({ label }, i) => new Option(label, String(i))));
}

/** Makes one of the rigs the one that the panel is about. */
function choose(number, report = null) {
  posing.setOn(false);
  chosen = family[number];
  model = chosen.model;
  const fits = ({ model: { controlPointCount, frameCount } }) => controlPointCount === original.vertices && frameCount === family[0].model.frameCount;
  for (const one of family) if (original && fits(one)) one.errors ??= new ErrorTable(one.model, original);
  errors = chosen.errors;
  stage.setModels(family.map((one) => one.model), number, errors ? original : null, like);
  posing.setModel(model);
  toggleButton('pose').setAttribute('aria-pressed', false);
  document.title = `${model.name} — sinew`;
  $('title').textContent = model.name;
  $('facts').textContent = [counted(model.controlPointCount, 'vertex', 'vertices'), counted(model.boneCount, 'bone', 'bones'), counted(model.frameCount, 'frame', 'frames')].join(' · ');
  $('rig').value = String(number);
  $('scrub').max = String(model.frameCount - 1);
  $('clip').hidden = model.clips.length < 2;
  $('clip').replaceChildren(...model.clips.map((clip, i) => new Option(clip.name, String(i))));
  $('correction-group').hidden = model.rank === 0;
  $('rank').max = $('rank').value = String(model.rank);
  $('rank-value').textContent = `${model.rank} of ${model.rank}`;
  segmented('show', SHOW.filter(([value]) => value === 'result' || errors || (value === 'side' && family.length > 1)), setShow);
  $('show').hidden = !errors && family.length < 2;
  segmented('color', COLOR.filter(([value]) => (value !== 'error' || errors) && (value !== 'look' || family.some((one) => one.model.painted)) && (value !== 'cores' || model.cores)), setColor);
  listSliders();
  listBounds();
  toggleButton('loop').hidden = model.clips.length < 2;
  state.bone = -1;
  showErrors();
  showPlots(report);
}

/** Does what changes the rigs; time, colours and the view stay as they are where they can. */
function keeping(change) {
  const before = model;
  const { show: shown, color } = state;
  change();
  state.frame = Math.min(model.frameCount - 1, model.frameLike(before, state.frame));
  const possible = (id, value, other) => ([...$(id).children].some((button) => button.dataset.value === value) ? value : other);
  setShow(possible('show', shown, 'result'));
  setColor(possible('color', color, 'clay'));
  goTo(state.frame);
}

const chooseNext = (number) => keeping(() => choose(number % family.length));

/** A newer state of the rig, from the page that shows this one while it solves. */
async function replaceRig(bytes) {
  const parsed = await parseModel(bytes, family[0].model.name, ktx2Loader(stage.renderer));
  keeping(() => {
    gather([parsed], original, -1);
    choose(0);
  });
}

/** The toggle of bounds, and the slider for how deep into their tree boxes are drawn. */
function listBounds() {
  toggleButton('bounds').hidden = !model.bounds;
  if (!model.bounds && isOn('bounds')) toggle('bounds');
  $('bounds-group').hidden = !isOn('bounds') || !model.bounds?.tree;
  if (!model.bounds?.tree) return;
  $('depth').max = String(model.bounds.tree.deepest);
  $('depth').value = String(stage.figure.bounds.depth);
  showDepth();
}

const showDepth = () => {
  const { depth } = stage.figure.bounds;
  $('depth-value').textContent = `${depth}: ${counted(nodesAt(model.bounds.tree, depth).length, 'box', 'boxes')}`;
};

function toggle(name) {
  if (name === 'pose') return setPosing(!posing.on);
  const button = toggleButton(name);
  const on = button.getAttribute('aria-pressed') !== 'true';
  button.setAttribute('aria-pressed', on);
  if (name === 'light') document.documentElement.classList.toggle('light', on);
  else stage.apply({ [name]: on });
  if (name === 'bounds') $('bounds-group').hidden = !on || !model?.bounds?.tree;
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
    r: () => chooseNext(family.indexOf(chosen) + 1), u: () => { if (model.bounds) toggle('bounds'); },
    x: goToWorst, o: () => toggle('loop'), k: () => toggle('between'), p: () => toggle('pose'), s: savePicture, '?': () => $('help').showModal(),
  };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

/** Files that were dropped, side by side. */
async function openFiles(files) {
  try {
    const models = [];
    for (const file of files) models.push(await parseModel(await file.arrayBuffer(), file.name, ktx2Loader(stage.renderer)));
    show(models, null, null);
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
  $('rig').addEventListener('change', () => chooseNext(Number($('rig').value)));
  $('depth').addEventListener('input', () => { stage.setBoundsDepth(Number($('depth').value)); showDepth(); });
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
  for (const type of ['pointerdown', 'pointermove', 'pointerup', 'wheel', 'click', 'input', 'keydown', 'resize', 'focus'])
    addEventListener(type, () => stage.wake(), { capture: true, passive: true });
  document.addEventListener('visibilitychange', () => stage.wake());
  $('canvas').addEventListener('webglcontextrestored', () => stage.wake());
  addEventListener('resize', () => { if (model) showLabels(); });
  addEventListener('message', ({ source, data }) => {
    if (source === parent && source !== window && data?.rig instanceof ArrayBuffer && model) replaceRig(data.rig).catch((error) => say(error.message));
  });
  document.addEventListener('dragover', (event) => { event.preventDefault(); $('drop').hidden = false; });
  document.addEventListener('dragleave', (event) => { if (!event.relatedTarget) $('drop').hidden = true; });
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    $('drop').hidden = true;
    if (event.dataTransfer.files.length > 0) openFiles([...event.dataTransfer.files]);
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
    const models = [];
    for (const [i, name] of [data.name, ...(data.beside ?? [])].entries())
      models.push(await parseModel(decodeBase64($(i === 0 ? 'sinew-model' : `sinew-model-${i}`).textContent).buffer, name, ktx2Loader(stage.renderer)));
    const frames = data.original ? decodeOriginal($('sinew-original'), data.original) : null;
    show(models, frames, data.report, data.original?.like || -1);
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
  get family() { return family; },
  heat, setShow, setColor, setRank, setPosing, setSliders, pickBone, goToWorst, openFiles, chooseNext, toggle,
  openFile: (file) => openFiles([file]),
  boxesAt: (depth) => boxesAt(model, depth),
  gpuPositions: () => stage.readBack(),
  gpuNormals: () => stage.readBack(true),
};
