// Conversions that all bindings share.

const INTEGER_MIN = -(2 ** 31);
const INTEGER_MAX = 2 ** 31 - 1;

/** As workerd converts an `int`: a time in milliseconds is out of its range. @throws TypeError */
export function integer(value: unknown): number {
  const number = Math.trunc(Number(value));
  if (!Number.isFinite(number)) return 0;
  if (number >= INTEGER_MIN && number <= INTEGER_MAX) return number || 0;
  throw new TypeError(
    `Value out of range. Must be between ${INTEGER_MIN} and ${INTEGER_MAX} (inclusive).`,
  );
}

/** Where a list goes on, after the key. */
export function cursorOf(key: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(key)));
}

export function keyOfCursor(cursor: string): string {
  const bytes = Uint8Array.from(atob(cursor), (char) => char.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}
