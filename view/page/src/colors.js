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

// Lightness grows evenly from dark blue to yellow, so that more is lighter for every eye and in print (after cividis).
const HEAT = [
  [0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115], [138, 134, 120], [165, 156, 116], [195, 179, 105],
  [225, 204, 85], [253, 231, 55],
].map((rgb) => rgb.map((c) => c / 255));

/** t in 0..1 from dark blue to light yellow. */
export function heat(t) {
  const x = Math.min(1, Math.max(0, t)) * (HEAT.length - 1);
  const i = Math.min(HEAT.length - 2, Math.floor(x));
  return HEAT[i].map((c, k) => c + (x - i) * (HEAT[i + 1][k] - c));
}

export const CLAY = [0.62, 0.64, 0.68];
export const css = (rgb) => `rgb(${rgb.map((c) => Math.round(255 * c)).join(' ')})`;
