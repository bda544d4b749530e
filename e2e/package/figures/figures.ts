// Figures in the documents: written between comments that no reader sees, from measured results.
//
//   <!-- figure: worker -->122 kB<!-- /figure -->
//
// Does not know how results are measured, nor which documents there are.

/** What was measured, with its day, in results.json. */
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
  readonly cells: readonly string[];
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

/** Of a table of peers: the cells behind the row and its place, by name. */
const CELLS = ['ours', 'best', 'to peer', 'limit', 'to limit'];

/** The figures that documents may name. */
export function figuresOf({ sizes, counts, peers, times }: Results): Figures {
  const figures = new Map<string, string>();
  for (const [name, bytes] of Object.entries(sizes.bytes)) figures.set(name, inKilobytes(bytes));
  for (const [name, count] of Object.entries(counts)) figures.set(name, `${count}`);
  for (const [name, { value }] of Object.entries(times)) figures.set(name, value);
  figures.set('table of peers', `\n${peerTable(peers.rows)}\n\n`);
  for (const { row, place, cells } of peers.rows) {
    CELLS.forEach((cell, index) => {
      figures.set(`${row}, ${place}, ${cell}`, cells[index]!.replace(/ \(.*\)$/, ''));
    });
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
  const lines = rows.map(({ row, place, cells }) => line([row, place, ...cells]));
  return [line(HEAD), line(HEAD.map(() => '---')), ...lines].join('\n');
}
