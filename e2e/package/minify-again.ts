// The second minifier of what a page loads as it is: terser, after esbuild.
//
// It names variables in the order of their use, so that functions that are alike have the same text, and moves values
// that are used once to their place. With brotli that is a twentieth of a worker.
//
// Invariants: names of properties stay, as in the first. So do parameters that are not used, since programs see
// the `length` of functions.

import { readFileSync, writeFileSync } from 'node:fs';
import { type MinifyOptions, minify } from 'terser';

/** A third takes a second and gives a thousandth. */
const PASSES = 2;

const SYNTAX = 2022;

// A function that is used once stays where it is: inside the one that calls it, it would be made with every call. That
// would be 0.8 kB of the worker less, and calls of objects took 9 % longer.
const OPTIONS: MinifyOptions = {
  module: true,
  ecma: SYNTAX,
  compress: { ecma: SYNTAX, passes: PASSES, keep_fargs: true, reduce_funcs: false },
};

/** What bundlers recognise: the addresses of files beside this one. */
const ADDRESSES = /new URL\("\.[^"]*",import\.meta\.url\)|(?:from|import\() ?"\.[^"]*"/g;

/** @throws if an address is no longer where a bundler of the package's user finds it */
export async function minifyAgain(file: string): Promise<void> {
  const before = readFileSync(file, 'utf8');
  const { code = '' } = await minify(before, OPTIONS);
  const [expected, found] = [before, code].map((text) => text.match(ADDRESSES)?.sort().join());
  if (found !== expected) throw new Error(`${file}: expected ${expected}, found ${found}`);
  writeFileSync(file, code);
}
