// An earlier moment of an object, on a page: the reading part of its storage.

import type { RemoteKvStorage, RemoteSqlStorage, StorageMoment } from '../contract/storage.ts';
import { setWithSignal } from '../stubs/with-signal.ts';
import type { PageEnvironment } from './environment.ts';
import type { MomentSession } from './moment-session.ts';
import { RemoteKeyValue } from './remote-key-value.ts';
import { RemoteKv } from './remote-kv.ts';
import type { SendCall } from './remote-methods.ts';
import { RemoteQueries } from './remote-sql.ts';

/** Its methods that write, which only the types hide, reject with READ_ONLY. */
export class RemoteMoment extends RemoteKeyValue implements StorageMoment {
  readonly bookmark: string;
  readonly sql: Pick<RemoteSqlStorage, 'exec' | 'databaseSize'>;
  readonly kv: Pick<RemoteKvStorage, 'get' | 'list'>;
  readonly #session: MomentSession;

  constructor(session: MomentSession, environment: Pick<PageEnvironment, 'whenCollected'>) {
    const send: SendCall = (call) => session.call(call);
    super(send);
    this.#session = session;
    this.bookmark = session.bookmark;
    this.sql = new RemoteQueries(session, environment.whenCollected);
    this.kv = new RemoteKv(send);
    setWithSignal(this, (signal) => new RemoteMoment(session.withSignal(signal), environment));
  }

  exportDatabase(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#session.call({ op: 'exportDatabase' });
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}
