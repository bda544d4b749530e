// Streams: read or written from the other side, one chunk a message. Nothing is transferred, because a
// connection to another tab is a BroadcastChannel, which cannot transfer.
//
// Invariant: a stream whose reader or writer is gone is cancelled or aborted at its source.

import { structuredCopy } from '../../values/value.ts';
import type { Payload } from '../../wire/address.ts';
import type { ReferenceRequest } from '../../wire/protocol.ts';
import { bytesOf, MessageBody, noteReceived, type PulledBytes, pulledBytes } from '../http/body.ts';
import type { Enter } from '../io/io-context.ts';
import type { Party } from '../stubs/party.ts';
import type { Exported, ReferenceChannel } from './channel.ts';
import type { Imported } from './imported.ts';
import { misused, type ReferenceKind } from './kind.ts';

export const readable: ReferenceKind<ReadableStream> = {
  by: 'reference',
  recognizes: (value) => value instanceof ReadableStream,
  leave: (stream, party) => new ExportedReadable(stream, party),
  arrive: readableOf,
};

/**
 * The body of a request or response: the engine reads it, so no gate delays its chunks, and an unread body
 * keeps nothing in memory (workerd).
 */
export const body: ReferenceKind<MessageBody> = {
  by: 'reference',
  recognizes: (value): value is MessageBody =>
    value instanceof MessageBody && value.stream !== undefined,
  leave: ({ stream }, party) => new ExportedReadable(stream!, party),
  arrive: bodyOf,
};

export const writable: ReferenceKind<WritableStream> = {
  by: 'reference',
  recognizes: (value) => value instanceof WritableStream,
  leave: (stream, party) => new ExportedWritable(stream, party),
  arrive: writableOf,
};

class ExportedReadable implements Exported {
  readonly #reader: ReadableStreamDefaultReader;
  readonly #party: Party;
  readonly #enter: Enter;

  constructor(stream: ReadableStream, party: Party) {
    this.#reader = stream.getReader();
    this.#party = party;
    this.#enter = party.io.entrance();
  }

  retain(): () => void {
    return this.#party.io.retain();
  }

  async ask(request: ReferenceRequest, channel: ReferenceChannel): Promise<Payload | null> {
    switch (request.op) {
      case 'pull':
        return this.#pull(channel);
      case 'cancel': {
        const reason = channel.receive(request.payload, this.#party);
        await this.#enter(() => this.#reader.cancel(reason));
        return null;
      }
      default:
        throw misused(request);
    }
  }

  release(reason: unknown): void {
    this.#reader.cancel(reason).catch(() => {}); // it has ended or failed already
  }

  async #pull(channel: ReferenceChannel): Promise<Payload | null> {
    const draft = await this.#enter(async () => {
      const { done, value } = await this.#reader.read();
      return done ? null : channel.draft(trimmed(value), this.#party);
    });
    return draft === null ? null : channel.send(draft);
  }
}

class ExportedWritable implements Exported {
  readonly #writer: WritableStreamDefaultWriter;
  readonly #party: Party;
  readonly #enter: Enter;

  constructor(stream: WritableStream, party: Party) {
    this.#writer = stream.getWriter();
    this.#party = party;
    this.#enter = party.io.entrance();
    this.#writer.closed.catch(() => {}); // the write that fails reports it
  }

  retain(): () => void {
    return this.#party.io.retain();
  }

  async ask(request: ReferenceRequest, channel: ReferenceChannel): Promise<Payload | null> {
    await this.#enter(() => {
      switch (request.op) {
        case 'write':
          return this.#writer.write(channel.receive(request.payload, this.#party));
        case 'close':
          return this.#writer.close();
        case 'abort':
          return this.#writer.abort(channel.receive(request.payload, this.#party));
        default:
          throw misused(request);
      }
    });
    return null;
  }

  release(reason: unknown): void {
    this.#writer.abort(reason).catch(() => {}); // it has ended or failed already
  }
}

function readableOf(imported: Imported): ReadableStream {
  const source: UnderlyingDefaultSource = {
    async pull(controller) {
      const payload = await imported.send({ op: 'pull' });
      if (payload !== null) {
        controller.enqueue(imported.read(payload));
        return;
      }
      controller.close();
      end();
    },
    async cancel(reason) {
      await cancel(imported, reason);
      end();
    },
  };
  // While it reads, an engine keeps the source, but may collect the stream.
  const end = imported.holdInUse(source);
  return noteReceived(new ReadableStream(source, { highWaterMark: 0 }));
}

function bodyOf(imported: Imported): MessageBody {
  const source: PulledBytes = {
    async next() {
      const payload = await imported.ask({ op: 'pull' });
      if (payload !== null) return bytesOf(imported.read(payload));
      end();
      return null;
    },
    async cancel(reason) {
      await cancel(imported, reason);
      end();
    },
  };
  const end = imported.hold(source);
  return new MessageBody(pulledBytes(source));
}

async function cancel(imported: Imported, reason: unknown): Promise<void> {
  const draft = imported.draft(cloneable(reason));
  await imported.sendDraft(draft, (payload) => ({ op: 'cancel', payload }));
}

function writableOf(imported: Imported): WritableStream {
  const sink: UnderlyingSink = {
    async write(chunk) {
      await imported.sendDraft(imported.draft(chunk), (payload) => ({ op: 'write', payload }));
    },
    async close() {
      await imported.send({ op: 'close' });
      end();
    },
    async abort(reason) {
      const draft = imported.draft(cloneable(reason));
      await imported.sendDraft(draft, (payload) => ({ op: 'abort', payload }));
      end();
    },
  };
  const end = imported.holdInUse(sink);
  return new WritableStream(sink);
}

// The serializer writes a view with its whole buffer.
function trimmed(chunk: unknown): unknown {
  return chunk instanceof Uint8Array && chunk.byteLength < chunk.buffer.byteLength
    ? new Uint8Array(chunk)
    : chunk;
}

// A reason may be any value; a reason that cannot be sent is replaced by its text.
function cloneable(reason: unknown): unknown {
  try {
    return structuredCopy(reason);
  } catch {
    return String(reason);
  }
}
