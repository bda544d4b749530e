// The live reads of pages, and of code outside the objects. A page requests the next result, and receives the latest
// result as soon as that differs from the one that the page has.
//
// Invariant: an object stays in memory while a page has a live read of it. When the object's instance ends, every live
// read of the object answers once more, with the reason, and is removed. A page that closes leaves nothing behind.
// No assertion keeps this: a page may close at any moment; a follower that is left over shows in the count of reads
// (LiveReads.size).

import { callEntry, parametersIn } from '../../../src/shared/calls/stubs/invoke.ts';
import { fromWireAddress } from '../../../src/shared/calls/stubs/wire-address.ts';
import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { idOfStorage, type ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import { mustBeCallable } from '../../../src/shared/contract/rpc-class.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { passedValue } from '../../../src/shared/values/passed-value.ts';
import type { WireAddress } from '../../../src/shared/wire/address.ts';
import { type Outcome, toWire } from '../../../src/shared/wire/errors-on-wire.ts';
import type {
  LiveConnection,
  LiveKeep,
  LiveNumber,
  LiveOutcome,
  LiveRequest,
  LiveService,
  LiveStart,
} from '../../../src/shared/wire/protocol.ts';
import type { ObjectHost } from '../host/object-host.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';
import type { Cancellation } from '../io/cancellation.ts';
import type { KeptResults } from '../live/kept-results.ts';
import { type LiveRead, type LiveResult, storageRead } from '../live/live-reads.ts';

/** Maximum bytes of a result, as for the result of a call. */
const RESULT_BYTES_MAX = 32 * 1024 * 1024;

type Call = LiveRequest & { readonly op: 'call' };

export class LiveCalls implements LiveService {
  readonly #host: ObjectHost;

  constructor(host: ObjectHost) {
    this.#host = host;
  }

  connect(): LiveConnection {
    const open = new Map<LiveNumber, Follower>();
    let lastNumber = 0;
    let hasEnded = false;
    return {
      openLive: async (start) => {
        try {
          const follower = await this.#follow(start);
          if (hasEnded) follower.end(pageGone());
          const number = ++lastNumber;
          open.set(number, follower);
          return { ok: number };
        } catch (error) {
          return { error: toWire(error) };
        }
      },
      nextLive: async (number) => {
        const follower = open.get(number);
        if (follower === undefined) return { error: toWire(unknownRead()), isEnded: true };
        const outcome = await follower.next();
        if (outcome.isEnded === true) open.delete(number);
        return outcome;
      },
      closeLive: async (number) => {
        open.get(number)?.end(storageError('CONNECTION_CLOSED', 'The live read was closed.'));
        open.delete(number);
      },
      end: () => {
        hasEnded = true;
        for (const follower of open.values()) follower.end(pageGone());
        open.clear();
      },
    };
  }

  async #follow({ target, read, flag, keep }: LiveStart): Promise<Follower> {
    const { kept } = this.#host;
    const cancellation = flag && this.#host.cancellations.begin(flag);
    const ended = () => cancellation?.end();
    try {
      const isForecast = this.#host.followers.find(addressOf(target)) !== undefined;
      return await this.#use(target, (instance) => {
        const followed = cancellable(instance, readOf(instance, read), cancellation);
        return keep === undefined || kept === undefined
          ? new Follower(instance, followed, ended, isForecast)
          : keptFollower(instance, followed, ended, isForecast, kept, keep);
      });
    } catch (error) {
      ended();
      throw error;
    }
  }

  /**
   * Uses the target object. For an object that follows another one, uses its current forecast, which may be replaced
   * before the use begins.
   */
  async #use<T>(
    target: string | WireAddress,
    use: (instance: ObjectInstance) => T | PromiseLike<T>,
  ): Promise<T> {
    const address = addressOf(target);
    const followed = this.#host.followers.find(address);
    if (followed === undefined) return this.#host.use(address, use);
    for (;;) {
      try {
        return await this.#host.use(await followed.forecast(), use);
      } catch (error) {
        if (!isBranchEnded(error)) throw error;
      }
    }
  }
}

/** Holds one live read of a page: the result that the page has not seen yet, and whether the page waits for one. */
class Follower {
  #result: LiveResult | undefined;
  #end: LiveOutcome | undefined;
  #answer: ((outcome: LiveOutcome) => void) | undefined;
  readonly #stop: () => void;
  /** True if the instance is a forecast, which the object's next forecast replaces. */
  readonly #isForecast: boolean;

