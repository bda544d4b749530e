// The second minifier of what a page loads as it is: terser, after esbuild.
//
// It names variables in the order of their use, so that functions that are alike have the same text, and moves what
// is used once to its place. With brotli that is a twentieth of a worker, and a twenty-fifth of a page's client.
//
// Invariants: names of properties stay, as in the first. So do parameters that are not used, since programs see
// the `length` of functions.

import { readFileSync, writeFileSync } from 'node:fs';
import { type MinifyOptions, minify } from 'terser';

/** More passes take seconds and give less than a thousandth. */
const PASSES = 2;

const SYNTAX = 2022;

const OPTIONS: MinifyOptions = {
  module: true,
  ecma: SYNTAX,
  compress: { ecma: SYNTAX, passes: PASSES, keep_fargs: true },
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
