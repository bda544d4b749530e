// Which objects reset themselves, when and why, as the stubs that reached them before are told. What a
// page's tools do to an object from outside (a handle's abort, an import, a deletion) breaks no stub.
//
// Keeps true: resets of all objects of a host are numbered in order. Of each object the last one is
// known: a stub keeps for itself what it was told.

/** The last reset of an object. */
export interface Reset {
  readonly number: number;
  readonly reason: unknown;
}

export class Resets {
  readonly #last = new Map<string, Reset>();
  #count = 0;

  /** How many there were so far: what is asked now meets the instance after that one. */
  get count(): number {
    return this.#count;
  }

  add(key: string, reason: unknown): void {
    this.#count += 1;
    this.#last.set(key, { number: this.#count, reason });
  }

  /** The reset that ended the instance which was met at that count; undefined when none did. */
  after(key: string, count: number): Reset | undefined {
    const last = this.#last.get(key);
    return last !== undefined && last.number > count ? last : undefined;
  }
}
