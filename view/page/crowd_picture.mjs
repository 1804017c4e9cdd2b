// node crowd_picture.mjs CROWD.html OUT.png [COUNT [DISTANCE [METHOD]]]: the page of a crowd as PNG, one frame of it.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium, launch } from './test/browser.mjs';

const [file, out, count = '10000', distance = '30', method = ''] = process.argv.slice(2);
if (!chromium || !file || !existsSync(file)) {
  console.error(chromium ? `picture: no ${file ?? 'page'}` : 'picture: Chromium is not installed; script/bootstrap --full installs it');
  process.exit(1);
}
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 900, height: 500 } });
await page.addInitScript(() => { window.requestAnimationFrame = () => 0; });
await page.goto(pathToFileURL(resolve(file)).href, { timeout: 120000 });
await page.evaluate(([n, far, how]) => {
  const { sinew } = window;
  sinew.setCount(n);
  if (how) sinew.setMethod(how);
  sinew.camera.distance = far;
  sinew.state.seconds = 3;
  sinew.render();
  sinew.showFigures();
}, [Number(count), Number(distance), method]);
await page.screenshot({ path: out, timeout: 300000 });
await browser.close();
console.log(out);
