// Parses `.env` and `.dev.vars`, and replaces references of values to other variables. The results equal those of the
// packages `dotenv` and `dotenv-expand`, with which wrangler reads these files.
//
// Invariant: the time to parse a text is linear in its length.

/** The values of variables by their names. */
export type Variables = Record<string, string>;

const QUOTES: ReadonlySet<string | undefined> = new Set(["'", '"', '`']);

const SPACE = /\s*/y;
const KEY = /[\w.-]*/y;
const BARE_VALUE = /[^\n#]*/y;
const LINE = /.*/y;
/** Matches if only white space or a comment follows in the line. */
const ENDS_LINE = /[^\S\n\u2028\u2029]*(?:[#\n\u2028\u2029]|$)/y;

/** Returns the variables of a text. Lines that are not variables are ignored. */
export function parseDotEnv(content: string): Variables {
  const text = new TextReader(content.replace(/\r\n?/g, '\n'));
  const variables: Variables = {};
  while (!text.isAtEnd) {
    const key = text.readKey();
    if (key !== undefined) variables[key] = text.readValue();
    text.skipLine();
  }
  return variables;
}

/** Reads a text from its beginning to its end. */
class TextReader {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#text.length;
  }

  skipLine(): void {
    this.#position = this.#endOf(LINE, this.#position) + 1;
  }

  /**
   * Reads blank lines, a key and the sign after it. Returns undefined, and reads only the blank lines, if the line has
   * no key.
   */
  readKey(): string | undefined {
    const start = this.#endOf(SPACE, this.#position);
    this.#position = start;
    const end = this.#endOf(KEY, start);
    const second = this.#endOf(SPACE, end);
    const secondEnd = this.#endOf(KEY, second);
    const isExported =
      this.#text.slice(start, end) === 'export' && end < second && second < secondEnd;
    const [from, to] = isExported ? [second, secondEnd] : [start, end];
    const sign = this.#endOfSign(to);
    if (from === to || sign === undefined) return undefined;
    this.#position = sign;
    return this.#text.slice(from, to);
  }

  readValue(): string {
    const start = this.#position;
    this.#position = this.#endOfQuoted(start) ?? this.#endOf(BARE_VALUE, start);
    const value = this.#text.slice(start, this.#position).trim();
    const bare = withoutQuotes(value);
    return value.startsWith('"') ? bare.replaceAll('\\n', '\n').replaceAll('\\r', '\r') : bare;
  }

  /**
   * Returns the end of a quoted value, which may have several lines. An escaped quote ends it only if no later quote
   * does.
   */
  #endOfQuoted(place: number): number | undefined {
    const start = this.#endOf(SPACE, place);
    const quote = this.#text[start];
    if (quote === undefined || !QUOTES.has(quote)) return undefined;
    const ends: number[] = [];
    let at = start;
    do {
      at = this.#text.indexOf(quote, at + 1);
      if (at !== -1) ends.push(at + 1);
    } while (at > start + 1 && this.#text[at - 1] === '\\');
    return ends.reverse().find((end) => this.#matches(ENDS_LINE, end));
  }

  /** Returns the position after the sign, which is `=`, or `:` and a space. */
  #endOfSign(place: number): number | undefined {
    const equals = this.#endOf(SPACE, place);
    if (this.#text[equals] === '=') return equals + 1;
    const isColon = this.#text[place] === ':' && this.#endOf(SPACE, place + 1) > place + 1;
    return isColon ? place + 2 : undefined;
  }

  /**
   * Returns the end of the pattern's match at a place. The pattern must match at every place, even if only an empty
   * text.
   */
  #endOf(pattern: RegExp, place: number): number {
    pattern.lastIndex = place;
    pattern.test(this.#text);
    return pattern.lastIndex;
  }

  #matches(pattern: RegExp, place: number): boolean {
    pattern.lastIndex = place;
    return pattern.test(this.#text);
  }
}

/** Removes each pair of equal quotes of which one begins a line and the other ends one, as `dotenv` does. */
function withoutQuotes(value: string): string {
  const lastOf = new Map<string, number>();
  for (const { 0: quote, index } of value.matchAll(/['"`]$/gm)) lastOf.set(quote, index);
  let bare = '';
  let at = 0;
  for (const { 0: quote, index } of value.matchAll(/^['"`]/gm)) {
    const last = lastOf.get(quote) ?? -1;
    if (index < at || last <= index) continue;
    bare += value.slice(at, index) + value.slice(index + 1, last);
    at = last + 1;
  }
  return bare + value.slice(at);
}

/** Matches `${NAME}` and `$NAME` without a backslash before them. */
const REFERENCE = /(?<!\\)\$\{([^{}]+)\}|(?<!\\)\$([A-Za-z_]\w*)/;

/** If a value has more references than this, they are assumed to be an endless loop. */
const REFERENCES_MAX = 1000;

/**
 * Returns the variables with their references replaced by earlier variables and by `outer`, which takes precedence.
 *
 * @throws Error for a value whose references have no end
 */
export function expandVariables(variables: Variables, outer: NodeJS.Dict<string>): Variables {
  const expanded: Variables = {};
  for (const [name, value] of Object.entries(variables)) {
    const given = outer[name];
    const isGiven = given !== undefined && given !== '' && given !== value;
    const expandedValue = isGiven ? given : withReferences(name, value, expanded, outer);
    expanded[name] = expandedValue.replaceAll('\\$', '$');
  }
  return expanded;
}

function withReferences(
  name: string,
  value: string,
  earlier: Variables,
  outer: NodeJS.Dict<string>,
): string {
  const seen = new Set<string>();
  let expandedValue = value;
  for (let count = 0; count < REFERENCES_MAX; count++) {
    const found = REFERENCE.exec(expandedValue);
    if (found === null) return expandedValue;
    seen.add(expandedValue);
    const [text, braced, bare] = found;
    const { referredName, replacement } = replacementOf(
      braced ?? bare!,
      { ...earlier, ...outer },
      seen,
    );
    expandedValue = expandedValue.replace(text, replacement);
    if (expandedValue === earlier[referredName]) return expandedValue;
  }
  throw new Error(
    `${name}: its references to other variables have no end; write one of their values without a reference.`,
  );
}

/**
 * Returns the replacement of a reference such as `NAME`, `NAME:-default`, `NAME-default`, `NAME:+other` or
 * `NAME+other`.
 */
function replacementOf(
  reference: string,
  values: NodeJS.Dict<string>,
  seen: ReadonlySet<string>,
): { readonly referredName: string; readonly replacement: string } {
  const operator = /:\+|\+|:-|-/.exec(reference);
  const referredName = operator === null ? reference : reference.slice(0, operator.index);
  const rest = operator === null ? '' : reference.slice(operator.index + operator[0].length);
  const value = values[referredName];
  if (operator?.[0].endsWith('+')) return { referredName, replacement: value ? rest : '' };
  // A reference to a value that is being expanded is replaced by its default, so that a value cannot refer to itself.
  return { referredName, replacement: value && !seen.has(value) ? value : rest };
}
