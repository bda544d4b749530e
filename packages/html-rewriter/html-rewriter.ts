// `HTMLRewriter`: workerd's class that changes HTML while it streams.
//
// Nothing of the platform parses a stream of HTML, so this is code of its own; a page loads it only if its objects'
// code names the class. Invariant: a handler runs as code of the object that called `transform`.

import { bindToStores, currentContext, replaceGlobal } from '@ctx-storage/core/calls';
import type {
  DocumentContentHandlers,
  ElementContentHandlers,
  HTMLRewriter as Rewriter,
} from '@ctx-storage/core/contract';
import { refuseToClone } from '@ctx-storage/core/values';
import { ByteChannel } from '@ctx-storage/worker/realm';
import { Charset } from './charset.ts';
import { stringOf } from './mutations.ts';
import { type Handler, type RewriterHandlers, Rewriting } from './rewriting.ts';
import { parseSelector } from './selector.ts';

export type {
  Comment,
  ContentOptions,
  Doctype,
  DocumentContentHandlers,
  DocumentEnd,
  Element,
  ElementContentHandlers,
  EndTag,
  HtmlContent,
  Text,
} from '@ctx-storage/core/contract';

export class HTMLRewriter implements Rewriter {
  readonly #handlers: RewriterHandlers[] = [];

  /** @throws TypeError if the selector is invalid, or has parts that workerd does not support */
  on(...given: [selector: string, handlers: ElementContentHandlers]): this {
    const type = 'ElementContentHandlers';
    const parsed = parseSelector(stringOf(given, { method: 'on', type: 'HTMLRewriter' }));
    const [, handlers] = given;
    checkHandlers(handlers, 'on', 2, type);
    const bound = boundHandlers(handlers, ['element', 'comments', 'text'], type);
    this.#handlers.push({ selector: parsed, ...bound });
    return this;
  }

  onDocument(...[handlers]: [handlers: DocumentContentHandlers]): this {
    const type = 'DocumentContentHandlers';
    checkHandlers(handlers, 'onDocument', 1, type);
    const bound = boundHandlers(handlers, ['doctype', 'comments', 'text', 'end'], type);
    this.#handlers.push({ selector: null, ...bound });
    return this;
  }

  /** The response with the changed body, which is read at once, as far as the result is. @throws TypeError */
  transform(...[response]: [response: Response]): Response {
    if (!(response instanceof Response)) throw wrongArgument('transform', 1, 'Response');
    const { body } = response;
    if (body === null) return response;
    if (response.bodyUsed || body.locked) {
      throw new TypeError('The ReadableStream has been locked to a reader.');
    }
    const charset = new Charset(charsetOf(response.headers));
    const channel = new ByteChannel();
    const writer = channel.writable.getWriter();
    const sink = { write: (bytes: Uint8Array) => writer.write(bytes), run: runner() };
    const rewriting = new Rewriting([...this.#handlers], charset, sink);
    void pump(body.getReader(), rewriting, writer);
    const { status, statusText } = response;
    const headers = new Headers(response.headers);
    headers.delete('content-length'); // it counts the bytes before they were changed
    return new Response(channel.readable, { status, statusText, headers });
  }

  get [Symbol.toStringTag](): string {
    return 'HTMLRewriter';
  }
}

refuseToClone(HTMLRewriter);

/** Puts the class into the scope; the result undoes it. */
export function installHtmlRewriter(scope: object): () => void {
  return replaceGlobal(scope, 'HTMLRewriter', HTMLRewriter);
}

/** For code of this thread from now on, before a host runs. */
export function provideHtmlRewriter(): void {
  if (!('HTMLRewriter' in globalThis)) installHtmlRewriter(globalThis);
}

/** Calls handlers as events of the object that calls this, with the stores that it has. */
function runner(): (handler: () => unknown) => unknown {
  const enter = currentContext()?.entrance();
  const call = bindToStores((handler: () => unknown) => handler());
  return (handler) => (enter === undefined ? call(handler) : enter(() => call(handler)));
}

/** Never rejects: the reader of the result gets the error, the body its end. */
async function pump(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  rewriting: Rewriting,
  writer: WritableStreamDefaultWriter,
): Promise<void> {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      await rewriting.write(value);
    }
    await rewriting.end();
    await writer.close();
  } catch (error) {
    // Both may have ended already, which is why this failed.
    await Promise.allSettled([writer.abort(error), reader.cancel(error)]);
  }
}

function charsetOf(headers: Headers): string {
  const [, quoted, plain] =
    /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;]*))/i.exec(headers.get('content-type') ?? '') ?? [];
  return quoted ?? plain ?? 'utf-8';
}

function checkHandlers(given: unknown, method: string, position: number, type: string): void {
  const isObject = (typeof given === 'object' && given !== null) || typeof given === 'function';
  if (!isObject && given !== null) throw wrongArgument(method, position, type);
}

function boundHandlers<Name extends string>(
  given: object | null,
  names: readonly Name[],
  type: string,
): Partial<Record<Name, Handler>> {
  const bound: Partial<Record<Name, Handler>> = {};
  for (const name of names) {
    const handler: unknown = given === null ? undefined : Reflect.get(given, name);
    if (handler === undefined) continue;
    if (typeof handler !== 'function') {
      throw new TypeError(
        `Incorrect type for the '${name}' field on '${type}': the provided value is not of type 'function'.`,
      );
    }
    bound[name] = (token) => Reflect.apply(handler, given, [token]);
  }
  return bound;
}

function wrongArgument(method: string, position: number, type: string): TypeError {
  return new TypeError(
    `Failed to execute '${method}' on 'HTMLRewriter': parameter ${position} is not of type '${type}'.`,
  );
}
