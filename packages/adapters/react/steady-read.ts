// Which of the reads that a component asks for is shown. A read that differs in each render would never rest: its value
// renders the component, which asks for another read.
//
// A render that the shown read has caused shows that read. If it asks for another one, the component is rendered again, and
// gets it; but not for ever.
//
// Does not know what is read.

/** Renders in a row, each by the value of the read before it, after which a read is kept. */
const CHANGES_MAX = 5;

export class SteadyRead<T> {
  readonly #warn: () => void;
  #shown: T | undefined;
  #changes = 0;
  /** The shown read has caused the next render. */
  #isTold = false;
  #hasWarned = false;

  /** `warn` is called once, when a read is kept for the first time. */
  constructor(warn: () => void) {
    this.#warn = warn;
  }

  /** The read that a render shows. */
  choose(asked: T): T {
    return this.#isTold && this.#shown !== undefined ? this.#shown : asked;
  }

  /** The shown read has another value. */
  told(): void {
    this.#isTold = true;
  }

  /** The component was rendered. True: it is to be rendered again, for the read that it asked for. */
  rendered(asked: T, shown: T): boolean {
    if (this.#isTold) this.#changes = asked === shown ? 0 : this.#changes + 1;
    this.#isTold = false;
    this.#shown = shown;
    if (asked === shown) return false;
    if (this.#changes < CHANGES_MAX) return true;
    if (!this.#hasWarned) this.#warn();
    this.#hasWarned = true;
    return false;
  }
}
