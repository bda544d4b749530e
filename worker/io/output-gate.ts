// The output gate of an object: a message leaves when everything the object wrote before it is durable,
// and messages leave in the order in which they were sent.

export class OutputGate {
  readonly #confirmation: () => Promise<void> | undefined;
  /** Passage of the last message that waits; later ones queue behind it. */
  #last: Promise<void> | undefined;

  /** `confirmation` settles when every confirmed write so far is durable; undefined: they all are. */
  constructor(confirmation: () => Promise<void> | undefined) {
    this.#confirmation = confirmation;
  }

  /**
   * Settles when a message sent now may leave; undefined: at once. Rejects when the writes before it
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
