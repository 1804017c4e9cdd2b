// docs/figures.md: figures of the papers, drawn by `sinew sweep` with the points that the papers print beside ours.
// `script/bench --figures [--only NAME]`. Rows that are done are kept in build/bench/figures.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { published } from './jobs.mjs';
import { drawWeights, weightsCommand } from './weights.mjs';

/** Points that the papers print: curve, and where x and y of a row are. */
const points = (curve, x, y, chosen) => published().filter(chosen).map((row) => ({ curve, x: x(row), y: y(row) }));
const value = (row) => row.value;
const bones = (row) => Number(row.bones);
const jt05 = (dataset, metric, variant) => (row) => row.paper === 'JT05' && row.dataset === dataset && row.metric === metric && row.variant === variant;
const errorOf = (paper, table, dataset, method, variant) => (row) =>
  row.paper === paper && row.table === table && row.dataset === dataset && row.method === method && row.variant === variant && row.metric.startsWith('E_');

const EPSILONS = 'epsilon=0.02,0.03,0.05,0.08,0.12,0.2';
const DENSE = '--influences all --transforms affine --quality fast';

const FIGURES = [
  {
    name: 'jt05-5', title: 'Bones against the rotation tolerance (James & Twigg 2005, Figure 5)', y: ['rig_bones'],
    text: 'A larger tolerance merges modes. The paper prints its number of bones at ε = 0.05.',
    sweep: ['horse-gallop', '--rest', '0', '--over', EPSILONS, '--method', 'sma --iterations 0'],
    points: () => points('James & Twigg', () => 0.05, value, jt05('horse', 'bones', '')),
  },
  {
    name: 'jt05-7', title: 'Sorted weights (James & Twigg 2005, Figure 7)', y: ['weights'],
    text: 'TSVD fits with weights below 0 and above 1, NNLS without. Weights of a helper bone count as what it stands for.',
    draw: drawWeights, command: weightsCommand, after: weightsTable,
  },
  {
    name: 'jt05-12', title: 'Error against bones, with and without corrections (James & Twigg 2005, Figure 12)', y: ['distortion_percent', 'normal_degrees'], x: 'rig_bones',
    text: 'Corrections bring more than bones once the near-rigid parts are found, as in the paper. Its Table 1 has the point at 30 bones.',
    sweep: ['horse-gallop', '--rest', '0', '--over', EPSILONS, '--method', 'sma --iterations 0', '--method', 'sma --iterations 0 | correct --rank 5'],
    points: () => points('James & Twigg, no corrections', bones, value, jt05('horse', 'E_percent', 'Flex,NNLS,rank0')),
  },
  {
    name: 'jt05-13', title: 'Error against the rank of the corrections (James & Twigg 2005, Figure 13)', y: ['distortion_percent'],
    text: 'The curve of one bone is the PCA of the vertices\' motion. TSVD fits better without corrections and gains less from them.',
    sweep: ['chickenCrossing', '--over', 'rank=0,2,5,10,20', '--method', 'sma --iterations 0', '--method', 'sma --iterations 0 --weights tsvd', '--method', 'sma --iterations 0 --bones 1'],
    points: () => ['NNLS', 'TSVD'].flatMap((weights) => [0, 10].flatMap((rank) => points(`James & Twigg, ${weights}`, () => rank, value, jt05('chicken', 'E_percent', `Flex,${weights},rank${rank}`)))),
  },
  {
    name: 'ld14-bones', title: 'Error against bones (Le & Deng 2012, 2014)', y: ['e_rms', 'seconds'],
    text: 'Rigid and affine bones, four influences, and the joint hierarchy of as many bones.',
    sweep: ['horse-gallop', '--over', 'bones=10:40:10', '--options', '--quality fast', '--method', 'ssdr', '--method', 'ssdr --transforms affine', '--method', 'skeleton', '--method', 'clusters'],
    points: () => [...points('Le 2014, rigid', bones, value, errorOf('LD14', '3.3', 'horse-gallop', 'Proposed', 'rigid,K=4')), ...points('Le 2013, affine', bones, value, errorOf('LD13', '3', 'horse-gallop', 'SD', '4b/v'))],
  },
  {
    name: 'ld14-iterations', title: 'Error against iterations (Le & Deng 2012)', y: ['e_rms'],
    text: 'Weights and bones in turn from the clusters, 20 bones, without the search for better bones (`--quality fast`).',
    sweep: ['horse-gallop', '--over', 'iterations=1,2,4,8,16,32,64', '--options', '--quality fast --bones 20', '--method', 'ssdr', '--method', 'ssdr --transforms affine'],
    points: () => [],
  },
  {
    name: 'ld14-influences', title: 'Error against influences (Le & Deng 2012, 2013)', y: ['e_rms'],
    text: '30 affine bones. The paper of 2013 has 4, 8 and all.',
    sweep: ['horse-gallop', '--over', 'influences=1,2,3,4,6,8', '--options', '--quality fast --bones 30', '--method', 'ssdr', '--method', 'ssdr --transforms affine'],
    points: () => ['4b/v', '8b/v'].flatMap((variant) => points('Le 2013, affine', () => Number(variant[0]), value, (row) => bones(row) === 30 && errorOf('LD13', '3', 'horse-gallop', 'SD', variant)(row))),
  },
  {
    name: 'ld13-7', title: 'Error against the change of the weights (Le & Deng 2013, Figures 6 and 7)', y: ['e_rms'], x: 'weights_moved',
    text: '15 bones with dense weights, compressed with 20 to 140 virtual bones. With the example poses the same change of the weights leaves less error: weights change where nobody sees it. The paper shows camel-gallop, which is not here.',
    sweep: ['horse-gallop', '--over', 'virtual-bones=20:140:40', '--options', `${DENSE} --bones 15`, '--method', 'ssdr | compress', '--method', 'ssdr | compress --examples SEQUENCE --keep-motion'],
    points: () => [],
  },
  {
    name: 'ld13-11', title: 'Size of two layers against blends per vertex (Le & Deng 2013, Figures 9 and 11)', y: ['virtual_bones', 'e_rms', 'seconds'], x: 'blends_per_vertex',
    text: 'Each virtual bone is a matrix of 16 numbers to be kept between the two layers.',
    sweep: ['horse-gallop', '--over', 'blends-per-vertex=3,4,6,8', '--options', `${DENSE} --bones 15`, '--method', 'ssdr | compress'],
    points: () => [], after: overhead,
  },
  {
    name: 'his20-handles', title: 'Error against handles (Liu 2020, Table 3)', y: ['e_rms', 'seconds'],
    text: 'Dense weights. Liu 2020 normalises otherwise: in this unit its points lie 1.12 times higher.',
    sweep: ['cat-poses', '--over', 'bones=5:25:5', '--method', 'flats', '--method', 'flats --flat-solver alternating', '--method', 'ssdr --transforms affine'],
    points: () => points('Liu 2020', bones, value, errorOf('HIS20', '3', 'cat-poses', 'Proposed', 'flat-opt')),
  },
  {
    name: 'his20-5', title: 'Error against iterations of the closest flat (Liu 2020, Figure 5)', y: ['e_rms'],
    text: 'The paper\'s alternation is at once near its end; Gauss–Newton goes on from there. 20 handles.',
    sweep: ['horse-poses', '--over', 'iterations=1,2,4,8,16', '--options', '--bones 20', '--method', 'flats', '--method', 'flats --flat-solver alternating'],
    points: () => points('Liu 2020, four iterations', () => 4, value, (row) => bones(row) === 20 && errorOf('HIS20', '3', 'horse-poses', 'Proposed', 'flat-opt')(row)),
  },
  {
    name: 'his20-quantile', title: 'Error against the fraction of one-ring maps that is kept (Liu 2020, Table 1)', y: ['e_rms'],
    text: 'An exact model of four bones: the true error is zero, and what is left above 1e-4 is a start that did not find it.',
    sweep: ['cylinder', '--over', 'quantile=0.1:1:0.1', '--options', '--bones 4', '--method', 'flats', '--method', 'flats --flat-solver alternating --iterations 10'],
    points: () => Array.from({ length: 10 }, (_, i) => 10 * (i + 1)).flatMap((percent) => points('Liu 2020', () => percent / 100, value, errorOf('HIS20', '1', 'cylinder', 'Proposed', `${percent}%`))),
  },
];

