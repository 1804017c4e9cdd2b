// Vertices posed by the CPU, frame by frame: what is sent to the GPU where nothing is skinned there.

export const STREAM_NUMBERS = 4;  // per vertex: x, y, z, and the normal folded into 24 bits

/** A direction as a whole number below 2^24: two coordinates of an octahedron, 12 bits each. */
export function foldNormal(x, y, z) {
  const sum = Math.abs(x) + Math.abs(y) + Math.abs(z) || 1;
  let [u, v] = [x / sum, y / sum];
  if (z < 0) [u, v] = [(1 - Math.abs(v)) * (u < 0 ? -1 : 1), (1 - Math.abs(u)) * (v < 0 ? -1 : 1)];
  const step = (t) => Math.min(4095, Math.max(0, Math.round((t + 1) * 2047.5)));
  return step(u) * 4096 + step(v);
}

/** Poses one frame of a level by its own weights (all of them, where it has more than four). `motion` are the rows of
 *  all transforms as floats; `out` takes STREAM_NUMBERS per vertex from `at` on. */
export function poseFrame(character, level, motion, frame, out, at) {
  const { slots, numbers, weights } = level.methods.dense ?? level.methods.lbs4;
  const { positions, normals, vertices } = level;
  const first = 4 * character.firstTexel + 12 * frame * character.bones;
  const M = new Float64Array(12);
  for (let v = 0; v < vertices; ++v) {
    M.fill(0);
    for (let k = v * slots; k < (v + 1) * slots; ++k) {
      const w = weights[k];
      if (w === 0) continue;
      const from = first + 12 * numbers[k];
      for (let e = 0; e < 12; ++e) M[e] += w * motion[from + e];
    }
    const [x, y, z] = [positions[3 * v], positions[3 * v + 1], positions[3 * v + 2]];
    const [a, b, c] = [normals[3 * v], normals[3 * v + 1], normals[3 * v + 2]];
    const to = at + STREAM_NUMBERS * v;
    out[to] = M[0] * x + M[1] * y + M[2] * z + M[3];
    out[to + 1] = M[4] * x + M[5] * y + M[6] * z + M[7];
    out[to + 2] = M[8] * x + M[9] * y + M[10] * z + M[11];
    out[to + 3] = foldNormal(M[0] * a + M[1] * b + M[2] * c, M[4] * a + M[5] * b + M[6] * c, M[8] * a + M[9] * b + M[10] * c);
  }
}

/** All frames of a level, one after another. */
export function poseLevel(character, level, motion) {
  const frames = Math.max(...character.clips.map((clip) => clip.first + clip.frames));
  const stride = STREAM_NUMBERS * level.vertices;
  const out = new Float32Array(frames * stride);
  for (let f = 0; f < frames; ++f) poseFrame(character, level, motion, f, out, f * stride);
  return out;
}
