// What the page carries: a list of arrays in one text, and the facts that say where they are.

const KINDS = { f32: Float32Array, u32: Uint32Array, u16: Uint16Array };

export function decodeBase64(text) {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** The array that `{ at, count, type }` names. */
export function arrayOf(bytes, { at, count, type }) {
  return new KINDS[type](bytes.buffer, bytes.byteOffset + at, count);
}

/** The characters of a crowd with their arrays in place: levels, clips, methods, virtual bones, and the motion of all. */
export function readCrowd(facts, bytes) {
  const array = (where) => arrayOf(bytes, where);
  const blends = ({ slots, numbers, weights }) => ({ slots, numbers: array(numbers), weights: array(weights) });
  return {
    ...facts,
    motion: array(facts.motion),
    characters: facts.characters.map((character) => ({
      ...character,
      virtualBones: character.virtualBones
        ? { count: character.virtualBones.count, ...blends(character.virtualBones) }
        : null,
      levels: character.levels.map((level) => ({
        ...level,
        positions: array(level.positions), normals: array(level.normals), source: array(level.source),
        triangles: array(level.triangles),
        methods: Object.fromEntries(Object.entries(level.methods).map(([name, method]) => [name, blends(method)])),
      })),
    })),
  };
}

/** The number that 16 bits of a half float stand for. */
export function halfToFloat(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The motion as floats, whatever it is kept in. */
export const motionNumbers = (crowd) => (crowd.half ? Float32Array.from(crowd.motion, halfToFloat) : crowd.motion);

export const METHODS = [
  ['lbs4', 'Four bones'], ['two_layer', 'Two layers'], ['dense', 'Dense'], ['stream', 'Vertex stream'],
];

/** How a level is played where a method is asked for: that one, or four bones where it has not got it. */
export const methodOf = (level, method) => (method === 'stream' || level.methods[method] ? method : 'lbs4');

/** Whether any character can be played so. */
export const hasMethod = (crowd, method) => method === 'stream'
  || crowd.characters.some((character) => character.levels.some((level) => level.methods[method]));
