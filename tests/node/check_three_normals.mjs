// node check_three_normals.mjs PROGRAM DATA FOLDER: normal corrections as three.js plays them. horse-gallop with flexible
// bones and ten corrections: the RMS angle to the frames' normals is within 0.2° of what `sinew evaluate` says of the
// played normals, at most 2.0°, and smaller than without corrections.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { needPackages, withoutLooks } from './cases.mjs';

needPackages();
const [program, data, folder] = process.argv.slice(2);
const sequence = join(process.env.SINEW_DATA ?? data, 'sequences', 'horse-gallop');
if (!existsSync(sequence)) {
  console.log('skipped: SINEW_DATA has no horse-gallop');
  process.exit(77);
}
globalThis.self ??= globalThis;
globalThis.ProgressEvent ??= class extends Event {};
const THREE = await import('three');
const { GLTFLoader } = await import('three/examples/jsm/loaders/GLTFLoader.js');

const kRank = 10;
const kPlayed = 2.0;  // degrees
const kApart = 0.2;

/** Frames of a PC2 file, each 3V floats. */
function readFrames(file) {
  const bytes = readFileSync(file);
  const length = 3 * bytes.readInt32LE(16);
  return Array.from({ length: bytes.readInt32LE(28) }, (_, f) =>
    new Float32Array(bytes.buffer.slice(bytes.byteOffset + 32 + 4 * f * length, bytes.byteOffset + 32 + 4 * (f + 1) * length)));
}

/** Sums of the area vectors around every control point, and of their lengths. */
function areaVectors(positions, triangles) {
  const vectors = new Float64Array(positions.length);
  const areas = new Float64Array(positions.length / 3);
  const [a, b, c] = [new THREE.Vector3(), new THREE.Vector3(), new THREE.Vector3()];
  for (let t = 0; t < triangles.length; t += 3) {
    [a, b, c].forEach((p, i) => p.fromArray(positions, 3 * triangles[t + i]));
    b.sub(a).cross(c.sub(a));
    for (let i = 0; i < 3; ++i) {
      const v = triangles[t + i];
      areas[v] += b.length();
      [b.x, b.y, b.z].forEach((x, k) => { vectors[3 * v + k] += x; });
    }
  }
  return { vectors, areas };
}

/** The normal of a vertex as three's shader chunks morph and skin it. */
function playedNormal(mesh, i, out) {
  const { attributes, morphAttributes } = mesh.geometry;
  const offset = new THREE.Vector3();
  const n = new THREE.Vector3().fromBufferAttribute(attributes.normal, i);
  (morphAttributes.normal ?? []).forEach((target, r) =>
    n.addScaledVector(offset.fromBufferAttribute(target, i), mesh.morphTargetInfluences[r]));
  mesh.applyBoneTransform(i, out.set(n.x, n.y, n.z, 0));
  return new THREE.Vector3(out.x, out.y, out.z);
}

/** RMS angle in degrees, weighted by area, between three's normals and those of the frames. */
async function playedBy(file, frames) {
  const { bytes } = withoutLooks(readFileSync(file));
  const gltf = await new GLTFLoader().parseAsync(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), '');
  const meshes = [];
  gltf.scene.traverse((node) => { if (node.isSkinnedMesh) meshes.push(node); });
  if (meshes.length !== 1) throw new Error(`${file}: ${meshes.length} skinned meshes, expected one`);
  const [mesh] = meshes;
  const { attributes, index } = mesh.geometry;
  const point = (i) => (attributes._control_point ? attributes._control_point.getX(i) : i);
  const triangles = Array.from(index.array, point);
  const mixer = new THREE.AnimationMixer(gltf.scene);
  const [clip] = gltf.animations;
  mixer.clipAction(clip).setLoop(THREE.LoopOnce).play().clampWhenFinished = true;
  const times = [...new Set(clip.tracks.flatMap((track) => [...track.times]))].sort((a, b) => a - b);
  if (times.length !== frames.length) throw new Error(`${file}: ${times.length} keys, ${frames.length} frames`);
  const played = new THREE.Vector4();
  const wanted = new THREE.Vector3();
  let squares = 0;
  let weight = 0;
  times.forEach((time, f) => {
    mixer.setTime(time);
    gltf.scene.updateMatrixWorld(true);
    const { vectors, areas } = areaVectors(frames[f], triangles);
    const seen = new Set();
    for (let i = 0; i < attributes.position.count; ++i) {
      const v = point(i);
      if (seen.has(v)) continue;
      seen.add(v);
      const angle = playedNormal(mesh, i, played).angleTo(wanted.fromArray(vectors, 3 * v));
      squares += areas[v] * angle * angle;
      weight += areas[v];
    }
  });
  return (Math.sqrt(squares / weight) * 180) / Math.PI;
}

mkdirSync(folder, { recursive: true });
const run = (...args) => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
const frames = readFrames(join(sequence, 'frames.pc2'));
const degrees = {};
for (const rank of [0, kRank]) {
  const file = join(folder, `rank-${rank}.glb`);
  const more = rank > 0 ? ['--corrections', String(rank)] : [];
  run('solve', sequence, '--method', 'sma', '--transforms', 'affine', ...more, '-o', file);
  const fitted = JSON.parse(run('evaluate', file, sequence, '--json')).errors.played_degrees;
  degrees[rank] = { fitted, three: await playedBy(file, frames) };
  console.log(`rank ${rank}: ${fitted.toFixed(3)}° by sinew evaluate, ${degrees[rank].three.toFixed(3)}° by three.js`);
}
const problems = Object.entries(degrees)
  .filter(([, { fitted, three }]) => !(Math.abs(fitted - three) <= kApart))
  .map(([rank]) => `rank ${rank}: three.js is more than ${kApart}° away from what was fitted`);
if (!(degrees[kRank].three <= kPlayed)) problems.push(`rank ${kRank}: more than ${kPlayed}°`);
if (!(degrees[kRank].three < degrees[0].three)) problems.push('corrections do not help');
problems.forEach((problem) => console.log(`FAILED ${problem}`));
process.exit(problems.length > 0 ? 1 : 0);
