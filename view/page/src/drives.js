// Helper bones that follow the joints where no motion is given for them (docs/formats.md, Helper bones): poses made by hand.
import { Matrix4, Quaternion, Vector3 } from 'three';

const INPUTS = 3;  // numbers of a rotation vector
const OUTPUTS = 6;

const numbers = (list, count) => Array.isArray(list) && list.length === count && list.every(Number.isFinite);

/** The drives of a file in terms of a Model's bones; those that do not fit are left out. */
export function drivesOf(model) {
  const list = Array.isArray(model.notes.drives) ? model.notes.drives.filter((one) => one && typeof one === 'object') : [];
  const parentOf = (b) => model.bones[b]?.parent ?? -1;
  return list.flatMap(({ bone, constant, inputs = [] }) => {
    const fits = parentOf(bone) >= 0 && numbers(constant, OUTPUTS) && Array.isArray(inputs) &&
      inputs.every((one) => parentOf(one?.joint) >= 0 && numbers(one.by, OUTPUTS * INPUTS));
    if (!fits) return [];
    return [{ bone, parent: parentOf(bone), constant, inputs: inputs.map(({ joint, by }) => ({ joint, parent: parentOf(joint), by })) }];
  });
}

/** The rotation vector of a quaternion, of at most half a turn. */
export function rotationVector(q) {
  const sine = Math.hypot(q.x, q.y, q.z);
  if (sine === 0) return [0, 0, 0];
  const sign = q.w < 0 ? -1 : 1;
  const scale = (sign * 2 * Math.atan2(sine, sign * q.w)) / sine;
  return [scale * q.x, scale * q.y, scale * q.z];
}

/** How a helper goes and turns as its parent sees it, for rest→posed matrices of the bones. */
export function driven({ constant, inputs }, matrices) {
  const y = [...constant];
  for (const { joint, parent, by } of inputs) {
    const turned = (b) => new Quaternion().setFromRotationMatrix(matrices[b]);
    const r = rotationVector(turned(parent).invert().multiply(turned(joint)));
    for (let i = 0; i < OUTPUTS; ++i) for (let c = 0; c < INPUTS; ++c) y[i] += by[INPUTS * i + c] * r[c];
  }
  return y;
}

/** Sets the nodes of driven helpers from those of the joints. */
export function followJoints(model) {
  if (model.drives.length === 0) return;
  model.scene.updateMatrixWorld(true);
  const matrices = model.bones.map(({ node, inverse }) => new Matrix4().multiplyMatrices(node.matrixWorld, inverse));
  for (const drive of model.drives) {
    const { node, inverse } = model.bones[drive.bone];
    const y = driven(drive, matrices);
    const axis = new Vector3(y[3], y[4], y[5]);
    const angle = axis.length();
    const turn = new Quaternion().setFromAxisAngle(angle > 0 ? axis.divideScalar(angle) : axis.set(1, 0, 0), angle);
    const bind = inverse.clone().invert();
    const head = new Vector3().setFromMatrixPosition(bind);
    // x -> Q (x - head) + head + way, then what the parent does.
    const seen = new Matrix4().makeTranslation(head.x + y[0], head.y + y[1], head.z + y[2])
      .multiply(new Matrix4().makeRotationFromQuaternion(turn)).multiply(new Matrix4().makeTranslation(-head.x, -head.y, -head.z));
    const world = matrices[drive.parent].clone().multiply(seen).multiply(bind);
    if (node.parent) world.premultiply(node.parent.matrixWorld.clone().invert());
    world.decompose(node.position, node.quaternion, node.scale);
  }
}
