// Live reads between page and worker. The page opens one, then asks for its next result; the answer comes
// when there is one that the page does not have. So the page gets the latest result when it is ready for it,
// and notices a worker that does not answer as for any other call.

import { type CallFlag, checkFlag } from '../contract/call-flag.ts';
import { checkFields, checkString, malformed } from '../contract/check.ts';
import type { StorageRead } from '../contract/live.ts';
import * as field from '../contract/operation-fields.ts';
import { checkTarget } from './check-calls.ts';
import { checkObjectRequest } from './check-objects.ts';
import type { Outcome } from './errors-on-wire.ts';
import type { Payload, WireAddress } from './object-protocol.ts';

/** A read, or a method that reads; the payload is the array of arguments. */
export type LiveRequest =
  | StorageRead
  | { readonly op: 'call'; readonly path: readonly string[]; readonly payload: Payload };

export interface LiveStart {
  /** The object, as for `open`. */
  readonly target: string | WireAddress;
  readonly read: LiveRequest;
  /** Present if it can be cancelled. */
  readonly flag?: CallFlag;
}

/** One live read of one connection; the worker counts up. */
export type LiveNumber = number;

/**
 * The next result, serialized, or why the read failed. `isEnded`: the instance of the object has ended, and
 * the live read with it.
 */
export type LiveOutcome = Outcome<Payload> & { readonly isEnded?: boolean };

export interface LivePeer {
  openLive(start: LiveStart): Promise<Outcome<LiveNumber>>;
  /** Waits for a result that differs from the last one that was given. */
  nextLive(number: LiveNumber): Promise<LiveOutcome>;
  closeLive(number: LiveNumber): Promise<void>;
}

/** One page's live reads, at the worker. */
export interface LiveConnection extends LivePeer {
  /** The page is gone. */
  end(): void;
}

/** What a worker that serves live reads is to its clients. */
export interface LiveService {
  connect(): LiveConnection;
}

/** @throws INVALID_ARGUMENT, and the errors of limits */
export function checkLiveStart(value: unknown): LiveStart {
  const { target, read, flag } = checkFields('live read', value);
  const start = { target: checkTarget(target), read: checkRead(read) };
  return flag === undefined ? start : { ...start, flag: checkFlag(flag) };
}

function checkRead(value: unknown): LiveRequest {
  const fields = checkFields('read', value);
  switch (fields.op) {
    case 'get':
      return { op: 'get', keys: field.keys('keys', fields.keys, 'live') };
    case 'list':
      return { op: 'list', range: field.range('range', fields.range, 'live') };
    case 'query': {
      const bindings = field.bindings('bindings', fields.bindings, 'live');
      return { op: 'query', query: checkString('query', fields.query), bindings };
    }
    case 'call': {
      const request = checkObjectRequest(value);
      if (request.op === 'call')
        return { op: 'call', path: request.path, payload: request.payload };
    }
  }
  throw malformed('op', 'one of the protocol');
}
