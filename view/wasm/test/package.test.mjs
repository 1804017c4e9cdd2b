// The package in Node: what it solves is as good as what the native program solves, and what goes wrong is said in the
// program's own words.
//   SINEW=build/release/bin/sinew SINEW_DATA=... node view/wasm/test/package.test.mjs [--full]
// --full: all of the data. Ends with status 77 and a reason when something it needs is not there.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const program = process.env.SINEW ?? join(root, 'build/release/bin/sinew');
const data = resolve(process.env.SINEW_DATA ?? join(root, '../shared/data'));
const built = process.env.SINEW_WASM ?? join(root, 'build/wasm/package');
const missing = !existsSync(join(built, 'index.js'))
  ? 'the WebAssembly package is not built; script/bootstrap --wasm, then the preset wasm, build it'
  : !existsSync(program) ? 'the program is not built' : !existsSync(join(data, 'sequences')) ? 'SINEW_DATA is not there' : null;
if (missing) {
  console.log(`skipped: ${missing}`);
  process.exit(77);
}
const full = process.argv.includes('--full');
const sinew = await import(pathToFileURL(join(built, 'index.js')).href);
const folder = mkdtempSync(join(tmpdir(), 'sinew-wasm-'));
after(() => rmSync(folder, { recursive: true }));

/** The files of a data set by name, and what the native program is given. */
function dataSet(name) {
  const path = join(data, name);
  if (!statSync(path).isDirectory()) return { input: { [name.split('/').at(-1)]: readFileSync(path) }, given: [path] };
  const files = readdirSync(path).filter((file) => /\.(obj|ply|pc2|mdd|npz|abc|glb)$/.test(file));
  return { input: Object.fromEntries(files.map((file) => [file, readFileSync(join(path, file))])), given: [path] };
}
function native(given, options) {
  const out = execFileSync(program, ['solve', ...given, '-o', join(folder, 'native.glb'), '--json', ...options],
    { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] });
  return JSON.parse(out);
}

/** The rig from the module against the native one; the native program judges both files. */
async function compare(name, options, flags) {
  const { input, given } = dataSet(name);
  const rig = await sinew.solve(input, options);
  const file = join(folder, 'module.glb');
  writeFileSync(file, rig.bytes);
  const judged = JSON.parse(execFileSync(program, ['evaluate', file, ...given, '--json'], { encoding: 'utf8', maxBuffer: 1 << 28 }));
  const reference = native(given, flags);
  const ours = judged.errors.e_rms;
  const theirs = reference.errors.e_rms;
  console.log(`${name} ${flags.join(' ')}: module ${ours.toPrecision(5)}, native ${theirs.toPrecision(5)}, ratio ${(ours / theirs).toFixed(4)}; seconds ${rig.report.seconds.toFixed(2)}, native ${reference.seconds.toFixed(2)}`);
  assert.ok(Math.abs(rig.report.errors.e_rms - ours) <= 1e-4 * ours + 1e-9, 'the report tells the error of the written file');
  return { ours, theirs };
}

test('a rig is as good as the native one, and its report tells what the native program finds', async () => {
  const { ours, theirs } = await compare('sequences/horse-poses', { bones: 8, quality: 'fast' }, ['--bones', '8', '--quality', 'fast']);
  assert.ok(ours <= 1.01 * theirs, `${ours} against ${theirs}`);
});

test('facts and estimates are those of the native program', async () => {
  const { input, given } = dataSet('sequences/horse-gallop');
  const facts = await sinew.info(input);
  const known = JSON.parse(execFileSync(program, ['info', ...given, '--json'], { encoding: 'utf8' }));
  for (const key of ['vertices', 'faces', 'frames', 'diagonal', 'seconds']) assert.deepEqual(facts[key], known[key], key);
  const { estimate } = await sinew.estimate(input, { bones: 20, threads: 1 });
  assert.ok(estimate.memory_bytes > 1e6 && estimate.memory_bytes < 2e9);
  assert.ok(estimate.seconds > 0);
});

test('progress and the falling error are told while it works', async () => {
  const { input } = dataSet('sequences/horse-gallop');
  const told = [];
  const errors = [];
  await sinew.solve(input, { bones: 4, quality: 'fast' }, { onProgress: (fraction, step) => told.push([fraction, step]), onError: (n, e) => errors.push([n, e]) });
  assert.ok(told.length >= 1 && told.every(([fraction, step]) => fraction <= 1 && step.length > 0), JSON.stringify(told.slice(0, 5)));
  assert.ok(errors.length >= 1 && errors.every(([n, e], i) => n === i + 1 && e > 0), JSON.stringify(errors));
});

test('a cancelled solve gives the best rig so far', async () => {
  const { input } = dataSet('sequences/horse-gallop');
  const stop = new AbortController();
  const rig = await sinew.solve(input, { bones: 30 }, { signal: stop.signal, onKept: () => stop.abort() });
  assert.ok(rig.partial);
  assert.ok(rig.report.errors.e_rms > 0 && rig.report.errors.e_rms < 100, String(rig.report.errors.e_rms));
  assert.ok((await sinew.info(rig.bytes)).bones > 0);
});

