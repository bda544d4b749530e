// Figures in the documents: written between comments that no reader sees, from measured results.
//
//   <!-- figure: worker -->122 kB<!-- /figure -->
//
// Does not know how results are measured, nor which documents there are.

/** The measured figures in results.json, with their day. */
export interface Results {
  readonly sizes: { readonly measuredOn: string; readonly bytes: Readonly<Record<string, number>> };
  readonly counts: Readonly<Record<string, number>>;
  readonly peers: {
    readonly measuredOn: string;
    readonly machine: string;
    readonly rows: readonly PeerFigures[];
  };
  /** Times of single benchmarks, as these print them. */
  readonly times: Readonly<Record<string, TimeFigure>>;
}

/** A row of the table of peers. */
export interface PeerFigures {
  readonly row: string;
  readonly place: string;
  readonly ours: string;
  readonly best: string;
  readonly toPeer: string;
  readonly limit: string;
  readonly toLimit: string;
}

/** A measured time, and how. */
export interface TimeFigure {
  readonly measuredOn: string;
  readonly machine: string;
  readonly command: string;
  readonly value: string;
}

/** Texts by the names of the markers. */
export type Figures = ReadonlyMap<string, string>;

const MARKED = /(<!-- figure: (?<name>[^>]+?) -->)(?<value>[^<]*)(<!-- \/figure -->)/g;

/** The names of a row's cells behind its place. */
const CELLS = {
  ours: 'ours',
  best: 'best',
  toPeer: 'to peer',
  limit: 'limit',
  toLimit: 'to limit',
} as const;

/** The figures that documents may name. */
export function figuresOf({ sizes, counts, peers, times }: Results): Figures {
  const figures = new Map<string, string>();
  for (const [name, bytes] of Object.entries(sizes.bytes)) figures.set(name, inKilobytes(bytes));
  for (const [name, count] of Object.entries(counts)) figures.set(name, `${count}`);
  for (const [name, { value }] of Object.entries(times)) figures.set(name, value);
  figures.set('table of peers', `\n${peerTable(peers.rows)}\n\n`);
  for (const row of peers.rows) {
    for (const [cell, name] of Object.entries(CELLS)) {
      const value = row[cell as keyof typeof CELLS];
      figures.set(`${row.row}, ${row.place}, ${name}`, value.replace(/ \(.*\)$/, ''));
    }
  }
  return figures;
}

/** Thousands of bytes, rounded; from half a million on, in millions. */
export function inKilobytes(bytes: number): string {
  if (bytes >= 500_000) return `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${(bytes / 1000).toFixed(bytes < 20_000 ? 1 : 0)} kB`;
}

/** The document with each figure as it was measured. @throws Error if it names another */
export function withFigures(file: string, markdown: string, figures: Figures): string {
  return markdown.replace(MARKED, (...found) => {
    const { name } = found.at(-1) as { name: string };
    const value = figures.get(name);
    if (value === undefined)
      throw new Error(`${file} names the figure '${name}', which nobody measures.`);
    return `<!-- figure: ${name} -->${value}<!-- /figure -->`;
  });
}

/** Figures of a document that are not those measured, a line each. */
export function falseFigures(file: string, markdown: string, figures: Figures): string[] {
  const marked = [...markdown.matchAll(MARKED)];
  const begun = markdown.match(/<!-- figure:/g)?.length ?? 0;
  return [
    ...(begun === marked.length ? [] : [`${file}: a figure has no end`]),
    ...marked.flatMap(({ groups }) => {
      const { name, value } = groups as { name: string; value: string };
      const measured = figures.get(name);
      if (measured === value) return [];
      return [`${file}: ${name} is ${value}, but ${measured ?? 'nobody measures it'}`];
    }),
  ];
}

/** Whether a size may be told for the bytes of today: it differs by a hundredth at most. */
export function isTrueToday(told: number, today: number): boolean {
  return Math.abs(told - today) <= today / 100;
}

const HEAD = ['row', 'where', 'ours', 'best durable peer', 'ours / peer', 'limit', 'ours / limit'];

function peerTable(rows: readonly PeerFigures[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const lines = rows.map(({ row, place, ours, best, toPeer, limit, toLimit }) =>
    line([row, place, ours, best, toPeer, limit, toLimit]),
  );
  return [line(HEAD), line(HEAD.map(() => '---')), ...lines].join('\n');
}
