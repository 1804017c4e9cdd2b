// The page: files in, what they hold, a rig out. The program itself runs in workers (worker.js); this side only shows.
import { MOST_BYTES, inputsOf, sinewWith } from '../../wasm/solve.js';
import { RESULTS } from '../../wasm/program.js';
import { bytesText, durationText, number } from './text.js';

const $ = (id) => document.getElementById(id);
const urlOf = (id) => URL.createObjectURL(new Blob([$(id).textContent], { type: 'text/javascript' }));
const workerUrl = urlOf('worker');
const threaded = $('thread').textContent !== '';  // the module was built with threads
const scripts = threaded ? { module: urlOf('module'), thread: urlOf('thread') } : undefined;
const MOST_THREADS = 8;

/** Threads of a solve: those of the machine, or fewer where the address says so (?threads=1). */
const threads = threaded ? Math.max(1, Math.min(MOST_THREADS, navigator.hardwareConcurrency, Number(new URLSearchParams(location.search).get('threads')) || MOST_THREADS)) : 1;

async function start() {
  const worker = new Worker(workerUrl);
  return {
    postMessage: ({ compiled: code, job }) =>
      worker.postMessage({ compiled: code, job: { ...job, scripts, helpers: job.args[0] === 'solve' && !job.stop ? threads - 1 : 0 } }),
    terminate: () => worker.terminate(),
    listen: (hear, fail) => {
      worker.onmessage = (event) => hear(event.data);
      worker.onerror = (event) => fail(event.message || 'the thread ended');
    },
  };
}

let compiled;
function compile() {
  compiled ??= (async () => {
    const packed = Uint8Array.from(atob($('code').textContent), (letter) => letter.charCodeAt(0));
    const code = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return WebAssembly.compile(await new Response(code).arrayBuffer());
  })();
  return compiled;
}

const sinew = sinewWith(start, compile);
let input = null;  // {files, paths}, as inputsOf gives them
let stop = null;   // ends the present work
let urls = [];     // of the present result, and of the rig so far

function show(...ids) {
  for (const id of ['input', 'options', 'work', 'result']) $(id).hidden = !ids.includes(id);
}
function complain(problem) {
  $('problem').hidden = !problem;
  $('problem').textContent = problem ? String(problem.message ?? problem) : '';
}
function list(into, rows) {
  into.replaceChildren(...rows.flatMap(([name, value]) => {
    const term = document.createElement('dt');
    const text = document.createElement('dd');
    term.textContent = name;
    text.textContent = value;
    return [term, text];
  }));
}

// Files --------------------------------------------------------------------------------------------------------------

/** Files of a drop, folders looked into: [[path, File]]. */
async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const found = [];
  const visit = async (entry) => {
    if (entry.isFile) {
      found.push([entry.fullPath.slice(1), await new Promise((resolve, reject) => entry.file(resolve, reject))]);
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (part.length === 0) return;
      for (const child of part) await visit(child);
    }
  };
  if (entries.length === 0) return [...transfer.files].map((file) => [file.name, file]);
  for (const entry of entries) await visit(entry);
  return found;
}

async function take(chosen) {
  stop?.abort();
  complain(null);
  show();
  const files = chosen.filter(([name]) => !name.split('/').at(-1).startsWith('.'));
  if (files.length === 0) return;
  const size = files.reduce((sum, [, file]) => sum + file.size, 0);
  try {
    if (size > MOST_BYTES)
      throw new Error(`These files are ${bytesText(size)}, more than the 2 GB that fit in a page. The sinew program takes any size.`);
    $('reading').textContent = `Reading ${files.length === 1 ? files[0][0] : `${files.length} files`}, ${bytesText(size)} …`;
    $('reading').hidden = false;
    const bytes = {};
    for (const [name, file] of files) bytes[name] = new Uint8Array(await file.arrayBuffer());
    input = inputsOf(bytes);
    const facts = await sinew.info(bytes);
    list($('facts'), [
      ['files', input.paths.map((path) => (path === '.' ? 'frames' : path)).join(' + ')],
      ['vertices', facts.vertices.toLocaleString('en')],
      ['faces', facts.faces.toLocaleString('en')],
      ['frames', `${facts.frames.toLocaleString('en')} (${number(facts.seconds)} s)`],
      ...(facts.clips.length ? [['clips', facts.clips.map((clip) => clip.name || 'unnamed').join(', ')]] : []),
      ...(facts.kind === 'rig' ? [['bones', `${facts.bones}: already a rig; another one can be made of its motion`]] : []),
    ]);
    show('input', 'options');
    askEstimate();
    $('method').focus();
  } catch (problem) {
    input = null;
    complain(problem);
  } finally {
    $('reading').hidden = true;
  }
}

