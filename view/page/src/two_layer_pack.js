// The packed form of a two-layer model (docs/formats.md): one zstd frame with ranges and three meshoptimizer streams.
import { decompress } from 'fzstd';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';

const STEPS = 65535;
const MOTION_NUMBERS = 12;

/** Reads ranges and streams one after another. */
class Source {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
  }

  range() {
    const low = this.view.getFloat32(this.at, true);
    const width = this.view.getFloat32(this.at + 4, true) - low;
    this.at += 8;
    return (step) => low + (width * step) / STEPS;
  }

  stream(count, stride) {
    const size = Number(this.view.getBigUint64(this.at, true));
    const raw = new Uint8Array(count * stride);
    MeshoptDecoder.decodeVertexBuffer(raw, count, stride, this.bytes.subarray(this.at + 8, this.at + 8 + size));
    this.at += 8 + size;
    return new DataView(raw.buffer);
  }
}

/** What rounding took from each row's sum of 1 goes to its largest weight. */
function restoreSums(weights, slots) {
  for (let row = 0; row < weights.length; row += slots) {
    let sum = 0;
    let largest = row;
    for (let i = row; i < row + slots; ++i) {
      sum += weights[i];
      if (weights[i] > weights[largest]) largest = i;
    }
    weights[largest] += 1 - sum;
  }
}

/** The arrays of the extension `facts`, as the plain form has them, from the bytes of `packed`. */
export async function unpackTwoLayer(facts, packed) {
  await MeshoptDecoder.ready;
  const source = new Source(decompress(packed));
  const { vertices, bones, frames, virtualBones, bonesPerVirtualBone, virtualBonesPerVertex: q } = facts;

  const entries = virtualBones * bonesPerVirtualBone;
  const dictionaryBones = new Uint32Array(entries);
  const dictionaryWeights = new Float32Array(entries);
  let value = source.range();
  let raw = source.stream(entries, 4);
  for (let i = 0; i < entries; ++i) {
    dictionaryBones[i] = raw.getUint16(4 * i, true);
    dictionaryWeights[i] = value(raw.getUint16(4 * i + 2, true));
  }
  restoreSums(dictionaryWeights, bonesPerVirtualBone);

  const width = virtualBones <= 0x10000 ? 2 : 4;
  const stride = Math.ceil((q * (width + 2)) / 4) * 4;
  const vertexVirtualBones = new Uint32Array(q * vertices);
  const vertexWeights = new Float32Array(q * vertices);
  value = source.range();
  raw = source.stream(vertices, stride);
  for (let v = 0; v < vertices; ++v)
    for (let k = 0; k < q; ++k) {
      const at = v * stride + k * width;
      vertexVirtualBones[v * q + k] = width === 2 ? raw.getUint16(at, true) : raw.getUint32(at, true);
      vertexWeights[v * q + k] = value(raw.getUint16(v * stride + q * width + 2 * k, true));
    }
  restoreSums(vertexWeights, q);

  const motion = new Float32Array(frames * bones * MOTION_NUMBERS);
  const values = Array.from({ length: bones * MOTION_NUMBERS }, () => source.range());
  raw = source.stream(bones * frames, 2 * MOTION_NUMBERS);
  for (let b = 0; b < bones; ++b)
    for (let f = 0; f < frames; ++f)
      for (let e = 0; e < MOTION_NUMBERS; ++e)
        motion[(f * bones + b) * MOTION_NUMBERS + e] = values[b * MOTION_NUMBERS + e](raw.getUint16(2 * ((b * frames + f) * MOTION_NUMBERS + e), true));
  return { dictionaryBones, dictionaryWeights, vertexVirtualBones, vertexWeights, motion };
}
