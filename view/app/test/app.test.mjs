// The app in a real browser: a file dropped, solved and downloaded is what the native program finds it to be; it can be
// stopped, refuses in the program's words, fits a phone, needs no mouse and asks nothing of any server.
//   SINEW=build/release/bin/sinew SINEW_DATA=... node view/app/test/app.test.mjs
// SINEW_APP and SINEW_APP_URL test another page: the one with threads has to be served (script/app).
// Ends with status 77 and a reason when something it needs is not there. Pictures: SINEW_SHOTS, build/view-shots.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { faint, nameless } from '../../page/test/accessible.mjs';
import { chromium, launch } from '../../page/test/browser.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const program = process.env.SINEW ?? join(root, 'build/release/bin/sinew');
const data = resolve(process.env.SINEW_DATA ?? join(root, '../shared/data'));
const gallop = join(data, 'sequences/horse-gallop');
const built = process.env.SINEW_APP ?? join(root, 'build/wasm/app/index.html');
const address = process.env.SINEW_APP_URL ?? pathToFileURL(built).href;  // a page that is served, of the file SINEW_APP
const missing = !existsSync(built)
  ? 'the app is not built; script/bootstrap --wasm, then the preset wasm, build it'
  : !existsSync(program) ? 'the program is not built' : !chromium ? 'Chromium is not installed' : !existsSync(gallop) ? 'SINEW_DATA has no horse-gallop' : null;
if (missing) {
  console.log(`skipped: ${missing}`);
  process.exit(77);
}
const shots = process.env.SINEW_SHOTS ?? join(root, 'build', 'view-shots');
const files = ['rest.obj', 'frames.pc2'].map((name) => join(gallop, name));
const PATIENCE = 120000;

let browser;
let folder;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sinew-app-'));
  mkdirSync(shots, { recursive: true });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
});

/** The page from disk, with what the console and the network saw. */
async function open(viewport = { width: 1100, height: 900 }, url = address) {
  const page = await browser.newPage({ viewport, acceptDownloads: true });
  page.setDefaultTimeout(PATIENCE);
  const problems = [];
  page.on('console', (message) => { if (message.type() === 'error') problems.push(message.text()); });
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(url);
  page.on('request', (request) => { if (!/^(data|blob):/.test(request.url())) problems.push(`request to ${request.url()}`); });
  return { page, problems };
}
async function give(page, paths) {
  await page.locator('#files').setInputFiles(paths);
  await page.waitForFunction(() => !document.getElementById('options').hidden || !document.getElementById('problem').hidden);
}
/** The page that shows the rig, so far or at last. */
const viewerOf = (page) => page.frames().find((frame) => frame !== page.mainFrame() && frame.url().startsWith('blob:'));
const ready = (page) => page.waitForFunction(() => !document.getElementById('solve').disabled);
async function solve(page, { method = 'ssdr', bones = 6, quality = 'fast' } = {}) {
  await page.selectOption('#method', method);
  await page.fill('#bones', String(bones));
  await page.selectOption('#quality', quality);
  await page.waitForTimeout(400);
  await ready(page);
  await page.click('#solve');
}
const finished = (page) => page.waitForFunction(() => !document.getElementById('result').hidden || !document.getElementById('problem').hidden);
async function download(page, text) {
  const [got] = await Promise.all([page.waitForEvent('download'), page.getByText(text).click()]);
  const path = join(folder, got.suggestedFilename());
  await got.saveAs(path);
  return path;
}
const evaluated = (file) => JSON.parse(execFileSync(program, ['evaluate', file, gallop, '--json'], { encoding: 'utf8', maxBuffer: 1 << 28 })).errors.e_rms;

test('page and module are at most 3 MB compressed', () => {
  const size = gzipSync(readFileSync(built), { level: 9 }).length;
  console.log(`page with its module: ${readFileSync(built).length} bytes, compressed ${size}`);
  assert.ok(size <= 3e6, String(size));
});

