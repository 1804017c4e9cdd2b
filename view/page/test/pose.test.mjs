// Pose mode of the viewer page in a real browser: bones are picked on the body, turned and dragged, undone, and poses come
// back from the file as they were shown.
//   SINEW=build/release/bin/sinew node view/page/test/pose.test.mjs
// Ends with status 77 and a reason when something it needs is not there.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium, launch, openPage } from './browser.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const program = process.env.SINEW ?? join(root, 'build/release/bin/sinew');
const data = resolve(process.env.SINEW_DATA ?? join(root, '../shared/data'));
const fox = join(data, 'gltf', 'Fox.glb');
const missing = !existsSync(program) ? 'the program is not built' : !chromium ? 'Chromium is not installed' : !existsSync(fox) ? 'SINEW_DATA has no Fox.glb' : null;
if (missing) {
  console.log(`skipped: ${missing}`);
  process.exit(77);
}
const shots = process.env.SINEW_SHOTS ?? join(root, 'build', 'view-shots');
const run = (...args) => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 28 });

let browser;
let folder;
let html;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sinew-pose-'));
  mkdirSync(shots, { recursive: true });
  html = join(folder, 'fox.html');
  run('view', fox, '-o', html);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
});

async function posing() {
  const { page, problems } = await openPage(browser, html);
  await page.locator('#toggles button[data-value=pose]').click();
  assert.equal(await page.evaluate(() => window.sinew.posing.on), true);
  return { page, problems };
}

/** Where a bone's joint is on the screen. */
const onScreen = (page, name) => page.evaluate((wanted) => {
  const { model, stage } = window.sinew;
  const b = model.bones.findIndex((bone) => bone.name === wanted);
  const p = model.jointPosition(b).project(stage.camera);
  const box = stage.renderer.domElement.getBoundingClientRect();
  return { bone: b, x: box.left + ((1 + p.x) / 2) * box.width, y: box.top + ((1 - p.y) / 2) * box.height };
}, name);

test('a click on the body chooses the bone that moves it; the gizmo turns it and what hangs on it', async () => {
  const { page, problems } = await posing();
  const head = await onScreen(page, 'b_Head_05');
  await page.mouse.click(head.x, head.y);
  const picked = await page.evaluate(() => window.sinew.model.bones[window.sinew.posing.bone]?.name);
  assert.match(picked ?? '', /Head|Neck/);
  await page.evaluate((b) => window.sinew.posing.choose(b), head.bone);
  const joints = () => page.evaluate(() => window.sinew.model.bones.map((_, b) => window.sinew.model.jointPosition(b).toArray()));
  const before_turn = await joints();
  // A circle of the gizmo is dragged where it crosses the line to the right of the joint.
  await page.waitForTimeout(200);
  let turned = false;
  for (let r = 30; r < 140 && !turned; r += 4) {
    await page.mouse.move(head.x + r, head.y);
    if (!(await page.evaluate(() => window.sinew.posing.gizmo.axis))) continue;
    await page.mouse.down();
    await page.mouse.move(head.x + r, head.y + 20);
    await page.mouse.move(head.x + r, head.y + 60);
    await page.mouse.up();
    turned = true;
  }
  assert.ok(turned, 'the gizmo is under the pointer');
  assert.ok(await page.evaluate(() => window.sinew.posing.history.canUndo), 'the turn can be undone');
  const after_turn = await joints();
  assert.deepEqual(after_turn[head.bone], before_turn[head.bone], 'a joint turns about its own place');
  await page.screenshot({ path: join(shots, 'pose.png') });
  await page.keyboard.press('Control+z');
  for (const [b, joint] of (await joints()).entries()) joint.forEach((x, c) => assert.ok(Math.abs(x - before_turn[b][c]) < 1e-3));
  assert.deepEqual(problems, []);
  await page.close();
});

