// The viewer page in a real browser: what the shader computes equals what the program computes, errors equal those of
// `sinew evaluate`, and nothing that a file says becomes markup or a request.
//   SINEW=build/release/bin/sinew SINEW_DATA=... node view/page/test/page.test.mjs
// Ends with status 77 and a reason when something it needs is not there.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { faint, nameless } from './accessible.mjs';
import { chromium, launch, openPage } from './browser.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const program = process.env.SINEW ?? join(root, 'build/release/bin/sinew');
const data = resolve(process.env.SINEW_DATA ?? join(root, '../shared/data'));
const sequence = join(data, 'sequences', 'cat-poses');
const missing = !existsSync(program) ? 'the program is not built' : !chromium ? 'Chromium is not installed' : !existsSync(sequence) ? 'SINEW_DATA has no cat-poses' : null;
if (missing) {
  console.log(`skipped: ${missing}`);
  process.exit(77);
}
const shots = process.env.SINEW_SHOTS ?? join(root, 'build', 'view-shots');

let browser;
let folder;
const run = (...args) => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 28 });

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sinew-view-'));
  mkdirSync(shots, { recursive: true });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true });
});

const open = (file, viewport) => openPage(browser, file, { viewport });

/** Positions of a PC2 file: { frames, vertices, at(f) }. */
function readPc2(file) {
  const bytes = readFileSync(file);
  const vertices = bytes.readInt32LE(16);
  return {
    vertices, frames: bytes.readInt32LE(28),
    at: (f) => new Float32Array(bytes.buffer.slice(bytes.byteOffset + 32 + 12 * f * vertices, bytes.byteOffset + 32 + 12 * (f + 1) * vertices)),
  };
}

const rigs = {
  'K4': ['--bones', '8', '--influences', '4'],
  'K8': ['--bones', '12', '--influences', '8', '--transforms', 'affine'],
  'dense': ['--bones', '10', '--influences', 'all', '--transforms', 'affine'],
  'corrected': ['--bones', '6', '--influences', '4', '--corrections', '3'],
};

function solved(name) {
  const file = join(folder, `${name}.glb`);
  if (existsSync(file)) return file;
  if (name === 'two-layer') run('compress', solved('dense'), '--blends-per-vertex', '4', '-o', file);
  else if (name === 'packed two-layer') run('compress', solved('dense'), '--blends-per-vertex', '4', '--pack', '-o', file);
  else run('solve', sequence, '-o', file, '--quality', 'fast', '--threads', '2', '--report', join(folder, `${name}.json`), ...rigs[name]);
  return file;
}

for (const name of [...Object.keys(rigs), 'two-layer', 'packed two-layer']) {
  test(`the shader poses a ${name} rig as the program does, and errors agree with evaluate`, async () => {
    const glb = solved(name);
    const html = join(folder, `${name}.html`);
    run('view', glb, '--against', sequence, '-o', html);
    run('convert', glb, '-o', join(folder, `${name}.pc2`));
    const expected = readPc2(join(folder, `${name}.pc2`));
    const { page, problems } = await open(html);
    const diagonal = await page.evaluate(() => window.sinew.model.diagonal);
    for (const f of [0, 4, 8]) {
      const shown = await page.evaluate((frame) => {
        window.sinew.goTo(frame);
        const { model } = window.sinew;
        return { gpu: Array.from(window.sinew.gpuPositions()), points: Array.from(model.controlPoint) };
      }, f);
      const wanted = expected.at(f);
      let largest = 0;
      shown.points.forEach((point, v) => { for (let c = 0; c < 3; ++c) largest = Math.max(largest, Math.abs(shown.gpu[3 * v + c] - wanted[3 * point + c])); });
      assert.ok(largest < 1e-4 * diagonal, `frame ${f}: ${largest} of ${diagonal}`);
    }
    const { errors } = JSON.parse(run('evaluate', glb, sequence, '--json'));
    const page_errors = await page.evaluate(() => ({ eRms: window.sinew.errors.eRms, max: window.sinew.errors.maxPercent, worst: window.sinew.errors.worst }));
    assert.ok(Math.abs(page_errors.eRms - errors.e_rms) <= 1e-3 * errors.e_rms + 1e-4, `${page_errors.eRms} against ${errors.e_rms}`);
    assert.ok(Math.abs(page_errors.max - errors.max_percent) <= 1e-3 * errors.max_percent + 1e-4);
    assert.equal(page_errors.worst.frame, errors.worst_frame);
    await page.evaluate(() => { window.sinew.setColor('error'); window.sinew.goTo(3); });
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(shots, `${name}.png`) });
    assert.deepEqual(problems, []);
    await page.close();
  });
}

