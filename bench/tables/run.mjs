// Sets our figures beside the published ones: runs the program over the sequences of SINEW_DATA, remembers what is done,
// writes docs/results.md, docs/results/results.json and one SVG per table.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { drawBudgets } from './budgets.mjs';
import { drawFigures } from './figures.mjs';
import { figures, SHORT } from './jobs.mjs';
import { resultsPage, summary, svgOf } from './page.mjs';
import { drawSizes } from './sizes.mjs';
import { TABLES } from './tables.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] }, quality: { type: 'string' }, threads: { type: 'string', default: '1' },
    short: { type: 'boolean', default: false }, list: { type: 'boolean', default: false }, figures: { type: 'boolean', default: false }, sizes: { type: 'boolean', default: false }, budgets: { type: 'boolean', default: false }, gltfpack: { type: 'string' }, store: { type: 'boolean', default: false },
    missing: { type: 'boolean', default: false }, 'write-only': { type: 'boolean', default: false }, program: { type: 'string', default: join(root, 'build/release/bin/sinew') },
    seed: { type: 'string', default: '1' }, help: { type: 'boolean', default: false },
  },
});
if (options.help) {
  console.log(`script/bench [--only TEXT]... [--quality fast|balanced|best] [--short [--store]] [--list] [--write-only]
  --only TEXT    only figures whose name contains TEXT (a table like "LD14 3.3", a set like "samba"); may be repeated
  --missing      only figures that docs/results/results.json does not have yet
  --quality Q    of every solve, instead of what suits each table
  --short        the smoke test: a few figures at fast quality, compared with bench/tables/expected.json (2 % worse fails)
  --store        with --short: store the figures instead of comparing
  --figures      instead: draw docs/figures.md by 'sinew sweep'
  --sizes        instead: measure packed files and write docs/sizes.md; --gltfpack PROGRAM puts its files beside ours
  --budgets      instead: measure what is left of the error after so much work and write docs/budgets.md
  --list         names of the figures, then stop
  --write-only   write docs/results.md from what is remembered, run nothing
Figures that are not run keep what docs/results/results.json says of them, with the commit that measured it.`);
  process.exit(0);
}

