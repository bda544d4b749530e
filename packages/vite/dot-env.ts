// The format of `.env` and `.dev.vars`: names and values in a text, and references of values to others. The packages
// `dotenv` and `dotenv-expand`, with which wrangler reads these files, give the same answers.
//
// Invariant: the time to parse a text is linear in its length.

/** Names to values. */
export type Variables = Record<string, string>;

const QUOTES: ReadonlySet<string | undefined> = new Set(["'", '"', '`']);

const SPACE = /\s*/y;
const KEY = /[\w.-]*/y;
const BARE_VALUE = /[^\n#]*/y;
const LINE = /.*/y;
/** Only space or a comment follows in the line. */
const ENDS_LINE = /[^\S\n\u2028\u2029]*(?:[#\n\u2028\u2029]|$)/y;

/** The variables of a text. Other lines are ignored. */
export function parseDotEnv(content: string): Variables {
  const text = new Text(content.replace(/\r\n?/g, '\n'));
  const variables: Variables = {};
  while (!text.isAtEnd) {
    const key = text.readKey();
    if (key !== undefined) variables[key] = text.readValue();
    text.skipLine();
  }
  return variables;
}

/** A text, and the place up to which it is read. */
class Text {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  skipLine(): void {
    this.#at = this.#endOf(LINE, this.#at) + 1;
  }

  /** Reads blank lines, a key and the sign behind it. Undefined: the line has no key, and only blank lines are read. */
  readKey(): string | undefined {
    const start = this.#endOf(SPACE, this.#at);
    this.#at = start;
    const end = this.#endOf(KEY, start);
    const second = this.#endOf(SPACE, end);
    const secondEnd = this.#endOf(KEY, second);
    const isExported =
      this.#text.slice(start, end) === 'export' && end < second && second < secondEnd;
    const [from, to] = isExported ? [second, secondEnd] : [start, end];
    const sign = this.#endOfSign(to);
    if (from === to || sign === undefined) return undefined;
    this.#at = sign;
    return this.#text.slice(from, to);
  }

  readValue(): string {
    const start = this.#at;
    this.#at = this.#endOfQuoted(start) ?? this.#endOf(BARE_VALUE, start);
    const value = this.#text.slice(start, this.#at).trim();
    const bare = withoutQuotes(value);
    return value.startsWith('"') ? bare.replaceAll('\\n', '\n').replaceAll('\\r', '\r') : bare;
  }

  /** A quoted value may have several lines. An escaped quote ends it if no later quote does. */
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

  /** `=`, or `:` and a space. */
  #endOfSign(place: number): number | undefined {
    const equals = this.#endOf(SPACE, place);
    if (this.#text[equals] === '=') return equals + 1;
    const isColon = this.#text[place] === ':' && this.#endOf(SPACE, place + 1) > place + 1;
    return isColon ? place + 2 : undefined;
  }

  /** `pattern` matches at every place, also nothing. */
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

/** Each pair of equal quotes that begins and ends lines is left out. */
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

/** `${NAME}` and `$NAME`, without a backslash before them. */
const REFERENCE = /(?<!\\)\$\{([^{}]+)\}|(?<!\\)\$([A-Za-z_]\w*)/;

/** More references in one value than this are an endless loop. */
const MOST_REFERENCES = 1000;

/**
 * The variables, with their references replaced by earlier ones and by `outer`, whose values come first.
 *
 * @throws Error for a value whose references have no end
 */
export function expandVariables(variables: Variables, outer: NodeJS.Dict<string>): Variables {
  const expanded: Variables = {};
  for (const [name, value] of Object.entries(variables)) {
    const given = outer[name];
    const isGiven = given !== undefined && given !== '' && given !== value;
    const whole = isGiven ? given : withReferences(name, value, expanded, outer);
    expanded[name] = whole.replaceAll('\\$', '$');
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
  let whole = value;
  for (let count = 0; count < MOST_REFERENCES; count++) {
    const found = REFERENCE.exec(whole);
    if (found === null) return whole;
    seen.add(whole);
    const [text, braced, bare] = found;
    const { of, replacement } = replacementOf(braced ?? bare!, { ...earlier, ...outer }, seen);
    whole = whole.replace(text, replacement);
    if (whole === earlier[of]) return whole;
  }
  throw new Error(
    `${name}: its references to other variables have no end; write one of their values without a reference.`,
  );
}

/** Of a reference such as `NAME`, `NAME:-default`, `NAME-default`, `NAME:+other` or `NAME+other`. */
function replacementOf(
  reference: string,
  values: NodeJS.Dict<string>,
  seen: ReadonlySet<string>,
): { readonly of: string; readonly replacement: string } {
  const operator = /:\+|\+|:-|-/.exec(reference);
  const of = operator === null ? reference : reference.slice(0, operator.index);
  const rest = operator === null ? '' : reference.slice(operator.index + operator[0].length);
  const value = values[of];
  if (operator?.[0].endsWith('+')) return { of, replacement: value ? rest : '' };
  // A value that refers to itself ends there.
  return { of, replacement: value && !seen.has(value) ? value : rest };
}
