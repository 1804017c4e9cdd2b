// The modules of the crowd's page without a browser: node --test crowd_modules.test.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Camera, frustum, multiply, perspective } from '../crowd/camera.js';
import { levelFor, Lists, maybeSeen, NUMBERS } from '../crowd/cull.js';
import { arrayOf, halfToFloat, hasMethod, methodOf, readCrowd } from '../crowd/data.js';
import { frameAt, hash, scatter } from '../crowd/scatter.js';
import { foldNormal, poseFrame, poseLevel, STREAM_NUMBERS } from '../crowd/stream.js';

const clip = (first, frames, seconds, center = [0, 1, 0], radius = 1) => ({ first, frames, seconds, center, radius, floor: 0 });
const level = (triangles) => ({ triangles: { length: 3 * triangles } });
const characters = [
  { clips: [clip(0, 11, 1), clip(11, 5, 2, [3, 1, 0], 1.5)], levels: [level(1000), level(250), level(60)] },
  { clips: [clip(0, 1, 0)], levels: [level(500)] },
];

test('instance i is the same however many there are, and no two stand in one place', () => {
  const few = scatter(characters, 100);
  const many = scatter(characters, 3000);
  for (const key of Object.keys(few)) if (key !== 'count') assert.deepEqual([...few[key]], [...many[key].subarray(0, 100)], key);
  let nearest = Infinity;
  for (let i = 0; i < 400; ++i) for (let j = 0; j < i; ++j) nearest = Math.min(nearest, Math.hypot(many.x[i] - many.x[j], many.z[i] - many.z[j]));
  assert.ok(nearest > 1, `${nearest}`);
  assert.ok(new Set(many.clip.filter((_, i) => many.character[i] === 0)).size === 2, 'both clips are played');
  assert.ok(new Set(many.phase).size > 2900, 'phases differ');
});

test('hashes fill 0..1 evenly', () => {
  const bins = new Array(10).fill(0);
  for (let i = 0; i < 10000; ++i) ++bins[Math.floor(10 * hash(i, 3))];
  for (const n of bins) assert.ok(n > 900 && n < 1100, bins.join());
});

test('frames run through the clip and start again, never beyond its last key', () => {
  const one = scatter(characters, 1);
  one.phase[0] = 0;
  one.pace[0] = 1;
  assert.equal(frameAt(one, 0, clip(20, 11, 2), 0.5), 22.5);
  assert.equal(frameAt(one, 0, clip(20, 11, 2), 2.5), 22.5);
  assert.equal(frameAt(one, 0, clip(20, 1, 0), 7), 20);
  for (let t = 0; t < 10; t += 0.0137) {
    const f = frameAt(one, 0, clip(20, 11, 2), t);
    assert.ok(f >= 20 && f <= 30, `${f}`);
  }
});

test('the planes of the camera hold what it projects into the picture, and nothing else', () => {
  const camera = new Camera(12);
  camera.rotate(0.7, 0.2);
  const m = camera.matrix(1.6);
  const planes = frustum(m);
  for (let i = 0; i < 4000; ++i) {
    const p = [40 * (hash(i, 0) - 0.5), 20 * (hash(i, 1) - 0.5), 40 * (hash(i, 2) - 0.5)];
    const [x, y, z, w] = [0, 1, 2, 3].map((r) => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r]);
    const inside = w > 0 && Math.max(Math.abs(x), Math.abs(y), Math.abs(z)) <= w;
    if (Math.abs(Math.max(Math.abs(x), Math.abs(y), Math.abs(z)) - w) > 1e-6) assert.equal(maybeSeen(planes, ...p, 0), inside, p.join());
  }
  for (const plane of planes) assert.ok(Math.abs(Math.hypot(plane[0], plane[1], plane[2]) - 1) < 1e-12);
});

