// Bundles the page into one HTML file: node build.mjs OUT.html, or into a C++ source that holds it: node build.mjs OUT.cpp
import { build } from 'esbuild';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, 'dist', 'page.html');

const bundle = await build({
  entryPoints: [join(here, 'src', 'main.js')],
  bundle: true,
  minify: true,
  write: false,
  format: 'iife',
  target: 'es2022',
  legalComments: 'none',
  logLevel: 'warning',
});
// "</script" inside a string of the bundle would end the element it is put into.
const script = bundle.outputFiles[0].text.replaceAll('</script', '<\\/script');
const style = readFileSync(join(here, 'src', 'style.css'), 'utf8');
const page = readFileSync(join(here, 'src', 'index.html'), 'utf8')
  .replace('/*STYLE*/', () => style)
  .replace('/*SCRIPT*/', () => script);
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, out.endsWith('.cpp') ? cppOf(page) : page);

/** The page as C++ string literals; compilers limit the length of one, so it is cut into pieces. */
function cppOf(text) {
  const pieces = [];
  for (let at = 0; at < text.length; at += 8000) pieces.push(`R"sinewpage(${text.slice(at, at + 8000)})sinewpage"`);
  return `#include "view/page_template.h"\n\nnamespace sinew {\nconst std::string_view kPageTemplate =\n${pieces.join('\n')};\n}\n`;
}
