// Bounds that `sinew bounds` wrote into a file (docs/formats.md, SINEW_bounds): a box for each clip, and a tree of boxes that
// follow the pose from the bones alone, as the runtime makes them (src/runtime/tree.cpp).
import { BufferAttribute, BufferGeometry, DynamicDrawUsage, Group, LineBasicMaterial, LineSegments } from 'three';

const NAME = 'SINEW_bounds';
const NODE = 6;    // integers of a node: right child, first triangle, triangles, first follow, follows, convex
const FOLLOW = 8;  // floats of a follow: weight, spread, middle, half size
const FEW = 12;    // follows up to which it is enough to add up what each may do
const SOME = 24;   // and up to which that they share a vertex is looked at

/** { clips, tree } of a parsed file, or null where it has none or they do not fit the model. */
export async function readBounds(gltf, model) {
  const facts = gltf.parser.json.extensions?.[NAME];
  if (facts?.version !== 1 || !Array.isArray(facts.clips)) return null;
  const clips = facts.clips.filter((clip) => [clip?.min, clip?.max].every((p) => Array.isArray(p) && p.length === 3 && p.every(Number.isFinite)))
    .map(({ name, min, max }) => ({ name: String(name), box: [...min, ...max] }));
  if (!facts.tree || !facts.accessors) return { clips, tree: null };
  const tree = { corrections: facts.tree.corrections || 0 };
  for (const name of Object.keys(facts.accessors)) tree[name] = (await gltf.parser.getDependency('accessor', facts.accessors[name])).array;
  return { clips, tree: fits(tree, model) ? withDepths(tree) : null };
}

function fits({ nodes, boxes, bones, follows, corners, triangles, shifts, corrections }, model) {
  if (![nodes, boxes, bones, follows, corners, triangles].every((array) => array?.length > 0)) return false;
  const count = nodes.length / NODE;
  if (boxes.length !== NODE * count || follows.length !== FOLLOW * bones.length || corners.length !== 3 * triangles.length) return false;
  if (corrections !== model.rank && corrections > 0) return false;
  if (corrections > 0 && shifts?.length !== 6 * count * corrections) return false;
  for (let n = 0; n < count; ++n) {
    const [right, first, many, from, some] = nodes.subarray(NODE * n, NODE * n + NODE);
    if ((right !== 0 && (right <= n + 1 || right >= count)) || first + many > triangles.length || from + some > bones.length) return false;
  }
  return bones.every((b) => b < model.boneCount) && corners.every((v) => v < model.controlPointCount);
}

/** Adds the depth of each node and of the deepest; the first child of a node is the one after it. */
function withDepths(tree) {
  const count = tree.nodes.length / NODE;
  tree.depths = new Uint32Array(count);
  for (let n = 0; n < count; ++n) {
    const right = tree.nodes[NODE * n];
    if (right !== 0) tree.depths[n + 1] = tree.depths[right] = tree.depths[n] + 1;
  }
  tree.deepest = tree.depths.reduce((most, depth) => Math.max(most, depth), 0);
  return tree;
}

/** The nodes at a depth, and the leaves above it: together they hold every triangle. */
export function nodesAt(tree, depth) {
  return [...tree.depths.keys()].filter((n) => tree.depths[n] === depth || (tree.depths[n] < depth && tree.nodes[NODE * n] === 0));
}

/** Middle and half size of a box that is moved by a 3×4 matrix, along one axis. */
function reach(m, axis, box, at) {
  let middle = m[4 * axis + 3];
  let half = 0;
  for (let k = 0; k < 3; ++k) {
    middle += m[4 * axis + k] * box[at + k];
    half += Math.abs(m[4 * axis + k]) * box[at + 3 + k];
  }
  return [middle, half];
}

/** The most that weights of a total of 0 can add up: bones { high, low, more, less }, in the orders in which they gain and lose. */
function mostOf(gain, loss, by) {
  let [sum, left, i, j] = [0, 1, 0, 0];
  let [more, less] = [gain[0].more, loss[0].less];
  while (left > 0 && by(gain[i], loss[j]) > 0) {
    const mass = Math.min(left, more, less);
    sum += mass * by(gain[i], loss[j]);
    [left, more, less] = [left - mass, more - mass, less - mass];
    if (more <= 0 && ++i === gain.length) break;
    if (less <= 0 && ++j === loss.length) break;
    if (more <= 0) ({ more } = gain[i]);
    if (less <= 0) ({ less } = loss[j]);
  }
  return sum;
}

