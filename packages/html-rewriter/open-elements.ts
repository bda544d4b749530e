// Tracks the elements that are open while a document is read, and finds the selectors that match a start tag.
//
// Invariant: matching a start tag takes time in proportion to the selectors, however many elements are open. An end tag
// closes its element and the elements inside of it that are still open; without an open element of its name, it closes
// nothing.

import { lowerCased } from './byte-queue.ts';
import type { Charset } from './charset.ts';
import { OPEN_ELEMENTS_MAX, tooManyOpen } from './open-names.ts';
import type { AttributeCondition, Selector, SelectorCondition } from './selector.ts';
import { HTML, type TagNamespace, VOID_ELEMENTS } from './tag-context.ts';

/** The parts of a start tag that selectors test. Its texts have one character for each byte. */
export interface Candidate {
  /** The name of the element in lower case. */
  readonly tagName: string;
  readonly namespace: TagNamespace;
  readonly isSelfClosing: boolean;
  /** Returns the value of an attribute, whose name is given in lower case. */
  attribute(name: string): string | undefined;
}

type Test = (candidate: Candidate, childNumber: number, typeNumber: number) => boolean;

/** One compound of a selector, such as `b.c` in `a > b.c`, with the tests that an element must pass. */
interface CompoundStep {
  readonly tests: readonly Test[];
  /**
   * The step that the parent, or for `descendant` any element around, must have matched; undefined for the first
   * compound.
   */
  readonly after?: { readonly step: number; readonly combinator: 'child' | 'descendant' };
  /** The number of the selector that matches once this step matches; undefined unless it is the last compound. */
  readonly selectorNumber?: number;
}

export interface OpenElement<Data> {
  readonly tagName: string;
  readonly data: Data;
  /** The steps that the element matches. */
  readonly matchedSteps: ReadonlySet<number> | undefined;
  /** The steps that the element, or an element around it, matches. */
  readonly matchedAround: ReadonlySet<number> | undefined;
  childCount: number;
  childCountByName: Map<string, number> | undefined;
}

/** The most names of children that are counted at a time. HTML itself has less than 200 names of elements. */
const COUNTED_NAMES_MAX = 65_536;

/** The selectors that match a start tag, and whether its element has content. */
export interface Match {
  /** The numbers of the selectors that match. */
  readonly matched: readonly number[];
  readonly hasContent: boolean;
}

export class OpenElements<Data> {
  readonly #steps: CompoundStep[] = [];
  readonly #countsNames: boolean;
  readonly #open: OpenElement<Data>[] = [];
  /** The number of open elements of each name, so that an end tag without an open element needs no search. */
  readonly #openByName = new Map<string, number>();
  /** The number of names in all maps `childCountByName` together. */
  #nameCount = 0;
  readonly #root = {
    childCount: 0,
    childCountByName: undefined as Map<string, number> | undefined,
  };

  constructor(selectors: readonly Selector[], charset: Charset) {
    for (const [selectorNumber, selector] of selectors.entries())
      this.#add(selector, selectorNumber, charset);
    this.#countsNames = selectors.some((selector) =>
      selector.flat().some(({ conditions }) => conditions.some(countsName)),
    );
  }

  #add(selector: Selector, selectorNumber: number, charset: Charset): void {
    for (const compounds of selector) {
      for (const [i, { conditions, combinator }] of compounds.entries()) {
        this.#steps.push({
          tests: conditions.map((condition) => makeTest(condition, charset)),
          ...(combinator && { after: { step: this.#steps.length - 1, combinator } }),
          ...(i === compounds.length - 1 && { selectorNumber }),
        });
      }
    }
  }

  /**
   * Matches a start tag, and opens its element if it has content. `dataOf` makes the data that `leave` returns for it.
   *
   * @throws TypeError if too many elements are open, or too many names are counted
   */
  enter(candidate: Candidate, dataOf: (match: Match) => Data): Match {
    const { tagName, namespace, isSelfClosing } = candidate;
    const parent = this.#open.at(-1);
    const counts = parent ?? this.#root;
    const childNumber = ++counts.childCount;
    const typeNumber = this.#countsNames ? this.#countName(counts, tagName) : 0;
    const matchedSteps = this.#matchSteps(candidate, parent, childNumber, typeNumber);
    const matched = new Set<number>();
    for (const step of matchedSteps ?? []) {
      const { selectorNumber } = this.#steps[step]!;
      if (selectorNumber !== undefined) matched.add(selectorNumber);
    }
    const hasContent = namespace === HTML ? !VOID_ELEMENTS.has(tagName) : !isSelfClosing;
    const match = { matched: [...matched], hasContent };
    if (!hasContent) return match;
    if (this.#open.length === OPEN_ELEMENTS_MAX) throw tooManyOpen();
    const matchedAround = sharedUnion(parent?.matchedAround, matchedSteps);
    const data = dataOf(match);
    this.#open.push({
      tagName,
      data,
      matchedSteps,
      matchedAround,
      childCount: 0,
      childCountByName: undefined,
    });
    this.#openByName.set(tagName, (this.#openByName.get(tagName) ?? 0) + 1);
    return match;
  }

  /**
   * Closes the innermost element of the name and the elements inside of it. Returns their data, the innermost first.
   */
  leave(tagName: string): Data[] {
    const closed: Data[] = [];
    if (!this.#openByName.has(tagName)) return closed;
    for (;;) {
      const element = this.#open.pop()!;
      this.#nameCount -= element.childCountByName?.size ?? 0;
      closed.push(element.data);
      const remaining = this.#openByName.get(element.tagName)! - 1;
      if (remaining === 0) this.#openByName.delete(element.tagName);
      else this.#openByName.set(element.tagName, remaining);
      if (element.tagName === tagName) return closed;
    }
  }

  /** Counts a child and returns its number among the children of its name. @throws TypeError for too many names */
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

  #matchSteps(
    candidate: Candidate,
    parent: OpenElement<Data> | undefined,
    childNumber: number,
    typeNumber: number,
  ): ReadonlySet<number> | undefined {
    let matchedSteps: Set<number> | undefined;
    for (const [number, { tests, after }] of this.#steps.entries()) {
      if (after !== undefined) {
        const outer = after.combinator === 'child' ? parent?.matchedSteps : parent?.matchedAround;
        if (!outer?.has(after.step)) continue;
      }
      if (!tests.every((test) => test(candidate, childNumber, typeNumber))) continue;
      matchedSteps ??= new Set();
      matchedSteps.add(number);
    }
    return matchedSteps;
  }
}