/** Numbers that are kept for the virtual bones, over those of the vertices, as the paper counts them. */
function overhead(rows) {
  const vertices = 8431;
  const lines = ['', 'The paper counts 4 numbers for a vertex, 2 for a weight and 16 for a cached matrix:', '', '| blends per vertex | virtual bones | numbers more, % |', '|---|---|---|'];
  for (const row of rows) {
    const plain = vertices * (4 + 2 * row.blends_per_vertex);
    lines.push(`| ${row.blends_per_vertex.toFixed(2)} | ${row.virtual_bones} | ${((100 * 16 * row.virtual_bones) / plain).toFixed(2)} |`);
  }
  return lines;
}

function weightsTable(rows) {
  const percent = (share) => (100 * share).toFixed(1);
  return ['', '| weights | how many | least | largest | negative, % | beyond ±1, % |', '|---|---|---|---|---|---|',
    ...rows.map((row) => `| ${row.name} | ${row.weights} | ${row.least.toPrecision(3)} | ${row.most.toPrecision(3)} | ${percent(row.negative)} | ${percent(row.beyond)} |`)];
}

const NOT_HERE = [
  '| figure | why it is not here |', '|---|---|',
  '| Slides of 2012: Levenberg–Marquardt on the bones as the comparison | one step, not a rig: a table in [ssdr.md](algorithms/ssdr.md#speed) |',
  '| Le 2013, Figure 6: pictures of models of growing error | the errors are in the figure of 7 above |',
  '| Le 2013, Figure 9: time against vertices, and vertices × frames | another sequence for each point: tables in [two_layer.md](algorithms/two_layer.md#measured), up to a million vertices |',
  '| Le 2013, Figure 10: frames per second on a GPU of 2011 | [cuda.md](cuda.md) and [runtime.md](runtime.md) have ours |',
  '| Liu 2020, Figure 3: random flats in 24 dimensions | a test of an optimiser without any mesh; the flats of a mesh are tested in every dimension that fits (`Flat.PlantedFlatsOfEveryDimensionThatFitsAreReached`) |',
  '| Le 2014, Figures 3.10 and 3.12: pictures | [skeleton.md](algorithms/skeleton.md) has figures of it |',
];

