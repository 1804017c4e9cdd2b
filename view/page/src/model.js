// A rig as the page plays it: render vertices with packed weights, bone slots bound to nodes, corrections, frames.
import { AnimationMixer, LoopOnce, Matrix4, Vector3, Vector4 } from 'three';
import { MeshoptDecoder } from 'three/addons/libs/meshopt_decoder.module.js';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
import { readBounds } from './bounds.js';
import { drivesOf } from './drives.js';
import { readSliders } from './sliders.js';
import { readTwoLayer } from './two_layer.js';

/** Parses a GLB and resolves to a Model; rejects with an Error whose message is a sentence for the user. `ktx2` loads
 *  compressed textures. */
export async function parseModel(buffer, name, ktx2) {
  let gltf;
  try {
    gltf = await new GLTFLoader().setMeshoptDecoder(MeshoptDecoder).setKTX2Loader(ktx2).parseAsync(buffer, '');
  } catch (error) {
    throw new Error(`${name} is not a glTF file this page can read: ${String(error.message ?? error)}`);
  }
  gltf.scene.updateMatrixWorld(true);
  const meshes = meshesBelow(gltf.scene);
  if (meshes.length === 0) throw new Error(`${name} holds no mesh.`);
  const model = new Model(gltf, meshes, name);
  model.twoLayer = await readTwoLayer(gltf, model);
  model.sliders = await readSliders(gltf, model);
  model.bounds = await readBounds(gltf, model).catch(() => null);  // extras: the rig is shown without
  for (const level of await levelsOf(gltf).catch(() => [])) model.levels.push(new Model(gltf, level, name, model));
  for (const one of [model, ...model.levels]) {
    one.bytes = buffer;
    one.nodeNumbers = one.bones.map(({ node }) => gltf.parser.associations.get(node)?.nodes);
    one.drives = drivesOf(one);
    one.setFrame(0);
  }
  return model;
}

function meshesBelow(root) {
  const meshes = [];
  root.traverse((node) => { if (node.isMesh) meshes.push(node); });
  return meshes;
}

/** Meshes of each coarser level of detail [MSFT_lod]: nodes of no scene that take the place of those that name them. A node
 *  without so many levels stays with its coarsest. Levels that are not skinned are left out: nothing would move them. */
async function levelsOf(gltf) {
  const { json } = gltf.parser;
  const nodes = [];
  gltf.scene.traverse((node) => {
    const number = gltf.parser.associations.get(node)?.nodes;
    if (json.nodes?.[number]?.mesh !== undefined && !nodes.includes(number)) nodes.push(number);
  });
  const chains = nodes.map((number) => [number, ...[json.nodes[number].extensions?.MSFT_lod?.ids ?? []].flat()]);
  const levels = [];
  for (let level = 1; level < Math.max(...chains.map((chain) => chain.length)); ++level) {
    const meshes = [];
    for (const chain of chains) meshes.push(...meshesBelow(await gltf.parser.getDependency('node', chain[Math.min(level, chain.length - 1)])));
    if (meshes.length > 0 && meshes.every((mesh) => mesh.isSkinnedMesh)) levels.push(meshes);
  }
  return levels;
}

/** What a material says about the colour of a surface. */
function lookOf(material) {
  const { color, map = null, opacity = 1, alphaTest = 0 } = material;
  return { map, color: new Vector4(color?.r ?? 1, color?.g ?? 1, color?.b ?? 1, opacity), cutoff: alphaTest };
}

/** Number of influence slots that a geometry stores: 4 per JOINTS_n. */
function slotsOf(mesh) {
  if (!mesh.isSkinnedMesh) return 1;
  let sets = 1;
  while (mesh.geometry.getAttribute(`joints_${sets}`)) ++sets;
  return 4 * sets;
}

export class Model {
  /** A level of detail has a `leader`: the model whose motion it shares. */
  constructor(gltf, meshes, name, leader = null) {
    this.name = name;
    this.leader = leader;
    this.levels = [];
    this.bounds = null;
    this.drives = [];
    this.scene = gltf.scene;
    this.notes = gltf.asset?.extras?.sinew ?? {};
    this.bones = [];  // { node, inverse, name, parent }
    this.painted = false;  // whether the file says how its surface looks
    this.#collectGeometry(meshes);
    this.#collectCorrections(meshes);
    this.#collectFrames(gltf);
    this.twoLayer = null;
    this.sliders = null;
    this.matrices = new Float32Array(12 * this.bones.length);  // rows of 3×4, rest→posed
    this.coefficients = new Float32Array(this.rank);
    this.shownRank = this.rank;
    this.setFrame(0);
    this.diagonal = this.#diagonal();
    this.cores = this.#cores();
    this.hierarchy = this.bones.some((bone) => bone.parent >= 0);
  }

