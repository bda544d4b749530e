// Reads the records of a text file with delimiters, in the order of the file, each with its line.
//
// Papa Parse reads the text in chunks. An incomplete record at the end of a chunk is parsed again with the next one.

import Papa from 'papaparse';
import { FileFault } from './file-fault.ts';
import { newlinesIn, textChunks } from './text-chunks.ts';

export interface CsvRecord {
  readonly fields: readonly string[];
  /** The line on which the record begins, counted from 1. */
  readonly line: number;
}

export interface CsvPart {
  readonly records: readonly CsvRecord[];
  readonly readBytes: number;
}

/** The longest record that is accepted. A longer one most likely has a quote that is not closed. */
const RECORD_LENGTH_MAX = 4 * 1024 * 1024;
/** The number of lines from which the delimiter is guessed. */
const GUESSED_LINES = 20;

interface Parsed {
  readonly data: string[][];
  readonly errors: readonly {
    readonly type: string;
    readonly row?: number;
    readonly message: string;
  }[];
  readonly meta: { readonly cursor: number };
}

/** Reads the records. @throws FileFault with the line of the mistake */
export async function* csvParts(file: File, signal: AbortSignal): AsyncGenerator<CsvPart> {
  let parser: Papa.Parser | null = null;
  let rest = '';
  let line = 1;
  const parse = (whole: string, isLast: boolean): CsvRecord[] => {
    // A `\r` at the end is parsed with the next chunk: without its `\n`, it looks like text after a closing quote.
    const text = !isLast && whole.endsWith('\r') ? whole.slice(0, -1) : whole;
    parser ??= parserFor(text);
    const { data, errors, meta } = parser.parse(text, 0, !isLast) as Parsed;
    const records = data.map((fields) => {
      const record = { fields, line };
      line += 1 + fields.reduce((sum, field) => sum + newlinesIn(field), 0);
      return record;
    });
    const [fault] = errors;
    if (fault !== undefined) {
      const at = records[fault.row ?? -1]?.line ?? line;
      throw new FileFault(file.name, at, `a quote is not closed, or text follows a closing quote`);
    }
    rest = isLast ? '' : whole.slice(meta.cursor);
    if (rest.length > RECORD_LENGTH_MAX) {
      throw new FileFault(
        file.name,
        line,
        `the record that begins here is longer than ${RECORD_LENGTH_MAX} characters; a quote may not be closed`,
      );
    }
    // An empty line is not a record.
    return records.filter(({ fields }) => fields.length > 1 || fields[0] !== '');
  };
  let readBytes = 0;
  for await (const chunk of textChunks(file, signal)) {
    readBytes = chunk.readBytes;
    const records = parse(rest + chunk.text, false);
    if (records.length > 0) yield { records, readBytes };
  }
  const records = parse(rest, true);
  if (records.length > 0) yield { records, readBytes };
}

function parserFor(head: string): Papa.Parser {
  const { meta } = Papa.parse(head, { preview: GUESSED_LINES, skipEmptyLines: true });
  return new Papa.Parser({ delimiter: meta.delimiter, newline: meta.linebreak as '\n' });
}
