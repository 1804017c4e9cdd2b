// Skinning in the shader, for any number of influences, corrections and two layers of blends. Everything a vertex needs
// is fetched from float textures by its number, so one text serves the vertex shader and the read-back pass.
import { DataTexture, FloatType, NearestFilter, RGBAFormat } from 'three';

const WIDTH = 2048;

/** A float texture of RGBA texels numbered row by row. */
export function texelTexture(texels, fill) {
  const width = Math.min(WIDTH, Math.max(1, texels));
  const height = Math.max(1, Math.ceil(texels / width));
  const data = new Float32Array(4 * width * height);
  fill?.(data);
  const texture = new DataTexture(data, width, height, RGBAFormat, FloatType);
  texture.minFilter = NearestFilter;
  texture.magFilter = NearestFilter;
  texture.needsUpdate = true;
  return texture;
}

/** Rows of `pairs` (bone, weight) packed two to a texel. */
function pairTexture(rows, slots, numbers, values) {
  const pairs = Math.ceil(slots / 2);
  return texelTexture(rows * pairs, (data) => {
    for (let row = 0; row < rows; ++row)
      for (let k = 0; k < slots; ++k) {
        const at = 4 * (row * pairs + (k >> 1)) + 2 * (k & 1);
        data[at] = numbers[row * slots + k];
        data[at + 1] = values[row * slots + k];
      }
  });
}

export const skinningUniforms = (model) => {
  const { twoLayer } = model;
  const slots = twoLayer ? twoLayer.slots : model.slots;
  return {
    tRest: { value: texelTexture(model.vertexCount, (data) => copy3(data, model.rest)) },
    tWeights: {
      value: twoLayer
        ? pairTexture(model.vertexCount, slots, twoLayer.vertexAtoms, twoLayer.vertexWeights)
        : pairTexture(model.vertexCount, slots, model.weightBones, model.weights),
    },
    tBones: { value: texelTexture(3 * model.boneCount) },
    tMorphs: { value: texelTexture(model.rank * model.vertexCount, (data) => copy3(data, model.morphs)) },
    tMorphNormals: { value: model.bent ? texelTexture(model.rank * model.vertexCount, (data) => copy3(data, model.morphNormals)) : texelTexture(1) },
    bent: { value: model.bent },
    tCoefficients: { value: texelTexture(model.rank) },
    tAtoms: {
      value: twoLayer ? pairTexture(twoLayer.atoms, twoLayer.atomSlots, twoLayer.atomBones, twoLayer.atomWeights) : texelTexture(1),
    },
    pairs: { value: Math.ceil(slots / 2) },
    atomPairs: { value: twoLayer ? Math.ceil(twoLayer.atomSlots / 2) : 0 },
    acting: { value: 0 },
    vertexCount: { value: model.vertexCount },
  };
};

function copy3(data, values) {
  for (let i = 0; i < values.length / 3; ++i) for (let c = 0; c < 3; ++c) data[4 * i + c] = values[3 * i + c];
}

/** Normals of the rest pose by vertex number, for passes that have no vertex attributes. */
export const normalTexture = (model) => texelTexture(model.vertexCount, (data) => copy3(data, model.normals));

/** Sends the pose that the model has now to the textures; `bones` is the one that takes the transforms. */
export function updatePose(uniforms, model, bones = uniforms.tBones.value) {
  bones.image.data.set(model.matrices);
  bones.needsUpdate = true;
  const coefficients = uniforms.tCoefficients.value.image.data;
  let acting = 0;  // only targets that act cost anything
  for (let r = 0; r < model.rank; ++r) {
    if (model.coefficients[r] === 0) continue;
    coefficients[4 * acting] = model.coefficients[r];
    coefficients[4 * acting + 1] = r;
    ++acting;
  }
  uniforms.acting.value = acting;
  uniforms.tCoefficients.value.needsUpdate = true;
}

export const skinningShader = /* glsl */ `
uniform highp sampler2D tRest, tWeights, tBones, tMorphs, tMorphNormals, tCoefficients, tAtoms;
uniform bool bent;  // the corrections have offsets of normals
uniform int pairs, atomPairs, acting, vertexCount;

vec4 texel(highp sampler2D t, int i) {
  int width = textureSize(t, 0).x;
  return texelFetch(t, ivec2(i % width, i / width), 0);
}

struct Rows { vec4 x, y, z; };

void add_bone(inout Rows rows, float bone, float weight) {
  int i = 3 * int(bone + 0.5);
  rows.x += weight * texel(tBones, i);
  rows.y += weight * texel(tBones, i + 1);
  rows.z += weight * texel(tBones, i + 2);
}

// A virtual bone: a blend of master bones.
void add_atom(inout Rows rows, float atom, float weight) {
  int first = atomPairs * int(atom + 0.5);
  for (int i = 0; i < atomPairs; ++i) {
    vec4 pair = texel(tAtoms, first + i);
    if (pair.y != 0.0) add_bone(rows, pair.x, weight * pair.y);
    if (pair.w != 0.0) add_bone(rows, pair.z, weight * pair.w);
  }
}

void add(inout Rows rows, float number, float weight) {
  if (weight == 0.0) return;
  if (atomPairs > 0) add_atom(rows, number, weight);
  else add_bone(rows, number, weight);
}

Rows blend(int v) {
  Rows rows = Rows(vec4(0), vec4(0), vec4(0));
  for (int i = 0; i < pairs; ++i) {
    vec4 pair = texel(tWeights, v * pairs + i);
    add(rows, pair.x, pair.y);
    add(rows, pair.z, pair.w);
  }
  return rows;
}

vec3 offset(highp sampler2D targets, int v) {
  vec3 sum = vec3(0);
  for (int i = 0; i < acting; ++i) {
    vec4 target = texel(tCoefficients, i);  // coefficient, number
    sum += target.x * texel(targets, int(target.y + 0.5) * vertexCount + v).xyz;
  }
  return sum;
}

vec3 corrected(int v) { return texel(tRest, v).xyz + offset(tMorphs, v); }

vec3 corrected_normal(int v, vec3 n) { return bent ? n + offset(tMorphNormals, v) : n; }

vec3 skinned(Rows rows, vec3 p) {
  vec4 q = vec4(p, 1);
  return vec3(dot(rows.x, q), dot(rows.y, q), dot(rows.z, q));
}

vec3 turned(Rows rows, vec3 n) {
  return vec3(dot(rows.x.xyz, n), dot(rows.y.xyz, n), dot(rows.z.xyz, n));
}
`;
