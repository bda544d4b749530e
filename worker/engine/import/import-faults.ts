// The faults of a file that cannot be imported: all are named in one error, with one program that mends them.
//
// Invariants: the program runs in plain SQLite, in the order in which it is written. It keeps every row that the storage
// can keep. Its statements contain texts of the file in quotes, or as SQLite has taken them here as SQL: a reader who
// runs it runs nothing of the file's author. A fault that no program mends has its way out in words alone.

import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';

/** So many are described; the program mends them all. */
const DESCRIBED_MAX = 10;
/** Longest program, in characters, unless that of a single fault is longer. */
const PROGRAM_CHARS_MAX = 16_000;

/** The order of the statements: drops name what rebuilt tables would have taken with them. */
export const STEP = { drop: 0, table: 1, row: 2, index: 3 } as const;

/** `before`: SQLite must not write into the file; `after`: a change of the whole file. */
type Copy = 'before' | 'after';

/** One reason why a file cannot be imported. */
export interface Fault {
  readonly fact: string;
  readonly wayOut: string;
  /** The statements that mend it. */
  readonly sql?: readonly string[];
  readonly step?: number;
  /** The shell's copy of the data into a new file mends it. */
  readonly copy?: Copy;
  /** A pragma that takes effect with VACUUM mends it. */
  readonly pragma?: string;
}

/** `-safe`: the file's schema may have lines that look like commands of the program. */
const COPY = 'sqlite3 file.sqlite .dump | sqlite3 -safe mended.sqlite';

export class ImportFaults {
  /** The file came with its WAL. */
  hasWal = false;
  readonly #found: Fault[];
  #hasEnded = false;

  constructor(...found: Fault[]) {
    this.#found = found;
  }

  add(...faults: readonly Fault[]): void {
    this.#found.push(...faults);
  }

  /** Not all can be known. No program is told then: it could take away what was not looked at. */
  endWith(fault: Fault): void {
    this.add(fault);
    this.#hasEnded = true;
  }

  get count(): number {
    return this.#found.length;
  }

  /** The error that names them. */
  error(cause?: unknown): StorageError {
    const found = this.#found;
    const { lines, mended } = programOf(this.#hasEnded ? [] : found);
    let text = found.length === 1 ? '' : `the file has ${found.length} faults.`;
    for (const [i, { fact, wayOut }] of found.slice(0, DESCRIBED_MAX).entries()) {
      text += `${found.length === 1 ? '' : ` (${i + 1}) `}${inWords(fact)}; ${inWords(wayOut)}.`;
    }
    if (found.length > DESCRIBED_MAX) text += ` … and ${found.length - DESCRIBED_MAX} more.`;
    if (lines.length > 0) {
      const few = mended < found.length ? `, which mends ${mended} of them` : '';
      const shell = lines.includes(COPY) ? ' (the line that begins with sqlite3 in a shell)' : '';
      const beside = this.hasWal ? ' with its -wal beside it' : '';
      text += ` Run this on a copy of the file${beside}${shell}, and import the result${few}:\n${lines.join('\n')}`;
    }
    return storageError(
      'IMPORT_INVALID',
      `importDatabase: ${text}`,
      cause === undefined ? undefined : { cause },
    );
  }

  /** @throws IMPORT_INVALID when there is one */
  mustBeNone(): void {
    if (this.#found.length > 0) throw this.error();
  }
}

/** On one line: names and SQLite's words may have any text of the file, also one that looks like a program. */
function inWords(text: string): string {
  return text.slice(0, 500).replace(/\s+/g, ' ');
}

/** The error of a file with one fault that no program mends. */
export function importInvalid(fact: string, wayOut: string, cause?: unknown): StorageError {
  return new ImportFaults({ fact, wayOut }).error(cause);
}

/** The program, and how many of the faults it mends. */
function programOf(faults: readonly Fault[]): { lines: string[]; mended: number } {
  const steps: string[][] = [];
  const pragmas = new Set<string>();
  const copies = new Set<Copy>();
  let chars = 0;
  let mended = 0;
  for (const { sql = [], step = 0, copy, pragma } of faults) {
    if (copy === undefined && pragma === undefined && sql.length === 0) continue;
    const added = sql.join('').length;
    if (chars > 0 && chars + added > PROGRAM_CHARS_MAX) continue;
    chars += added;
    mended += 1;
    const lines = (steps[step] ??= []);
    lines.push(...sql);
    if (copy !== undefined) copies.add(copy);
    if (pragma !== undefined) pragmas.add(pragma);
  }
  const lines = steps.flat();
  // Foreign keys would delete the rows that refer to a table that is dropped; broken views would hinder a new name.
  if (lines.length > 0) lines.unshift('PRAGMA foreign_keys=OFF;', 'PRAGMA legacy_alter_table=ON;');
  if (copies.has('before')) lines.unshift(COPY);
  else if (copies.has('after')) lines.push(COPY);
  else if (pragmas.size > 0) lines.push(...pragmas, 'VACUUM;');
  return { lines, mended };
}
