// How the package is bundled for whoever takes it.

import type { BuildOptions } from 'esbuild';
import { bundlePlugins } from './bundle-plugins.ts';

export const bundled = {
  bundle: true,
  format: 'esm',
  target: 'es2022',
  logLevel: 'warning',
  legalComments: 'none', // they are in licences.txt
  plugins: bundlePlugins,
} satisfies BuildOptions;

/** With all they need, so that a page without a bundler can load them. */
export const forBrowsers = { ...bundled, minify: true } satisfies BuildOptions;
