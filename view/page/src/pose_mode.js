// Pose mode: a bone is chosen on the body, turned or moved with a gizmo or dragged by its end; poses are kept as key frames
// of a new clip that goes into the file.
import { Object3D } from 'three';
import { TransformControls } from 'three/addons/controls/TransformControls.js';
import { followJoints } from './drives.js';
import { chainAbove, reach } from './ik.js';
import { pickBone } from './pick.js';
import { applyPose, History, readPose } from './poses.js';
import { withClip } from './write_clip.js';

const CLICK_PIXELS = 4;  // a pointer that moved less was a click
const WAYS = [['rotate', 'Turn'], ['translate', 'Move'], ['drag', 'Drag end']];

export class PoseMode {
  /** `hooks`: changed() after every change of the pose, picked(bone) where one was chosen on the body, said(sentence) for
   *  what went wrong. */
  constructor(stage, element, hooks) {
    this.stage = stage;
    this.hooks = hooks;
    this.on = false;
    this.bone = -1;
    this.way = 'rotate';
    this.keys = [];  // { pose, time }
    this.canvas = stage.renderer.domElement;
    this.gizmo = new TransformControls(stage.camera, this.canvas);
    this.gizmo.setSpace('local');
    this.gizmo.setSize(0.8);
    this.target = new Object3D();  // where a dragged end should be
    stage.front.add(this.gizmo.getHelper(), this.target);
    this.gizmo.addEventListener('dragging-changed', ({ value }) => {
      stage.controls.enabled = !value;
      if (!value) this.#keepChange();
    });
    this.gizmo.addEventListener('objectChange', () => this.#follow());
    this.canvas.addEventListener('pointerdown', (event) => { this.down = [event.clientX, event.clientY, this.gizmo.axis]; });
    this.canvas.addEventListener('pointerup', (event) => this.#click(event));
    this.#build(element);
    this.gizmo.detach();
  }

  /** A new model: nothing of the old one stays. */
  setModel(model) {
    this.setOn(false);
    this.model = model;
    this.nodes = model.bones.map((bone) => bone.node);
    this.keys = [];
    this.bone = -1;
  }

  /** Why a model cannot be posed; empty where it can. */
  get reason() {
    if (this.model.twoLayer?.motion) return 'The bones of this two-layer model have a motion of their own, so its nodes cannot pose it.';
    if (this.model.nodeNumbers.some((number) => number === undefined)) return 'Parts of this file that move are no nodes of it.';
    return '';
  }

  setOn(on) {
    if (this.on) this.restore();
    this.on = on && this.model && !this.reason;
    if (on && !this.on) this.hooks.said(this.reason);
    this.element.hidden = !this.on;
    if (this.on) this.start();
    else this.gizmo.detach();
  }

  /** Gives the nodes back as posing found them: an animation sets only what has changed since it set it last. */
  restore() {
    applyPose(this.nodes, this.first);
  }

  /** Poses begin at what the model shows now. */
  start() {
    this.first = readPose(this.nodes);
    this.history = new History(this.first);
    this.#attach();
    this.#show();
  }

  choose(bone) {
    this.bone = bone;
    this.#attach();
    this.#show();
  }

  setWay(way) {
    this.way = way;
    this.#attach();
    this.#show();
  }

  /** Joints turn; what hangs on no joint may move as well. */
  canMove(bone) { return bone >= 0 && this.model.bones[bone].parent < 0; }
  canDrag(bone) { return bone >= 0 && chainAbove(this.model.bones, bone).length > 0; }

  #attach() {
    this.gizmo.detach();
    if (!this.on || this.bone < 0) return;
    if ((this.way === 'translate' && !this.canMove(this.bone)) || (this.way === 'drag' && !this.canDrag(this.bone))) this.way = 'rotate';
    const { node } = this.model.bones[this.bone];
    if (this.way === 'drag') {
      this.target.position.setFromMatrixPosition(node.matrixWorld);
      this.target.updateMatrixWorld(true);
    }
    this.gizmo.setMode(this.way === 'rotate' ? 'rotate' : 'translate');
    this.gizmo.setSpace(this.way === 'rotate' ? 'local' : 'world');
    this.gizmo.attach(this.way === 'drag' ? this.target : node);
  }

  #follow() {
    if (this.way === 'drag') this.dragTo(this.target.position);
    followJoints(this.model);
    this.hooks.changed();
  }

  /** Turns the joints above the chosen bone so that its joint comes to a place. Returns how far it is off. */
  dragTo(place) {
    const { bones } = this.model;
    return reach(chainAbove(bones, this.bone).map((b) => bones[b].node), bones[this.bone].node, place);
  }

