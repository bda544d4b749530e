// Reads a file of rows: text with delimiters, JSON, or JSON lines.
//
// A file is read twice. The first time, all of it is checked, so that nothing of a file with a mistake is written, and
// the types of the columns are found. The second time, its rows are imported.

import { ColumnTypeCounter, columnNames, type ImportedColumn } from './column-kind.ts';
import { csvParts } from './csv-rows.ts';
import { FileFault } from './file-fault.ts';
import { unguardedText } from './formula-guard.ts';
import { textChunks } from './text-chunks.ts';

/** The value of a cell, which is a value of JSON. */
export type RowValue = unknown;

export interface RowsRead {
  readonly rows: readonly (readonly RowValue[])[];
  /** The line of the first row, or in JSON the number of its item. */
  readonly line: number;
}

export interface RowFile {
  readonly columns: readonly ImportedColumn[];
  readonly rowCount: number;
  /** Reads all rows, in the order of the file. */
  batches(signal: AbortSignal): AsyncIterable<RowsRead>;
}

/** The largest JSON file that is accepted, because JSON is parsed as a whole. */
const JSON_BYTES_MAX = 128 * 1024 * 1024;

/**
 * Checks a file, and returns its columns and a way to read its rows.
 *
 * @throws FileFault if the file has a mistake; the reason of the signal if it is aborted
 */
export function checkRowFile(
  file: File,
  signal: AbortSignal,
  onRead: (readBytes: number) => void,
): Promise<RowFile> {
  if (/\.(jsonl|ndjson)$/i.test(file.name)) {
    return objectFile(file, (readSignal) => jsonLines(file, readSignal, onRead), signal);
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
  let counters: ColumnTypeCounter[] = [];
  let rowCount = 0;
  for await (const { records, readBytes } of csvParts(file, signal)) {
    for (const { fields, line } of records) {
      if (names === null) {
        if (fields.some((field) => field.includes('\0'))) {
          throw new FileFault(file.name, line, 'this is not a text file');
        }
        names = columnNames(fields.map(unguardedText));
        counters = names.map(() => new ColumnTypeCounter());
        continue;
      }
      if (fields.length !== names.length) {
        throw new FileFault(
          file.name,
          line,
          `this row has ${fields.length} fields, and the first line names ${names.length} columns`,
        );
      }
      for (const [index, field] of fields.entries()) counters[index]!.addText(field);
      rowCount += 1;
    }
    onRead(readBytes);
  }
  if (names === null) throw new FileFault(file.name, null, 'the file is empty');
  // A column with numbers and words, such as "12" and "n/a", keeps all its texts as they are written.
  const columns = names.map(
    (name, index) => ({ name, kind: counters[index]!.kind || 'TEXT' }) as const,
  );
  return {
    columns,
    rowCount,
    async *batches(readSignal) {
      let isHead = true;
      for await (const { records } of csvParts(file, readSignal)) {
        const dataRecords = isHead ? records.slice(1) : records;
        isHead = false;
        if (dataRecords.length === 0) continue;
        const rows = dataRecords.map(({ fields }) =>
          fields.map((text, index) => {
            if (text === '') return null;
            return columns[index]!.kind === 'TEXT' ? unguardedText(text) : Number(text);
          }),
        );
        yield { rows, line: dataRecords[0]!.line };
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
  const value = parseJson(file, null, text);
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

/** Checks a file whose rows are objects. Its columns are all names that any of them has. */
async function objectFile(
  file: File,
  parts: (signal: AbortSignal) => AsyncIterable<ObjectPart>,
  signal: AbortSignal,
): Promise<RowFile> {
  const counters = new Map<string, ColumnTypeCounter>();
  let rowCount = 0;
  for await (const { objects } of parts(signal)) {
    for (const object of objects) {
      for (const [key, value] of Object.entries(object)) {
        let counter = counters.get(key);
        if (counter === undefined) {
          counter = new ColumnTypeCounter();
          counters.set(key, counter);
        }
        counter.add(value);
      }
      rowCount += 1;
    }
  }
  if (counters.size === 0)
    throw new FileFault(file.name, null, 'the file has no rows with columns');
  const keys = [...counters.keys()];
  const names = columnNames(keys);
  return {
    columns: keys.map((key, index) => ({ name: names[index]!, kind: counters.get(key)!.kind })),
    rowCount,
    async *batches(readSignal) {
      for await (const { objects, line } of parts(readSignal)) {
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
  const toObjects = (lines: readonly string[]): ObjectPart => {
    const from = line;
    const objects: Readonly<Record<string, unknown>>[] = [];
    for (const text of lines) {
      if (text.trim() !== '') {
        const value = parseJson(file, line, text);
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
    if (lines.length > 0) yield toObjects(lines);
    onRead(readBytes);
  }
  if (rest !== '') yield toObjects([rest]);
}

function parseJson(file: File, line: number | null, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FileFault(file.name, line, `this is not JSON: ${(error as Error).message}`);
  }
}

function isRow(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
