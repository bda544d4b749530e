// The rules of the rule book, and those that a test names in brackets.

import { listFiles, readSource } from './source-files.ts';

export interface Rule {
  /** `DUR` of DUR5. */
  readonly section: string;
  readonly number: number;
}

/** In the order of the books. */
export function listedRules(): readonly Rule[] {
  const books = ['docs/spec.md', 'docs/commit-log-format.md'].map(readSource).join('\n');
  return [...books.matchAll(/^\*\*([A-Z]+)(\d+)\*\* /gm)].map(([, section, number]) => ({
    section: section!,
    number: Number(number),
  }));
}

/** The files with tests. */
export function testFiles(): readonly string[] {
  return listFiles(['src', 'worker', 'packages', 'demo', 'e2e'], /\.(test|spec|suite)\.ts$/);
}

/** The rules in titles of the files' tests, `DUR5`. */
export function shownRules(files: readonly string[]): ReadonlySet<string> {
  return new Set(
    files.flatMap((file) =>
      [...readSource(file).matchAll(/\[([A-Z]+\d+)\]/g)].map(([, id]) => id!),
    ),
  );
}
