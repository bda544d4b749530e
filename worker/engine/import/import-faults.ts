// Collects the faults of a file that cannot be imported, and makes one error of them with a program for the sqlite3
// shell that repairs the file.
//
// Invariants: the program runs in plain SQLite, line by line. It keeps every row that the storage can keep. Texts of
// the file appear in its statements only in quotes, or if SQLite has accepted them here as SQL, so that running the
// program never runs commands of the file's author. For a fault that no program can repair, the error describes a way
// out.

import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';

/** Maximum number of faults that the error describes; the program repairs all of them. */
const DESCRIBED_MAX = 10;
/** Maximum length of the program in characters, unless the statements for a single fault are longer. */
const PROGRAM_CHARS_MAX = 16_000;

/** The order of the statements. Drops come first, because replacing a table drops its indexes and triggers too. */
export const STEP = { drop: 0, table: 1, row: 2, index: 3 } as const;

/**
 * When the file is copied: `before` other statements, because SQLite must not write into it as it is; or `after` them.
 */
type Copy = 'before' | 'after';

/** One reason why a file cannot be imported. */
export interface Fault {
  readonly fact: string;
  readonly wayOut: string;
  /** The statements that repair it. */
  readonly sql?: readonly string[];
  readonly step?: number;
  /** Set if a copy of the data into a new file by the shell repairs it. */
  readonly copy?: Copy;
  /** The pragma that repairs it together with VACUUM. */
  readonly pragma?: string;
}

/**
 * The shell command that copies a file. It uses `-safe` because the file's schema may contain lines that look like
 * shell commands.
 */
const COPY = 'sqlite3 file.sqlite .dump | sqlite3 -safe mended.sqlite';

export class ImportFaults {
  /** True if the file came with its WAL. */
  hasWal = false;
  readonly #found: Fault[];
  #hasEnded = false;

  constructor(...found: Fault[]) {
    this.#found = found;
  }

  add(...faults: readonly Fault[]): void {
    this.#found.push(...faults);
  }

  /** Adds a fault that ends the checks. The error then has no program, which could delete data that was not checked. */
  endWith(fault: Fault): void {
    this.add(fault);
    this.#hasEnded = true;
  }

  get count(): number {
    return this.#found.length;
  }

  /** Makes the error that describes the faults. */
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

  /** Throws if there is a fault. @throws IMPORT_INVALID */
  mustBeNone(): void {
    if (this.#found.length > 0) throw this.error();
  }
}

/** Puts a text on one line: names and SQLite's messages may contain text of the file that looks like a program. */
function inWords(text: string): string {
  return text.slice(0, 500).replace(/\s+/g, ' ');
}

/** Makes the error of a file with one fault that no program can repair. */
export function importInvalid(fact: string, wayOut: string, cause?: unknown): StorageError {
  return new ImportFaults({ fact, wayOut }).error(cause);
}

/** Makes the program; `mended` is the number of faults that it repairs. */
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
  // Otherwise dropping a table could delete rows that refer to it, and broken views would block renaming a table.
  if (lines.length > 0) lines.unshift('PRAGMA foreign_keys=OFF;', 'PRAGMA legacy_alter_table=ON;');
  if (copies.has('before')) lines.unshift(COPY);
  else if (copies.has('after')) lines.push(COPY);
  else if (pragmas.size > 0) lines.push(...pragmas, 'VACUUM;');
  return { lines, mended };
}
