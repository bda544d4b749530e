// The second minifier of the files that a page loads unbundled: terser, after esbuild.

import { readFileSync, writeFileSync } from 'node:fs';
import { type MinifyOptions, minify } from 'terser';

/** A third takes a second and gives a thousandth. */
const PASSES = 2;

const SYNTAX = 2022;

// A function that is used once stays in its place: inside its caller, it would be made with every call. The worker
// would be 0.8 kB smaller, and calls of objects took 9 % longer.
const OPTIONS: MinifyOptions = {
  module: true,
  ecma: SYNTAX,
  compress: { ecma: SYNTAX, passes: PASSES, keep_fargs: true, reduce_funcs: false },
};

/** The forms that bundlers recognise: the addresses of files next to this one. */
const ADDRESSES = /new URL\("\.[^"]*",import\.meta\.url\)|(?:from|import\() ?"\.[^"]*"/g;

/** @throws if an address is no longer where a bundler of the package's user finds it */
export async function minifyAgain(file: string): Promise<void> {
  const before = readFileSync(file, 'utf8');
  const { code = '' } = await minify(before, OPTIONS);
  const [expected, found] = [before, code].map((text) => text.match(ADDRESSES)?.sort().join());
  if (found !== expected) throw new Error(`${file}: expected ${expected}, found ${found}`);
  writeFileSync(file, code);
}
