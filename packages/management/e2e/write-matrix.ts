// Writes the table of SDK versions into matrix.md, which is a page of the guide.

import { readFileSync, writeFileSync } from 'node:fs';
import { clientMatrix, matrixTable } from './client-matrix.ts';

export const DOCUMENT = new URL('./matrix.md', import.meta.url);
const MATRIX = /^task \|[\s\S]*/m;

/** Returns the document with its table replaced. */
export function withTable(text: string, table: string): string {
  if (!MATRIX.test(text)) throw new Error('matrix.md has no table.');
  return text.replace(MATRIX, () => `${table}\n`);
}

if (process.argv[1]?.endsWith('write-matrix.ts')) {
  const table = matrixTable(await clientMatrix());
  writeFileSync(DOCUMENT, withTable(readFileSync(DOCUMENT, 'utf8'), table));
  console.log(table);
}
