// A hash table of the visited states of a walk. A state is a few whole numbers. A walk may visit hundreds of millions of
// states, so they are stored in typed arrays, outside of the heap.

/** A growing list of whole numbers, in chunks of typed arrays. */
export class Numbers {
  static readonly #BITS = 16;
  static readonly #CHUNK = 2 ** Numbers.#BITS;
  readonly #chunks: Int32Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(number: number): void {
    const offset = this.#length % Numbers.#CHUNK;
    const chunk = this.#length >>> Numbers.#BITS;
    if (chunk === this.#chunks.length) this.#chunks.push(new Int32Array(Numbers.#CHUNK));
    this.#chunks[chunk]![offset] = number;
    this.#length += 1;
  }

  pop(): number | undefined {
    if (this.#length === 0) return undefined;
    this.#length -= 1;
    return this.at(this.#length);
  }

  at(i: number): number {
    return this.#chunks[i >>> Numbers.#BITS]![i % Numbers.#CHUNK]!;
  }
}

/** A set of states of `width` numbers each. States are numbered in the order in which they were added. */
export class States {
  readonly #columns: readonly Numbers[];
  /** Each slot has the number of its state plus 1, or 0 if it is free. */
  #table = new Int32Array(2 ** 12);
  #count = 0;

  constructor(width: number) {
    this.#columns = Array.from({ length: width }, () => new Numbers());
  }

  get count(): number {
    return this.#count;
  }

  /** Adds a state unless it is there, and returns its number. A new state's number equals `count` before the call. */
  add(state: readonly number[]): number {
    const slot = this.#slotOf(state);
    if (this.#table[slot] !== 0) return this.#table[slot]! - 1;
    const number = this.#count;
    for (let i = 0; i < state.length; i++) this.#columns[i]!.push(state[i]!);
    this.#table[slot] = number + 1;
    this.#count += 1;
    if (this.#count > this.#table.length * 0.6) this.#enlarge();
    return number;
  }

  /** Returns the number of a state, or -1 if it was never added. */
  numberOf(state: readonly number[]): number {
    return this.#table[this.#slotOf(state)]! - 1;
  }

  at(number: number): number[] {
    return this.#columns.map((column) => column.at(number));
  }

  /** Returns the slot that has the state, or the free slot for it. */
  #slotOf(state: readonly number[]): number {
    const mask = this.#table.length - 1;
    let slot = hashOf(state) & mask;
    for (let entry = this.#table[slot]!; entry !== 0; entry = this.#table[slot]!) {
      if (this.#equals(entry - 1, state)) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #equals(number: number, state: readonly number[]): boolean {
    for (let i = 0; i < state.length; i++) {
      if (this.#columns[i]!.at(number) !== state[i]) return false;
    }
    return true;
  }

  #enlarge(): void {
    const table = new Int32Array(this.#table.length * 2);
    const mask = table.length - 1;
    for (let number = 0; number < this.#count; number++) {
      let slot = hashOf(this.at(number)) & mask;
      while (table[slot] !== 0) slot = (slot + 1) & mask;
      table[slot] = number + 1;
    }
    this.#table = table;
  }
}

function hashOf(state: readonly number[]): number {
  let hash = 0;
  for (let i = 0; i < state.length; i++) {
    hash = Math.imul(hash ^ state[i]!, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash >>> 0;
}
