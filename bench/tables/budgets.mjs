// docs/budgets.md: what is left of the error after so much work, beside the qualities and another program's points, and
// normals against distances over --surface. `script/bench --budgets [--only SET]`, by `sinew sweep`, which keeps rows that
// are done in build/bench/budgets. Sets that are not drawn keep what is known of them.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const WORK = [200, 2000, 6000];
const SURFACES = [0, 0.3, 1, 3, 10];
const SURFACE_WORK = 2000;

// Rows of docs/algorithms/ssdr.md, "Measured": E_RMS and CPU seconds of its search without a budget. `theirs` is where
// the best-known open tool ends, rigid bones on the same core.
const ROWS = [
  { set: 'horse-gallop', bones: 20, rigid: [2.11, 223], affine: [1.36, 269], theirs: [5.59, 7.5], plot: true, surface: true },
  { set: 'horse-gallop', bones: 33, rigid: [0.832, 288] },
  { set: 'horse-gallop', bones: 30, affine: [0.677, 322] },
  { set: 'cat-poses', bones: 25, rigid: [2.44, 235], affine: [1.58, 346], theirs: [6.66, 2.2], plot: true, surface: true },
  { set: 'lion-poses', bones: 21, rigid: [3.15, 208], affine: [2.136, 251] },
  { set: 'horse-poses', bones: 20, rigid: [2.8, 245], affine: [1.88, 291] },
  { set: 'elephant-poses', bones: 21, rigid: [2.21, 200], affine: [1.39, 294] },
  { set: 'pcow', bones: 24, rigid: [4.6, 183], affine: [2.55, 155], plot: true, surface: true },
  { set: 'pcow', bones: 18, affine: [3.297, 127] },
  { set: 'pdance', bones: 24, rigid: [0.775, 237], affine: [0.217, 224], theirs: [2.88, 11.1], plot: true, surface: true },
  { set: 'chickenCrossing', bones: 28, rigid: [2.58, 331], affine: [0.747, 266], plot: true },
  { set: 'face-shapes', bones: 40, rigid: [0.432, 304], affine: [0.227, 322] },
  { set: 'cloth', bones: 20, rigid: [1.01, 194], affine: [0.909, 162] },
  { set: 'samba', bones: 20, rigid: [4.06, 258], affine: [2.15, 449] },
  { set: 'samba', bones: 30, rigid: [], affine: [1.31, 550], theirs: [5.5, 15.3], plot: true },
];

const KINDS = ['rigid', 'affine'];
const nameOf = ({ set, bones }) => `${set}-${bones}`;
const methodOf = (kind) => `ssdr --transforms ${kind}`;
const kindsOf = (row) => KINDS.filter((kind) => row[kind]);

/** Rows of a sweep; those of a folder that are done already are not done again. */
function sweep(program, path, folder, over, bones, methods, more = []) {
  const words = ['sweep', path, '--over', over, '--options', `--bones ${bones}`, ...methods.flatMap((method) => ['--method', method]), ...more, '-o', folder, '--jobs', '1', '--json'];
  const run = spawnSync(program, words, { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'inherit'] });
  if (run.status !== 0) throw new Error(`sinew ${words.join(' ')}: exit ${run.status}`);
  return JSON.parse(run.stdout).map(({ method, seed, work, surface, e_rms, normal_degrees, seconds }) => ({ method, seed, work, surface, e_rms, normal_degrees, seconds }));
}

function measure(row, { program, data, work, docs }) {
  const name = nameOf(row);
  console.log(name);
  const path = join(data, 'sequences', row.set);
  const kinds = kindsOf(row);
  const marks = kinds.flatMap((kind) => (row[kind].length > 0 ? [`${kind} without a budget,${row[kind][1]},${row[kind][0]}`] : []));
  if (row.theirs) marks.push(`another program,${row.theirs[1]},${row.theirs[0]}`);
  const points = join(work, `${name}.csv`);
  writeFileSync(points, `curve,x,y\n${marks.join('\n')}\n`);
  const known = {
    budgets: sweep(program, path, join(work, name), `work=${WORK}`, row.bones, kinds.map(methodOf), ['--x', 'seconds', '--points', points]),
    qualities: sweep(program, path, join(work, `${name}-quality`), 'seed=1', row.bones, kinds.flatMap((kind) => ['fast', 'balanced'].map((quality) => `${methodOf(kind)} --quality ${quality}`))),
  };
  if (row.plot) copyFileSync(join(work, name, 'e_rms.svg'), join(docs, `${name}.svg`));
  if (!row.surface) return known;
  known.surfaces = sweep(program, path, join(work, `${name}-surface`), `surface=${SURFACES}`, row.bones, [`${methodOf('rigid')} --work ${SURFACE_WORK}`], ['--x', 'e_rms', '--y', 'normal_degrees']);
  copyFileSync(join(work, `${name}-surface`, 'normal_degrees.svg'), join(docs, `${name}-surface.svg`));
  return known;
}

