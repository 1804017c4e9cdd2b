// The app in a real browser: a file dropped, solved and downloaded is what the native program finds it to be; it can be
// stopped, refuses in the program's words, fits a phone, needs no mouse and asks nothing of any server.
//   SINEW=build/release/bin/sinew SINEW_DATA=... node view/app/test/app.test.mjs
// Ends with status 77 and a reason when something it needs is not there. Pictures: SINEW_SHOTS, build/view-shots.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const program = process.env.SINEW ?? join(root, 'build/release/bin/sinew');
const data = resolve(process.env.SINEW_DATA ?? join(root, '../shared/data'));
const gallop = join(data, 'sequences/horse-gallop');
const built = process.env.SINEW_APP ?? join(root, 'build/wasm/app/index.html');
const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
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
  const { chromium: launcher } = createRequire(join(root, 'view/page/package.json'))('playwright-core');
  folder = mkdtempSync(join(tmpdir(), 'sinew-app-'));
  mkdirSync(shots, { recursive: true });
  browser = await launcher.launch({
    executablePath: chromium,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--no-first-run', '--disable-quic'],
  });
});
after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
});

/** The page from disk, with what the console and the network saw. */
async function open(viewport = { width: 1100, height: 900 }, url = pathToFileURL(built).href) {
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
  const viewer = page.frames().find((frame) => frame !== page.mainFrame());
  await viewer.waitForFunction(() => window.sinew?.ready);
  await viewer.evaluate(() => window.sinew.ready);
  await page.waitForTimeout(500);
  await page.screenshot({ path: join(shots, 'app-result.png'), fullPage: true });
  const [made] = await Promise.all([page.waitForEvent('download'), page.getByText('Make .fbx').click()]);
  await made.saveAs(join(folder, 'rig.fbx'));
  assert.ok(Math.abs(evaluated(join(folder, 'rig.fbx')) / report.errors.e_rms - 1) < 0.01);
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

test('wrong files get the sentence of the program', async () => {
  const { page } = await open();
  const broken = join(folder, 'frames.pc2');
  writeFileSync(broken, readFileSync(files[1]).subarray(0, 5000));
  await give(page, [files[0], broken]);
  assert.match(await page.locator('#problem').textContent(), /frames\.pc2: .*bytes/);
  const letter = join(folder, 'letter.txt');
  writeFileSync(letter, 'Dear all');
  await give(page, [letter]);
  assert.ok((await page.locator('#problem').textContent()).length > 10);
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
  assert.equal(await page.evaluate(() => document.activeElement.id), 'result-title');
  await page.close();
});

test('everything has a name, and text stands out', async () => {
  const { page } = await open();
  await give(page, files);
  const nameless = await page.evaluate(() => [...document.querySelectorAll('button, select, input, iframe, progress, svg')]
    .filter((element) => !(element.ariaLabel || element.title || element.getAttribute('aria-labelledby') || element.labels?.length || element.textContent.trim()))
    .map((element) => element.outerHTML));
  assert.deepEqual(nameless, []);
  const faint = await page.evaluate(() => {
    const channels = (color) => color.match(/[\d.]+/g).map(Number);
    const light = (color) => {
      const [r, g, b] = channels(color).map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const back = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const color = getComputedStyle(at).backgroundColor;
        if (channels(color)[3] !== 0) return color;
      }
      return 'rgb(255,255,255)';
    };
    return [...document.querySelectorAll('h1, h2, p, label, legend, small, button, dt, dd, option, b')].filter((element) => element.offsetParent && !element.disabled && !element.closest(':disabled')).flatMap((element) => {
      const [a, b] = [light(getComputedStyle(element).color), light(back(element))].sort((x, y) => y - x);
      const contrast = (a + 0.05) / (b + 0.05);
      return contrast < 4.5 ? [`${element.textContent.slice(0, 40)}: ${contrast.toFixed(2)}`] : [];
    });
  });
  assert.deepEqual(faint, []);
  await page.close();
});

test('script/app serves it isolated from other origins', async () => {
  const port = 18000 + Math.floor(process.pid % 2000);
  const server = spawn(join(root, 'script/app'), [String(port)], { stdio: 'ignore' });
  try {
    let page;
    for (let i = 0; ; ++i) {
      try {
        ({ page } = await open(undefined, `http://127.0.0.1:${port}/`));
        break;
      } catch (problem) {
        if (i === 20) throw problem;
        await new Promise((wait) => setTimeout(wait, 250));
      }
    }
    assert.equal(await page.evaluate(() => crossOriginIsolated), true);
    await give(page, files);
    assert.match(await page.locator('#facts').textContent(), /8,431/);
    await page.close();
  } finally {
    server.kill();
  }
});

test('the time that a solve takes beside the native program', async () => {
  const { page } = await open();
  await give(page, files);
  await solve(page, { bones: 20 });
  await finished(page);
  const report = JSON.parse(readFileSync(await download(page, 'Report (.json)'), 'utf8'));
  const native = JSON.parse(execFileSync(program, ['solve', gallop, '-o', join(folder, 'native.glb'), '--bones', '20', '--quality', 'fast', '--threads', '1', '--json'], { encoding: 'utf8', maxBuffer: 1 << 28 }));
  console.log(`horse-gallop, 20 bones, fast, one thread: Chromium ${report.seconds.toFixed(2)} s, native ${native.seconds.toFixed(2)} s, ratio ${(report.seconds / native.seconds).toFixed(2)}; E_RMS ${report.errors.e_rms.toPrecision(4)} and ${native.errors.e_rms.toPrecision(4)}`);
  assert.ok(report.errors.e_rms <= 1.01 * native.errors.e_rms);
  await page.close();
});
