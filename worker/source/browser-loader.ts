// Loads texts as modules in a browser's thread.

import type { ModuleLoader } from './load-source.ts';

export const browserLoader: ModuleLoader = {
  addressOf: (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' })),
  load: (address) => import(/* @vite-ignore */ /* webpackIgnore: true */ address),
};
