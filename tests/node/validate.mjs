// node validate.mjs FOLDER: every .glb passes the Khronos validator with no errors and no warnings.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { needPackages, runCases } from './cases.mjs';

needPackages();
const { default: validator } = await import('gltf-validator');
const folder = process.argv[2];
const files = readdirSync(folder).filter((file) => file.endsWith('.glb')).sort().map((name) => ({ name }));
await runCases(files, async ({ name }) => {
  const report = await validator.validateBytes(new Uint8Array(readFileSync(join(folder, name))), { maxIssues: 20 });
  const bad = report.issues.messages.filter((message) => message.severity <= 1);
  const counts = report.issues;
  return {
    problem: counts.numErrors + counts.numWarnings > 0 ? JSON.stringify(bad, null, 1) : '',
    note: `${counts.numInfos} infos, ${counts.numHints} hints`,
  };
});
