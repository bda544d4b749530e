// Splits an SQL text into tokens as SQLite does; comments and white space are dropped.
//
// It does only the work of finding a statement's clauses. It does not validate: text that SQLite would
// refuse yields tokens too.

export interface Token {
  /** 'word' is a keyword or a bare name, 'quoted' a quoted name or string, 'variable' a parameter. */
  readonly kind: 'word' | 'quoted' | 'variable' | 'number' | 'symbol';
  /** As written. */
  readonly text: string;
  /** Where it starts and ends in the whole text. */
  readonly start: number;
  readonly end: number;
  /** How many parentheses are open around it. */
  readonly depth: number;
}

// In the order of trying. A quote inside its own kind of quotes is doubled.
const TOKEN =
  /(?<space>\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<quoted>'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?)|(?<variable>\?\d*|[:@#$][\w$\u0080-\uffff]+)|(?<number>\.?\d[\w.]*)|(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)|(?<symbol>[\s\S])/y;

/** The tokens of the first statement from `from` on, its closing semicolon included if it has one. */
export function statementTokens(text: string, from = 0): Token[] {
  const tokens: Token[] = [];
  let depth = 0;
  const token = new RegExp(TOKEN); // with a position of its own
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

/** True when the token is that keyword. */
export function isKeyword(token: Token | undefined, keyword: string): boolean {
  return token?.kind === 'word' && token.text.toUpperCase() === keyword;
}

/** The name a token stands for, without its quotes. */
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
