// The elements that are open while a document is read, and which selectors a start tag meets.
//
// Invariant: a start tag takes time in proportion to the selectors, whatever is open. The end tag of an
// element closes the elements left open inside of it; an end tag without an element closes nothing.

import { lowerCased } from './byte-queue.ts';
import type { Charset } from './charset.ts';
import { OPEN_ELEMENTS_MAX, tooManyOpen } from './open-names.ts';
import type { AttributeCondition, Selector, SelectorCondition } from './selector.ts';
import { HTML, type TagNamespace, VOID_ELEMENTS } from './tag-context.ts';

/** A start tag, as conditions see it; texts have one character for each byte. */
export interface Candidate {
  /** In lower case. */
  readonly tagName: string;
  readonly namespace: TagNamespace;
  readonly isSelfClosing: boolean;
  /** The value; names are in lower case. */
  attribute(name: string): string | undefined;
}

type Test = (candidate: Candidate, childNumber: number, typeNumber: number) => boolean;

/** One compound of a selector. */
interface Step {
  readonly tests: readonly Test[];
  /** The step that the parent, or an element around it, has met; undefined for the first compound. */
  readonly after?: { readonly step: number; readonly combinator: 'child' | 'descendant' };
  /** Of the last compound: whose selector it is. */
  readonly handlers?: number;
}

export interface OpenElement<Data> {
  readonly tagName: string;
  readonly data: Data;
  /** The steps that the element has met, and the steps met by it or an element around it. */
  readonly met: ReadonlySet<number> | undefined;
  readonly metAround: ReadonlySet<number> | undefined;
  childCount: number;
  childCountByName: Map<string, number> | undefined;
}

/** HTML has less than 200 names. */
const COUNTED_NAMES_MAX = 65_536;

/** The meaning of a start tag. */
export interface Match {
  /** The numbers of the selectors that it meets. */
  readonly matched: readonly number[];
  readonly hasContent: boolean;
}

export class OpenElements<Data> {
  readonly #steps: Step[] = [];
  readonly #countsNames: boolean;
  readonly #open: OpenElement<Data>[] = [];
  /** How many elements of a name are open: an end tag without one must not search. */
  readonly #openByName = new Map<string, number>();
  /** How many names of children are counted. */
  #nameCount = 0;
  readonly #root = {
    childCount: 0,
    childCountByName: undefined as Map<string, number> | undefined,
  };

  constructor(selectors: readonly Selector[], charset: Charset) {
    for (const [handlers, selector] of selectors.entries()) this.#add(selector, handlers, charset);
    this.#countsNames = selectors.some((selector) =>
      selector.flat().some(({ conditions }) => conditions.some(countsName)),
    );
  }

  #add(selector: Selector, handlers: number, charset: Charset): void {
    for (const compounds of selector) {
      for (const [i, { conditions, combinator }] of compounds.entries()) {
        this.#steps.push({
          tests: conditions.map((condition) => testOf(condition, charset)),
          ...(combinator && { after: { step: this.#steps.length - 1, combinator } }),
          ...(i === compounds.length - 1 && { handlers }),
        });
      }
    }
  }

  /** Enters an element, unless it has no content; `dataOf` makes what is kept while it is open. @throws TypeError */
  enter(candidate: Candidate, dataOf: (match: Match) => Data): Match {
    const { tagName, namespace, isSelfClosing } = candidate;
    const parent = this.#open.at(-1);
    const counts = parent ?? this.#root;
    const childNumber = ++counts.childCount;
    const typeNumber = this.#countsNames ? this.#countName(counts, tagName) : 0;
    const met = this.#metBy(candidate, parent, childNumber, typeNumber);
    const matched = new Set<number>();
    for (const step of met ?? []) {
      const { handlers } = this.#steps[step]!;
      if (handlers !== undefined) matched.add(handlers);
    }
    const hasContent = namespace === HTML ? !VOID_ELEMENTS.has(tagName) : !isSelfClosing;
    const match = { matched: [...matched], hasContent };
    if (!hasContent) return match;
    if (this.#open.length === OPEN_ELEMENTS_MAX) throw tooManyOpen();
    const metAround = union(parent?.metAround, met);
    const data = dataOf(match);
    this.#open.push({ tagName, data, met, metAround, childCount: 0, childCountByName: undefined });
    this.#openByName.set(tagName, (this.#openByName.get(tagName) ?? 0) + 1);
    return match;
  }

  /** Closes the element of the name, and those inside of it; the innermost comes first. */
  leave(tagName: string): Data[] {
    const closed: Data[] = [];
    if (!this.#openByName.has(tagName)) return closed;
    for (;;) {
      const element = this.#open.pop()!;
      this.#nameCount -= element.childCountByName?.size ?? 0;
      closed.push(element.data);
      const left = this.#openByName.get(element.tagName)! - 1;
      if (left === 0) this.#openByName.delete(element.tagName);
      else this.#openByName.set(element.tagName, left);
      if (element.tagName === tagName) return closed;
    }
  }

  /** @throws TypeError */
  #countName(
    counts: { childCountByName: Map<string, number> | undefined },
    tagName: string,
  ): number {
    counts.childCountByName ??= new Map();
    const count = (counts.childCountByName.get(tagName) ?? 0) + 1;
    if (count === 1 && ++this.#nameCount > COUNTED_NAMES_MAX) {
      throw new TypeError(
        `Parser error: The memory limit has been exceeded: the children of open elements have more than ` +
          `${COUNTED_NAMES_MAX} names, which a selector with -of-type counts.`,
      );
    }
    counts.childCountByName.set(tagName, count);
    return count;
  }

  #metBy(
    candidate: Candidate,
    parent: OpenElement<Data> | undefined,
    childNumber: number,
    typeNumber: number,
  ): ReadonlySet<number> | undefined {
    let met: Set<number> | undefined;
    for (const [number, { tests, after }] of this.#steps.entries()) {
      if (after !== undefined) {
        const outer = after.combinator === 'child' ? parent?.met : parent?.metAround;
        if (!outer?.has(after.step)) continue;
      }
      if (!tests.every((test) => test(candidate, childNumber, typeNumber))) continue;
      met ??= new Set();
      met.add(number);
    }
    return met;
  }
}

