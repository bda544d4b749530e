// How many bytes the streams of bodies and blobs give: in workerd they know it, and a put into a bucket asks.
//
// A body knows its length if it was made of text, bytes or a blob, or came with a `content-length`. Nothing is computed
// before code reads `body`.

import { byteLengthOf, noteContent } from '../../../src/shared/calls/http/body.ts';
import { undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import { notedLength, noteLength } from '../../../src/shared/contract/stream-length.ts';

type Scope = Pick<typeof globalThis, 'Request' | 'Response' | 'Blob'>;
type Message = Request | Response;

/** What messages were made of. */
const sources = new WeakMap<Message, BodyInit>();

/** Remembers what a new message is made of. */
export function noteSource<M extends Message>(message: M, body: BodyInit | null | undefined): M {
  if (body !== null && body !== undefined) sources.set(message, body);
  if (typeof body === 'string') noteContent(message, body);
  return message;
}

/** Undefined if it has no body, or is not a message of this scope. */
export function bodySource(message: Message): BodyInit | undefined {
  return sources.get(message);
}

/** Notes the lengths of the scope's streams; the result undoes it. */
export function installBodyLengths({ Request, Response, Blob }: Scope): () => void {
  const { stream } = Blob.prototype;
  const noted = function (this: Blob): ReturnType<Blob['stream']> {
    const made = stream.call(this) as ReturnType<Blob['stream']>;
    noteLength(made, this.size);
    return made;
  };
  const undo = [
    replaceBody(Request.prototype),
    replaceBody(Response.prototype),
    replaceMember(Blob.prototype, 'stream', { value: noted }),
  ];
  return () => undoAll(undo);
}

/** Firefox has no `body` of a request. */
function replaceBody(prototype: Message): () => void {
  const native = Object.getOwnPropertyDescriptor(prototype, 'body')?.get;
  if (native === undefined) return () => {};
  const get = function (this: Message): ReadableStream | null {
    const stream = Reflect.apply(native, this, []) as ReadableStream | null;
    if (stream !== null && notedLength(stream) === undefined) {
      const byteCount = lengthOf(this);
      if (byteCount !== undefined) noteLength(stream, byteCount);
    }
    return stream;
  };
  return replaceMember(prototype, 'body', { get });
}

function lengthOf(message: Message): number | undefined {
  const source = sources.get(message);
  const byteCount = source === undefined ? undefined : byteLengthOf(source);
  if (byteCount !== undefined) return byteCount;
  const { headers } = message;
  // The header counts the bytes before they are unpacked.
  const told = headers.has('content-encoding') ? null : headers.get('content-length');
  return told === null ? undefined : Number(told);
}

/**
 * Keeps the other attributes; restores the member, unless other code has replaced it since. Bun's members cannot be
 * replaced: there, these streams have no known length.
 */
export function replaceMember(
  holder: object,
  name: string,
  change: PropertyDescriptor,
): () => void {
  const original = Object.getOwnPropertyDescriptor(holder, name)!;
  if (original.configurable === false) return () => {};
  const changed = { ...original, ...change };
  Object.defineProperty(holder, name, changed);
  return () => {
    const { get, value } = Object.getOwnPropertyDescriptor(holder, name) ?? {};
    if (get === changed.get && value === changed.value)
      Object.defineProperty(holder, name, original);
  };
}
