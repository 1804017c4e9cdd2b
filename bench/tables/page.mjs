// The results page and its plots, from measured rows.
import { published as allPublished } from './jobs.mjs';
import { reason } from './reasons.mjs';
import { isHere, setOf } from './sets.mjs';

const number = (value) => (value === null ? '' : value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3))));
const published = (row) => Number(row.published);
const ratio = (row) => row.ours / published(row);
const geometricMean = (values) => Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

/** Rows that can be compared: both numbers positive. */
const comparable = (rows) => rows.filter((row) => row.ours > 0 && published(row) > 0);

/** Geometric means by table, like for like: baselines and what was given something else are left out. */
export function summary(tables, rows, page) {
  const lines = ['| table | rows | better | geometric mean of ours / published |', '|---|---|---|---|'];
  for (const [name, table] of Object.entries(tables)) {
    const own = comparable(rows.filter((row) => row.table === name && !table.aside && !row.baseline && !row.aside));
    if (own.length === 0) continue;
    lines.push(`| [${table.title}](${page}#${anchorOf(name)}) | ${own.length} | ${own.filter((row) => ratio(row) < 1).length} | ${number(geometricMean(own.map(ratio)))} |`);
  }
  return lines;
}

const anchorOf = (name) => name.toLowerCase().replace(/[^a-z0-9 ]/g, '').replaceAll(' ', '-');

export function resultsPage(tables, rows, facts) {
  const here = allPublished().filter((row) => isHere(setOf(row)));
  const shown = new Set(rows.filter((row) => row.ours !== null && row.ours !== undefined).map((row) => row.row));
  const missing = here.filter((row) => !shown.has(row.row));
  const lines = [
    '# Results', '',
    `Our figure beside ${here.length - missing.length} of the ${here.length} numbers that the papers print for the sequences we have; [the rest](#numbers-that-are-not-here)`,
    'is named with its reason. All errors are of the written file, read back. A ratio below 1 means less error than published;',
    'losses are in **bold**. Made by `script/bench`; not edited by hand.', '',
    `Commit ${facts.commit} · ${facts.cpu} · ${facts.threads === '1' ? 'one thread' : `${facts.threads} threads`} · ${facts.flags} · seed ${facts.seed}. Seconds are CPU seconds of the command.`, '',
    'The means are over rows in which both were given the same: influences, and the number of bones or, for SMA, the ε that they',
    'come from (one to four bones more than in the paper). SMA and two layers take the steps of their papers; what is refitted',
    'beyond them is in tables of its own. Where ours does otherwise, by method: "Where we differ" of',
    '[ssdr](algorithms/ssdr.md#where-we-differ), [skeletons](algorithms/skeleton.md#where-we-differ),',
    '[SMA](algorithms/sma.md#where-we-differ-from-the-paper), [corrections](algorithms/corrections.md#where-we-differ-from-the-paper),',
    '[two layers](algorithms/two_layer.md#where-we-differ-from-the-paper), [reduction](algorithms/reduce.md#where-we-differ-from-the-papers),',
    '[flats](algorithms/flats.md#where-we-differ-from-the-paper) and [rework](algorithms/rework.md#where-we-differ).', '',
    ...summary(tables, rows, ''),
  ];
  for (const [name, table] of Object.entries(tables)) {
    const own = rows.filter((row) => row.table === name);
    if (own.length === 0) continue;
    const qualities = [...new Set(own.map((row) => row.quality).filter(Boolean))].join(', ');
    const solved = qualities ? `; solved with \`--quality ${qualities}\`` : '';
    lines.push('', `## ${name}`, '', `${table.title}: ${table.unit}${solved}. ${table.note}`.trim(), '');
    if (hasPlot(table, own)) lines.push(`![ours against published](results/${name.replaceAll(' ', '-')}.svg)`, '');
    lines.push(...(table.columns ? columnsTable(own) : plainTable(own)));
  }
  lines.push('', '## Numbers that are not here', '', ...missingTable(missing), '', ...ownedTable());
  return `${lines.join('\n')}\n`;
}

function plainTable(rows) {
  return ['| set | bones | model | published | ours | ratio | seconds |', '|---|---|---|---|---|---|---|', ...rows.map(tableRow)];
}

function tableRow(row) {
  const bones = row.measuredBones && String(row.measuredBones) !== row.bones ? `${row.bones} (${row.measuredBones})` : row.bones;
  if (row.failure) return `| ${row.set} | ${bones} | ${row.label} | ${row.published} | **failed** | | |`;
  const r = published(row) > 0 && !row.fact ? ratio(row) : null;
  const shown = r === null ? '' : r >= 1 ? `**${r.toFixed(2)}**` : r.toFixed(2);
  const printed = row.factor ? `${row.published} (${number(row.factor * published(row))})` : row.published;
  return `| ${row.set} | ${bones} | ${row.label} | ${printed} | ${number(row.ours)} | ${shown} | ${row.seconds.toFixed(1)} |`;
}