test('a dropped animation becomes a file that the native program finds as good as the page says', async () => {
  const { page, problems } = await open();
  await give(page, files);
  assert.equal(await page.locator('#problem').isVisible(), false, await page.locator('#problem').textContent());
  assert.match(await page.locator('#facts').textContent(), /8,431/);
  await ready(page);
  assert.match(await page.locator('#estimate').textContent(), /of memory and about/);
  await page.screenshot({ path: join(shots, 'app-options.png') });
  await solve(page, { bones: 12 });
  await page.waitForFunction(() => document.querySelector('#curve polyline').getAttribute('points')?.split(' ').length >= 3);
  await page.screenshot({ path: join(shots, 'app-working.png') });
  await finished(page);
  assert.equal(await page.locator('#problem').isVisible(), false, await page.locator('#problem').textContent());
  const report = JSON.parse(readFileSync(await download(page, 'Report (.json)'), 'utf8'));
  const rig = await download(page, 'Download .glb');
  assert.ok(Math.abs(evaluated(rig) / report.errors.e_rms - 1) < 1e-4);
  await page.waitForFunction(() => !document.getElementById('viewer').hidden);
  const viewer = viewerOf(page);
  await viewer.waitForFunction(() => window.sinew?.ready);
  await viewer.evaluate(() => window.sinew.ready);
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(shots, 'app-result.png'), fullPage: true });
  const make = async (format) => {
    await page.selectOption('#format', format);
    const [made] = await Promise.all([page.waitForEvent('download'), page.click('#make')]);
    await made.saveAs(join(folder, `rig.${format}`));
    return join(folder, `rig.${format}`);
  };
  assert.ok(Math.abs(evaluated(await make('fbx')) / report.errors.e_rms - 1) < 0.01);
  for (const format of await page.evaluate(() => [...document.querySelectorAll('#format option')].map((option) => option.value)))
    assert.ok(statSync(await make(format)).size > 1000, format);
  assert.deepEqual(problems, []);
  await page.close();
});

test('a skeleton has as many bones as its motion shows, until a person wants another number', async () => {
  const { page, problems } = await open();
  await give(page, [join(data, 'gltf', 'RiggedSimple.glb')]);
  const size = () => page.evaluate(() => document.querySelector('input[name=size]:checked').value);
  assert.equal(await page.locator('#auto').isVisible(), false, 'free bones are counted by people');
  await page.selectOption('#method', 'skeleton');
  assert.equal(await size(), 'auto');
  await page.selectOption('#method', 'kavan');
  assert.equal(await size(), 'bones');
  assert.equal(await page.locator('#quality').isVisible(), false, 'affine bones have no quality to choose');
  await page.selectOption('#method', 'skeleton');
  await page.selectOption('#quality', 'fast');
  await page.waitForTimeout(400);
  await ready(page);
  await page.screenshot({ path: join(shots, 'app-skeleton.png'), fullPage: true });
  await page.click('#solve');
  await finished(page);
  assert.equal(await page.locator('#problem').isVisible(), false, await page.locator('#problem').textContent());
  assert.match(await page.locator('#errors').textContent(), /^bones2bones/);
  await page.fill('#bones', '7');
  await page.selectOption('#method', 'ssdr');
  await page.selectOption('#method', 'skeleton');
  assert.equal(await size(), 'bones');
  assert.deepEqual(problems, []);
  await page.close();
});

test('without a file at hand, a creature is made and solved', async () => {
  const { page, problems } = await open();
  await page.click('#try');
  await page.waitForFunction(() => !document.getElementById('options').hidden || !document.getElementById('problem').hidden);
  assert.match(await page.locator('#facts').textContent(), /creature\.obj \+ creature\.pc2.*frames72 /);
  await solve(page, { bones: 8 });
  await finished(page);
  assert.equal(await page.locator('#problem').isVisible(), false, await page.locator('#problem').textContent());
  assert.match(await page.locator('#errors').textContent(), /^bones8bones/);
  assert.deepEqual(problems, []);
  await page.close();
});

