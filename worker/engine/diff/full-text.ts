// Finds out where the rows of a virtual table come from, and in which tables they are stored.

/** The definition of a virtual table. */
interface Defined {
  readonly sql: string;
}

/**
 * The source of a virtual table's rows.
 * `content`: FTS5 stores them in a shadow table with the rowid as its key.
 * `others`: another table stores them, and this one only indexes them.
 * `none`: it shows rows of other tables.
 * `hidden`: they cannot be read.
 * `plain`: the module returns all rows that were inserted.
 */
export type ContentKind = 'content' | 'others' | 'none' | 'hidden' | 'plain';

/** Matches the words before the module's name. The table's name may contain any text in quotes, even `USING`. */
const NAME =
  /^CREATE VIRTUAL TABLE (?:"(?:[^"]|"")*"|'(?:[^']|'')*'|`(?:[^`]|``)*`|\[[^\]]*\]|[^\s"'`[]+)/i;
const MODULE = /\bUSING\s+["'`[]?(\w+)/i;
/**
 * Matches the option `content`. FTS5 accepts any beginning of the word; its other options with C contain other letters.
 */
const CONTENT = /[,(]\s*c[onte]*\s*=\s*(["'`[]?)([^"'`\],)]*)/i;

/** The suffixes of the shadow tables with a virtual table's content, by module. */
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

/** Returns the names of the tables that may contain the content of a virtual table. */
export function shadowNames({ name, sql }: Defined & { readonly name: string }): string[] {
  return (SHADOWS[moduleOf(sql) ?? ''] ?? []).map((ending) => `${name}_${ending}`);
}

/** Returns the name of the table that a full-text index indexes. */
export function contentOfIndex({ sql }: Defined): string {
  return CONTENT.exec(sql)?.[2]?.trim() ?? '';
}

function moduleOf(sql: string): string | undefined {
  const nameLength = NAME.exec(sql)?.[0].length ?? 0;
  return MODULE.exec(sql.slice(nameLength))?.[1]?.toLowerCase();
}