  get frameCount() { return this.frames.length; }
  get boneCount() { return this.bones.length; }

  #collectGeometry(meshes) {
    let vertices = 0;
    let corners = 0;
    for (const mesh of meshes) {
      vertices += mesh.geometry.getAttribute('position').count;
      corners += mesh.geometry.index ? mesh.geometry.index.count : mesh.geometry.getAttribute('position').count;
    }
    this.vertexCount = vertices;
    this.slots = Math.max(...meshes.map(slotsOf));
    this.rest = new Float32Array(3 * vertices);
    this.normals = new Float32Array(3 * vertices);
    this.weightBones = new Uint32Array(this.slots * vertices);
    this.weights = new Float32Array(this.slots * vertices);
    this.uvs = new Float32Array(2 * vertices);
    this.paint = new Float32Array(4 * vertices).fill(1);  // vertex colours, linear
    this.parts = [];  // { first, count, look, flat }: corners that share a material
    this.triangles = new Uint32Array(corners);
    this.controlPoint = new Uint32Array(vertices);
    this.onGrid = meshes.some((mesh) => !(mesh.geometry.getAttribute('position').array instanceof Float32Array));

    const slotOf = new Map();  // node and inverse bind matrix → bone number
    const boneOf = (node, inverse) => {
      const key = `${node.uuid}|${inverse.elements.join()}`;
      if (!slotOf.has(key)) {
        slotOf.set(key, this.bones.length);
        this.bones.push({ node, inverse: inverse.clone(), name: node.name || `bone ${this.bones.length}`, parent: -1 });
      }
      return slotOf.get(key);
    };

