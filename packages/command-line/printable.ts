// Text from elsewhere, made safe to print: a recorded address or a file's name may contain sequences that a terminal
// obeys, line ends that forge further lines, or characters that show text in another order.

/** Control characters (C0, DEL, C1), line separators and bidirectional controls. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** The text in one line, with each such character as `\u001b`, which JSON reads back. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

/** The same for a text of several lines, whose line ends and tabs stay. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE, (character, offset: number) => {
    const isLineEnd = character === '\n' || (character === '\r' && text[offset + 1] === '\n');
    return isLineEnd || character === '\t' ? character : escaped(character);
  });
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
