// node check_fbx_three.mjs FOLDER: our reader puts models whose scale is inherited in different ways where three's
// FBXLoader does; three's FBXLoader finds the clips, materials and vertices of our FBX files, and poses
// them in every frame within 1e-4 of the diagonal. three.js knows four influences per vertex: rigs with more are left
// to the others.
import { readFileSync } from 'node:fs';
import { needPackages, runCases } from './cases.mjs';
import { distanceFrom, nearestVertex, readFbxCases, writtenName } from './fbx.mjs';

needPackages();
globalThis.self ??= globalThis;
globalThis.window ??= globalThis;
globalThis.ProgressEvent ??= class extends Event {};
const element = () => ({ addEventListener() {}, removeEventListener() {}, style: {} });
globalThis.document ??= { createElementNS: element, createElement: element };
const THREE = await import('three');
const { FBXLoader } = await import('three/examples/jsm/loaders/FBXLoader.js');
const kTolerance = 1e-4;
console.warn = () => {};

function meshesOf(scene) {
  const meshes = [];
  scene.traverse((object) => object.isMesh && meshes.push(object));
  return meshes;
}

function problemsOf(entry, scene, meshes) {
  const problems = [];
  if (scene.animations.length !== entry.clips.length)
    problems.push(`${scene.animations.length} clips, expected ${entry.clips.length}`);
  const materials = new Set(meshes.flatMap((mesh) => [mesh.material].flat().map((material) => material.name)));
  for (const name of entry.materials) if (!materials.has(name)) problems.push(`material ${name} is missing`);
  return problems;
}

function load(file) {
  const bytes = readFileSync(file);
  return new FBXLoader().parse(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), '');
}

/** Models without animation: every vertex of three is at a vertex of ours. */
function checkStatic(entry) {
  const scene = load(entry.file);
  scene.updateMatrixWorld(true);
  const point = new THREE.Vector3();
  for (const mesh of meshesOf(scene)) {
    const positions = mesh.geometry.attributes.position;
    for (let i = 0; i < positions.count; ++i)
      nearestVertex(entry, point.fromBufferAttribute(positions, i).applyMatrix4(mesh.matrixWorld).toArray());
  }
  return { note: 'without animation' };
}

const cases = [...readFbxCases(process.argv[2], true), ...readFbxCases(process.argv[2])];
await runCases(cases, async (entry) => {
  if (entry.static) return checkStatic(entry);
  if (entry.influences > 4) return { note: `${entry.influences} influences: not for three.js` };
  if (entry.faces === 0) return { note: 'three.js shows no points of an FBX file' };
  const scene = load(entry.file);
  const meshes = meshesOf(scene);
  const problems = problemsOf(entry, scene, meshes);
  const point = new THREE.Vector3();
  const vertices = meshes.map((mesh) => {
    const positions = mesh.geometry.attributes.position;
    return Array.from({ length: positions.count }, (_, i) => nearestVertex(entry, point.fromBufferAttribute(positions, i).toArray()));
  });
  const mixer = new THREE.AnimationMixer(scene);
  let largest = 0;
  let worst = 0;
  let compared = 0;
  entry.clips.forEach((clip, c) => {
    const animation = scene.animations[c];
    if (writtenName(clip.name) !== animation.name.replace(/_\d+$/, '') && writtenName(clip.name) !== animation.name)
      problems.push(`clip ${animation.name}, expected ${clip.name}`);
    const shift = Math.min(0, entry.times[clip.first]);  // no time of a file is before 0
    const last = entry.times[clip.first + clip.frames - 1] - shift;
    const end = Math.max(...animation.tracks.map((track) => track.times.at(-1)));
    if (Math.abs(end - last) > 1e-5) problems.push(`clip ${clip.name} ends at ${end} s, expected ${last}`);
    for (let f = clip.first; f < clip.first + clip.frames; ++f) {
      mixer.stopAllAction();
      const action = mixer.clipAction(animation);
      action.setLoop(THREE.LoopOnce);
      action.clampWhenFinished = true;
      action.reset().play();
      mixer.setTime(entry.times[f] - shift);
      scene.updateMatrixWorld(true);
      meshes.forEach((mesh, m) => {
        for (let i = 0; i < vertices[m].length; ++i, ++compared) {
          mesh.getVertexPosition(i, point).applyMatrix4(mesh.matrixWorld);
          const distance = distanceFrom(entry, f, vertices[m][i], point.toArray());
          if (!(distance <= largest)) [largest, worst] = [distance, f];
        }
      });
    }
  });
  if (!(largest <= kTolerance)) problems.push(`frame ${worst} differs by ${largest} of the diagonal`);
  if (entry.clips.length > 0 && compared === 0) problems.push('nothing to compare');
  return { problem: problems.join('; '), note: `${entry.times.length} frames, largest difference ${largest.toExponential(1)}` };
});