/** Takes a walking creature that the program makes, for those without a file at hand. */
async function takeCreature() {
  stop?.abort();
  complain(null);
  show();
  $('reading').textContent = 'Making a creature …';
  $('reading').hidden = false;
  const names = ['creature.obj', 'creature.pc2'];
  const paths = names.map((name) => `${RESULTS}/${name}`);
  const made = await sinew.run({ args: ['demo', '-o', RESULTS, '--frames', '72', '--vertices', '4000'], wanted: paths });
  $('reading').hidden = true;
  if (made.status !== 0) return complain(made.err);
  await take(names.map((name, i) => [name, new Blob([made.files[paths[i]]])]));
}

$('try').onclick = () => takeCreature().catch(complain);
$('choose-files').onclick = () => $('files').click();
$('choose-folder').onclick = () => $('folder').click();
for (const id of ['files', 'folder'])
  $(id).onchange = ({ target }) => {
    take([...target.files].map((file) => [file.webkitRelativePath || file.name, file]));
    target.value = '';
  };
addEventListener('dragover', (event) => { event.preventDefault(); $('drop').classList.add('over'); });
addEventListener('dragleave', () => $('drop').classList.remove('over'));
addEventListener('drop', async (event) => {
  event.preventDefault();
  $('drop').classList.remove('over');
  take(await droppedFiles(event.dataTransfer));
});

// Options ------------------------------------------------------------------------------------------------------------

/** Kinds of rigs: `finds`, whether the method tells by itself how many bones there are; `quality`, whether it has one. */
const KINDS = {
  skeleton: { name: 'Skeleton', says: 'Joints that only rotate, for engines and animators.', finds: true, quality: true },
  ssdr: { name: 'Free bones', says: 'Each bone moves by itself: the smallest error.', quality: true },
  kavan: { name: 'Affine bones', says: 'They may also stretch and shear; more iterations.' },
  flats: { name: 'Flats', says: 'All bones on all vertices, for exact models.', quality: true },
  sma: { name: 'Mean shift', says: 'Bones from triangles that turn alike.', finds: true },
};
$('method').replaceChildren(...Object.entries(KINDS).map(([method, { name }]) => new Option(name, method)));
$('method').value = 'ssdr';
const sizeButton = (value) => document.querySelector(`input[name=size][value=${value}]`);

function options() {
  const method = $('method').value;
  const size = { auto: {}, bones: { bones: $('bones').value }, error: { maxError: $('error').value } };
  return {
    method,
    ...size[document.querySelector('input[name=size]:checked').value],
    ...(KINDS[method].quality ? { quality: $('quality').value } : {}),
  };
}

let asked = 0;
let expected = 0;  // seconds of the solve
async function askEstimate() {
  const mine = ++asked;
  $('estimate').textContent = 'Estimating …';
  $('solve').disabled = true;
  let text = '';
  let fits = true;
  try {
    const { estimate } = await sinew.estimate(input.files, options());
    expected = estimate.seconds;
    fits = estimate.memory_bytes < MOST_BYTES;
    text = `At most ${bytesText(estimate.memory_bytes)} of memory and about ${durationText(estimate.seconds)}.`;
    if (!fits) text = `This would take up to ${bytesText(estimate.memory_bytes)} of memory, more than the 2 GB that a page has. Fewer frames or vertices, or the sinew program, can do it.`;
  } catch (problem) {
    text = problem.message;
    fits = false;
  }
  if (mine !== asked) return;
  $('estimate').textContent = text;
  $('solve').disabled = !fits;
}
let sized = false;  // a person has said how large the rig shall be
/** What the method leaves to say. Where it finds the number of bones, that is the choice until a person makes another. */
function offer() {
  const { says, finds, quality } = KINDS[$('method').value];
  $('kind').textContent = says;
  $('auto').hidden = !finds;
  if (finds && !sized) sizeButton('auto').checked = true;
  if (!finds && sizeButton('auto').checked) sizeButton('bones').checked = true;
  $('quality-row').hidden = !quality;
}
offer();

let later = 0;
function optionsChanged({ target }) {
  if (['bones', 'error'].includes(target.id)) sizeButton(target.id).checked = true;
  sized ||= ['bones', 'error'].includes(target.id) || target.name === 'size';
  offer();
  clearTimeout(later);
  later = setTimeout(askEstimate, 300);
}
$('options').oninput = optionsChanged;
for (const id of ['bones', 'error']) $(id).onclick = optionsChanged;  // not when the keyboard passes through

