// The 3D view: the reconstruction skinned in the shader, the original beside or over it, bones, grid and camera.
import {
  BufferAttribute, BufferGeometry, DynamicDrawUsage, FloatType, GLSL3, GridHelper, Group, Mesh, NearestFilter, OrthographicCamera,
  PerspectiveCamera, PlaneGeometry, Points, Quaternion, RGBAFormat, Scene, ShaderMaterial, Sphere, Vector3, WebGLRenderer,
  WebGLRenderTarget,
} from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { BoneView } from './bones.js';
import { CLAY } from './colors.js';
import { normalTexture, skinningShader, skinningUniforms, updatePose } from './skinning.js';
import { PLAIN_VERTEX, SKINNED_VERTEX, surfaces } from './surface.js';
import { VirtualBones } from './virtual_bones.js';

const ORIGINAL = [0.78, 0.66, 0.5];

const READ_BACK = /* glsl */ `
precision highp float;
precision highp int;
${skinningShader}
uniform highp sampler2D tNormals;
uniform bool wantNormals;
uniform int targetWidth;
out vec4 outColor;
void main() {
  int v = int(gl_FragCoord.y) * targetWidth + int(gl_FragCoord.x);
  outColor = vec4(0);
  if (v >= vertexCount) return;
  Rows rows = blend(v);
  outColor.xyz = wantNormals ? turned(rows, corrected_normal(v, texel(tNormals, v).xyz)) : skinned(rows, corrected(v));
}`;

const MARK_FRAGMENT = /* glsl */ `
void main() {
  float r = length(gl_PointCoord - 0.5) * 2.0;
  if (r > 1.0 || r < 0.5) discard;
  gl_FragColor = r > 0.92 || r < 0.58 ? vec4(0.0, 0.0, 0.0, 1.0) : vec4(1.0, 0.54, 0.12, 1.0);
}`;