test('a solve cancelled before there is anything is rejected', async () => {
  const { input } = dataSet('sequences/horse-gallop');
  await assert.rejects(sinew.solve(input, { bones: 5 }, { signal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('wrong files and options get the sentences of the program', async () => {
  const { input } = dataSet('sequences/horse-gallop');
  const cut = { ...input, 'frames.pc2': input['frames.pc2'].subarray(0, 5000) };
  await assert.rejects(sinew.solve(cut, { bones: 5 }), (problem) => problem instanceof sinew.SinewError && problem.status === 3 && /frames\.pc2: .*bytes/.test(problem.message));
  await assert.rejects(sinew.info({ 'letter.txt': new Uint8Array(4) }), (problem) => problem instanceof sinew.SinewError && /^letter\.txt: not a format/.test(problem.message));
  await assert.rejects(sinew.info(new Uint8Array([1, 2, 3])), /no \.glb/);
  await assert.rejects(sinew.solve(input, { bonez: 5 }), (problem) => problem.status === 2 && /--bonez is not known here; did you mean --bones/.test(problem.message));
  const garbage = new Uint8Array(4000).map((_, i) => (i * 7919) % 251);
  garbage.set(Buffer.from('glTF'));
  await assert.rejects(sinew.info(garbage), (problem) => problem.status === 3);
});

test('every format is written by the module as by the native program', async () => {
  const { input } = dataSet('sequences/horse-gallop');
  const rig = await sinew.solve(input, { bones: 5, quality: 'fast', skeleton: true, iterations: 3 });
  for (const format of ['fbx', 'usdz', 'bvh', 'glb']) {
    const bytes = await sinew.convert(rig.bytes, format);
    writeFileSync(join(folder, 'rig.glb'), rig.bytes);
    execFileSync(program, ['convert', join(folder, 'rig.glb'), '-o', join(folder, `native.${format}`)], { stdio: 'ignore' });
    const size = statSync(join(folder, `native.${format}`)).size;
    assert.ok(Math.abs(bytes.length - size) <= 0.02 * size, `${format}: ${bytes.length} bytes, the native file has ${size}`);
  }
});

test('solves leave no memory behind', async () => {
  const { input } = dataSet('sequences/horse-poses');
  const used = [];
  for (let i = 0; i < 6; ++i) {
    await sinew.solve(input, { bones: 3, quality: 'fast', iterations: 2 });
    globalThis.gc?.();
    used.push(process.memoryUsage().rss);
  }
  assert.ok(used.at(-1) < 1.3 * used[1] + 50e6, `${used.map((bytes) => (bytes / 1e6).toFixed(0)).join(' ')} MB`);
});

if (full) {
  const sets = [
    ...readdirSync(join(data, 'sequences')).filter((name) => !name.startsWith('.')).map((name) => `sequences/${name}`),
    'alembic/horse.abc', 'gltf/CesiumMan.glb', 'gltf/Fox.glb', 'gltf/RiggedFigure.glb', 'fbx/samba-dancing.fbx',
  ];
  for (const name of sets)
    test(`${name}: within a hundredth of the native error`, async (context) => {
      const { given } = dataSet(name);
      let fits;
      try {
        fits = JSON.parse(execFileSync(program, ['solve', ...given, '--dry-run', '--json', '--threads', '1'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }));
      } catch (problem) {
        return context.skip(`the native program does not take it: ${problem.stderr}`);
      }
      if (fits.estimate.memory_bytes > 1.9e9) return context.skip('larger than 2 GB');
      const { ours, theirs } = await compare(name, { bones: 12, quality: 'fast' }, ['--bones', '12', '--quality', 'fast']);
      assert.ok(ours <= 1.01 * theirs, `${ours} against ${theirs}`);
    });

  test('one thread of the module takes at most three times the native CPU time', async () => {
    const { input, given } = dataSet('sequences/horse-gallop');
    const moduleCpu = async (work) => {
      const before = process.cpuUsage();
      await work();
      return 1e-6 * process.cpuUsage(before).user;
    };
    const nativeCpu = (...args) => Number(execFileSync('bash', ['-c', 'TIMEFORMAT=%U; { time "$@" >/dev/null 2>&1; } 2>&1', 'bash', program, ...args], { encoding: 'utf8' }));
    const least = async (measure) => {
      const all = [];
      for (let i = 0; i < 3; ++i) all.push(await measure());
      return Math.min(...all);
    };
    const flags = ['--bones', '20', '--quality', 'fast', '--threads', '1'];
    const ours = await least(() => moduleCpu(() => sinew.solve(input, { bones: 20, quality: 'fast' })));
    const start = await least(() => moduleCpu(() => sinew.info(input)));  // a worker, code compiled, files read
    const theirs = await least(() => nativeCpu('solve', ...given, '-o', join(folder, 'native.glb'), ...flags));
    console.log(`horse-gallop, 20 bones, fast, CPU seconds: module ${ours.toFixed(2)} (to start and read ${start.toFixed(2)}), native ${theirs.toFixed(2)}, ratio ${(ours / theirs).toFixed(2)}, of the work ${((ours - start) / theirs).toFixed(2)}`);
    assert.ok(ours - start <= 3 * theirs);
  });
}
