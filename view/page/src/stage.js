// The 3D view: the reconstruction skinned in the shader, the original beside or over it, bones, grid and camera.
import {
  BufferAttribute, BufferGeometry, Color, DynamicDrawUsage, DoubleSide, FloatType, GLSL3, GridHelper, Group, LineBasicMaterial,
  LineSegments, Mesh, NearestFilter, OrthographicCamera, PerspectiveCamera, PlaneGeometry, Points, PointsMaterial, RGBAFormat,
  Scene, ShaderMaterial, Sphere, Vector3, WebGLRenderer, WebGLRenderTarget,
} from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { CLAY } from './colors.js';
import { skinningShader, skinningUniforms, updatePose } from './skinning.js';

const FRAGMENT = /* glsl */ `
precision highp float;
in vec3 vNormal, vColor, vView;
uniform float opacity;
out vec4 outColor;
void main() {
  vec3 n = normalize(gl_FrontFacing ? vNormal : -vNormal);
  vec3 toEye = normalize(-vView);
  float key = max(dot(n, normalize(vec3(0.5, 0.8, 0.6))), 0.0);
  float fill = max(dot(n, normalize(vec3(-0.7, 0.1, 0.5))), 0.0);
  float rim = pow(1.0 - max(dot(n, toEye), 0.0), 3.0);
  float sky = 0.5 + 0.5 * n.y;
  vec3 lit = vColor * (0.22 + 0.22 * sky + 0.55 * key + 0.18 * fill) + 0.12 * rim;
  outColor = vec4(pow(lit, vec3(1.0 / 1.15)), opacity);
}`;

const SKINNED_VERTEX = /* glsl */ `
precision highp float;
precision highp int;
${skinningShader}
in vec3 color;
out vec3 vNormal, vColor, vView;
void main() {
  Rows rows = blend(gl_VertexID);
  vec4 view = modelViewMatrix * vec4(skinned(rows, corrected(gl_VertexID)), 1);
  vNormal = normalMatrix * turned(rows, normal);
  vColor = color;
  vView = view.xyz;
  gl_Position = projectionMatrix * view;
}`;

const PLAIN_VERTEX = /* glsl */ `
precision highp float;
in vec3 color;
out vec3 vNormal, vColor, vView;
void main() {
  vec4 view = modelViewMatrix * vec4(position, 1);
  vNormal = normalMatrix * normal;
  vColor = color;
  vView = view.xyz;
  gl_Position = projectionMatrix * view;
}`;

const READ_BACK = /* glsl */ `
precision highp float;
precision highp int;
${skinningShader}
uniform int targetWidth;
out vec4 outColor;
void main() {
  int v = int(gl_FragCoord.y) * targetWidth + int(gl_FragCoord.x);
  outColor = v < vertexCount ? vec4(skinned(blend(v), corrected(v)), 1) : vec4(0);
}`;

