// What the checks of this folder share: the cases that glb_cases wrote, GLB files taken apart, and the comparison.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Ends with the status that ctest takes for "skipped" when the npm packages are not installed. */
export function needPackages() {
  if (existsSync(join(dirname(fileURLToPath(import.meta.url)), 'node_modules'))) return;
  console.log('skipped: tests/node/node_modules is missing; script/bootstrap installs it');
  process.exit(77);
}

/** Cases of a folder whose name starts with `prefix` ('' : the rigs of our own, 'model-': models from elsewhere). */
export function readCases(folder, models) {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json') && file.startsWith('model-') === models)
    .sort()
    .map((file) => {
      const name = file.slice(0, -'.json'.length);
      const bytes = readFileSync(join(folder, `${name}.f32`));
      const positions = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
      return { name, positions, ...JSON.parse(readFileSync(join(folder, file), 'utf8')) };
    });
}

/** JSON and binary chunk of a .glb, or the JSON of a .gltf. */
export function takeApart(bytes) {
  if (bytes.readUInt32LE(0) !== 0x46546c67) return { json: JSON.parse(bytes.toString('utf8')), binary: null };
  const length = bytes.readUInt32LE(12);
  const json = JSON.parse(bytes.subarray(20, 20 + length).toString('utf8'));
  return { json, binary: bytes.subarray(20 + length + 8) };
}

/** The same as one .glb without materials and textures: decoding images needs a browser. */
export function withoutLooks(bytes) {
  const { json, binary } = takeApart(bytes);
  for (const key of ['materials', 'textures', 'images', 'samplers']) delete json[key];
  for (const key of ['extensionsUsed', 'extensionsRequired']) {
    const kept = (json[key] ?? []).filter((name) => /mesh_quantization|meshopt/.test(name));
    if (kept.length > 0) json[key] = kept;
    else delete json[key];
  }
  for (const mesh of json.meshes) for (const primitive of mesh.primitives) delete primitive.material;
  const text = Buffer.from(JSON.stringify(json));
  const padded = Buffer.concat([text, Buffer.alloc((4 - (text.length % 4)) % 4, 0x20)]);
  const header = Buffer.alloc(20);
  const chunks = [header, padded];
  if (binary) {
    const chunk = Buffer.alloc(8);
    chunk.writeUInt32LE(binary.length, 0);
    chunk.writeUInt32LE(0x004e4942, 4);
    chunks.push(chunk, binary);
  }
  [0x46546c67, 2, chunks.reduce((sum, part) => sum + part.length, 0), padded.length, 0x4e4f534a].forEach((word, i) =>
    header.writeUInt32LE(word, 4 * i));
  return { json, bytes: Buffer.concat(chunks) };
}

/** Number of the first vertex of each primitive of a mesh; primitives over the same accessors share theirs. */
export function firstVertices(json, mesh) {
  const known = new Map();
  let next = 0;
  return json.meshes[mesh].primitives.map((primitive) => {
    const key = JSON.stringify([primitive.attributes, primitive.targets]);
    if (!known.has(key)) {
      known.set(key, next);
      next += json.accessors[primitive.attributes.POSITION].count;
    }
    return known.get(key);
  });
}

/** Frames to look at: all of them, or a spread of them when there are more than `most` vertex positions. */
export function chosenFrames(entry, most = 400000) {
  const step = Math.max(1, Math.ceil((entry.frames.length * entry.vertices) / most));
  return entry.frames.map((_, f) => f).filter((f) => f % step === 0 || f === entry.frames.length - 1);
}

const kUnused = 0xffffffff;

/**
 * Largest distance from our positions, over the diagonal. `surfaces` are { part, firstVertex, count, read(i) → [x, y, z] }
 * as the other reader has them.
 */
export function largestDifference(entry, frame, surfaces) {
  let largest = 0;
  let compared = 0;
  for (const { part, firstVertex, count, read } of surfaces)
    for (let i = 0; i < count; ++i) {
      const point = part.control_point[firstVertex + i];
      if (point === kUnused) continue;
      const at = 3 * (frame * entry.vertices + part.first + point);
      const [x, y, z] = read(i);
      const distance = Math.hypot(x - entry.positions[at], y - entry.positions[at + 1], z - entry.positions[at + 2]);
      if (!(distance <= largest)) largest = distance;  // NaN counts as largest
      ++compared;
    }
  if (compared === 0) throw new Error(`${entry.name}: nothing to compare`);
  return largest / entry.diagonal;
}

/** Runs check(entry) over cases; prints a line for each; the exit status says whether all held. */
export async function runCases(cases, check) {
  if (cases.length === 0) throw new Error('no cases');
  let failed = 0;
  for (const entry of cases) {
    let problem = '';
    let note = '';
    try {
      ({ problem, note } = await check(entry));
    } catch (error) {
      problem = error.stack ?? String(error);
    }
    console.log(`${problem ? 'FAILED' : 'ok'} ${entry.name}${note ? ` (${note})` : ''}${problem ? `: ${problem}` : ''}`);
    if (problem) ++failed;
  }
  process.exit(failed ? 1 : 0);
}
