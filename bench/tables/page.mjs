// The results page and its plots, from measured rows.
const number = (value) => (value === null ? '' : value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3))));
const published = (row) => Number(row.published);
const ratio = (row) => row.ours / published(row);
const geometricMean = (values) => Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);

/** Rows that can be compared: both numbers positive. */
const comparable = (rows) => rows.filter((row) => row.ours > 0 && published(row) > 0);

/** Geometric means by table; baselines that are not our method are left out. `page` is where the tables are. */
export function summary(tables, rows, page) {
  const lines = ['| table | rows | better | geometric mean of ours / published |', '|---|---|---|---|'];
  for (const [name, table] of Object.entries(tables)) {
    const own = comparable(rows.filter((row) => row.table === name && !row.baseline));
    if (own.length === 0) continue;
    const anchor = name.toLowerCase().replace(/[^a-z0-9 ]/g, '').replaceAll(' ', '-');
    lines.push(`| [${table.title}](${page}#${anchor}) | ${own.length} | ${own.filter((row) => ratio(row) < 1).length} | ${number(geometricMean(own.map(ratio)))} |`);
  }
  return lines;
}

export function resultsPage(tables, rows, facts) {
  const lines = [
    '# Results', '',
    'Our figure beside the published one for every row of the papers whose sequence we have. All errors are of the written',
    'file, read back. A ratio below 1 means less error than published; losses are in **bold**. Made by `script/bench`; not edited by hand.', '',
    `Commit ${facts.commit} · ${facts.cpu} · ${facts.threads === '1' ? 'one thread' : `${facts.threads} threads`} · ${facts.flags} · seed ${facts.seed}. Seconds are CPU seconds of the command.`, '',
    ...summary(tables, rows, ''),
  ];
  for (const [name, table] of Object.entries(tables)) {
    const own = rows.filter((row) => row.table === name);
    if (own.length === 0) continue;
    const qualities = [...new Set(own.map((row) => row.quality).filter(Boolean))].join(', ');
    lines.push('', `## ${name}`, '', `${table.title}: ${table.unit}; solved with \`--quality ${qualities}\`. ${table.note}`.trim(), '', `![ours against published](results/${name.replaceAll(' ', '-')}.svg)`, '');
    lines.push('| set | bones | model | published | ours | ratio | seconds |', '|---|---|---|---|---|---|---|');
    for (const row of own) lines.push(tableRow(row));
  }
  return `${lines.join('\n')}\n`;
}

function tableRow(row) {
  const bones = row.measuredBones && String(row.measuredBones) !== row.bones ? `${row.bones} (${row.measuredBones})` : row.bones;
  if (row.failure) return `| ${row.set} | ${bones} | ${row.label} | ${row.published} | **failed** | | |`;
  const r = published(row) > 0 ? ratio(row) : null;
  const shown = r === null ? '' : r >= 1 ? `**${r.toFixed(2)}**` : r.toFixed(2);
  return `| ${row.set} | ${bones} | ${row.label} | ${row.published} | ${number(row.ours)} | ${shown} | ${row.seconds.toFixed(1)} |`;
}

/** One dot per row on a logarithmic axis of ours / published. */
export function svgOf(table, rows) {
  const own = comparable(rows);
  if (own.length === 0) return null;
  const step = 16;
  const left = 250;
  const width = 720;
  const height = own.length * step + 46;
  const low = Math.min(0.1, ...own.map(ratio));
  const high = Math.max(2, ...own.map(ratio));
  const X = (value) => left + ((Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low))) * (width - left - 20);
  const text = (x, y, content, extra = '') => `<text x="${x}" y="${y}" ${extra}>${content.replace(/&/g, '&amp;').replace(/</g, '&lt;')}</text>`;
  const ticks = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10].filter((tick) => tick >= low && tick <= high);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`, text(8, 16, `${table.title}: ours / published`, 'font-size="13" font-weight="bold"'),
  ];
  for (const tick of ticks) {
    parts.push(`<line x1="${X(tick)}" x2="${X(tick)}" y1="24" y2="${height - 18}" stroke="${tick === 1 ? '#888' : '#e3e6ea'}"/>`);
    parts.push(text(X(tick), height - 5, String(tick), 'text-anchor="middle" fill="#666"'));
  }
  own.forEach((row, i) => {
    const y = 36 + i * step;
    parts.push(text(left - 8, y + 4, `${row.set} ${row.bones}, ${row.label}`, 'text-anchor="end" fill="#333"'));
    parts.push(`<circle cx="${X(ratio(row)).toFixed(1)}" cy="${y}" r="4" fill="${ratio(row) < 1 ? '#1b7f4b' : '#c0392b'}"/>`);
  });
  parts.push('</svg>');
  return `${parts.join('\n')}\n`;
}
