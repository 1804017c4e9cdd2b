// A camera that turns about a point on the ground, and the planes of what it sees. Matrices are column-major, as WebGL
// takes them.

const FIELD_OF_VIEW = (40 * Math.PI) / 180;
const MOST_TILT = 1.5;

export class Camera {
  constructor(radius) {
    this.target = [0, 0.4, 0];
    this.turn = 0.6;
    this.tilt = 0.35;
    this.distance = radius;
  }

  get eye() {
    const flat = Math.cos(this.tilt) * this.distance;
    return [
      this.target[0] + flat * Math.sin(this.turn), this.target[1] + Math.sin(this.tilt) * this.distance, this.target[2] + flat * Math.cos(this.turn),
    ];
  }

  rotate(dx, dy) {
    this.turn -= dx;
    this.tilt = Math.min(MOST_TILT, Math.max(0.02, this.tilt + dy));
  }

  zoom(factor) {
    this.distance = Math.min(2000, Math.max(1.5, this.distance * factor));
  }

  /** Moves over the ground, in parts of the distance to it. */
  move(right, ahead) {
    const [s, c] = [Math.sin(this.turn), Math.cos(this.turn)];
    this.target[0] += this.distance * (right * c - ahead * s);
    this.target[2] -= this.distance * (right * s + ahead * c);
  }

  /** World → clip space. */
  matrix(aspect) {
    return multiply(perspective(FIELD_OF_VIEW, aspect, Math.max(0.05, this.distance / 200), this.distance * 6 + 300), this.view());
  }

  view() {
    const { eye, target } = this;
    const back = unit([eye[0] - target[0], eye[1] - target[1], eye[2] - target[2]]);
    const right = unit([back[2], 0, -back[0]]);
    const up = [back[1] * right[2] - back[2] * right[1], back[2] * right[0] - back[0] * right[2], back[0] * right[1] - back[1] * right[0]];
    const at = (axis) => -(axis[0] * eye[0] + axis[1] * eye[1] + axis[2] * eye[2]);
    return [
      right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0, at(right), at(up), at(back), 1,
    ];
  }

  /** Pixels that a length of 1 takes at a distance of 1. */
  static pixelsPerUnit(height) {
    return height / (2 * Math.tan(FIELD_OF_VIEW / 2));
  }
}

const unit = (v) => {
  const length = Math.hypot(...v) || 1;
  return v.map((x) => x / length);
};

export function perspective(angle, aspect, near, far) {
  const f = 1 / Math.tan(angle / 2);
  return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0];
}

export function multiply(a, b) {
  const out = new Array(16).fill(0);
  for (let c = 0; c < 4; ++c)
    for (let r = 0; r < 4; ++r) for (let k = 0; k < 4; ++k) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
  return out;
}

/** The six planes of a world → clip matrix, of unit normals that point inwards: [a, b, c, d] with ax + by + cz + d >= 0
 *  inside. */
export function frustum(m) {
  const row = (r) => [m[r], m[4 + r], m[8 + r], m[12 + r]];
  const w = row(3);
  return [0, 1, 2].flatMap((axis) => [1, -1].map((side) => {
    const plane = w.map((x, k) => x + side * row(axis)[k]);
    const length = Math.hypot(plane[0], plane[1], plane[2]);
    return plane.map((x) => x / length);
  }));
}
