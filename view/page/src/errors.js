// Errors of the shown model against the original frames, as `sinew evaluate` defines them.

/** Decodes the frames that the page carries: { vertices, frames, radius, step, data: F×V×3 }, every step-th frame of the
 *  sequence, in floats or in 16 bits that are scaled. */
export function decodeOriginal(element, facts) {
  const { buffer } = decodeBase64(element.textContent);
  if (!facts.scale) return { ...facts, data: new Float32Array(buffer) };
  return { ...facts, data: Float32Array.from(new Uint16Array(buffer), (n) => facts.low + n * facts.scale) };
}

export function decodeBase64(text) {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

const BINS_PER_OCTAVE = 32;
const OCTAVES = 40;  // below the diagonal; less than that is no error
const USUAL = 0.99;  // share of the distances that the colours tell apart

/** Distance of every control point to the original in one frame; control points are reached through the first render
 *  vertex that stands for them. */
export class ErrorTable {
  constructor(model, original) {
    this.model = model;
    this.original = original;
    this.step = original.step ?? 1;
    this.frames = Math.min(Math.ceil(model.frameCount / this.step), original.frames);  // that are compared
    this.renderVertex = new Int32Array(original.vertices).fill(-1);
    for (let v = model.vertexCount - 1; v >= 0; --v) this.renderVertex[model.controlPoint[v]] = v;
    this.compute();
  }

  /** Of the compared frame nearest to a frame of the model. */
  distancesAt(frame) {
    return this.distances(Math.min(this.frames - 1, Math.round(frame / this.step)));
  }

  distances(frame) {
    this.model.setFrame(frame * this.step);
    const posed = this.model.positions();
    const { data, vertices } = this.original;
    const out = new Float64Array(vertices);
    for (let p = 0; p < vertices; ++p) {
      const v = this.renderVertex[p];
      if (v < 0) continue;
      const at = 3 * (frame * vertices + p);
      out[p] = Math.hypot(posed[3 * v] - data[at], posed[3 * v + 1] - data[at + 1], posed[3 * v + 2] - data[at + 2]);
    }
    return out;
  }

  /** Fills perFrame (RMSE in % of the diagonal), the totals, where the largest distance is, and `usual`: what 99 of 100
   *  distances are below, or the largest where that is not far above it. */
  compute() {
    const { vertices, radius } = this.original;
    const { diagonal } = this.model;
    this.perFrame = [];
    this.worst = { distance: -1, frame: 0, vertex: 0 };
    const counts = new Float64Array(BINS_PER_OCTAVE * OCTAVES + 1);
    const binOf = (distance) => Math.ceil(BINS_PER_OCTAVE * (OCTAVES + Math.log2(distance / diagonal)));
    let sum = 0;
    for (let f = 0; f < this.frames; ++f) {
      let frameSum = 0;
      const distances = this.distances(f);
      for (let p = 0; p < vertices; ++p) {
        frameSum += distances[p] * distances[p];
        ++counts[Math.min(counts.length - 1, Math.max(0, binOf(distances[p])))];
        if (distances[p] > this.worst.distance) this.worst = { distance: distances[p], frame: f * this.step, vertex: p };
      }
      this.perFrame.push((100 * Math.sqrt(frameSum / vertices)) / diagonal);
      sum += frameSum;
    }
    this.rmsePercent = (100 * Math.sqrt(sum / (vertices * this.frames))) / diagonal;
    this.eRms = (1000 * Math.sqrt(sum / (3 * vertices * this.frames))) / radius;
    this.maxPercent = (100 * this.worst.distance) / diagonal;
    let bin = 0;
    for (let below = counts[0]; below < USUAL * vertices * this.frames; below += counts[++bin]);
    const usual = diagonal * 2 ** (bin / BINS_PER_OCTAVE - OCTAVES);
    this.usual = bin === 0 || usual > 0.8 * this.worst.distance ? this.worst.distance : usual;
  }
}
