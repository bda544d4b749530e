// The files of a build that a page needs: the files that it names, the files that these name, and
// so on.

import { basename } from 'node:path';

/** As a bundler describes a file. */
export interface BuiltFile {
  readonly type: 'asset' | 'chunk';
  readonly code?: string;
  readonly source?: string | Uint8Array;
}

/** The text of a script or a page; of other files none. */
export function textOf(file: BuiltFile | undefined): string {
  return file?.code ?? (typeof file?.source === 'string' ? file.source : '');
}

/** The names of all files that these pages need, theirs among them. */
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
