// The crowd on the GPU: one texture of transforms for all characters, passes that pose the instances that are seen, and a
// draw call for each character and level.
import { methodOf, motionNumbers } from './data.js';
import { NUMBERS } from './cull.js';
import {
  DRAW_FOUR, DRAW_MANY, DRAW_STREAM, MOST_CHARACTERS, POSE_BONES, POSE_VIRTUAL_BONES, SHADE, WHOLE_SCREEN, WIDTH,
} from './shaders.js';
import { poseLevel, STREAM_NUMBERS } from './stream.js';

const POSE_BYTES = 128 << 20;  // that a texture of posed bones may take; more instances go in several batches
const STREAM_TEXELS = 1 << 20;  // vertices that are sent at a time
const ATTRIBUTE_SLOTS = 4;

/** Pairs of number and weight, two to a texel. */
function pairsOf({ slots, numbers, weights }) {
  const pairs = Math.ceil(slots / 2);
  const rows = numbers.length / slots;
  const out = new Float32Array(4 * pairs * rows);
  for (let row = 0; row < rows; ++row)
    for (let k = 0; k < slots; ++k) {
      out[4 * row * pairs + 2 * k] = numbers[row * slots + k];
      out[4 * row * pairs + 2 * k + 1] = weights[row * slots + k];
    }
  return { pairs, numbers: out };
}