/**
 * Returns the union of two sets. It is the first set itself if that has all members, so that many elements share one
 * set.
 */
function sharedUnion(
  first: ReadonlySet<number> | undefined,
  second: ReadonlySet<number> | undefined,
): ReadonlySet<number> | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return [...second].every((step) => first.has(step)) ? first : new Set([...first, ...second]);
}

function countsName(condition: SelectorCondition): boolean {
  return condition.kind === 'nth' && condition.of === 'name';
}

function makeTest(condition: SelectorCondition, charset: Charset): Test {
  const test = makePositiveTest(condition, charset);
  return condition.isNegated ? (...args) => !test(...args) : test;
}

function makePositiveTest(condition: SelectorCondition, charset: Charset): Test {
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
      return (candidate) => splitWords(candidate.attribute('class') ?? '').includes(value);
    }
    case 'attribute':
      return makeAttributeTest(condition, charset);
    case 'nth': {
      const { of, step, offset } = condition;
      return (_, childNumber, typeNumber) =>
        isNth((of === 'name' ? typeNumber : childNumber) - offset, step);
    }
  }
}

/** Returns whether the distance is `n * step` for an `n` of 0 or more. */
function isNth(distance: number, step: number): boolean {
  if (step === 0) return distance === 0;
  return distance % step === 0 && distance / step >= 0;
}

const splitWords = (value: string) => value.split(/[ \t\n\r\f]/);

function makeAttributeTest({ name, test }: AttributeCondition, charset: Charset): Test {
  const key = charset.byteTextOf(name);
  if (test === undefined) return (candidate) => candidate.attribute(key) !== undefined;
  const { operator, ignoresCase } = test;
  const expected = charset.byteTextOf(test.value);
  // In CSS, these operators match nothing if the value is empty.
  if (expected === '' && operator !== '=' && operator !== '|=') return () => false;
  return (candidate) => {
    const value = candidate.attribute(key);
    if (value === undefined) return false;
    const ignoresThisCase = ignoresCase === 'in HTML' ? candidate.namespace === HTML : ignoresCase;
    return ignoresThisCase
      ? compareValue(operator, lowerCased(value), lowerCased(expected))
      : compareValue(operator, value, expected);
  };
}

function compareValue(
  operator: NonNullable<AttributeCondition['test']>['operator'],
  value: string,
  expected: string,
): boolean {
  switch (operator) {
    case '=':
      return value === expected;
    case '~=':
      return splitWords(value).includes(expected);
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
