// Sorted weights of SMA rigs, as Figure 7 of James & Twigg 2005 has them: weights of the file, helper bones counted as
// what they stand for.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SET = 'chickenCrossing';
const WAYS = ['nnls', 'tsvd'];
const optionsOf = (way) => ['--method', 'sma', '--iterations', '0', '--weights', way];

/** JSON and binary chunk of a GLB file. */
function read(file) {
  const bytes = readFileSync(file);
  const length = bytes.readUInt32LE(12);
  const start = 20 + length + 8;
  return { json: JSON.parse(bytes.toString('utf8', 20, 20 + length)), binary: bytes.subarray(start, start + bytes.readUInt32LE(20 + length)) };
}

/** Numbers of an accessor, tightly packed or interleaved. */
function numbers({ json, binary }, index) {
  const { bufferView, byteOffset = 0, componentType, count, type } = json.accessors[index];
  const view = json.bufferViews[bufferView];
  const [size, take] = { 5121: [1, 'readUInt8'], 5123: [2, 'readUInt16LE'], 5126: [4, 'readFloatLE'] }[componentType];
  const width = { SCALAR: 1, VEC3: 3, VEC4: 4 }[type];
  const stride = view.byteStride ?? size * width;
  const from = (view.byteOffset ?? 0) + byteOffset;
  return Array.from({ length: count * width }, (_, i) => binary[take](from + Math.floor(i / width) * stride + (i % width) * size));
}

/** Weights of every vertex for the bones it has any of: a helper "…_times_F" is F of the bone that it is named after. */
export function signedWeights(file) {
  const glb = read(file);
  const names = glb.json.skins[0].joints.map((joint) => glb.json.nodes[joint].name.replace(/_stretch$/, '').split('_times_'));
  const { attributes } = glb.json.meshes[0].primitives[0];
  const rows = [];
  for (let set = 0; `JOINTS_${set}` in attributes; ++set) {
    const joints = numbers(glb, attributes[`JOINTS_${set}`]);
    const values = numbers(glb, attributes[`WEIGHTS_${set}`]);
    joints.forEach((joint, i) => {
      if (values[i] === 0) return;
      const [bone, factor = '1'] = names[joint];
      const row = (rows[i >> 2] ??= new Map());
      row.set(bone, (row.get(bone) ?? 0) + values[i] * Number(factor));
    });
  }
  return rows.flatMap((row) => [...row.values()].filter((w) => Math.abs(w) > 1e-6)).sort((a, b) => a - b);
}

const LOW = -2;
const HIGH = 3;

function plot(curves) {
  const [width, height, left, top, bottom] = [640, 360, 50, 40, 34];
  const X = (share) => left + share * (width - left - 16);
  const Y = (w) => top + ((HIGH - Math.min(HIGH, Math.max(LOW, w))) / (HIGH - LOW)) * (height - top - bottom);
  const colors = ['#1b7f4b', '#c0392b'];
  const text = (x, y, content, extra = '') => `<text x="${x}" y="${y}" ${extra}>${content}</text>`;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`,
    '<style>.page{fill:#fff}text{fill:#333}.grid{stroke:#e3e6ea}@media(prefers-color-scheme:dark){.page{fill:#15181c}text{fill:#d8dce1}.grid{stroke:#31363d}}</style>',
    `<rect class="page" width="${width}" height="${height}"/>`,
    text(8, 16, `Sorted weights, ${SET}`, 'font-size="13" font-weight="bold"'),
  ];
  for (let w = LOW; w <= HIGH; ++w)
    parts.push(`<line class="grid" x1="${X(0)}" x2="${X(1)}" y1="${Y(w)}" y2="${Y(w)}"/>`, text(left - 8, Y(w) + 4, w, 'text-anchor="end"'));
  for (const share of [0, 0.25, 0.5, 0.75, 1]) parts.push(text(X(share), height - 18, share, 'text-anchor="middle"'));
  parts.push(text(X(0.5), height - 4, 'share of all weights', 'text-anchor="middle"'));
  curves.forEach(({ name, weights }, i) => {
    const steps = 400;
    const points = Array.from({ length: steps + 1 }, (_, k) => [k / steps, weights[Math.min(weights.length - 1, Math.floor((k / steps) * weights.length))]]);
    parts.push(`<polyline fill="none" stroke="${colors[i]}" stroke-width="2" points="${points.map(([s, w]) => `${X(s).toFixed(1)},${Y(w).toFixed(1)}`).join(' ')}"/>`);
    parts.push(`<line x1="${left + 12}" x2="${left + 36}" y1="${top + 12 + 16 * i}" y2="${top + 12 + 16 * i}" stroke="${colors[i]}" stroke-width="2"/>`);
    parts.push(text(left + 42, top + 16 + 16 * i, name));
  });
  return `${parts.join('\n')}\n</svg>\n`;
}

/** Solves both ways, draws them into `svg`, and returns the rows of the table. */
export function drawWeights({ program, data, folder, svg }) {
  const curves = WAYS.map((way) => {
    const file = `${folder}-${way}.glb`;
    const words = ['solve', join(data, 'sequences', SET), ...optionsOf(way), '-o', file, '--threads', '1'];
    const run = spawnSync(program, words, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'inherit'] });
    if (run.status !== 0) throw new Error(`sinew ${words.join(' ')}: exit ${run.status}`);
    return { name: way.toUpperCase(), weights: signedWeights(file) };
  });
  writeFileSync(svg, plot(curves));
  return curves.map(({ name, weights }) => {
    const share = (chosen) => weights.filter(chosen).length / weights.length;
    return { name, weights: weights.length, least: weights[0], most: weights.at(-1), negative: share((w) => w < 0), beyond: share((w) => Math.abs(w) > 1.001) };
  });
}

export const weightsCommand = `sinew solve ${SET} ${optionsOf('tsvd').join(' ')} -o tsvd.glb    # and --weights nnls`;
