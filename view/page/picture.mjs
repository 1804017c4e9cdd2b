// node picture.mjs PAGE.html OUT.png FRAME COLOUR: original and rig side by side, bones drawn; COLOUR is one of the page's
// (look, clay, weights, error). A fifth argument, "jawOpen=0.8,browInnerUp=1", moves the sliders of a face: the rig alone.
// A sixth, "wu7", is the keys that are pressed instead of b, the bones; a digit is the depth of the boxes that bounds show.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const [page, out, frame, color = 'weights', expression = '', keys = ''] = process.argv.slice(2);
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
if (!executablePath || !existsSync(page)) {
  console.error(executablePath ? `picture: no ${page}; sinew view writes such pages` : 'picture: Chromium is not installed; script/bootstrap --full installs it');
  process.exit(1);
}
const browser = await chromium.launch({
  executablePath, args: ['--headless', '--no-sandbox', '--disable-gpu', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
});
const tab = await browser.newPage({ viewport: { width: 960, height: 400 }, deviceScaleFactor: 1.5 });
await tab.goto(pathToFileURL(resolve(page)).href, { timeout: 120000 });
await tab.evaluate(() => window.sinew.ready);
await tab.addStyleTag({ content: '#panel, #transport { display: none }' });
await tab.evaluate(([at, how, moved]) => {
  window.dispatchEvent(new Event('resize'));
  window.sinew.setColor(how);
  window.sinew.goTo(at);
  window.sinew.stage.fit();
  if (!moved) return;
  const values = Object.fromEntries(moved.split(',').map((pair) => pair.split('=')));
  window.sinew.setSliders(window.sinew.model.sliders.names.map((name) => Number(values[name] ?? 0)));
}, [Number(frame), color, expression]);
for (const key of keys) {
  if (key >= '0' && key <= '9') await tab.evaluate((depth) => window.sinew.stage.setBoundsDepth(depth), Number(key));
  else await tab.keyboard.press(key);
}
if (!expression && !keys && await tab.evaluate(() => !window.sinew.stage.options.bones)) await tab.keyboard.press('b');
await tab.waitForTimeout(600);
await tab.screenshot({ path: out });
await browser.close();
console.log(out);
