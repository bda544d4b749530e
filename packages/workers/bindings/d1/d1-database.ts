// The D1 database that the worker's code calls as `env.DB`, and its sessions. Error messages equal those of D1 in
// miniflare.

import type { DurableObjectNamespace } from '@ctx-storage/core/object';
import type { D1Answer, D1Migration, D1Object, D1Query, D1Rows } from './d1-object.ts';
import {
  D1PreparedStatement,
  type D1Result,
  type D1Runner,
  d1Error,
  resultOf,
} from './d1-statement.ts';

/** Runs queries in the object that keeps the database. */
type RunQueries = (queries: readonly D1Query[], wantsBookmark: boolean) => Promise<D1Answer>;

/** The migrations in the order in which they apply, and the name of the table that lists the applied ones. */
interface D1Migrations {
  readonly files: readonly D1Migration[];
  readonly table: string;
}

const CONSTRAINTS: ReadonlySet<string> = new Set(['first-primary', 'first-unconstrained']);

// The state is in members with symbols, not in private members, which a Proxy of a database or session, and an object
// that inherits from it, would not have. On workerd, methods work on both.
const RUN_QUERIES: unique symbol = Symbol('runQueries');
const RUNNER: unique symbol = Symbol('runner');

export class D1Database {
  readonly [RUN_QUERIES]: RunQueries;
  readonly [RUNNER]: D1Runner;

  constructor(objects: DurableObjectNamespace<D1Object>, name: string, migrations: D1Migrations) {
    const runQueries = queriesAfterMigrations(objects, name, migrations);
    this[RUN_QUERIES] = runQueries;
    this[RUNNER] = { run: async (queries) => rowsIn(await runQueries(queries, false)) };
  }

  prepare(statement: string): D1PreparedStatement {
    return new D1PreparedStatement(this[RUNNER], statement);
  }

  /** Runs the statements in one transaction. */
  async batch(statements: readonly D1PreparedStatement[]): Promise<D1Result[]> {
    return runAll(this[RUNNER], statements);
  }

  /** Runs each line of the text as a statement, all in one transaction. */
  async exec(text: string): Promise<{ count: number; duration: number }> {
    const lines = text.trim().split('\n');
    const answer = await this[RUN_QUERIES](
      lines.map((sql) => ({ sql, params: [] })),
      false,
    );
    // D1 names the first line in the message, whichever line failed.
    if ('error' in answer) {
      throw d1Error('D1_EXEC_ERROR', `Error in line 1: ${lines[0]}: ${answer.error}`);
    }
    const duration = answer.results.reduce((sum, { meta }) => sum + meta.duration, 0);
    return { count: answer.results.length, duration };
  }

  withSession(constraintOrBookmark?: string | null): D1DatabaseSession {
    const given = constraintOrBookmark?.trim() || 'first-unconstrained';
    return new D1DatabaseSession(this[RUN_QUERIES], CONSTRAINTS.has(given) ? null : given);
  }

  /** @deprecated This method always fails, as it does for every database made since D1's alpha. */
  async dump(): Promise<never> {
    throw d1Error('D1_DUMP_ERROR', 'Status + 404', 'Status 404');
  }
}

/** A session of a D1 database. There is only one copy of the data, so each session sees every earlier write. */
export class D1DatabaseSession {
  readonly [RUNNER]: SessionRunner;

  constructor(runQueries: RunQueries, bookmark: string | null) {
    this[RUNNER] = new SessionRunner(runQueries, bookmark);
  }

  prepare(statement: string): D1PreparedStatement {
    return new D1PreparedStatement(this[RUNNER], statement);
  }

  async batch(statements: readonly D1PreparedStatement[]): Promise<D1Result[]> {
    return runAll(this[RUNNER], statements);
  }

  /** Returns the latest bookmark that an answer brought to this session; null before its first answer. */
  getBookmark(): string | null {
    return this[RUNNER].bookmark;
  }
}

class SessionRunner implements D1Runner {
  bookmark: string | null;
  readonly #runQueries: RunQueries;

  constructor(runQueries: RunQueries, bookmark: string | null) {
    this.#runQueries = runQueries;
    this.bookmark = bookmark;
  }

  async run(queries: readonly D1Query[]): Promise<readonly D1Rows[]> {
    const answer = await this.#runQueries(queries, true);
    const rows = rowsIn(answer);
    const { bookmark } = answer as Extract<D1Answer, { bookmark: unknown }>;
    // The answers of concurrent calls may arrive out of order, so only a later bookmark replaces the present one.
    if (bookmark !== null && (this.bookmark === null || this.bookmark < bookmark)) {
      this.bookmark = bookmark;
    }
    return rows;
  }
}

function queriesAfterMigrations(
  objects: DurableObjectNamespace<D1Object>,
  name: string,
  { files, table }: D1Migrations,
): RunQueries {
  const id = objects.idFromName(name);
  const migrate = async () => {
    if (files.length > 0) await objects.get(id).migrate(files, table);
  };
  let migrated: Promise<void> | undefined;
  return async (queries, wantsBookmark) => {
    if (queries.some(({ sql }) => typeof sql !== 'string')) {
      return { error: 'A statement is text; prepare() was given another value.' };
    }
    migrated ??= migrate().catch((error) => {
      // The next call applies the migrations again.
      migrated = undefined;
      throw error;
    });
    await migrated;
    // Each call takes a new stub, because a stub fails for good once the instance that it reached has ended.
    return objects.get(id).query(queries, wantsBookmark);
  };
}

async function runAll(
  runner: D1Runner,
  statements: readonly D1PreparedStatement[],
): Promise<D1Result[]> {
  const queries = statements.map(({ statement, params }) => ({ sql: statement, params }));
  return (await runner.run(queries)).map(resultOf);
}

/** Returns the results of an answer. @throws Error D1_ERROR if the statements failed */
function rowsIn(answer: D1Answer): readonly D1Rows[] {
  if ('error' in answer) throw d1Error('D1_ERROR', answer.error);
  return answer.results;
}
