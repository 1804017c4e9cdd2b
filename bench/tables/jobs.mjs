// Which published figure is set beside which run of the program. A job is one chain of commands; a figure is one number
// taken from what the chain printed (`pick`), or from the run of another figure (`from`).
import { readFileSync } from 'node:fs';
import { EXACT_BONES, HIS20_FACTOR, JT05_INPUTS, KNOWN_MODELS, setOf } from './sets.mjs';

export const published = () => readFileSync(new URL('published.tsv', import.meta.url), 'utf8').trim().split('\n').slice(1).map((line, row) => {
  const [paper, table, dataset, bones, method, variant, metric, value] = line.split('\t');
  return { row, paper, table, dataset, bones, method, variant, metric, value: Number(value), printed: value };
});

const solve = (set, ...options) => ['solve', { set }, ...options.map(String)];
const correct = (set, rank) => ['correct', { rig: 0 }, { set }, '--rank', String(rank)];

/** What the figures of one published row share. */
const figureOf = (row, set) => (table, label, rest) => ({ table, set, bones: row.bones, label, published: row.printed, row: row.row, ...rest });

/** A column of a table of methods: theirs by name, ours from another figure. */
const column = (row, set, table, name, from, pick = 'ours') =>
  ({ ...figureOf(row, set)(table, '', { column: name, from, pick }), id: `${table} ${set} ${row.bones} ${name}` });

function skeletons(row, set, figure) {
  const { method, metric, bones } = row;
  const told = `LD14 3.1 ${set} ${bones} skeleton`;
  const open = [solve(set, '--skeleton')];
  if (metric === 'time_min') return [column(row, set, 'LD14 3.1 time', method === 'Proposed' ? 'Le 2014' : method, told, 'minutes')];
  if (method !== 'Proposed') return [column(row, set, 'LD14 3.1 methods', method, told)];
  if (metric === 'bones') return [figure('LD14 3.1 open', 'bones', { chain: open, pick: 'bones', fact: true })];
  return [figure('LD14 3.1', 'skeleton', { chain: [solve(set, '--skeleton', '--max-bones', bones)], pick: 'rmse_percent' }),
    figure('LD14 3.1 open', 'skeleton', { chain: open, pick: 'rmse_percent' }),
    column(row, set, 'LD14 3.1 methods', 'Le 2014', told)];
}

function rigidBones(row, set, figure) {
  const { paper, method, variant, metric, bones } = row;
  const corrected = variant === 'rank5-corrected';
  const label = corrected ? 'rigid, corrected' : 'rigid';
  const rigid = solve(set, '--bones', bones, '--influences', 4, '--transforms', 'rigid');
  const chain = corrected ? [rigid, correct(set, 5)] : [rigid];
  const own = method === 'Proposed' || method === 'SSDR';
  const slides = paper === 'SSDR12';
  const name = own ? (slides ? 'SSDR' : 'Le 2014') : method;
  const told = `LD14 3.3 ${set} ${bones} ${label}`;
  if (metric === 'time_min') {
    const time = column(row, set, 'LD14 3.3 time', slides ? `${name}, slides` : name, `LD14 3.3 ${set} ${bones} rigid`, 'minutes');
    return [{ ...time, fromElse: `LD14 3.3 methods ${set} ${bones} ${name} rigid` }];
  }
  const beside = { ...column(row, set, slides ? 'SSDR12 slides' : 'LD14 3.3 methods', name, told), label };
  beside.id += ` ${label}`;
  return [...(own && !slides ? [figure('LD14 3.3', label, { chain, pick: 'e_rms' })] : []), { ...beside, chain, otherwise: 'e_rms' }];
}

