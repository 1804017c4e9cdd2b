// The page of a crowd in a real browser: every method poses as the program does, draw calls stay few, nothing leaves it.
//   SINEW=build/release/bin/sinew node view/page/test/crowd.test.mjs
// Ends with status 77 and a reason when something it needs is not there.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium, launch, openPage } from './browser.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const program = process.env.SINEW ?? join(root, 'build/release/bin/sinew');
const missing = !existsSync(program) ? 'the program is not built' : !chromium ? 'Chromium is not installed' : null;
if (missing) {
  console.log(`skipped: ${missing}`);
  process.exit(77);
}
const shots = process.env.SINEW_SHOTS ?? join(root, 'build', 'view-shots');
const run = (...args) => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 28 });

let browser;
let folder;
let crowdPage;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sinew-crowd-'));
  mkdirSync(shots, { recursive: true });
  run('demo', '-o', join(folder, 'demo'), '--vertices', '600', '--frames', '10');
  const source = join(folder, 'demo', 'creature.pc2');
  const file = (name) => join(folder, name);
  run('solve', source, '-o', file('dense.glb'), '--bones', '9', '--influences', 'all', '--transforms', 'affine', '--quality', 'fast');
  run('compress', file('dense.glb'), '--blends-per-vertex', '4', '--force', '-o', file('two.glb'));
  run('reduce', file('dense.glb'), '--influences', '4', '--refit', 'never', '-o', file('four.glb'));
  run('lod', file('four.glb'), '--levels', '3', '--no-distance', '-o', file('levels.glb'));
  crowdPage = file('crowd.html');
  run('crowd', file('two.glb'), file('levels.glb'), file('dense.glb'), '--count', '40', '--precision', 'float', '-o', crowdPage);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
});

/** Positions of a frame of a PC2 file. */
function framePositions(file, frame) {
  const bytes = readFileSync(file);
  const vertices = bytes.readInt32LE(16);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset + 32 + 12 * frame * vertices, bytes.byteOffset + 32 + 12 * (frame + 1) * vertices));
}

/** Largest distance of what the GPU poses to the frames that the program writes, in parts of its spread. */
async function apart(page, method, character, frame, expected) {
  const { gpu, source } = await page.evaluate(([how, c, f]) => {
    const { levels } = window.sinew.crowd.characters[c];
    return { gpu: Array.from(window.sinew.gpuPositions(how, c, 0, f)), source: Array.from(levels[0].source) };
  }, [method, character, frame]);
  // The page has its own place and size: both clouds are brought to the same mean and spread.
  const normal = (at, n) => {
    const mean = [0, 0, 0];
    for (let i = 0; i < n; ++i) for (let c = 0; c < 3; ++c) mean[c] += at(i, c) / n;
    let spread = 0;
    for (let i = 0; i < n; ++i) for (let c = 0; c < 3; ++c) spread += (at(i, c) - mean[c]) ** 2 / n;
    return (i, c) => (at(i, c) - mean[c]) / Math.sqrt(spread);
  };
  const a = normal((i, c) => gpu[3 * i + c], source.length);
  const b = normal((i, c) => expected[3 * source[i] + c], source.length);
  let largest = 0;
  for (let i = 0; i < source.length; ++i) for (let c = 0; c < 3; ++c) largest = Math.max(largest, Math.abs(a(i, c) - b(i, c)));
  return largest;
}

test('dense, two layers and four bones are posed as the program poses them', async () => {
  const { page, problems } = await openPage(browser, crowdPage, { still: true });
  for (const [name, character, method] of [['two', 0, 'two_layer'], ['four', 1, 'lbs4'], ['dense', 2, 'dense']]) {
    run('convert', join(folder, `${name}.glb`), '-o', join(folder, `${name}.pc2`));
    for (const frame of [0, 3, 7]) {
      const difference = await apart(page, method, character, frame, framePositions(join(folder, `${name}.pc2`), frame));
      assert.ok(difference < 1e-4, `${method}, frame ${frame}: ${difference}`);
    }
  }
  const other = await apart(page, 'lbs4', 2, 3, framePositions(join(folder, 'dense.pc2'), 3));
  assert.ok(other > 1e-3, `${other}: the largest four are not the dense weights`);
  assert.deepEqual(problems, []);
  await page.close();
});

