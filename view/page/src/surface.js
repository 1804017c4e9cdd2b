// How surfaces are drawn: shaders of the rig and of the original, and the look that the file gives them.
import { DoubleSide, GLSL3, ShaderMaterial } from 'three';
import { skinningShader } from './skinning.js';

const FRAGMENT = /* glsl */ `
precision highp float;
in vec3 vNormal, vColor, vView;
in vec2 vUv;
in vec4 vPaint;
uniform float opacity, cutoff;
uniform bool ownLook, flatShade, hasMap;
uniform vec4 baseColor;
uniform mat3 uvTransform;
uniform sampler2D map;
out vec4 outColor;
void main() {
  vec3 given = flatShade ? cross(dFdx(vView), dFdy(vView)) : (gl_FrontFacing ? vNormal : -vNormal);
  vec3 n = normalize(given);
  vec4 look = baseColor * vPaint;
  if (hasMap) look *= texture(map, (uvTransform * vec3(vUv, 1)).xy);
  if (ownLook && look.a < cutoff) discard;
  vec3 base = ownLook ? pow(max(look.rgb, vec3(0)), vec3(1.0 / 2.2)) : vColor;
  vec3 toEye = normalize(-vView);
  float key = max(dot(n, normalize(vec3(0.5, 0.8, 0.6))), 0.0);
  float fill = max(dot(n, normalize(vec3(-0.7, 0.1, 0.5))), 0.0);
  float rim = pow(1.0 - max(dot(n, toEye), 0.0), 3.0);
  float sky = 0.5 + 0.5 * n.y;
  vec3 lit = base * (0.30 + 0.24 * sky + 0.52 * key + 0.16 * fill) + 0.10 * rim;
  outColor = vec4(pow(lit, vec3(1.0 / 1.15)), opacity);
}`;

const INPUTS = /* glsl */ `
in vec3 color;
in vec4 paint;
out vec3 vNormal, vColor, vView;
out vec2 vUv;
out vec4 vPaint;
void passOn() {
  vColor = color;
  vUv = uv;
  vPaint = paint;
}`;

export const SKINNED_VERTEX = /* glsl */ `
precision highp float;
precision highp int;
${skinningShader}
${INPUTS}
void main() {
  Rows rows = blend(gl_VertexID);
  vec4 view = modelViewMatrix * vec4(skinned(rows, corrected(gl_VertexID)), 1);
  vNormal = normalMatrix * turned(rows, corrected_normal(gl_VertexID, normal));
  vView = view.xyz;
  passOn();
  gl_Position = projectionMatrix * view;
}`;

export const PLAIN_VERTEX = /* glsl */ `
precision highp float;
${INPUTS}
void main() {
  vec4 view = modelViewMatrix * vec4(position, 1);
  vNormal = normalMatrix * normal;
  vView = view.xyz;
  passOn();
  gl_Position = projectionMatrix * view;
}`;

/** One material per part of the model, in the order of its groups. `shared` uniforms are common to all. */
export function surfaces(vertexShader, shared, parts) {
  return parts.map(({ look, flat }) => {
    look.map?.updateMatrix();
    return new ShaderMaterial({
      glslVersion: GLSL3,
      vertexShader,
      fragmentShader: FRAGMENT,
      side: DoubleSide,
      uniforms: {
        ...shared,
        opacity: { value: 1 },
        ownLook: { value: false },
        flatShade: { value: flat },
        hasMap: { value: Boolean(look.map) },
        map: { value: look.map ?? null },
        uvTransform: { value: look.map?.matrix.clone() ?? { elements: [1, 0, 0, 0, 1, 0, 0, 0, 1] } },
        baseColor: { value: look.color },
        cutoff: { value: look.cutoff },
      },
    });
  });
}