/** A model of many influences first, then its reduction or compression to fewer. */
function compression(row, set, figure) {
  const [, from, to, examples] = /^(dense|8b\/v)->(\d)b\/v, (w\/o?) examples$/.exec(row.variant);
  const dense = solve(set, '--bones', row.bones, '--influences', from === 'dense' ? 'all' : 8, '--transforms', 'affine');
  const seen = examples === 'w/' ? ['--examples', { set }] : [];
  const reduce = (method) => ['reduce', { rig: 0 }, '--influences', to, '--method', method, '--refit', 'never', ...seen];
  const compress = (...more) => ['compress', { rig: 0 }, '--blends-per-vertex', to, ...(from === 'dense' ? [] : ['--force']), ...seen, ...more];
  const [table, pick] = row.table === '2' ? ['LD13 2', 'delta_w_x1000'] : ['LD13 3', 'e_rms'];
  const way = from === 'dense' && to === '4' ? '' : `${from === 'dense' ? 'dense' : '8'} → ${to}, `;
  const one = (label, step, rest = {}) => figure(table, way + label, { chain: [dense, step], pick, ...rest });
  if (row.method === 'ours-wo-ex') return [one('two-layer', compress())];
  if (row.method === 'ours-w-ex')
    return [one('two-layer, examples', compress(), { aside: true }), one('two-layer, examples, motion kept', compress('--keep-motion'))];
  return [one(row.method, reduce({ 'k-largest': 'largest' }[row.method] ?? row.method), { baseline: true })];
}

function skinningMeshAnimations(row, set, figure) {
  const { variant, metric } = row;
  const epsilon = variant.startsWith('eps=0.10') ? 0.1 : 0.05;
  const parts = variant.split(',').filter((part) => part && !part.startsWith('eps='));
  const options = ['--method', 'sma', '--epsilon', epsilon];
  const inputs = JT05_INPUTS[set] ?? [];
  const by = (kind, weights) => solve(set, ...options, '--transforms', kind === 'Flex' ? 'affine' : 'rigid', '--weights', weights.toLowerCase(), '--iterations', 0);
  const fact = (label, kind, pick) => [{ ...figure('JT05 1 facts', label, { chain: [by(kind, 'NNLS')], pick, fact: true }), inputs }];
  if (metric === 'bones') return fact('bones', 'Rigid', 'bones');
  if (metric === 'near_rigid_fraction') return fact('η', 'Rigid', 'near_rigid_fraction');
  if (metric === 'compress_ratio') return fact(`compression, ${parts[0]}`, parts[0], 'compression_ratio');
  if (metric === 'time_min') return [column(row, set, 'JT05 1 time', parts[0], `JT05 1 paper ${set} ${row.bones} Flex, NNLS, plain`, 'minutes')];
  const [kind, weights, rank] = parts;
  const label = `${kind}, ${weights}, ${rank.replace('rank0', 'plain').replace('rank10', 'rank 10')}`;
  const all = [...options, '--transforms', kind === 'Flex' ? 'affine' : 'rigid', '--weights', weights.toLowerCase()];
  const chain = (...more) => [solve(set, ...all, ...more), ...(rank === 'rank10' ? [correct(set, 10)] : [])];
  return [{ ...figure('JT05 1 paper', label, { chain: chain('--iterations', 0), pick: 'distortion_percent' }), inputs },
    figure('JT05 1', label, { chain: chain(), pick: 'distortion_percent' })];
}

/** Exact models: errors of positions, and of transforms and weights where these are known. */
function exactModels(row, set, figure) {
  const { table, variant, metric } = row;
  const bones = EXACT_BONES[row.dataset];
  const exact = (name, label, pick, ...options) => [{
    ...figure(name, label, { chain: [solve(set, '--method', 'flats', '--bones', bones, ...options)], pick, truth: pick !== 'e_rms' }),
    bones: String(bones),
  }];
  if (metric !== 'E_RMS' && !KNOWN_MODELS.has(set)) return [];
  const vertices = metric === 'E_RMS' ? 'e_rms' : 'vertex_transform_error';
  const of = (label) => (metric === 'E_RMS' ? label : `${label}, transforms`);
  if (table === '1') return exact('HIS20 1', of(variant), vertices, '--quantile', Number(variant.replace('%', '')) / 100);
  if (table === 'B2' && variant === 'flat-opt-10it,unconstrained,one-ring') return exact('HIS20 B2', of('flats'), vertices);
  if (table === '5' && metric === 'transform_error') return exact('HIS20 5', 'transforms of the bones', 'transform_error');
  if (table === '5' && metric === 'weight_error') return exact('HIS20 5', 'weights', 'weight_error');
  return [];
}

