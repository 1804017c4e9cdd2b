// node measure.mjs CROWD.html... [--count N] [--repeats N] [--pixels] [--crowd]: milliseconds that each page and method takes
// to pose all vertices of a frame (--pixels: and to draw them), all in one run of headless Chromium and in turn, and their
// ratios to the first. The GPU is SwiftShader, a program on the same processor: ratios, not speeds. --crowd: also one frame
// of ten thousand, as far as they are seen.
import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium, launch, openPage } from './test/browser.mjs';

const { values, positionals: files } = parseArgs({
  allowPositionals: true, options: { count: { type: 'string', default: '100' }, repeats: { type: 'string', default: '5' }, crowd: { type: 'boolean', default: false }, pixels: { type: 'boolean', default: false } },
});
if (!chromium || files.length === 0 || !files.every(existsSync)) {
  console.error(!chromium ? 'measure: Chromium is not installed; script/bootstrap --full installs it' : 'measure: name pages that are there');
  process.exit(1);
}
const browser = await launch();
const cases = [];
for (const file of files) {
  const { page } = await openPage(browser, resolve(file), { still: true });
  const methods = await page.evaluate(() => [...document.querySelectorAll('#method button')].map((button) => button.dataset.value));
  for (const method of methods) cases.push({ page, method, name: `${basename(file, '.html')} ${method}`, times: [] });
}
const measure = (page, options) => page.evaluate((all) => window.sinew.measure(all), options);
for (let i = 0; i < Number(values.repeats); ++i)
  for (const one of cases) {
    one.last = await measure(one.page, { method: one.method, count: Number(values.count), frames: 3, level: 0, cull: false, pixels: values.pixels });
    one.times.push(one.last.milliseconds);
  }
const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
for (const { name, times, last } of cases) {
  const { draws, triangles, bytesPerInstance, sent } = last;
  console.log(`${name.padEnd(24)} ${median(times).toFixed(1).padStart(8)} ms  ${(median(times) / median(cases[0].times)).toFixed(2).padStart(6)}  `
    + `${draws} draw calls  ${triangles} triangles  ${Math.round(bytesPerInstance)} B/instance  ${sent} B sent`);
}
for (const page of values.crowd ? new Set(cases.map((one) => one.page)) : []) {
  const { draws, drawn, milliseconds } = await measure(page, { count: 10000, frames: 1 });
  console.log(`10000 instances: ${draws} draw calls, ${drawn} seen, ${milliseconds.toFixed(0)} ms`);
}
await browser.close();
