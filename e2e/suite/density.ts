// The density of a text in words that make it hard to read (the pronoun "what", "one that", "those that") and in long
// sentences. The limits are for a thousand words of prose.
//
// Does not know which texts there are.

/** Counts of a text. */
export interface Density {
  readonly words: number;
  /** "what", in any position. */
  readonly what: number;
  /** "one that", "those who" and their like. */
  readonly oneThat: number;
  readonly sentences: number;
}

/** For a thousand words; the last, words a sentence on average. */
export const DENSITY_LIMITS = { what: 1.5, oneThat: 0.3, sentenceWords: 25 } as const;

/** A sentence ends at a full stop, a question mark, a colon or a semicolon before white space, and at an empty line. */
const SENTENCE_END = /[.?!:;](?=\s|$)|\n\s*\n/;

export function densityOf(prose: string): Density {
  const sentences = prose.split(SENTENCE_END).map(wordsIn);
  const count = (pattern: RegExp) => prose.match(pattern)?.length ?? 0;
  return {
    words: sentences.reduce((sum, words) => sum + words, 0),
    what: count(/\bwhat\b/gi),
    oneThat: count(/\b(?:ones?|those)\s+(?:that|who|which)\b/gi),
    sentences: sentences.filter((words) => words > 0).length,
  };
}

/** A page with fewer words may contain "what" once. */
const SHORT_WORDS = 700;

/** Limits that are exceeded, in words; empty if none is. */
export function excesses({ words, what, oneThat, sentences }: Density): string[] {
  const found: string[] = [];
  const check = (name: string, value: number, limit: number) => {
    if (value > limit) found.push(`${name}: ${value.toFixed(1)}, at most ${limit}`);
  };
  const perThousand = (count: number) => (count * 1000) / Math.max(words, SHORT_WORDS);
  check('"what" in 1,000 words', perThousand(what), DENSITY_LIMITS.what);
  check('"one that" in 1,000 words', perThousand(oneThat), DENSITY_LIMITS.oneThat);
  check('words a sentence', words / Math.max(sentences, 1), DENSITY_LIMITS.sentenceWords);
  return found;
}

/** The counts of several texts together. */
export function together(all: readonly Density[]): Density {
  const sum = (of: (density: Density) => number) => all.reduce((total, one) => total + of(one), 0);
  return {
    words: sum(({ words }) => words),
    what: sum(({ what }) => what),
    oneThat: sum(({ oneThat }) => oneThat),
    sentences: sum(({ sentences }) => sentences),
  };
}

/** The prose of comments: no code; each comment and each tag begins a sentence. */
export function proseOfComments(comments: readonly string[]): string {
  return comments
    .map((comment) => comment.replace(/^[ \t]*\*+ ?/gm, ''))
    .join('\n\n')
    .replace(/`[^`\n]*`/g, 'code')
    .replace(/@(?=\w)/g, '\n\n');
}

/** The prose of a Markdown page: no code, no addresses; each cell of a table is a sentence. */
export function proseOfMarkdown(markdown: string): string {
  return markdown
    .replace(/^```[\s\S]*?^```/gm, '\n\n')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/`[^`\n]*`/g, 'code')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/^\s*\|?[\s:|-]+\|?\s*$/gm, '\n\n')
    .replace(/\|/g, '\n\n')
    .replace(/^\s*(?:[*-]|\d+\.)\s/gm, '\n\n')
    .replace(/^#.*$/gm, (heading) => `${heading}\n\n`);
}

function wordsIn(text: string): number {
  return text.match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu)?.length ?? 0;
}
