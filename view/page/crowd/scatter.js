// Where the instances of a crowd stand and what they do, the same on every machine: instance i is the same however many
// there are.

const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));
const SPACING = 1.15;  // of a sunflower's seeds; characters are in a box with a diagonal of 2
const PACE = [0.85, 1.15];  // of the clips

/** Numbers in 0..1 that look random, from two whole numbers. */
export function hash(i, salt) {
  let x = (Math.imul(i + 1, 0x9e3779b1) ^ Math.imul(salt + 1, 0x85ebca6b)) >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d) >>> 0;
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b) >>> 0;
  return ((x ^ (x >>> 16)) >>> 0) / 4294967296;
}

/** Instances 0..count-1 as columns: character, clip, phase (0..1), pace, x, z, cosine and sine of the heading, shade. */
export function scatter(characters, count) {
  const out = {
    count, character: new Uint8Array(count), clip: new Uint32Array(count), phase: new Float32Array(count), pace: new Float32Array(count),
    x: new Float32Array(count), z: new Float32Array(count), cos: new Float32Array(count), sin: new Float32Array(count), shade: new Float32Array(count),
  };
  for (let i = 0; i < count; ++i) {
    const radius = SPACING * Math.sqrt(i);
    out.character[i] = i % characters.length;
    out.clip[i] = Math.floor(hash(i, 1) * characters[out.character[i]].clips.length);
    out.phase[i] = hash(i, 2);
    out.pace[i] = PACE[0] + (PACE[1] - PACE[0]) * hash(i, 3);
    out.x[i] = radius * Math.cos(i * GOLDEN_ANGLE);
    out.z[i] = radius * Math.sin(i * GOLDEN_ANGLE);
    const heading = 2 * Math.PI * hash(i, 4);
    out.cos[i] = Math.cos(heading);
    out.sin[i] = Math.sin(heading);
    out.shade[i] = hash(i, 5);
  }
  return out;
}

/** The fractional frame, counted over all clips, that an instance shows after so many seconds. */
export function frameAt(instances, i, clip, seconds) {
  const steps = clip.frames - 1;
  if (steps < 1 || !(clip.seconds > 0)) return clip.first;
  const turns = instances.phase[i] + (seconds * instances.pace[i]) / clip.seconds;
  return clip.first + Math.min((turns - Math.floor(turns)) * steps, steps);
}
