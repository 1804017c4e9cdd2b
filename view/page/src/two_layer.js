// The two-layer model of the extension SINEW_two_layer_skinning: vertices blend virtual bones, virtual bones blend bones.
import { Vector3 } from 'three';
import { unpackTwoLayer } from './two_layer_pack.js';

const NAME = 'SINEW_two_layer_skinning';

/** The two-layer model of a parsed file in terms of a Model's render vertices, or null. */
export async function readTwoLayer(gltf, model) {
  const facts = gltf.parser.json.extensions?.[NAME];
  if (!facts || facts.bones !== model.boneCount) return null;
  const arrays = await arraysOf(gltf, facts);
  const slots = facts.virtualBonesPerVertex;
  const out = {
    slots, atoms: facts.virtualBones, atomSlots: facts.bonesPerVirtualBone,
    atomBones: arrays.dictionaryBones, atomWeights: arrays.dictionaryWeights, motion: arrays.motion ?? null,
    vertexAtoms: new Uint32Array(slots * model.vertexCount), vertexWeights: new Float32Array(slots * model.vertexCount),
    virtualMatrices, positions,
  };
  for (let v = 0; v < model.vertexCount; ++v)
    for (let k = 0; k < slots; ++k) {
      out.vertexAtoms[v * slots + k] = arrays.vertexVirtualBones[model.controlPoint[v] * slots + k];
      out.vertexWeights[v * slots + k] = arrays.vertexWeights[model.controlPoint[v] * slots + k];
    }
  return out;
}

/** The arrays of the extension by name, packed or not. */
async function arraysOf(gltf, facts) {
  const array = async (name) => (await gltf.parser.getDependency('accessor', facts.accessors[name])).array;
  if (facts.accessors.packed !== undefined) return unpackTwoLayer(facts, await array('packed'));
  const out = {};
  for (const name of Object.keys(facts.accessors)) out[name] = await array(name);
  return out;
}

/** Rest→posed rows of the virtual bones for those of the bones. */
function virtualMatrices(matrices) {
  const out = new Float64Array(12 * this.atoms);
  for (let i = 0; i < this.atoms * this.atomSlots; ++i) {
    const to = 12 * Math.floor(i / this.atomSlots);
    const from = 12 * this.atomBones[i];
    for (let e = 0; e < 12; ++e) out[to + e] += this.atomWeights[i] * matrices[from + e];
  }
  return out;
}

/** Where to draw the virtual bones: the joints of their bones, blended. */
function positions(model) {
  const out = new Float32Array(3 * this.atoms);
  const joint = new Vector3();
  for (let i = 0; i < this.atoms * this.atomSlots; ++i) {
    const at = 3 * Math.floor(i / this.atomSlots);
    model.jointPosition(this.atomBones[i], joint);
    out[at] += this.atomWeights[i] * joint.x;
    out[at + 1] += this.atomWeights[i] * joint.y;
    out[at + 2] += this.atomWeights[i] * joint.z;
  }
  return out;
}
