// `sql` of a page: the statement is sent in the same turn, and its rows arrive in batches.

import { checkArgumentCount, convertString } from '../contract/arguments.ts';
import { type Binding, convertBinding } from '../contract/bindings.ts';
import { eachOf } from '../contract/each-of.ts';
import type { Live } from '../contract/live.ts';
import type { RowBatch } from '../contract/operations.ts';
import type { RemoteSqlCursor, RemoteSqlStorage, SqlRow } from '../contract/storage.ts';
import { liveQuery } from '../live/live-result.ts';
import type { PageEnvironment } from './environment.ts';
import type { LiveClient } from './live-client.ts';
import { FIRST_ROWS, RemoteCursor } from './remote-cursor.ts';
import type { SessionCalls } from './signalled-session.ts';

/** Queries of an object, or of an earlier moment of it. */
export class RemoteQueries {
  readonly #session: SessionCalls;
  readonly #whenCollected: PageEnvironment['whenCollected'];

  constructor(session: SessionCalls, whenCollected: PageEnvironment['whenCollected']) {
    this.#session = session;
    this.#whenCollected = whenCollected;
  }

  exec<T extends SqlRow = SqlRow>(query: string, ...bindings: unknown[]): RemoteSqlCursor<T>;
  exec<T extends SqlRow>(...args: unknown[]): RemoteSqlCursor<T> {
    return new RemoteCursor<T>(this.#session, this.#run(args), this.#whenCollected);
  }

  get databaseSize(): Promise<number> {
    return this.#session.call({ op: 'databaseSize' });
  }

  // A wrong argument is the cursor's error. No async function: thousands of statements may wait for their
  // answers, and each would keep a promise and its frame more.
  #run(args: readonly unknown[]): Promise<RowBatch> {
    try {
      checkArgumentCount('exec', args.length, 1);
      const query = convertString('exec', args[0]);
      const bindings = eachOf(args.slice(1), (value) => ownBytes(convertBinding(value)));
      return this.#session.call({ op: 'exec', query, bindings, rowCount: FIRST_ROWS });
    } catch (error) {
      return Promise.reject(error);
    }
  }
}

export class RemoteSql extends RemoteQueries implements RemoteSqlStorage {
  readonly #session: SessionCalls;
  readonly #live: LiveClient;

  constructor(
    session: SessionCalls,
    live: LiveClient,
    whenCollected: PageEnvironment['whenCollected'],
  ) {
    super(session, whenCollected);
    this.#session = session;
    this.#live = live;
  }

  live<T extends SqlRow = SqlRow>(query: string, ...bindings: unknown[]): Live<T[]>;
  live(...args: unknown[]): Live<unknown> {
    return this.#live.read(liveQuery(args), this.#session.signal);
  }
}

// The call leaves at the end of the turn, and the caller may write to the buffer until then.
// Structured clone would also send the whole buffer behind a view.
function ownBytes(binding: Binding): Binding {
  const isView = ArrayBuffer.isView(binding);
  if (!isView && !(binding instanceof ArrayBuffer)) return binding;
  if (binding.byteLength === 0) return new Uint8Array(0); // a detached buffer as well
  const bytes = isView
    ? new Uint8Array(binding.buffer, binding.byteOffset, binding.byteLength)
    : new Uint8Array(binding);
  return bytes.slice();
}
