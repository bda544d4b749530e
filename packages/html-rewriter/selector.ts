// Selectors of elements: their text, as CSS reads it, as conditions that a start tag can answer.
//
// Invariant: the same selectors as in workerd are refused, with its words, and taken, even without closing brackets.

/** A condition on one element. */
export type SelectorCondition = { readonly isNegated: boolean } & (
  | { readonly kind: 'any' | 'never' }
  /** In lower case. */
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'id' | 'class'; readonly value: string }
  | AttributeCondition
  /** The element is number `step * n + offset`, for any n from 0, of its parent's children, or of those with its name. */
  | {
      readonly kind: 'nth';
      readonly of: 'children' | 'name';
      readonly step: number;
      readonly offset: number;
    }
);

export interface AttributeCondition {
  readonly kind: 'attribute';
  /** In lower case. */
  readonly name: string;
  readonly test?: {
    readonly operator: '=' | '~=' | '^=' | '$=' | '*=' | '|=';
    readonly value: string;
    /** `in HTML`: for elements of HTML only. */
    readonly ignoresCase: boolean | 'in HTML';
  };
}

/** The conditions on the element itself come last. */
export interface Compound {
  readonly conditions: readonly SelectorCondition[];
  /** How the element before it holds the element; the first has none. */
  readonly combinator?: 'child' | 'descendant';
}

/** The selectors of a list. */
export type Selector = readonly (readonly Compound[])[];

/** @throws TypeError, with workerd's words */
export function parseSelector(text: string): Selector {
  const parser = new SelectorParser(text);
  const selectors = parser.list(false);
  parser.checkEnd();
  return selectors;
}

