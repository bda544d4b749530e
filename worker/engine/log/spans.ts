// Which segments of the log a folded segment stands for. A number without a folded segment is a segment of its own.
//
// Invariant: spans do not overlap. A folded segment has the number of the last segment that it stands for.

import { segmentName } from './segment.ts';

/** Consecutive segments, from `first` to `last`; `minutes`: of which one state in so many minutes is kept; 0: all are. */
export interface Span {
  readonly first: number;
  readonly last: number;
  readonly minutes: number;
}

const NAME = /^fold-([0-9a-f]{8})-([0-9a-f]{8})-([0-9]{1,4})$/;

/** File name of the folded segment that stands for a span. */
export function foldedName({ first, last, minutes }: Span): string {
  return `fold-${segmentName(first).slice(4)}-${segmentName(last).slice(4)}-${minutes}`;
}

/** The span in the name of a folded segment; null for any other file. */
export function foldedSpan(name: string): Span | null {
  const [, first, last, minutes] = NAME.exec(name) ?? [];
  if (first === undefined || last === undefined || minutes === undefined) return null;
  return {
    first: Number.parseInt(first, 16),
    last: Number.parseInt(last, 16),
    minutes: Number.parseInt(minutes, 10),
  };
}

/** True if a segment belongs to both. */
export function overlap(one: Span, other: Span): boolean {
  return one.first <= other.last && other.first <= one.last;
}

export class Spans {
  #folded: readonly Span[];

  constructor(folded: readonly Span[] = []) {
    this.#folded = folded;
  }

  get folded(): readonly Span[] {
    return this.#folded;
  }

  /** The span to which a segment belongs. */
  of(number: number): Span {
    const found = this.#folded.find(({ first, last }) => first <= number && number <= last);
    return found ?? { first: number, last: number, minutes: 0 };
  }

  /** The number under which a segment, or the folded one that stands for it, is read. */
  keyOf(number: number): number {
    return this.of(number).last;
  }

  /** The number before that of a segment. */
  before(number: number): number {
    return this.of(number).first - 1;
  }

  /** The number after that of a segment. */
  after(number: number): number {
    return this.keyOf(this.of(number).last + 1);
  }

  /** Name of the file with a segment's records. */
  nameOf(number: number): string {
    const span = this.#folded.find(({ first, last }) => first <= number && number <= last);
    return span === undefined ? segmentName(number) : foldedName(span);
  }

  /** How many files contain the segments from one number up to another, without it. */
  countOf(from: number, end: number): number {
    const within = this.#folded.filter(({ first, last }) => first >= from && last < end);
    return within.reduce((count, { first, last }) => count - (last - first), end - from);
  }

  /** A folded segment stands for these from now on, also for the folded ones among them. */
  add(span: Span): void {
    this.#folded = [...this.#folded.filter((other) => !overlap(other, span)), span];
  }

  /** Forgets the spans before a segment. */
  dropBefore(number: number): void {
    this.#folded = this.#folded.filter(({ last }) => last >= number);
  }
}
