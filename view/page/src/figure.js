// One rig as it is drawn: its surface, and in front of everything its bones.
import { BufferAttribute, BufferGeometry, DynamicDrawUsage, Mesh } from 'three';
import { BoneView } from './bones.js';
import { BoundsView } from './bounds.js';
import { CLAY } from './colors.js';
import { skinningUniforms, updatePose } from './skinning.js';
import { SKINNED_VERTEX, surfaces } from './surface.js';
import { VirtualBones } from './virtual_bones.js';

/** The triangles of a model with positions and normals of its render vertices, one group for each of its parts. */
export function geometryOf(model, positions, normals) {
  const geometry = new BufferGeometry();
  geometry.setIndex(new BufferAttribute(model.triangles, 1));
  geometry.setAttribute('position', new BufferAttribute(positions, 3).setUsage(DynamicDrawUsage));
  geometry.setAttribute('normal', new BufferAttribute(normals, 3).setUsage(DynamicDrawUsage));
  geometry.setAttribute('color', new BufferAttribute(new Float32Array(3 * model.vertexCount), 3).setUsage(DynamicDrawUsage));
  geometry.setAttribute('uv', new BufferAttribute(model.uvs, 2));
  geometry.setAttribute('paint', new BufferAttribute(model.paint, 4));
  model.parts.forEach(({ first, count }, i) => geometry.addGroup(first, count, i));
  return geometry;
}

export class Figure {
  constructor(renderer, model) {
    this.model = model;
    this.uniforms = skinningUniforms(model);
    this.virtual = VirtualBones.of(renderer, model, this.uniforms);
    this.mesh = new Mesh(geometryOf(model, model.rest.slice(), model.normals.slice()), surfaces(SKINNED_VERTEX, this.uniforms, model.parts));
    this.mesh.frustumCulled = false;
    this.bones = new BoneView(model, renderer.getPixelRatio());
    this.bounds = model.bounds ? new BoundsView(model) : null;
  }

  dispose() {
    for (const { value } of Object.values(this.uniforms)) value?.dispose?.();
    this.virtual?.dispose();
    this.mesh.geometry.dispose();
    for (const material of this.mesh.material) material.dispose();
  }

  /** Colours from render vertex to [r, g, b]. */
  paint(colorOf = () => CLAY) {
    const color = this.mesh.geometry.getAttribute('color');
    for (let v = 0; v < this.model.vertexCount; ++v) color.setXYZ(v, ...colorOf(v));
    color.needsUpdate = true;
  }

  /** Draws the pose that the model has now. */
  showPose(frame, { bones, bounds }) {
    updatePose(this.uniforms, this.model, this.virtual?.bones);
    this.virtual?.blend();
    if (bones) this.bones.pose();
    if (bounds) this.bounds?.pose(frame);
  }
}
