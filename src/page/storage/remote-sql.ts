// Implements `sql` of a page. A statement is sent in the same turn, and its rows arrive in batches.

import { checkArgumentCount, convertString, eachOf } from '../../shared/contract/arguments.ts';
import { convertBinding, ownBytes } from '../../shared/contract/bindings.ts';
import type { BulkResult } from '../../shared/contract/bulk.ts';
import type { Live } from '../../shared/contract/live.ts';
import type { RemoteSqlCursor, RemoteSqlStorage, SqlRow } from '../../shared/contract/storage.ts';
import { liveQuery } from '../../shared/live/live-result.ts';
import type { RowBatch } from '../../shared/wire/results.ts';
import type { PageEnvironment } from '../leader/environment.ts';
import type { LiveClient } from './live-client.ts';
import type { RemoteBulk } from './remote-bulk.ts';
import { FIRST_ROWS, RemoteCursor } from './remote-cursor.ts';
import type { SessionCalls } from './session.ts';

/** Implements the queries of an object, or of an earlier moment of it. */
export class RemoteQueries {
  readonly #calls: SessionCalls;
  readonly #whenCollected: PageEnvironment['whenCollected'];

  constructor(calls: SessionCalls, whenCollected: PageEnvironment['whenCollected']) {
    this.#calls = calls;
    this.#whenCollected = whenCollected;
  }

  exec<T extends object = SqlRow>(query: string, ...bindings: unknown[]): RemoteSqlCursor<T>;
  exec<T extends object>(...args: unknown[]): RemoteSqlCursor<T> {
    return new RemoteCursor<T>(this.#calls, this.#run(args), this.#whenCollected);
  }

  get databaseSize(): Promise<number> {
    return this.#calls.call({ op: 'databaseSize' });
  }

  // Runs the statement. A wrong argument becomes an error of the cursor. This is not an async function, because each of the
  // thousands of statements that may be pending would need another promise and frame.
  #run(args: readonly unknown[]): Promise<RowBatch> {
    try {
      checkArgumentCount('exec', args.length, 1);
      const query = convertString('exec', args[0]);
      const bindings = eachOf(args.slice(1), (value) => ownBytes(convertBinding(value)));
      return this.#calls.call({ op: 'exec', query, bindings, rowCount: FIRST_ROWS });
    } catch (error) {
      return Promise.reject(error);
    }
  }
}

export class RemoteSql extends RemoteQueries implements RemoteSqlStorage {
  readonly #calls: SessionCalls;
  readonly #live: LiveClient;
  readonly #bulk: RemoteBulk;

  constructor(
    calls: SessionCalls,
    live: LiveClient,
    bulk: RemoteBulk,
    whenCollected: PageEnvironment['whenCollected'],
  ) {
    super(calls, whenCollected);
    this.#calls = calls;
    this.#live = live;
    this.#bulk = bulk;
  }

  execMany(...args: unknown[]): Promise<BulkResult> {
    return this.#bulk.execMany(args);
  }

  live<T extends object = SqlRow>(query: string, ...bindings: unknown[]): Live<T[]>;
  live(...args: unknown[]): Live<unknown> {
    return this.#live.read(liveQuery(args), this.#calls.signal);
  }
}
