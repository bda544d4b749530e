// Links of the documents: where they lead in the repository, and on the site.

import { dirname, join } from 'node:path';

/** A link of a Markdown text. */
export interface MarkdownLink {
  /** The whole link, as `[text](target)`. */
  readonly whole: string;
  readonly text: string;
  readonly target: string;
}

const LINK = /\[([^\]]*)\]\(([^)\s]+)\)/g;

/** The links of a text, those in code left out. */
export function linksIn(markdown: string): MarkdownLink[] {
  const prose = withoutCode(markdown);
  return [...prose.matchAll(LINK)].map(([whole, text, target]) => ({
    whole: whole!,
    text: text!,
    target: target!,
  }));
}

/** The anchors of a text's headings, as Markdown viewers make them. */
export function anchorsIn(markdown: string): Set<string> {
  const seen = new Map<string, number>();
  const headings = [...withoutBlocks(markdown).matchAll(/^#{1,6} (.+)$/gm)].map(
    ([, text]) => text!,
  );
  return new Set(
    headings.map((heading) => {
      const plain = heading
        .replace(/`/g, '')
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replace(/ /g, '-');
      const count = seen.get(plain) ?? 0;
      seen.set(plain, count + 1);
      return count === 0 ? plain : `${plain}-${count}`;
    }),
  );
}

/** The file that a relative link of a file names, and its anchor; null if it leads elsewhere. */
export function targetOf(file: string, target: string): { file: string; anchor: string } | null {
  if (/^[a-z]+:/.test(target)) return null;
  const [path = '', anchor = ''] = target.split('#');
  return { file: path === '' ? file : join(dirname(file), path), anchor };
}

/** The text without its comments, those in code left: they are for maintainers. */
export function withoutComments(markdown: string): string {
  return markdown
    .split(/(^```[\s\S]*?^```$|`[^`\n]*`)/m)
    .map((part, i) =>
      i % 2 === 1 ? part : part.replace(/ <!-- [^>]* -->(?=\n)|<!-- [^>]* -->/g, ''),
    )
    .join('');
}

/** The text with each of its links, those in code left out, replaced. */
export function replaceLinks(markdown: string, replace: (link: MarkdownLink) => string): string {
  // Code is kept: split at it, and change the text between.
  return markdown
    .split(/(^```[\s\S]*?^```$|`[^`\n]*`)/m)
    .map((part, i) =>
      i % 2 === 1
        ? part
        : part.replace(LINK, (whole, text, target) => replace({ whole, text, target })),
    )
    .join('');
}

function withoutBlocks(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```$/gm, '');
}

function withoutCode(markdown: string): string {
  return withoutBlocks(markdown).replace(/`[^`\n]*`/g, (code) => '_'.repeat(code.length));
}
