// node check_babylon.mjs FOLDER: vertices posed by Babylon agree with ours within 1e-5 of the diagonal. Babylon knows
// eight influences per vertex: rigs with more are read by us alone.
import { readFileSync } from 'node:fs';
import { chosenFrames, firstVertices, largestDifference, needPackages, readCases, runCases, withoutLooks } from './cases.mjs';

needPackages();
globalThis.XMLHttpRequest ??= class {};
const { NullEngine, Scene, ImportMeshAsync, Logger } = await import('@babylonjs/core/index.js');
await import('@babylonjs/loaders/glTF/index.js');
const { MeshoptCompression } = await import('@babylonjs/core/Meshes/Compression/meshoptCompression.js');
const { MeshoptDecoder } = await import('three/examples/jsm/libs/meshopt_decoder.module.js');
Logger.LogLevels = Logger.ErrorLogLevel;
await MeshoptDecoder.ready;
// Babylon loads its decoder from the network; this is the same decoder from a package.
MeshoptCompression._Default = {
  decodeGltfBufferAsync: async (source, count, stride, mode, filter) => {
    const out = new Uint8Array(count * stride);
    MeshoptDecoder.decodeGltfBuffer(out, count, stride, source, mode, filter);
    return out;
  },
};

const kTolerance = 1e-5;
const kRounded = 3e-5;  // quaternions of 16 bits are off unit length

/** glTF mesh and primitive of a Babylon mesh, from the pointers that the loader leaves on it. */
function placeOf(mesh) {
  for (const pointer of mesh._internalMetadata?.gltf?.pointers ?? []) {
    const match = /^\/meshes\/(\d+)\/primitives\/(\d+)/.exec(pointer);
    if (match) return { meshIndex: Number(match[1]), primitive: Number(match[2]) };
  }
  throw new Error(`Babylon does not say which primitive ${mesh.name} is`);
}

await runCases(readCases(process.argv[2], false), async (entry) => {
  if (entry.influences > 8) return { note: `${entry.influences} influences: not for Babylon` };
  const { json, bytes } = withoutLooks(readFileSync(entry.file));
  const engine = new NullEngine();
  const scene = new Scene(engine);
  scene.useRightHandedSystem = true;
  const source = `data:model/gltf-binary;base64,${bytes.toString('base64')}`;
  const loaded = await ImportMeshAsync(source, scene, { pluginExtension: '.glb' });
  const parts = new Map(entry.parts.map((part) => [json.nodes[part.node].mesh, part]));  // a mesh has one node here
  const meshes = loaded.meshes.filter((mesh) => mesh.getTotalVertices() > 0);
  let largest = 0;
  let worst = 0;
  for (const group of loaded.animationGroups) group.stop();
  for (const f of chosenFrames(entry)) {
    const { animation, time } = entry.frames[f];
    if (animation >= 0) {
      const group = loaded.animationGroups[animation];
      group.start(false, 1, group.from, group.to);
      group.goToFrame(time * group.targetedAnimations[0].animation.framePerSecond);
      group.pause();
    }
    for (const node of [...scene.transformNodes, ...scene.meshes]) node.computeWorldMatrix(true);
    for (const skeleton of scene.skeletons) skeleton.prepare(true);
    const surfaces = meshes.map((mesh) => {
      const { meshIndex, primitive } = placeOf(mesh);
      const positions = mesh.getPositionData(true, true);
      return {
        part: parts.get(meshIndex),
        firstVertex: firstVertices(json, meshIndex)[primitive],
        count: positions.length / 3,
        read: (i) => [positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]],
      };
    });
    const difference = largestDifference(entry, f, surfaces);
    if (!(difference <= largest)) [largest, worst] = [difference, f];
    if (animation >= 0) loaded.animationGroups[animation].stop();
  }
  engine.dispose();
  return {
    problem: largest <= (/^packed-(?!lossless)/.test(entry.name) ? kRounded : kTolerance) ? '' : `frame ${worst} differs by ${largest} of the diagonal`,
    note: `${entry.frames.length} frames, largest difference ${largest.toExponential(1)}`,
  };
});
