// Compares keys by the bytes of their UTF-8 encoding, which is SQLite's BINARY collation. This differs from JavaScript's
// order of strings if a surrogate is compared with a character from U+E000 to U+FFFF.

/** Returns a negative number, zero or a positive number if `a` sorts before, with or after `b`. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** Compares encoded keys, with the same results as `compareKeys`. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    if (a[i] !== b[i]) return a[i]! - b[i]!;
  }
  return a.length - b.length;
}

// Ranks a UTF-16 unit. Surrogates encode code points above U+FFFF, so in UTF-8 they sort after all other units.
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
