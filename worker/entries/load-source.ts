// `loadSource`: classes from source, for a runtime without pages and for sandboxes.

import { type ConsoleEntry, checkSource, type SourceFiles } from '../../src/contract/source.ts';
import { browserLoader } from '../source/browser-loader.ts';
import { relayConsole } from '../source/console-relay.ts';
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
  options: {
    readonly main?: string;
    /** Hears what this thread's console is given from now on. */
    readonly onConsole?: (entry: ConsoleEntry) => void;
  } = {},
): Promise<LoadedSource> {
  const source = checkSource('loadSource', files, options.main);
  if (options.onConsole !== undefined) relayConsole(console, Date.now, options.onConsole);
  return loadModules(source, browserLoader);
}