const data = resolve(process.env.SINEW_DATA ?? join(root, '../shared/data'));
if (!existsSync(join(data, 'sequences'))) {
  console.error(`bench: no sequences in ${data} (SINEW_DATA): nothing can be measured`);
  process.exit(1);
}
if (options.figures) {
  drawFigures({ root, data, program: options.program, only: options.only });
  process.exit(0);
}
if (options.sizes) {
  drawSizes({ root, data, program: options.program, gltfpack: options.gltfpack, only: options.only });
  process.exit(0);
}
if (options.budgets) {
  drawBudgets({ root, data, program: options.program, only: options.only, writeOnly: options['write-only'] });
  process.exit(0);
}
const qualityOf = (figure) => (options.short ? 'fast' : options.quality ?? TABLES[figure.table].quality);
const build = createHash('sha256').update(readFileSync(options.program)).digest('hex').slice(0, 16);
const commit = execFileSync('git', ['-C', root, 'rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
const cacheFolder = join(root, 'build', 'bench');
mkdirSync(cacheFolder, { recursive: true });

let wanted = figures().filter((figure) => figure.chain && existsSync(join(data, 'sequences', figure.set)));
if (options.short) wanted = wanted.filter((figure) => SHORT.includes(figure.id));
if (options.only.length > 0) wanted = wanted.filter((figure) => options.only.some((text) => figure.id.includes(text)));
if (options.missing) {
  const known = new Set(storedRows().map((row) => row.id));
  wanted = wanted.filter((figure) => !known.has(figure.id));
}
if (options.list) {
  for (const figure of wanted) console.log(figure.id);
  process.exit(0);
}

// `inputs` are options of every command that reads the sequence, like another rest pose.
const keyOf = (value, quality) => createHash('sha256').update(JSON.stringify([value, quality, options.seed])).digest('hex').slice(0, 24);
const words = (step, rigs) => step.map((word) => (word.set ? join(data, 'sequences', word.set) : word.rig !== undefined ? rigs[word.rig] : word));

/** Runs the program; returns what it printed and the CPU seconds it took, which other work on the machine hardly moves. */
function program(args) {
  const run = spawnSync('bash', ['-c', 'TIMEFORMAT=%U; time "$@"', 'bash', options.program, ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });
  const lines = run.stderr.trim().split('\n');
  const seconds = Number(lines.pop());
  if (run.status !== 0) throw new Error(`sinew ${args.join(' ')}: exit ${run.status}: ${lines.at(-1)}`);
  return { printed: run.stdout, seconds };
}

/** Runs one command unless this build has run it before; returns { rig, seconds, facts }. */
function runStep(figure, upTo, quality) {
  const { chain, set, inputs = [], truth } = figure;
  const steps = chain.slice(0, upTo + 1);
  const known = truth && upTo + 1 === chain.length ? ['--truth', join(data, 'sequences', set)] : [];
  const key = keyOf(inputs.length > 0 || known.length > 0 ? [...steps, inputs, known.length > 0] : steps, quality);
  const base = join(cacheFolder, key);
  const remembered = existsSync(`${base}.json`) ? JSON.parse(readFileSync(`${base}.json`, 'utf8')) : null;
  if (remembered && (remembered.build === build || options['write-only']) && existsSync(`${base}.glb`)) return remembered;
  if (options['write-only']) return null;
  const rigs = Array.from({ length: upTo }, (_, i) => runStep(figure, i, quality).rig);
  const [command, ...rest] = words(chain[upTo], rigs);
  const args = [command, ...rest, ...inputs, '-o', `${base}.glb`, '--threads', options.threads];
  if (command === 'solve') args.push('--quality', quality, '--seed', options.seed, '--report', `${base}.report.json`);
  else args.push('--json');
  const { printed, seconds } = program(args);
  const facts = command === 'solve' ? {} : printedFacts(JSON.parse(printed));
  const { errors, rig, model = {} } = JSON.parse(program(['evaluate', `${base}.glb`, join(data, 'sequences', set), ...inputs, ...known, '--json']).printed);
  Object.assign(facts, errors, model, { bones: rig.bones, compression_ratio: rig.compression_ratio, near_rigid_fraction: rig.notes?.near_rigid_fraction });
  const result = { build, commit, quality, rig: `${base}.glb`, seconds, facts: slim(facts), args: [command, ...chain[upTo].slice(1).map((w) => w.set ?? (w.rig !== undefined ? 'RIG' : w))] };
  writeFileSync(`${base}.json`, JSON.stringify(result));
  return result;
}

/** How far `compress` or `reduce` moved the weights, as Table 2 of Le 2013 gives it, and the size of the model. */
function printedFacts(report) {
  const change = report.two_layer?.weight_error ?? report.weight_change;
  return { delta_w_x1000: change === undefined ? undefined : 1000 * change, bits: report.bits_per_vertex_per_frame };
}

/** Numbers and short texts only: per-frame lists are not needed here. */
const slim = (facts) => Object.fromEntries(Object.entries(facts).filter(([, value]) => typeof value !== 'object'));

function measure(figure) {
  const result = runStep(figure, figure.chain.length - 1, qualityOf(figure));
  if (!result) return null;
  const ours = result.facts[figure.pick];
  if (typeof ours !== 'number') throw new Error(`no '${figure.pick}' in the output`);
  return { ours, seconds: result.seconds, measuredBones: result.facts.bones, commit: result.commit, cpu: cpus()[0].model, quality: result.quality };
}

const rows = [];
const started = Date.now();
let failed = 0;
wanted.forEach((figure, i) => {
  const line = { ...figure, ours: null };
  try {
    Object.assign(line, measure(figure));
  } catch (error) {
    line.failure = error.message;
    ++failed;
  }
  rows.push(line);
  if (options['write-only']) return;
  const left = (((Date.now() - started) / (i + 1)) * (wanted.length - i - 1)) / 60000;
  const shown = line.failure ? `FAILED: ${line.failure}` : `${line.ours.toPrecision(3)} (published ${figure.published}), ${line.seconds.toFixed(1)} s`;
  console.log(`[${i + 1}/${wanted.length}] ${figure.id}: ${shown}; about ${left.toFixed(0)} min left`);
});

if (options.short) {
  compareWithStored();
} else {
  const known = withStored(rows);
  const commits = [...new Set(known.map((row) => row.commit).filter(Boolean))];
  const machines = [...new Set(known.map((row) => row.cpu).filter(Boolean))];
  const facts = { commit: commits.join(', '), cpu: machines.join(', ') || cpus()[0].model, threads: options.threads, seed: options.seed, flags: '-O3 -march=x86-64-v3' };
  mkdirSync(join(root, 'docs', 'results'), { recursive: true });
  writeFileSync(join(root, 'docs', 'results.md'), resultsPage(TABLES, known, facts));
  writeFileSync(join(root, 'docs', 'results', 'results.json'), `${JSON.stringify({ ...facts, rows: known.filter((row) => !row.from).map(({ chain, row, ...rest }) => rest) }, null, 1)}\n`);
  for (const name of Object.keys(TABLES)) {
    const svg = svgOf(TABLES[name], known.filter((row) => row.table === name && row.ours !== null));
    if (svg) writeFileSync(join(root, 'docs', 'results', `${name.replaceAll(' ', '-')}.svg`), svg);
  }
  writeReadme(known);
  console.log(`wrote docs/results.md (${known.length} figures, ${failed} failed)`);
}
process.exitCode = failed > 0 ? 1 : process.exitCode;

function storedRows() {
  const file = join(root, 'docs', 'results', 'results.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).rows : [];
}

/** What was measured now, and for every other figure what docs/results/results.json has of it, in the order of the jobs.
 * A figure that is set beside the run of another one takes its error or its time. */
function withStored(measured) {
  const known = new Map(storedRows().map((row) => [row.id, row]));
  for (const row of measured) if (row.ours !== null || row.failure) known.set(row.id, row);
  return figures().flatMap((figure) => {
    const { ours, seconds, measuredBones, commit, cpu, quality, failure } = known.get(figure.from ?? figure.id) ?? {};
    if (ours === undefined && !failure) return [];
    if (figure.from && figure.pick === 'minutes') return failure ? [] : [{ ...figure, ours: seconds / 60 }];
    if (figure.from) return failure ? [] : [{ ...figure, ours }];
    return [{ ...figure, ours, seconds, measuredBones, commit, cpu, quality, failure }];
  });
}

/** The table of means between its marks in the README. */
function writeReadme(known) {
  const file = join(root, 'README.md');
  const text = readFileSync(file, 'utf8');
  const table = summary(TABLES, known, 'docs/results.md').join('\n');
  writeFileSync(file, text.replace(/(<!-- results -->\n)[^]*?(\n<!-- end -->)/, (_, begin, end) => begin + table + end));
}

/** The smoke test: every stored figure is measured, every measured one is stored, and none is more than 2 % worse. */
function compareWithStored() {
  const file = join(root, 'bench', 'tables', 'expected.json');
  if (options.store) {
    writeFileSync(file, `${JSON.stringify(Object.fromEntries(rows.map((row) => [row.id, row.ours])), null, 1)}\n`);
    return;
  }
  const stored = JSON.parse(readFileSync(file, 'utf8'));
  const asked = (id) => options.only.length === 0 || options.only.some((text) => id.includes(text));
  const problems = Object.keys(stored).filter((id) => asked(id) && !rows.some((row) => row.id === id)).map((id) => `stored, but not measured: ${id}`);
  for (const { id, ours } of rows.filter((row) => row.ours !== null)) {
    if (!(id in stored)) problems.push(`measured, but not stored: ${id} (--short --store stores it)`);
    else if (ours > 1.02 * stored[id] + 1e-9) problems.push(`worse than stored: ${id}: ${ours} > ${stored[id]} + 2 %`);
  }
  for (const problem of problems) console.log(problem);
  failed += problems.length;
  console.log(`${rows.length} measured, ${failed} failed`);
}