/** The box of a node in the pose of the model, low and high: nothing that it holds is outside. */
export function posedBox(model, n) {
  const { nodes, boxes, bones, follows, shifts, corrections } = model.bounds.tree;
  const [first, count, convex] = nodes.subarray(NODE * n + 3, NODE * n + NODE);
  const shift = new Float64Array(6);
  for (let r = 0; r < corrections; ++r)
    for (let k = 0; k < 6; ++k)
      shift[k] += (k < 3 ? model.coefficients[r] : Math.abs(model.coefficients[r])) * shifts[6 * (n * corrections + r) + k];
  const shifted = (array, at) => Float64Array.from(shift, (x, k) => x + array[at + k]);
  const matrix = (i) => model.matrices.subarray(12 * bones[i], 12 * bones[i] + 12);
  const all = Array.from({ length: count }, (_, i) => first + i);
  const out = [-Infinity, -Infinity, -Infinity, Infinity, Infinity, Infinity];
  if (convex) {  // between the places that its bones carry it to
    const moved = all.map((i) => [matrix(i), shifted(follows, FOLLOW * i + 2)]);
    for (let k = 0; k < 3; ++k) {
      const spans = moved.map(([m, box]) => reach(m, k, box, 0));
      out[k] = Math.min(...spans.map(([middle, half]) => middle - half));
      out[3 + k] = Math.max(...spans.map(([middle, half]) => middle + half));
    }
  }
  const posed = out[3] - out[0] + out[4] - out[1] + out[5] - out[2];
  const isLoose = posed > 4 * (boxes[NODE * n + 3] + boxes[NODE * n + 4] + boxes[NODE * n + 5]);
  if (convex && (count > SOME || (count > FEW && !isLoose))) return out;
  // Moved by the mean of its bones, and by what each differs from that as far as weights vary.
  const mean = new Float64Array(12);
  for (const i of all) matrix(i).forEach((x, e) => { mean[e] += follows[FOLLOW * i] * x; });
  const box = shifted(boxes, NODE * n);
  for (let k = 0; k < 3; ++k) {
    const [middle, wide] = reach(mean, k, box, 0);
    let apart = 0;
    const away = all.map((i) => {
      const [weight, spread] = follows.subarray(FOLLOW * i, FOLLOW * i + 2);
      const [at, half] = reach(matrix(i).map((x, e) => x - mean[e]), k, box, 0);
      apart += spread * (Math.abs(at) + half);
      return { high: at + half, low: at - half, more: spread, less: Math.min(spread, weight + 1e-6) };
    });
    let [down, up] = [apart, apart];
    if (convex && count > FEW && count <= SOME) {
      const byHigh = [...away].sort((a, b) => b.high - a.high);
      const byLow = [...away].sort((a, b) => a.low - b.low);
      down = Math.min(down, mostOf(byLow, byHigh, (more, less) => less.high - more.low));
      up = Math.min(up, mostOf(byHigh, byLow, (more, less) => more.high - less.low));
    }
    out[k] = Math.max(out[k], middle - wide - down);
    out[3 + k] = Math.min(out[3 + k], middle + wide + up);
  }
  return out;
}

/** Boxes at a depth in the present pose, each with the control points of its triangles. */
export function boxesAt(model, depth) {
  const { tree } = model.bounds;
  return nodesAt(tree, depth).map((n) => {
    const [first, many] = tree.nodes.subarray(NODE * n + 1, NODE * n + 3);
    return { box: posedBox(model, n), points: tree.corners.slice(3 * first, 3 * (first + many)) };
  });
}

const EDGES = [0, 1, 1, 3, 3, 2, 2, 0, 4, 5, 5, 7, 7, 6, 6, 4, 0, 4, 1, 5, 2, 6, 3, 7];  // corners by the bits z y x
const corner = (box, i) => [box[i & 1 ? 3 : 0], box[i & 2 ? 4 : 1], box[i & 4 ? 5 : 2]];
const wires = (boxes) => boxes.flatMap((box) => EDGES.flatMap((i) => corner(box, i)));

const CLIP_COLOR = 0xe0803a;
const TREE_COLOR = 0x5aa9e6;

/** The boxes as wires: that of the clip, and those of the tree at a depth. */
export class BoundsView {
  constructor(model) {
    this.model = model;
    this.depth = Math.min(3, model.bounds.tree?.deepest ?? 0);
    this.group = new Group();
    const lines = (color, opacity) => {
      const out = new LineSegments(new BufferGeometry(), new LineBasicMaterial({ color, transparent: true, opacity }));
      out.frustumCulled = false;
      this.group.add(out);
      return out;
    };
    this.clip = lines(CLIP_COLOR, 1);
    this.tree = lines(TREE_COLOR, 0.8);
  }

  pose(frame) {
    const { clips, tree } = this.model.bounds;
    const box = clips[Math.max(0, this.model.clipOf(frame))]?.box;
    this.#draw(this.clip, box ? [box] : []);
    this.#draw(this.tree, tree ? nodesAt(tree, this.depth).map((n) => posedBox(this.model, n)) : []);
  }

  #draw(lines, boxes) {
    const points = wires(boxes);
    const { geometry } = lines;
    if (geometry.getAttribute('position')?.array.length !== points.length) {
      geometry.dispose();
      lines.geometry = new BufferGeometry().setAttribute('position', new BufferAttribute(new Float32Array(points), 3).setUsage(DynamicDrawUsage));
      return;
    }
    geometry.getAttribute('position').array.set(points);
    geometry.getAttribute('position').needsUpdate = true;
  }
}
