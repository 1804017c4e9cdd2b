// The modules of pose mode without a browser: node --test pose_modules.test.mjs
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Matrix4, Object3D, Quaternion, Ray, Vector3 } from 'three';
import { driven, drivesOf, followJoints, rotationVector } from '../src/drives.js';
import { chainAbove, reach, turnInWorld } from '../src/ik.js';
import { boneAt, hitTriangle } from '../src/pick.js';
import { applyPose, History, POSE_NUMBERS, readPose } from '../src/poses.js';
import { putTogether, takeApart, withClip } from '../src/write_clip.js';

/** A chain of nodes, each so far from the one above it, under a root that is turned and moved. */
function chain(...offsets) {
  const root = new Object3D();
  root.position.set(1, -2, 0.5);
  root.rotation.set(0.3, 0.7, -0.2);
  const nodes = [root];
  for (const offset of offsets) {
    const node = new Object3D();
    node.position.set(...offset);
    nodes.at(-1).add(node);
    nodes.push(node);
  }
  root.updateMatrixWorld(true);
  return nodes;
}

const at = (node) => new Vector3().setFromMatrixPosition(node.matrixWorld);
const direction = (node) => node.getWorldQuaternion(new Quaternion());

test('a place within reach is reached, bones keep their lengths, the end keeps its direction', () => {
  const [root, thigh, shin, foot, toe] = chain([0, 2, 0.1], [0.2, 1.5, 0], [0, 1.2, 0.3], [0.5, 0, 0]);
  const lengths = () => [at(thigh).distanceTo(at(shin)), at(shin).distanceTo(at(foot)), at(foot).distanceTo(at(toe))];
  const before = lengths();
  const kept = direction(foot);
  const target = at(thigh).add(new Vector3(1, 0.9, -0.8));
  assert.ok(reach([shin, thigh], foot, target) < 1e-3);
  assert.ok(at(foot).distanceTo(target) < 1e-3);
  lengths().forEach((length, i) => assert.ok(Math.abs(length - before[i]) < 1e-6));
  assert.ok(direction(foot).angleTo(kept) < 1e-6);
  assert.ok(root.quaternion.angleTo(chain()[0].quaternion) < 1e-6, 'what is above the chain stays');
});

test('beyond its reach a chain is straight and points there', () => {
  const [, thigh, shin, foot] = chain([0, 1, 0], [0, 1, 0.2], [0.3, 1, 0]);
  const target = at(thigh).add(new Vector3(10, 3, 2));
  const reached = at(thigh).distanceTo(at(shin)) + at(shin).distanceTo(at(foot));
  const off = reach([shin, thigh], foot, target);
  assert.ok(Math.abs(off - (at(thigh).distanceTo(target) - reached)) < 0.02, `${off}`);
  assert.ok(Number.isFinite(off));
});

test('nothing happens without a chain, and a target at a joint is no catastrophe', () => {
  const [root, child] = chain([1, 0, 0]);
  assert.ok(Math.abs(reach([], child, at(child).add(new Vector3(0, 2, 0))) - 2) < 1e-9);
  assert.ok(Number.isFinite(reach([root], child, at(root))));
  assert.ok(root.quaternion.toArray().every(Number.isFinite));
});

test('turning in the world turns about the node, whatever is above it', () => {
  const [, child, tip] = chain([0.4, 1, 0], [0, 1, 0]);
  const arm = at(tip).sub(at(child));
  const turn = new Quaternion().setFromAxisAngle(new Vector3(0.6, 0, 0.8), 0.9);
  const place = at(child);
  turnInWorld(child, turn);
  assert.ok(at(child).distanceTo(place) < 1e-12);
  assert.ok(at(tip).sub(at(child)).distanceTo(arm.applyQuaternion(turn)) < 1e-9);
});

test('the chain of a limb ends where the limb begins', () => {
  // 0 pelvis with legs 1-2-3 and 4-5, spine 6
  const bones = [-1, 0, 1, 2, 0, 4, 0].map((parent) => ({ parent }));
  assert.deepEqual(chainAbove(bones, 3), [2, 1]);
  assert.deepEqual(chainAbove(bones, 3, 1), [2]);
  assert.deepEqual(chainAbove(bones, 6), [0]);
  assert.deepEqual(chainAbove(bones, 0), []);
});

