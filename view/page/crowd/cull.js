// Which instances are seen, and at which level of detail.
import { frameAt } from './scatter.js';

export const NUMBERS = 8;  // per instance that is drawn: x, z, cosine, sine; frame, character, shade, height of the floor

/** Whether a sphere may be seen: false only where it is outside a plane. */
export function maybeSeen(planes, x, y, z, radius) {
  for (const [a, b, c, d] of planes) if (a * x + b * y + c * z + d < -radius) return false;
  return true;
}

/** The coarsest level that still has a triangle for every `pixels` pixels that an instance covers; 0 is the finest. */
export function levelFor(levels, radiusInPixels, pixels) {
  const wanted = (Math.PI * radiusInPixels * radiusInPixels) / pixels;
  for (let level = levels.length - 1; level > 0; --level) if (levels[level].triangles.length / 3 >= wanted) return level;
  return 0;
}

/** Lists of what is drawn: groups of one character and one level, whose instances lie next to each other in `numbers`.
 *  `seen`: { planes or null, eye, pixelsPerUnit, pixelsPerTriangle, level (or -1 for by distance) }. The arrays are kept
 *  between calls. */
export class Lists {
  constructor(characters, most) {
    this.characters = characters;
    this.groups = characters.flatMap((character, c) => character.levels.map((_, level) => ({ character: c, level, first: 0, count: 0 })));
    this.firstGroup = [];
    let group = 0;
    for (const character of characters) {
      this.firstGroup.push(group);
      group += character.levels.length;
    }
    this.numbers = new Float32Array(NUMBERS * most);
    this.chosen = new Int8Array(most);
    this.total = 0;
  }

  update(instances, count, seconds, seen) {
    for (const group of this.groups) group.count = 0;
    for (let i = 0; i < count; ++i) {
      const group = this.#groupOf(instances, i, seen);
      this.chosen[i] = group;
      if (group >= 0) ++this.groups[group].count;
    }
    this.total = 0;
    for (const group of this.groups) {
      group.first = this.total;
      this.total += group.count;
      group.count = 0;
    }
    for (let i = 0; i < count; ++i) {
      if (this.chosen[i] < 0) continue;
      const group = this.groups[this.chosen[i]];
      const clip = this.characters[group.character].clips[instances.clip[i]];
      const at = NUMBERS * (group.first + group.count++);
      this.numbers[at] = instances.x[i];
      this.numbers[at + 1] = instances.z[i];
      this.numbers[at + 2] = instances.cos[i];
      this.numbers[at + 3] = instances.sin[i];
      this.numbers[at + 4] = frameAt(instances, i, clip, seconds);
      this.numbers[at + 5] = group.character;
      this.numbers[at + 6] = instances.shade[i];
      this.numbers[at + 7] = clip.floor;
    }
  }

  /** The group that an instance is drawn with, or -1 where it is not seen. */
  #groupOf(instances, i, seen) {
    const c = instances.character[i];
    const { clips, levels } = this.characters[c];
    const { center, radius, floor } = clips[instances.clip[i]];
    const x = instances.x[i] + instances.cos[i] * center[0] + instances.sin[i] * center[2];
    const y = center[1] - floor;
    const z = instances.z[i] - instances.sin[i] * center[0] + instances.cos[i] * center[2];
    if (seen.planes && !maybeSeen(seen.planes, x, y, z, radius)) return -1;
    let { level } = seen;
    if (level < 0) {
      const distance = Math.hypot(x - seen.eye[0], y - seen.eye[1], z - seen.eye[2]);
      level = levelFor(levels, seen.pixelsPerUnit / Math.max(distance, 1e-3), seen.pixelsPerTriangle);
    }
    return this.firstGroup[c] + Math.min(level, levels.length - 1);
  }
}
