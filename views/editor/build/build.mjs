// Bundles CodeMirror into one minified file, and the licences of all that is in it into another:
//     npm ci && node build.mjs [FOLDER]        FOLDER: where to, else the folder above
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const into = process.argv[2] ?? dirname(here);
const made = await build({
  absWorkingDir: here,
  entryPoints: ['codemirror.mjs'],
  outfile: join(into, 'codemirror.min.js'),
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none', // the licences have a file of their own
  metafile: true,
  banner: { js: '/* CodeMirror 6 and Lezer, MIT licence: codemirror.licences.txt. Made by build/build.mjs. */' },
});

const folders = new Set(Object.keys(made.metafile.inputs).flatMap((path) => path.match(/^node_modules\/(@[^/]+\/)?[^/]+/)?.[0] ?? []));
const licences = [...folders].sort().map((folder) => {
  const about = JSON.parse(readFileSync(join(here, folder, 'package.json'), 'utf8'));
  const file = readdirSync(join(here, folder)).find((name) => /^licen[cs]e/i.test(name));
  return `${about.name} ${about.version} (${about.license})\n\n${readFileSync(join(here, folder, file), 'utf8').trim()}\n`;
});
writeFileSync(join(into, 'codemirror.licences.txt'), licences.join(`\n${'-'.repeat(80)}\n\n`));
