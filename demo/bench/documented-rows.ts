// Reads the figures of docs/benchmarks.md.
//
// Invariant: a figure is shown as the document has it; a document without its table is an error.

import type { RatioRow } from './peer-row.ts';

const HEAD = '| row | where | ours | best durable peer | ours / peer | limit | ours / limit |';

/** Reads the ratios without their ranges. @throws Error if the document has no table of peers */
export function documentedRows(markdown: string): RatioRow[] {
  const lines = markdown.split('\n');
  const head = lines.indexOf(HEAD);
  if (head < 0) throw new Error('docs/benchmarks.md has no table of peers.');
  const after = lines.slice(head + 2);
  const end = after.findIndex((line) => !line.startsWith('|'));
  return after.slice(0, end < 0 ? undefined : end).map((line) => {
    const [row, place, ours, peer, toBestPeer, , toLimit] = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    return {
      row: row!,
      place: place!,
      ours: ours!,
      bestPeer: peer!.replace(/^[^,]*, /, ''),
      toBestPeer: withoutRange(toBestPeer!),
      toLimit: withoutRange(toLimit!),
    };
  });
}

/** Reads the paragraph about the machine, without its ranges, which are not shown. @throws Error if there is none */
export function machineOf(markdown: string): string {
  const paragraph = markdown.split(/\n{2,}/).find((one) => one.startsWith('Measured on '));
  if (paragraph === undefined) throw new Error('docs/benchmarks.md does not name its machine.');
  return paragraph.replaceAll('\n', ' ').replace('; behind a ratio, its range', '');
}

function withoutRange(ratio: string): string {
  return ratio.replace(/ \(.*\)$/, '');
}