test('the ray hits the nearest triangle, and the heaviest bone there is picked', () => {
  const positions = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, -1, 1, 0, -1, 0, 1, -1];
  const model = { slots: 2, weights: [1, 0, 0.4, 0.6, 0.4, 0.6, 1, 0, 1, 0, 1, 0], weightBones: [0, 0, 1, 2, 1, 2, 5, 0, 5, 0, 5, 0] };
  const ray = (x, y) => new Ray(new Vector3(x, y, 3), new Vector3(0, 0, -1));
  const hit = hitTriangle(ray(0.45, 0.45), positions, [3, 4, 5, 0, 1, 2]);
  assert.deepEqual(hit.corners, [0, 1, 2]);
  assert.equal(boneAt(model, hit), 2);
  assert.equal(boneAt(model, hitTriangle(ray(0.1, 0.1), positions, [3, 4, 5, 0, 1, 2])), 0);
  assert.equal(hitTriangle(ray(2, 2), positions, [3, 4, 5, 0, 1, 2]), null);
});

test('poses come and go as they were; history forgets what was undone when something new is done', () => {
  const nodes = chain([1, 2, 3], [0, 1, 0]);
  const first = readPose(nodes);
  assert.equal(first.length, 3 * POSE_NUMBERS);
  nodes[1].rotation.x = 1;
  nodes[2].position.y = 4;
  const second = readPose(nodes);
  applyPose(nodes, first, 2);
  assert.equal(nodes[2].position.y, 1);
  assert.ok(Math.abs(nodes[1].rotation.x - 1) < 1e-6, 'the other node stays');
  const history = new History(first);
  history.add(first.slice());
  assert.equal(history.canUndo, false, 'nothing has changed');
  history.add(second);
  assert.equal(history.undo(), first);
  assert.equal(history.undo(), first);
  assert.equal(history.redo(), second);
  history.undo();
  const third = first.map((x) => x + 1);
  history.add(third);
  assert.equal(history.canRedo, false);
  assert.equal(history.now, third);
});

/** A small GLB. */
const glb = (json, bytes = 6) => putTogether({ json, binary: new Uint8Array(bytes).fill(7) });