const figure = (x) => (x === undefined ? '–' : x.toPrecision(3));
const cell = (found) => (found ? `${figure(found.e_rms)} in ${found.seconds.toFixed(1)}` : '–');
const mean = (ratios) => Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);

/** The runs of one kind of bones in a row. */
function runsOf(row, kind, known) {
  const method = methodOf(kind);
  const qualities = ['fast', 'balanced'].map((quality) => known.qualities.find((run) => run.method === `${method} --quality ${quality}`));
  return [...qualities, ...WORK.map((work) => known.budgets.find((run) => run.method === method && run.work === work))];
}

function budgetTable(drawn) {
  const lines = [`| set | bones | \`fast\` | \`balanced\` | ${WORK.map((work) => `${work}`).join(' | ')} | no budget |`, `|---|---|${'---|'.repeat(WORK.length + 3)}`];
  const ratios = Array.from({ length: WORK.length + 2 }, () => []);
  for (const { row, known } of drawn)
    for (const kind of kindsOf(row)) {
      const runs = runsOf(row, kind, known);
      const [best, seconds] = row[kind];
      if (best !== undefined) runs.forEach((run, i) => run && ratios[i].push(run.e_rms / best));
      lines.push(`| ${row.set} | ${row.bones} ${kind} | ${runs.map(cell).join(' | ')} | ${best === undefined ? '–' : `${figure(best)} in ${seconds}`} |`);
    }
  lines.push(`| geometric mean, over no budget | | ${ratios.map((own) => (own.length > 0 ? `${mean(own).toFixed(3)} (${own.length})` : '–')).join(' | ')} | 1 |`);
  return lines;
}

function surfaceTable(drawn) {
  const lines = [`| set | bones | \`balanced\` | ${SURFACES.map((A) => `A = ${A}`).join(' | ')} |`, `|---|---|${'---|'.repeat(SURFACES.length + 1)}`];
  const both = (run) => (run ? `${figure(run.e_rms)}, ${figure(run.normal_degrees)}°` : '–');
  for (const { row, known } of drawn.filter(({ known: own }) => own.surfaces)) {
    const balanced = known.qualities.find((run) => run.method === `${methodOf('rigid')} --quality balanced`);
    lines.push(`| ${row.set} | ${row.bones} | ${both(balanced)} | ${SURFACES.map((A) => both(known.surfaces.find((run) => run.surface === A))).join(' | ')} |`);
  }
  return lines;
}

function page(stored) {
  const drawn = ROWS.map((row) => ({ row, known: stored[nameOf(row)] })).filter(({ known }) => known);
  const plots = drawn.filter(({ row }) => row.plot);
  const lines = [
    '# Budgets', '',
    'E_RMS of the written file and CPU seconds of one thread, reading and writing included, after so many units of work',
    '(`sinew solve SET -o rig.glb --bones B --transforms T --work W --threads 1`). `--time` turns seconds into units by what the',
    'work so far took. Seconds are of a machine that others used as well: alone, it does more in the same time. Without a budget:',
    'the search of `--quality best` as [ssdr.md](algorithms/ssdr.md#measured) has it. Made by `script/bench --budgets`; not edited',
    'by hand.', '',
    ...budgetTable(drawn), '',
    `Commits ${[...new Set(drawn.map(({ known }) => known.commit))].join(', ')}.`, '',
    '## Error against time', '',
    'The mark of another program is where the best-known open tool ends, with rigid bones and one thread.', '',
    ...plots.flatMap(({ row }) => [`![Error against CPU seconds, ${row.set}, ${row.bones} bones](budgets/${nameOf(row)}.svg)`, '']),
    '## Normals against distances', '',
    `\`--surface A\` with \`--work ${SURFACE_WORK}\`, rigid bones: E_RMS and mean angle between normals.`, '',
    ...surfaceTable(drawn),
    ...drawn.filter(({ known }) => known.surfaces).flatMap(({ row }) => ['', `![Normals against E_RMS, ${row.set}, ${row.bones} bones](budgets/${nameOf(row)}-surface.svg)`]),
  ];
  return `${lines.join('\n')}\n`;
}

/** Measures the sets whose name is asked for and writes docs/budgets.md from all that are known. */
export function drawBudgets({ root, data, program, only, writeOnly }) {
  const docs = join(root, 'docs', 'budgets');
  const work = join(root, 'build', 'bench', 'budgets');
  mkdirSync(docs, { recursive: true });
  mkdirSync(work, { recursive: true });
  const file = join(docs, 'budgets.json');
  const read = () => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {});
  const commit = execFileSync('git', ['-C', root, 'rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  for (const row of ROWS) {
    if (writeOnly || (only.length > 0 && !only.some((text) => nameOf(row).includes(text)))) continue;
    const known = { commit, ...measure(row, { program, data, work, docs }) };
    const stored = { ...read(), [nameOf(row)]: known };
    writeFileSync(file, `${JSON.stringify(stored, null, 1)}\n`);
  }
  writeFileSync(join(root, 'docs', 'budgets.md'), page(read()));
  console.log('wrote docs/budgets.md');
}
