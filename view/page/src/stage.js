// The 3D view: the rig skinned in the shader, the original beside or over it, other rigs beside it, bones, grid and camera.
import {
  BufferAttribute, BufferGeometry, FloatType, GLSL3, GridHelper, Group, Mesh, NearestFilter, OrthographicCamera,
  PerspectiveCamera, PlaneGeometry, Points, Quaternion, RGBAFormat, Scene, ShaderMaterial, Sphere, Vector3, WebGLRenderer,
  WebGLRenderTarget,
} from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { Figure, geometryOf } from './figure.js';
import { normalTexture, skinningShader } from './skinning.js';
import { PLAIN_VERTEX, surfaces } from './surface.js';

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
    this.options = { show: 'result', wireframe: false, grid: true, bones: false, bounds: false, ownLook: false };
    this.flickerOriginal = false;
    this.figures = [];
    this.chosen = 0;
    this.frame = 0;
  }

  /** The chosen rig: the one that everything but the view side by side is about. */
  get figure() { return this.figures[this.chosen]; }
  get model() { return this.figure?.model; }
  get result() { return this.figure.mesh; }
  get bones() { return this.figure?.bones; }
  get uniforms() { return this.figure.uniforms; }

  /** Rigs that are shown side by side, one of which is chosen; `original` are frames to compare that one with, or null;
   *  `like` is the rig that plays those frames, or -1: then they are not shown twice. */
  setModels(models, chosen, original, like = -1) {
    for (const figure of this.figures) figure.dispose();
    this.figures = models.map((model) => new Figure(this.renderer, model));
    this.chosen = chosen;
    this.original = original;
    this.like = like;
    this.left.clear();
    this.right.clear();
    if (this.grid) this.scene.remove(this.grid);
    if (this.inFront) this.front.remove(this.inFront);
    this.inFront = new Group();
    this.front.add(this.inFront);
    this.setMark(-1);
    for (const { mesh, bones, bounds } of this.figures) {
      this.right.add(mesh);
      if (bounds) this.right.add(bounds.group);
      this.inFront.add(bones.group);
    }
    this.#addOriginal();
    this.bounds = this.#bounds();
    this.grid = new GridHelper(8 * this.bounds.radius, 32, 0x7a8494, 0x565e6b);
    this.grid.material.transparent = true;
    this.grid.material.opacity = 0.35;
    this.grid.position.set(this.bounds.center.x, this.floor, this.bounds.center.z);
    this.scene.add(this.grid);
    this.apply();
  }

  #addOriginal() {
    this.source = null;
    if (!this.original) return;
    const { model } = this;
    const geometry = geometryOf(model, new Float32Array(3 * model.vertexCount), new Float32Array(3 * model.vertexCount));
    const color = geometry.getAttribute('color');
    for (let v = 0; v < model.vertexCount; ++v) color.setXYZ(v, ...ORIGINAL);
    this.source = new Mesh(geometry, surfaces(PLAIN_VERTEX, {}, model.parts));
    this.source.frustumCulled = false;
    this.left.add(this.source);
    this.restDirections = this.#directions(model.rest);
  }

  // A sphere around the first, middle and last frame of all rigs, and the height of the floor.
  #bounds() {
    const low = new Vector3(Infinity, Infinity, Infinity);
    const high = new Vector3(-Infinity, -Infinity, -Infinity);
    const point = new Vector3();
    const seen = this.figures.flatMap(({ model }) => [...new Set([0, (model.frameCount - 1) >> 1, model.frameCount - 1])].map((f) => [model, f]));
    for (const [model, f] of seen) {
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
    const { columns, rows } = this.layout;
    this.camera.aspect = (width / columns) / ((height || 1) / rows);
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

  /** What is side by side: 'original' and numbers of rigs; one entry where nothing is. */
  get panes() {
    if (this.options.show !== 'side') return [this.options.show === 'original' ? 'original' : this.chosen];
    const rigs = [...this.figures.keys()];
    return this.source && this.like < 0 ? ['original', ...rigs] : rigs;
  }

  /** Rows and columns of the panes: as square as they can be, but two are beside each other. */
  get layout() {
    const count = this.panes.length;
    const { clientWidth: width, clientHeight: height } = this.renderer.domElement;
    const wanted = Math.min(count, Math.max(1, Math.round(Math.sqrt((1.6 * count * width) / (height || 1)))));
    const rows = count <= 2 ? 1 : Math.ceil(count / wanted);
    return { rows, columns: Math.ceil(count / rows) };
  }

  apply(changes = {}) {
    Object.assign(this.options, changes);
    const { show, wireframe, grid, bones, bounds, ownLook } = this.options;
    if (!this.model) return;
    const both = show === 'side' || show === 'overlay';
    this.left.visible = this.source !== null && (both || show === 'original' || (show === 'flicker' && this.flickerOriginal));
    this.right.visible = both || show === 'result' || (show === 'flicker' && !this.flickerOriginal);
    for (const figure of this.figures) {
      for (const material of figure.mesh.material) {
        material.wireframe = wireframe;
        material.uniforms.ownLook.value = ownLook;
      }
      if (figure.bounds) figure.bounds.group.visible = bounds;
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
    this.inFront.visible = bones;
  }

  /** How deep into the trees of bounds boxes are drawn. */
  setBoundsDepth(depth) {
    for (const { bounds } of this.figures) if (bounds) bounds.depth = depth;
    this.showPose();
  }

  setFrame(frame) {
    this.frame = frame;
    this.model.setFrame(frame);
    this.showPose();
    if (this.left.visible) this.#poseOriginal(frame);
  }

  /** Draws the pose that the chosen model has now, and the others at the same time of theirs. */
  showPose() {
    this.figure.showPose(this.frame, this.options);
    if (this.marked >= 0) this.#poseMark();
    if (this.options.show !== 'side') return;
    for (const figure of this.figures) {
      if (figure === this.figure) continue;
      const frame = figure.model.frameLike(this.model, this.frame);
      figure.model.setFrame(frame);
      figure.showPose(frame, this.options);
    }
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

  /** One pane; all have the same camera, so that everything is seen from the same angle. */
  #renderPane(pane, column, row, { columns, rows }) {
    const { clientWidth: width, clientHeight: height } = this.renderer.domElement;
    const [x, right] = [column, column + 1].map((i) => Math.floor((width * i) / columns));
    const [bottom, top] = [rows - row - 1, rows - row].map((i) => Math.floor((height * i) / rows));
    this.renderer.setViewport(x, bottom, right - x, top - bottom);
    this.renderer.setScissor(x, bottom, right - x, top - bottom);
    this.camera.aspect = (right - x) / (top - bottom);
    this.camera.updateProjectionMatrix();
    this.figures.forEach(({ mesh, bones, bounds }, i) => {
      mesh.visible = bones.group.visible = i === pane;
      if (bounds) bounds.group.visible = this.options.bounds && i === pane;
    });
    this.renderer.render(this.scene, this.camera);
    const { visible } = this.inFront ?? {};
    if (this.inFront && !this.right.visible) this.inFront.visible = false;
    const marked = this.mark.visible;
    this.mark.visible = marked && (pane === this.chosen || pane === 'original');
    this.renderer.clearDepth();
    this.renderer.render(this.front, this.camera);
    this.mark.visible = marked;
    if (this.inFront) this.inFront.visible = visible;
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
    const { panes, layout } = this;
    if (this.options.show !== 'side') return this.#renderPane(this.chosen, 0, 0, layout);
    panes.forEach((pane, i) => {
      this.left.visible = pane === 'original';
      this.right.visible = pane !== 'original';
      this.#renderPane(pane, i % layout.columns, Math.floor(i / layout.columns), layout);
    });
    this.left.visible = this.source !== null;
    this.right.visible = true;
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