test('a packed rig, whose positions are on a grid, is measured in the unit of the file', async () => {
  const packed = join(folder, 'packed-K4.glb');
  run('pack', solved('K4'), '-o', packed);
  const [plain, onGrid] = await Promise.all([solved('K4'), packed].map(async (glb) => {
    const html = `${glb}.alone.html`;
    run('view', glb, '-o', html);
    const { page } = await open(html);
    const diagonal = await page.evaluate(() => window.sinew.model.diagonal);
    await page.keyboard.press('b');
    await page.waitForTimeout(200);
    await page.screenshot({ path: join(shots, `${basename(glb, '.glb')}-bones.png`) });
    await page.close();
    return diagonal;
  }));
  assert.ok(Math.abs(onGrid - plain) <= 1e-3 * plain, `${onGrid} against ${plain}`);
});

test('it plays, scrubs, and a click on a bone changes the colours', async () => {
  const html = join(folder, 'controls.html');
  run('view', solved('K4'), '--against', sequence, '--report', join(folder, 'K4.json'), '-o', html);
  const { page, problems } = await open(html);
  const before_frame = await page.evaluate(() => window.sinew.state.frame);
  await page.waitForTimeout(400);
  assert.notEqual(await page.evaluate(() => window.sinew.state.frame), before_frame, 'it plays by itself');
  await page.keyboard.press('Space');
  await page.locator('#scrub').fill('5');
  assert.equal(await page.evaluate(() => window.sinew.state.frame), 5);
  await page.locator('#color button[data-value=weights]').click();
  const colors = () => page.evaluate(() => Array.from(window.sinew.stage.result.geometry.getAttribute('color').array.slice(0, 3000)).join());
  const weights = await colors();
  await page.screenshot({ path: join(shots, 'weights.png') });
  await page.locator('#bones button').nth(2).click();
  assert.notEqual(await colors(), weights);
  await page.keyboard.press('b');
  await page.keyboard.press('l');
  await page.waitForTimeout(200);
  await page.screenshot({ path: join(shots, 'bones-light.png') });
  for (const way of ['overlay', 'flicker', 'original', 'result', 'side']) {
    await page.evaluate((value) => window.sinew.setShow(value), way);
    await page.waitForTimeout(100);
  }
  await page.locator('#worst').click();
  assert.equal(await page.evaluate(() => Math.round(window.sinew.state.frame)), await page.evaluate(() => window.sinew.errors.worst.frame));
  await page.screenshot({ path: join(shots, 'worst.png') });
  assert.ok((await page.locator('#plots figure').count()) >= 3, 'error per frame, per iteration, influences');
  assert.deepEqual(problems, []);
  await page.close();
});

test('the error map tells apart what 99 of 100 vertices are below', async () => {
  const html = join(folder, 'scale.html');
  run('view', solved('K4'), '--against', sequence, '-o', html);
  const { page, problems } = await open(html);
  const seen = await page.evaluate(() => {
    const { errors, model } = window.sinew;
    let below = 0;
    for (let f = 0; f < errors.frames; ++f) below += errors.distances(f).filter((d) => d <= errors.usual).length;
    window.sinew.setColor('error');
    return { share: below / (errors.frames * errors.original.vertices), percent: (100 * errors.usual) / model.diagonal, largest: errors.maxPercent };
  });
  assert.ok(seen.share >= 0.99 && seen.share < 0.993, `${seen.share}`);
  assert.ok(seen.percent < 0.8 * seen.largest);
  assert.equal(await page.locator('#legend-high').textContent(), `${seen.percent.toPrecision(2)} % of the diagonal or more`);
  assert.deepEqual(problems, []);
  await page.close();
});

