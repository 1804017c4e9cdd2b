// Bones as riggers know them: octahedra from joint to joint, drawn in front of the mesh; bones without a hierarchy as
// crosses of axes. Edges are a few pixels wide at any distance.
import { BufferAttribute, BufferGeometry, Color, DoubleSide, DynamicDrawUsage, Group, Mesh, MeshBasicMaterial, Points, PointsMaterial, Vector3 } from 'three';
import { LineMaterial } from 'three/addons/lines/LineMaterial.js';
import { LineSegments2 } from 'three/addons/lines/LineSegments2.js';
import { LineSegmentsGeometry } from 'three/addons/lines/LineSegmentsGeometry.js';

const PLAIN = new Color(0xc9ced8);
const CHOSEN = new Color(0xff8a1f);
const EDGE = new Color(0x20242c);
const AXES = [new Color(0xe4574c), new Color(0x59b35c), new Color(0x4c8be4)];
const LINE_PIXELS = 2.5;  // of the device, as those below
const JOINT_PIXELS = 8;
const ATOM_PIXELS = 5;
const RING_AT = 0.14;  // of a bone's length from its head
const RING_RADIUS = 0.075;  // of a bone's length

// Head, ring and tail of an octahedron are points 0, 1..4 and 5.
const FACES = [0, 1, 2, 0, 2, 3, 0, 3, 4, 0, 4, 1, 5, 2, 1, 5, 3, 2, 5, 4, 3, 5, 1, 4];
const EDGES = [0, 1, 0, 2, 0, 3, 0, 4, 1, 2, 2, 3, 3, 4, 4, 1, 5, 1, 5, 2, 5, 3, 5, 4];
const SHADE = [0.95, 0.8, 0.65, 0.8, 0.9, 0.75, 0.6, 0.75];  // per face, so that the form is seen without a light

/** Where each octahedron is: { bone, to } with `to` a bone whose head ends it, or -1 for its own tail. */
function spans(model) {
  const children = model.bones.map(() => []);
  model.bones.forEach((bone, b) => { if (bone.parent >= 0) children[bone.parent].push(b); });
  return model.bones.flatMap((_, b) => (children[b].length > 0 ? children[b].map((to) => ({ bone: b, to })) : [{ bone: b, to: -1 }]));
}

const dynamic = (numbers) => new BufferAttribute(new Float32Array(numbers), 3).setUsage(DynamicDrawUsage);

/** Points as discs. */
function discs(material) {
  material.onBeforeCompile = (shader) => {
    shader.fragmentShader = shader.fragmentShader.replace('#include <clipping_planes_fragment>', 'if (length(gl_PointCoord - 0.5) > 0.5) discard;');
  };
  return material;
}

export class BoneView {
  constructor(model, pixelRatio) {
    this.model = model;
    this.group = new Group();
    this.chosen = -1;
    this.spans = model.hierarchy ? spans(model) : [];
    const solids = new BufferGeometry();
    solids.setAttribute('position', dynamic(3 * FACES.length * this.spans.length));
    solids.setAttribute('color', dynamic(3 * FACES.length * this.spans.length));
    this.solids = new Mesh(solids, new MeshBasicMaterial({ vertexColors: true, side: DoubleSide }));
    const edges = model.hierarchy ? EDGES.length * this.spans.length : 6 * model.boneCount;
    this.linePoints = new Float32Array(3 * edges);
    this.lineColors = new Float32Array(3 * edges);
    this.lines = new LineSegments2(new LineSegmentsGeometry(), new LineMaterial({ linewidth: LINE_PIXELS / pixelRatio, vertexColors: true }));
    const joints = new BufferGeometry();
    joints.setAttribute('position', dynamic(3 * model.boneCount));
    joints.setAttribute('color', dynamic(3 * model.boneCount));
    this.joints = new Points(joints, discs(new PointsMaterial({ size: JOINT_PIXELS / pixelRatio, sizeAttenuation: false, vertexColors: true })));
    this.group.add(this.solids, this.lines, this.joints);
    this.virtual = null;
    if (model.twoLayer) {
      const atoms = new BufferGeometry();
      atoms.setAttribute('position', dynamic(3 * model.twoLayer.atoms));
      this.virtual = new Points(atoms, discs(new PointsMaterial({ size: ATOM_PIXELS / pixelRatio, sizeAttenuation: false, color: 0x4c8be4 })));
      this.group.add(this.virtual);
    }
    for (const object of this.group.children) object.frustumCulled = false;
  }

