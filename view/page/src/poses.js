// Poses that a person makes: the places of all bones' nodes as numbers, a history of them, and those that are kept as keys.

export const POSE_NUMBERS = 10;  // per node: translation, rotation (x, y, z, w), scale

/** The pose that nodes have now. */
export function readPose(nodes) {
  const out = new Float64Array(POSE_NUMBERS * nodes.length);
  nodes.forEach((node, i) => {
    node.position.toArray(out, POSE_NUMBERS * i);
    node.quaternion.toArray(out, POSE_NUMBERS * i + 3);
    node.scale.toArray(out, POSE_NUMBERS * i + 7);
  });
  return out;
}

/** Gives nodes a pose; `only` is the number of the one node to change, or -1. */
export function applyPose(nodes, pose, only = -1) {
  nodes.forEach((node, i) => {
    if (only >= 0 && i !== only) return;
    node.position.fromArray(pose, POSE_NUMBERS * i);
    node.quaternion.fromArray(pose, POSE_NUMBERS * i + 3);
    node.scale.fromArray(pose, POSE_NUMBERS * i + 7);
  });
}

const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);

/** What can be undone and done again. */
export class History {
  constructor(first) {
    this.states = [first];
    this.at = 0;
  }

  get now() { return this.states[this.at]; }
  get canUndo() { return this.at > 0; }
  get canRedo() { return this.at + 1 < this.states.length; }

  /** Adds a state, unless it is the one there is; what could be done again is forgotten. */
  add(state) {
    if (same(state, this.now)) return;
    this.states.splice(this.at + 1, Infinity, state);
    this.at = this.states.length - 1;
  }

  undo() {
    if (this.canUndo) --this.at;
    return this.now;
  }

  redo() {
    if (this.canRedo) ++this.at;
    return this.now;
  }
}
