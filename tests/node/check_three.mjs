// node check_three.mjs FOLDER rigs|models: vertices posed by three.js agree with ours within 1e-5 of the diagonal.
// three.js knows four influences per vertex: rigs with more are left to Babylon.
import { readFileSync } from 'node:fs';
import { chosenFrames, firstVertices, largestDifference, needPackages, readCases, runCases, withoutLooks } from './cases.mjs';

needPackages();
globalThis.self ??= globalThis;
globalThis.ProgressEvent ??= class extends Event {};
const THREE = await import('three');
const { GLTFLoader } = await import('three/examples/jsm/loaders/GLTFLoader.js');
const { MeshoptDecoder } = await import('three/examples/jsm/libs/meshopt_decoder.module.js');

const kTolerance = 1e-5;
const kRounded = 3e-5;  // quaternions of 16 bits are off unit length, and three.js scales them between keys
const models = process.argv[3] === 'models';

function surfacesOf(entry, json, gltf) {
  const parts = new Map(entry.parts.map((part) => [part.node, part]));
  const surfaces = [];
  gltf.scene.traverse((object) => {
    if (!object.isMesh && !object.isPoints) return;
    const place = gltf.parser.associations.get(object);
    // A mesh of several primitives hangs below the object of its node.
    let owner = object;
    while (gltf.parser.associations.get(owner)?.nodes === undefined) owner = owner.parent;
    const part = parts.get(gltf.parser.associations.get(owner).nodes);
    if (!part) return;
    const point = new THREE.Vector3();
    surfaces.push({
      part,
      firstVertex: firstVertices(json, place.meshes)[place.primitives ?? 0],
      count: object.geometry.attributes.position.count,
      read: (i) => {
        if (object.isMesh) object.getVertexPosition(i, point);
        else point.fromBufferAttribute(object.geometry.attributes.position, i);
        return point.applyMatrix4(object.matrixWorld).toArray();
      },
    });
  });
  return surfaces;
}

const cases = readCases(process.argv[2], models);
if (models && cases.length === 0) {
  console.log('skipped: SINEW_DATA does not name a folder with the models');
  process.exit(77);
}
await runCases(cases, async (entry) => {
  if (entry.influences > 4) return { note: `${entry.influences} influences: not for three.js` };
  if (entry.name.endsWith('points')) return { note: 'three.js does not skin points' };
  const { json, bytes } = withoutLooks(readFileSync(entry.file));
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const gltf = await new GLTFLoader().setMeshoptDecoder(MeshoptDecoder).parseAsync(buffer, '');
  const surfaces = surfacesOf(entry, json, gltf);
  const mixer = new THREE.AnimationMixer(gltf.scene);
  let largest = 0;
  let worst = 0;
  for (const f of chosenFrames(entry)) {
    const { animation, time } = entry.frames[f];
    mixer.stopAllAction();
    if (animation >= 0) {
      const action = mixer.clipAction(gltf.animations[animation]);
      action.setLoop(THREE.LoopOnce);
      action.clampWhenFinished = true;
      action.reset().play();
      mixer.setTime(time);
    }
    gltf.scene.updateMatrixWorld(true);
    const difference = largestDifference(entry, f, surfaces);
    if (!(difference <= largest)) [largest, worst] = [difference, f];
  }
  return {
    problem: largest <= (/^packed-(?!lossless)/.test(entry.name) ? kRounded : kTolerance) ? '' : `frame ${worst} differs by ${largest} of the diagonal`,
    note: `${entry.frames.length} frames, largest difference ${largest.toExponential(1)}`,
  };
});