// Work ---------------------------------------------------------------------------------------------------------------

function drawCurve(errors) {
  $('now').textContent = errors.length ? `${number(errors[0])} → ${number(errors.at(-1))}` : '';
  const high = Math.log(Math.max(...errors));
  const low = Math.log(Math.min(...errors));
  const x = (i) => (errors.length > 1 ? (300 * i) / (errors.length - 1) : 0);
  const y = (error) => 8 + 84 * (1 - (Math.log(error) - low) / (high - low || 1));
  $('curve').querySelector('polyline').setAttribute('points', errors.map((error, i) => `${x(i).toFixed(1)},${y(error).toFixed(1)}`).join(' '));
}

$('options').onsubmit = async (event) => {
  event.preventDefault();
  if (!input || $('solve').disabled) return;
  complain(null);
  show('input', 'work');
  $('progress').removeAttribute('value');
  $('step').textContent = 'Reading';
  const errors = [];
  drawCurve(errors);
  const begin = performance.now();
  let told = 0;
  let doing = 'Reading';
  // The program tells how far it is when it can; in between the clock goes on.
  const ticks = setInterval(() => {
    const seconds = (performance.now() - begin) / 1000;
    told = Math.max(told, 0.9 * (1 - Math.exp(-seconds / Math.max(1, expected))));
    $('progress').value = told;
    if (!$('cancel').disabled) $('step').textContent = `${doing}: ${seconds.toFixed(0)} s of about ${durationText(expected)}`;
  }, 500);
  $('curve').hidden = true;
  $('cancel').disabled = false;
  $('cancel').textContent = 'Stop';
  $('cancel').focus();
  stop = new AbortController();
  const { signal } = stop;
  const preview = previewOf();
  try {
    const rig = await sinew.solve(input.files, options(), {
      signal,
      onProgress: (fraction, step) => {
        told = Math.max(told, fraction);
        doing = step[0].toUpperCase() + step.slice(1);
      },
      onError: (_, error) => {
        if (!(error > 0)) return;
        errors.push(error);
        $('curve').hidden = false;
        drawCurve(errors);
      },
      onKept: (best) => {
        $('cancel').textContent = 'Stop, and keep the best so far';
        preview.offer(best);
      },
    });
    preview.end();
    await showResult(rig);
  } catch (problem) {
    show('input', 'options');
    if (signal.aborted) complain('Stopped. There was no rig yet that could be kept.');
    else complain(problem);
  } finally {
    clearInterval(ticks);
    preview.end();
  }
};

const PREVIEW_PAUSE = 3;  // seconds between two looks at the rig so far, or
const PREVIEW_SHARE = 4;  // so many times what the last look took
const PREVIEW_FROM = 5;  // seconds that a solve is expected to take at least, or it is not worth a look

/** Shows the rig so far beside the original, now and then: each look is work for another thread. */
function previewOf() {
  let busy = false;
  let ended = false;
  let next = 0;
  const frame = $('preview');
  const look = async (best) => {
    const rig = await best();
    if (ended) return;
    if (!frame.hidden) return frame.contentWindow.postMessage({ rig: rig.bytes.buffer }, '*');
    const page = await pageOf(rig);
    if (ended || !page) return;
    frame.src = page;
    frame.hidden = false;
  };
  return {
    async offer(best) {
      const begin = performance.now();
      if (busy || ended || expected < PREVIEW_FROM || begin < next) return;
      busy = true;
      await look(best).catch(() => {});  // the solve itself says what goes wrong
      const end = performance.now();
      next = end + Math.max(1000 * PREVIEW_PAUSE, PREVIEW_SHARE * (end - begin));
      busy = false;
    },
    end() {
      ended = true;
      frame.hidden = true;
      frame.src = 'about:blank';
    },
  };
}

/** The viewer page of a rig beside the original, as an address; null where it could not be made. */
async function pageOf(rig) {
  const names = { rig: `${RESULTS}/rig.glb`, report: `${RESULTS}/report.json`, page: `${RESULTS}/page.html` };
  const made = await sinew.run({
    args: ['view', names.rig, '--against', ...input.paths, '--report', names.report, '--max-size', '80M', '-o', names.page],
    files: { ...input.files, [names.rig]: rig.bytes, [names.report]: reportBytes(rig) },
    wanted: [names.page],
  });
  if (!made.files[names.page]) {
    complain(made.err.split('\n')[0]);
    return null;
  }
  urls.push(URL.createObjectURL(new Blob([made.files[names.page]], { type: 'text/html' })));
  return urls.at(-1);
}

