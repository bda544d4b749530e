// How the questions about `HTMLRewriter` write down what a rewriter makes of a document.

import { scope, type Untyped } from './surface-answers.ts';

/** A document, or the parts in which it arrives. */
export type Html = string | readonly string[];
type SetUp = (rewriter: Untyped) => Untyped;

const encoder = new TextEncoder();

/** A response whose body arrives in these parts. */
export function arriving(html: Html, init: ResponseInit = {}): Response {
  if (typeof html === 'string') return new Response(html, init);
  const parts = html.map((part) => encoder.encode(part));
  return new Response(
    new ReadableStream({
      pull(controller) {
        const part = parts.shift();
        if (part === undefined) controller.close();
        else controller.enqueue(part);
      },
    }),
    init,
  );
}

/** The text of the body, or its error as the reader gets it. */
export async function read(response: Response): Promise<string> {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      text += decoder.decode(value, { stream: true });
    }
  } catch (error) {
    return failure(error);
  }
}

export function failure(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;
}

/** Returns the document after the rewriter that `setUp` has prepared. */
export function rewritten(html: Html, setUp: SetUp, init?: ResponseInit): Promise<string> {
  return read(setUp(new scope.HTMLRewriter()).transform(arriving(html, init)));
}

/** Rewrites the document with one element handler. */
export function onElement(html: Html, selector: string, element: (element: Untyped) => unknown) {
  return rewritten(html, (rewriter) => rewriter.on(selector, { element }));
}

/** Returns the result or error of the call, made inside a handler of the first element. */
export async function inElement(
  html: Html,
  calls: readonly ((element: Untyped) => unknown)[],
): Promise<unknown[]> {
  const seen: unknown[] = [];
  const text = await onElement(html, 'a', (element) => {
    for (const call of calls) seen.push(given(() => call(element)));
  });
  return [...seen, text];
}

export function given(call: () => unknown): unknown {
  try {
    const result = call();
    return result === undefined ? 'undefined' : result;
  } catch (error) {
    return failure(error);
  }
}

/** The ids of the elements that match, in order, or the error of the selector. */
export async function matched(html: string, selector: string): Promise<unknown> {
  const ids: unknown[] = [];
  try {
    await onElement(html, selector, (element) => void ids.push(element.getAttribute('id')));
  } catch (error) {
    return failure(error);
  }
  return ids.join(' ');
}

/** All that handlers of the whole document are called with; the chunks of a text node joined. */
export async function events(html: Html, selector = '*'): Promise<unknown[]> {
  const seen: unknown[] = [];
  let text = '';
  const output = await rewritten(html, (rewriter) =>
    rewriter
      .on(selector, {
        element: (element: Untyped) => {
          seen.push(['start', element.tagName, element.namespaceURI, [...element.attributes]]);
          // Void elements have no end tag.
          given(() => element.onEndTag((tag: Untyped) => void seen.push(['end', tag.name])));
        },
      })
      .onDocument({
        doctype: ({ name, publicId, systemId }: Untyped) =>
          void seen.push(['doctype', name, publicId, systemId]),
        comments: (comment: Untyped) => void seen.push(['comment', comment.text]),
        text: (chunk: Untyped) => {
          text += chunk.text;
          if (!chunk.lastInTextNode) return;
          seen.push(['text', text]);
          text = '';
        },
        end: () => void seen.push(['document end']),
      }),
  );
  return [...seen, output === (typeof html === 'string' ? html : html.join('')) || output];
}
