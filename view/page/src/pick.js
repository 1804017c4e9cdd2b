// What is under the pointer: the bone that moves that place of the body most.
import { Raycaster, Triangle, Vector2, Vector3 } from 'three';

/** The nearest triangle that a ray hits among posed vertices, as { point, corners, shares } with the barycentric shares of
 *  its corners, or null. Both sides count. */
export function hitTriangle(ray, positions, triangles) {
  const [a, b, c, at] = [new Vector3(), new Vector3(), new Vector3(), new Vector3()];
  let best = null;
  let nearest = Infinity;
  for (let t = 0; t + 2 < triangles.length; t += 3) {
    a.fromArray(positions, 3 * triangles[t]);
    b.fromArray(positions, 3 * triangles[t + 1]);
    c.fromArray(positions, 3 * triangles[t + 2]);
    if (!ray.intersectTriangle(a, b, c, false, at)) continue;
    const distance = at.distanceToSquared(ray.origin);
    if (distance >= nearest) continue;
    const shares = Triangle.getBarycoord(at, a, b, c, new Vector3());
    if (!shares) continue;
    nearest = distance;
    best = { point: at.clone(), corners: [triangles[t], triangles[t + 1], triangles[t + 2]], shares: shares.toArray() };
  }
  return best;
}

/** The bone with the largest weight at a place of the surface. */
export function boneAt(model, { corners, shares }) {
  const sums = new Map();
  corners.forEach((v, i) => {
    for (let k = v * model.slots; k < (v + 1) * model.slots; ++k)
      if (model.weights[k] > 0) sums.set(model.weightBones[k], (sums.get(model.weightBones[k]) ?? 0) + shares[i] * model.weights[k]);
  });
  return [...sums].reduce((best, entry) => (entry[1] > best[1] ? entry : best), [-1, 0])[0];
}

/** The bone under a pointer event, or -1. */
export function pickBone(model, camera, canvas, event) {
  const box = canvas.getBoundingClientRect();
  const at = new Vector2((2 * (event.clientX - box.left)) / box.width - 1, 1 - (2 * (event.clientY - box.top)) / box.height);
  const caster = new Raycaster();
  caster.setFromCamera(at, camera);
  const hit = hitTriangle(caster.ray, model.positions(), model.triangles);
  return hit ? boneAt(model, hit) : -1;
}
