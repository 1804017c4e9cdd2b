// Chromium for the tests of pages: what they share.
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

export const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);

/** A browser whose GPU is a program, so that every machine shows the same. */
export async function launch() {
  const { chromium: launcher } = await import('playwright-core');
  return launcher.launch({
    executablePath: chromium,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--no-first-run', '--disable-quic'],
  });
}

/** Opens a page file; collects console errors and requests that leave it. A page that is `still` draws only what it is
 *  told to: a GPU that is a program may take seconds for a frame. */
export async function openPage(browser, file, { viewport = { width: 1280, height: 720 }, still = false } = {}) {
  const page = await browser.newPage({ viewport });
  if (still) await page.addInitScript(() => { window.requestAnimationFrame = () => 0; });
  const problems = [];
  page.on('console', (message) => { if (message.type() === 'error') problems.push(message.text()); });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('request', (request) => { if (!/^(file|data|blob):/.test(request.url())) problems.push(`request to ${request.url()}`); });
  await page.goto(pathToFileURL(file).href, { timeout: 120000 });
  await page.evaluate(() => window.sinew.ready);
  return { page, problems };
}
