// A GLB with one more clip: the file as it was, and behind it key frames of its nodes.
import { Matrix4, Quaternion, Vector3 } from 'three';
import { POSE_NUMBERS } from './poses.js';

const MAGIC = 0x46546c67;
const JSON_CHUNK = 0x4e4f534a;
const BINARY_CHUNK = 0x004e4942;
const FLOAT = 5126;
const PATHS = [['translation', 0, 3, 'VEC3'], ['rotation', 3, 4, 'VEC4'], ['scale', 7, 3, 'VEC3']];

const padded = (length) => Math.ceil(length / 4) * 4;

/** { json, binary } of a GLB. */
export function takeApart(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 20 || view.getUint32(0, true) !== MAGIC) throw new Error('Clips can be added to .glb files only.');
  const length = view.getUint32(12, true);
  const json = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 20, length)));
  const at = 20 + length;
  const binary = at + 8 <= buffer.byteLength && view.getUint32(at + 4, true) === BINARY_CHUNK
    ? new Uint8Array(buffer, at + 8, view.getUint32(at, true)) : new Uint8Array(0);
  return { json, binary };
}

export function putTogether({ json, binary }) {
  const text = new TextEncoder().encode(JSON.stringify(json));
  const [textSize, binarySize] = [padded(text.length), padded(binary.length)];
  const out = new ArrayBuffer(20 + textSize + 8 + binarySize);
  const view = new DataView(out);
  [MAGIC, 2, out.byteLength, textSize, JSON_CHUNK].forEach((word, i) => view.setUint32(4 * i, word, true));
  new Uint8Array(out, 20, textSize).fill(0x20).set(text);
  view.setUint32(20 + textSize, binarySize, true);
  view.setUint32(24 + textSize, BINARY_CHUNK, true);
  new Uint8Array(out, 28 + textSize).set(binary);
  return out;
}

/** A name that no clip has. */
function freeName(json, wanted) {
  const taken = new Set((json.animations ?? []).map((animation) => animation.name));
  let name = wanted;
  for (let i = 2; taken.has(name); ++i) name = `${wanted} ${i}`;
  return name;
}

/** Animated nodes say their place by translation, rotation and scale: a matrix becomes those. */
function withoutMatrix(node) {
  if (!node.matrix) return;
  const [t, r, s] = [new Vector3(), new Quaternion(), new Vector3()];
  new Matrix4().fromArray(node.matrix).decompose(t, r, s);
  delete node.matrix;
  Object.assign(node, { translation: t.toArray(), rotation: r.toArray(), scale: s.toArray() });
}

/** The GLB with a clip of these poses. `nodes` are the numbers of its nodes in the order of the poses; `times` are
 *  seconds, rising. */
export function withClip(buffer, nodes, poses, times, wanted = 'poses') {
  const { json, binary } = takeApart(buffer);
  if (json.buffers?.[0]?.uri) throw new Error('The file keeps its numbers in another file: clips can be added to whole .glb files only.');
  json.buffers ??= [];
  json.bufferViews ??= [];
  json.accessors ??= [];
  const first = padded(binary.length);
  const count = times.length;
  const added = new Float32Array(count * (1 + POSE_NUMBERS * nodes.length));
  let used = 0;
  const accessor = (values, type, more = {}) => {
    added.set(values, used);
    json.bufferViews.push({ buffer: 0, byteOffset: first + 4 * used, byteLength: 4 * values.length });
    used += values.length;
    json.accessors.push({ bufferView: json.bufferViews.length - 1, componentType: FLOAT, count, type, ...more });
    return json.accessors.length - 1;
  };
  const input = accessor(times, 'SCALAR', { min: [Math.fround(times[0])], max: [Math.fround(times[count - 1])] });
  const animation = { name: freeName(json, wanted), samplers: [], channels: [] };
  nodes.forEach((node, i) => {
    withoutMatrix(json.nodes[node]);
    for (const [path, offset, width, type] of PATHS) {
      const values = poses.flatMap((pose) => [...pose.subarray(POSE_NUMBERS * i + offset, POSE_NUMBERS * i + offset + width)]);
      animation.channels.push({ sampler: animation.samplers.length, target: { node, path } });
      animation.samplers.push({ input, output: accessor(values, type), interpolation: 'LINEAR' });
    }
  });
  (json.animations ??= []).push(animation);
  const bytes = new Uint8Array(first + added.byteLength);
  bytes.set(binary);
  bytes.set(new Uint8Array(added.buffer), first);
  json.buffers[0] = { ...json.buffers[0], byteLength: bytes.length };
  return putTogether({ json, binary: bytes });
}
