// For tests of the sessions of pages: sessions on the objects of a host, their calls, and the time limits of their
// transactions, which end when the test says so.

import { deserialize } from '../../../src/shared/values/decode.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import type { WireAddress } from '../../../src/shared/wire/address.ts';
import type { Outcome } from '../../../src/shared/wire/errors-on-wire.ts';
import type { Call } from '../../../src/shared/wire/operations.ts';
import type { SessionId } from '../../../src/shared/wire/protocol.ts';
import type { ObjectHost } from '../../../worker/objects/host/object-host.ts';
import { PageSessions } from '../../../worker/objects/sessions/page-sessions.ts';

/** The time limit of a transaction. */
export interface TimeLimit {
  readonly delayMs: number;
  readonly expire: () => void;
}

export class TestSessions extends PageSessions {
  /** Every limit that was set, the last one last. */
  readonly limits: TimeLimit[];
  /** The limits that have not been cancelled. */
  readonly running: Set<TimeLimit>;

  constructor(host: ObjectHost) {
    const limits: TimeLimit[] = [];
    const running = new Set<TimeLimit>();
    super(host, (delayMs, expire) => {
      const limit = { delayMs, expire };
      limits.push(limit);
      running.add(limit);
      return () => void running.delete(limit);
    });
    this.limits = limits;
    this.running = running;
  }

  /** Opens a session. @throws if it is refused */
  async opened(target: string | WireAddress = 'object'): Promise<SessionId> {
    return unwrap(await this.open(target)) as SessionId;
  }

  /** Makes one call. @throws the error of its outcome */
  async call(session: SessionId, request: Call): Promise<unknown> {
    const [outcome] = await this.execute(session, [request]);
    return unwrap(outcome!);
  }

  /** The values of the object, in the order of their keys. */
  async contents(session: SessionId): Promise<string[]> {
    const range = { start: new Uint8Array(), end: null, limit: null, reverse: false };
    const entries = (await this.call(session, { op: 'list', range })) as [string, Uint8Array][];
    return entries.map(([, bytes]) => deserialize(bytes) as string);
  }
}

/** @throws the error of a call that failed */
export function unwrap(outcome: Outcome): unknown {
  if ('ok' in outcome) return outcome.ok;
  throw Object.assign(new Error(outcome.error.message), outcome.error.properties);
}

let transactions = 0;

/** The beginning of another transaction. */
export const begin = () => ({ op: 'begin', number: ++transactions }) as const;

export const put = (key: string, value: unknown = 1, txn?: number): Call => ({
  op: 'put',
  entries: [[key, serialize(value)]],
  unconfirmed: false,
  ...(txn !== undefined && { txn }),
});

export const get = (key: string): Call => ({ op: 'get', keys: [key] });

export const exec = (query: string, rowCount = 10) =>
  ({ op: 'exec', query, bindings: [], rowCount }) as const;
