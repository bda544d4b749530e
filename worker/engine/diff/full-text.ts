// The sources of a virtual table's rows, and the tables that keep them.

/** A virtual table by its definition. */
interface Defined {
  readonly sql: string;
}

/**
 * `content`: FTS5 keeps the rows, in a shadow with the rowid as its key. `others`: another table has them, and this one
 * only finds them. `none`: it shows rows of other tables. `hidden`: the rows cannot be read. `plain`: a module that shows
 * all rows that it was given.
 */
export type ContentKind = 'content' | 'others' | 'none' | 'hidden' | 'plain';

/** The name of the table may have any text in quotes, also `USING`. SQLite writes the words before it. */
const NAME =
  /^CREATE VIRTUAL TABLE (?:"(?:[^"]|"")*"|'(?:[^']|'')*'|`(?:[^`]|``)*`|\[[^\]]*\]|[^\s"'`[]+)/i;
const MODULE = /\bUSING\s+["'`[]?(\w+)/i;
/** FTS5 takes any beginning of the word; its other options that begin with C have other letters, too. */
const CONTENT = /[,(]\s*c[onte]*\s*=\s*(["'`[]?)([^"'`\],)]*)/i;

/** What the names of the tables that keep a virtual table's content end with, by its module. */
const SHADOWS: Readonly<Record<string, readonly string[]>> = {
  fts5: ['config', 'content', 'data', 'docsize', 'idx'],
  rtree: ['node', 'parent', 'rowid'],
  rtree_i32: ['node', 'parent', 'rowid'],
};

export function contentKind({ sql }: Defined): ContentKind {
  const module = moduleOf(sql);
  if (module === 'fts5vocab') return 'none';
  if (module !== 'fts5') return 'plain';
  const content = CONTENT.exec(sql)?.[2]?.trim();
  if (content === undefined) return 'content';
  return content === '' ? 'hidden' : 'others';
}

/** The names of the tables that may keep the content of a virtual table. */
export function shadowNames({ name, sql }: Defined & { readonly name: string }): string[] {
  return (SHADOWS[moduleOf(sql) ?? ''] ?? []).map((ending) => `${name}_${ending}`);
}

/** The name of the table whose content an index finds. */
export function contentOfIndex({ sql }: Defined): string {
  return CONTENT.exec(sql)?.[2]?.trim() ?? '';
}

function moduleOf(sql: string): string | undefined {
  const nameLength = NAME.exec(sql)?.[0].length ?? 0;
  return MODULE.exec(sql.slice(nameLength))?.[1]?.toLowerCase();
}
