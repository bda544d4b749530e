// The tables that the program of a statement opens, by SQLite's own listing of the program. Roots and virtual tables
// count, not the questions to the authorizer. So it can check who goes by names.
//
// The schema is made a second time, in a database of its own without an authorizer.
//
// Does not see calls of the program: the statements inside a virtual table, pragmas, functions.

import { Connection } from '../../../worker/engine/sql/connection.ts';
import type { QueryTables, TableSet } from '../../../worker/engine/sql/query-tables.ts';
import { PreparedStatement } from '../../../worker/engine/sql/statement.ts';
import { loadSqliteInNode } from './sqlite.ts';

/** Names as the schema writes them. */
export interface OpenedTables {
  readonly read: ReadonlySet<string>;
  readonly written: ReadonlySet<string>;
}

/** Counts, and is written without a question: it concerns only who reads everything. */
const SEQUENCES = 'sqlite_sequence';

/** The tables that a program opens, and that are not among those told. */
export function untoldTables(told: QueryTables, { read, written }: OpenedTables): string[] {
  const isTold = (table: string, tables: TableSet) => tables === 'all' || tables.has(table);
  return [
    ...[...written].filter((table) => !isTold(table, told.writes)),
    // A table that is written need not be read, too.
    ...[...read].filter((table) => !isTold(table, told.reads) && !isTold(table, told.writes)),
  ].filter((table) => table !== SEQUENCES);
}

/** The tables of a schema, as a program calls them. */
interface Names {
  /** The names of tables, by the root page of the table or of an index. */
  readonly roots: ReadonlyMap<number, string>;
  /** The names of virtual tables, by the operand of their instructions. */
  readonly virtual: ReadonlyMap<string, string>;
}

const SCHEMA_ROOT = 1;
/** Bit of P5: P2 is a register, of a table that the statement makes. */
const ROOT_IS_NEW = 0x10;
const ROOTS = 'SELECT rootpage, tbl_name FROM sqlite_schema WHERE rootpage > 0';
const VIRTUAL = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage = 0";
/** Tables that are there without being made. */
const BUILT_IN = ['json_each', 'json_tree', 'pragma_table_list'];

export class ProgramReader {
  readonly #connection: Connection;
  #names: Names | undefined;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  static async open(): Promise<ProgramReader> {
    const sqlite = await loadSqliteInNode();
    const events = { beforeWrite() {}, onCritical() {} };
    const connection = new Connection(sqlite, ':memory:', undefined, events, {});
    sqlite.exports.sqlite3_set_authorizer(connection.pointer, 0, 0);
    return new ProgramReader(connection);
  }

  /** Runs a statement without parameters. @throws SQL */
  run(sql: string): void {
    this.#names = undefined;
    this.#connection.run(sql);
  }

  /** @throws SQL when it cannot be compiled */
  opened(sql: string): OpenedTables {
    const { roots, virtual } = (this.#names ??= this.#readNames());
    const read = new Set<string>();
    const written = new Set<string>();
    for (const { opcode, p1, p2, p3, p4, p5 } of this.#program(sql)) {
      const nameOf = (root: number, schema: number) => {
        if (schema !== 0) return `schema ${schema}`;
        return roots.get(root) ?? `root ${root}`;
      };
      switch (opcode) {
        case 'OpenRead':
        case 'ReopenIdx':
          read.add(nameOf(p2, p3));
          break;
        case 'OpenWrite':
          if ((p5 & ROOT_IS_NEW) === 0) written.add(nameOf(p2, p3));
          break;
        case 'Clear':
          written.add(nameOf(p1, p2));
          break;
        case 'VOpen':
          read.add(virtual.get(p4) ?? p4);
          break;
        case 'VUpdate':
          written.add(virtual.get(p4) ?? p4);
          break;
      }
    }
    return { read, written };
  }

  close(): void {
    this.#connection.close();
  }

  /** The programs of triggers and foreign keys, too. */
  #program(sql: string) {
    return this.#rows(`EXPLAIN ${sql}`).map(([, opcode, p1, p2, p3, p4, p5]) => {
      return {
        opcode: String(opcode),
        p1: Number(p1),
        p2: Number(p2),
        p3: Number(p3),
        p4: String(p4),
        p5: Number(p5),
      };
    });
  }

  #readNames(): Names {
    const roots = new Map([[SCHEMA_ROOT, 'sqlite_master']]);
    for (const [root, table] of this.#rows(ROOTS)) roots.set(Number(root), String(table));
    const virtual = new Map<string, string>();
    for (const name of [...this.#rows(VIRTUAL).map(([name]) => String(name)), ...BUILT_IN]) {
      const reading = this.#program(`SELECT 1 FROM "${name}"`);
      virtual.set(reading.find(({ opcode }) => opcode === 'VOpen')!.p4, name);
    }
    return { roots, virtual };
  }

  #rows(sql: string): unknown[][] {
    const statement = new PreparedStatement(this.#connection, sql);
    try {
      const rows: unknown[][] = [];
      while (statement.step()) {
        rows.push(
          Array.from({ length: statement.columnCount }, (_, column) =>
            statement.columnText(column),
          ),
        );
      }
      return rows;
    } finally {
      statement.finalize();
    }
  }
}
