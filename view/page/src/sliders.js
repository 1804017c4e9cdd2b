// Sliders of the extension SINEW_sliders: the bones follow them by a sparse linear map (docs/formats.md).
import { Matrix4, Quaternion, Vector3 } from 'three';

const NAME = 'SINEW_sliders';

/** The sliders of a parsed file in terms of a Model's bones, or null where it has none or they do not fit. */
export async function readSliders(gltf, model) {
  const facts = gltf.parser.json.extensions?.[NAME];
  if (!Array.isArray(facts?.names) || !facts.accessors) return null;
  const array = async (name) => (await gltf.parser.getDependency('accessor', facts.accessors[name])).array;
  const [bones, sliders, by] = [await array('bones'), await array('sliders'), await array('by')];
  const width = facts.transforms === 'affine' ? 12 : 6;
  const fits = sliders.length === bones.length && by.length === width * bones.length &&
    bones.every((b) => b < model.boneCount) && sliders.every((s) => s < facts.names.length);
  if (!fits) return null;
  const heads = model.bones.map(({ inverse }) => new Vector3().setFromMatrixPosition(new Matrix4().copy(inverse).invert()));
  return { names: facts.names.map(String), values: new Float32Array(facts.names.length), acting: false, bones, sliders, by, width, heads, pose };
}

/** Writes the rows of all bones, rest→posed, for the present values. */
function pose(matrices) {
  const { width, heads } = this;
  const sums = new Float64Array(width * heads.length);
  for (let i = 0; i < this.bones.length; ++i) {
    const value = this.values[this.sliders[i]];
    if (value !== 0) for (let n = 0; n < width; ++n) sums[width * this.bones[i] + n] += value * this.by[width * i + n];
  }
  heads.forEach((head, b) => {
    const y = sums.subarray(width * b, width * (b + 1));
    const A = linearPart(y);
    for (let r = 0; r < 3; ++r) {
      const row = 12 * b + 4 * r;
      for (let c = 0; c < 3; ++c) matrices[row + c] = A[3 * c + r];
      matrices[row + 3] = head.getComponent(r) + y[r] - (A[r] * head.x + A[3 + r] * head.y + A[6 + r] * head.z);
    }
  });
}

/** Column by column: a rotation vector's matrix, or the identity and what is added to it. */
function linearPart(y) {
  if (y.length === 12) return Array.from(y.subarray(3), (value, i) => value + (i % 4 === 0 ? 1 : 0));
  const axis = new Vector3(y[3], y[4], y[5]);
  const angle = axis.length();
  if (!(angle > 0)) return [1, 0, 0, 0, 1, 0, 0, 0, 1];
  const e = new Matrix4().makeRotationFromQuaternion(new Quaternion().setFromAxisAngle(axis.divideScalar(angle), angle)).elements;
  return [e[0], e[1], e[2], e[4], e[5], e[6], e[8], e[9], e[10]];
}