test('the worst vertex is seen, and ringed in both panes at its own place', async () => {
  const html = join(folder, 'worst.html');
  run('view', solved('K4'), '--against', sequence, '-o', html);
  const { page, problems } = await open(html);
  // From the side that it is hidden from at first.
  const seen = await page.evaluate(() => {
    const { stage, errors, model } = window.sinew;
    const subtract = (a, b) => a.map((x, c) => x - b[c]);
    const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    /** Triangles between the eye and a vertex [Möller & Trumbore 1997]. */
    const hiding = (eye, vertex, positions) => {
      const corner = (i) => Array.from(positions.subarray(3 * i, 3 * i + 3));
      const way = subtract(corner(vertex), eye);
      let count = 0;
      for (let t = 0; t < model.triangles.length; t += 3) {
        const [a, b, c] = [0, 1, 2].map((i) => corner(model.triangles[t + i]));
        const [e, f, from] = [subtract(b, a), subtract(c, a), subtract(eye, a)];
        const p = cross(way, f);
        const det = dot(e, p);
        const [u, q] = [dot(from, p) / det, cross(from, e)];
        const [v, far] = [dot(way, q) / det, dot(f, q) / det];
        if (u >= 0 && v >= 0 && u + v <= 1 && far > 0 && far < 0.995) ++count;
      }
      return count;
    };
    const out = [];
    for (const side of [1, -1]) {
      stage.camera.position.sub(stage.controls.target).multiplyScalar(side).add(stage.controls.target);
      window.sinew.goToWorst();
      stage.render();
      const { frame, vertex } = errors.worst;
      const v = errors.renderVertex[vertex];
      const places = [Array.from(errors.original.data.subarray(3 * (frame * errors.original.vertices + vertex), 3 * (frame * errors.original.vertices + vertex) + 3)), Array.from(model.positions().subarray(3 * v, 3 * v + 3))];
      const gl = stage.renderer.getContext();
      const rings = places.map((place, pane) => {
        const clip = [stage.camera.matrixWorldInverse, stage.camera.projectionMatrix].reduce((x, { elements: m }) => [0, 1, 2, 3].map((r) => m[r] * x[0] + m[4 + r] * x[1] + m[8 + r] * x[2] + m[12 + r] * x[3]), [...place, 1]);
        const [x, y] = [(0.5 + 0.5 * clip[0] / clip[3] + pane) * 0.5 * gl.drawingBufferWidth, (0.5 + 0.5 * clip[1] / clip[3]) * gl.drawingBufferHeight];
        const pixel = new Uint8Array(4);
        gl.readPixels(Math.round(x + 10), Math.round(y), 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
        return [pixel[0] > 200, pixel[1] > 90 && pixel[1] < 220, pixel[2] < 120].every(Boolean) ? 'orange' : pixel.join();
      });
      out.push({ hiding: hiding(stage.camera.position.toArray(), v, model.positions()), rings });
    }
    return out;
  });
  assert.deepEqual(seen, [{ hiding: 0, rings: ['orange', 'orange'] }, { hiding: 0, rings: ['orange', 'orange'] }]);
  assert.deepEqual(problems, []);
  await page.close();
});

test('the rank slider lowers the error it shows', async () => {
  const html = join(folder, 'corrected.html');
  run('view', solved('corrected'), '--against', sequence, '-o', html);
  const { page, problems } = await open(html);
  const error_at = (rank) => page.evaluate((r) => { window.sinew.setRank(r); return window.sinew.errors.eRms; }, rank);
  const errors = [await error_at(0), await error_at(1), await error_at(3)];
  assert.ok(errors[0] > errors[1] && errors[1] > errors[2], errors.join());
  assert.deepEqual(problems, []);
  await page.close();
});

test('the shader adds the corrections of normals that the file has', async () => {
  const html = join(folder, 'corrected.html');
  run('view', solved('corrected'), '--against', sequence, '-o', html);
  const { page, problems } = await open(html);
  const apart = await page.evaluate(() => {
    const { model } = window.sinew;
    window.sinew.goTo(5);
    const shown = window.sinew.gpuNormals();
    const largest = { corrected: 0, plain: 0 };
    for (let v = 0; v < model.vertexCount; ++v) {
      const F = new Float64Array(9);
      for (let k = 0; k < model.slots; ++k)
        for (let r = 0; r < 3; ++r)
          for (let c = 0; c < 3; ++c)
            F[3 * r + c] += model.weights[v * model.slots + k] * model.matrices[12 * model.weightBones[v * model.slots + k] + 4 * r + c];
      for (const key of ['corrected', 'plain']) {
        const n = [0, 1, 2].map((c) => {
          let sum = model.normals[3 * v + c];
          if (key === 'corrected') model.coefficients.forEach((q, i) => { sum += q * model.morphNormals[3 * (i * model.vertexCount + v) + c]; });
          return sum;
        });
        for (let r = 0; r < 3; ++r)
          largest[key] = Math.max(largest[key], Math.abs(F[3 * r] * n[0] + F[3 * r + 1] * n[1] + F[3 * r + 2] * n[2] - shown[3 * v + r]));
      }
    }
    return largest;
  });
  assert.ok(apart.corrected < 1e-5, `${apart.corrected}`);
  assert.ok(apart.plain > 0.05, `${apart.plain}: the corrections of this rig turn normals`);
  assert.deepEqual(problems, []);
  await page.close();
});

for (const transforms of ['rigid', 'affine']) {
  test(`sliders pose ${transforms} bones as the program does, and the clip has them back when it is gone to`, async () => {
    const glb = join(folder, `sliders-${transforms}.glb`);
    const html = join(folder, `sliders-${transforms}.html`);
    run('solve', sequence, '-o', glb, '--blendshapes', '--bones', '8', '--influences', '8', '--transforms', transforms, '--sparsity', '0.5', '--quality', 'fast');
    run('view', glb, '-o', html);
    run('convert', glb, '-o', join(folder, 'sliders.pc2'));
    const expected = readPc2(join(folder, 'sliders.pc2'));  // the rest pose, then each slider at 1
    const { page, problems } = await open(html);
    const apart = await page.evaluate(({ slider, wanted }) => {
      const { model } = window.sinew;
      window.sinew.goTo(0);
      window.sinew.setSliders(model.sliders.values.map((_, s) => (s === slider ? 1 : 0)));
      const shown = window.sinew.gpuPositions();
      let largest = 0;
      model.controlPoint.forEach((point, v) => { for (let c = 0; c < 3; ++c) largest = Math.max(largest, Math.abs(shown[3 * v + c] - wanted[3 * point + c])); });
      return largest / model.diagonal;
    }, { slider: 2, wanted: Array.from(expected.at(3)) });
    assert.ok(apart < 1e-5, `${apart} of the diagonal`);
    assert.equal(await page.locator('#sliders input').count(), expected.frames - 1);
    await page.locator('#sliders input').nth(4).fill('0.5');
    assert.deepEqual(await page.evaluate(() => [window.sinew.model.sliders.values[4], window.sinew.model.sliders.acting]), [0.5, true]);
    await page.screenshot({ path: join(shots, `sliders-${transforms}.png`) });
    await page.locator('#sliders-rest').click();
    assert.equal(await page.evaluate(() => window.sinew.model.sliders.values.every((x) => x === 0)), true);
    await page.evaluate(() => window.sinew.goTo(1));
    assert.equal(await page.evaluate(() => window.sinew.model.sliders.acting), false);
    assert.deepEqual(problems, []);
    await page.close();
  });
}

test('a corrupt file dropped on the page gives a sentence, and the page lives on', async () => {
  const html = join(folder, 'drop.html');
  run('view', solved('K4'), '-o', html);
  const { page } = await open(html);
  await page.evaluate(() => window.sinew.openFile(new File([new Uint8Array([1, 2, 3, 4])], 'broken.glb')));
  assert.match(await page.locator('#message').textContent(), /broken\.glb is not a glTF file/);
  await page.evaluate(() => window.sinew.goTo(2));
  assert.equal(await page.evaluate(() => window.sinew.state.frame), 2);
  assert.equal(await page.locator('#slider-group').isVisible(), false, 'a rig without sliders shows none');
  await page.close();
});

test('names from a file are shown as text, never as markup', async () => {
  const glb = readFileSync(solved('K4'));
  const jsonLength = glb.readUInt32LE(12);
  const json = JSON.parse(glb.subarray(20, 20 + jsonLength).toString('utf8'));
  const joint = json.skins[0].joints[0];
  json.nodes[joint].name = '<img src=x onerror="window.hacked=1">';
  let text = Buffer.from(JSON.stringify(json));
  text = Buffer.concat([text, Buffer.alloc((4 - (text.length % 4)) % 4, 0x20)]);
  const rest = glb.subarray(20 + jsonLength);
  const out = Buffer.alloc(20);
  out.write('glTF', 0);
  out.writeUInt32LE(2, 4);
  out.writeUInt32LE(20 + text.length + rest.length, 8);
  out.writeUInt32LE(text.length, 12);
  out.write('JSON', 16);
  const file = join(folder, '<b>evil.glb');
  writeFileSync(file, Buffer.concat([out, text, rest]));
  run('view', file, '-o', join(folder, 'evil.html'));
  const { page, problems } = await open(join(folder, 'evil.html'));
  await page.waitForTimeout(200);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator('#bones img, #title b').count(), 0);
  assert.equal(await page.locator('#title').textContent(), '<b>evil.glb');
  assert.deepEqual(problems, []);
  await page.close();
});

