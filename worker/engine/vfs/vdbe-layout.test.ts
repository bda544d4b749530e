// Compares every number of the layout with SQLite's own description of the same statement.

import { readFileSync } from 'node:fs';
import type { Database, Sqlite3Static } from '@sqlite.org/sqlite-wasm';
import { beforeAll, describe, expect, test } from 'vitest';
import { startOfficial } from '../../../packages/testing/worker/official-sqlite.ts';
import { type Sqlite, sqliteOf } from './sqlite-module.ts';
import { FLAG, HEAP, INSTRUCTION, OPCODE, SUB_PROGRAM, VALUE, VDBE } from './vdbe-layout.ts';

let sqlite: Sqlite;
/** SQLite's own interface to the same module. */
let sqlite3: Sqlite3Static;

beforeAll(async () => {
  const file = readFileSync(new URL('./sqlite3.wasm', import.meta.url));
  const official = await startOfficial(new WebAssembly.Module(file));
  sqlite3 = official.sqlite3;
  sqlite = sqliteOf(official.exports, official.memory, () => sqlite);
});

const SCHEMA = `
  CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, n INTEGER); CREATE INDEX t_v ON t(v);
  CREATE TABLE plain(a, b); CREATE TABLE log(m);
  CREATE TRIGGER tr AFTER INSERT ON plain BEGIN INSERT INTO log VALUES (new.a); END;
  CREATE VIRTUAL TABLE f USING fts5(a);
`;

// Together they use every instruction of the table.
const STATEMENTS = [
  'SELECT * FROM t WHERE id = 1',
  'SELECT * FROM t WHERE id < 5 ORDER BY id DESC',
  'SELECT * FROM t WHERE id <= 5 ORDER BY id DESC',
  'SELECT * FROM t WHERE id > 5',
  "SELECT * FROM t WHERE v >= 'a' AND v <= 'b'",
  "SELECT * FROM t WHERE v > 'a' AND v < 'b'",
  "SELECT * FROM t WHERE (v = 'a' AND n = 1) OR v = 'b'",
  "SELECT * FROM t WHERE v = 'a' ORDER BY id DESC",
  'SELECT * FROM t ORDER BY n',
  'SELECT * FROM t ORDER BY n DESC LIMIT 2',
  'SELECT count(*) FROM t',
  'SELECT max(id) FROM t',
  'SELECT a.id, b.b FROM t AS a JOIN plain AS b ON a.n = b.a',
  'WITH x AS (SELECT DISTINCT n FROM t) SELECT * FROM x AS a, x AS b',
  'WITH RECURSIVE c(i) AS (SELECT 1 UNION SELECT i + 1 FROM c WHERE i < 5) SELECT i FROM c ORDER BY 1',
  'SELECT sum(n) OVER (ORDER BY id) FROM t',
  'INSERT INTO plain VALUES (1, 2)',
  'INSERT INTO t VALUES (1, 2, 3)',
  'UPDATE t SET id = 5 WHERE id = 2',
  'DELETE FROM t WHERE n = 1',
  'DELETE FROM log',
  'CREATE INDEX t_n ON t(n)',
  "INSERT INTO f VALUES ('a')",
  'SELECT * FROM f',
];

interface Explained {
  readonly addr: number;
  readonly opcode: string;
  readonly p1: number;
  readonly p2: number;
  readonly p3: number;
  readonly p4: string;
  readonly p5: number;
}

/** What SQLite says of the statement's program, and of the programs of the triggers that it calls. */
function explained(db: Database, sql: string): Explained[][] {
  const options = { sql: `EXPLAIN ${sql}`, returnValue: 'resultRows', rowMode: 'object' } as const;
  const programs: Explained[][] = [];
  // Every program counts from 0.
  for (const row of db.exec(options) as unknown as Explained[]) {
    if (row.addr === 0) programs.push([]);
    programs.at(-1)!.push(row);
  }
  return programs;
}

const numbersOf = ({ p1, p2, p3, p5 }: Explained) => [p1, p2, p3, p5 & 0xff];

/** The same numbers where the layout says that the instruction lies. */
function numbersAt(at: number): number[] {
  const { i32, u8 } = sqlite.memory;
  const { p1, p2, p3, p5 } = INSTRUCTION;
  return [...[p1, p2, p3].map((member) => i32[(at + member) >> 2]!), u8[at + p5]!];
}

