// Writes the matrix of SDK versions into docs/management.md, between its markers.

import { readFileSync, writeFileSync } from 'node:fs';
import { clientMatrix, matrixTable } from './client-matrix.ts';

export const DOCUMENT = new URL('../../../docs/management.md', import.meta.url);
const MATRIX = /(<!-- matrix -->\n)[\s\S]*?(<!-- \/matrix -->)/;

/** The document with this table. */
export function withTable(text: string, table: string): string {
  if (!MATRIX.test(text)) throw new Error('docs/management.md has no markers for the matrix.');
  return text.replace(MATRIX, (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`);
}

if (process.argv[1]?.endsWith('write-matrix.ts')) {
  const table = matrixTable(await clientMatrix());
  writeFileSync(DOCUMENT, withTable(readFileSync(DOCUMENT, 'utf8'), table));
  console.log(table);
}
