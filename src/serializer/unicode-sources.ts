// Limits the source of the regular expressions of one value in Unicode mode.
//
// With the flag `u` or `v`, a few characters of source stand for a class of a hundred thousand
// strings, and the engine builds it when the expression is constructed: V8 takes about 0.1 ms a
// character for `\p{RGI_Emoji}`, 9 s for as much as fits into a stored value. Without these flags
// construction is linear in the source, a thousand times faster, and needs no bound.

/** In UTF-16 code units, all expressions of a value together; a quarter of a second at worst in V8. */
export const UNICODE_SOURCE_LENGTH_MAX = 2048;

/** Counts the source of one value's expressions. */
export class UnicodeSources {
  #length = 0;

  /** Adds one; returns what is wrong if they have become too long. */
  add(source: string, flags: string): string | undefined {
    if (!/[uv]/.test(flags)) return undefined;
    this.#length += source.length;
    if (this.#length <= UNICODE_SOURCE_LENGTH_MAX) return undefined;
    return (
      `its regular expressions with the flag u or v have ${this.#length} characters, ` +
      `at most ${UNICODE_SOURCE_LENGTH_MAX} together`
    );
  }

  clear(): void {
    this.#length = 0;
  }
}
