// Errors of the shown model against the original frames, as `sinew evaluate` defines them.

/** Decodes the frames that the page carries: { vertices, frames, radius, data: F×V×3 }. */
export function decodeOriginal(element, facts) {
  const data = new Float32Array(decodeBase64(element.textContent).buffer);
  return { ...facts, data };
}

export function decodeBase64(text) {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Distance of every control point to the original in one frame; control points are reached through the first render
 *  vertex that stands for them. */
export class ErrorTable {
  constructor(model, original) {
    this.model = model;
    this.original = original;
    this.frames = Math.min(model.frameCount, original.frames);
    this.renderVertex = new Int32Array(original.vertices).fill(-1);
    for (let v = model.vertexCount - 1; v >= 0; --v) this.renderVertex[model.controlPoint[v]] = v;
    this.compute();
  }

  distances(frame) {
    this.model.setFrame(frame);
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

  /** Fills perFrame (RMSE in % of the diagonal), the totals, and where the largest distance is. */
  compute() {
    const { vertices, radius } = this.original;
    this.perFrame = [];
    this.worst = { distance: -1, frame: 0, vertex: 0 };
    let sum = 0;
    for (let f = 0; f < this.frames; ++f) {
      let frameSum = 0;
      const distances = this.distances(f);
      for (let p = 0; p < vertices; ++p) {
        frameSum += distances[p] * distances[p];
        if (distances[p] > this.worst.distance) this.worst = { distance: distances[p], frame: f, vertex: p };
      }
      this.perFrame.push((100 * Math.sqrt(frameSum / vertices)) / this.model.diagonal);
      sum += frameSum;
    }
    this.rmsePercent = (100 * Math.sqrt(sum / (vertices * this.frames))) / this.model.diagonal;
    this.eRms = (1000 * Math.sqrt(sum / (3 * vertices * this.frames))) / radius;
    this.maxPercent = (100 * this.worst.distance) / this.model.diagonal;
  }
}
