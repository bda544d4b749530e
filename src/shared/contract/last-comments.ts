// Removes comments at the end of a file of SQL statements, which `exec` would treat as an empty last statement.

/** Matches one token: quoted text, a comment, white space, a word or a character. Unclosed text reaches to the end. */
const TOKENS =
  /'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?|--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?|\s+|[^\s'"`[/;-]+|./gs;

/** Returns the text up to the end of its last statement; empty if it contains only comments. */
export function withoutLastComments(sql: string): string {
  let end = 0;
  for (const { 0: part, index } of sql.matchAll(TOKENS)) {
    const isEmpty = part === ';' || part.trim() === '' || /^(?:--|\/\*)/.test(part);
    if (!isEmpty) end = index + part.length;
  }
  return sql.slice(0, end);
}