  #keepChange() {
    this.history.add(readPose(this.nodes));
    if (this.way === 'drag') this.#attach();
    this.#show();
  }

  /** What a person did to the chosen node from outside of the gizmo. Helpers that are driven come along. */
  changed() {
    followJoints(this.model);
    this.#changed();
  }

  #changed() {
    this.hooks.changed();
    this.#keepChange();
  }

  #apply(pose) {
    applyPose(this.nodes, pose);
    this.hooks.changed();
    this.#attach();
    this.#show();
  }

  undo() { this.#apply(this.history.undo()); }
  redo() { this.#apply(this.history.redo()); }

  /** The chosen bone, or all of them, as they were when posing began. */
  reset(all) {
    applyPose(this.nodes, this.first, all ? -1 : this.bone);
    if (all) this.#changed();
    else this.changed();
    this.#attach();
  }

  /** Keeps the pose as a key frame, so many seconds after the last. */
  keep() {
    const time = this.keys.length === 0 ? 0 : this.keys.at(-1).time + (Math.max(0.01, Number(this.seconds.value)) || 0.5);
    this.keys.push({ pose: readPose(this.nodes), time });
    this.#show();
  }

  /** The file with the keys as a clip. */
  file() {
    return withClip(this.model.bytes, this.model.nodeNumbers, this.keys.map(({ pose }) => pose), this.keys.map(({ time }) => time));
  }

  download() {
    try {
      const link = document.createElement('a');
      link.download = `${this.model.name.replace(/\.[^.]*$/, '')}-posed.glb`;
      link.href = URL.createObjectURL(new Blob([this.file()], { type: 'model/gltf-binary' }));
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    } catch (error) {
      this.hooks.said(error.message);
    }
  }

  #click(event) {
    if (!this.on || !this.down || this.down[2] || event.button !== 0) return;
    if (Math.hypot(event.clientX - this.down[0], event.clientY - this.down[1]) > CLICK_PIXELS) return;
    const bone = pickBone(this.model, this.stage.camera, this.canvas, event);
    if (bone >= 0) this.hooks.picked(bone);
  }

  #build(element) {
    this.element = element;
    const button = (label, act, title = '') => {
      const out = Object.assign(document.createElement('button'), { type: 'button', textContent: label, title });
      out.addEventListener('click', act);
      return out;
    };
    const row = (...children) => {
      const out = Object.assign(document.createElement('div'), { className: 'row' });
      out.append(...children);
      return out;
    };
    this.hint = document.createElement('p');
    this.ways = WAYS.map(([way, label]) => Object.assign(button(label, () => this.setWay(way)), { name: way }));
    this.undoButton = button('Undo', () => this.undo(), 'Undo (Ctrl Z)');
    this.redoButton = button('Redo', () => this.redo(), 'Do again (Ctrl Y)');
    this.resetButton = button('Reset bone', () => this.reset(false));
    this.seconds = Object.assign(document.createElement('input'), { type: 'number', value: '0.5', min: '0.01', step: '0.1' });
    this.seconds.setAttribute('aria-label', 'Seconds from key to key');
    this.list = document.createElement('ol');
    this.list.id = 'pose-keys';
    this.downloadButton = button('Download GLB', () => this.download());
    element.replaceChildren(
      Object.assign(document.createElement('h2'), { textContent: 'Pose' }), this.hint, row(...this.ways),
      row(this.undoButton, this.redoButton, this.resetButton, button('Reset all', () => this.reset(true))),
      row(button('Keep as key', () => this.keep()), this.seconds, this.downloadButton), this.list,
    );
  }

  #show() {
    if (!this.on) return;
    this.hint.textContent = this.bone < 0 ? 'Click a bone on the body.' : this.model.bones[this.bone].name;
    for (const button of this.ways) {
      button.setAttribute('aria-pressed', this.bone >= 0 && button.name === this.way);
      button.disabled = this.bone < 0 || (button.name === 'translate' && !this.canMove(this.bone)) || (button.name === 'drag' && !this.canDrag(this.bone));
    }
    this.undoButton.disabled = !this.history.canUndo;
    this.redoButton.disabled = !this.history.canRedo;
    this.resetButton.disabled = this.bone < 0;
    this.downloadButton.disabled = this.keys.length === 0;
    this.list.replaceChildren(...this.keys.map(({ pose, time }, i) => {
      const item = document.createElement('li');
      const show = Object.assign(document.createElement('button'), { type: 'button', textContent: `${time.toFixed(2)} s` });
      show.addEventListener('click', () => { this.history.add(pose.slice()); this.#apply(this.history.now); });
      const drop = Object.assign(document.createElement('button'), { type: 'button', textContent: '×' });
      drop.setAttribute('aria-label', `Drop the key at ${time.toFixed(2)} s`);
      drop.addEventListener('click', () => { this.keys.splice(i, 1); this.#show(); });
      item.append(show, drop);
      return item;
    }));
  }
}