/** A generated creature with a skeleton and two clips, and a page of it. */
function skeletonPage() {
  const html = join(folder, 'skeleton.html');
  if (existsSync(html)) return html;
  const fox = join(data, 'gltf', 'Fox.glb');
  run('solve', fox, '-o', join(folder, 'skeleton.glb'), '--skeleton', '--max-bones', '12', '--quality', 'fast', '--clip', 'Walk', '--clip', 'Survey', '--fps', '10');
  run('convert', fox, '-o', join(folder, 'fox.npz'), '--clip', 'Walk', '--clip', 'Survey', '--fps', '10');
  run('view', join(folder, 'skeleton.glb'), join(folder, 'fox.npz'), '-o', html);
  return html;
}

test('a skeleton is shown from the start, as octahedra in front of the look that the file has', async () => {
  const { page, problems } = await open(skeletonPage());
  const seen = await page.evaluate(() => {
    const { stage, state, model } = window.sinew;
    return { bones: stage.options.bones, solids: stage.bones.solids.geometry.getAttribute('position').count, spans: stage.bones.spans.length,
      line: stage.bones.lines.material.linewidth * stage.renderer.getPixelRatio(), color: state.color, map: stage.result.material.some((m) => m.uniforms.hasMap.value && m.uniforms.ownLook.value), joints: model.boneCount };
  });
  assert.equal(seen.bones, true);
  assert.equal(seen.color, 'look');
  assert.ok(seen.map, 'the texture is shown');
  assert.equal(seen.solids, 24 * seen.spans);
  assert.ok(seen.spans >= seen.joints - 1);
  assert.equal(seen.line, 2.5);
  await page.evaluate(() => { window.sinew.goTo(3); window.sinew.pickBone(2); });
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(shots, 'skeleton.png') });
  assert.deepEqual(problems, []);
  await page.close();
});