const surface = (vertexShader, uniforms) => new ShaderMaterial({
  glslVersion: GLSL3, vertexShader, fragmentShader: FRAGMENT, uniforms: { ...uniforms, opacity: { value: 1 } }, side: DoubleSide,
});

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
    this.options = { show: 'result', wireframe: false, grid: true, bones: false };
    this.flickerOriginal = false;
  }

  setModel(model, original) {
    this.model = model;
    this.original = original;
    this.left.clear();
    this.right.clear();
    if (this.grid) this.scene.remove(this.grid);

    const geometry = new BufferGeometry();
    geometry.setIndex(new BufferAttribute(model.triangles, 1));
    geometry.setAttribute('position', new BufferAttribute(model.rest, 3));
    geometry.setAttribute('normal', new BufferAttribute(model.normals, 3));
    geometry.setAttribute('color', new BufferAttribute(new Float32Array(3 * model.vertexCount), 3).setUsage(DynamicDrawUsage));
    this.uniforms = skinningUniforms(model);
    this.result = new Mesh(geometry, surface(SKINNED_VERTEX, this.uniforms));
    this.result.frustumCulled = false;
    this.right.add(this.result);
    this.#addOriginal();
    this.#addBones();
    this.bounds = this.#bounds();
    this.grid = new GridHelper(8 * this.bounds.radius, 32, 0x7a8494, 0x565e6b);
    this.grid.material.transparent = true;
    this.grid.material.opacity = 0.35;
    this.grid.position.set(this.bounds.center.x, this.floor, this.bounds.center.z);
    this.scene.add(this.grid);
    this.apply();
    this.fit();
  }

  #addOriginal() {
    this.source = null;
    if (!this.original) return;
    const { model } = this;
    const geometry = new BufferGeometry();
    geometry.setIndex(new BufferAttribute(model.triangles, 1));
    for (const name of ['position', 'normal', 'color'])
      geometry.setAttribute(name, new BufferAttribute(new Float32Array(3 * model.vertexCount), 3).setUsage(DynamicDrawUsage));
    const color = geometry.getAttribute('color');
    for (let v = 0; v < model.vertexCount; ++v) color.setXYZ(v, 0.78, 0.66, 0.5);
    this.source = new Mesh(geometry, surface(PLAIN_VERTEX, {}));
    this.source.frustumCulled = false;
    this.left.add(this.source);
  }

  #addBones() {
    const { model } = this;
    const lines = model.hierarchy ? model.boneCount : 3 * model.boneCount;
    const geometry = new BufferGeometry();
    geometry.setAttribute('position', new BufferAttribute(new Float32Array(6 * lines), 3).setUsage(DynamicDrawUsage));
    geometry.setAttribute('color', new BufferAttribute(new Float32Array(6 * lines), 3).setUsage(DynamicDrawUsage));
    this.boneLines = new LineSegments(geometry, new LineBasicMaterial({ vertexColors: true, depthTest: false, transparent: true }));
    const points = new BufferGeometry();
    points.setAttribute('position', new BufferAttribute(new Float32Array(3 * model.boneCount), 3).setUsage(DynamicDrawUsage));
    this.bonePoints = new Points(points, new PointsMaterial({ size: 7, sizeAttenuation: false, color: 0xe4574c, depthTest: false, transparent: true }));
    for (const object of [this.boneLines, this.bonePoints]) {
      object.frustumCulled = false;
      object.renderOrder = 2;
      this.right.add(object);
    }
    this.virtualPoints = null;
    if (model.twoLayer) {
      const atoms = new BufferGeometry();
      atoms.setAttribute('position', new BufferAttribute(new Float32Array(3 * model.twoLayer.atoms), 3).setUsage(DynamicDrawUsage));
      this.virtualPoints = new Points(atoms, new PointsMaterial({ size: 4, sizeAttenuation: false, color: 0x4c8be4, depthTest: false, transparent: true }));
      this.virtualPoints.frustumCulled = false;
      this.virtualPoints.renderOrder = 1;
      this.right.add(this.virtualPoints);
    }
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
    const wide = this.options.show === 'side' ? 1.35 : 1;
    const distance = (wide * radius) / Math.sin((this.camera.fov * Math.PI) / 360) / Math.min(1, this.camera.aspect / wide + 0.25);
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
    this.controls.target.set(x, y, z).add(this.right.position);
    this.camera.position.copy(this.controls.target).add(offset);
  }

  apply(changes = {}) {
    Object.assign(this.options, changes);
    const { show, wireframe, grid, bones } = this.options;
    if (!this.model) return;
    const both = show === 'side' || show === 'overlay';
    this.left.visible = this.source !== null && (both || show === 'original' || (show === 'flicker' && this.flickerOriginal));
    this.right.visible = both || show === 'result' || (show === 'flicker' && !this.flickerOriginal);
    const apart = show === 'side' ? 0.62 * this.bounds.radius : 0;
    // Side by side along the camera's horizontal axis, so that neither hides the other.
    const across = new Vector3(1, 0, 0).applyQuaternion(this.camera.quaternion).setY(0).normalize();
    this.left.position.copy(across).multiplyScalar(-apart);
    this.right.position.copy(across).multiplyScalar(apart);
    this.result.material.wireframe = wireframe;
    if (this.source) {
      this.source.material.wireframe = wireframe;
      this.source.material.transparent = show === 'overlay';
      this.source.material.uniforms.opacity.value = show === 'overlay' ? 0.35 : 1;
      this.source.material.depthWrite = show !== 'overlay';
      this.source.renderOrder = show === 'overlay' ? 1 : 0;
    }
    this.grid.visible = grid;
    this.boneLines.visible = this.bonePoints.visible = bones;
    if (this.virtualPoints) this.virtualPoints.visible = bones;
    this.result.material.transparent = bones;
    this.result.material.uniforms.opacity.value = bones ? 0.45 : 1;
  }

  /** Colours of the result: a function from render vertex to [r, g, b]. */
  paint(colorOf = () => CLAY) {
    const color = this.result.geometry.getAttribute('color');
    for (let v = 0; v < this.model.vertexCount; ++v) color.setXYZ(v, ...colorOf(v));
    color.needsUpdate = true;
  }

  setFrame(frame) {
    this.model.setFrame(frame);
    updatePose(this.uniforms, this.model);
    if (this.left.visible) this.#poseOriginal(frame);
    if (this.options.bones) this.#poseBones();
  }

  #poseOriginal(frame) {
    const { data, vertices, frames } = this.original;
    const f = Math.min(frames - 1, Math.floor(frame));
    const t = f + 1 < frames ? frame - f : 0;
    const position = this.source.geometry.getAttribute('position');
    for (let v = 0; v < this.model.vertexCount; ++v) {
      const a = 3 * (f * vertices + this.model.controlPoint[v]);
      for (let c = 0; c < 3; ++c) position.array[3 * v + c] = t > 0 ? (1 - t) * data[a + c] + t * data[a + c + 3 * vertices] : data[a + c];
    }
    position.needsUpdate = true;
    this.source.geometry.computeVertexNormals();
  }

  #poseBones() {
    const { model } = this;
    const points = this.bonePoints.geometry.getAttribute('position');
    const head = new Vector3();
    const other = new Vector3();
    const axis = new Vector3();
    const lines = this.boneLines.geometry.getAttribute('position');
    const colors = this.boneLines.geometry.getAttribute('color');
    const size = 0.05 * model.diagonal;
    const tint = new Color();
    model.bones.forEach((bone, b) => {
      model.jointPosition(b, head);
      points.setXYZ(b, head.x, head.y, head.z);
      if (model.hierarchy) {
        const from = bone.parent >= 0 ? model.jointPosition(bone.parent, other) : other.copy(head);
        lines.setXYZ(2 * b, from.x, from.y, from.z);
        lines.setXYZ(2 * b + 1, head.x, head.y, head.z);
        for (const i of [0, 1]) colors.setXYZ(2 * b + i, 0.95, 0.78, 0.3);
        return;
      }
      for (let k = 0; k < 3; ++k) {
        axis.setFromMatrixColumn(bone.node.matrixWorld, k).setLength(size).add(head);
        lines.setXYZ(6 * b + 2 * k, head.x, head.y, head.z);
        lines.setXYZ(6 * b + 2 * k + 1, axis.x, axis.y, axis.z);
        tint.setHex([0xe4574c, 0x59b35c, 0x4c8be4][k]);
        for (const i of [0, 1]) colors.setXYZ(6 * b + 2 * k + i, tint.r, tint.g, tint.b);
      }
    });
    if (this.virtualPoints) {
      const atoms = this.virtualPoints.geometry.getAttribute('position');
      atoms.array.set(model.twoLayer.positions(model));
      atoms.needsUpdate = true;
    }
    points.needsUpdate = lines.needsUpdate = colors.needsUpdate = true;
  }

  /** Positions as the shader computes them, read back from the GPU; null where the device has no float targets. */
  readBack() {
    if (!this.renderer.getContext().getExtension('EXT_color_buffer_float')) return null;
    const width = Math.min(2048, this.model.vertexCount);
    const height = Math.ceil(this.model.vertexCount / width);
    const target = new WebGLRenderTarget(width, height, { type: FloatType, format: RGBAFormat, minFilter: NearestFilter, magFilter: NearestFilter, depthBuffer: false });
    const material = new ShaderMaterial({
      glslVersion: GLSL3,
      vertexShader: 'void main() { gl_Position = vec4(position.xy, 0, 1); }',
      fragmentShader: READ_BACK,
      uniforms: { ...this.uniforms, targetWidth: { value: width } },
      depthTest: false,
    });
    const quad = new Mesh(new PlaneGeometry(2, 2), material);
    quad.frustumCulled = false;
    const scene = new Scene();
    scene.add(quad);
    this.renderer.setRenderTarget(target);
    this.renderer.render(scene, new OrthographicCamera());
    const pixels = new Float32Array(4 * width * height);
    this.renderer.readRenderTargetPixels(target, 0, 0, width, height, pixels);
    this.renderer.setRenderTarget(null);
    target.dispose();
    material.dispose();
    const out = new Float32Array(3 * this.model.vertexCount);
    for (let v = 0; v < this.model.vertexCount; ++v) for (let c = 0; c < 3; ++c) out[3 * v + c] = pixels[4 * v + c];
    return out;
  }

  render() {
    const { clientWidth: width, clientHeight: height } = this.renderer.domElement;
    const ratio = this.renderer.getPixelRatio();
    if (this.renderer.domElement.width !== Math.floor(width * ratio) || this.renderer.domElement.height !== Math.floor(height * ratio)) {
      this.renderer.setSize(width, height, false);
      this.camera.aspect = width / height;
      this.camera.updateProjectionMatrix();
    }
    this.controls.update();
    this.renderer.render(this.scene, this.camera);
  }
}
