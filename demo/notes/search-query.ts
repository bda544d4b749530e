// What a person types into a search box, as an FTS5 query that cannot fail to parse.
//
// Every word must occur, as the beginning of a word; text in double quotes must occur as it stands.
// Each becomes an FTS5 string, in which nothing but the quote itself has a meaning.
//
// FTS5's tokenizer drops symbols and finds no words in scripts that write none, so what holds an
// emoji or such a script is searched as plain text beside the index.

const WORD = /[\p{L}\p{N}]/u;
const WITHOUT_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const PICTURE = /\p{Extended_Pictographic}/u;

/** Longest query that is looked at, in UTF-16 units: a paste of a book is not a search. */
const QUERY_LENGTH_MAX = 300;

export interface SearchQuery {
  /** For MATCH; empty when the index is not asked. */
  readonly match: string;
  /** Texts that must occur as they stand. */
  readonly contains: readonly string[];
}

/** The query of the text, or null when the text asks for nothing. */
export function parseSearch(text: string): SearchQuery | null {
  const match: string[] = [];
  const contains: string[] = [];
  // A NUL would end the text for SQLite's parser.
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
