// The code of the documents as a reader copies it: each block a module, files that a block names by a comment under
// those names.

import { basename, join } from 'node:path';
import { readSource } from '../../suite/source-files.ts';

/** A module of a document. */
export interface CodeModule {
  /** Where the block begins, `docs/live.md:12`. */
  readonly place: string;
  /** The path of the file below the folder of its document. */
  readonly path: string;
  readonly code: string;
}

const BLOCK = /^```(ts|tsx)\n([\s\S]*?)^```$/gm;
/** The first line of a file in a block, which names it. */
const FILE = /^\/\/ ([\w./-]+\.tsx?)\b.*$/gm;

/** The modules in TypeScript of a document. */
export function modulesOf(document: string): CodeModule[] {
  const text = readSource(document);
  const folder = basename(document, '.md');
  return [...text.matchAll(BLOCK)].flatMap(({ 1: kind, 2: code, index }) => {
    const line = text.slice(0, index).split('\n').length;
    const place = `${document}:${line}`;
    const starts = [...code!.matchAll(FILE)].map((found) => ({ at: found.index, name: found[1]! }));
    if (starts.length === 0) starts.push({ at: 0, name: `line-${line}.${kind}` });
    return starts.map(({ at, name }, i) => ({
      place,
      path: join(folder, name),
      code: code!.slice(i === 0 ? 0 : at, starts[i + 1]?.at),
    }));
  });
}
