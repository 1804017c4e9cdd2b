// What the checks of FBX files share: the cases that fbx_cases wrote, and the comparison by place at rest.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Cases of a folder: facts, rest positions and frames (Float32Array, one after another). `still`: the static models. */
export function readFbxCases(folder, still = false) {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json') && file.endsWith('.static.json') === still)
    .sort()
    .map((file) => {
      const name = file.slice(0, -'.json'.length);
      const bytes = readFileSync(join(folder, `${name}.f32`));
      const floats = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
      const entry = { name, ...JSON.parse(readFileSync(join(folder, file), 'utf8')) };
      return { ...entry, rest: floats.subarray(0, 3 * entry.vertices), positions: floats.subarray(3 * entry.vertices) };
    });
}

/** The number of our vertex nearest to a place at rest, which must be within 1e-4 of the diagonal. */
export function nearestVertex(entry, [x, y, z]) {
  let nearest = -1;
  let least = Infinity;
  for (let v = 0; v < entry.vertices; ++v) {
    const distance = Math.hypot(x - entry.rest[3 * v], y - entry.rest[3 * v + 1], z - entry.rest[3 * v + 2]);
    if (distance < least) [least, nearest] = [distance, v];
  }
  if (!(least <= 1e-4 * entry.diagonal))
    throw new Error(`no vertex rests at ${[x, y, z]}: the nearest is ${least / entry.diagonal} of the diagonal away`);
  return nearest;
}

/** Distance of a posed point from ours, over the diagonal. */
export function distanceFrom(entry, frame, v, [x, y, z]) {
  const at = 3 * (frame * entry.vertices + v);
  const ours = entry.positions;
  return Math.hypot(x - ours[at], y - ours[at + 1], z - ours[at + 2]) / entry.diagonal;
}

/** Names as our writer makes them: letters, digits, '_', '-' and non-ASCII stay. */
export function writtenName(name) {
  return name.replace(/[^A-Za-z0-9_\-\u0080-\uffff]/g, '_');
}