test('a texture of KHR_texture_basisu is decoded by what the page carries for it, which other pages do not carry', async () => {
  const html = join(folder, 'ktx2.html');
  run('view', join(data, 'gltf', 'facecap.glb'), '-o', html);
  const { page, problems } = await open(html);
  const widths = await page.evaluate(() => window.sinew.stage.result.material.map(({ uniforms }) => uniforms.map.value?.image?.width ?? 0));
  assert.ok(Math.max(...widths) >= 64, `${widths}: a texture that could not be decoded is one grey pixel`);
  await page.screenshot({ path: join(shots, 'ktx2.png') });
  assert.deepEqual(problems, []);
  await page.close();
  run('view', solved('K4'), '-o', html);
  assert.doesNotMatch(readFileSync(html, 'utf8'), /id="sinew-basis/);
});

test('the clip menu and the counter follow the frame; a clip is looped or all are played; keys alone or what is between', async () => {
  const { page, problems } = await open(skeletonPage());
  const clips = await page.evaluate(() => window.sinew.model.clips.map(({ first, count }) => ({ first, count })));
  assert.equal(clips.length, 2);
  await page.evaluate((f) => window.sinew.goTo(f), clips[1].first + 1);
  assert.equal(await page.locator('#clip').inputValue(), '1');
  assert.equal(await page.locator('#frame').textContent(), `frame ${clips[1].first + 1} / ${clips[1].first + clips[1].count - 1}`);
  const after = (loop) => page.evaluate(([last, on]) => {
    const pressed = () => document.querySelector('#toggles [data-value=loop]').getAttribute('aria-pressed') === 'true';
    if (pressed() !== on) document.querySelector('#toggles [data-value=loop]').click();
    window.sinew.goTo(last);
    return window.sinew.step(0.15);
  }, [clips[0].count - 1.01, loop]);
  assert.ok((await after(true)) < clips[0].count, 'the clip starts again');
  assert.equal(await after(false), clips[1].first);
  const drawn = await page.evaluate(() => {
    window.sinew.goTo(2.5);
    const between = window.sinew.shownFrame(true);
    document.querySelector('#toggles [data-value=between]').click();
    return [between, window.sinew.shownFrame(true)];
  });
  assert.deepEqual(drawn, [2.5, 2]);
  assert.deepEqual(problems, []);
  await page.close();
});

test('side by side both are seen from the same angle, and the picture is saved', async () => {
  const { page, problems } = await open(skeletonPage());
  const offsets = await page.evaluate(() => [window.sinew.stage.left.position.length(), window.sinew.stage.right.position.length()]);
  assert.deepEqual(offsets, [0, 0]);
  const [download] = await Promise.all([page.waitForEvent('download'), page.locator('#picture').click()]);
  assert.match(download.suggestedFilename(), /^skeleton-\d+\.png$/);
  assert.ok(readFileSync(await download.path()).length > 10000);
  assert.deepEqual(problems, []);
  await page.close();
});

test('the error map grows lighter throughout', async () => {
  const { page } = await open(skeletonPage());
  const lightness = await page.evaluate(() => Array.from({ length: 51 }, (_, i) => {
    const [r, g, b] = window.sinew.heat(i / 50).map((c) => c ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }));
  for (let i = 1; i < lightness.length; ++i) assert.ok(lightness[i] > lightness[i - 1], `at ${i}`);
  await page.close();
});

test('rigs are shown side by side, each with its own bones and the errors that evaluate finds', async () => {
  const html = join(folder, 'compared.html');
  run('view', solved('K4'), solved('K8'), sequence, '-o', html);
  const { page, problems } = await open(html);
  const seen = await page.evaluate(() => {
    window.sinew.goTo(4);
    window.sinew.setColor('error');
    return window.sinew.family.map(({ label, model, errors }) => ({ label, bones: model.boneCount, eRms: errors.eRms }));
  });
  assert.deepEqual(seen.map(({ label, bones }) => [label, bones]), [['K4.glb', 8], ['K8.glb', 12]]);
  for (const { label, eRms } of seen) {
    const { errors } = JSON.parse(run('evaluate', join(folder, label), sequence, '--json'));
    assert.ok(Math.abs(eRms - errors.e_rms) <= 1e-3 * errors.e_rms + 1e-4, `${label}: ${eRms} against ${errors.e_rms}`);
  }
  assert.deepEqual(await page.locator('#labels span').allTextContents(), ['Original', ...seen.map(({ label, eRms }) => `${label} · E_RMS ${eRms.toPrecision(3)}`)]);
  await page.screenshot({ path: join(shots, 'compared.png') });
  await page.locator('#rig').selectOption('1');
  const chosen = await page.evaluate(() => ({ bones: window.sinew.model.boneCount, frame: window.sinew.state.frame, color: window.sinew.state.color, show: window.sinew.state.show }));
  assert.deepEqual(chosen, { bones: 12, frame: 4, color: 'error', show: 'side' });
  assert.equal(await page.locator('#bones li').count(), 12);
  assert.deepEqual(problems, []);
  await page.close();
});

test('a rig alone beside another one is what that is compared with where they are as large and long', async () => {
  const html = join(folder, 'both.html');
  run('view', solved('K4'), solved('K8'), '-o', html);
  const { page, problems } = await open(html);
  const seen = await page.evaluate(() => ({ panes: window.sinew.stage.panes, eRms: window.sinew.family.map(({ errors }) => errors.eRms) }));
  assert.deepEqual(seen.panes, [0, 1], 'its frames are not shown twice');
  assert.ok(seen.eRms[0] > 0.1 && seen.eRms[1] < 1e-3 * seen.eRms[0], seen.eRms.join());
  assert.deepEqual(problems, []);
  await page.close();
});

test('rigs of very different sizes are drawn as large as each other, and it is said', async () => {
  skeletonPage();
  const html = join(folder, 'sizes.html');
  run('view', join(folder, 'skeleton.glb'), solved('K4'), '-o', html);
  const { page, problems } = await open(html);
  const covered = () => page.evaluate(() => {
    const { stage } = window.sinew;
    stage.render();
    const gl = stage.renderer.getContext();
    const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    const pixels = new Uint8Array(4 * width * height);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    const shares = [0, 0];
    for (let i = 0; i < width * height; ++i) if (pixels[4 * i + 3] === 255) shares[i % width < width / 2 ? 0 : 1] += 2 / (width * height);
    return { shares, camera: stage.camera.position.toArray(), scales: [0, 1].map((i) => stage.drawnScale(i)) };
  });
  await page.evaluate(() => { window.sinew.goTo(0); window.sinew.toggle('bones'); window.sinew.toggle('grid'); });
  const first = await covered();
  assert.ok(first.shares.every((share) => share > 0.03 && share < 0.5), first.shares.join());
  assert.ok(first.scales[0] === 1 && first.scales[1] > 2.5, first.scales.join());
  assert.match(await page.locator('#labels').textContent(), /K4\.glb · drawn \d+× as large/);
  assert.deepEqual((await covered()).camera, first.camera, 'panes leave the camera where it was');
  await page.keyboard.press('r');
  const second = await covered();
  second.shares.forEach((share, i) => assert.ok(Math.abs(share / first.shares[i] - 1) < 0.3, `${first.shares} and ${second.shares}`));
  assert.match(await page.locator('#labels').textContent(), /skeleton\.glb · drawn at 1\/\d+/);
  await page.evaluate(() => window.sinew.setShow('result'));
  assert.ok((await covered()).shares.some((share) => share > 0.03), 'alone it is seen as well');
  await page.screenshot({ path: join(shots, 'sizes.png') });
  assert.deepEqual(problems, []);
  await page.close();
});

test('the page that shows this one may hand it a newer rig, which is compared with the same frames', async () => {
  run('view', solved('K4'), sequence, '-o', join(folder, 'inner.html'));
  writeFileSync(join(folder, 'outer.html'), '<iframe src="inner.html" width="900" height="500"></iframe>');
  const page = await browser.newPage();
  await page.goto(pathToFileURL(join(folder, 'outer.html')).href);
  const inner = page.frames()[1];
  await inner.waitForFunction(() => window.sinew?.model);
  await page.evaluate((text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    window.frames[0].postMessage({ rig: bytes.buffer }, '*');
  }, readFileSync(solved('K8')).toString('base64'));
  await inner.waitForFunction(() => window.sinew.model.boneCount === 12);
  const { errors } = JSON.parse(run('evaluate', solved('K8'), sequence, '--json'));
  const shown = await inner.evaluate(() => ({ eRms: window.sinew.errors.eRms, show: window.sinew.state.show }));
  assert.ok(Math.abs(shown.eRms - errors.e_rms) <= 1e-3 * errors.e_rms + 1e-4);
  assert.equal(shown.show, 'side');
  await page.close();
});

test('levels of detail are shown side by side, in the same pose, and one at a time', async () => {
  const glb = join(folder, 'levels.glb');
  const html = join(folder, 'levels.html');
  run('lod', solved('K4'), '--levels', '2', '-o', glb);
  run('view', glb, '-o', html);
  const { page, problems } = await open(html);
  const seen = await page.evaluate(() => {
    const { family, model, stage } = window.sinew;
    window.sinew.goTo(5);
    const boxOf = (positions) => [0, 1, 2].flatMap((c) => {
      let [low, high] = [Infinity, -Infinity];
      for (let i = c; i < positions.length; i += 3) [low, high] = [Math.min(low, positions[i]), Math.max(high, positions[i])];
      return [low, high];
    });
    return { panes: stage.panes.length, diagonal: model.diagonal, triangles: family.map((one) => one.model.triangles.length / 3), boxes: family.map((one) => boxOf(one.model.positions())) };
  });
  assert.equal(seen.panes, 3);
  for (const i of [1, 2]) {
    assert.ok(seen.triangles[i] < 0.6 * seen.triangles[i - 1], seen.triangles.join());
    seen.boxes[i].forEach((x, c) => assert.ok(Math.abs(x - seen.boxes[0][c]) < 0.05 * seen.diagonal, `level ${i}, side ${c}`));
  }
  await page.screenshot({ path: join(shots, 'levels.png') });
  await page.keyboard.press('r');
  assert.equal(await page.evaluate(() => window.sinew.model.triangles.length / 3), seen.triangles[1]);
  const apart = await page.evaluate(() => {
    const [gpu, cpu] = [window.sinew.gpuPositions(), window.sinew.model.positions()];
    return gpu.reduce((most, x, i) => Math.max(most, Math.abs(x - cpu[i])), 0);
  });
  assert.ok(apart < 1e-4 * seen.diagonal, String(apart));
  assert.deepEqual(problems, []);
  await page.close();
});

for (const name of ['K4', 'corrected']) {
  test(`boxes of the bounds of a ${name} rig hold the surface in every pose, and are near it`, async () => {
    const glb = join(folder, `bounds-${name}.glb`);
    const html = join(folder, `bounds-${name}.html`);
    run('bounds', solved(name), '-o', glb);
    run('view', glb, '-o', html);
    const { page, problems } = await open(html);
    const seen = await page.evaluate(() => {
      const { model } = window.sinew;
      const first = new Map();
      model.controlPoint.forEach((point, v) => { if (!first.has(point)) first.set(point, v); });
      const out = { outside: 0, slack: 0, points: 0 };
      for (const frame of [0, 3, 8]) {
        window.sinew.goTo(frame);
        const posed = model.positions();
        for (const depth of [0, 4, model.bounds.tree.deepest])
          for (const { box, points } of window.sinew.boxesAt(depth)) {
            const extent = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
            for (const point of points)
              for (let c = 0; c < 3; ++c) {
                const x = posed[3 * first.get(point) + c];
                out.outside = Math.max(out.outside, box[c] - x, x - box[3 + c]);
                extent[c] = Math.min(extent[c], x);
                extent[3 + c] = Math.max(extent[3 + c], x);
              }
            out.points += points.length;
            if (depth === 0) for (let c = 0; c < 3; ++c) out.slack = Math.max(out.slack, extent[c] - box[c], box[3 + c] - extent[3 + c]);
          }
      }
      return { ...out, diagonal: model.diagonal };
    });
    assert.ok(seen.points > 1000);
    assert.ok(seen.outside < 1e-5 * seen.diagonal, `${seen.outside} of ${seen.diagonal}`);
    assert.ok(seen.slack < seen.diagonal, `${seen.slack} of ${seen.diagonal}`);
    assert.equal(await page.locator('#bounds-group').isVisible(), false);
    await page.keyboard.press('u');
    await page.locator('#depth').fill('5');
    assert.match(await page.locator('#depth-value').textContent(), /^5: \d+ boxes$/);
    await page.screenshot({ path: join(shots, `bounds-${name}.png`) });
    assert.deepEqual(problems, []);
    await page.close();
  });
}

test('near-rigid cores are coloured by their bones where the rig says which they are', async () => {
  const glb = join(folder, 'sma.glb');
  const html = join(folder, 'sma.html');
  run('solve', sequence, '-o', glb, '--method', 'sma', '--bones', '20');
  run('view', glb, '-o', html);
  const { page, problems } = await open(html);
  await page.locator('#color button[data-value=cores]').click();
  const dark = await page.evaluate(() => {
    const { array } = window.sinew.stage.result.geometry.getAttribute('color');
    let count = 0;
    for (let i = 0; i < array.length; i += 3) if (Math.max(array[i], array[i + 1], array[i + 2]) < 0.21) ++count;
    return (3 * count) / array.length;
  });
  const { notes } = JSON.parse(run('info', glb, '--json'));
  // Corners of core triangles are more than the share of triangles.
  assert.ok(dark > 0.01 && dark < 1 - notes.near_rigid_fraction, `${dark}, near-rigid ${notes.near_rigid_fraction}`);
  await page.screenshot({ path: join(shots, 'cores.png') });
  assert.deepEqual(problems, []);
  await page.close();
});

for (const light of [false, true]) {
  test(`everything has a name, and text stands out on ${light ? 'light' : 'dark'}`, async () => {
    const html = join(folder, 'compared.html');
    run('view', solved('K4'), solved('K8'), sequence, '-o', html);
    const { page } = await open(html, { width: 375, height: 720 });
    if (light) await page.keyboard.press('l');
    await page.keyboard.press('p');
    assert.deepEqual(await nameless(page, 'button, select, input, canvas:not(#legend-bar), svg'), []);
    assert.deepEqual(await faint(page, '#panel :is(h1, h2, p, td, button, label, output, .share, .name), figcaption, #transport output'), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'no sideways scrolling');
    await page.screenshot({ path: join(shots, `phone-pose-${light ? 'light' : 'dark'}.png`), fullPage: true });
    await page.close();
  });
}

test('a page at rest draws nothing, and draws again for a key, the pointer and a changed colour', async () => {
  const html = join(folder, 'rest.html');
  run('view', solved('K4'), '-o', html);
  const { page, problems } = await open(html);
  const drawn = () => page.evaluate(() => window.sinew.stage.renderer.info.render.frame);
  const rest = async () => {
    await page.waitForFunction(() => !window.sinew.stage.awake);
    const before_rest = await drawn();
    await page.waitForTimeout(700);
    assert.equal(await drawn(), before_rest);
    return before_rest;
  };
  const since = (count) => page.waitForFunction((n) => window.sinew.stage.renderer.info.render.frame > n, count);
  await page.evaluate(() => window.sinew.goTo(1));
  const first = await rest();
  await page.keyboard.press('ArrowRight');
  await since(first);
  const still = await rest();
  await page.mouse.move(300, 300);
  await page.mouse.wheel(0, 200);
  await since(still);
  const again = await rest();
  await page.evaluate(() => window.sinew.setColor('weights'));
  await since(again);
  assert.deepEqual(problems, []);
  await page.close();
});

test('it is usable on a phone', async () => {
  const html = join(folder, 'phone.html');
  run('view', solved('K4'), '--against', sequence, '-o', html);
  const { page, problems } = await open(html, { width: 390, height: 844 });
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(shots, 'phone.png') });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'no sideways scrolling');
  await page.locator('#plots figure').last().scrollIntoViewIfNeeded();
  const [view, last] = [await page.locator('#canvas').boundingBox(), await page.locator('#plots figure').last().boundingBox()];
  assert.ok(view.y === 0 && last.y >= view.height, `the view stays above the panel that is scrolled: ${JSON.stringify([view, last])}`);
  for (const id of ['play', 'speed', 'help-button', 'picture']) {
    const box = await page.locator(`#${id}`).boundingBox();
    assert.ok(box && box.height >= 44 && box.width >= 44, `${id}: ${JSON.stringify(box)}`);
  }
  assert.deepEqual(problems, []);
  await page.close();
});
