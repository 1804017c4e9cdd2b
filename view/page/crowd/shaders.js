// Shaders of the crowd. Everything that is long lies in textures of rows of 2048 texels, numbered row by row.

export const WIDTH = 2048;
const SHIFT = 11;  // of the same
export const MOST_CHARACTERS = 6;

const HEAD = /* glsl */ `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
`;

const TEXEL = /* glsl */ `
vec4 texel(sampler2D t, int i) { return texelFetch(t, ivec2(i & ${WIDTH - 1}, i >> ${SHIFT}), 0); }
`;

export const WHOLE_SCREEN = `${HEAD}
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }`;

// First pass: the bones of every instance between two keys, uStride texels for each instance of the batch.
export const POSE_BONES = `${HEAD}${TEXEL}
uniform sampler2D tMotion, tInstances;
uniform ivec2 uMotion[${MOST_CHARACTERS}];  // of each character: first texel, bones
uniform int uStride, uFirst, uCount;
out vec4 row;
void main() {
  int i = int(gl_FragCoord.y) * ${WIDTH} + int(gl_FragCoord.x);
  int slot = i / uStride;
  int k = i - slot * uStride;
  row = vec4(0);
  if (slot >= uCount) return;
  vec4 what = texel(tInstances, 2 * (uFirst + slot) + 1);
  ivec2 motion = uMotion[int(what.y)];
  int rows = 3 * motion.y;
  if (k >= rows) return;
  float key = floor(what.x);
  int at = motion.x + int(key) * rows + k;
  row = texel(tMotion, at);
  if (what.x > key) row = mix(row, texel(tMotion, at + rows), what.x - key);
}`;

// Second pass: virtual bones, each a blend of the bones of its instance.
export const POSE_VIRTUAL_BONES = `${HEAD}${TEXEL}
uniform sampler2D tPose, tBlends, tInstances;
uniform ivec3 uBlends[${MOST_CHARACTERS}];  // of each character: first texel, texels of a virtual bone, virtual bones
uniform int uStride, uPoseStride, uFirst, uCount;
out vec4 row;
void main() {
  int i = int(gl_FragCoord.y) * ${WIDTH} + int(gl_FragCoord.x);
  int slot = i / uStride;
  int k = i - slot * uStride;
  row = vec4(0);
  if (slot >= uCount) return;
  ivec3 blends = uBlends[int(texel(tInstances, 2 * (uFirst + slot) + 1).y)];
  int bone = k / 3;
  if (bone >= blends.z) return;
  int from = slot * uPoseStride + k - 3 * bone;
  for (int n = 0; n < blends.y; ++n) {
    vec4 pair = texel(tBlends, blends.x + bone * blends.y + n);
    row += pair.y * texel(tPose, from + 3 * int(pair.x));
    if (pair.w != 0.0) row += pair.w * texel(tPose, from + 3 * int(pair.z));
  }
}`;

const PLACED = /* glsl */ `
uniform sampler2D tInstances;
uniform mat4 uMatrix;
uniform vec3 uEye;
uniform int uFirst;
out vec3 vNormal, vTint, vToEye;
out vec3 vPosed;

vec3 tint(float character, float shade) {
  float hue = 0.07 + 0.31 * character + 0.10 * shade;
  vec3 wheel = clamp(abs(fract(hue + vec3(0, 2, 1) / 3.0) * 6.0 - 3.0) - 1.0, 0.0, 1.0);
  return mix(vec3(0.72), wheel, 0.34) * (0.72 + 0.4 * fract(7.0 * shade));
}

// Puts a vertex, posed where its character stands in its file, where the instance stands.
void place(vec3 p, vec3 n) {
  int slot = uFirst + gl_InstanceID;
  vec4 where = texel(tInstances, 2 * slot);
  vec4 what = texel(tInstances, 2 * slot + 1);
  vec3 world = vec3(where.z * p.x + where.w * p.z + where.x, p.y - what.w, where.z * p.z - where.w * p.x + where.y);
  vPosed = p;
  vNormal = vec3(where.z * n.x + where.w * n.z, n.y, where.z * n.z - where.w * n.x);
  vTint = tint(what.y, what.z);
  vToEye = uEye - world;
  gl_Position = uMatrix * vec4(world, 1);
}
`;