    let base = 0;
    let corner = 0;
    let point = 0;
    for (const mesh of meshes) {
      const { geometry } = mesh;
      const flat = !geometry.getAttribute('normal');
      if (flat) geometry.computeVertexNormals();
      const uv = geometry.getAttribute(mesh.material.map?.channel ? `uv${mesh.material.map.channel}` : 'uv');
      const paint = geometry.getAttribute('color');
      const position = geometry.getAttribute('position');
      const normal = geometry.getAttribute('normal');
      const given = geometry.getAttribute('_control_point');
      let points = 0;
      for (let i = 0; i < position.count; ++i) {
        const v = base + i;
        for (let c = 0; c < 3; ++c) {
          this.rest[3 * v + c] = position.getComponent(i, c);
          this.normals[3 * v + c] = normal.getComponent(i, c);
        }
        if (uv) this.uvs.set([uv.getX(i), uv.getY(i)], 2 * v);
        if (paint) for (let c = 0; c < paint.itemSize; ++c) this.paint[4 * v + c] = paint.getComponent(i, c);
        const local = given ? given.getX(i) : i;
        this.controlPoint[v] = given ? local : point + local;
        points = Math.max(points, local + 1);
      }
      if (mesh.isSkinnedMesh) this.#collectWeights(mesh, base, boneOf);
      else this.#bindWhole(base, position.count, boneOf(mesh, new Matrix4()));
      const { index } = geometry;
      const count = index ? index.count : position.count;
      this.parts.push({ first: corner, count, look: lookOf(mesh.material), flat });
      this.painted ||= Boolean(paint) || Boolean(mesh.material.map) || mesh.material.color?.getHex() !== 0xffffff;
      for (let i = 0; i < count; ++i) this.triangles[corner++] = base + (index ? index.getX(i) : i);
      base += position.count;
      point = given ? Math.max(point, points) : point + points;
    }
    this.controlPointCount = point;
    const bySlot = new Map(this.bones.map((bone, b) => [bone.node, b]));
    for (const bone of this.bones) {
      for (let up = bone.node.parent; up; up = up.parent) {
        if (!bySlot.has(up)) continue;
        bone.parent = bySlot.get(up);
        break;
      }
    }
  }

  #collectWeights(mesh, base, boneOf) {
    const numbers = mesh.skeleton.bones.map((node, j) => boneOf(node, mesh.skeleton.boneInverses[j]));
    const { geometry } = mesh;
    const count = geometry.getAttribute('position').count;
    for (let set = 0; set < slotsOf(mesh) / 4; ++set) {
      const joints = geometry.getAttribute(set === 0 ? 'skinIndex' : `joints_${set}`);
      const weights = geometry.getAttribute(set === 0 ? 'skinWeight' : `weights_${set}`);
      for (let i = 0; i < count; ++i)
        for (let c = 0; c < 4; ++c) {
          const at = (base + i) * this.slots + 4 * set + c;
          this.weights[at] = weights.getComponent(i, c);
          this.weightBones[at] = numbers[joints.getComponent(i, c)];
        }
    }
    // three.js has scaled the first four weights to sum 1 by themselves: give them back what the other sets leave.
    for (let i = base; i < base + count; ++i) {
      let others = 0;
      for (let k = 4; k < this.slots; ++k) others += this.weights[i * this.slots + k];
      for (let k = 0; k < 4; ++k) this.weights[i * this.slots + k] *= Math.max(0, 1 - others);
    }
  }

  #bindWhole(base, count, bone) {
    for (let v = base; v < base + count; ++v) {
      this.weights[v * this.slots] = 1;
      this.weightBones[v * this.slots] = bone;
    }
  }

  // Morph targets of all meshes, as offsets; target r of each mesh shares the coefficient of its own influence r.
  #collectCorrections(meshes) {
    this.rank = Math.max(...meshes.map((mesh) => mesh.geometry.morphAttributes.position?.length ?? 0));
    this.morphs = new Float32Array(3 * this.rank * this.vertexCount);
    this.morphNormals = new Float32Array(3 * this.rank * this.vertexCount);
    this.bent = meshes.some((mesh) => mesh.geometry.morphAttributes.normal?.length > 0);
    this.morphMeshes = this.leader?.morphMeshes ?? meshes;
    let base = 0;
    for (const mesh of meshes) {
      const { count } = mesh.geometry.getAttribute('position');
      for (const [key, out] of [['position', this.morphs], ['normal', this.morphNormals]])
        (mesh.geometry.morphAttributes[key] ?? []).forEach((target, r) => {
          for (let i = 0; i < count; ++i)
            for (let c = 0; c < 3; ++c) out[3 * (r * this.vertexCount + base + i) + c] = target.getComponent(i, c);
        });
      base += count;
    }
  }

  // Frames are the keys of each clip in turn; a still file has one frame.
  #collectFrames(gltf) {
    if (this.leader) {
      this.clips = this.leader.clips;
      this.frames = this.leader.frames;
      return;
    }
    this.mixer = new AnimationMixer(gltf.scene);
    this.clips = [];
    this.frames = [];  // { clip, time }
    for (const animation of gltf.animations) {
      const times = [...new Set(animation.tracks.flatMap((track) => [...track.times]))].sort((a, b) => a - b);
      if (times.length === 0) continue;
      const action = this.mixer.clipAction(animation);
      action.setLoop(LoopOnce);
      action.clampWhenFinished = true;
      this.clips.push({ name: animation.name || `clip ${this.clips.length}`, action, first: this.frames.length, count: times.length });
      for (const time of times) this.frames.push({ clip: this.clips.length - 1, time });
    }
    if (this.frames.length === 0) this.frames.push({ clip: -1, time: 0 });
    this.activeClip = -2;
  }

  // Positions on a grid (KHR_mesh_quantization) count its steps, which the bones turn into the file's unit.
  #unit() {
    if (!this.onGrid) return 1;
    const scales = this.bones.map((_, b) => {
      const [xx, xy, xz, , yx, yy, yz, , zx, zy, zz] = this.matrices.subarray(12 * b, 12 * b + 12);
      return Math.cbrt(Math.abs(xx * (yy * zz - yz * zy) - xy * (yx * zz - yz * zx) + xz * (yx * zy - yy * zx)));
    });
    return scales.sort((a, b) => a - b)[scales.length >> 1];
  }

  #diagonal() {
    const low = [Infinity, Infinity, Infinity];
    const high = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < this.rest.length; ++i) {
      low[i % 3] = Math.min(low[i % 3], this.rest[i]);
      high[i % 3] = Math.max(high[i % 3], this.rest[i]);
    }
    return this.#unit() * Math.hypot(high[0] - low[0], high[1] - low[1], high[2] - low[2]) || 1;
  }

  /** Which control points are of the near-rigid cores that `--method sma` found, a digit of four each; null elsewhere. */
  #cores() {
    const digits = this.notes.notes?.core_vertices;
    if (typeof digits !== 'string' || digits.length !== Math.ceil(this.controlPointCount / 4) || !/^[0-9a-f]*$/.test(digits)) return null;
    return (point) => ((parseInt(digits[point >> 2], 16) >> (point & 3)) & 1) === 1;
  }

  /** Time in seconds of a fractional frame, within one clip. */
  timeOf(frame) {
    const f = Math.min(this.frameCount - 1, Math.floor(frame));
    const here = this.frames[f];
    const next = this.frames[f + 1];
    if (!next || next.clip !== here.clip) return here.time;
    return here.time + (frame - f) * (next.time - here.time);
  }

  /** The fractional frame of a clip at a time; before its first key and behind its last, that one. */
  frameAt(clip, time) {
    const { first, count } = this.clips[clip] ?? { first: 0, count: this.frameCount };
    const last = first + count - 1;
    let f = first;
    while (f < last && this.frames[f + 1].time <= time) ++f;
    if (f === last) return f;
    return f + Math.max(0, (time - this.frames[f].time) / (this.frames[f + 1].time - this.frames[f].time));
  }

  /** The frame that goes with one of another model: at the same time of the clip of the same name, else number. */
  frameLike(model, frame) {
    const clip = model.clipOf(frame);
    if (model === this || model.frames === this.frames) return frame;
    const named = this.clips.findIndex(({ name }) => name === model.clips[clip]?.name);
    return this.frameAt(named >= 0 ? named : Math.max(0, Math.min(clip, this.clips.length - 1)), model.timeOf(frame));
  }

  /** Poses the bones at a fractional frame, or by the sliders while they act: fills `matrices` and `coefficients`. */
  setFrame(frame) {
    (this.leader ?? this).#poseNodes(frame);
    this.readNodes();
    if (this.twoLayer?.motion) this.#poseMasters(frame);
    if (this.sliders?.acting) this.sliders.pose(this.matrices);
    for (let r = 0; r < this.rank; ++r) {
      const owner = this.morphMeshes.find((mesh) => mesh.morphTargetInfluences?.length > r);
      this.coefficients[r] = owner && r < this.shownRank ? owner.morphTargetInfluences[r] : 0;
    }
  }

  #poseNodes(frame) {
    const { clip } = this.frames[Math.min(this.frameCount - 1, Math.floor(frame))];
    if (clip !== this.activeClip) {
      this.mixer.stopAllAction();
      if (clip >= 0) this.clips[clip].action.reset().play();
      this.activeClip = clip;
    }
    if (clip >= 0) {
      const { action } = this.clips[clip];
      action.paused = false;
      action.enabled = true;
      action.time = this.timeOf(frame);
      this.mixer.update(0);
    }
  }

  /** Fills `matrices` from the nodes of the bones, as an animation or a person left them. */
  readNodes() {
    this.scene.updateMatrixWorld(true);
    const M = new Matrix4();
    this.bones.forEach((bone, b) => {
      const e = M.multiplyMatrices(bone.node.matrixWorld, bone.inverse).elements;
      for (let r = 0; r < 3; ++r)
        for (let c = 0; c < 4; ++c) this.matrices[12 * b + 4 * r + c] = e[4 * c + r];
    });
  }

  // Bones of a two-layer model have a motion of their own, F×B×4 columns: between frames it is blended.
  #poseMasters(frame) {
    const { motion } = this.twoLayer;
    const stride = 12 * this.boneCount;
    const f = Math.min(this.frameCount - 1, Math.floor(frame));
    const t = f + 1 < this.frameCount ? frame - f : 0;
    for (let b = 0; b < this.boneCount; ++b)
      for (let r = 0; r < 3; ++r)
        for (let c = 0; c < 4; ++c) {
          const at = f * stride + 12 * b + 3 * c + r;
          this.matrices[12 * b + 4 * r + c] = t > 0 ? (1 - t) * motion[at] + t * motion[at + stride] : motion[at];
        }
  }

  /** Rest position of a render vertex with the shown corrections. */
  #corrected(v, out) {
    for (let c = 0; c < 3; ++c) out[c] = this.rest[3 * v + c];
    for (let r = 0; r < this.rank; ++r) {
      const q = this.coefficients[r];
      if (q !== 0) for (let c = 0; c < 3; ++c) out[c] += q * this.morphs[3 * (r * this.vertexCount + v) + c];
    }
  }

  /** Positions of the posed render vertices, on the CPU: the page's own evaluation, beside the shader's. */
  positions() {
    const out = new Float64Array(3 * this.vertexCount);
    const p = [0, 0, 0];
    const virtual = this.twoLayer?.virtualMatrices(this.matrices);
    const [matrices, slots, bones, weights] = virtual
      ? [virtual, this.twoLayer.slots, this.twoLayer.vertexAtoms, this.twoLayer.vertexWeights]
      : [this.matrices, this.slots, this.weightBones, this.weights];
    for (let v = 0; v < this.vertexCount; ++v) {
      this.#corrected(v, p);
      for (let k = 0; k < slots; ++k) {
        const w = weights[v * slots + k];
        if (w === 0) continue;
        const m = 12 * bones[v * slots + k];
        for (let r = 0; r < 3; ++r)
          out[3 * v + r] += w * (matrices[m + 4 * r] * p[0] + matrices[m + 4 * r + 1] * p[1] + matrices[m + 4 * r + 2] * p[2] + matrices[m + 4 * r + 3]);
      }
    }
    return out;
  }

  /** The bones as a tree in reading order: { bone, depth }, each below the one it hangs on. */
  get tree() {
    const below = this.bones.map(() => []);
    const out = [];
    this.bones.forEach(({ parent }, b) => { if (parent >= 0) below[parent].push(b); });
    const visit = (bone, depth) => {
      out.push({ bone, depth });
      for (const next of below[bone]) visit(next, depth + 1);
    };
    this.bones.forEach(({ parent }, b) => { if (parent < 0) visit(b, 0); });
    return out;
  }

  /** Share of the mesh that a bone moves: its weight summed over the vertices. */
  shares() {
    const out = new Float64Array(this.boneCount);
    for (let i = 0; i < this.weights.length; ++i) out[this.weightBones[i]] += this.weights[i];
    return out.map((sum) => sum / this.vertexCount);
  }

  /** How many vertices have 1, 2, ... influences. */
  influenceHistogram() {
    const out = [];
    for (let v = 0; v < this.vertexCount; ++v) {
      let n = 0;
      for (let k = 0; k < this.slots; ++k) if (this.weights[v * this.slots + k] > 0) ++n;
      out[n] = (out[n] ?? 0) + 1;
    }
    return Array.from(out, (count) => count ?? 0).slice(1);
  }

  /** Posed world position of the other end of a bone that no bone hangs on: as the file notes it, else as long as the
   *  bone above it. */
  tailPosition(b, target = new Vector3()) {
    const noted = this.notes.bones?.[b]?.tail;
    if (noted?.length === 3) {
      const m = this.matrices.subarray(12 * b, 12 * b + 12);
      const row = (r) => m[4 * r] * noted[0] + m[4 * r + 1] * noted[1] + m[4 * r + 2] * noted[2] + m[4 * r + 3];
      return target.set(row(0), row(1), row(2));
    }
    this.jointPosition(b, target);
    const { parent } = this.bones[b];
    if (parent < 0) return target.add(new Vector3(0, 0.05 * this.diagonal, 0));
    const step = target.clone().sub(this.jointPosition(parent)).multiplyScalar(0.6);
    return target.add(step);
  }

  /** Number of the clip that a frame is of; -1 for a still file. */
  clipOf(frame) {
    return this.frames[Math.min(this.frameCount - 1, Math.floor(frame))].clip;
  }

  /** Posed world position of a bone's joint. */
  jointPosition(b, target = new Vector3()) {
    if (!this.sliders?.acting) return target.setFromMatrixPosition(this.bones[b].node.matrixWorld);
    const { x, y, z } = this.sliders.heads[b];
    const m = this.matrices.subarray(12 * b, 12 * b + 12);
    const row = (r) => m[4 * r] * x + m[4 * r + 1] * y + m[4 * r + 2] * z + m[4 * r + 3];
    return target.set(row(0), row(1), row(2));
  }
}