  constructor(
    instance: ObjectInstance,
    read: LiveRead,
    ended: () => void,
    isForecast: boolean,
    published: (result: LiveResult) => void = () => {},
  ) {
    this.#isForecast = isForecast;
    const release = instance.context.retain((reason) => this.end(reason));
    const remove = instance.live.add(read, (result) => {
      this.#result = result;
      this.#give();
      published(result);
    });
    this.#stop = () => {
      remove();
      release();
      ended();
    };
    if (this.#end !== undefined) this.#stop();
  }

  next(): Promise<LiveOutcome> {
    // The page asked twice for a result, so the first request fails.
    this.#answer?.({ error: toWire(unknownRead()), isEnded: false });
    return new Promise((answer) => {
      this.#answer = answer;
      this.#give();
    });
  }

  end(reason: unknown): void {
    if (this.#end !== undefined) return;
    const isMoved = this.#isForecast && isBranchEnded(reason);
    this.#end = { error: toWire(reason), isEnded: true, ...(isMoved && { isMoved }) };
    this.#stop?.();
    this.#give();
  }

  #give(): void {
    const outcome = this.#end ?? (this.#result && outcomeOf(this.#result));
    if (outcome === undefined || this.#answer === undefined) return;
    const answer = this.#answer;
    this.#answer = undefined;
    this.#result = undefined;
    answer(outcome);
  }
}

function outcomeOf(result: LiveResult): Outcome<Uint8Array> {
  return 'ok' in result ? result : { error: toWire(result.error) };
}

function addressOf(target: LiveStart['target']): ObjectAddress {
  if (typeof target !== 'string') return fromWireAddress(target);
  return { className: null, id: idOfStorage(target) };
}

function readOf(instance: ObjectInstance, request: LiveRequest): LiveRead {
  if (request.op !== 'call') return storageRead(instance.storage, request);
  return { kind: 'method', run: () => call(instance, request) };
}

function cancellable(
  { context }: ObjectInstance,
  read: LiveRead,
  cancellation: Cancellation | undefined,
): LiveRead {
  if (cancellation === undefined) return read;
  const work = <T>(run: () => T) => {
    context.workFor(cancellation);
    return run();
  };
  if (read.kind === 'method') return { kind: 'method', run: () => work(() => read.run()) };
  const run = () => {
    try {
      return work(() => read.run());
    } finally {
      context.workFor(undefined); // Other reads run in the same event and are not cancelled with this one.
    }
  };
  return { kind: 'storage', run };
}

/** Returns a follower whose results are kept for the page's next visit, once they are published. */
function keptFollower(
  instance: ObjectInstance,
  read: LiveRead,
  ended: () => void,
  isForecast: boolean,
  kept: KeptResults,
  keep: LiveKeep,
): Follower {
  const { address, storage } = instance;
  // Take the era before the read begins: the result belongs to this era or to a later one.
  let era = kept.era(address);
  let schema = 0;
  const noting = <T>(run: () => T) => {
    era = kept.era(address);
    schema = storage.schemaVersion;
    return run();
  };
  const followed: LiveRead =
    read.kind === 'method'
      ? { kind: 'method', run: () => noting(() => read.run()) }
      : { kind: 'storage', run: () => noting(() => read.run()) };
  return new Follower(instance, followed, ended, isForecast, (result) => {
    kept.keep(address, era, keep, 'ok' in result ? { bytes: result.ok, schema } : undefined);
  });
}

async function call(instance: ObjectInstance, request: Call): Promise<Uint8Array> {
  const { object } = instance;
  if (object === undefined) {
    throw storageError('UNKNOWN_CLASS', 'An object of openStorage has no class, and no methods.');
  }
  mustBeCallable(object);
  const result: unknown = await callEntry(
    object,
    request.path,
    parametersIn(passedValue(request.payload)),
  );
  return asBytes(request.path.join('.'), result);
}

function asBytes(method: string, result: unknown): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = serialize(result);
  } catch (error) {
    throw storageError(
      'INVALID_ARGUMENT',
      `live: the result of ${method}() cannot be copied: ${String(error)} A live method returns plain ` +
        'data; call it without live() for functions, stubs and streams.',
      { cause: error },
    );
  }
  if (bytes.byteLength <= RESULT_BYTES_MAX) return bytes;
  throw storageError(
    'MESSAGE_TOO_LARGE',
    `live: the result of ${method}() is ${bytes.byteLength} bytes, at most ${RESULT_BYTES_MAX}; ` +
      'return fewer rows.',
  );
}

function pageGone(): Error {
  return storageError('CONNECTION_CLOSED', 'The page is gone.');
}

function unknownRead(): Error {
  return storageError('CONNECTION_CLOSED', 'The live read has ended; open it again.');
}

function isBranchEnded(error: unknown): boolean {
  return isStorageError(error) && error.code === 'BRANCH_ENDED';
}
