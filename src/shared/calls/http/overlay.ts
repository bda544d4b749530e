// Overlays members of a request or response: headers that the engine drops, a body that the engine refuses, and a body
// that is read through the gate of an I/O context.
//
// Invariant: a clone has the overlaid members that the message had when it was cloned.

import { notedLength, noteLength } from '../../contract/stream-length.ts';
import type { IoContext } from '../io/io-context.ts';
import { pulledBytes } from './body.ts';

/** The gate through which the bytes of a body enter the context that reads it. */
export type Gate = Pick<IoContext, 'receive'>;

/** The members that replace those of the message. Members left out stay the engine's. */
export interface MessageOverlay {
  /** Returns all headers of the message. It is called once, when they are first read. */
  readonly headers?: (() => Headers) | undefined;
  /** The response that holds the body, if the message itself does not. */
  readonly holder?: Response | undefined;
  /** The gate through which the body is read. */
  readonly gate?: Gate | undefined;
  /** True if the body arrived with its message. Its reading methods still use the gate, its stream does not. */
  readonly hasArrived?: boolean;
}

export const READERS = ['text', 'json', 'arrayBuffer', 'bytes', 'blob', 'formData'] as const;

const NO_GATE: Gate = { receive: (start) => start() };

/** Overlays the message and returns it. An empty overlay changes nothing. */
export function overlayMessage<M extends Request | Response>(
  message: M,
  overlay: MessageOverlay,
): M {
  const { headers, holder, gate, hasArrived } = overlay;
  if (headers === undefined && holder === undefined && gate === undefined) return message;
  if (headers !== undefined) defineOnce(message, 'headers', headers);
  if (holder !== undefined || gate !== undefined) {
    const source = holder ?? message;
    overlayReaders(message, source, gate ?? NO_GATE);
    if (!hasArrived) overlayBody(message, source, gate ?? NO_GATE);
  }
  const clone = nativeMember(message, 'clone') as () => M;
  define(message, 'clone', () => {
    const copied = new Headers(message.headers);
    return overlayMessage(clone(), { ...overlay, headers: () => copied, holder: holder?.clone() });
  });
  return message;
}

/** Makes the headers of a received message and of its clones read-only: code must copy the message to change them. */
export function withFixedHeaders<M extends Request | Response>(message: M): M {
  for (const name of ['append', 'delete', 'set']) define(message.headers, name, refuseChange);
  const clone = message.clone.bind(message) as () => M;
  define(message, 'clone', () => withFixedHeaders(clone()));
  return message;
}

/** Throws the error that workerd throws. */
function refuseChange(): never {
  throw new TypeError("Can't modify immutable headers.");
}

/** Returns the headers for an overlay if the engine has dropped some of those given; undefined if it kept all. */
export function droppedFrom(
  message: Request | Response,
  given: Headers,
): MessageOverlay['headers'] {
  return [...message.headers].length === [...given].length ? undefined : () => given;
}

function overlayReaders(message: object, source: Request | Response, gate: Gate): void {
  for (const name of READERS) {
    const read = nativeMember(source, name) as (() => Promise<unknown>) | undefined;
    // Older browsers lack `bytes()`.
    if (read !== undefined) define(message, name, () => gate.receive(read));
  }
}

function overlayBody(message: object, source: Request | Response, gate: Gate): void {
  defineOnce(message, 'body', () =>
    gatedStream(nativeMember(source, 'body') as ReadableStream, gate),
  );
  defineGetter(message, 'bodyUsed', () => nativeMember(source, 'bodyUsed'));
}

/** Reads the member that the message's class defines, bound to the message. */
function nativeMember(message: Request | Response, name: string): unknown {
  const member = Reflect.get(Object.getPrototypeOf(message), name, message);
  return typeof member === 'function' ? member.bind(message) : member;
}

/** Makes a stream whose chunks pass the gate. The original stream is locked only when the new stream is read. */
function gatedStream(stream: ReadableStream, gate: Gate): ReadableStream {
  let reader: ReadableStreamDefaultReader | undefined;
  const readerOf = () => (reader ??= stream.getReader());
  const gated = pulledBytes({
    next: async () => {
      const { done, value } = await gate.receive(() => readerOf().read());
      return done ? null : value;
    },
    cancel: (reason) => readerOf().cancel(reason),
  });
  const byteCount = notedLength(stream);
  if (byteCount !== undefined) noteLength(gated, byteCount);
  return gated;
}

/** Defines a writable property that does not appear in listings of the object. */
export function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

function defineGetter(target: object, name: string, get: () => unknown): void {
  Object.defineProperty(target, name, { get, configurable: true });
}

/** Defines a getter that computes its value on the first read. */
function defineOnce<T extends object>(target: object, name: string, compute: () => T): void {
  let value: T | undefined;
  defineGetter(target, name, () => (value ??= compute()));
}
