// `HTMLRewriter`, the class of workerd that changes HTML while it streams.
//
// Neither browsers nor Node can parse a stream of HTML, so this package has its own parser. A page loads it only if the
// code of its objects names the class. Invariant: a handler runs as an event of the object that called `transform`.

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
    const bound = bindHandlers(handlers, ['element', 'comments', 'text'], type);
    this.#handlers.push({ selector: parsed, ...bound });
    return this;
  }

  onDocument(...[handlers]: [handlers: DocumentContentHandlers]): this {
    const type = 'DocumentContentHandlers';
    checkHandlers(handlers, 'onDocument', 1, type);
    const bound = bindHandlers(handlers, ['doctype', 'comments', 'text', 'end'], type);
    this.#handlers.push({ selector: null, ...bound });
    return this;
  }

  /**
   * Returns the response with a changed body. The original body is read as fast as the changed one.
   *
   * @throws TypeError
   */
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
    const sink = { write: (bytes: Uint8Array) => writer.write(bytes), run: handlerRunner() };
    const rewriting = new Rewriting([...this.#handlers], charset, sink);
    void rewriteBody(body.getReader(), rewriting, writer);
    const { status, statusText } = response;
    const headers = new Headers(response.headers);
    headers.delete('content-length'); // the length of the changed body is not known
    return new Response(channel.readable, { status, statusText, headers });
  }

  get [Symbol.toStringTag](): string {
    return 'HTMLRewriter';
  }
}

refuseToClone(HTMLRewriter);

/** Sets the global `HTMLRewriter` of the scope. The returned function restores the scope. */
export function installHtmlRewriter(scope: object): () => void {
  return replaceGlobal(scope, 'HTMLRewriter', HTMLRewriter);
}

/** Sets the global `HTMLRewriter` for the rest of the thread's life, for code that is loaded before a host runs. */
export function provideHtmlRewriter(): void {
  if (!('HTMLRewriter' in globalThis)) installHtmlRewriter(globalThis);
}

/** Returns a function that calls handlers as events of the present object, with its stores of `AsyncLocalStorage`. */
function handlerRunner(): (handler: () => unknown) => unknown {
  const enter = currentContext()?.entrance();
  const call = bindToStores((handler: () => unknown) => handler());
  return (handler) => (enter === undefined ? call(handler) : enter(() => call(handler)));
}

/** Passes the whole body through the rewriter. It never rejects: an error reaches the reader of the result. */
async function rewriteBody(
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
    // One of the two streams has failed or was cancelled, so the other is ended with the same error.
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

function bindHandlers<Name extends string>(
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
