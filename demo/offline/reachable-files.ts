// Finds the files of a build that a page needs: the files that it names, the files that these name, and so on.

import { basename } from 'node:path';

/** A file as a bundler describes it. */
export interface BuiltFile {
  readonly type: 'asset' | 'chunk';
  readonly code?: string;
  readonly source?: string | Uint8Array;
}

/** Returns the text of a script or a page, and an empty text for other files. */
export function textOf(file: BuiltFile | undefined): string {
  return file?.code ?? (typeof file?.source === 'string' ? file.source : '');
}

/** Returns the names of all files that these pages need, including the pages. */
export function reachableFiles(
  bundle: Readonly<Record<string, BuiltFile>>,
  pages: readonly string[],
): Set<string> {
  const reached = new Set<string>();
  const open = [...pages];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (reached.has(name)) continue;
    reached.add(name);
    const text = textOf(bundle[name]);
    open.push(...Object.keys(bundle).filter((other) => text.includes(basename(other))));
  }
  return reached;
}
