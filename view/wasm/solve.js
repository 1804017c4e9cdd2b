// What can be done with the program, whoever starts its threads: `start` is a function that makes a worker with postMessage,
// terminate and a listener (see index.js and view/app).

import { RESULTS } from './program.js';

/** A run that ended otherwise than it should: `message` is the program's own sentence, `status` its exit status. */
export class SinewError extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.name = 'SinewError';
    this.status = status;
  }
}

/** Bytes that the frames, the solve and the files together may take: what 32-bit addresses leave. */
export const MOST_BYTES = 2e9;
const MEMORY_LIMIT = '1900M';

const flagOf = (name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** {bones: 30, maxError: 1, skeleton: true} as the program's options. */
export function optionsOf(options = {}) {
  return Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined || value === null || value === false) return [];
    if (value === true) return [flagOf(name)];
    return (Array.isArray(value) ? value : [value]).flatMap((one) => [flagOf(name), String(one)]);
  });
}

/** The name that bytes without one get, by what they begin with. */
function nameOf(bytes) {
  const begins = (text) => [...text].every((letter, i) => bytes[i] === letter.charCodeAt(0));
  if (begins('glTF')) return 'input.glb';
  if (begins('PK')) return 'input.npz';
  if (begins('Ogawa')) return 'input.abc';
  if (begins('Kaydara FBX')) return 'input.fbx';
  if (begins('#usda')) return 'input.usda';
  throw new SinewError('these bytes are no .glb, .npz, .abc, .fbx or .usda file; give other files as {name: bytes}', 3);
}

const bytesOf = (data) => (data instanceof Uint8Array ? data : data instanceof ArrayBuffer ? new Uint8Array(data) : null);

/** One file as bytes, or several as {name: bytes}: as the program gets them, with what it shall read. */
export function inputsOf(input) {
  const single = bytesOf(input);
  const files = single ? { [nameOf(single)]: single } : Object.fromEntries(Object.entries(input).map(([name, data]) => [name, bytesOf(data)]));
  const names = Object.keys(files);
  if (names.length === 0 || names.some((name) => !files[name])) throw new SinewError('no files: expected bytes, or {name: bytes}', 2);
  const size = names.reduce((sum, name) => sum + files[name].length, 0);
  if (size > MOST_BYTES)
    throw new SinewError(`the files are ${(size / 1e9).toFixed(1)} GB, more than the 2 GB that fit here; the sinew program takes any size`, 4);
  return { files, paths: pathsOf(names) };
}

/** What to name to the program: a folder for the frames in it, a mesh before its point cache, else the files themselves. */
export function pathsOf(names) {
  const ending = (name) => name.slice(name.lastIndexOf('.') + 1).toLowerCase();
  const caches = names.filter((name) => ['pc2', 'mdd'].includes(ending(name)));
  const meshes = names.filter((name) => ['obj', 'ply'].includes(ending(name)));
  if (caches.length === 1 && meshes.length === 1) return [meshes[0], caches[0]];
  const folders = new Set(names.map((name) => name.slice(0, Math.max(0, name.lastIndexOf('/')))));
  if (meshes.length > 1 && folders.size === 1) return [[...folders][0] || '.'];
  const read = names.filter((name) => !['mtl', 'bin', 'png', 'jpg', 'jpeg', 'ktx2', 'json', 'txt', 'md'].includes(ending(name)));
  return read.length > 0 ? read : names;  // that nothing is to be read of them the program says best
}

const lastSentence = (text) => {
  const lines = text.split('\n').filter((line) => line && !line.startsWith("'sinew") && !line.startsWith('sinew: warning'));
  return (lines.at(-1) ?? 'the run ended without a word').replace(/^sinew( [a-z]+)?: /, '');
};

/**
 * @param {() => Promise<{postMessage: Function, terminate: Function, listen: Function}>} start
 * @param {() => Promise<WebAssembly.Module>} compile
 */
export function sinewWith(start, compile) {
  /** One run in a worker of its own, which ends with it. */
  async function run(job, { tell = () => {}, signal } = {}) {
    const [worker, compiled] = await Promise.all([start(), compile()]);
    return new Promise((resolve, reject) => {
      const end = (settle, value) => {
        signal?.removeEventListener('abort', cancel);
        worker.terminate();
        settle(value);
      };
      const cancel = () => end(reject, signal.reason);
      worker.listen(
        (message) => (message.result ? end(resolve, message.result) : tell(message)),
        (problem) => end(reject, new SinewError(String(problem?.message ?? problem), 4)));
      if (signal?.aborted) return cancel();
      signal?.addEventListener('abort', cancel);
      worker.postMessage({ compiled, job });
    });
  }

  /** The same, refused with the program's sentence when it did not end well. */
  async function done(job, hooks) {
    const result = await run(job, hooks);
    if (result.status !== 0) throw new SinewError(lastSentence(result.err), result.status);
    return result;
  }

  async function info(input, options = {}, { signal } = {}) {
    const { files, paths } = inputsOf(input);
    return JSON.parse((await done({ args: ['info', ...paths, '--json', ...optionsOf(options)], files }, { signal })).out);
  }

  async function estimate(input, options = {}, { signal } = {}) {
    const { files, paths } = inputsOf(input);
    const args = ['solve', ...paths, '--dry-run', '--json', ...optionsOf(options)];
    return JSON.parse((await done({ args, files }, { signal })).out);
  }

  async function solve(input, options = {}, { signal, onProgress, onError, onKept } = {}) {
    const { files, paths } = inputsOf(input);
    const { format = 'glb', ...rest } = options;
    const file = `${RESULTS}/rig.${format}`;
    const state = `${RESULTS}/state`;
    const args = ['solve', ...paths, '-o', file, '--json', '--progress', '--keep-partial', '--memory-limit', MEMORY_LIMIT,
      '--checkpoint', state, '--checkpoint-seconds', '1', ...optionsOf(rest)];
    let kept = null;
    const finished = (result, partial) => ({
      bytes: result.files[file], format, partial, report: JSON.parse(result.out), remarks: result.err ? result.err.split('\n') : [],
    });
    // Another thread continues from the state that was kept last and ends at once.
    const best = async () => {
      const result = await run({ args, files: { ...files, [state]: kept }, wanted: [file], stop: true });
      if (!result.files[file]) throw new SinewError(lastSentence(result.err), result.status);
      return finished(result, true);
    };
    const tell = (message) => {
      if (message.watched) {
        kept = message.watched;
        onKept?.(best);
      } else if (message.step !== undefined) onProgress?.(message.progress, message.step);
      else onError?.(message.iteration, message.error);
    };
    try {
      return finished(await done({ args, files, wanted: [file], watched: state }, { tell, signal }), false);
    } catch (problem) {
      if (!signal?.aborted || !kept) throw problem;
      return best();
    }
  }

  async function evaluate(rig, input, options = {}, { signal } = {}) {
    const { files, paths } = inputsOf(input);
    const own = `${RESULTS}/rig.glb`;
    const args = ['evaluate', own, ...paths, '--json', ...optionsOf(options)];
    return JSON.parse((await done({ args, files: { ...files, [own]: bytesOf(rig) } }, { signal })).out);
  }

  async function convert(input, format, options = {}, { signal } = {}) {
    const { files, paths } = inputsOf(input);
    const out = `${RESULTS}/converted.${format}`;
    const args = ['convert', ...paths, '-o', out, ...optionsOf(options)];
    return (await done({ args, files, wanted: [out] }, { signal })).files[out];
  }

  return { run, info, estimate, solve, evaluate, convert };
}