test('ten thousand take at most eight draw calls with every method that skins', async () => {
  const { page, problems } = await openPage(browser, crowdPage, { still: true });
  const seen = await page.evaluate(() => {
    Object.assign(window.sinew.camera, { distance: 45, tilt: 1.4 });  // few of them are seen: a GPU that is a program is slow
    return ['lbs4', 'two_layer', 'dense'].map((method) => window.sinew.measure({ method, count: 10000, frames: 0, width: 64, height: 36 }));
  });
  for (const { method, draws, drawn, bytesPerInstance } of seen) {
    assert.ok(draws <= 8, `${method}: ${draws}`);
    assert.ok(drawn > 100, `${method}: ${drawn} are seen`);
    assert.ok(bytesPerInstance > 0 && bytesPerInstance < 10000, `${method}: ${bytesPerInstance}`);
  }
  assert.deepEqual(problems, []);
  await page.close();
});

test('a picture of the crowd; sliders, levels and methods change what is drawn', async () => {
  const { page, problems } = await openPage(browser, crowdPage, { still: true });
  const triangles = (setting) => page.evaluate((change) => {
    window.sinew.camera.distance = 12;
    window.sinew.setCount(40);
    Object.assign(window.sinew.state, change);
    window.sinew.render();
    return window.sinew.stats.triangles;
  }, setting);
  const finest = await triangles({ level: 0, cull: true });
  assert.ok((await triangles({ level: 2 })) < 0.95 * finest, 'coarser levels have fewer triangles');
  assert.ok((await triangles({ level: 0, cull: false })) > finest, 'culling leaves some out');
  const picture = (method) => page.evaluate((how) => {
    const { sinew } = window;
    sinew.setMethod(how);
    sinew.setCount(20);
    sinew.camera.distance = 7;
    sinew.render();
    return document.getElementById('canvas').toDataURL().length;
  }, method);
  const two = await picture('two_layer');
  assert.ok(two > 10000, `${two}: something is drawn`);
  for (const method of ['dense', 'stream']) {
    const other = await picture(method);
    assert.ok(Math.abs(other - two) < 0.2 * two, `${method}: ${other} and ${two} bytes`);
  }
  await page.screenshot({ path: join(shots, 'crowd-stream.png') });
  const state = await page.evaluate(() => {
    document.querySelector('#method button[data-value=lbs4]').click();
    const count = document.getElementById('count');
    count.value = '500';
    count.dispatchEvent(new Event('input'));
    const { method, count: asked } = window.sinew.state;
    window.sinew.setCount(60);
    window.sinew.render();
    window.sinew.showFigures();
    return { method, asked };
  });
  assert.deepEqual(state, { method: 'lbs4', asked: 500 });
  assert.match(await page.locator('#figures').textContent(), /Draw calls[1-8]Bytes/);
  assert.deepEqual(problems, []);
  await page.close();
});

test('it is usable on a phone and with the keyboard', async () => {
  const { page, problems } = await openPage(browser, crowdPage, { viewport: { width: 375, height: 812 } });
  await page.evaluate(() => window.sinew.setCount(50));
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'no sideways scrolling');
  await page.locator('#figures').scrollIntoViewIfNeeded();
  assert.equal((await page.locator('#canvas').boundingBox()).y, 0, 'the crowd stays in view above its figures');
  await page.locator('#canvas').focus();
  const before_move = await page.evaluate(() => [...window.sinew.camera.target, window.sinew.camera.distance]);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('+');
  assert.notDeepEqual(await page.evaluate(() => [...window.sinew.camera.target, window.sinew.camera.distance]), before_move);
  await page.evaluate(() => window.sinew.setCount(5));
  for (const id of ['cull', 'play', 'light', 'level']) {
    const box = await page.locator(`#${id}`).boundingBox();
    assert.ok(box && box.height >= 44, `${id}: ${JSON.stringify(box)}`);
  }
  assert.deepEqual(problems, []);
  await page.close();
});