const BLEND = /* glsl */ `
layout(location = 0) in vec3 aPosition;
layout(location = 1) in vec3 aNormal;
uniform sampler2D tBones;
uniform int uStride, uBatch;  // texels of an instance; first instance of the batch

void add(inout vec4 x, inout vec4 y, inout vec4 z, int bone, float weight) {
  int at = (uFirst + gl_InstanceID - uBatch) * uStride + 3 * bone;
  x += weight * texel(tBones, at);
  y += weight * texel(tBones, at + 1);
  z += weight * texel(tBones, at + 2);
}

void skin(vec4 x, vec4 y, vec4 z) {
  vec4 p = vec4(aPosition, 1);
  place(vec3(dot(x, p), dot(y, p), dot(z, p)), vec3(dot(x.xyz, aNormal), dot(y.xyz, aNormal), dot(z.xyz, aNormal)));
}
`;

// Vertices that blend up to four (virtual) bones, which come as attributes.
export const DRAW_FOUR = `${HEAD}${TEXEL}${PLACED}${BLEND}
layout(location = 2) in uvec4 aNumbers;
layout(location = 3) in vec4 aWeights;
void main() {
  vec4 x = vec4(0), y = vec4(0), z = vec4(0);
  for (int k = 0; k < 4; ++k) if (aWeights[k] != 0.0) add(x, y, z, int(aNumbers[k]), aWeights[k]);
  skin(x, y, z);
}`;

// Vertices that blend any number of them, which come from a texture, two pairs of number and weight to a texel.
export const DRAW_MANY = `${HEAD}${TEXEL}${PLACED}${BLEND}
uniform sampler2D tBlends;
uniform int uPairs, uFirstBlend;
void main() {
  vec4 x = vec4(0), y = vec4(0), z = vec4(0);
  for (int n = 0; n < uPairs; ++n) {
    vec4 pair = texel(tBlends, uFirstBlend + gl_VertexID * uPairs + n);
    if (pair.y != 0.0) add(x, y, z, int(pair.x), pair.y);
    if (pair.w != 0.0) add(x, y, z, int(pair.z), pair.w);
  }
  skin(x, y, z);
}`;

// Vertices that were posed elsewhere and are sent for every instance and frame.
export const DRAW_STREAM = `${HEAD}${TEXEL}${PLACED}
uniform sampler2D tStream;
uniform int uVertices;
void main() {
  vec4 v = texel(tStream, gl_InstanceID * uVertices + gl_VertexID);
  vec2 e = vec2(floor(v.w / 4096.0), mod(v.w, 4096.0)) / 2047.5 - 1.0;  // the octahedron that stream.js folds
  vec3 n = vec3(e, 1.0 - abs(e.x) - abs(e.y));
  if (n.z < 0.0) n.xy = (1.0 - abs(n.yx)) * vec2(n.x < 0.0 ? -1.0 : 1.0, n.y < 0.0 ? -1.0 : 1.0);
  place(v.xyz, n);
}`;

export const SHADE = `${HEAD}
uniform vec3 uSky;
uniform float uFar;
uniform bool uFlat;
in vec3 vNormal, vTint, vToEye;
out vec4 color;
void main() {
  vec3 n = normalize(uFlat ? cross(dFdx(-vToEye), dFdy(-vToEye)) : gl_FrontFacing ? vNormal : -vNormal);
  float distance = length(vToEye);
  float key = max(dot(n, normalize(vec3(0.5, 0.8, 0.6))), 0.0);
  float rim = pow(1.0 - max(dot(n, vToEye / distance), 0.0), 3.0);
  vec3 lit = vTint * (0.32 + 0.26 * (0.5 + 0.5 * n.y) + 0.55 * key) + 0.08 * rim;
  color = vec4(mix(lit, uSky, smoothstep(0.35, 1.0, distance / uFar)), 1);
}`;