describe('the layout', () => {
  test('[SQL20] programs lie where it says, with the opcodes it says', () => {
    const db = new sqlite3.oo1.DB(':memory:');
    db.exec(SCHEMA);
    const met = new Map<string, number>();
    for (const sql of STATEMENTS) {
      const [program] = explained(db, sql) as [Explained[]];
      const statement = db.prepare(sql);
      const { i32, u8 } = sqlite.memory;
      const pointer = statement.pointer as number;
      const address = i32[(pointer + VDBE.program) >> 2]!;
      expect(i32[(pointer + VDBE.instructionCount) >> 2]).toBe(program.length);
      for (const row of program) {
        const at = address + row.addr * INSTRUCTION.sizeBytes;
        expect(numbersAt(at)).toEqual(numbersOf(row));
        // A type of 0 is none.
        if (row.p4) expect([row.opcode, u8[at + INSTRUCTION.p4Type]]).not.toEqual([row.opcode, 0]);
        if (row.opcode === 'Goto') expect(u8[at + INSTRUCTION.p4Type]).toBe(0);
        met.set(row.opcode, u8[at + INSTRUCTION.opcode]!);
      }
      statement.finalize();
    }
    db.close();
    const wanted = Object.keys(OPCODE);
    expect(Object.fromEntries(wanted.map((name) => [name, met.get(name)]))).toEqual(OPCODE);
  });

  test('[SQL20] the program of a trigger lies where it says', () => {
    const db = new sqlite3.oo1.DB(':memory:');
    db.exec(SCHEMA);
    const sql = 'INSERT INTO plain VALUES (1, 2)';
    const [program, ofTrigger] = explained(db, sql) as [Explained[], Explained[]];
    const call = program.findIndex((row) => row.opcode === 'Program');
    const statement = db.prepare(sql);
    const { i32 } = sqlite.memory;
    const address = i32[((statement.pointer as number) + VDBE.program) >> 2]!;
    const sub = i32[(address + call * INSTRUCTION.sizeBytes + INSTRUCTION.p4) >> 2]!;
    expect(i32[(sub + SUB_PROGRAM.instructionCount) >> 2]).toBe(ofTrigger.length);
    const first = i32[(sub + SUB_PROGRAM.program) >> 2]!;
    const found = ofTrigger.map((_, index) => numbersAt(first + index * INSTRUCTION.sizeBytes));
    expect(found).toEqual(ofTrigger.map(numbersOf));
    statement.finalize();
    db.close();
  });

  test('[SQL20] values of a row lie where it says, with the flags it says', () => {
    const db = new sqlite3.oo1.DB(':memory:');
    const statement = db.prepare("SELECT NULL, 'text', 7, 2.5, x'0102', ?");
    const { exports } = sqlite;
    exports.sqlite3_bind_zeroblob(statement.pointer as number, 1, 3);
    statement.step();
    const { memory } = sqlite;
    const pointer = statement.pointer as number;
    const row = memory.i32[(pointer + VDBE.resultRow) >> 2]!;
    const value = (column: number) => row + column * VALUE.sizeBytes;
    const flags = (column: number) =>
      memory.i32[(value(column) + VALUE.flags) >> 2]! & (FLAG.typeMask | FLAG.zeroTail);
    expect([0, 1, 2, 3, 4, 5].map(flags)).toEqual([
      FLAG.null,
      FLAG.text,
      FLAG.integer,
      FLAG.real,
      FLAG.blob,
      FLAG.blob | FLAG.zeroTail,
    ]);
    expect(memory.i32[(value(2) + VALUE.number) >> 2]).toBe(7);
    expect(memory.f64[(value(3) + VALUE.number) >> 3]).toBe(2.5);
    const text = value(1);
    const at = memory.i32[(text + VALUE.bytes) >> 2]!;
    expect(memory.readText(at, memory.i32[(text + VALUE.byteCount) >> 2]!)).toBe('text');
    expect(at).toBe(exports.sqlite3_column_text(pointer, 1));
    statement.finalize();
    db.close();
  });

  test('[SQL20] the status counters lie where it says', () => {
    const db = new sqlite3.oo1.DB(':memory:');
    db.exec('CREATE TABLE t(a); INSERT INTO t VALUES (3), (1), (2)');
    const statement = db.prepare('SELECT * FROM t ORDER BY a');
    while (statement.step());
    const pointer = statement.pointer as number;
    const counters = (pointer + VDBE.statusCounters) >> 2;
    const { capi } = sqlite3;
    for (const counter of [1, 2, 3, 4, 5, 6] as const) {
      const told = capi.sqlite3_stmt_status(pointer, counter, 0);
      expect(sqlite.memory.i32[counters + counter]).toBe(told);
    }
    expect(sqlite.memory.i32[counters + 1]).toBe(2);
    statement.finalize();
    db.close();
  });

  test('[SQL20] the limits of the heap lie where it says', () => {
    const { exports, memory } = sqlite;
    const used = memory.allocate(8);
    exports.sqlite3_status(0, used, used + 4, 0);
    expect(memory.i32[HEAP.usedBytes >> 2]).toBe(memory.i32[used >> 2]);
    memory.free(used);
    memory.i32[HEAP.softLimitBytes >> 2] = 1_000_000_007;
    memory.i32[HEAP.hardLimitBytes >> 2] = 1_000_000_009;
    const db = new sqlite3.oo1.DB(':memory:');
    expect([
      db.selectValue('PRAGMA soft_heap_limit'),
      db.selectValue('PRAGMA hard_heap_limit'),
    ]).toEqual([1_000_000_007, 1_000_000_009]);
    db.close();
    memory.i32[HEAP.softLimitBytes >> 2] = 0;
    memory.i32[HEAP.hardLimitBytes >> 2] = 0;
  });
});
