// The end of a file of SQL statements: `exec` takes a comment after the last statement for a statement that is missing.

/** Texts in quotes, comments, white space, words, and single characters. What is not closed goes on to the end. */
const PARTS =
  /'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?|--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?|\s+|[^\s'"`[/;-]+|./gs;

/** The text up to the end of its last statement; empty if it has comments only. */
export function withoutLastComments(sql: string): string {
  let end = 0;
  for (const { 0: part, index } of sql.matchAll(PARTS)) {
    const isEmpty = part === ';' || part.trim() === '' || /^(?:--|\/\*)/.test(part);
    if (!isEmpty) end = index + part.length;
  }
  return sql.slice(0, end);
}
