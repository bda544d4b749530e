// Phrases that a native technical writer would not use, and their replacements.

/** A phrase that the repository does not use. */
export interface Phrase {
  readonly name: string;
  readonly pattern: RegExp;
  readonly instead: string;
}

export const PHRASES: readonly Phrase[] = [
  {
    name: 'is none',
    pattern: /(?<!\bthere )\b(?:is|are|was|were) none\b(?! of\b)/i,
    instead: 'is not a …, does not exist',
  },
  {
    name: 'as there',
    pattern: /\b(?:as|than) there\b(?! (?:is|are|was|were|has|have|can|may|will)\b)/i,
    instead: 'as on workerd',
  },
  {
    name: 'taken for noted',
    pattern: /\btaken for (?:noted|one that)\b/i,
    instead: 'considered …',
  },
  { name: 'nobody is there', pattern: /\bnobody is there\b/i, instead: 'nothing listens' },
  {
    name: 'is no time',
    pattern:
      /(?<!\bthere )\b(?:is|are|was|were) no (?:bookmark|calls?|class(?:es)?|literal|messages?|names?|number|objects?|outcome|settings|socket|string|time)\b/i,
    instead: 'is not a …',
  },
  { name: 'gives back', pattern: /\bgives? back\b/i, instead: 'returns' },
  { name: 'beside workerd', pattern: /\bbeside workerd\b/i, instead: 'against workerd' },
  { name: 'anew', pattern: /\banew\b/i, instead: 'again' },
  {
    name: 'without a word',
    pattern: /\bwithout a (?:word|goodbye)\b/i,
    instead: 'without notice',
  },
  {
    name: 'what it came to',
    pattern: /\bwhat (?:\w+ ){1,3}came to\b/i,
    instead: 'the outcome of …',
  },
  {
    name: 'as every other',
    pattern: /\bas (?:every|any) other\b(?=[.,;])/i,
    instead: 'like every other',
  },
  { name: 'all is well', pattern: /\ball is well\b/i, instead: 'nothing is wrong' },
  { name: 'however often', pattern: /\bhowever often\b/i, instead: 'any number of times' },
  {
    name: 'of no shape',
    pattern: /\bof no (?:shape|kind) that\b/i,
    instead: 'that does not match',
  },
];

/** Names of the phrases in a text; the lines of a comment are read as one. */
export function phrasesIn(text: string): string[] {
  const joined = text.replace(/\s*\n\s*(?:\/\/|\*(?!\/)|)\s*/g, ' ');
  return PHRASES.filter(({ pattern }) => pattern.test(joined)).map(({ name }) => name);
}
