// Texts of SQLite that JavaScript does not read as they are: a lone surrogate, as a text cut in an emoji has, is stored as
// three bytes, which are no UTF-8.
//
// Such a text, and each that holds U+FFFD, is sent as U+FFFD and its bytes in hex; any other as it is.

const REPLACEMENT = '\uFFFD';

/** The expression of a statement that reads a text. SQLite itself reads U+FFFD for a lone surrogate. */
export function exactText(value: string): string {
  const hasOne = `typeof(${value}) = 'text' AND ${value} GLOB '*${REPLACEMENT}*'`;
  return `CASE WHEN ${hasOne} THEN '${REPLACEMENT}' || hex(${value}) ELSE ${value} END`;
}

/** False: the text may be another one than JavaScript has read. */
export function isSureText(read: string): boolean {
  return !read.includes(REPLACEMENT);
}

/** False: a text was not sent like this. */
export function isExactText(sent: string): boolean {
  return !sent.startsWith(REPLACEMENT) || /^.([0-9A-F]{2})*$/.test(sent);
}

/** Of a text that was sent; null: it was sent as it is. */
export function bytesOfText(sent: string): Uint8Array<ArrayBuffer> | null {
  if (!sent.startsWith(REPLACEMENT)) return null;
  const bytes = new Uint8Array((sent.length - 1) >> 1);
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = Number.parseInt(sent.slice(1 + 2 * i, 3 + 2 * i), 16);
  }
  return bytes;
}
