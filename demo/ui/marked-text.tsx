// Shows a text and highlights where a search matched. SQLite inserts control characters as marks; everything between
// them is shown as text, whatever it contains.

export const MARK_START = '\u0001';
export const MARK_END = '\u0002';

export function MarkedText({ text }: { text: string }) {
  // Every odd part is between a start mark and an end mark. A stray mark in the text itself affects only its colour.
  const parts = text.split(/[\u0001\u0002]/);
  return (
    <>{parts.map((part, index) => (index % 2 === 1 ? <mark key={index}>{part}</mark> : part))}</>
  );
}

/** Marks the first occurrence of each text, for matches that the index did not mark. */
export function markOccurrences(text: string, needles: readonly string[]): string {
  let marked = text;
  for (const needle of needles) {
    const at = marked.toLowerCase().indexOf(needle.toLowerCase());
    if (at < 0) continue;
    const end = at + needle.length;
    marked = `${marked.slice(0, at)}${MARK_START}${marked.slice(at, end)}${MARK_END}${marked.slice(end)}`;
  }
  return marked;
}
