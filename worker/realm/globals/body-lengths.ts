// Records the lengths of the streams of bodies and blobs. In workerd such a stream knows its length, which the `put` of
// an R2 bucket requires.
//
// A length is known if the body was made from text, bytes or a blob, or arrived with a `content-length`. It is computed
// only when code reads `body`.

import { byteLengthOf, noteContent } from '../../../src/shared/calls/http/body.ts';
import { undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import { notedLength, noteLength } from '../../../src/shared/contract/stream-length.ts';

type Scope = Pick<typeof globalThis, 'Request' | 'Response' | 'Blob'>;
type Message = Request | Response;

/** The body argument that each message was constructed with. */
const bodyArguments = new WeakMap<Message, BodyInit>();

/** Remembers the body argument of a new message. */
export function rememberSource<M extends Message>(
  message: M,
  body: BodyInit | null | undefined,
): M {
  if (body !== null && body !== undefined) bodyArguments.set(message, body);
  if (typeof body === 'string') noteContent(message, body);
  return message;
}

/** Returns the body argument of a message; undefined if there was none, or if the message was made outside this scope. */
export function bodySource(message: Message): BodyInit | undefined {
  return bodyArguments.get(message);
}

/** Replaces `body` of messages and `stream` of blobs, to record lengths. Call the result to restore them. */
export function installBodyLengths({ Request, Response, Blob }: Scope): () => void {
  const { stream } = Blob.prototype;
  const streamWithLength = function (this: Blob): ReturnType<Blob['stream']> {
    const made = stream.call(this) as ReturnType<Blob['stream']>;
    noteLength(made, this.size);
    return made;
  };
  const undo = [
    replaceBody(Request.prototype),
    replaceBody(Response.prototype),
    replaceMember(Blob.prototype, 'stream', { value: streamWithLength }),
  ];
  return () => undoAll(undo);
}

/** Replaces the getter `body`. Does nothing for requests in Firefox, which have no `body`. */
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
  const source = bodyArguments.get(message);
  const byteCount = source === undefined ? undefined : byteLengthOf(source);
  if (byteCount !== undefined) return byteCount;
  const { headers } = message;
  // With a content encoding, `content-length` counts compressed bytes, and the stream gives decompressed ones.
  const contentLength = headers.has('content-encoding') ? null : headers.get('content-length');
  return contentLength === null ? undefined : Number(contentLength);
}

/**
 * Changes some attributes of a property. Call the result to restore the property, unless other code has replaced it
 * since. Does nothing in Bun, whose properties cannot be redefined: streams have no known length there.
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