test('a foot that is dragged gets there, and only its leg turns', async () => {
  const { page, problems } = await posing();
  const foot = await onScreen(page, 'b_LeftFoot01_017');
  assert.ok(foot.bone >= 0);
  const seen = await page.evaluate((b) => {
    const { posing: pose, model } = window.sinew;
    pose.choose(b);
    pose.setWay('drag');
    const place = (bone) => model.jointPosition(bone);
    const before_drag = model.bones.map((_, i) => place(i).toArray());
    const target = place(b).add({ x: 3, y: 12, z: 9 });
    const off = pose.dragTo(target);
    pose.changed();
    const after_drag = model.bones.map((_, i) => place(i).toArray());
    const head = model.bones.findIndex((bone) => bone.name === 'b_Head_05');
    return { off, target: target.toArray(), foot: after_drag[b], headBefore: before_drag[head], headAfter: after_drag[head], diagonal: model.diagonal };
  }, foot.bone);
  assert.ok(seen.off < 1e-3 * seen.diagonal, `${seen.off} of ${seen.diagonal}`);
  seen.foot.forEach((x, c) => assert.ok(Math.abs(x - seen.target[c]) < 1e-3 * seen.diagonal));
  assert.deepEqual(seen.headAfter, seen.headBefore);
  assert.deepEqual(problems, []);
  await page.close();
});

test('poses that are kept are a clip of the file that the program reads', async () => {
  const { page, problems } = await posing();
  const shown = await page.evaluate(() => {
    const { posing: pose, model } = window.sinew;
    const out = [];
    for (const [b, angle] of [[3, 0.4], [5, -0.6], [8, 0.5]]) {
      pose.choose(b);
      model.bones[b].node.rotateX(angle);
      pose.changed();
      pose.keep();
      out.push(Array.from(model.positions()));
    }
    return { positions: out, file: Array.from(new Uint8Array(pose.file())), diagonal: model.diagonal };
  });
  const file = join(folder, 'posed.glb');
  writeFileSync(file, Buffer.from(shown.file));
  run('convert', file, '--clip', 'poses', '--fps', '2', '-o', join(folder, 'posed.pc2'));
  const bytes = readFileSync(join(folder, 'posed.pc2'));
  const vertices = bytes.readInt32LE(16);
  assert.equal(bytes.readInt32LE(28), 3, 'three keys');
  // The program keeps one vertex where the file repeats it for the sake of a seam: each shown one is near one of those.
  const written = (f, v) => [0, 4, 8].map((c) => bytes.readFloatLE(32 + 12 * (f * vertices + v) + c));
  for (let f = 0; f < 3; ++f) {
    const all = Array.from({ length: vertices }, (_, v) => written(f, v));
    for (let v = 0; v < shown.positions[f].length / 3; v += 7) {
      const [x, y, z] = shown.positions[f].slice(3 * v, 3 * v + 3);
      const nearest = Math.min(...all.map((p) => Math.hypot(p[0] - x, p[1] - y, p[2] - z)));
      assert.ok(nearest < 1e-4 * shown.diagonal, `key ${f}, vertex ${v}: ${nearest}`);
    }
  }
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#pose-group button', { hasText: 'Download' }).click()]);
  assert.equal(download.suggestedFilename(), 'Fox-posed.glb');
  assert.ok(readFileSync(await download.path()).equals(readFileSync(file)));
  assert.deepEqual(problems, []);
  await page.close();
});

test('leaving pose mode goes back to the animation; reset, redo and the joint tree do what they say', async () => {
  const { page, problems } = await posing();
  const tree = await page.evaluate(() => [...document.querySelectorAll('#bones li')].map((item) => [Number(item.getAttribute('aria-level')), item.querySelector('.name').textContent]));
  assert.equal(tree[0][0], 1);
  assert.ok(Math.max(...tree.map(([depth]) => depth)) > 4);
  await page.locator('#bones button').nth(4).click();
  assert.equal(await page.evaluate(() => window.sinew.model.bones[window.sinew.posing.bone].name), tree[4][1]);
  const turn = () => page.evaluate(() => { const { posing: pose, model } = window.sinew; model.bones[pose.bone].node.rotateZ(0.7); pose.changed(); });
  const numbers = () => page.evaluate(() => Array.from(window.sinew.model.matrices));
  const still = await numbers();
  await turn();
  const turned = await numbers();
  assert.notDeepEqual(turned, still);
  await page.locator('#pose-group button', { hasText: 'Reset bone' }).click();
  assert.deepEqual(await numbers(), still);
  await page.keyboard.press('Control+z');
  assert.deepEqual(await numbers(), turned);
  await page.keyboard.press('Control+y');
  assert.deepEqual(await numbers(), still);
  await turn();
  await page.keyboard.press('p');
  assert.equal(await page.evaluate(() => window.sinew.posing.on), false);
  assert.deepEqual(await numbers(), still);
  assert.deepEqual(problems, []);
  await page.close();
});
