// Lets the other side read or write a stream, with one message per chunk. Streams are not transferred, because the
// connection to another tab is a BroadcastChannel, which cannot transfer objects.
//
// Invariant: if the reader or writer on the other side is gone, the stream is cancelled or aborted at its source.

import { structuredCopy } from '../../values/value.ts';
import type { Payload } from '../../wire/address.ts';
import type { ReferenceRequest } from '../../wire/protocol.ts';
import { bytesOf, MessageBody, noteReceived, type PulledBytes, pulledBytes } from '../http/body.ts';
import type { Enter } from '../io/io-context.ts';
import type { Party } from '../stubs/party.ts';
import type { Exported, ReferenceChannel } from './channel.ts';
import type { Imported } from './imported.ts';
import { type ReferenceKind, unsupportedRequestError } from './kind.ts';

export const readable: ReferenceKind<ReadableStream> = {
  by: 'reference',
  recognizes: (value) => value instanceof ReadableStream,
  leave: (stream, party) => new ExportedReadable(stream, party),
  arrive: readableOf,
};

/**
 * The kind of a message's body. The engine reads it, so its chunks do not wait at a gate, and an unread body keeps no
 * object in memory, as in workerd.
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
        throw unsupportedRequestError(request);
    }
  }

  release(reason: unknown): void {
    this.#reader.cancel(reason).catch(() => {}); // The stream has ended or failed already.
  }

  async #pull(channel: ReferenceChannel): Promise<Payload | null> {
    const draft = await this.#enter(async () => {
      const { done, value } = await this.#reader.read();
      return done ? null : channel.draft(withOwnBuffer(value), this.#party);
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
    this.#writer.closed.catch(() => {}); // the failing write reports the error
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
          throw unsupportedRequestError(request);
      }
    });
    return null;
  }

  release(reason: unknown): void {
    this.#writer.abort(reason).catch(() => {}); // The stream has ended or failed already.
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
  // The handle belongs to the source, because an engine may garbage collect the stream while a read is pending.
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
  const draft = imported.draft(toCloneable(reason));
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
      const draft = imported.draft(toCloneable(reason));
      await imported.sendDraft(draft, (payload) => ({ op: 'abort', payload }));
      end();
    },
  };
  const end = imported.holdInUse(sink);
  return new WritableStream(sink);
}

// Copies a view of a larger buffer, because the serializer would write the whole buffer.
function withOwnBuffer(chunk: unknown): unknown {
  return chunk instanceof Uint8Array && chunk.byteLength < chunk.buffer.byteLength
    ? new Uint8Array(chunk)
    : chunk;
}

// Replaces a reason that cannot be cloned by its text.
function toCloneable(reason: unknown): unknown {
  try {
    return structuredCopy(reason);
  } catch {
    return String(reason);
  }
}
