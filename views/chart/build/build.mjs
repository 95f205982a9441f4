// Bundles the part of Plotly that the figures use into one minified file, and the licences of all that is in it into
// another:
//     npm ci && node build.mjs [FOLDER]        FOLDER: where to, else the folder above
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const into = process.argv[2] ?? dirname(here);
const made = await build({
  absWorkingDir: here,
  entryPoints: ['plotly.cjs'],
  outfile: join(into, 'plotly.min.js'),
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  define: { global: 'window' },
  loader: { '.css': 'empty' }, // of maps
  legalComments: 'none', // the licences have a file of their own
  metafile: true,
  // Half of it runs for the first plot: browsers that know the first line compile all of it beside the page's own thread.
  banner: { js: '//# allFunctionsCalledOnLoad\n/* A part of Plotly, MIT licence: plotly.licences.txt. Made by build/build.mjs. */' },
});

const taken = Object.values(made.metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs));
const folders = new Set(taken.filter(([, { bytesInOutput }]) => bytesInOutput)
  .flatMap(([path]) => path.match(/^(?:.*\/)?node_modules\/(@[^/]+\/)?[^/]+/)?.[0] ?? []));
const licences = [...folders].sort().map((folder) => {
  const about = JSON.parse(readFileSync(join(here, folder, 'package.json'), 'utf8'));
  const file = readdirSync(join(here, folder)).find((name) => /^(licen[cs]e|copying)/i.test(name));
  const text = file ? readFileSync(join(here, folder, file), 'utf8').trim() : 'Its package brings no text of it.';
  return `${about.name} ${about.version} (${about.license})\n\n${text}\n`;
});
writeFileSync(join(into, 'plotly.licences.txt'), licences.join(`\n${'-'.repeat(80)}\n\n`));
