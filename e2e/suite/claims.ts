// The promises of a document, and the rules that they name.
//
// A promise is a list item, a row of a table or a paragraph. It names its rules in words, `(HOST3)`, or in a comment
// that no reader sees, `<!-- DUR5 TAB2 -->`; one in a table's head is for each row. Where no test can show it, a
// comment says why: `<!-- no rule: … -->`.
// Does not know which documents there are.

/** A list item, a row or a paragraph, and where it begins. */
export interface Statement {
  readonly line: number;
  /** The heading above. */
  readonly heading: string;
  readonly kind: 'item' | 'row' | 'paragraph';
  /** With its comments. */
  readonly text: string;
}

/** Facts about the rule book. */
export interface KnownRules {
  readonly listed: ReadonlySet<string>;
  /** The rules that a test names. */
  readonly shown: ReadonlySet<string>;
}

/** Words of a promise. */
const PROMISE =
  /\b(never|always|nothing|whole|durable(?! objects)|guarantees?|survives?|outlives?|loses|lost|kept|refuse[sd]?|cannot|no (?:acknowledged|write|data|server|special)|not (?:lost|reach|read|change)|the same)\b/i;

/** Under these headings, a document lists its gaps. */
const ADMISSIONS = /^(Limits of the guarantees|What is not protected)$/;

const COMMENT = /<!--([\s\S]*?)-->/g;
const REASON = /^\s*no rule: \S/;
const IN_COMMENT = /^\s*[A-Z]+\d+(?: [A-Z]+\d+)*\s*$/;

/** The list items, rows and paragraphs of a document; without code and headings. */
export function statementsOf(markdown: string): Statement[] {
  const found: Statement[] = [];
  let heading = '';
  let isTable = false;
  let ofHead = '';
  let open: { line: number; kind: Statement['kind']; lines: string[] } | undefined;
  const end = () => {
    if (open) found.push({ ...open, heading, text: open.lines.join('\n') });
    open = undefined;
  };
  const lines = markdown.replace(/^```[\s\S]*?^```$/gm, blank).split('\n');
  lines.forEach((text, index) => {
    const line = index + 1;
    const begins = (kind: Statement['kind'], first = text) => {
      end();
      open = { line, kind, lines: [first] };
    };
    if (text.trim() === '') {
      end();
      isTable = false;
    } else if (/^#+ /.test(text)) {
      end();
      heading = text.replace(/^#+ /, '');
    } else if (/^[\s|:-]*-{3}[\s|:-]*$/.test(text)) {
      // The line above was the head of a table: its comments are each row's.
      ofHead = (open?.lines.at(-1)?.match(COMMENT) ?? []).join(' ');
      open = undefined;
      isTable = true;
    } else if (isTable) begins('row', `${text} ${ofHead}`);
    else if (/^(?:[*-]|\d+\.) /.test(text)) begins('item');
    else if (open) open.lines.push(text);
    else begins('paragraph');
  });
  end();
  return found;
}

function blank(code: string): string {
  return code.replace(/[^\n]/g, '');
}

/**
 * The faults of a document's promises, a line each. With `isStrict`, each item and each row is a promise, except where
 * the document admits the opposite.
 */
export function faultsOf(file: string, markdown: string, rules: KnownRules, isStrict: boolean) {
  const sections = new Set([...rules.listed].map((id) => id.replace(/\d+$/, '')));
  return statementsOf(markdown).flatMap(({ line, heading, kind, text }) => {
    const comments = [...text.matchAll(COMMENT)].map(([, inner]) => inner!);
    const prose = text.replace(COMMENT, '');
    const named = [...text.matchAll(/\b([A-Z]{2,})\d+\b/g)]
      .filter(([, section]) => sections.has(section!))
      .map(([id]) => id);
    const inComments = comments
      .filter((comment) => IN_COMMENT.test(comment))
      .flatMap((comment) => comment.trim().split(' '));
    const all = new Set([...named, ...inComments]);
    const isPromise =
      PROMISE.test(prose) ||
      (isStrict && kind !== 'paragraph' && heading !== '' && !ADMISSIONS.test(heading));
    const hasReason = comments.some((comment) => REASON.test(comment));
    const faults = [...all].flatMap((id) => {
      if (!rules.listed.has(id)) return [`names ${id}, which is no rule`];
      return rules.shown.has(id) ? [] : [`names ${id}, which no test shows`];
    });
    if (isPromise && all.size === 0 && !hasReason) faults.push('names no rule');
    return faults.map((fault) => `${file}:${line} ${fault}: ${prose.trim().slice(0, 80)}`);
  });
}