export class Stage {
  constructor(canvas) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio));
    this.scene = new Scene();
    this.camera = new PerspectiveCamera(35, 1, 0.01, 100);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.left = new Group();
    this.right = new Group();
    this.scene.add(this.left, this.right);
    this.front = new Scene();  // drawn over everything else: bones and marks
    this.mark = new Points(new BufferGeometry().setAttribute('position', new BufferAttribute(new Float32Array(3), 3)), new ShaderMaterial({
      vertexShader: 'void main() { gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); gl_PointSize = 28.0; }',
      fragmentShader: MARK_FRAGMENT,
    }));
    this.mark.frustumCulled = false;
    this.mark.visible = false;
    this.marked = -1;  // render vertex under the mark
    this.front.add(this.mark);
    this.options = { show: 'result', wireframe: false, grid: true, bones: false, ownLook: false };
    this.flickerOriginal = false;
  }

  setModel(model, original) {
    this.model = model;
    this.original = original;
    this.left.clear();
    this.right.clear();
    if (this.grid) this.scene.remove(this.grid);
    if (this.bones) this.front.remove(this.bones.group);
    this.setMark(-1);

    const geometry = this.#geometry(model.rest.slice(), model.normals.slice());
    this.uniforms = skinningUniforms(model);
    this.virtual?.dispose();
    this.virtual = VirtualBones.of(this.renderer, model, this.uniforms);
    this.result = new Mesh(geometry, surfaces(SKINNED_VERTEX, this.uniforms, model.parts));
    this.result.frustumCulled = false;
    this.right.add(this.result);
    this.#addOriginal();
    this.bones = new BoneView(model);
    this.front.add(this.bones.group);
    this.bounds = this.#bounds();
    this.grid = new GridHelper(8 * this.bounds.radius, 32, 0x7a8494, 0x565e6b);
    this.grid.material.transparent = true;
    this.grid.material.opacity = 0.35;
    this.grid.position.set(this.bounds.center.x, this.floor, this.bounds.center.z);
    this.scene.add(this.grid);
    this.apply();
    this.fit();
  }

  #geometry(positions, normals) {
    const { model } = this;
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

  #addOriginal() {
    this.source = null;
    if (!this.original) return;
    const { model } = this;
    const geometry = this.#geometry(new Float32Array(3 * model.vertexCount), new Float32Array(3 * model.vertexCount));
    const color = geometry.getAttribute('color');
    for (let v = 0; v < model.vertexCount; ++v) color.setXYZ(v, ...ORIGINAL);
    this.source = new Mesh(geometry, surfaces(PLAIN_VERTEX, {}, model.parts));
    this.source.frustumCulled = false;
    this.left.add(this.source);
    this.restDirections = this.#directions(model.rest);
  }

  // A sphere around the first, middle and last frame, and the height of the floor.
  #bounds() {
    const { model } = this;
    const low = new Vector3(Infinity, Infinity, Infinity);
    const high = new Vector3(-Infinity, -Infinity, -Infinity);
    const point = new Vector3();
    for (const f of new Set([0, (model.frameCount - 1) >> 1, model.frameCount - 1])) {
      model.setFrame(f);
      const posed = model.positions();
      for (let v = 0; v < model.vertexCount; ++v) {
        point.fromArray(posed, 3 * v);
        low.min(point);
        high.max(point);
      }
    }
    this.floor = low.y;
    const center = low.clone().add(high).multiplyScalar(0.5);
    return new Sphere(center, 0.5 * low.distanceTo(high) || 1);
  }

  fit() {
    const { center, radius } = this.bounds;
    const { clientWidth: width, clientHeight: height } = this.renderer.domElement;
    this.camera.aspect = width / (this.options.show === 'side' && this.source ? 2 : 1) / (height || 1);
    const distance = radius / Math.sin((this.camera.fov * Math.PI) / 360) / Math.min(1, this.camera.aspect + 0.1);
    this.controls.target.copy(center);
    this.camera.position.copy(center).add(new Vector3(0.75, 0.35, 1).normalize().multiplyScalar(0.85 * distance));
    this.camera.near = distance / 100;
    this.camera.far = distance * 20;
    this.camera.updateProjectionMatrix();
    this.controls.update();
  }

  /** Looks closely at a point of the result. */
  lookAt(x, y, z) {
    const offset = this.camera.position.clone().sub(this.controls.target).setLength(0.9 * this.bounds.radius);
    this.controls.target.set(x, y, z);
    this.camera.position.copy(this.controls.target).add(offset);
  }

  /** Marks a render vertex with a ring in front of everything; -1 marks none. */
  setMark(vertex) {
    this.marked = vertex;
    this.mark.visible = vertex >= 0;
    if (vertex >= 0) this.#poseMark();
  }

  #poseMark() {
    const posed = this.model.positions();
    const at = this.mark.geometry.getAttribute('position');
    at.setXYZ(0, ...posed.subarray(3 * this.marked, 3 * this.marked + 3));
    at.needsUpdate = true;
  }

  apply(changes = {}) {
    Object.assign(this.options, changes);
    const { show, wireframe, grid, bones, ownLook } = this.options;
    if (!this.model) return;
    const both = show === 'side' || show === 'overlay';
    this.left.visible = this.source !== null && (both || show === 'original' || (show === 'flicker' && this.flickerOriginal));
    this.right.visible = both || show === 'result' || (show === 'flicker' && !this.flickerOriginal);
    for (const material of this.result.material) {
      material.wireframe = wireframe;
      material.uniforms.ownLook.value = ownLook;
    }
    for (const material of this.source?.material ?? []) {
      material.wireframe = wireframe;
      material.transparent = show === 'overlay';
      material.uniforms.opacity.value = show === 'overlay' ? 0.35 : 1;
      material.uniforms.ownLook.value = ownLook;
      material.depthWrite = show !== 'overlay';
    }
    if (this.source) this.source.renderOrder = show === 'overlay' ? 1 : 0;
    this.grid.visible = grid;
    this.bones.group.visible = bones;
  }

  /** Colours of the result: a function from render vertex to [r, g, b]. */
  paint(colorOf = () => CLAY) {
    const color = this.result.geometry.getAttribute('color');
    for (let v = 0; v < this.model.vertexCount; ++v) color.setXYZ(v, ...colorOf(v));
    color.needsUpdate = true;
  }

  setFrame(frame) {
    this.model.setFrame(frame);
    this.showPose();
    if (this.left.visible) this.#poseOriginal(frame);
  }

  /** Draws the pose that the model has now. */
  showPose() {
    updatePose(this.uniforms, this.model, this.virtual?.bones);
    this.virtual?.blend();
    if (this.options.bones) this.bones.pose();
    if (this.marked >= 0) this.#poseMark();
  }

  #poseOriginal(frame) {
    const { data, vertices, frames, step = 1 } = this.original;
    const f = Math.min(frames - 1, Math.floor(frame / step));
    const t = f + 1 < frames ? frame / step - f : 0;
    const position = this.source.geometry.getAttribute('position');
    for (let v = 0; v < this.model.vertexCount; ++v) {
      const a = 3 * (f * vertices + this.model.controlPoint[v]);
      for (let c = 0; c < 3; ++c) position.array[3 * v + c] = t > 0 ? (1 - t) * data[a + c] + t * data[a + c + 3 * vertices] : data[a + c];
    }
    position.needsUpdate = true;
    this.#turnNormals(position.array);
  }

  /** Smooth directions of the control points: sums of the areas around them. */
  #directions(positions) {
    const { triangles, controlPoint, controlPointCount } = this.model;
    const out = new Float32Array(3 * controlPointCount);
    const [a, b, c] = [new Vector3(), new Vector3(), new Vector3()];
    for (let t = 0; t + 2 < triangles.length; t += 3) {
      const corners = triangles.subarray(t, t + 3);
      [a, b, c].forEach((p, i) => p.fromArray(positions, 3 * corners[i]));
      b.sub(a).cross(c.sub(a));
      for (const corner of corners) {
        const at = 3 * controlPoint[corner];
        out[at] += b.x;
        out[at + 1] += b.y;
        out[at + 2] += b.z;
      }
    }
    return out;
  }

  /** The rig's own normals, turned as the surface around each control point has turned since the rest pose: hard edges
   *  stay hard, so that both sides of a comparison are lit alike. */
  #turnNormals(positions) {
    const { model } = this;
    const now = this.#directions(positions);
    const normal = this.source.geometry.getAttribute('normal');
    const turns = new Map();
    const [from, to, n] = [new Vector3(), new Vector3(), new Vector3()];
    for (let v = 0; v < model.vertexCount; ++v) {
      const point = model.controlPoint[v];
      let turn = turns.get(point);
      if (!turn) {
        from.fromArray(this.restDirections, 3 * point).normalize();
        to.fromArray(now, 3 * point).normalize();
        turn = new Quaternion().setFromUnitVectors(from, to);
        turns.set(point, turn);
      }
      n.fromArray(model.normals, 3 * v).applyQuaternion(turn);
      normal.setXYZ(v, n.x, n.y, n.z);
    }
    normal.needsUpdate = true;
  }

  /** Positions or normals (of any length) as the shader computes them, read back from the GPU; null where the device has
   *  no float targets. */
  readBack(wantNormals = false) {
    if (!this.renderer.getContext().getExtension('EXT_color_buffer_float')) return null;
    const width = Math.min(2048, this.model.vertexCount);
    const height = Math.ceil(this.model.vertexCount / width);
    const normals = normalTexture(this.model);
    const target = new WebGLRenderTarget(width, height, { type: FloatType, format: RGBAFormat, minFilter: NearestFilter, magFilter: NearestFilter, depthBuffer: false });
    const material = new ShaderMaterial({
      glslVersion: GLSL3,
      vertexShader: 'void main() { gl_Position = vec4(position.xy, 0, 1); }',
      fragmentShader: READ_BACK,
      uniforms: {
        ...this.uniforms, targetWidth: { value: width }, wantNormals: { value: wantNormals }, tNormals: { value: normals },
      },
      depthTest: false,
    });
    const quad = new Mesh(new PlaneGeometry(2, 2), material);
    quad.frustumCulled = false;
    const scene = new Scene();
    scene.add(quad);
    this.renderer.setRenderTarget(target);
    this.renderer.setScissorTest(false);
    this.renderer.render(scene, new OrthographicCamera());
    const pixels = new Float32Array(4 * width * height);
    this.renderer.readRenderTargetPixels(target, 0, 0, width, height, pixels);
    this.renderer.setRenderTarget(null);
    target.dispose();
    normals.dispose();
    material.dispose();
    const out = new Float32Array(3 * this.model.vertexCount);
    for (let v = 0; v < this.model.vertexCount; ++v) for (let c = 0; c < 3; ++c) out[3 * v + c] = pixels[4 * v + c];
    return out;
  }

  /** Both halves of a side-by-side view have the same camera, so that they are seen from the same angle. */
  #renderHalf(part, parts) {
    const { clientWidth: width, clientHeight: height } = this.renderer.domElement;
    const x = Math.floor((width * part) / parts);
    const wide = Math.floor((width * (part + 1)) / parts) - x;
    this.renderer.setViewport(x, 0, wide, height);
    this.renderer.setScissor(x, 0, wide, height);
    this.camera.aspect = wide / height;
    this.camera.updateProjectionMatrix();
    this.renderer.render(this.scene, this.camera);
    const original = !this.right.visible;
    const { visible } = this.bones?.group ?? {};
    if (original && this.bones) this.bones.group.visible = false;
    this.renderer.clearDepth();
    this.renderer.render(this.front, this.camera);
    if (original && this.bones) this.bones.group.visible = visible;
  }

  render() {
    const { clientWidth: width, clientHeight: height } = this.renderer.domElement;
    const ratio = this.renderer.getPixelRatio();
    if (this.renderer.domElement.width !== Math.floor(width * ratio) || this.renderer.domElement.height !== Math.floor(height * ratio))
      this.renderer.setSize(width, height, false);
    this.controls.update();
    this.renderer.autoClear = false;
    this.renderer.setScissorTest(true);
    this.renderer.setScissor(0, 0, width, height);
    this.renderer.clear();
    if (this.options.show !== 'side' || !this.source) return this.#renderHalf(0, 1);
    for (const part of [0, 1]) {
      this.left.visible = part === 0;
      this.right.visible = part === 1;
      this.#renderHalf(part, 2);
    }
    this.left.visible = this.right.visible = true;
  }

  /** The view as a PNG, on the page's background. */
  async picture() {
    this.render();
    const canvas = this.renderer.domElement;
    const paper = new OffscreenCanvas(canvas.width, canvas.height);
    const context = paper.getContext('2d');
    const style = getComputedStyle(document.documentElement);
    const shades = context.createLinearGradient(0, 0, 0, canvas.height);
    shades.addColorStop(0, style.getPropertyValue('--top').trim());
    shades.addColorStop(1, style.getPropertyValue('--bottom').trim());
    context.fillStyle = shades;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(canvas, 0, 0);
    return paper.convertToBlob({ type: 'image/png' });
  }
}