/** One line for each set, number of bones and model: the methods side by side, ours last. */
function columnsTable(rows) {
  const names = [...new Set(rows.map((row) => row.column))];
  const labelled = rows.some((row) => row.label);
  const lines = [`| set | bones | ${labelled ? 'model | ' : ''}${names.join(' | ')} | ours |`, `|---|---|${labelled ? '---|' : ''}${'---|'.repeat(names.length + 1)}`];
  for (const group of groupBy(rows, groupOf).values()) {
    const cell = (name) => group.find((row) => row.column === name)?.published ?? '–';
    const [first] = group;
    lines.push(`| ${first.set} | ${first.bones} | ${labelled ? `${first.label} | ` : ''}${names.map(cell).join(' | ')} | ${number(first.ours)} |`);
  }
  return lines;
}

const groupOf = (row) => `${row.set} ${row.bones} ${row.label}`;
function groupBy(rows, key) {
  const groups = new Map();
  for (const row of rows) groups.set(key(row), [...(groups.get(key(row)) ?? []), row]);
  return groups;
}

function missingTable(missing) {
  const lines = ['| table | numbers | why |', '|---|---|---|'];
  const groups = groupBy(missing, (row) => `${row.paper} ${row.table}|${reason(row)}`);
  for (const [key, rows] of groups) lines.push(`| ${key.split('|')[0]} | ${rows.length} | ${key.split('|')[1]} |`);
  return lines;
}

/** Sequences that a user may own: listed, and measured where SINEW_DATA has them. */
function ownedTable() {
  const rows = allPublished().filter((row) => !isHere(setOf(row)));
  const lines = [
    'No data here: these sequences are not free to give away. `script/bench` measures their rows where `SINEW_DATA` has them as',
    '`sequences/NAME/rest.obj` and `frames.pc2`.', '', '| sequence | numbers | tables |', '|---|---|---|',
  ];
  for (const [set, own] of [...groupBy(rows, setOf)].sort(([a], [b]) => (a < b ? -1 : 1)))
    lines.push(`| ${set} | ${own.length} | ${[...new Set(own.map((row) => `${row.paper} ${row.table}`))].join(', ')} |`);
  return lines;
}

/** Whether a table has a plot of ratios: where these say which is better. */
export const hasPlot = (table, rows) => !table.columns && comparable(rows.filter((row) => !row.fact)).length > 0;

/** One dot per row on a logarithmic axis of ours / published. */
export function svgOf(table, rows) {
  const own = comparable(rows.filter((row) => !row.fact));
  if (!hasPlot(table, rows)) return null;
  const step = 16;
  const left = 250;
  const width = 720;
  const height = own.length * step + 46;
  const low = Math.min(0.1, ...own.map(ratio));
  const high = Math.max(2, ...own.map(ratio));
  const X = (value) => left + ((Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (width - left - 20);
  const text = (x, y, content, extra = '') => `<text x="${x}" y="${y}" ${extra}>${content.replace(/&/g, '&amp;').replace(/</g, '&lt;')}</text>`;
  const wide = high / low > 1000;
  const powers = Array.from({ length: 13 }, (_, i) => Number(`1e${i - 9}`));
  const ticks = (wide ? powers : powers.flatMap((power) => [power, 2 * power, 5 * power])).filter((tick) => tick >= low && tick <= high);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`,
    '<style>.page{fill:#fff}text{fill:#333}.grid{stroke:#e3e6ea}.one{stroke:#888}@media(prefers-color-scheme:dark){.page{fill:#15181c}text{fill:#d8dce1}.grid{stroke:#31363d}}</style>',
    `<rect class="page" width="${width}" height="${height}"/>`, text(8, 16, `${table.title}: ours / published`, 'font-size="13" font-weight="bold"'),
  ];
  for (const tick of ticks) {
    parts.push(`<line x1="${X(tick)}" x2="${X(tick)}" y1="24" y2="${height - 18}" class="${tick === 1 ? 'one' : 'grid'}"/>`);
    parts.push(text(X(tick), height - 5, String(Number(tick.toPrecision(1))), 'text-anchor="middle"'));
  }
  own.forEach((row, i) => {
    const y = 36 + i * step;
    parts.push(text(left - 8, y + 4, `${row.set} ${row.bones}, ${row.label}`, 'text-anchor="end"'));
    parts.push(`<circle cx="${X(ratio(row)).toFixed(1)}" cy="${y}" r="4" fill="${ratio(row) < 1 ? '#1b7f4b' : '#c0392b'}"/>`);
  });
  parts.push('</svg>');
  return `${parts.join('\n')}\n`;
}