test('a clip is put behind what a file holds', () => {
  const nodes = [{ name: 'a' }, { name: 'b', matrix: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 4, 5, 6, 1] }];
  const file = glb({ asset: { version: '2.0' }, nodes, buffers: [{ byteLength: 6 }], animations: [{ name: 'poses' }], accessors: [{}], bufferViews: [{}] });
  const pose = (x) => new Float32Array([x, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2 * x, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
  const { json, binary } = takeApart(withClip(file, [0, 1], [pose(1), pose(3)], [0, 0.5]));
  assert.deepEqual([...binary.subarray(0, 6)], [7, 7, 7, 7, 7, 7], 'the old numbers are where they were');
  assert.equal(json.buffers[0].byteLength, binary.length);
  assert.deepEqual(json.nodes[1].translation, [4, 5, 6]);
  assert.equal(json.nodes[1].matrix, undefined, 'an animated node has no matrix');
  const [, clip] = json.animations;
  assert.equal(clip.name, 'poses 2', 'names stay distinct');
  assert.equal(clip.channels.length, 6);
  const moves = clip.channels.findIndex(({ target }) => target.node === 1 && target.path === 'translation');
  const { bufferView } = json.accessors[clip.samplers[moves].output];
  const { byteOffset, byteLength } = json.bufferViews[bufferView];
  assert.deepEqual([...new Float32Array(binary.slice(byteOffset, byteOffset + byteLength).buffer)], [2, 0, 0, 6, 0, 0]);
  assert.deepEqual(json.accessors[clip.samplers[0].input].max, [0.5]);
});

test('files that cannot take a clip are refused with a sentence', () => {
  assert.throws(() => withClip(new TextEncoder().encode('{"asset": {"version": "2.0"}}').buffer, [], [], []), /\.glb files only/);
  const outside = glb({ nodes: [{}], buffers: [{ uri: 'numbers.bin', byteLength: 6 }] });
  assert.throws(() => withClip(outside, [0], [new Float32Array(10)], [0]), /another file/);
});

/** Three bones in a row below a moved node, and a helper that hangs on the first and follows the second. */
function drivenModel(constant, by) {
  const nodes = chain([0, 2, 0.3], [0.4, 1.5, 0]);
  const helper = new Object3D();
  helper.position.set(1, 1, 0.5);
  nodes[0].add(helper);
  nodes.push(helper);
  const scene = new Object3D();
  scene.position.set(3, 1, -2);
  scene.add(nodes[0]);
  scene.updateMatrixWorld(true);
  const parents = [-1, 0, 1, 0];
  const bones = nodes.map((node, b) => ({ node, inverse: node.matrixWorld.clone().invert(), parent: parents[b] }));
  const model = { scene, bones, notes: { drives: [{ bone: 3, constant, inputs: [{ joint: 1, by }] }] } };
  model.drives = drivesOf(model);
  return model;
}

const palette = ({ bones }, b) => new Matrix4().multiplyMatrices(bones[b].node.matrixWorld, bones[b].inverse);

test('a driven helper goes and turns as its drive says, seen from its parent, wherever that is', () => {
  // It goes along x by 2 per radian about z of the joint, and turns about y by half of it.
  const by = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5, 0, 0, 0];
  const model = drivenModel([0.1, 0, 0, 0, 0, 0], by);
  const head = at(model.bones[3].node);
  const turn = new Quaternion().setFromAxisAngle(new Vector3(0, 0, 1), 0.8);
  turnInWorld(model.bones[1].node, turn);
  const whole = new Quaternion().setFromAxisAngle(new Vector3(0.6, 0.8, 0), 1.1);
  turnInWorld(model.bones[0].node, whole);
  followJoints(model);
  model.scene.updateMatrixWorld(true);
  const expected = head.clone().add(new Vector3(0.1 + 2 * 0.8, 0, 0)).applyMatrix4(palette(model, 0));
  assert.ok(at(model.bones[3].node).distanceTo(expected) < 1e-9);
  const seen = new Quaternion().setFromRotationMatrix(palette(model, 0).invert().multiply(palette(model, 3)));
  assert.ok(seen.angleTo(new Quaternion().setFromAxisAngle(new Vector3(0, 1, 0), 0.4)) < 1e-6);
  assert.ok(model.bones[3].node.scale.distanceTo(new Vector3(1, 1, 1)) < 1e-9);
});

test('drives that do not fit the bones are left out, and rotation vectors are right up to half a turn', () => {
  const eighteen = Array(18).fill(0);
  const notes = [{ bone: 9, constant: [0, 0, 0, 0, 0, 0] }, { bone: 3, constant: [0, 0] }, { bone: 0, constant: [0, 0, 0, 0, 0, 0] },
    { bone: 3, constant: [0, 0, 0, 0, 0, 0], inputs: [{ joint: 0, by: eighteen }] }, { bone: 3, constant: [0, 0, 0, 0, 0, NaN] }, null, 3,
    { bone: 3, constant: [0, 0, 0, 0, 0, 0], inputs: [null] }];
  const model = drivenModel([0, 0, 0, 0, 0, 0], eighteen);
  assert.equal(model.drives.length, 1);
  for (const wrong of notes) assert.deepEqual(drivesOf({ ...model, notes: { drives: [wrong] } }), []);
  assert.deepEqual(drivesOf({ ...model, notes: { drives: 'all' } }), []);
  for (const angle of [0, 1e-6, 2, 3.14]) {
    const vector = rotationVector(new Quaternion().setFromAxisAngle(new Vector3(0, -0.6, 0.8), angle));
    [0, -0.6, 0.8].forEach((x, c) => assert.ok(Math.abs(vector[c] - angle * x) < 1e-9));
  }
  const [x] = driven({ constant: [1, 2, 3, 0, 0, 0], inputs: [] }, []);
  assert.equal(x, 1);
});
