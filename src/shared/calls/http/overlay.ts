// A request or response that shows more than the engine keeps of it: headers that the engine drops, a
// body that it does not take, a body that is read through the gate of an I/O context.
//
// Invariant: a clone shows the same as the message did when it was cloned.

import { notedLength, noteLength } from '../../contract/stream-length.ts';
import type { IoContext } from '../io/io-context.ts';
import { pulledBytes } from './body.ts';

/** How a body enters the context that reads it. */
export type Gate = Pick<IoContext, 'receive'>;

/** The members that a message shows in place of its own. Members left out stay the engine's. */
export interface MessageOverlay {
  /** All headers of the message; called once, when they are first read. */
  readonly headers?: (() => Headers) | undefined;
  /** The response that holds the body, if the message itself does not. */
  readonly holder?: Response | undefined;
  /** The gate through which the body is read. */
  readonly gate?: Gate | undefined;
  /** The bytes of the body are here: only their readers take time, in a browser, and use the gate; its stream does not. */
  readonly isHere?: boolean;
}

export const READERS = ['text', 'json', 'arrayBuffer', 'bytes', 'blob', 'formData'] as const;

const OPEN: Gate = { receive: (start) => start() };

/** Puts the overlay on the message, and returns the message; an empty overlay changes nothing. */
export function overlaid<M extends Request | Response>(message: M, overlay: MessageOverlay): M {
  const { headers, holder, gate, isHere } = overlay;
  if (headers === undefined && holder === undefined && gate === undefined) return message;
  if (headers !== undefined) defineOnce(message, 'headers', headers);
  if (holder !== undefined || gate !== undefined) {
    const source = holder ?? message;
    overlayReaders(message, source, gate ?? OPEN);
    if (!isHere) overlayBody(message, source, gate ?? OPEN);
  }
  const clone = native(message, 'clone') as () => M;
  define(message, 'clone', () => {
    const copied = new Headers(message.headers);
    return overlaid(clone(), { ...overlay, headers: () => copied, holder: holder?.clone() });
  });
  return message;
}

/** The received message, whose headers, and those of its clones, cannot be changed: code changes those of a copy. */
export function withFixedHeaders<M extends Request | Response>(message: M): M {
  for (const name of ['append', 'delete', 'set']) define(message.headers, name, refuseChange);
  const clone = message.clone.bind(message) as () => M;
  define(message, 'clone', () => withFixedHeaders(clone()));
  return message;
}

/** In workerd's words. */
function refuseChange(): never {
  throw new TypeError("Can't modify immutable headers.");
}

/** An overlay's headers: the given headers, if the engine has dropped some of them. */
export function droppedFrom(
  message: Request | Response,
  given: Headers,
): MessageOverlay['headers'] {
  return [...message.headers].length === [...given].length ? undefined : () => given;
}

function overlayReaders(message: object, source: Request | Response, gate: Gate): void {
  for (const name of READERS) {
    const read = native(source, name) as (() => Promise<unknown>) | undefined;
    // Older browsers have no bytes().
    if (read !== undefined) define(message, name, () => gate.receive(read));
  }
}

function overlayBody(message: object, source: Request | Response, gate: Gate): void {
  defineOnce(message, 'body', () => gatedStream(native(source, 'body') as ReadableStream, gate));
  defineGetter(message, 'bodyUsed', () => native(source, 'bodyUsed'));
}

/** A member as the class has it, bound to the message. */
function native(message: Request | Response, name: string): unknown {
  const member = Reflect.get(Object.getPrototypeOf(message), name, message);
  return typeof member === 'function' ? member.bind(message) : member;
}

/** The stream, whose chunks come through the gate. It is not touched before it is read. */
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

/** Defines a property like an ordinary one of the object. */
export function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true });
}

function defineGetter(target: object, name: string, get: () => unknown): void {
  Object.defineProperty(target, name, { get, configurable: true });
}

/** A getter that computes its value when it is first read. */
function defineOnce<T extends object>(target: object, name: string, compute: () => T): void {
  let value: T | undefined;
  defineGetter(target, name, () => (value ??= compute()));
}
