// The page: files in, what they hold, a rig out. The program itself runs in workers (worker.js); this side only shows.
import { MOST_BYTES, inputsOf, sinewWith } from '../../wasm/solve.js';
import { RESULTS } from '../../wasm/program.js';
import { bytesText, durationText, number } from './text.js';

const $ = (id) => document.getElementById(id);
const workerUrl = URL.createObjectURL(new Blob([$('worker').textContent], { type: 'text/javascript' }));

async function start() {
  const worker = new Worker(workerUrl);
  return {
    postMessage: (message) => worker.postMessage(message),
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
let urls = [];     // of the present result

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
  }
}

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

function options() {
  const bySize = document.querySelector('input[name=size]:checked').value;
  const method = $('method').value;
  return {
    method,
    ...(bySize === 'bones' ? { bones: $('bones').value } : { maxError: $('error').value }),
    ...(['ssdr', 'skeleton', 'flats'].includes(method) ? { quality: $('quality').value } : {}),
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
let later = 0;
$('options').oninput = () => {
  clearTimeout(later);
  later = setTimeout(askEstimate, 300);
};
for (const id of ['bones', 'error'])
  $(id).onfocus = () => { document.querySelector(`input[name=size][value=${id}]`).checked = true; };

// Work ---------------------------------------------------------------------------------------------------------------

function drawCurve(errors) {
  $('now').textContent = errors.length ? number(errors.at(-1)) : '';
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
      onKept: () => { $('cancel').textContent = 'Stop, and keep the best so far'; },
    });
    await showResult(rig);
  } catch (problem) {
    show('input', 'options');
    if (signal.aborted) complain('Stopped. There was no rig yet that could be kept.');
    else complain(problem);
  } finally {
    clearInterval(ticks);
  }
};
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

/** A button that makes the rig in another format, and then is a link to it. */
function converter(format, rig) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = `Make .${format}`;
  button.onclick = async () => {
    button.disabled = true;
    complain(null);
    try {
      const anchor = link(`Download .${format}`, `rig.${format}`, await sinew.convert(rig.bytes, format), 'application/octet-stream');
      button.replaceWith(anchor);
      anchor.click();
    } catch (problem) {
      complain(problem);
      button.disabled = false;
    }
  };
  return button;
}

async function showResult(rig) {
  urls.forEach((url) => URL.revokeObjectURL(url));
  urls = [];
  const { report } = rig;
  const report_bytes = new TextEncoder().encode(JSON.stringify(report, null, 2));
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
    ...['fbx', 'usdz', 'bvh'].filter((format) => format !== 'bvh' || report.rig.skeleton).map((format) => converter(format, rig)),
    link('Report (.json)', 'report.json', report_bytes, 'application/json'));
  $('viewer').hidden = true;
  show('input', 'options', 'result');
  $('result-title').focus();
  $('result').scrollIntoView({ block: 'start' });
  const names = { rig: `${RESULTS}/rig.glb`, report: `${RESULTS}/report.json`, page: `${RESULTS}/page.html` };
  const made = await sinew.run({
    args: ['view', names.rig, '--against', ...input.paths, '--report', names.report, '--max-size', '80M', '-o', names.page],
    files: { ...input.files, [names.rig]: rig.bytes, [names.report]: report_bytes },
    wanted: [names.page],
  });
  if (!made.files[names.page]) return complain(made.err.split('\n')[0]);
  const url = URL.createObjectURL(new Blob([made.files[names.page]], { type: 'text/html' }));
  urls.push(url);
  $('viewer').src = url;
  $('viewer').hidden = false;
}

if (typeof WebAssembly !== 'object' || typeof DecompressionStream !== 'function')
  complain('This browser is too old: the page needs WebAssembly with vectors and DecompressionStream.');
else
  compile().catch((problem) => complain(`This browser cannot run the program: ${problem.message}`));
