// What the other side has passed by reference, as code here uses it: functions and stubs, streams,
// signals.
//
// Keeps true: the reference is released on the other side when the last handle of it was disposed or
// collected, or belonged to an object that has ended, and once only.

import { storageError } from '../contract/errors.ts';
import { fromWire } from '../rpc/errors-on-wire.ts';
import type {
  Payload,
  ReferenceNumber,
  ReferencePeer,
  ReferenceRequest,
} from '../rpc/object-protocol.ts';
import { addRpcStub } from '../stubs/known-stubs.ts';
import type { Party } from '../stubs/party.ts';
import { DISPOSE, isRemote, remoteMember, rpcPromise } from '../stubs/rpc-promise.ts';
import type { Channel } from './references.ts';

/** A reference of the other side, held by any number of handles. */
export class Import {
  readonly #peer: ReferencePeer;
  readonly #number: ReferenceNumber;
  #handles = 0;

  constructor(peer: ReferencePeer, number: ReferenceNumber) {
    this.#peer = peer;
    this.#number = number;
  }

  /** The answer. Rejects with the other side's error, or the reason that the connection ended. */
  async ask(request: ReferenceRequest): Promise<Payload | null> {
    const outcome = await this.#peer.ask(this.#number, request);
    if ('ok' in outcome) return outcome.ok;
    throw remoteError(fromWire(outcome.error));
  }

  /** A handle that releases itself when its owner is collected; the result ends it before. */
  hold(owner: object): () => void {
    this.#handles += 1;
    let isHeld = true;
    const end = () => {
      if (!isHeld) return;
      isHeld = false;
      collected.unregister(end);
      this.#handles -= 1;
      // A connection that ended has released everything.
      if (this.#handles === 0) this.#peer.release([this.#number]).catch(() => {});
    };
    collected.register(owner, end, end);
    return end;
  }
}

const collected = new FinalizationRegistry<() => void>((end) => end());

/** Marks what was thrown on the other side, as workerd does. */
export function remoteError(thrown: unknown): unknown {
  if (typeof thrown === 'object' && thrown !== null) {
    Object.defineProperty(thrown, 'remote', { value: true, configurable: true });
  }
  return thrown;
}

/** A function, which is also the stub of an RpcTarget: methods and properties as promises. */
export function importCallable(reference: Import, channel: Channel, party: Party): object {
  let end = () => {};
  let isDisposed = false;
  const ask = async (request: () => ReferenceRequest) => {
    if (isDisposed) {
      throw storageError('CONNECTION_CLOSED', 'The stub was disposed; take dup() to keep one.');
    }
    const payload = await party.io.send(() => reference.ask(request()));
    return channel.receive(payload!, party);
  };
  const call = async (name: string | null, parameters: unknown[]) => {
    const draft = channel.draft(parameters, party);
    return ask(() => ({ op: 'call', member: name, payload: channel.send(draft) }));
  };
  const dispose = () => {
    isDisposed = true;
    end();
  };
  const stub: object = new Proxy(() => {}, {
    apply: (_target, _this, parameters) => rpcPromise(call(null, parameters)),
    get(_target, name) {
      if (name === DISPOSE) return dispose;
      if (name === 'dup') return () => importCallable(reference, channel, party);
      if (name === 'toString') return () => '[object RpcStub]';
      if (!isRemote(name)) return undefined;
      return remoteMember({
        get: () => ask(() => ({ op: 'get', member: name })),
        call: (parameters) => call(name, parameters),
      });
    },
    has: (_target, name) => typeof name === 'string',
  });
  addRpcStub(stub);
  const release = reference.hold(stub);
  const forget = party.io.onEnd(release);
  end = () => {
    forget();
    release();
  };
  return stub;
}

/** A readable stream; `isBody` for one that is read by the engine, as a message's body. */
export function importReadable(
  reference: Import,
  channel: Channel,
  party: Party,
  isBody: boolean,
): ReadableStream {
  const pull = () => reference.ask({ op: 'pull' });
  const source: UnderlyingDefaultSource = {
    async pull(controller) {
      const payload = await (isBody ? pull() : party.io.send(pull));
      if (payload !== null) {
        controller.enqueue(channel.receive(payload, party));
        return;
      }
      controller.close();
      end();
    },
    async cancel(reason) {
      const draft = channel.draft(cloneable(reason), party);
      await party.io.send(() => reference.ask({ op: 'cancel', payload: channel.send(draft) }));
      end();
    },
  };
  // The source is what an engine keeps while it reads; the stream itself may be collected meanwhile.
  const end = reference.hold(source);
  return new ReadableStream(source, { highWaterMark: 0 });
}

export function importWritable(reference: Import, channel: Channel, party: Party): WritableStream {
  const sink: UnderlyingSink = {
    async write(chunk) {
      const draft = channel.draft(chunk, party);
      await party.io.send(() => reference.ask({ op: 'write', payload: channel.send(draft) }));
    },
    async close() {
      await party.io.send(() => reference.ask({ op: 'close' }));
      end();
    },
    async abort(reason) {
      const draft = channel.draft(cloneable(reason), party);
      await party.io.send(() => reference.ask({ op: 'abort', payload: channel.send(draft) }));
      end();
    },
  };
  const end = reference.hold(sink);
  return new WritableStream(sink);
}

/** A signal of the other side; aborted as an event of this one. */
export function importSignal(reference: Import, channel: Channel, party: Party): AbortSignal {
  const controller = new AbortController();
  const { signal } = controller;
  controllers.set(signal, controller);
  reference.hold(signal);
  const aborted = new WeakRef(controller);
  const enter = party.io.entrance();
  reference.ask({ op: 'wait' }).then(
    (payload) => {
      if (payload === null) return;
      const reason = channel.receive(payload, party);
      enter(() => aborted.deref()?.abort(reason)).catch(() => {}); // nobody is left to tell
    },
    // The other side is gone, and with it whoever waits for the answer.
    (error) => enter(() => aborted.deref()?.abort(error)).catch(() => {}),
  );
  return signal;
}

/** The controller lives as long as its signal, and no longer. */
const controllers = new WeakMap<AbortSignal, object>();

// A reason may be anything; one that cannot be sent goes by its words.
function cloneable(reason: unknown): unknown {
  try {
    return structuredClone(reason);
  } catch {
    return String(reason);
  }
}
