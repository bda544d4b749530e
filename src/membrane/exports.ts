// What one side has passed to the other by reference, and what the other may ask of it.
//
// Keeps true: the code behind a reference runs only as an event of the party it belongs to, in the
// critical section it was passed from; what was released, or whose connection ended, is let go of:
// streams are cancelled, waits are answered.

import { storageError } from '../contract/errors.ts';
import type { Enter } from '../io/io-context.ts';
import type { Payload, ReferenceRequest } from '../rpc/object-protocol.ts';
import { callMember, parametersIn, readMember } from '../stubs/invoke.ts';
import type { Party } from '../stubs/party.ts';
import { DISPOSE, disposeOf } from '../stubs/rpc-promise.ts';
import type { Channel } from './references.ts';

export interface Exported {
  readonly party: Party;
  /** It is being sent: from now on it belongs to the other side. @throws TypeError when it is in use */
  begin(): void;
  /** Keeps what stands behind it in memory, when it needs that, until the result is called. */
  retain(): () => void;
  ask(request: ReferenceRequest, channel: Channel): Promise<Payload | null>;
  /** The other side needs it no more. Called once. */
  release(reason: unknown): void;
}

/** A function, or an RpcTarget with its methods and getters; disposed of when it is let go of. */
export class ExportedCallable implements Exported {
  readonly party: Party;
  readonly #enter: Enter;
  readonly #target: object;

  constructor(target: object, party: Party) {
    this.#target = target;
    this.party = party;
    this.#enter = party.io.entrance();
  }

  begin(): void {}

  retain(): () => void {
    return this.party.io.retain();
  }

  ask(request: ReferenceRequest, channel: Channel): Promise<Payload | null> {
    return answer(request, channel, this.party, this.#enter, {
      get: (name) => readMember(this.#target, name),
      call: (name, parameters) => this.#call(name, parameters),
    });
  }

  // What disposing throws concerns nobody: whoever let go does not wait for it, as in workerd.
  release(): void {
    this.#enter(() => disposeOf(this.#target)).catch(() => {});
  }

  #call(name: string | null, parameters: unknown[]): unknown {
    if (name !== null) return callMember(this.#target, name, parameters);
    if (typeof this.#target === 'function') return this.#target(...parameters);
    throw storageError('UNKNOWN_METHOD', 'The RpcTarget is not a function; call a method of it.');
  }
}

/**
 * Whose the stubs in a message are then. Arguments are lent: the caller keeps its own handle. Results
 * are given: the handle ends with the receiver's.
 */
export type Ownership = 'lent' | 'given';

/** A stub of somewhere else, passed on: what it can do is known there. */
export class ExportedStub implements Exported {
  readonly party: Party;
  readonly #enter: Enter;
  readonly #given: object;
  readonly #ownership: Ownership;
  #stub: object | undefined;

  constructor(stub: object, party: Party, ownership: Ownership) {
    this.#given = stub;
    this.#ownership = ownership;
    this.party = party;
    this.#enter = party.io.entrance();
  }

  begin(): void {
    this.#stub = this.#ownership === 'given' ? this.#given : Reflect.get(this.#given, 'dup')();
  }

  retain(): () => void {
    return this.party.io.retain();
  }

  ask(request: ReferenceRequest, channel: Channel): Promise<Payload | null> {
    const stub = this.#stub!;
    return answer(request, channel, this.party, this.#enter, {
      get: (name) => Reflect.get(stub, name),
      call: (name, parameters) =>
        Reflect.apply((name === null ? stub : Reflect.get(stub, name)) as Method, stub, parameters),
    });
  }

  release(): void {
    Reflect.get(this.#stub!, DISPOSE)();
  }
}

type Method = (...parameters: unknown[]) => unknown;

/** How what stands behind a reference is used. */
interface Members {
  get(name: string): unknown;
  call(name: string | null, parameters: unknown[]): unknown;
}

async function answer(
  request: ReferenceRequest,
  channel: Channel,
  party: Party,
  enter: Enter,
  members: Members,
): Promise<Payload> {
  const draft = await enter(async () => {
    switch (request.op) {
      case 'call': {
        const parameters = parametersIn(channel.receive(request.payload, party));
        return channel.draft(await members.call(request.member, parameters), party, 'given');
      }
      case 'get':
        return channel.draft(await members.get(request.member), party, 'given');
      default:
        throw misused(request);
    }
  });
  return channel.send(draft);
}

export class ExportedReadable implements Exported {
  readonly party: Party;
  readonly #enter: Enter;
  readonly #stream: ReadableStream;
  #reader: ReadableStreamDefaultReader | undefined;

