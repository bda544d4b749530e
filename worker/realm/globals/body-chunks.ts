// Bodies made of streams whose chunks the engine does not read: it wants a `Uint8Array` each.
//
// In workerd, a body may be a stream of buffers and views, and a stream that came in a call gives bytes even if it was
// written as text. A stream is not touched before its body is read, so `body` stays the stream itself.

import { bytesOf, holderOf, isReceived } from '../../../src/shared/calls/http/body.ts';
import { READERS } from '../../../src/shared/calls/http/overlay.ts';
import { undoAll } from '../../../src/shared/calls/io/replace-global.ts';
import { bodySource, noteSource, replaceMember } from './body-lengths.ts';

type Scope = Pick<typeof globalThis, 'Request' | 'Response'>;
type Message = Request | Response;

/** Of streams that were received, any code's messages read such chunks; of others, object code's. The result undoes it. */
export function installBodyChunks(
  { Request, Response }: Scope,
  isObjectCode: () => boolean,
): () => void {
  const chunksOf = (message: Message, prototype: Message): ReadableStream | undefined => {
    const source = bodySource(message);
    if (!(source instanceof ReadableStream && (isReceived(source) || isObjectCode()))) {
      return undefined;
    }
    // Not the message's own member, which may read through a gate. Firefox has no body of a request.
    const body = Reflect.get(prototype, 'body', message) as ReadableStream | null | undefined;
    return !body || message.bodyUsed || body.locked || givesBytes(body)
      ? undefined
      : body.pipeThrough(inBytes(isReceived(source)));
  };
  // The holder of other chunks reads as the engine does.
  const natives = Object.fromEntries(READERS.map((name) => [name, Response.prototype[name]]));
  const undo = [Request.prototype, Response.prototype].flatMap((prototype: Message) => {
    const replaceMethod = (name: string, make: (native: Function) => Function) => {
      const native: unknown = Reflect.get(prototype, name);
      // Older browsers have no bytes().
      if (typeof native !== 'function') return () => {};
      return replaceMember(prototype, name, { value: make(native) });
    };
    return [
      ...READERS.map((name) =>
        replaceMethod(
          name,
          (native) =>
            // Async: a call on anything else rejects, as the engine's own does.
            async function (this: Message) {
              const chunks = chunksOf(this, prototype);
              if (chunks === undefined) return native.call(this);
              return natives[name]!.call(holderOf(chunks, this.headers));
            },
        ),
      ),
      replaceMethod(
        'clone',
        (native) =>
          function (this: Message) {
            const copy: Message = native.call(this);
            const source = bodySource(this);
            return source instanceof ReadableStream ? noteSource(copy, source) : copy;
          },
      ),
    ];
  });
  return () => undoAll(undo);
}

/** Only streams of bytes lend such a reader. */
function givesBytes(stream: ReadableStream): boolean {
  try {
    stream.getReader({ mode: 'byob' }).releaseLock();
    return true;
  } catch {
    return false;
  }
}

function inBytes(takesText: boolean): TransformStream<unknown, Uint8Array<ArrayBuffer>> {
  return new TransformStream({
    transform(chunk, controller) {
      if (typeof chunk === 'string' && !takesText) {
        throw new TypeError('This ReadableStream did not return bytes. Encode texts of a body.');
      }
      controller.enqueue(bytesOf(chunk));
    },
  });
}
