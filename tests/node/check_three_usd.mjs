// node check_three_usd.mjs FOLDER: rigs of usd_cases posed by three's USDLoader agree with ours within 1e-5 of the
// diagonal, bones that scale within 2^-11. It knows four influences per vertex and no blend shapes: other rigs are left to OpenUSD.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { needPackages, runCases } from './cases.mjs';

needPackages();
globalThis.self ??= globalThis;
globalThis.ProgressEvent ??= class extends Event {};
const THREE = await import('three');
const { USDLoader } = await import('three/examples/jsm/loaders/USDLoader.js');

const folder = process.argv[2];

function floats(file) {
  const bytes = readFileSync(join(folder, file));
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

/** Vertices are told by their rest positions, which three keeps: it cuts polygons and repeats their corners. */
function numberVertices(rest) {
  const known = new Map();
  for (let v = 0; v < rest.length / 3; ++v) known.set(rest.subarray(3 * v, 3 * v + 3).join(), v);
  if (known.size !== rest.length / 3) throw new Error('two vertices are at the same place');
  return known;
}

const cases = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .sort()
  .map((file) => ({ name: file.slice(0, -5), ...JSON.parse(readFileSync(join(folder, file), 'utf8')) }))
  .filter((entry) => entry.kind === 'rig');

await runCases(cases, async (entry) => {
  if (entry.influences > 4) return { note: `${entry.influences} influences: not for three.js` };
  if (entry.name.startsWith('corrected')) return { note: 'blend shapes: not for three.js' };
  // Decoding images needs a browser.
  const text = readFileSync(join(folder, `${entry.name}.usda`), 'utf8').replace(/^.*asset inputs:file.*$/gm, '');
  const group = new USDLoader().parse(text, '');
  const vertices = numberVertices(floats(`${entry.name}.rest.f32`));
  const positions = floats(`${entry.name}.f32`);
  const meshes = [];
  group.traverse((object) => object.isSkinnedMesh && meshes.push(object));
  const clips = entry.clips ?? [['motion', 0, entry.codes.length]];
  if (group.animations.length !== clips.length)
    return { problem: `${group.animations.length} animations for ${clips.length} clips` };
  const mixer = new THREE.AnimationMixer(group);
  const point = new THREE.Vector3();
  const seen = new Set();
  let largest = 0;
  clips.forEach(([, first, frames], c) => {
    for (let f = first; f < first + frames; ++f) {
      mixer.stopAllAction();
      const action = mixer.clipAction(group.animations[c]);
      action.setLoop(THREE.LoopOnce);
      action.clampWhenFinished = true;
      action.reset().play();
      action.time = entry.codes[f] / entry.per_second;
      mixer.update(0);
      group.updateMatrixWorld(true);
      for (const mesh of meshes)
        for (let i = 0; i < mesh.geometry.attributes.position.count; ++i) {
          const v = vertices.get(mesh.geometry.attributes.position.array.slice(3 * i, 3 * i + 3).join());
          if (v === undefined) throw new Error(`three has a vertex that is not ours`);
          seen.add(v);
          mesh.getVertexPosition(i, point).applyMatrix4(mesh.matrixWorld);
          const at = 3 * (f * entry.vertices + v);
          const distance = Math.hypot(point.x - positions[at], point.y - positions[at + 1], point.z - positions[at + 2]);
          if (!(distance <= largest * entry.diagonal)) largest = distance / entry.diagonal;
        }
    }
  });
  const loose = entry.vertices - seen.size;
  return {
    problem: !(largest <= entry.tolerance) ? `differs by ${largest} of the diagonal` : loose > 1 ? `${loose} vertices unseen` : '',
    note: `${entry.codes.length} frames, largest difference ${largest.toExponential(1)}`,
  };
});