test('stopping keeps the best rig so far', async () => {
  const { page, problems } = await open();
  await give(page, files);
  await solve(page, { bones: 30, quality: 'balanced' });
  await page.getByText('Stop, and keep the best so far').click();
  await finished(page);
  assert.match(await page.locator('#remark').textContent(), /best rig so far/);
  const error = evaluated(await download(page, 'Download .glb'));
  assert.ok(error > 0 && error < 100, String(error));
  assert.deepEqual(problems, []);
  await page.close();
});

test('while it solves, the rig so far moves beside the original', async () => {
  const { page, problems } = await open();
  await give(page, files);
  await solve(page, { bones: 40, quality: 'best' });
  await page.waitForFunction(() => !document.getElementById('preview').hidden);
  const viewer = () => viewerOf(page);
  while (!viewer()) await page.waitForTimeout(100);  // it is on its way
  await viewer().waitForFunction(() => window.sinew?.model && window.sinew.errors);
  assert.ok(await viewer().evaluate(() => window.sinew.state.playing && window.sinew.stage.panes.length === 2));
  await page.screenshot({ path: join(shots, 'app-preview.png'), fullPage: true });
  await page.click('#cancel');
  await finished(page);
  assert.equal(await page.locator('#preview').isVisible(), false);
  assert.deepEqual(problems, []);
  await page.close();
});

test('wrong files get the sentence of the program', async () => {
  const { page } = await open();
  const broken = join(folder, 'frames.pc2');
  writeFileSync(broken, readFileSync(files[1]).subarray(0, 5000));
  await give(page, [files[0], broken]);
  assert.match(await page.locator('#problem').textContent(), /frames\.pc2: .*bytes/);
  const letter = join(folder, 'letter.txt');
  writeFileSync(letter, 'Dear all');
  await give(page, [letter]);
  assert.match(await page.locator('#problem').textContent(), /^letter\.txt: not a format that can be read; expected .*\.glb/);
  await give(page, files);
  assert.equal(await page.locator('#problem').isVisible(), false);
  await page.close();
});

test('it fits a phone', async () => {
  const { page } = await open({ width: 375, height: 720 });
  await give(page, files);
  await ready(page);
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(await overflow() <= 0, `${await overflow()} pixels too wide`);
  await solve(page, { bones: 4 });
  await finished(page);
  await page.waitForFunction(() => !document.getElementById('viewer').hidden);
  assert.ok(await overflow() <= 0, `${await overflow()} pixels too wide with a result`);
  await page.waitForTimeout(1000);
  await page.screenshot({ path: join(shots, 'app-phone.png'), fullPage: true });
  const small = await page.evaluate(() => [...document.querySelectorAll('button, select, input[type=number], .download')]
    .filter((element) => element.offsetParent && element.getBoundingClientRect().height < 44).map((element) => element.id || element.textContent));
  assert.deepEqual(small, []);
  await page.close();
});

test('the keyboard is enough', async () => {
  const { page } = await open();
  const reach = async (id) => {
    for (let i = 0; i < 40; ++i) {
      if (await page.evaluate(() => document.activeElement.id) === id) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`${id} is not reached`);
  };
  const chooser = page.waitForEvent('filechooser');  // asked for early: the browser must know before the key
  await reach('choose-files');
  await page.keyboard.press('Enter');
  await (await chooser).setFiles(files);
  await ready(page);
  await reach('bones');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('5');
  await reach('quality');
  await page.keyboard.press('Home');
  await page.waitForTimeout(400);
  await ready(page);
  await reach('solve');
  await page.keyboard.press('Enter');
  await finished(page);
  assert.match(await page.locator('#errors').textContent(), /^bones5bones/, 'fields that the keyboard passes through change nothing');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'result-title');
  await page.close();
});

test('everything has a name, and text stands out', async () => {
  const { page } = await open();
  await give(page, files);
  assert.deepEqual(await nameless(page, 'button, select, input, iframe, progress, svg'), []);
  assert.deepEqual(await faint(page, 'h1, h2, p, label, legend, small, button, dt, dd, option, b'), []);
  await page.close();
});