  /** The bone that is marked, or -1. */
  choose(bone) {
    this.chosen = bone;
  }

  /** Takes the pose that the model has now. */
  pose() {
    const { model } = this;
    const joints = this.joints.geometry.getAttribute('position');
    const colors = this.joints.geometry.getAttribute('color');
    const head = new Vector3();
    model.bones.forEach((_, b) => {
      model.jointPosition(b, head);
      joints.setXYZ(b, head.x, head.y, head.z);
      const tint = b === this.chosen ? CHOSEN : model.hierarchy ? EDGE : PLAIN;
      colors.setXYZ(b, tint.r, tint.g, tint.b);
    });
    joints.needsUpdate = colors.needsUpdate = true;
    if (model.hierarchy) this.#poseOctahedra(joints);
    else this.#poseAxes();
    this.lines.geometry.setPositions(this.linePoints);
    this.lines.geometry.setColors(this.lineColors);
    if (this.virtual) {
      const atoms = this.virtual.geometry.getAttribute('position');
      atoms.array.set(model.twoLayer.positions(model));
      atoms.needsUpdate = true;
    }
  }

  #poseOctahedra(joints) {
    const position = this.solids.geometry.getAttribute('position');
    const color = this.solids.geometry.getAttribute('color');
    const points = Array.from({ length: 6 }, () => new Vector3());
    const along = new Vector3();
    const side = new Vector3();
    const other = new Vector3();
    this.spans.forEach(({ bone, to }, s) => {
      points[0].fromBufferAttribute(joints, bone);
      if (to >= 0) points[5].fromBufferAttribute(joints, to);
      else this.model.tailPosition(bone, points[5]);
      along.subVectors(points[5], points[0]);
      const length = along.length();
      along.normalize();
      side.set(0, 0, 1).cross(along);
      if (side.lengthSq() < 1e-6) side.set(1, 0, 0);
      side.normalize();
      other.crossVectors(along, side);
      [[1, 1], [-1, 1], [-1, -1], [1, -1]].forEach(([x, y], i) => points[1 + i].copy(points[0]).addScaledVector(along, RING_AT * length)
        .addScaledVector(side, x * RING_RADIUS * length).addScaledVector(other, y * RING_RADIUS * length));
      const tint = bone === this.chosen ? CHOSEN : PLAIN;
      FACES.forEach((p, i) => {
        const at = s * FACES.length + i;
        const shade = SHADE[Math.floor(i / 3)];
        position.setXYZ(at, points[p].x, points[p].y, points[p].z);
        color.setXYZ(at, shade * tint.r, shade * tint.g, shade * tint.b);
      });
      EDGES.forEach((p, i) => {
        const at = 3 * (s * EDGES.length + i);
        points[p].toArray(this.linePoints, at);
        EDGE.toArray(this.lineColors, at);
      });
    });
    position.needsUpdate = color.needsUpdate = true;
  }

  #poseAxes() {
    const { model } = this;
    const size = 0.04 * model.diagonal;
    const head = new Vector3();
    const tip = new Vector3();
    model.bones.forEach((bone, b) => {
      model.jointPosition(b, head);
      for (let k = 0; k < 3; ++k) {
        tip.setFromMatrixColumn(bone.node.matrixWorld, k).setLength(b === this.chosen ? 2 * size : size).add(head);
        head.toArray(this.linePoints, 18 * b + 6 * k);
        tip.toArray(this.linePoints, 18 * b + 6 * k + 3);
        for (const i of [0, 3]) AXES[k].toArray(this.lineColors, 18 * b + 6 * k + i);
      }
    });
  }
}
