// Conversions that all bindings share.

/** As Web IDL converts a `long`. */
export function integer(value: unknown): number {
  return Math.trunc(Number(value)) || 0;
}

/** Where a list goes on, after the key. */
export function cursorOf(key: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(key)));
}

export function keyOfCursor(cursor: string): string {
  const bytes = Uint8Array.from(atob(cursor), (char) => char.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}
