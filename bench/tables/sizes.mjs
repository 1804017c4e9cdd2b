// docs/sizes.md: bits per vertex and frame of packed rigs against their error, beside what is published and beside other
// ways to keep the same frames. `script/bench --sizes [--only SET]`. Sets that are not drawn keep what is known of them.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { published } from './jobs.mjs';

const METHODS = ['ssdr --pack', 'ssdr --transforms affine --pack'];
const SETS = [
  { set: 'horse-gallop', bones: '10,20,30' }, { set: 'cat-poses', bones: '10,20' }, { set: 'pdance', bones: '10,24' },
  { set: 'samba', bones: '10,30' }, { set: 'cloth', bones: '10,30' },
];

/** What Liu 2020, Table 4 prints for a sequence: curve, bits per vertex and frame, error. */
function publishedOf(set) {
  const rows = published().filter((row) => row.paper === 'HIS20' && row.table === '4' && row.dataset === set);
  return rows.filter((row) => row.metric === 'bpfv').map((bits) => {
    const error = rows.find((row) => row.metric === 'E_RMS' && row.bones === bits.bones && row.method === bits.method);
    return { curve: bits.method === 'LDJ19' ? 'Luo 2019' : 'Liu 2020', x: bits.value, y: error.value };
  }).sort((a, b) => a.curve.localeCompare(b.curve) || a.x - b.x);
}

function run(program, words) {
  const done = spawnSync(program, words, { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'inherit'] });
  if (done.status !== 0) throw new Error(`${program} ${words.join(' ')}: exit ${done.status}`);
  return done.stdout;
}

/** Positions of a PC2 file: frames, vertices and F·V·3 numbers. */
function cacheOf(file) {
  const bytes = readFileSync(file);
  const vertices = bytes.readInt32LE(16);
  const frames = bytes.readInt32LE(28);
  return { frames, vertices, numbers: new Float32Array(bytes.buffer.slice(bytes.byteOffset + 32, bytes.byteOffset + 32 + 12 * frames * vertices)) };
}

/**
 * Bits per vertex and frame of the cache in 16-bit whole numbers through zstd -19, each less the one before it in time:
 * `step` makes the rounding as large as an RMS distance.
 */
function zstdBits(cache, distance, folder) {
  const step = distance * Math.sqrt(12 / 3);
  const width = 3 * cache.vertices;
  const whole = new Int16Array(cache.numbers.length);
  const at = (f, i) => Math.round(cache.numbers[f * width + i] / step);
  for (let f = 0; f < cache.frames; f += 1)
    for (let i = 0; i < width; i += 1) whole[f * width + i] = f === 0 ? at(f, i) : at(f, i) - at(f - 1, i);
  const file = join(folder, 'cache');
  writeFileSync(file, Buffer.from(whole.buffer));
  execFileSync('zstd', ['-19', '-q', '-f', file]);
  return (8 * statSync(`${file}.zst`).size) / cache.frames / cache.vertices;
}

function gltfpackBits(gltfpack, rig, cache, folder) {
  const out = join(folder, 'gltfpack.glb');
  execFileSync(gltfpack, ['-cc', '-i', rig, '-o', out], { stdio: 'ignore' });
  return { file: out, bits: (8 * statSync(out).size) / cache.frames / cache.vertices };
}

