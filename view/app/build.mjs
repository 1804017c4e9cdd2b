// Bundles the app into one page: node build.mjs PACKAGE OUT.html, where PACKAGE is the folder of the built WebAssembly package.
// Everything is inside, the module in compressed form, so that the page works from disk and needs no request.
// A file beside it, its name with .d added, lists every file that went in, as ninja reads it.
import { createRequire } from 'node:module';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));
const { build } = createRequire(join(here, '../page/package.json'))('esbuild');
const [packageFolder, out] = process.argv.slice(2).map((path) => resolve(path));
const read = [];

const HERE = '"file:///"';  // where the module would look for its code, which it is given

async function bundled(entry) {
  const bundle = await build({
    entryPoints: [join(here, 'src', entry)],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'iife',
    target: 'es2022',
    alias: { 'sinew-module': join(packageFolder, 'sinew.mjs') },
    define: { 'import.meta.url': HERE },
    legalComments: 'none',
    logLevel: 'warning',
  });
  read.push(...Object.keys(bundle.metafile.inputs).map((file) => resolve(file)));
  return bundle.outputFiles[0].text;
}
const fileOf = (path) => {
  read.push(path);
  return readFileSync(path);
};
const inScript = (text) => text.replaceAll('</script', '<\\/script');

const code = gzipSync(fileOf(join(packageFolder, 'sinew.wasm')), { level: 9 }).toString('base64');
const page = fileOf(join(here, 'src/index.html')).toString()
  .replace('/*STYLE*/', () => fileOf(join(here, 'src/style.css')).toString())
  .replace('/*CODE*/', () => code);
// Threads of the module load its script themselves: it stays a text of its own. A module without threads has none for them.
const threaded = existsSync(join(packageFolder, 'sinew.worker.js'));
const script = (name) => (threaded ? inScript(fileOf(join(packageFolder, name)).toString().replaceAll('import.meta.url', HERE)) : '');
const worker = await bundled(threaded ? 'worker_with_threads.js' : 'worker.js');
const main = await bundled('main.js');
const whole = page.replace('/*WORKER*/', () => inScript(worker)).replace('/*SCRIPT*/', () => inScript(main))
  .replace('/*MODULE*/', () => script('sinew.mjs')).replace('/*THREAD*/', () => script('sinew.worker.js'));
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, whole);
writeFileSync(`${out}.d`, `${[`${out}:`, ...read].map((path) => path.replaceAll(' ', '\\ ')).join(' \\\n  ')}\n`);