/** script/app while `use` runs, which gets its address. */
async function served(use) {
  const port = 18000 + Math.floor(process.pid % 2000);
  const server = spawn(join(root, 'script/app'), [String(port)], { stdio: 'ignore' });
  const address = `http://127.0.0.1:${port}/`;
  try {
    for (let i = 0; !(await fetch(address).then(({ ok }) => ok, () => false)); ++i) {
      assert.ok(i < 40, 'the server answers');
      await new Promise((wait) => setTimeout(wait, 250));
    }
    await use(address);
  } finally {
    server.kill();
  }
}

const withThreads = existsSync(join(root, 'build/wasm-threads/app/index.html')) ? false : 'the preset wasm-threads is not built';
test('script/app serves it isolated from other origins; two threads solve faster than one, to the same bits', { skip: withThreads }, async () => {
  await served(async (address) => {
    const one = {};
    for (const threads of [1, 2]) {
      const { page, problems } = await open(undefined, `${address}?threads=${threads}`);
      assert.equal(await page.evaluate(() => crossOriginIsolated), true);
      await give(page, files);
      assert.match(await page.locator('#facts').textContent(), /8,431/);
      await solve(page, { bones: 20 });
      await finished(page);
      assert.equal(await page.locator('#problem').isVisible(), false, await page.locator('#problem').textContent());
      const { seconds } = JSON.parse(readFileSync(await download(page, 'Report (.json)'), 'utf8'));
      const rig = readFileSync(await download(page, 'Download .glb'));
      if (threads === 1) Object.assign(one, { seconds, rig });
      else assert.ok(rig.equals(one.rig), 'the same bits');
      if (threads === 2) console.log(`horse-gallop, 20 bones, fast, with threads: one ${one.seconds.toFixed(2)} s, two ${seconds.toFixed(2)} s, ratio ${(one.seconds / seconds).toFixed(2)}`);
      assert.deepEqual(problems, []);
      await page.close();
    }
  });
});

test('one thread in the page takes at most three times the native CPU time', async () => {
  const { page } = await open();
  await give(page, files);
  const session = await browser.newBrowserCDPSession();
  /** CPU seconds of all pages so far; what they draw on is another process. */
  const spent = async () => (await session.send('SystemInfo.getProcessInfo')).processInfo.filter(({ type }) => type === 'renderer').reduce((sum, { cpuTime }) => sum + cpuTime, 0);
  const native = () => Number(execFileSync('bash', ['-c', 'TIMEFORMAT=%U; { time "$@" >/dev/null 2>&1; } 2>&1', 'bash', program, 'solve', gallop, '-o', join(folder, 'native.glb'), '--bones', '20', '--quality', 'fast', '--threads', '1'], { encoding: 'utf8' }));
  const times = { page: [], native: [] };
  for (let i = 0; i < 5; ++i) {  // the first also make fast code of the module
    await page.selectOption('#quality', 'fast');
    await page.fill('#bones', '20');
    await page.waitForTimeout(400);
    await ready(page);
    const begin = await spent();
    await page.click('#solve');
    await finished(page);
    times.page.push((await spent()) - begin);
    await page.waitForFunction(() => !document.getElementById('viewer').hidden);
    await page.evaluate(() => { document.getElementById('viewer').src = 'about:blank'; });
    times.native.push(native());
  }
  const report = JSON.parse(readFileSync(await download(page, 'Report (.json)'), 'utf8'));
  const [ours, theirs] = [Math.min(...times.page), Math.min(...times.native)];
  const errors = [report.errors.e_rms, evaluated(join(folder, 'native.glb'))];
  console.log(`horse-gallop, 20 bones, fast, one thread, CPU seconds: Chromium ${times.page.map((s) => s.toFixed(2)).join(' ')}, native ${times.native.map((s) => s.toFixed(2)).join(' ')}, ratio ${(ours / theirs).toFixed(2)}; E_RMS ${errors.map((e) => e.toPrecision(4)).join(' and ')}`);
  assert.ok(ours <= 3 * theirs, `${ours} against ${theirs}`);
  assert.ok(errors[0] <= 1.01 * errors[1], errors.join());
  await page.close();
});
