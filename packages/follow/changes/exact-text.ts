// Sends texts that JavaScript cannot read exactly. SQLite stores a lone surrogate (half of an emoji, left by cutting a
// string) as three bytes that are not UTF-8, and JavaScript reads U+FFFD instead.
//
// So every text that contains U+FFFD when read is sent as U+FFFD followed by its bytes in hex. All other texts are sent
// unchanged.

const REPLACEMENT = '\uFFFD';

/** Returns an SQL expression that reads a text in its sent form. SQLite's GLOB, too, sees U+FFFD in place of a lone surrogate. */
export function exactTextSql(value: string): string {
  const hasOne = `typeof(${value}) = 'text' AND ${value} GLOB '*${REPLACEMENT}*'`;
  return `CASE WHEN ${hasOne} THEN '${REPLACEMENT}' || hex(${value}) ELSE ${value} END`;
}

/** True if JavaScript has read a text exactly as it is stored. */
export function isTextReadExactly(read: string): boolean {
  return !read.includes(REPLACEMENT);
}

/** True if a received text has a valid form: an unchanged text, or U+FFFD and the bytes of a text in hex. */
export function isSentText(sent: string): boolean {
  return !sent.startsWith(REPLACEMENT) || /^.([0-9A-F]{2})*$/.test(sent);
}

/** Returns the bytes of a text that was sent in hex; null if it was sent unchanged. */
export function bytesOfText(sent: string): Uint8Array<ArrayBuffer> | null {
  if (!sent.startsWith(REPLACEMENT)) return null;
  const bytes = new Uint8Array((sent.length - 1) >> 1);
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = Number.parseInt(sent.slice(1 + 2 * i, 3 + 2 * i), 16);
  }
  return bytes;
}
