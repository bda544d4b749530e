// Parses CSS selectors into conditions that can be tested on a start tag.
//
// Invariant: the same selectors are accepted and refused as in workerd, with the same error messages. Like there,
// closing brackets at the end may be missing.

/** A condition on one element. */
export type SelectorCondition = { readonly isNegated: boolean } & (
  | { readonly kind: 'any' | 'never' }
  /** The element has this name, which is in lower case. */
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'id' | 'class'; readonly value: string }
  | AttributeCondition
  /**
   * The element is child number `step * n + offset`, with an `n` of 0 or more. `name` counts only children of its own
   * name.
   */
  | {
      readonly kind: 'nth';
      readonly of: 'children' | 'name';
      readonly step: number;
      readonly offset: number;
    }
);

export interface AttributeCondition {
  readonly kind: 'attribute';
  /** The name of the attribute in lower case. */
  readonly name: string;
  readonly test?: {
    readonly operator: '=' | '~=' | '^=' | '$=' | '*=' | '|=';
    readonly value: string;
    /** True if letters in any case match; `in HTML` if they do for elements of HTML, and not for SVG and MathML. */
    readonly ignoresCase: boolean | 'in HTML';
  };
}

/**
 * The conditions on one element, such as `b.c` in `a > b.c`. The last compound of a selector is the matched element.
 */
export interface Compound {
  readonly conditions: readonly SelectorCondition[];
  /** How the element is inside the element of the compound before it; undefined for the first compound. */
  readonly combinator?: 'child' | 'descendant';
}

/** A list of selectors, of which an element must match one. */
export type Selector = readonly (readonly Compound[])[];

/** @throws TypeError with the message of workerd, if the selector is wrong or not supported */
export function parseSelector(text: string): Selector {
  const parser = new SelectorParser(text);
  const selectors = parser.parseList(false);
  parser.checkEnd();
  return selectors;
}

/** Attributes whose values HTML compares without case (HTML standard, "case-sensitivity of selectors"). */
const CASELESS_ATTRIBUTES: ReadonlySet<string> = new Set(
  (
    'accept accept-charset align alink axis bgcolor charset checked clear codetype color compact declare defer dir ' +
    'direction disabled enctype face frame hreflang http-equiv lang language link media method multiple nohref ' +
    'noresize noshade nowrap readonly rel rev rules scope scrolling selected shape target text type valign ' +
    'valuetype vlink'
  ).split(' '),
);

const IDENTIFIER_START = /[a-z_\u0080-\u{10ffff}]/iu;
const IDENTIFIER = /[a-z0-9_\-\u0080-\u{10ffff}]/iu;
const SPACE = /[ \t\n\r\f]/;
const SPACES = /[ \t\n\r\f]+/;
const UNSUPPORTED_PSEUDO = 'Unsupported pseudo-class or pseudo-element in selector.';