export class CrowdGpu {
  constructor(gl, crowd) {
    this.gl = gl;
    this.crowd = crowd;
    if (!gl.getExtension('EXT_color_buffer_float')) throw new Error('This browser cannot draw into textures of floats, which a crowd needs.');
    this.half = crowd.half;
    this.tallest = Math.min(8192, gl.getParameter(gl.MAX_TEXTURE_SIZE));
    this.motion = this.#texture(crowd.motion, this.half);
    this.shared = crowd.motion.byteLength;
    this.#addBlends();
    this.levels = crowd.characters.map((character) => character.levels.map((level) => this.#addLevel(level)));
    this.programs = {
      bones: this.#program(WHOLE_SCREEN, POSE_BONES), virtual: this.#program(WHOLE_SCREEN, POSE_VIRTUAL_BONES),
      four: this.#program(DRAW_FOUR, SHADE), many: this.#program(DRAW_MANY, SHADE), stream: this.#program(DRAW_STREAM, SHADE),
    };
    this.boneStride = 3 * Math.max(...crowd.characters.map((character) => character.bones));
    this.virtualStride = 3 * Math.max(1, ...crowd.characters.map((character) => character.virtualBones?.count ?? 0));
    this.poses = this.#target();
    this.virtual = this.#target();
    this.instances = null;
    this.streamed = new Map();  // frames of a level, posed by the CPU
    this.empty = gl.createVertexArray();
    this.stats = { draws: 0, triangles: 0, batches: 0, sent: 0 };
  }

  #program(vertex, fragment, feedback) {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(`A shader failed: ${gl.getShaderInfoLog(shader)}`);
    }
    if (feedback) gl.transformFeedbackVaryings(program, [feedback], gl.SEPARATE_ATTRIBS);
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(`A program failed: ${gl.getProgramInfoLog(program)}`);
    const places = {};
    for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); ++i) {
      const { name } = gl.getActiveUniform(program, i);
      places[name.replace('[0]', '')] = gl.getUniformLocation(program, name);
    }
    return { program, places };
  }

  /** A texture of rows of WIDTH texels that holds these numbers, four to a texel. */
  #texture(numbers, half = false) {
    const { gl } = this;
    const height = Math.max(1, Math.ceil(numbers.length / (4 * WIDTH)));
    if (height > this.tallest) throw new Error('The crowd holds more than a texture of this device can.');
    const padded = new numbers.constructor(4 * WIDTH * height);
    padded.set(numbers);
    const texture = this.#bare();
    gl.texImage2D(gl.TEXTURE_2D, 0, half ? gl.RGBA16F : gl.RGBA32F, WIDTH, height, 0, gl.RGBA, half ? gl.HALF_FLOAT : gl.FLOAT, padded);
    return texture;
  }

  #bare() {
    const { gl } = this;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    return texture;
  }

  #target() {
    return { texture: this.#bare(), frame: this.gl.createFramebuffer(), height: 0 };
  }

  /** Makes a target at least so many texels large. */
  #grow(target, texels) {
    const { gl } = this;
    const height = Math.max(1, Math.ceil(texels / WIDTH));
    if (height <= target.height) return;
    target.height = Math.min(this.tallest, Math.ceil(height * 1.25));
    gl.bindTexture(gl.TEXTURE_2D, target.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, this.half ? gl.RGBA16F : gl.RGBA32F, WIDTH, target.height, 0, gl.RGBA, this.half ? gl.HALF_FLOAT : gl.FLOAT, null);
    gl.bindFramebuffer(gl.FRAMEBUFFER, target.frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, target.texture, 0);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  /** Blends that do not fit attributes, of virtual bones and of vertices, in one texture. */
  #addBlends() {
    const parts = [];
    let texels = 0;
    const put = (blends) => {
      const { pairs, numbers } = pairsOf(blends);
      parts.push(numbers);
      texels += numbers.length / 4;
      return { first: texels - numbers.length / 4, pairs };
    };
    this.virtualBlends = new Int32Array(3 * MOST_CHARACTERS);
    this.vertexBlends = new Map();
    this.crowd.characters.forEach((character, c) => {
      if (character.virtualBones) {
        const { first, pairs } = put(character.virtualBones);
        this.virtualBlends.set([first, pairs, character.virtualBones.count], 3 * c);
      }
      for (const level of character.levels)
        for (const method of Object.values(level.methods)) if (method.slots > ATTRIBUTE_SLOTS) this.vertexBlends.set(method, put(method));
    });
    const all = new Float32Array(4 * texels);
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    this.blends = this.#texture(all);
    this.shared += all.byteLength;
  }

  /** Buffers of a level: an array of vertices for every method, and its triangles. */
  #addLevel(level) {
    const { gl } = this;
    const buffer = (target, data) => {
      const out = gl.createBuffer();
      gl.bindBuffer(target, out);
      gl.bufferData(target, data, gl.STATIC_DRAW);
      this.shared += data.byteLength;
      return out;
    };
    const positions = buffer(gl.ARRAY_BUFFER, level.positions);
    const normals = buffer(gl.ARRAY_BUFFER, level.normals);
    gl.bindVertexArray(null);
    const triangles = buffer(gl.ELEMENT_ARRAY_BUFFER, level.triangles);
    const attribute = (place, data, set) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, data);
      gl.enableVertexAttribArray(place);
      set(place);
    };
    const arrays = {};
    for (const [name, method] of Object.entries(level.methods)) {
      const numbers = method.slots === ATTRIBUTE_SLOTS ? buffer(gl.ARRAY_BUFFER, method.numbers) : null;
      const weights = method.slots === ATTRIBUTE_SLOTS ? buffer(gl.ARRAY_BUFFER, method.weights) : null;
      arrays[name] = gl.createVertexArray();
      gl.bindVertexArray(arrays[name]);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, triangles);
      attribute(0, positions, (place) => gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 0, 0));
      attribute(1, normals, (place) => gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 0, 0));
      if (numbers) attribute(2, numbers, (place) => gl.vertexAttribIPointer(place, 4, gl.UNSIGNED_SHORT, 0, 0));
      if (weights) attribute(3, weights, (place) => gl.vertexAttribPointer(place, 4, gl.FLOAT, false, 0, 0));
    }
    arrays.stream = gl.createVertexArray();
    gl.bindVertexArray(arrays.stream);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, triangles);
    gl.bindVertexArray(null);
    return { arrays, corners: level.triangles.length };
  }

  /** Bytes that every instance needs beyond what all share: its numbers, and its bones or vertices. */
  bytesPerInstance(method, character, level) {
    const number = this.half ? 2 : 4;
    if (method === 'stream') return 4 * NUMBERS + 4 * STREAM_NUMBERS * level.vertices;
    const bones = 4 * number * 3 * character.bones;
    const virtual = methodOf(level, method) === 'two_layer' ? 4 * number * 3 * (character.virtualBones?.count ?? 0) : 0;
    return 4 * NUMBERS + bones + virtual;
  }

  #sendInstances(lists) {
    const { gl } = this;
    const texels = (NUMBERS / 4) * lists.total;
    const rows = Math.max(1, Math.ceil(texels / WIDTH));
    gl.activeTexture(gl.TEXTURE0);
    if (!this.instances || this.instances.rows < rows) {
      if (this.instances) gl.deleteTexture(this.instances.texture);
      const room = Math.ceil(lists.numbers.length / (4 * WIDTH));
      this.instances = { texture: this.#bare(), rows: room, staged: new Float32Array(4 * WIDTH * room) };
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, WIDTH, room, 0, gl.RGBA, gl.FLOAT, null);
    }
    this.instances.staged.set(lists.numbers.subarray(0, NUMBERS * lists.total));
    gl.bindTexture(gl.TEXTURE_2D, this.instances.texture);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, WIDTH, rows, gl.RGBA, gl.FLOAT, this.instances.staged);
    this.stats.sent += 4 * 4 * WIDTH * rows;
  }

  #use({ program, places }, textures, numbers) {
    const { gl } = this;
    gl.useProgram(program);
    Object.entries(textures).forEach(([name, texture], unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.uniform1i(places[name], unit);
    });
    for (const [name, value] of Object.entries(numbers)) gl.uniform1i(places[name], value);
    return places;
  }

  #fill(target, texels) {
    const { gl } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, target.frame);
    gl.viewport(0, 0, WIDTH, Math.ceil(texels / WIDTH));
    gl.disable(gl.DEPTH_TEST);
    gl.bindVertexArray(this.empty);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.enable(gl.DEPTH_TEST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    ++this.stats.draws;
  }

  /** Poses the bones, and where they are wanted the virtual bones, of some instances. */
  #pose(first, count, virtual) {
    const { gl } = this;
    this.#grow(this.poses, count * this.boneStride);
    const motion = new Int32Array(2 * MOST_CHARACTERS);
    this.crowd.characters.forEach((character, c) => motion.set([character.firstTexel, character.bones], 2 * c));
    let places = this.#use(this.programs.bones, { tMotion: this.motion, tInstances: this.instances.texture }, { uStride: this.boneStride, uFirst: first, uCount: count });
    gl.uniform2iv(places.uMotion, motion);
    this.#fill(this.poses, count * this.boneStride);
    if (!virtual) return;
    this.#grow(this.virtual, count * this.virtualStride);
    places = this.#use(this.programs.virtual, { tPose: this.poses.texture, tBlends: this.blends, tInstances: this.instances.texture },
      { uStride: this.virtualStride, uPoseStride: this.boneStride, uFirst: first, uCount: count });
    gl.uniform3iv(places.uBlends, this.virtualBlends);
    this.#fill(this.virtual, count * this.virtualStride);
  }

  /** Draws the lists as `view` sees them: { matrix, eye, sky, far, width, height }. */
  draw(lists, method, view) {
    const { gl } = this;
    this.stats = { draws: 0, triangles: 0, batches: 0, sent: 0 };
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, view.width, view.height);
    gl.enable(gl.DEPTH_TEST);
    gl.clearColor(...view.sky, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    if (lists.total === 0) return;
    this.#sendInstances(lists);
    if (method === 'stream') {
      this.#drawStream(lists, view);
      return;
    }
    const virtual = method === 'two_layer' && this.crowd.characters.some((character) => character.virtualBones);
    const texels = Math.min(POSE_BYTES / (this.half ? 8 : 16), WIDTH * this.tallest);
    const capacity = Math.max(1, Math.floor(texels / Math.max(this.boneStride, virtual ? this.virtualStride : 0)));
    for (let start = 0; start < lists.total; start += capacity) {
      const count = Math.min(capacity, lists.total - start);
      this.#pose(start, count, virtual);
      ++this.stats.batches;
      gl.viewport(0, 0, view.width, view.height);
      for (const group of lists.groups) {
        const first = Math.max(group.first, start);
        const last = Math.min(group.first + group.count, start + count);
        if (last > first) this.#drawGroup(group, method, view, first, last - first, start);
      }
    }
  }

  #show(places, view, flat) {
    const { gl } = this;
    gl.uniformMatrix4fv(places.uMatrix, false, view.matrix);
    gl.uniform3fv(places.uEye, view.eye);
    gl.uniform3fv(places.uSky, view.sky);
    gl.uniform1f(places.uFar, view.far);
    gl.uniform1i(places.uFlat, flat ? 1 : 0);
  }

  #drawGroup({ character, level }, method, view, first, count, batch, programs = this.programs, draw = null) {
    const { gl } = this;
    const data = this.crowd.characters[character].levels[level];
    const name = methodOf(data, method);
    const many = this.vertexBlends.get(data.methods[name]);
    const virtual = name === 'two_layer';
    const places = this.#use(many ? programs.many : programs.four,
      { tInstances: this.instances.texture, tBones: virtual ? this.virtual.texture : this.poses.texture, ...(many ? { tBlends: this.blends } : {}) },
      { uFirst: first, uBatch: batch, uStride: virtual ? this.virtualStride : this.boneStride, ...(many ? { uPairs: many.pairs, uFirstBlend: many.first } : {}) });
    this.#show(places, view, data.flat);
    const { arrays, corners } = this.levels[character][level];
    gl.bindVertexArray(arrays[name]);
    if (draw) draw();
    else gl.drawElementsInstanced(gl.TRIANGLES, corners, gl.UNSIGNED_INT, 0, count);
    ++this.stats.draws;
    this.stats.triangles += (corners / 3) * count;
  }

  /** Frames of a level, posed by the CPU once. */
  #framesOf(character, level) {
    const key = `${character} ${level}`;
    if (!this.streamed.has(key)) {
      this.numbers ??= motionNumbers(this.crowd);
      const owner = this.crowd.characters[character];
      this.streamed.set(key, poseLevel(owner, owner.levels[level], this.numbers));
    }
    return this.streamed.get(key);
  }

  // Vertices of every instance are sent, as many instances at a time as the texture holds.
  #drawStream(lists, view) {
    const { gl } = this;
    this.stream ??= { texture: null, staged: new Float32Array(4 * STREAM_TEXELS) };
    if (!this.stream.texture) {
      gl.activeTexture(gl.TEXTURE0);
      this.stream.texture = this.#bare();
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, WIDTH, STREAM_TEXELS / WIDTH, 0, gl.RGBA, gl.FLOAT, null);
    }
    for (const group of lists.groups) {
      if (group.count === 0) continue;
      const data = this.crowd.characters[group.character].levels[group.level];
      if (data.vertices > STREAM_TEXELS) continue;  // more than is sent at a time
      const frames = this.#framesOf(group.character, group.level);
      const stride = STREAM_NUMBERS * data.vertices;
      const capacity = Math.floor(STREAM_TEXELS / data.vertices);
      for (let from = 0; from < group.count; from += capacity) {
        const count = Math.min(capacity, group.count - from);
        for (let i = 0; i < count; ++i) {
          const frame = Math.round(lists.numbers[NUMBERS * (group.first + from + i) + 4]);
          this.stream.staged.set(frames.subarray(frame * stride, (frame + 1) * stride), i * stride);
        }
        const rows = Math.ceil((count * data.vertices) / WIDTH);
        gl.activeTexture(gl.TEXTURE0);
        gl.bindTexture(gl.TEXTURE_2D, this.stream.texture);
        gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, WIDTH, rows, gl.RGBA, gl.FLOAT, this.stream.staged);
        this.stats.sent += 16 * WIDTH * rows;
        const places = this.#use(this.programs.stream, { tStream: this.stream.texture, tInstances: this.instances.texture }, { uFirst: group.first + from, uVertices: data.vertices });
        this.#show(places, view, data.flat);
        const { arrays, corners } = this.levels[group.character][group.level];
        gl.bindVertexArray(arrays.stream);
        gl.drawElementsInstanced(gl.TRIANGLES, corners, gl.UNSIGNED_INT, 0, count);
        ++this.stats.draws;
        ++this.stats.batches;
        this.stats.triangles += (corners / 3) * count;
      }
    }
  }

  /** Vertices of one instance as the GPU poses them, before it is put in its place. */
  readBack(method, character, level, frame) {
    const { gl } = this;
    this.feedback ??= { four: this.#program(DRAW_FOUR, SHADE, 'vPosed'), many: this.#program(DRAW_MANY, SHADE, 'vPosed') };
    const { vertices } = this.crowd.characters[character].levels[level];
    const one = { total: 1, numbers: new Float32Array([0, 0, 1, 0, frame, character, 0, 0]) };
    this.instances = null;
    this.#sendInstances(one);
    this.#pose(0, 1, method === 'two_layer');
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, 12 * vertices, gl.DYNAMIC_READ);
    gl.bindBuffer(gl.ARRAY_BUFFER, null);
    gl.bindBufferBase(gl.TRANSFORM_FEEDBACK_BUFFER, 0, buffer);
    gl.enable(gl.RASTERIZER_DISCARD);
    const nowhere = { matrix: new Float32Array(16), eye: [0, 0, 0], sky: [0, 0, 0], far: 1 };
    this.#drawGroup({ character, level }, method, nowhere, 0, 1, 0, this.feedback, () => {
      gl.beginTransformFeedback(gl.POINTS);
      gl.drawArrays(gl.POINTS, 0, vertices);
      gl.endTransformFeedback();
    });
    gl.disable(gl.RASTERIZER_DISCARD);
    gl.bindBufferBase(gl.TRANSFORM_FEEDBACK_BUFFER, 0, null);
    gl.bindBuffer(gl.COPY_READ_BUFFER, buffer);
    const posed = new Float32Array(3 * vertices);
    gl.getBufferSubData(gl.COPY_READ_BUFFER, 0, posed);
    gl.deleteBuffer(buffer);
    this.instances = null;
    return posed;
  }
}
