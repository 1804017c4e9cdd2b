// The 3D view: the rig skinned in the shader, the original beside or over it, other rigs beside it, bones, grid and camera.
import {
  BufferAttribute, BufferGeometry, FloatType, GLSL3, GridHelper, Group, Mesh, NearestFilter, OrthographicCamera,
  PerspectiveCamera, PlaneGeometry, Points, Quaternion, Ray, RGBAFormat, Scene, ShaderMaterial, Vector3, WebGLRenderer,
  WebGLRenderTarget,
} from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { Figure, geometryOf } from './figure.js';
import { hitTriangle } from './pick.js';
import { normalTexture, skinningShader } from './skinning.js';
import { PLAIN_VERTEX, surfaces } from './surface.js';

const ORIGINAL = [0.78, 0.66, 0.5];
const AWAKE = 500;  // milliseconds that are drawn after the last change
const LIKE_SIZE = 2.5;  // rigs whose sizes are further apart are drawn as large as each other

/** Directions of all sides: from the middle of a cube to its faces, edges and corners. */
const SIDES = [-1, 0, 1];
const AROUND = SIDES.flatMap((x) => SIDES.flatMap((y) => SIDES.map((z) => new Vector3(x, y, z)))).filter((way) => way.lengthSq() > 0).map((way) => way.normalize());

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

/** The box of a model's first, middle and last frame, as [low, high]. */
function boxOf(model) {
  const box = [new Vector3(Infinity, Infinity, Infinity), new Vector3(-Infinity, -Infinity, -Infinity)];
  const point = new Vector3();
  for (const f of new Set([0, (model.frameCount - 1) >> 1, model.frameCount - 1])) {
    model.setFrame(f);
    const posed = model.positions();
    for (let v = 0; v < model.vertexCount; ++v) {
      point.fromArray(posed, 3 * v);
      box[0].min(point);
      box[1].max(point);
    }
  }
  return box;
}

/** A sphere around boxes, and the height of the floor below them. */
function extentOf(boxes) {
  const low = boxes.reduce((least, box) => least.min(box[0]), new Vector3(Infinity, Infinity, Infinity));
  const high = boxes.reduce((most, box) => most.max(box[1]), new Vector3(-Infinity, -Infinity, -Infinity));
  return { center: low.clone().add(high).multiplyScalar(0.5), radius: 0.5 * low.distanceTo(high) || 1, floor: low.y };
}

const alike = (a, b) => Math.max(a.radius / b.radius, b.radius / a.radius) < LIKE_SIZE;

export class Stage {
  constructor(canvas) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio));
    this.scene = new Scene();
    this.camera = new PerspectiveCamera(35, 1, 0.01, 100);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.addEventListener('change', () => this.wake());
    this.wake();
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

  /** Something may have changed: the view is drawn again for a while. */
  wake() {
    this.until = performance.now() + AWAKE;
  }

  get awake() { return performance.now() < this.until; }

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
    const before = this.bounds;
    const boxes = models.map(boxOf);
    this.extents = boxes.map((box) => extentOf([box]));
    this.bounds = extentOf(boxes.filter((_, i) => this.drawnScale(i) === 1));
    if (before && !alike(before, this.bounds)) this.#carry(before, this.bounds);
    this.grid = new GridHelper(8 * this.bounds.radius, 32, 0x7a8494, 0x565e6b);
    this.grid.material.transparent = true;
    this.grid.material.opacity = 0.35;
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

  /** How many times as large as it is one of the rigs is drawn beside the chosen one: 1 where they are of like size. */
  drawnScale(number) {
    const [chosen, other] = [this.extents[this.chosen], this.extents[number]];
    return alike(chosen, other) ? 1 : chosen.radius / other.radius;
  }

  // Takes the camera from where it sees one extent to where it sees another in the same way.
  #carry(from, to) {
    const scale = to.radius / from.radius;
    for (const point of [this.camera.position, this.controls.target]) point.sub(from.center).multiplyScalar(scale).add(to.center);
    this.camera.near *= scale;
    this.camera.far *= scale;
    this.camera.updateProjectionMatrix();
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

  /** Looks closely at a render vertex of the result, from where it is seen: as little turned as that takes. */
  lookAt(vertex) {
    const posed = this.model.positions();
    const point = new Vector3().fromArray(posed, 3 * vertex);
    const out = new Vector3().fromArray(this.#directions(posed), 3 * this.model.controlPoint[vertex]).normalize();
    const now = this.camera.position.clone().sub(this.controls.target).normalize();
    const distance = 0.9 * this.bounds.radius;
    const seen = (way) => {
      const eye = point.clone().addScaledVector(way, distance);
      const hit = hitTriangle(new Ray(eye, way.clone().negate()), posed, this.model.triangles);
      return !hit || hit.point.distanceTo(point) < 1e-3 * distance || hit.point.distanceTo(eye) > distance;
    };
    const ways = [0, 0.5, 1, 2, 8].map((share) => now.clone().addScaledVector(out, share).normalize());
    const way = ways.find((one) => one.dot(out) > 0.2 && seen(one)) ?? [...AROUND].sort((a, b) => b.dot(now) - a.dot(now)).find(seen) ?? now;
    this.controls.target.copy(point);
    this.camera.position.copy(point).addScaledVector(way, distance);
  }

  /** Marks a render vertex with a ring in front of everything; -1 marks none. */
  setMark(vertex) {
    this.wake();
    this.marked = vertex;
    this.mark.visible = vertex >= 0;
    if (vertex >= 0) this.#poseMark();
  }

  #poseMark() {
    this.mark.position.fromArray(this.model.positions(), 3 * this.marked);
  }

  /** Bones and the mark, which is where the pane shows its vertex: that of the original has a place of its own. */
  #drawFront(pane) {
    const original = this.left.visible && !this.right.visible;
    const place = this.mark.position.clone();
    if (original && this.marked >= 0) this.mark.position.fromArray(this.source.geometry.getAttribute('position').array, 3 * this.marked);
    const marked = this.mark.visible;
    this.mark.visible = marked && (original || pane === this.chosen);
    this.renderer.clearDepth();
    this.renderer.render(this.front, this.camera);
    this.mark.visible = marked;
    this.mark.position.copy(place);
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
    this.wake();
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
    this.wake();
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
    const own = this.extents?.[pane];
    const carried = own && this.drawnScale(pane) !== 1;
    const { camera: { position, near, far }, controls: { target } } = this;
    const kept = { position: position.clone(), target: target.clone() };
    if (carried) this.#carry(this.bounds, own);
    if (this.bounds) this.#standOn(carried ? own : this.bounds);
    this.renderer.render(this.scene, this.camera);
    const { visible } = this.inFront ?? {};
    if (this.inFront && !this.right.visible) this.inFront.visible = false;
    this.#drawFront(pane);
    if (this.inFront) this.inFront.visible = visible;
    position.copy(kept.position);
    target.copy(kept.target);
    Object.assign(this.camera, { near, far });
  }

  #standOn({ center, radius, floor }) {
    this.grid.scale.setScalar(radius / this.bounds.radius);
    this.grid.position.set(center.x, floor, center.z);
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
