// Converts arguments that several bindings have: 32-bit integers, and the cursors of lists.

const INTEGER_MIN = -(2 ** 31);
const INTEGER_MAX = 2 ** 31 - 1;

/**
 * Converts a value to a 32-bit integer as workerd does.
 *
 * @throws TypeError if the value is out of range, as a time in milliseconds is
 */
export function convertToInt32(value: unknown): number {
  const number = Math.trunc(Number(value));
  if (!Number.isFinite(number)) return 0;
  if (number >= INTEGER_MIN && number <= INTEGER_MAX) return number || 0;
  throw new TypeError(
    `Value out of range. Must be between ${INTEGER_MIN} and ${INTEGER_MAX} (inclusive).`,
  );
}

/** Makes the cursor with which the next page of a list begins after this key. */
export function encodeCursor(key: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(key)));
}

export function decodeCursor(cursor: string): string {
  const bytes = Uint8Array.from(atob(cursor), (char) => char.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}
