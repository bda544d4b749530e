// A file of rows: text with delimiters, JSON, or a value of JSON on each line.
//
// It is read twice: first all of it is checked, so that nothing of a file with a mistake is written, and the types of
// the columns are known before the first row is.

import { ColumnFacts, columnNames, type ImportedColumn } from './column-kind.ts';
import { csvParts } from './csv-rows.ts';
import { FileFault } from './file-fault.ts';
import { unguardedText } from './formula-guard.ts';
import { textChunks } from './text-chunks.ts';

/** The value of a cell: a value of JSON. */
export type RowValue = unknown;

export interface RowsRead {
  readonly rows: readonly (readonly RowValue[])[];
  /** Where the first row is: a line, or the number of an item. */
  readonly line: number;
}

export interface RowFile {
  readonly columns: readonly ImportedColumn[];
  readonly rowCount: number;
  /** All rows, in the order of the file. */
  batches(signal: AbortSignal): AsyncIterable<RowsRead>;
}

/** JSON is read in one piece. */
const JSON_BYTES_MAX = 128 * 1024 * 1024;

/**
 * Checks a file, and tells its columns.
 *
 * @throws FileFault; the reason of the signal
 */
export function checkRowFile(
  file: File,
  signal: AbortSignal,
  onRead: (readBytes: number) => void,
): Promise<RowFile> {
  if (/\.(jsonl|ndjson)$/i.test(file.name)) {
    return objectFile(file, (how) => jsonLines(file, how, onRead), signal);
  }
  if (/\.json$/i.test(file.name)) return jsonFile(file, signal, onRead);
  return csvFile(file, signal, onRead);
}

async function csvFile(
  file: File,
  signal: AbortSignal,
  onRead: (readBytes: number) => void,
): Promise<RowFile> {
  let names: string[] | null = null;
  let facts: ColumnFacts[] = [];
  let rowCount = 0;
  for await (const { records, readBytes } of csvParts(file, signal)) {
    for (const { fields, line } of records) {
      if (names === null) {
        if (fields.some((field) => field.includes('\0'))) {
          throw new FileFault(file.name, line, 'this is not a text file');
        }
        names = columnNames(fields.map(unguardedText));
        facts = names.map(() => new ColumnFacts());
        continue;
      }
      if (fields.length !== names.length) {
        throw new FileFault(
          file.name,
          line,
          `this row has ${fields.length} fields, and the first line names ${names.length} columns`,
        );
      }
      for (const [index, field] of fields.entries()) facts[index]!.seeText(field);
      rowCount += 1;
    }
    onRead(readBytes);
  }
  if (names === null) throw new FileFault(file.name, null, 'the file is empty');
  // Digits beside words, such as "12" and "n/a", stay as they are written.
  const columns = names.map(
    (name, index) => ({ name, kind: facts[index]!.kind || 'TEXT' }) as const,
  );
  return {
    columns,
    rowCount,
    async *batches(how) {
      let isHead = true;
      for await (const { records } of csvParts(file, how)) {
        const own = isHead ? records.slice(1) : records;
        isHead = false;
        if (own.length === 0) continue;
        const rows = own.map(({ fields }) =>
          fields.map((text, index) => {
            if (text === '') return null;
            return columns[index]!.kind === 'TEXT' ? unguardedText(text) : Number(text);
          }),
        );
        yield { rows, line: own[0]!.line };
      }
    },
  };
}

interface ObjectPart {
  readonly objects: readonly Readonly<Record<string, unknown>>[];
  readonly line: number;
}

async function jsonFile(
  file: File,
  signal: AbortSignal,
  onRead: (readBytes: number) => void,
): Promise<RowFile> {
  if (file.size > JSON_BYTES_MAX) {
    throw new FileFault(
      file.name,
      null,
      `${file.size} bytes of JSON are more than the ${JSON_BYTES_MAX} that are read at once; put a row on each line (.jsonl)`,
    );
  }
  let text = '';
  for await (const chunk of textChunks(file, signal)) {
    text += chunk.text;
    onRead(chunk.readBytes);
  }
  const value = parsed(file, null, text);
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  for (const [index, item] of items.entries()) {
    if (!isRow(item)) {
      throw new FileFault(file.name, null, `item ${index + 1} is not an object with columns`);
    }
  }
  const part = { objects: items as ObjectPart['objects'], line: 1 };
  return objectFile(
    file,
    async function* () {
      yield part;
    },
    signal,
  );
}

/** A file whose rows are objects: their columns are all names that any of them has. */
async function objectFile(
  file: File,
  parts: (signal: AbortSignal) => AsyncIterable<ObjectPart>,
  signal: AbortSignal,
): Promise<RowFile> {
  const facts = new Map<string, ColumnFacts>();
  let rowCount = 0;
  for await (const { objects } of parts(signal)) {
    for (const object of objects) {
      for (const [key, value] of Object.entries(object)) {
        let known = facts.get(key);
        if (known === undefined) {
          known = new ColumnFacts();
          facts.set(key, known);
        }
        known.see(value);
      }
      rowCount += 1;
    }
  }
  if (facts.size === 0) throw new FileFault(file.name, null, 'the file has no rows with columns');
  const keys = [...facts.keys()];
  const names = columnNames(keys);
  return {
    columns: keys.map((key, index) => ({ name: names[index]!, kind: facts.get(key)!.kind })),
    rowCount,
    async *batches(how) {
      for await (const { objects, line } of parts(how)) {
        yield { rows: objects.map((object) => keys.map((key) => object[key] ?? null)), line };
      }
    },
  };
}

async function* jsonLines(
  file: File,
  signal: AbortSignal,
  onRead: (readBytes: number) => void,
): AsyncGenerator<ObjectPart> {
  let rest = '';
  let line = 1;
  const take = (lines: readonly string[]): ObjectPart => {
    const from = line;
    const objects: Readonly<Record<string, unknown>>[] = [];
    for (const text of lines) {
      if (text.trim() !== '') {
        const value = parsed(file, line, text);
        if (!isRow(value)) {
          throw new FileFault(file.name, line, 'this is not an object with columns');
        }
        objects.push(value);
      }
      line += 1;
    }
    return { objects, line: from };
  };
  for await (const { text, readBytes } of textChunks(file, signal)) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    if (lines.length > 0) yield take(lines);
    onRead(readBytes);
  }
  if (rest !== '') yield take([rest]);
}

function parsed(file: File, line: number | null, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FileFault(file.name, line, `this is not JSON: ${(error as Error).message}`);
  }
}

function isRow(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
