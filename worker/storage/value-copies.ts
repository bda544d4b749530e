// Copies of stored values, whose bytes are a view of SQLite's memory, for one answer.
//
// Small ones share a buffer: for a message, a buffer of its own costs more than a small value, and views of one
// buffer are sent with that buffer once. So the shared one holds nothing else.

/** Larger values have a buffer of their own, because a shared one is copied once more. */
const SHARED_BYTES_MAX = 4096;

const INITIAL_BYTES = 1024;

export class ValueCopies {
  /** Parallel to the values: the copy, or where its bytes begin and end among the shared ones. */
  readonly #places: (Uint8Array | { readonly start: number; readonly end: number })[] = [];
  #shared = new Uint8Array(INITIAL_BYTES);
  #length = 0;

  add(value: Uint8Array): void {
    if (value.length > SHARED_BYTES_MAX) {
      this.#places.push(value.slice());
      return;
    }
    const start = this.#length;
    const end = start + value.length;
    if (end > this.#shared.length) this.#grow(end);
    this.#shared.set(value, start);
    this.#length = end;
    this.#places.push({ start, end });
  }

  /** The copies, in order. */
  take(): Uint8Array[] {
    const shared = this.#shared.slice(0, this.#length);
    return this.#places.map((place) =>
      place instanceof Uint8Array ? place : shared.subarray(place.start, place.end),
    );
  }

  #grow(length: number): void {
    const larger = new Uint8Array(Math.max(length, this.#shared.length * 2));
    larger.set(this.#shared.subarray(0, this.#length));
    this.#shared = larger;
  }
}