const csv = (marks) => `curve,x,y\n${marks.map(({ curve, x, y }) => `${curve},${x},${y}`).join('\n')}\n`;
const shellWord = (word) => (/^[\w.,:=/-]+$/.test(word) ? word : `'${word}'`);

/** Draws the figures whose name is asked for and writes docs/figures.md from all that have been drawn. */
export function drawFigures({ root, data, program, only }) {
  const work = join(root, 'build', 'bench', 'figures');
  const docs = join(root, 'docs', 'figures');
  mkdirSync(docs, { recursive: true });
  mkdirSync(work, { recursive: true });
  const stored = join(docs, 'figures.json');
  const known = existsSync(stored) ? JSON.parse(readFileSync(stored, 'utf8')) : {};
  const commit = execFileSync('git', ['-C', root, 'rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  for (const figure of FIGURES) {
    if (only.length > 0 && !only.some((text) => figure.name.includes(text))) continue;
    known[figure.name] = { commit, rows: draw(figure, { data, program, folder: join(work, figure.name), docs }) };
    writeFileSync(stored, `${JSON.stringify(known, null, 1)}\n`);
  }
  for (const file of readdirSync(docs).filter((name) => name.endsWith('.svg')))
    if (!FIGURES.some((figure) => figure.y.some((y) => file === `${figure.name}-${y}.svg`))) rmSync(join(docs, file));
  writeFileSync(join(root, 'docs', 'figures.md'), page(known));
  console.log('wrote docs/figures.md');
}

function argumentsOf(figure) {
  return [...figure.sweep, ...(figure.x ? ['--x', figure.x] : []), ...figure.y.flatMap((y) => ['--y', y])];
}

function draw(figure, { data, program, folder, docs }) {
  console.log(`${figure.name}: ${figure.title}`);
  if (figure.draw) return figure.draw({ program, data, folder, svg: join(docs, `${figure.name}-${figure.y[0]}.svg`) });
  const marks = figure.points();
  const file = `${folder}.csv`;
  writeFileSync(file, csv(marks));
  const [set, ...rest] = argumentsOf(figure);
  const words = ['sweep', join(data, 'sequences', set), ...rest, '-o', folder, ...(marks.length > 0 ? ['--points', file] : []), '--json'];
  const run = spawnSync(program, words, { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'inherit'] });
  if (run.status !== 0) throw new Error(`sinew ${words.join(' ')}: exit ${run.status}`);
  for (const y of figure.y) copyFileSync(join(folder, `${y}.svg`), join(docs, `${figure.name}-${y}.svg`));
  return JSON.parse(run.stdout);
}

function page(known) {
  const drawn = FIGURES.filter((figure) => known[figure.name]);
  const lines = [
    '# Figures of the papers', '',
    'Curves that the papers plot, drawn by [`sinew sweep`](sweep.md) over sequences that are free to give away. Errors are of the',
    'written files, read back; points of the papers are those that they print as numbers. Tables, with what is better and',
    'worse: [results.md](results.md). Made by `script/bench --figures`; not edited by hand.', '',
    ...drawn.map((figure) => `- [${figure.title}](#${figure.name})`),
  ];
  for (const figure of drawn) {
    lines.push('', `## ${figure.name}`, '', `${figure.title}. ${figure.text}`, '');
    for (const y of figure.y) lines.push(`![${figure.title}: ${y}](figures/${figure.name}-${y}.svg)`, '');
    lines.push('```', figure.command ?? `sinew sweep ${argumentsOf(figure).map(shellWord).join(' ')} -o ${figure.name}`, '```');
    if (figure.after) lines.push(...figure.after(known[figure.name].rows));
  }
  lines.push('', '## What is not here', '', ...NOT_HERE);
  return `${lines.join('\n')}\n`;
}