function flats(row, set, figure) {
  const { table, method, metric, bones } = row;
  const dense = solve(set, '--method', 'flats', '--bones', bones);
  const own = `HIS20 3 ${set} ${bones} flats`;
  const kavan = `HIS20 2 ${set} ${bones} kavan`;
  if (metric === 'time_min') {
    const name = { Proposed: 'Liu 2020', KSO10: 'Kavan 2010', SSDR: 'SSDR' }[method];
    return [column(row, set, 'HIS20 time', name, method === 'Proposed' || method === 'SSDR' ? own : kavan, 'minutes')];
  }
  if (table === '4') {
    const name = method === 'Proposed' ? 'Liu 2020' : method;
    if (metric === 'bpfv' && method !== 'Proposed') return [column(row, set, 'HIS20 4', 'bits of LDJ19', own)];
    if (metric === 'bpfv')
      return [column(row, set, 'HIS20 4', 'bits', own),
        figure('HIS20 4 packed', 'bits', { chain: [dense, ['compress', { rig: 0 }, '--examples', { set }, '--pack']], pick: 'bits', fact: true })];
    if (method === 'Proposed')
      return [column(row, set, 'HIS20 4', name, own),
        figure('HIS20 4 packed', 'E_RMS', { chain: [dense, ['compress', { rig: 0 }, '--examples', { set }, '--pack']], pick: 'e_rms', factor: HIS20_FACTOR[set] })];
    return [column(row, set, 'HIS20 4', name, own)];
  }
  if (method === 'KSO10') return [figure('HIS20 2', 'kavan', { chain: [solve(set, '--method', 'kavan', '--bones', bones)], pick: 'e_rms' })];
  if (method === 'SSDR')
    return [figure('HIS20 3 SSDR', 'affine, K = 4', { chain: [solve(set, '--bones', bones, '--influences', 4, '--transforms', 'affine')], pick: 'e_rms', factor: HIS20_FACTOR[set] })];
  return [figure('HIS20 3', 'flats', { chain: [dense], pick: 'e_rms', factor: HIS20_FACTOR[set] })];
}

/** The figures of one published row: none when we have no such run. */
function match(row) {
  const { paper, table, method, metric, bones } = row;
  const set = setOf(row);
  if (!set) return [];
  const figure = figureOf(row, set);
  if (paper === 'LD14' && table === '3.1') return skeletons(row, set, figure);
  if (paper === 'LD14' || paper === 'SSDR12') return rigidBones(row, set, figure);
  if (paper === 'LD13' && method === 'SD') {
    const influences = { '4b/v': 4, '8b/v': 8, dense: 'all' }[row.variant];
    return [figure('LD13 3 SD', `affine, ${influences === 'all' ? 'dense' : `K = ${influences}`}`, { chain: [solve(set, '--bones', bones, '--influences', influences, '--transforms', 'affine')], pick: 'e_rms' })];
  }
  if (paper === 'LD13') return compression(row, set, figure);
  if (paper === 'JT05') return skinningMeshAnimations(row, set, figure);
  if (['2', '3', '4'].includes(table) && (metric === 'E_RMS' || metric === 'time_min' || metric === 'bpfv')) return flats(row, set, figure);
  return exactModels(row, set, figure);
}

/** Every figure that can be set beside a published one. Where no other figure has the run, a figure has its own. */
export function figures() {
  const all = published().flatMap(match).map((figure) => ({ ...figure, id: figure.id ?? `${figure.table} ${figure.set} ${figure.bones} ${figure.label}` }));
  const runs = new Set(all.filter((figure) => !figure.from).map((figure) => figure.id));
  const done = all.map(({ chain, otherwise, fromElse, ...figure }) => {
    if (figure.from && !runs.has(figure.from) && chain) return { ...figure, from: undefined, chain, pick: otherwise };
    return figure.from ? { ...figure, fromElse } : { ...figure, chain };
  });
  const known = new Set(done.filter((figure) => figure.chain).map((figure) => figure.id));
  return done.map(({ fromElse, ...figure }) => (figure.from && !known.has(figure.from) && fromElse ? { ...figure, from: fromElse } : figure));
}

// A few cheap rows that touch every method; their stored values are in expected.json.
export const SHORT = [
  'LD14 3.3 cat-poses 25 rigid', 'LD14 3.3 horse-gallop 20 rigid', 'LD14 3.3 horse-gallop 20 rigid, corrected', 'HIS20 3 cat-poses 25 flats',
  'JT05 1 horse-gallop 30 Flex, NNLS, plain', 'LD14 3.1 cat-poses 28 skeleton', 'LD13 2 horse-gallop 15 two-layer',
];