/** Attributes whose values HTML compares without case (HTML standard, "case-sensitivity of selectors"). */
const WITHOUT_CASE: ReadonlySet<string> = new Set(
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
const PSEUDO = 'Unsupported pseudo-class or pseudo-element in selector.';

class SelectorParser {
  readonly #text: string;
  #at = 0;
  /** The first thing that CSS has and workerd has not; mistakes are reported before it. */
  #unsupported: string | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** @throws TypeError */
  checkEnd(): void {
    if (this.#peek() !== '') throw refused('Unexpected token in selector.');
    if (this.#unsupported !== undefined) throw refused(this.#unsupported);
  }

  list(isNegated: boolean): Compound[][] {
    const selectors = [this.#selector(isNegated)];
    while (this.#takes(',')) selectors.push(this.#selector(isNegated));
    return selectors;
  }

  #selector(isNegated: boolean): Compound[] {
    this.#skipSpace();
    const compounds: Compound[] = [];
    let combinator: Compound['combinator'];
    for (;;) {
      const conditions = this.#compound(isNegated);
      if (conditions.length === 0) {
        throw refused(
          compounds.length === 0 ? 'The selector is empty.' : 'Dangling combinator in selector.',
        );
      }
      compounds.push({ conditions, ...(combinator && { combinator }) });
      const next = this.#combinator();
      if (next === undefined) return compounds;
      combinator = next;
    }
  }

  #combinator(): Compound['combinator'] {
    const hasSpace = this.#skipSpace();
    const next = this.#peek();
    if (next === '>' || next === '+' || next === '~') {
      this.#at++;
      this.#skipSpace();
      if (next !== '>') this.#unsupported ??= `Unsupported combinator \`${next}\` in selector.`;
      return 'child';
    }
    return hasSpace && next !== '' && next !== ',' && next !== ')' ? 'descendant' : undefined;
  }

  #compound(isNegated: boolean): SelectorCondition[] {
    const conditions: SelectorCondition[] = [];
    const named = this.#name();
    if (named !== undefined) conditions.push({ ...named, isNegated });
    for (;;) {
      const found = this.#simple(isNegated);
      if (found === undefined) return conditions;
      conditions.push(...found);
    }
  }

  /** The name of the element, with a namespace or without. */
  #name():
    | { readonly kind: 'any' | 'never' }
    | { readonly kind: 'name'; name: string }
    | undefined {
    const first = this.#takes('*') ? '*' : this.#identifier();
    if (!this.#takes('|')) return first === undefined ? undefined : nameCondition(first);
    if (first !== undefined && first !== '*') {
      throw refused('Selectors with explicit namespaces are not supported.');
    }
    const name = this.#takes('*') ? '*' : this.#identifier();
    if (name === undefined) throw refused('Unexpected token in selector.');
    return first === '*' ? nameCondition(name) : { kind: 'never' };
  }

  #simple(isNegated: boolean): SelectorCondition[] | undefined {
    switch (this.#peek()) {
      case '#': {
        this.#at++;
        const value = this.#identifier();
        if (value !== undefined) return [{ kind: 'id', value, isNegated }];
        this.#at--;
        return undefined;
      }
      case '.': {
        if (/\d/.test(this.#text[this.#at + 1] ?? '')) return undefined; // a number
        this.#at++;
        const value = this.#identifier();
        if (value !== undefined) return [{ kind: 'class', value, isNegated }];
        if (this.#text[this.#at] === undefined) throw unexpectedEnd();
        throw refused('Invalid or unescaped class name in selector.');
      }
      case '[':
        this.#at++;
        return [{ ...this.#attribute(), isNegated }];
      case ':':
        this.#at++;
        return this.#pseudoClass(isNegated);
      default:
        return undefined;
    }
  }

  #attribute(): AttributeCondition {
    const name = this.#attributeName();
    this.#skipSpace();
    if (this.#closes(']')) return { kind: 'attribute', name };
    const operator = this.#operator();
    this.#skipSpace();
    const value = this.#value();
    this.#skipSpace();
    const ignoresCase = this.#caseFlag() ?? (WITHOUT_CASE.has(name) ? 'in HTML' : false);
    this.#skipSpace();
    if (!this.#closes(']')) throw refused('Unexpected token in selector.');
    return { kind: 'attribute', name, test: { operator, value, ignoresCase } };
  }

  #attributeName(): string {
    this.#skipSpace();
    const isAny = this.#takes('*');
    const prefix = isAny ? undefined : this.#identifier();
    const hasNamespace = this.#peek() === '|' && this.#text[this.#at + 1] !== '=';
    if (hasNamespace && this.#takes('|')) {
      if (isAny || prefix !== undefined) {
        throw refused('Selectors with explicit namespaces are not supported.');
      }
      const name = this.#identifier();
      if (name === undefined) throw refused(UNEXPECTED_IN_ATTRIBUTE);
      return name.toLowerCase();
    }
    if (prefix !== undefined) return prefix.toLowerCase();
    if (this.#peek() === '' || this.#peek() === ']') throw unexpectedEnd();
    throw refused('Missing attribute name in attribute selector.');
  }

  #operator(): NonNullable<AttributeCondition['test']>['operator'] {
    if (this.#takes('=')) return '=';
    const operator = this.#text.slice(this.#at, this.#at + 2);
    if (!/^[~^$*|]=$/.test(operator)) throw refused(UNEXPECTED_IN_ATTRIBUTE);
    this.#at += 2;
    return operator as '~=';
  }

  #value(): string {
    const value = this.#string() ?? this.#identifier();
    if (value !== undefined) return value;
    if (this.#peek() === '' || this.#peek() === ']') throw unexpectedEnd();
    throw refused(UNEXPECTED_IN_ATTRIBUTE);
  }

  /** True: without case. */
  #caseFlag(): boolean | undefined {
    const flag = this.#identifier()?.toLowerCase();
    if (flag === undefined) return undefined;
    if (flag !== 'i' && flag !== 's') throw refused('Unexpected token in selector.');
    return flag === 'i';
  }

  #pseudoClass(isNegated: boolean): SelectorCondition[] {
    const name = this.#identifier()?.toLowerCase();
    if (name === undefined) {
      throw this.#text[this.#at] === undefined ? unexpectedEnd() : refused(PSEUDO);
    }
    const of = name.endsWith('-of-type') ? 'name' : 'children';
    if (this.#text[this.#at] !== '(') {
      if (name !== 'first-child' && name !== 'first-of-type') {
        throw refused(PSEUDO);
      }
      return [{ kind: 'nth', of, step: 0, offset: 1, isNegated }];
    }
    this.#at++;
    if (name === 'nth-child' || name === 'nth-of-type') {
      return [{ kind: 'nth', of, ...this.#nth(), isNegated }];
    }
    if (name !== 'not') throw refused(PSEUDO);
    const selectors = this.list(!isNegated);
    this.#skipSpace();
    if (!this.#closes(')')) throw refused('Unexpected token in selector.');
    if (selectors.some((compounds) => compounds.length > 1)) this.#unsupported ??= PSEUDO;
    // As in workerd: of several conditions in one `:not()`, an element must meet none.
    return selectors.flatMap((compounds) => compounds[0]!.conditions);
  }

  /** CSS's An+B. */
  #nth(): { readonly step: number; readonly offset: number } {
    const end = this.#text.indexOf(')', this.#at);
    const text = this.#text.slice(this.#at, end < 0 ? undefined : end);
    this.#at = end < 0 ? this.#text.length : end + 1;
    const formula = text.split(SPACES).filter(Boolean).join(' ').toLowerCase();
    if (formula === 'even') return { step: 2, offset: 0 };
    if (formula === 'odd') return { step: 2, offset: 1 };
    if (/^[+-]?\d+$/.test(formula)) return { step: 0, offset: Number(formula) };
    const parts = /^([+-]?\d*)n(?: ?([+-]) ?(\d+))?$/.exec(formula);
    if (parts === null) {
      const isCut = formula === '' || /^[+-]?\d*n ?[+-]$/.test(formula);
      throw isCut ? unexpectedEnd() : refused('Unexpected token in selector.');
    }
    const [, factor, sign = '+', rest = '0'] = parts;
    const step = /\d/.test(factor!) ? Number(factor) : Number(`${factor}1`);
    return { step, offset: Number(sign + rest) };
  }

  /** Undefined, and nothing is taken, if there is none here. */
  #identifier(): string | undefined {
    this.#skipComments();
    const start = this.#at;
    let name = '';
    if (this.#text.startsWith('--', this.#at)) {
      name = '--';
      this.#at += 2;
    } else {
      if (this.#takes('-')) name = '-';
      const first = this.#characterOf(IDENTIFIER_START);
      if (first === undefined) {
        this.#at = start;
        return undefined;
      }
      name += first;
    }
    for (let next = this.#characterOf(IDENTIFIER); next; next = this.#characterOf(IDENTIFIER)) {
      name += next;
    }
    return name;
  }

  /** A character of the kind, or any that is escaped. */
  #characterOf(kind: RegExp): string | undefined {
    const code = this.#text.codePointAt(this.#at);
    if (code === undefined) return undefined;
    const character = String.fromCodePoint(code);
    if (character === '\\' && this.#text[this.#at + 1] !== '\n') return this.#escaped();
    if (!kind.test(character)) return undefined;
    this.#at += character.length;
    return character;
  }

  #escaped(): string {
    const [digits] = /^[0-9a-f]{1,6}/i.exec(this.#text.slice(this.#at + 1, this.#at + 7)) ?? [];
    this.#at++;
    if (digits !== undefined) {
      this.#at += digits.length;
      if (SPACE.test(this.#text[this.#at] ?? '')) this.#at++;
      const code = Number.parseInt(digits, 16);
      const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
      return isCharacter ? String.fromCodePoint(code) : '\ufffd';
    }
    const code = this.#text.codePointAt(this.#at);
    if (code === undefined) return '\ufffd';
    const character = String.fromCodePoint(code);
    this.#at += character.length;
    return character;
  }

  #string(): string | undefined {
    const quote = this.#peek();
    if (quote !== '"' && quote !== "'") return undefined;
    this.#at++;
    let value = '';
    for (;;) {
      const next = this.#text[this.#at];
      if (next === '\n') throw refused(UNEXPECTED_IN_ATTRIBUTE);
      if (next === undefined || next === quote) {
        this.#at++;
        return value;
      }
      if (next === '\\' && this.#text[this.#at + 1] === '\n') this.#at += 2;
      else if (next === '\\') value += this.#escaped();
      else {
        value += next;
        this.#at++;
      }
    }
  }

  /** The end of the text closes everything. */
  #closes(bracket: string): boolean {
    return this.#takes(bracket) || this.#peek() === '';
  }

  #takes(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }

  /** '' at the end. */
  #peek(): string {
    this.#skipComments();
    return this.#text[this.#at] ?? '';
  }

  /** True if there was space. */
  #skipSpace(): boolean {
    let hasSpace = false;
    while (SPACE.test(this.#peek())) {
      hasSpace = true;
      this.#at++;
    }
    return hasSpace;
  }

  #skipComments(): void {
    while (this.#text.startsWith('/*', this.#at)) {
      const end = this.#text.indexOf('*/', this.#at + 2);
      this.#at = end < 0 ? this.#text.length : end + 2;
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
  return refused('Unexpected end of selector.');
}

function refused(fact: string): TypeError {
  return new TypeError(`Parser error: ${fact}`);
}
