// The first of the two passes of a two-layer model: virtual bones are blended from the bones once for each pose, into a
// texture from which the vertices take them.
import { FloatType, GLSL3, Mesh, NearestFilter, OrthographicCamera, PlaneGeometry, RGBAFormat, Scene, ShaderMaterial, WebGLRenderTarget } from 'three';
import { texelTexture } from './skinning.js';

const BLEND = /* glsl */ `
precision highp float;
precision highp int;
uniform highp sampler2D tBones, tAtoms;
uniform int atomPairs, rows;  // rows: three for each virtual bone
out vec4 row;
vec4 texel(highp sampler2D t, int i) {
  int width = textureSize(t, 0).x;
  return texelFetch(t, ivec2(i % width, i / width), 0);
}
void main() {
  int i = int(gl_FragCoord.y) * min(rows, 2048) + int(gl_FragCoord.x);
  row = vec4(0);
  if (i >= rows) return;
  for (int n = 0; n < atomPairs; ++n) {
    vec4 pair = texel(tAtoms, i / 3 * atomPairs + n);
    row += pair.y * texel(tBones, 3 * int(pair.x + 0.5) + i % 3);
    if (pair.w != 0.0) row += pair.w * texel(tBones, 3 * int(pair.z + 0.5) + i % 3);
  }
}`;

export class VirtualBones {
  /** Null where the device cannot draw into textures of floats: then every vertex blends the bones of its virtual bones. */
  static of(renderer, model, uniforms) {
    if (!model.twoLayer || !renderer.getContext().getExtension('EXT_color_buffer_float')) return null;
    return new VirtualBones(renderer, model, uniforms);
  }

  /** Takes the place of the bones in the uniforms that vertices are skinned with. */
  constructor(renderer, model, uniforms) {
    this.renderer = renderer;
    const rows = 3 * model.twoLayer.atoms;
    const width = Math.min(rows, 2048);
    this.bones = texelTexture(3 * model.boneCount);
    this.target = new WebGLRenderTarget(width, Math.ceil(rows / width), {
      type: FloatType, format: RGBAFormat, minFilter: NearestFilter, magFilter: NearestFilter, depthBuffer: false,
    });
    this.scene = new Scene();
    const quad = new Mesh(new PlaneGeometry(2, 2), new ShaderMaterial({
      glslVersion: GLSL3,
      vertexShader: 'void main() { gl_Position = vec4(position.xy, 0, 1); }',
      fragmentShader: BLEND,
      uniforms: { tBones: { value: this.bones }, tAtoms: uniforms.tAtoms, atomPairs: { value: uniforms.atomPairs.value }, rows: { value: rows } },
      depthTest: false,
    }));
    quad.frustumCulled = false;
    this.scene.add(quad);
    this.camera = new OrthographicCamera();
    uniforms.tBones.value = this.target.texture;
    uniforms.atomPairs.value = 0;  // what vertices blend are bones by now
  }

  blend() {
    this.renderer.setRenderTarget(this.target);
    this.renderer.setScissorTest(false);
    this.renderer.render(this.scene, this.camera);
    this.renderer.setRenderTarget(null);
  }

  dispose() {
    this.target.dispose();
    this.bones.dispose();
  }
}
