// The output gate of an object: what it says to the world leaves when everything it wrote before is
// on disk, in the order in which it was said.

export class OutputGate {
  readonly #confirmation: () => Promise<void> | undefined;
  /** The last message that waits; later ones queue behind it. */
  #last: Promise<void> | undefined;

  /** `confirmation` settles when every confirmed write so far is on disk; undefined: they all are. */
  constructor(confirmation: () => Promise<void> | undefined) {
    this.#confirmation = confirmation;
  }

  /**
   * Settles when what is said now may leave; undefined: at once. Rejects when the writes before it
   * are lost.
   */
  passage(): Promise<void> | undefined {
    const before = this.#last;
    const confirmation = this.#confirmation();
    if (before === undefined && confirmation === undefined) return undefined;
    const passage = Promise.all([before, confirmation]).then(() => {});
    this.#last = passage;
    const passed = () => {
      if (this.#last === passage) this.#last = undefined;
    };
    passage.then(passed, passed);
    return passage;
  }
}
