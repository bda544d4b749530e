// Turns the text of a search box into an FTS5 query that always parses.
//
// Every word must occur, as the beginning of a word; text in double quotes must occur exactly. Each
// becomes an FTS5 string, in which only the quote character has a meaning.
//
// FTS5's tokenizer drops symbols, and finds no words in scripts without spaces, so emoji and text in
// such scripts are searched as plain text, without the index.

const WORD = /[\p{L}\p{N}]/u;
const WITHOUT_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const PICTURE = /\p{Extended_Pictographic}/u;

/** How many UTF-16 units of a query are used; the rest is ignored. */
const QUERY_LENGTH_MAX = 300;

export interface SearchQuery {
  /** The query for MATCH; empty if the index is not used. */
  readonly match: string;
  /** The texts that must occur exactly. */
  readonly contains: readonly string[];
}

/** Returns the query; null if the text contains nothing to search for. */
export function parseSearch(text: string): SearchQuery | null {
  const match: string[] = [];
  const contains: string[] = [];
  // NUL characters are replaced, because SQLite's parser would end the text there.
  const query = text.replaceAll('\0', ' ').slice(0, QUERY_LENGTH_MAX).toWellFormed();
  for (const [, quoted, word] of query.matchAll(/"([^"]*)"?|([^\s"]+)/g)) {
    const term = (quoted ?? word ?? '').trim();
    if (term === '') continue;
    const indexed = WORD.test(term) && !WITHOUT_SPACES.test(term);
    if (indexed) match.push(quoted === undefined ? `"${term}"*` : `"${term}"`);
    if (!indexed || PICTURE.test(term)) contains.push(term);
  }
  if (match.length === 0 && contains.length === 0) return null;
  return { match: match.join(' '), contains };
}