test('the camera looks at its target', () => {
  const camera = new Camera(9);
  const [x, y, z] = camera.target;
  const m = camera.matrix(2);
  const at = [0, 1, 3].map((r) => m[r] * x + m[4 + r] * y + m[8 + r] * z + m[12 + r]);
  assert.ok(Math.abs(at[0]) < 1e-9 && Math.abs(at[1]) < 1e-9);
  assert.ok(Math.abs(at[2] - 9) < 1e-9, 'its depth is the distance');
  const identity = multiply(perspective(1, 1, 1, 2), [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
  assert.deepEqual(identity, perspective(1, 1, 1, 2));
});

test('the level is the coarsest with enough triangles for the pixels', () => {
  const { levels } = characters[0];
  const pixels = (triangles) => Math.sqrt((8 * triangles) / Math.PI);
  assert.equal(levelFor(levels, pixels(2000), 8), 0);
  assert.equal(levelFor(levels, pixels(999), 8), 0);
  assert.equal(levelFor(levels, pixels(249), 8), 1);
  assert.equal(levelFor(levels, pixels(59), 8), 2);
  assert.equal(levelFor(levels, 0, 8), 2);
});

test('lists hold every instance that may be seen once, under its character and level', () => {
  const instances = scatter(characters, 2000);
  const lists = new Lists(characters, 2000);
  const camera = new Camera(20);
  const planes = frustum(camera.matrix(1.5));
  const seen = { planes, eye: camera.eye, pixelsPerUnit: 800, pixelsPerTriangle: 8, level: -1 };
  lists.update(instances, 2000, 0.4, seen);
  let expected = 0;
  for (let i = 0; i < 2000; ++i) {
    const { center, radius, floor } = characters[instances.character[i]].clips[instances.clip[i]];
    const x = instances.x[i] + instances.cos[i] * center[0] + instances.sin[i] * center[2];
    const z = instances.z[i] - instances.sin[i] * center[0] + instances.cos[i] * center[2];
    if (maybeSeen(planes, x, center[1] - floor, z, radius)) ++expected;
  }
  assert.equal(lists.total, expected);
  assert.ok(expected > 50 && expected < 1950, `${expected}: some are seen and some are not`);
  let next = 0;
  const levels = new Set();
  for (const group of lists.groups) {
    assert.equal(group.first, next);
    next += group.count;
    if (group.count > 0) levels.add(`${group.character} ${group.level}`);
    for (let i = group.first; i < next; ++i) assert.equal(lists.numbers[NUMBERS * i + 5], group.character);
  }
  assert.equal(next, lists.total);
  assert.ok(levels.size >= 3, [...levels].join());
  lists.update(instances, 1500, 0.4, { ...seen, planes: null, level: 1 });
  assert.equal(lists.total, 1500, 'all, without culling');
  assert.equal(lists.groups[1].count, 750);
  assert.equal(lists.groups[3].count, 750, 'the only level where the wanted one is not there');
});

test('arrays are where the facts say; methods fall back to four bones', () => {
  const bytes = new Uint8Array([0, 0, 0, 0, 0, 0, 128, 63, 7, 0, 9, 0]);
  assert.deepEqual([...arrayOf(bytes, { at: 4, count: 1, type: 'f32' })], [1]);
  assert.deepEqual([...arrayOf(bytes, { at: 8, count: 2, type: 'u16' })], [7, 9]);
  assert.throws(() => arrayOf(bytes, { at: 8, count: 2, type: 'f32' }), RangeError);
  assert.equal(methodOf({ methods: { lbs4: 1 } }, 'dense'), 'lbs4');
  assert.equal(methodOf({ methods: { lbs4: 1 } }, 'stream'), 'stream');
  const where = { at: 0, count: 0, type: 'f32' };
  const facts = {
    motion: where, half: false,
    characters: [{ clips: [], levels: [{ positions: where, normals: where, source: where, triangles: where, methods: { lbs4: { slots: 4, numbers: where, weights: where } } }] }],
  };
  const crowd = readCrowd(facts, bytes);
  assert.equal(hasMethod(crowd, 'dense'), false);
  assert.equal(hasMethod(crowd, 'lbs4'), true);
});

test('half floats are read as what they are', () => {
  for (const [bits, value] of [[0, 0], [0x3c00, 1], [0xc000, -2], [0x7bff, 65504], [0x0001, 2 ** -24], [0x3555, 0.333251953125], [0x7c00, Infinity]])
    assert.equal(halfToFloat(bits), value);
});

/** A level of three vertices and two bones, the second of which turns by a quarter and moves. */
function smallLevel() {
  const motion = new Float32Array([
    1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0,
    1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, -1, 0, 5, 1, 0, 0, 6, 0, 0, 1, 7,
  ]);
  const owner = { bones: 2, firstTexel: 0, clips: [clip(0, 2, 1)] };
  const skin = {
    vertices: 3, positions: new Float32Array([1, 2, 3, 1, 2, 3, 1, 2, 3]), normals: new Float32Array([1, 0, 0, 1, 0, 0, 1, 0, 0]),
    methods: { lbs4: { slots: 4, numbers: new Uint16Array([0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0]), weights: new Float32Array([1, 0, 0, 0, 1, 0, 0, 0, 0.5, 0.5, 0, 0]) } },
  };
  return { motion, owner, skin };
}

test('vertices are posed by the CPU as their weights say', () => {
  const { motion, owner, skin } = smallLevel();
  const out = poseLevel(owner, skin, motion);
  assert.equal(out.length, 2 * 3 * STREAM_NUMBERS);
  const at = (frame, v) => [...out.subarray(STREAM_NUMBERS * (3 * frame + v), STREAM_NUMBERS * (3 * frame + v) + 3)];
  assert.deepEqual(at(0, 1), [1, 2, 3]);
  assert.deepEqual(at(1, 0), [1, 2, 3]);
  assert.deepEqual(at(1, 1), [3, 7, 10]);
  assert.deepEqual(at(1, 2), [2, 4.5, 6.5]);
  assert.equal(out[STREAM_NUMBERS * 4 + 3], foldNormal(0, 1, 0));
  const one = new Float32Array(12);
  poseFrame(owner, skin, motion, 1, one, 0);
  assert.deepEqual([...one], [...out.subarray(12)]);
});

test('folded normals unfold to what they were', () => {
  for (let i = 0; i < 500; ++i) {
    const n = [hash(i, 0) - 0.5, hash(i, 1) - 0.5, hash(i, 2) - 0.5];
    const length = Math.hypot(...n);
    const folded = foldNormal(...n);
    assert.equal(Math.fround(folded), folded, 'a float holds it');
    let [u, v] = [Math.floor(folded / 4096) / 2047.5 - 1, (folded % 4096) / 2047.5 - 1];
    const z = 1 - Math.abs(u) - Math.abs(v);
    if (z < 0) [u, v] = [(1 - Math.abs(v)) * (u < 0 ? -1 : 1), (1 - Math.abs(u)) * (v < 0 ? -1 : 1)];
    const back = [u, v, z].map((x) => x / Math.hypot(u, v, z));
    assert.ok(Math.hypot(...back.map((x, k) => x - n[k] / length)) < 2e-3);
  }
});