class SelectorParser {
  readonly #text: string;
  #position = 0;
  /**
   * The message about the first part that CSS has and workerd lacks. Other mistakes in the selector are reported before
   * it.
   */
  #unsupported: string | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** @throws TypeError if text is left, or if a part is not supported */
  checkEnd(): void {
    if (this.#peek() !== '') throw parserError('Unexpected token in selector.');
    if (this.#unsupported !== undefined) throw parserError(this.#unsupported);
  }

  parseList(isNegated: boolean): Compound[][] {
    const selectors = [this.#parseSelector(isNegated)];
    while (this.#accept(',')) selectors.push(this.#parseSelector(isNegated));
    return selectors;
  }

  #parseSelector(isNegated: boolean): Compound[] {
    this.#skipSpace();
    const compounds: Compound[] = [];
    let combinator: Compound['combinator'];
    for (;;) {
      const conditions = this.#parseCompound(isNegated);
      if (conditions.length === 0) {
        throw parserError(
          compounds.length === 0 ? 'The selector is empty.' : 'Dangling combinator in selector.',
        );
      }
      compounds.push({ conditions, ...(combinator && { combinator }) });
      const next = this.#parseCombinator();
      if (next === undefined) return compounds;
      combinator = next;
    }
  }

  #parseCombinator(): Compound['combinator'] {
    const hasSpace = this.#skipSpace();
    const next = this.#peek();
    if (next === '>' || next === '+' || next === '~') {
      this.#position++;
      this.#skipSpace();
      if (next !== '>') this.#unsupported ??= `Unsupported combinator \`${next}\` in selector.`;
      return 'child';
    }
    return hasSpace && next !== '' && next !== ',' && next !== ')' ? 'descendant' : undefined;
  }

  #parseCompound(isNegated: boolean): SelectorCondition[] {
    const conditions: SelectorCondition[] = [];
    const named = this.#parseName();
    if (named !== undefined) conditions.push({ ...named, isNegated });
    for (;;) {
      const found = this.#parseSimple(isNegated);
      if (found === undefined) return conditions;
      conditions.push(...found);
    }
  }

  /** Parses the name of the element, with or without a namespace. */
  #parseName():
    | { readonly kind: 'any' | 'never' }
    | { readonly kind: 'name'; name: string }
    | undefined {
    const first = this.#accept('*') ? '*' : this.#parseIdentifier();
    if (!this.#accept('|')) return first === undefined ? undefined : nameCondition(first);
    if (first !== undefined && first !== '*') {
      throw parserError('Selectors with explicit namespaces are not supported.');
    }
    const name = this.#accept('*') ? '*' : this.#parseIdentifier();
    if (name === undefined) throw parserError('Unexpected token in selector.');
    return first === '*' ? nameCondition(name) : { kind: 'never' };
  }

  #parseSimple(isNegated: boolean): SelectorCondition[] | undefined {
    switch (this.#peek()) {
      case '#': {
        this.#position++;
        const value = this.#parseIdentifier();
        if (value !== undefined) return [{ kind: 'id', value, isNegated }];
        this.#position--;
        return undefined;
      }
      case '.': {
        if (/\d/.test(this.#text[this.#position + 1] ?? '')) return undefined; // the dot begins a number, not a class
        this.#position++;
        const value = this.#parseIdentifier();
        if (value !== undefined) return [{ kind: 'class', value, isNegated }];
        if (this.#text[this.#position] === undefined) throw unexpectedEnd();
        throw parserError('Invalid or unescaped class name in selector.');
      }
      case '[':
        this.#position++;
        return [{ ...this.#parseAttribute(), isNegated }];
      case ':':
        this.#position++;
        return this.#parsePseudoClass(isNegated);
      default:
        return undefined;
    }
  }

  #parseAttribute(): AttributeCondition {
    const name = this.#parseAttributeName();
    this.#skipSpace();
    if (this.#acceptClosing(']')) return { kind: 'attribute', name };
    const operator = this.#parseOperator();
    this.#skipSpace();
    const value = this.#parseValue();
    this.#skipSpace();
    const ignoresCase =
      this.#parseCaseFlag() ?? (CASELESS_ATTRIBUTES.has(name) ? 'in HTML' : false);
    this.#skipSpace();
    if (!this.#acceptClosing(']')) throw parserError('Unexpected token in selector.');
    return { kind: 'attribute', name, test: { operator, value, ignoresCase } };
  }

  #parseAttributeName(): string {
    this.#skipSpace();
    const isAny = this.#accept('*');
    const prefix = isAny ? undefined : this.#parseIdentifier();
    const hasNamespace = this.#peek() === '|' && this.#text[this.#position + 1] !== '=';
    if (hasNamespace && this.#accept('|')) {
      if (isAny || prefix !== undefined) {
        throw parserError('Selectors with explicit namespaces are not supported.');
      }
      const name = this.#parseIdentifier();
      if (name === undefined) throw parserError(UNEXPECTED_IN_ATTRIBUTE);
      return name.toLowerCase();
    }
    if (prefix !== undefined) return prefix.toLowerCase();
    if (this.#peek() === '' || this.#peek() === ']') throw unexpectedEnd();
    throw parserError('Missing attribute name in attribute selector.');
  }

  #parseOperator(): NonNullable<AttributeCondition['test']>['operator'] {
    if (this.#accept('=')) return '=';
    const operator = this.#text.slice(this.#position, this.#position + 2);
    if (!/^[~^$*|]=$/.test(operator)) throw parserError(UNEXPECTED_IN_ATTRIBUTE);
    this.#position += 2;
    return operator as '~=';
  }

  #parseValue(): string {
    const value = this.#parseString() ?? this.#parseIdentifier();
    if (value !== undefined) return value;
    if (this.#peek() === '' || this.#peek() === ']') throw unexpectedEnd();
    throw parserError(UNEXPECTED_IN_ATTRIBUTE);
  }

  /** Parses the flag after a value. Returns true if letters in any case match, and undefined without a flag. */
  #parseCaseFlag(): boolean | undefined {
    const flag = this.#parseIdentifier()?.toLowerCase();
    if (flag === undefined) return undefined;
    if (flag !== 'i' && flag !== 's') throw parserError('Unexpected token in selector.');
    return flag === 'i';
  }

  #parsePseudoClass(isNegated: boolean): SelectorCondition[] {
    const name = this.#parseIdentifier()?.toLowerCase();
    if (name === undefined) {
      throw this.#text[this.#position] === undefined
        ? unexpectedEnd()
        : parserError(UNSUPPORTED_PSEUDO);
    }
    const of = name.endsWith('-of-type') ? 'name' : 'children';
    if (this.#text[this.#position] !== '(') {
      if (name !== 'first-child' && name !== 'first-of-type') {
        throw parserError(UNSUPPORTED_PSEUDO);
      }
      return [{ kind: 'nth', of, step: 0, offset: 1, isNegated }];
    }
    this.#position++;
    if (name === 'nth-child' || name === 'nth-of-type') {
      return [{ kind: 'nth', of, ...this.#parseNth(), isNegated }];
    }
    if (name !== 'not') throw parserError(UNSUPPORTED_PSEUDO);
    const selectors = this.parseList(!isNegated);
    this.#skipSpace();
    if (!this.#acceptClosing(')')) throw parserError('Unexpected token in selector.');
    if (selectors.some((compounds) => compounds.length > 1))
      this.#unsupported ??= UNSUPPORTED_PSEUDO;
    // As in workerd, an element must fail each of several conditions in one `:not()`.
    return selectors.flatMap((compounds) => compounds[0]!.conditions);
  }

  /** Parses the formula of `:nth-child()`, such as `2n + 1`. */
  #parseNth(): { readonly step: number; readonly offset: number } {
    const end = this.#text.indexOf(')', this.#position);
    const text = this.#text.slice(this.#position, end < 0 ? undefined : end);
    this.#position = end < 0 ? this.#text.length : end + 1;
    const formula = text.split(SPACES).filter(Boolean).join(' ').toLowerCase();
    if (formula === 'even') return { step: 2, offset: 0 };
    if (formula === 'odd') return { step: 2, offset: 1 };
    if (/^[+-]?\d+$/.test(formula)) return { step: 0, offset: Number(formula) };
    const parts = /^([+-]?\d*)n(?: ?([+-]) ?(\d+))?$/.exec(formula);
    if (parts === null) {
      const isIncomplete = formula === '' || /^[+-]?\d*n ?[+-]$/.test(formula);
      throw isIncomplete ? unexpectedEnd() : parserError('Unexpected token in selector.');
    }
    const [, factor, sign = '+', rest = '0'] = parts;
    const step = /\d/.test(factor!) ? Number(factor) : Number(`${factor}1`);
    return { step, offset: Number(sign + rest) };
  }

  /** Parses an identifier. Returns undefined, and stays at its place, if there is none. */
  #parseIdentifier(): string | undefined {
    this.#skipComments();
    const start = this.#position;
    let name = '';
    if (this.#text.startsWith('--', this.#position)) {
      name = '--';
      this.#position += 2;
    } else {
      if (this.#accept('-')) name = '-';
      const first = this.#parseCharacter(IDENTIFIER_START);
      if (first === undefined) {
        this.#position = start;
        return undefined;
      }
      name += first;
    }
    for (
      let next = this.#parseCharacter(IDENTIFIER);
      next;
      next = this.#parseCharacter(IDENTIFIER)
    ) {
      name += next;
    }
    return name;
  }

  /** Parses one character of the kind, or any character that is escaped. */
  #parseCharacter(kind: RegExp): string | undefined {
    const code = this.#text.codePointAt(this.#position);
    if (code === undefined) return undefined;
    const character = String.fromCodePoint(code);
    if (character === '\\' && this.#text[this.#position + 1] !== '\n') return this.#parseEscape();
    if (!kind.test(character)) return undefined;
    this.#position += character.length;
    return character;
  }

  #parseEscape(): string {
    const [digits] =
      /^[0-9a-f]{1,6}/i.exec(this.#text.slice(this.#position + 1, this.#position + 7)) ?? [];
    this.#position++;
    if (digits !== undefined) {
      this.#position += digits.length;
      if (SPACE.test(this.#text[this.#position] ?? '')) this.#position++;
      const code = Number.parseInt(digits, 16);
      const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
      return isCharacter ? String.fromCodePoint(code) : '\ufffd';
    }
    const code = this.#text.codePointAt(this.#position);
    if (code === undefined) return '\ufffd';
    const character = String.fromCodePoint(code);
    this.#position += character.length;
    return character;
  }

  #parseString(): string | undefined {
    const quote = this.#peek();
    if (quote !== '"' && quote !== "'") return undefined;
    this.#position++;
    let value = '';
    for (;;) {
      const next = this.#text[this.#position];
      if (next === '\n') throw parserError(UNEXPECTED_IN_ATTRIBUTE);
      if (next === undefined || next === quote) {
        this.#position++;
        return value;
      }
      if (next === '\\' && this.#text[this.#position + 1] === '\n') this.#position += 2;
      else if (next === '\\') value += this.#parseEscape();
      else {
        value += next;
        this.#position++;
      }
    }
  }

  /** Accepts a closing bracket. The end of the selector closes everything, so it counts as one. */
  #acceptClosing(bracket: string): boolean {
    return this.#accept(bracket) || this.#peek() === '';
  }

  #accept(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#position++;
    return true;
  }

  /** Returns the next character after comments, or '' at the end. */
  #peek(): string {
    this.#skipComments();
    return this.#text[this.#position] ?? '';
  }

  /** Skips white space. Returns true if there was any. */
  #skipSpace(): boolean {
    let hasSpace = false;
    while (SPACE.test(this.#peek())) {
      hasSpace = true;
      this.#position++;
    }
    return hasSpace;
  }

  #skipComments(): void {
    while (this.#text.startsWith('/*', this.#position)) {
      const end = this.#text.indexOf('*/', this.#position + 2);
      this.#position = end < 0 ? this.#text.length : end + 2;
    }
  }
}

const UNEXPECTED_IN_ATTRIBUTE = 'Unexpected token in the attribute selector.';

function nameCondition(
  name: string,
): { readonly kind: 'any' } | { readonly kind: 'name'; readonly name: string } {
  return name === '*' ? { kind: 'any' } : { kind: 'name', name: name.toLowerCase() };
}

function unexpectedEnd(): TypeError {
  return parserError('Unexpected end of selector.');
}

function parserError(fact: string): TypeError {
  return new TypeError(`Parser error: ${fact}`);
}
