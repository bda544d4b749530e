// Which objects reset themselves, when and why: stubs that reached them before are told. A reset from
// outside, by a page's tool (a handle's abort, an import, a deletion), breaks no stub.
//
// Invariant: resets of all objects of a host are numbered in order. Only the last one of each object is
// kept: a stub remembers what it was told.

/** The last reset of an object. */
export interface Reset {
  readonly number: number;
  readonly reason: unknown;
}

export class Resets {
  readonly #last = new Map<string, Reset>();
  #count = 0;

  /** How many resets there were so far: a call made now reaches the instance after that one. */
  get count(): number {
    return this.#count;
  }

  add(key: string, reason: unknown): void {
    this.#count += 1;
    this.#last.set(key, { number: this.#count, reason });
  }

  /** The reset that ended the instance reached at that count; undefined when none did. */
  after(key: string, count: number): Reset | undefined {
    const last = this.#last.get(key);
    return last !== undefined && last.number > count ? last : undefined;
  }
}