const reportBytes = ({ report }) => new TextEncoder().encode(JSON.stringify(report, null, 2));

$('cancel').onclick = () => {
  $('cancel').disabled = true;
  $('step').textContent = 'Stopping, with the best so far …';
  stop?.abort();
};

// Result -------------------------------------------------------------------------------------------------------------

function link(text, name, bytes, type) {
  const url = URL.createObjectURL(new Blob([bytes], { type }));
  urls.push(url);
  const anchor = document.createElement('a');
  anchor.className = 'download';
  anchor.href = url;
  anchor.download = name;
  anchor.textContent = text;
  return anchor;
}

/** Every other format that holds a rig or its frames in one file; a texture has its layout beside it. */
const FORMATS = [
  ['fbx', 'FBX: rig'], ['usdz', 'USD, packed: rig'], ['usda', 'USD, text: rig'], ['bvh', 'BVH: skeleton and motion'], ['npz', 'NumPy: rig as arrays'],
  ['abc', 'Alembic: frames'], ['pc2', 'PC2: frames'], ['mdd', 'MDD: frames'], ['exr', 'OpenEXR: texture of bones for engines'],
];

/** Makes the rig in the chosen format and hands it over. */
async function makeFormat(rig) {
  const format = $('format').value;
  const names = format === 'exr' ? ['rig.exr', 'rig.json'] : [`rig.${format}`];
  const paths = names.map((name) => `${RESULTS}/${name}`);
  $('make').disabled = true;
  complain(null);
  try {
    const made = await sinew.run({ args: ['convert', 'rig.glb', '-o', paths[0]], files: { 'rig.glb': rig.bytes }, wanted: paths });
    if (made.status !== 0) throw new Error(made.err.split('\n').filter(Boolean).at(-1));
    for (const [i, name] of names.entries()) {
      const anchor = link(`Download ${name.slice(3)}`, name, made.files[paths[i]], 'application/octet-stream');
      $('downloads').append(anchor);
      anchor.click();
    }
  } catch (problem) {
    complain(problem);
  } finally {
    $('make').disabled = false;
  }
}

async function showResult(rig) {
  urls.forEach((url) => URL.revokeObjectURL(url));
  urls = [];
  const { report } = rig;
  $('remark').hidden = !rig.partial && !report.solve.remark;
  $('remark').textContent = [rig.partial ? 'Stopped: this is the best rig so far.' : '', report.solve.remark].filter(Boolean).join(' ');
  list($('errors'), [
    ['bones', String(report.rig.bones)],
    ['bones per vertex', `at most ${report.rig.influences}`],
    ['error E_RMS', number(report.errors.e_rms)],
    ['RMSE', `${number(report.errors.rmse_percent)} % of the mesh's size`],
    ['largest error', `${number(report.errors.max_percent)} %, in frame ${report.errors.worst_frame}`],
    ['normals', `${number(report.errors.normal_degrees)}°`],
    ['time', durationText(report.seconds)],
    ['file', bytesText(rig.bytes.length)],
  ]);
  $('downloads').replaceChildren(
    link('Download .glb', 'rig.glb', rig.bytes, 'model/gltf-binary'),
    link('Report (.json)', 'report.json', reportBytes(rig), 'application/json'));
  $('format').replaceChildren(...FORMATS.filter(([format]) => format !== 'bvh' || report.rig.skeleton).map(([format, text]) => new Option(`.${format} · ${text}`, format)));
  $('make').onclick = () => makeFormat(rig);
  $('viewer').hidden = true;
  show('input', 'options', 'result');
  $('result-title').focus();
  $('result').scrollIntoView({ block: 'start' });
  const page = await pageOf(rig);
  if (!page) return;
  $('viewer').src = page;
  $('viewer').hidden = false;
}

if (threaded && !crossOriginIsolated)
  complain('This page works with threads, which browsers allow where a server isolates it from other origins, as script/app does. The page that "sinew app" writes needs no server.');
else if (typeof WebAssembly !== 'object' || typeof DecompressionStream !== 'function')
  complain('This browser is too old: the page needs WebAssembly with vectors and DecompressionStream.');
else
  compile().catch((problem) => complain(`This browser cannot run the program: ${problem.message}`));
