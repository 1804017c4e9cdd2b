// Colours: one per bone, far apart; ramps for weights and errors.
import { Color } from 'three';

/** Bone colours by golden-angle hues with alternating lightness, so that neighbours in the list differ. */
export function boneColors(count) {
  const color = new Color();
  return Array.from({ length: count }, (_, b) => {
    color.setHSL((b * 0.61803398875) % 1, 0.62, [0.55, 0.42, 0.68][b % 3]);
    return [color.r, color.g, color.b];
  });
}

const HEAT = [[0.13, 0.20, 0.45], [0.16, 0.52, 0.63], [0.45, 0.75, 0.43], [0.97, 0.82, 0.28], [0.84, 0.20, 0.15]];

/** t in 0..1 from dark blue over green to red. */
export function heat(t) {
  const x = Math.min(1, Math.max(0, t)) * (HEAT.length - 1);
  const i = Math.min(HEAT.length - 2, Math.floor(x));
  return HEAT[i].map((c, k) => c + (x - i) * (HEAT[i + 1][k] - c));
}

export const CLAY = [0.62, 0.64, 0.68];
export const css = (rgb) => `rgb(${rgb.map((c) => Math.round(255 * c)).join(' ')})`;
