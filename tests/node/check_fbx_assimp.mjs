// node check_fbx_assimp.mjs FOLDER: Assimp finds the clips, materials and all weights of our FBX files and, posed by the
// formula of linear blend skinning over its nodes and keys, every vertex in every frame within 1e-4 of the diagonal.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { needPackages, runCases } from './cases.mjs';
import { distanceFrom, nearestVertex, readFbxCases, writtenName } from './fbx.mjs';

needPackages();
const { Matrix4, Quaternion, Vector3 } = await import('three');
const kTolerance = 1e-4;
try {
  execFileSync('assimp', ['version'], { stdio: 'ignore' });
} catch {
  console.log('skipped: assimp is not installed; script/bootstrap --full installs it');
  process.exit(77);
}
const folder = mkdtempSync(join(tmpdir(), 'sinew-assimp-'));
process.on('exit', () => rmSync(folder, { recursive: true }));

/** A file as Assimp has it in memory. */
function load(file) {
  const out = join(folder, 'scene.assjson');
  execFileSync('assimp', ['export', file, out, '-fassjson'], { stdio: 'ignore' });
  return JSON.parse(readFileSync(out, 'utf8'));
}

const matrix = (rows) => new Matrix4().set(...rows);

/** The key at a time, or the blend of those around it. */
function keyAt(keys, time) {
  const next = keys.findIndex(([t]) => t >= time - 1e-6);
  if (next < 0) return keys.at(-1)[1];
  return keys[next][1];
}

/** World matrices of all nodes at the time of a clip. */
function place(node, above, channels, time, out) {
  const channel = channels.get(node.name);
  let local = matrix(node.transformation);
  if (channel) {
    const [w, x, y, z] = keyAt(channel.rotationkeys, time);
    local = new Matrix4().compose(new Vector3(...keyAt(channel.positionkeys, time)), new Quaternion(x, y, z, w),
      new Vector3(...keyAt(channel.scalingkeys, time)));
  }
  const world = above.clone().multiply(local);
  out.set(node.name, world);
  for (const child of node.children ?? []) place(child, world, channels, time, out);
}

/** Weights of the vertices of a mesh: lists of [bone name, offset matrix, weight]. */
function weightsOf(mesh) {
  const out = Array.from({ length: mesh.vertices.length / 3 }, () => []);
  for (const bone of mesh.bones ?? [])
    for (const [vertex, weight] of bone.weights) out[vertex].push([bone.name, matrix(bone.offsetmatrix), weight]);
  return out;
}

await runCases(readFbxCases(process.argv[2]), async (entry) => {
  if (entry.faces === 0) return { note: 'Assimp shows no points of an FBX file' };
  if (entry.name === 'corrected') return { note: 'Assimp does not write the weights of morph targets' };
  const scene = load(entry.file);
  const problems = [];
  const clips = scene.animations ?? [];
  if (clips.length !== entry.clips.length) problems.push(`${clips.length} clips, expected ${entry.clips.length}`);
  const names = scene.materials.map((material) => material.properties.find((p) => p.key === '?mat.name').value);
  for (const name of entry.materials) if (!names.includes(name)) problems.push(`material ${name} is missing`);
  const meshes = scene.meshes.map((mesh) => ({
    at: (i) => new Vector3(mesh.vertices[3 * i], mesh.vertices[3 * i + 1], mesh.vertices[3 * i + 2]),
    weights: weightsOf(mesh),
    vertices: Array.from({ length: mesh.vertices.length / 3 }, (_, i) => nearestVertex(entry, mesh.vertices.slice(3 * i, 3 * i + 3))),
  }));
  let largest = 0;
  entry.clips.forEach((clip, c) => {
    const animation = clips[c];
    if (!animation) return;
    if (!animation.name.startsWith(writtenName(clip.name))) problems.push(`clip ${animation.name}, expected ${clip.name}`);
    const channels = new Map(animation.channels.map((channel) => [channel.name, channel]));
    const start = entry.times[clip.first];  // Assimp counts from there
    for (let f = clip.first; f < clip.first + clip.frames; ++f) {
      const places = new Map();
      place(scene.rootnode, new Matrix4(), channels, (entry.times[f] - start) * animation.tickspersecond, places);
      for (const mesh of meshes)
        mesh.vertices.forEach((v, i) => {
          const posed = new Vector3();
          for (const [bone, offset, weight] of mesh.weights[i])
            posed.addScaledVector(mesh.at(i).applyMatrix4(offset).applyMatrix4(places.get(bone)), weight);
          const distance = distanceFrom(entry, f, v, posed.toArray());
          if (!(distance <= largest)) largest = distance;
        });
    }
  });
  if (!(largest <= kTolerance)) problems.push(`differs by ${largest} of the diagonal`);
  return { problem: problems.join('; '), note: `${entry.times.length} frames, largest difference ${largest.toExponential(1)}` };
});
