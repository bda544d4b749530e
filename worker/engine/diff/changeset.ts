// Builds changesets of SQLite's session extension from rows.
//
// The extension applies the changes of rows with their constraints: an index is kept unique once all of them are made,
// foreign keys are counted at the end, and no action of a foreign key runs. The format is that of
// https://sqlite.org/src/file/ext/session/sqlite3session.c ("CHANGESET FORMAT").
//
// Invariant: every changeset that is applied was made here.

import { sameCell, UNDEFINED_CELL, varint } from '../sql/cells.ts';
import type { Row } from './row-reader.ts';
import type { Shape } from './shapes.ts';

const INSERT = 18;
const DELETE = 9;
const UPDATE = 23;
const TABLE = 0x54;
const DIRECT = 0;

export class ChangesetWriter {
  readonly #parts: Uint8Array[] = [];

  /** Begins the changes of a table. */
  table(shape: Shape): void {
    const columns = shape.columns.filter(({ isStored }) => isStored);
    const name = new TextEncoder().encode(shape.name);
    const places = columns.map(({ keyPlace }) => keyPlace);
    this.#parts.push(Uint8Array.of(TABLE, ...varint(columns.length), ...places), name);
    this.#parts.push(Uint8Array.of(0));
  }

  insert(row: Row, shape: Shape): void {
    this.#parts.push(Uint8Array.of(INSERT, DIRECT), ...storedCells(row, shape));
  }

  delete(row: Row, shape: Shape): void {
    this.#parts.push(Uint8Array.of(DELETE, DIRECT), ...storedCells(row, shape));
  }

  /** Adds the update of a row; both rows have the same primary key. */
  update(before: Row, after: Row, shape: Shape): void {
    const [old, now] = [storedCells(before, shape), storedCells(after, shape)];
    const columns = shape.columns.filter(({ isStored }) => isStored);
    const changes = columns.map((_, i) => !sameCell(old[i]!, now[i]!));
    const isKey = columns.map(({ keyPlace }) => keyPlace > 0);
    this.#parts.push(Uint8Array.of(UPDATE, DIRECT));
    this.#parts.push(...old.map((cell, i) => (isKey[i] || changes[i] ? cell : UNDEFINED_CELL)));
    this.#parts.push(...now.map((cell, i) => (changes[i] ? cell : UNDEFINED_CELL)));
  }

  bytes(): Uint8Array {
    const bytes = new Uint8Array(this.#parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of this.#parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  }
}

function storedCells(row: Row, { columns }: Shape): Row {
  return row.filter((_, i) => columns[i]!.isStored);
}
