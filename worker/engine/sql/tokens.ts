// Splits an SQL text into tokens as SQLite does; comments and white space are dropped.
//
// It does only the work of finding a statement's clauses. It does not validate: text that SQLite would
// refuse yields tokens too.

export interface Token {
  /** 'word' is a keyword or a bare name, 'quoted' a quoted name or string, 'variable' a parameter. */
  readonly kind: 'word' | 'quoted' | 'variable' | 'number' | 'symbol';
  /** The token as it is written. */
  readonly text: string;
  /** The position of its first character in the whole text, and the position after its last one. */
  readonly start: number;
  readonly end: number;
  /** Number of parentheses that are open around the token. */
  readonly depth: number;
}

// The alternatives are tried in this order. Inside quotes, the same quote is doubled.
const TOKEN =
  /(?<space>\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<quoted>'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?)|(?<variable>\?\d*|[:@#$][\w$\u0080-\uffff]+)|(?<number>\.?\d[\w.]*)|(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)|(?<symbol>[\s\S])/y;

/** Returns the tokens of the first statement from `from` on, including its closing semicolon if it has one. */
export function statementTokens(text: string, from = 0): Token[] {
  const tokens: Token[] = [];
  let depth = 0;
  const token = new RegExp(TOKEN); // a copy, because a regular expression stores its position
  token.lastIndex = from;
  for (;;) {
    const start = token.lastIndex;
    const groups = token.exec(text)?.groups;
    if (groups === undefined) return tokens;
    if (groups.space !== undefined) continue;
    const end = token.lastIndex;
    const written = text.slice(start, end);
    if (written === ')') depth -= 1;
    tokens.push({ kind: kindOf(groups), text: written, start, end, depth });
    if (written === '(') depth += 1;
    if (written === ';' && groups.symbol !== undefined) return tokens;
  }
}

/** True if the token is this keyword. */
export function isKeyword(token: Token | undefined, keyword: string): boolean {
  return token?.kind === 'word' && token.text.toUpperCase() === keyword;
}

/** Returns the name that a token contains, without its quotes. */
export function nameOf(token: Token): string {
  if (token.kind !== 'quoted') return token.text;
  const quote = token.text[0]!;
  const inner = token.text.slice(1, -1);
  return quote === '[' ? inner : inner.replaceAll(quote + quote, quote);
}

function kindOf(groups: Record<string, string | undefined>): Token['kind'] {
  for (const kind of ['quoted', 'variable', 'number', 'word'] as const) {
    if (groups[kind] !== undefined) return kind;
  }
  return 'symbol';
}
