// A D1 database as code in the worker has it, and its sessions. Messages are those of D1 in miniflare.

import type { DurableObjectNamespace } from '@ctx-storage/core/object';
import type { D1Answer, D1Migration, D1Object, D1Query, D1Rows } from './d1-object.ts';
import {
  D1PreparedStatement,
  type D1Result,
  type D1Runner,
  d1Error,
  resultOf,
} from './d1-statement.ts';

/** Asks the database's object. */
type Ask = (queries: readonly D1Query[], asksBookmark: boolean) => Promise<D1Answer>;

/** In their order, and the table with the names of the applied ones. */
interface D1Migrations {
  readonly files: readonly D1Migration[];
  readonly table: string;
}

const CONSTRAINTS: ReadonlySet<string> = new Set(['first-primary', 'first-unconstrained']);

/** Not private members: as on workerd, methods work on a proxy of a database or session, and on an object that inherits from it. */
const ASK: unique symbol = Symbol('ask');
const RUNNER: unique symbol = Symbol('runner');

export class D1Database {
  readonly [ASK]: Ask;
  readonly [RUNNER]: D1Runner;

  constructor(objects: DurableObjectNamespace<D1Object>, name: string, migrations: D1Migrations) {
    const ask = askerOf(objects, name, migrations);
    this[ASK] = ask;
    this[RUNNER] = { run: async (queries) => rowsIn(await ask(queries, false)) };
  }

  prepare(statement: string): D1PreparedStatement {
    return new D1PreparedStatement(this[RUNNER], statement);
  }

  /** In one transaction. */
  async batch(statements: readonly D1PreparedStatement[]): Promise<D1Result[]> {
    return runAll(this[RUNNER], statements);
  }

  /** Each line is a statement, all in one transaction. */
  async exec(text: string): Promise<{ count: number; duration: number }> {
    const lines = text.trim().split('\n');
    const answer = await this[ASK](
      lines.map((sql) => ({ sql, params: [] })),
      false,
    );
    // D1 names the first line, whichever failed.
    if ('error' in answer) {
      throw d1Error('D1_EXEC_ERROR', `Error in line 1: ${lines[0]}: ${answer.error}`);
    }
    const duration = answer.results.reduce((sum, { meta }) => sum + meta.duration, 0);
    return { count: answer.results.length, duration };
  }

  withSession(constraintOrBookmark?: string | null): D1DatabaseSession {
    const given = constraintOrBookmark?.trim() || 'first-unconstrained';
    return new D1DatabaseSession(this[ASK], CONSTRAINTS.has(given) ? null : given);
  }

  /** @deprecated It fails, as for each database since D1's alpha. */
  async dump(): Promise<never> {
    throw d1Error('D1_DUMP_ERROR', 'Status + 404', 'Status 404');
  }
}

/** There is one copy of the data, so each session sees every earlier write. */
export class D1DatabaseSession {
  readonly [RUNNER]: SessionRunner;

  constructor(ask: Ask, bookmark: string | null) {
    this[RUNNER] = new SessionRunner(ask, bookmark);
  }

  prepare(statement: string): D1PreparedStatement {
    return new D1PreparedStatement(this[RUNNER], statement);
  }

  async batch(statements: readonly D1PreparedStatement[]): Promise<D1Result[]> {
    return runAll(this[RUNNER], statements);
  }

  /** The latest that this session has been told; null before its first answer. */
  getBookmark(): string | null {
    return this[RUNNER].bookmark;
  }
}

class SessionRunner implements D1Runner {
  bookmark: string | null;
  readonly #ask: Ask;

  constructor(ask: Ask, bookmark: string | null) {
    this.#ask = ask;
    this.bookmark = bookmark;
  }

  async run(queries: readonly D1Query[]): Promise<readonly D1Rows[]> {
    const answer = await this.#ask(queries, true);
    const rows = rowsIn(answer);
    const { bookmark } = answer as Extract<D1Answer, { bookmark: unknown }>;
    // Answers of concurrent calls may arrive in another order.
    if (bookmark !== null && (this.bookmark === null || this.bookmark < bookmark)) {
      this.bookmark = bookmark;
    }
    return rows;
  }
}

function askerOf(
  objects: DurableObjectNamespace<D1Object>,
  name: string,
  { files, table }: D1Migrations,
): Ask {
  const id = objects.idFromName(name);
  const migrate = async () => {
    if (files.length > 0) await objects.get(id).migrate(files, table);
  };
  let migrated: Promise<void> | undefined;
  return async (queries, asksBookmark) => {
    if (queries.some(({ sql }) => typeof sql !== 'string')) {
      return { error: 'A statement is text; prepare() was given another value.' };
    }
    migrated ??= migrate().catch((error) => {
      // The next call tries again.
      migrated = undefined;
      throw error;
    });
    await migrated;
    // A new stub each time: a stub ends with the instance that it has reached.
    return objects.get(id).query(queries, asksBookmark);
  };
}

async function runAll(
  runner: D1Runner,
  statements: readonly D1PreparedStatement[],
): Promise<D1Result[]> {
  const queries = statements.map(({ statement, params }) => ({ sql: statement, params }));
  return (await runner.run(queries)).map(resultOf);
}

/** @throws Error D1_ERROR */
function rowsIn(answer: D1Answer): readonly D1Rows[] {
  if ('error' in answer) throw d1Error('D1_ERROR', answer.error);
  return answer.results;
}
