// Bundles the page into one HTML file: node build.mjs OUT.html, or into a C++ source that holds it: node build.mjs OUT.cpp
// A file beside it, its name with .d added, lists every file that went in, as make and ninja read it.
import { build } from 'esbuild';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, 'dist', 'page.html');

const read = [];

/** The page of a folder: its modules from main.js on, style and markup in one text. */
async function pageOf(folder) {
  const bundle = await build({
    entryPoints: [join(here, folder, 'main.js')],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'iife',
    target: 'es2022',
    define: { 'import.meta.url': '"file:///"' },  // a loader's default place of files that the page carries itself
    legalComments: 'none',
    logLevel: 'warning',
  });
  // "</script" inside a string of the bundle would end the element it is put into.
  const script = bundle.outputFiles[0].text.replaceAll('</script', '<\\/script');
  read.push(...Object.keys(bundle.metafile.inputs).map((file) => resolve(file)));
  const textOf = (name) => {
    read.push(join(here, folder, name));
    return readFileSync(read.at(-1), 'utf8');
  };
  const style = textOf('style.css');
  return textOf('index.html').replace('/*STYLE*/', () => style).replace('/*SCRIPT*/', () => script);
}

const page = await pageOf('src');
const crowd = await pageOf('crowd');
mkdirSync(dirname(out), { recursive: true });
const transcoder = ['basis_transcoder.js', 'basis_transcoder.wasm'].map((name) => {
  read.push(join(here, 'node_modules/three/examples/jsm/libs/basis', name));
  return readFileSync(read.at(-1));
});
writeFileSync(out, out.endsWith('.cpp') ? cppOf({ kPageTemplate: page, kCrowdTemplate: crowd }, { kBasisProgram: transcoder[0], kBasisWasm: transcoder[1] }) : page);
writeFileSync(`${out}.d`, `${[`${out}:`, ...read].map((path) => path.replaceAll(' ', '\\ ')).join(' \\\n  ')}\n`);

/** Texts and bytes as C++ string literals; compilers limit the length of one, so they are cut into pieces. */
function cppOf(texts, binaries) {
  const definitions = Object.entries(texts).map(([name, text]) => {
    const pieces = [];
    for (let at = 0; at < text.length; at += 8000) pieces.push(`R"sinewpage(${text.slice(at, at + 8000)})sinewpage"`);
    return `const std::string_view ${name} =\n${pieces.join('\n')};\n`;
  });
  for (const [name, bytes] of Object.entries(binaries)) {
    const pieces = [];
    for (let at = 0; at < bytes.length; at += 2000)
      pieces.push(`"${Array.from(bytes.subarray(at, at + 2000), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')}"`);
    definitions.push(`const std::string_view ${name}(\n${pieces.join('\n')},\n${bytes.length});\n`);
  }
  return `#include "view/page_template.h"\n\nnamespace sinew {\n${definitions.join('\n')}}\n`;
}