  constructor(stream: ReadableStream, party: Party) {
    this.#stream = stream;
    this.party = party;
    this.#enter = party.io.entrance();
  }

  begin(): void {
    this.#reader = this.#stream.getReader();
  }

  retain(): () => void {
    return this.party.io.retain();
  }

  async ask(request: ReferenceRequest, channel: Channel): Promise<Payload | null> {
    const { party } = this;
    if (request.op === 'cancel') {
      const reason = channel.receive(request.payload, party);
      await this.#enter(() => this.#reader?.cancel(reason));
      return null;
    }
    if (request.op !== 'pull') throw misused(request);
    const draft = await this.#enter(async () => {
      const { done, value } = await this.#reader!.read();
      return done ? null : channel.draft(trimmed(value), party);
    });
    return draft === null ? null : channel.send(draft);
  }

  release(reason: unknown): void {
    this.#reader?.cancel(reason).catch(() => {}); // ended or failed already
  }
}

export class ExportedWritable implements Exported {
  readonly party: Party;
  readonly #enter: Enter;
  readonly #stream: WritableStream;
  #writer: WritableStreamDefaultWriter | undefined;

  constructor(stream: WritableStream, party: Party) {
    this.#stream = stream;
    this.party = party;
    this.#enter = party.io.entrance();
  }

  begin(): void {
    this.#writer = this.#stream.getWriter();
    this.#writer.closed.catch(() => {}); // told by the write that fails
  }

  retain(): () => void {
    return this.party.io.retain();
  }

  async ask(request: ReferenceRequest, channel: Channel): Promise<Payload | null> {
    const { party } = this;
    await this.#enter(() => {
      switch (request.op) {
        case 'write':
          return this.#writer!.write(channel.receive(request.payload, party));
        case 'close':
          return this.#writer!.close();
        case 'abort':
          return this.#writer!.abort(channel.receive(request.payload, party));
        default:
          throw misused(request);
      }
    });
    return null;
  }

  release(reason: unknown): void {
    this.#writer?.abort(reason).catch(() => {}); // ended or failed already
  }
}

/** A signal, which the other side waits for. */
export class ExportedSignal implements Exported {
  readonly party: Party;
  readonly #signal: AbortSignal;
  /** Settles with true when it is aborted, with false when nobody waits any more. */
  #aborted: Promise<boolean> = Promise.resolve(false);
  #end: () => void = () => {};

  constructor(signal: AbortSignal, party: Party) {
    this.#signal = signal;
    this.party = party;
  }

  begin(): void {
    const signal = this.#signal;
    this.#aborted = new Promise((resolve) => {
      const aborted = () => resolve(true);
      this.#end = () => {
        signal.removeEventListener('abort', aborted);
        resolve(false);
      };
      if (signal.aborted) aborted();
      else signal.addEventListener('abort', aborted, { once: true });
    });
  }

  retain(): () => void {
    return this.party.io.retain();
  }

  async ask(request: ReferenceRequest, channel: Channel): Promise<Payload | null> {
    if (request.op !== 'wait') throw misused(request);
    if (!(await this.#aborted)) return null;
    return channel.send(channel.draft(this.#signal.reason, this.party));
  }

  release(): void {
    this.#end();
  }
}

export function misused(request: ReferenceRequest): Error {
  return storageError('INTERNAL', `A reference was asked to ${request.op}, which it cannot.`);
}

// A view is written with the whole buffer it looks at.
function trimmed(chunk: unknown): unknown {
  return chunk instanceof Uint8Array && chunk.byteLength < chunk.buffer.byteLength
    ? new Uint8Array(chunk)
    : chunk;
}