/** The first set, if it has all: elements that meet nothing new share it. */
function union(
  all: ReadonlySet<number> | undefined,
  some: ReadonlySet<number> | undefined,
): ReadonlySet<number> | undefined {
  if (all === undefined || some === undefined) return all ?? some;
  return [...some].every((step) => all.has(step)) ? all : new Set([...all, ...some]);
}

function countsName(condition: SelectorCondition): boolean {
  return condition.kind === 'nth' && condition.of === 'name';
}

function testOf(condition: SelectorCondition, charset: Charset): Test {
  const test = positiveTestOf(condition, charset);
  return condition.isNegated ? (...given) => !test(...given) : test;
}

function positiveTestOf(condition: SelectorCondition, charset: Charset): Test {
  switch (condition.kind) {
    case 'any':
      return () => true;
    case 'never':
      return () => false;
    case 'name': {
      const name = charset.byteTextOf(condition.name);
      return ({ tagName }) => tagName === name;
    }
    case 'id': {
      const value = charset.byteTextOf(condition.value);
      return (candidate) => candidate.attribute('id') === value;
    }
    case 'class': {
      const value = charset.byteTextOf(condition.value);
      return (candidate) => words(candidate.attribute('class') ?? '').includes(value);
    }
    case 'attribute':
      return attributeTest(condition, charset);
    case 'nth': {
      const { of, step, offset } = condition;
      return (_, childNumber, typeNumber) =>
        isNth((of === 'name' ? typeNumber : childNumber) - offset, step);
    }
  }
}

/** Whether the distance is a multiple of the step, in its direction. */
function isNth(distance: number, step: number): boolean {
  if (step === 0) return distance === 0;
  return distance % step === 0 && distance / step >= 0;
}

const words = (value: string) => value.split(/[ \t\n\r\f]/);

function attributeTest({ name, test }: AttributeCondition, charset: Charset): Test {
  const key = charset.byteTextOf(name);
  if (test === undefined) return (candidate) => candidate.attribute(key) !== undefined;
  const { operator, ignoresCase } = test;
  const expected = charset.byteTextOf(test.value);
  // CSS: these match nothing if the value is empty.
  if (expected === '' && operator !== '=' && operator !== '|=') return () => false;
  return (candidate) => {
    const value = candidate.attribute(key);
    if (value === undefined) return false;
    const isFolded = ignoresCase === 'in HTML' ? candidate.namespace === HTML : ignoresCase;
    return isFolded
      ? holds(operator, lowerCased(value), lowerCased(expected))
      : holds(operator, value, expected);
  };
}

function holds(
  operator: NonNullable<AttributeCondition['test']>['operator'],
  value: string,
  expected: string,
): boolean {
  switch (operator) {
    case '=':
      return value === expected;
    case '~=':
      return words(value).includes(expected);
    case '^=':
      return value.startsWith(expected);
    case '$=':
      return value.endsWith(expected);
    case '*=':
      return value.includes(expected);
    case '|=':
      return value === expected || value.startsWith(`${expected}-`);
  }
}
