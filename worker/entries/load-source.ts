// `loadSource`: classes from source, for a runtime without pages and for sandboxes.

import { checkSource, type SourceFiles } from '../../src/contract/source.ts';
import { browserLoader } from '../source/browser-loader.ts';
import { type LoadedSource, loadModules } from '../source/load-source.ts';

/**
 * Loads modules given as texts into this thread, in a browser's page or worker, and returns the classes that the
 * main one exports, for `createObjects`. Code that does not end while it is loaded never lets this settle: call it in
 * a worker that can be terminated.
 *
 * @throws INVALID_ARGUMENT, SOURCE_INVALID
 */
export async function loadSource(
  files: SourceFiles,
  options: { readonly main?: string } = {},
): Promise<LoadedSource> {
  return loadModules(checkSource('loadSource', files, options.main), browserLoader);
}
