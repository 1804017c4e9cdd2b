// Inverse kinematics of a chain of joints: each in turn points the end at where it should be (cyclic coordinate descent).
import { Quaternion, Vector3 } from 'three';

const ROUNDS = 40;
const CLOSE = 1e-4;  // of the chain's length: near enough

/** The joints above a bone that turn when it is dragged, nearest first: up to `most`, none that other limbs hang on too
 *  unless it is the only one. */
export function chainAbove(bones, bone, most = 3) {
  const children = bones.map(() => 0);
  for (const { parent } of bones) if (parent >= 0) ++children[parent];
  const chain = [];
  for (let b = bones[bone].parent; b >= 0 && chain.length < most; b = bones[b].parent) {
    if (chain.length > 0 && children[b] > 1) break;
    chain.push(b);
  }
  return chain;
}

/** Turns a node in the world by a quaternion, about its own place. */
export function turnInWorld(node, turn) {
  const above = node.parent ? node.parent.getWorldQuaternion(new Quaternion()) : new Quaternion();
  node.quaternion.premultiply(above.clone().invert().multiply(turn).multiply(above)).normalize();
  node.updateMatrixWorld(true);
}

/** Turns the nodes of a chain, nearest to the end first, so that `end` comes as close to `target` as it can; the end
 *  itself keeps its direction in the world. Returns how far it is off. */
export function reach(chain, end, target) {
  if (chain.length === 0) return end.getWorldPosition(new Vector3()).distanceTo(target);
  const kept = end.getWorldQuaternion(new Quaternion());
  const [at, from, to] = [new Vector3(), new Vector3(), new Vector3()];
  const turn = new Quaternion();
  const place = (node, out) => out.setFromMatrixPosition(node.matrixWorld);
  let length = 0;
  [end, ...chain].reduce((below, node) => {
    length += place(below, from).distanceTo(place(node, to));
    return node;
  });
  for (let round = 0; round < ROUNDS; ++round) {
    for (const joint of chain) {
      place(joint, at);
      place(end, from).sub(at);
      to.copy(target).sub(at);
      if (from.lengthSq() === 0 || to.lengthSq() === 0) continue;
      turnInWorld(joint, turn.setFromUnitVectors(from.normalize(), to.normalize()));
    }
    if (place(end, from).distanceTo(target) <= CLOSE * length) break;
  }
  const now = end.getWorldQuaternion(new Quaternion());
  turnInWorld(end, kept.multiply(now.invert()));
  return place(end, from).distanceTo(target);
}
