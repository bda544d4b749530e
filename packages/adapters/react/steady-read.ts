// Decides which read a component shows. A read that differs in each render would never come to rest: its value renders
// the component, which asks for another read.
//
// A render that the shown read has caused shows that read. If the render asks for another read, the component is
// rendered again and gets it, but only a few times in a row.

/**
 * The number of renders in a row, each caused by the read before it and asking for another read, after which the shown
 * read is kept.
 */
const UNSTEADY_RENDERS_MAX = 5;

export class SteadyRead<T> {
  readonly #warn: () => void;
  #shown: T | undefined;
  #unsteadyRenders = 0;
  /** True if the next render is caused by a change of the shown read. */
  #isCausedByShown = false;
  #hasWarned = false;

  /** `warn` is called when a read is kept for the first time. */
  constructor(warn: () => void) {
    this.#warn = warn;
  }

  /** Returns the read that a render shows, which asks for `asked`. */
  choose(asked: T): T {
    return this.#isCausedByShown && this.#shown !== undefined ? this.#shown : asked;
  }

  /** Must be called when the value of the shown read has changed. */
  shownChanged(): void {
    this.#isCausedByShown = true;
  }

  /**
   * Must be called after each render. Returns true if the component must be rendered again, with the read that it asked
   * for.
   */
  afterRender(asked: T, shown: T): boolean {
    if (this.#isCausedByShown)
      this.#unsteadyRenders = asked === shown ? 0 : this.#unsteadyRenders + 1;
    this.#isCausedByShown = false;
    this.#shown = shown;
    if (asked === shown) return false;
    if (this.#unsteadyRenders < UNSTEADY_RENDERS_MAX) return true;
    if (!this.#hasWarned) this.#warn();
    this.#hasWarned = true;
    return false;
  }
}
