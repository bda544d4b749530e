// Lets the methods that read a body accept a stream whose chunks are not `Uint8Array`s, which the engine would refuse.
//
// In workerd, a body may be a stream of buffers and views, and a stream received in a call gives bytes even if its
// sender wrote text. The stream is converted only when its body is read, so `body` stays the stream itself.

import { bytesOf, holderOf, isReceived } from '../../../src/shared/calls/http/body.ts';
import { READERS } from '../../../src/shared/calls/http/overlay.ts';
import { undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import { bodySource, rememberSource, replaceMember } from './body-lengths.ts';

type Scope = Pick<typeof globalThis, 'Request' | 'Response'>;
type Message = Request | Response;

/**
 * Replaces the reading methods of both classes. A stream received in a call is converted for all code, any other stream
 * only for object code. Call the result to restore the methods.
 */
export function installBodyChunks(
  { Request, Response }: Scope,
  isObjectCode: () => boolean,
): () => void {
  const convertedBody = (message: Message, prototype: Message): ReadableStream | undefined => {
    const source = bodySource(message);
    if (!(source instanceof ReadableStream && (isReceived(source) || isObjectCode()))) {
      return undefined;
    }
    // The prototype's getter is called because the message's own `body` may pass an input gate. Firefox has no
    // `Request.body`.
    const body = Reflect.get(prototype, 'body', message) as ReadableStream | null | undefined;
    return !body || message.bodyUsed || body.locked || isByteStream(body)
      ? undefined
      : body.pipeThrough(toByteChunks(isReceived(source)));
  };
  // The converted stream is wrapped in a new Response, which is read with the engine's own methods.
  const nativeReaders = Object.fromEntries(READERS.map((name) => [name, Response.prototype[name]]));
  const undo = [Request.prototype, Response.prototype].flatMap((prototype: Message) => {
    const replaceMethod = (name: string, make: (native: Function) => Function) => {
      const native: unknown = Reflect.get(prototype, name);
      // Older browsers lack `bytes()`.
      if (typeof native !== 'function') return () => {};
      return replaceMember(prototype, name, { value: make(native) });
    };
    return [
      ...READERS.map((name) =>
        replaceMethod(
          name,
          (native) =>
            // The function is async so that a call with a wrong `this` rejects, as the native method does.
            async function (this: Message) {
              const converted = convertedBody(this, prototype);
              if (converted === undefined) return native.call(this);
              return nativeReaders[name]!.call(holderOf(converted, this.headers));
            },
        ),
      ),
      replaceMethod(
        'clone',
        (native) =>
          function (this: Message) {
            const copy: Message = native.call(this);
            const source = bodySource(this);
            return source instanceof ReadableStream ? rememberSource(copy, source) : copy;
          },
      ),
    ];
  });
  return () => undoAll(undo);
}

/** Tests for a byte stream by asking for a BYOB reader, which no other stream has. */
function isByteStream(stream: ReadableStream): boolean {
  try {
    stream.getReader({ mode: 'byob' }).releaseLock();
    return true;
  } catch {
    return false;
  }
}

function toByteChunks(acceptsText: boolean): TransformStream<unknown, Uint8Array<ArrayBuffer>> {
  return new TransformStream({
    transform(chunk, controller) {
      if (typeof chunk === 'string' && !acceptsText) {
        throw new TypeError('This ReadableStream did not return bytes. Encode texts of a body.');
      }
      controller.enqueue(bytesOf(chunk));
    },
  });
}
