// The sources of a virtual table's rows.

import type { Shape } from './shapes.ts';

/**
 * `content`: FTS5 keeps the rows, in a shadow with the rowid as its key. `others`: another table has them, and this one
 * only finds them. `none`: it shows rows of other tables. `hidden`: the rows cannot be read. `plain`: a module that shows
 * all rows that it was given.
 */
export type ContentKind = 'content' | 'others' | 'none' | 'hidden' | 'plain';

const MODULE = /\bUSING\s+["'`[]?(\w+)/i;
const CONTENT = /[,(]\s*content\s*=\s*(["'`[]?)([^"'`\],)]*)/i;

export function contentKind({ sql }: Pick<Shape, 'sql'>): ContentKind {
  const module = MODULE.exec(sql)?.[1]?.toLowerCase();
  if (module === 'fts5vocab') return 'none';
  if (module !== 'fts5') return 'plain';
  const content = CONTENT.exec(sql)?.[2]?.trim();
  if (content === undefined) return 'content';
  return content === '' ? 'hidden' : 'others';
}

/** The name of the table whose content an index finds. */
export function contentOfIndex({ sql }: Pick<Shape, 'sql'>): string {
  return CONTENT.exec(sql)?.[2]?.trim() ?? '';
}
