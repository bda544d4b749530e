// Makes untrusted text safe to print. A recorded address or a file's name may contain sequences that a terminal obeys,
// line ends that forge further lines, or characters that reverse the order of text.

/** Matches control characters (C0, DEL, C1), line separators and bidirectional controls. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * Returns the text in one line: each unprintable character becomes an escape such as `\u001b`, which JSON reads back.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escapeCharacter);
}

/** Escapes unprintable characters as `printable` does, but keeps line ends and tabs. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE, (character, offset: number) => {
    const isLineEnd = character === '\n' || (character === '\r' && text[offset + 1] === '\n');
    return isLineEnd || character === '\t' ? character : escapeCharacter(character);
  });
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