function measure({ set, bones }, { program, data, gltfpack, docs, work }) {
  console.log(set);
  const path = join(data, 'sequences', set);
  const folder = join(work, set);
  const marks = publishedOf(set);
  writeFileSync(`${folder}.csv`, `curve,x,y\n${marks.map(({ curve, x, y }) => `${curve},${x},${y}`).join('\n')}\n`);
  const rows = JSON.parse(run(program, [
    'sweep', path, '--over', `bones=${bones}`, '--options', '--quality fast', ...METHODS.flatMap((method) => ['--method', method]),
    '--x', 'bits', '--y', 'e_rms', ...(marks.length > 0 ? ['--points', `${folder}.csv`] : []), '-o', folder, '--json']));
  copyFileSync(join(folder, 'e_rms.svg'), join(docs, `${set}.svg`));
  const scratch = mkdtempSync(join(tmpdir(), 'sinew-sizes-'));
  try {
    run(program, ['convert', path, '-o', join(scratch, 'cache.pc2')]);
    const cache = cacheOf(join(scratch, 'cache.pc2'));
    const most = bones.split(',').at(-1);
    const rig = join(scratch, 'rig.glb');
    const packed = join(scratch, 'packed.glb');
    run(program, ['solve', path, '--bones', most, '--quality', 'fast', '-o', rig]);
    const asked = JSON.parse(run(program, ['pack', rig, '--examples', path, '-o', packed, '--json']));
    const judged = (file) => JSON.parse(run(program, ['evaluate', file, path, '--json'])).errors;
    const own = judged(packed);
    const bits = (bytes) => (8 * bytes) / cache.frames / cache.vertices;
    const diagonal = own.max_distance / (own.max_percent / 100);
    const out = { set, vertices: cache.vertices, frames: cache.frames, bones: Number(most), rows, marks, plain: bits(asked.bytes.before), packed: bits(asked.bytes.after), e_rms: own.e_rms };
    out.zstd = zstdBits(cache, (own.rmse_percent / 100) * diagonal, scratch);
    if (!gltfpack) return out;
    const theirs = gltfpackBits(gltfpack, rig, cache, scratch);
    out.gltfpack = { bits: theirs.bits, e_rms: judged(theirs.file).e_rms };
    out.at_theirs = bits(JSON.parse(run(program, ['pack', rig, '--examples', path, '--max-error', String(out.gltfpack.e_rms), '-o', packed, '--json'])).bytes.after);
    return out;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

const number = (x) => (x === undefined ? '–' : x.toPrecision(3));

function page(known) {
  const drawn = SETS.map(({ set }) => known[set]).filter(Boolean);
  const lines = [
    '# Sizes', '',
    'Bits per vertex and frame, 8 · bytes / (V·F), of whole files: mesh, normals, triangles, weights, motion and JSON. Liu 2020',
    'counts weights and matrices alone, and normalises errors otherwise: in this unit its points lie 1.12 times higher. Rigs are solved with `--quality fast` and packed as `sinew solve --pack` does. Made by',
    '`script/bench --sizes`; not edited by hand.', '',
    '## The same rig, the same error', '',
    'Rigid bones, four influences. `zstd`: the frames as 16-bit whole numbers, in differences from frame to frame, so coarse that',
    'they have the error of the packed rig, `zstd -19`. `gltfpack`: `-cc` on the rig, and in the column after it what our file',
    'takes at its error.', '',
    '| sequence | V | F | bones | E_RMS | rig | packed | zstd | gltfpack, its E_RMS | packed at that |', '|---|---|---|---|---|---|---|---|---|---|',
    ...drawn.map((row) => `| ${row.set} | ${row.vertices} | ${row.frames} | ${row.bones} | ${number(row.e_rms)} | ${number(row.plain)} | **${number(row.packed)}** | ${number(row.zstd)} | ${row.gltfpack ? `${number(row.gltfpack.bits)}, ${number(row.gltfpack.e_rms)}` : '–'} | ${number(row.at_theirs)} |`),
    '', '## Beside Liu 2020, Table 4', '', '| sequence | whose | bits | E_RMS |', '|---|---|---|---|',
    ...drawn.filter((row) => row.marks.length > 0).flatMap((row) => [
      ...row.marks.map((mark) => `| ${row.set} | ${mark.curve} | ${mark.x} | ${mark.y} |`),
      ...row.rows.map((ours) => `| ${row.set} | \`${ours.method}\`, ${ours.rig_bones} bones | ${number(ours.bits)} | ${number(ours.e_rms)} |`)]),
    '', '## Error against bits',
    ...drawn.flatMap((row) => ['', `![Error against bits per vertex and frame, ${row.set}](sizes/${row.set}.svg)`]),
  ];
  return `${lines.join('\n')}\n`;
}

/** Measures the sets whose name is asked for and writes docs/sizes.md from all that are known. */
export function drawSizes({ root, data, program, gltfpack, only }) {
  const docs = join(root, 'docs', 'sizes');
  const work = join(root, 'build', 'bench', 'sizes');
  mkdirSync(docs, { recursive: true });
  mkdirSync(work, { recursive: true });
  const stored = join(docs, 'sizes.json');
  const known = existsSync(stored) ? JSON.parse(readFileSync(stored, 'utf8')) : {};
  for (const entry of SETS) {
    if (only.length > 0 && !only.some((text) => entry.set.includes(text))) continue;
    known[entry.set] = measure(entry, { program, data, gltfpack, docs, work });
    writeFileSync(stored, `${JSON.stringify(known, null, 1)}\n`);
  }
  writeFileSync(join(root, 'docs', 'sizes.md'), page(known));
  console.log('wrote docs/sizes.md');
}
