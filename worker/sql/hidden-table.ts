// A table of this package's own, created by its first write, like workerd's.
//
// Whether it exists is asked once and remembered. A rollback may remove it again, so the owner calls
// `forget` after one.

import type { Database } from './database.ts';

const EXISTS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?";

export class HiddenTable {
  readonly #database: Database;
  readonly #name: string;
  readonly #columns: string;
  #isKnown: boolean | undefined;

  /** `columns` is what follows the name in CREATE TABLE. */
  constructor(database: Database, name: string, columns: string) {
    this.#database = database;
    this.#name = name;
    this.#columns = columns;
  }

  get exists(): boolean {
    if (this.#isKnown !== undefined) return this.#isKnown;
    const statement = this.#database.statement(EXISTS);
    statement.bindText(1, this.#name);
    const exists = statement.step();
    statement.reset();
    this.#isKnown = exists;
    return exists;
  }

  /** Creates it unless it exists. The caller has opened a transaction. */
  create(): void {
    if (this.exists) return;
    this.#database.run(`CREATE TABLE ${this.#name} ${this.#columns}`);
    this.#isKnown = true;
  }

  /** A rollback or a reset happened: it may not exist any more. */
  forget(): void {
    this.#isKnown = undefined;
  }
}
