// Rewrites one document: it finds the handlers of each token, calls them in order, and writes the token as they changed
// it.
//
// Invariants: bytes that no handler saw are written unchanged. A handler runs only after the handler before it has
// settled. The memory is bounded: an incomplete token has at most `HELD_BYTES_MAX` bytes, and the number of open
// elements is limited.

import { ByteQueue, byteText, lowerCased, type Range } from './byte-queue.ts';
import type { Charset } from './charset.ts';
import { EditedEndTag, EditedStartTag, type EndTagChanges } from './edited-tags.ts';
import { type Content, Mutations } from './mutations.ts';
import { type Candidate, OpenElements } from './open-elements.ts';
import type { Selector } from './selector.ts';
import { TagContext } from './tag-context.ts';
import {
  type DoctypeToken,
  type EndTagToken,
  type HtmlToken,
  HtmlTokenizer,
  type StartTagToken,
} from './tokenizer.ts';
import {
  CONSTRUCTOR_KEY,
  Comment,
  Doctype,
  DocumentEnd,
  type EditedText,
  Element,
  EndTag,
  type HandlerCall,
  Text,
} from './tokens.ts';

/** A handler, bound to the object whose member it is. */
export type Handler = (token: never) => unknown;

export type RewriterHandlers =
  | {
      readonly selector: Selector;
      readonly element?: Handler;
      readonly comments?: Handler;
      readonly text?: Handler;
    }
  | {
      readonly selector: null;
      readonly doctype?: Handler;
      readonly comments?: Handler;
      readonly text?: Handler;
      readonly end?: Handler;
    };

type Bytes = Uint8Array<ArrayBuffer>;
type TokenClass<State> = new (
  ...given: [internal: typeof CONSTRUCTOR_KEY, call: HandlerCall, state: State]
) => unknown;

/** The most bytes that an incomplete token may have, as in workerd. */
const HELD_BYTES_MAX = 3 * 1024 * 1024;
/** Output is written once about this many bytes are collected. */
const OUTPUT_BYTES = 65_536;

/** A handler of comments or text. It is called while at least one open element matches its selector. */
interface Listener {
  readonly handler: Handler;
  /** The number of open elements that match, or 1 for a handler of the whole document. */
  userCount: number;
}

interface OpenData {
  readonly listeners: readonly Listener[];
  removesContent: boolean;
  endTagChanges: EndTagChanges | undefined;
}

/** Takes the rewritten document, and calls the handlers. */
export interface RewritingSink {
  /** Writes output. Settles when the sink accepts more output. */
  write(bytes: Bytes): Promise<void>;
  /** Calls a handler in the context of the code that called `transform`. */
  run(handler: () => unknown): unknown;
}

export class Rewriting {
  readonly #sink: RewritingSink;
  readonly #charset: Charset;
  readonly #queue = new ByteQueue();
  readonly #tokenizer: HtmlTokenizer;
  readonly #open: OpenElements<OpenData> | undefined;
  readonly #elementHandlers: readonly (Handler | undefined)[];
  /** The listeners of each selector, by its number. */
  readonly #listenersOfSelector: readonly (readonly Listener[])[];
  readonly #commentListeners: readonly Listener[];
  readonly #textListeners: readonly Listener[];
  readonly #doctypeHandlers: readonly Handler[];
  readonly #endHandlers: readonly Handler[];
  /** The number of open elements whose content is removed. */
  #removedCount = 0;
  #decoder: TextDecoder | undefined;
  #output: Bytes[] = [];
  #outputBytes = 0;
  /** The bytes that pass unchanged and are not in `#output` yet. */
  #passingRange: Range = { start: 0, end: 0 };

  constructor(all: readonly RewriterHandlers[], charset: Charset, sink: RewritingSink) {
    this.#sink = sink;
    this.#charset = charset;
    this.#tokenizer = new HtmlTokenizer(this.#queue, new TagContext());
    const elementHandlers = all.filter((handlers) => handlers.selector !== null);
    const documentHandlers = all.filter((handlers) => handlers.selector === null);
    if (elementHandlers.length > 0) {
      this.#open = new OpenElements(
        elementHandlers.map(({ selector }) => selector),
        charset,
      );
    }
    this.#elementHandlers = elementHandlers.map(({ element }) => element);
    const listener = (handler: Handler | undefined, userCount: number): Listener[] =>
      handler === undefined ? [] : [{ handler, userCount }];
    const comments = elementHandlers.map((handlers) => listener(handlers.comments, 0));
    const text = elementHandlers.map((handlers) => listener(handlers.text, 0));
    this.#listenersOfSelector = elementHandlers.map((_, i) => [...comments[i]!, ...text[i]!]);
    // Handlers of the document are called after those of elements.
    this.#commentListeners = [
      ...comments.flat(),
      ...documentHandlers.flatMap((handlers) => listener(handlers.comments, 1)),
    ];
    this.#textListeners = [
      ...text.flat(),
      ...documentHandlers.flatMap((handlers) => listener(handlers.text, 1)),
    ];
    this.#doctypeHandlers = documentHandlers.flatMap(({ doctype }) => doctype ?? []);
    this.#endHandlers = documentHandlers.flatMap(({ end }) => end ?? []).reverse();
  }

  /**
   * Rewrites the tokens that the chunk completes, and writes them.
   *
   * @throws the error of a handler; TypeError at a limit
   */
  async write(chunk: Uint8Array): Promise<void> {
    const queue = this.#queue;
    if (queue.byteCount > 0 && queue.byteCount + chunk.byteLength > HELD_BYTES_MAX) {
      throw new TypeError(
        `Parser error: The memory limit has been exceeded: a tag, comment or doctype has more than ${HELD_BYTES_MAX} ` +
          'bytes.',
      );
    }
    queue.add(chunk);
    await this.#handleTokens();
  }

  /** Rewrites the rest of the document. @throws the errors of `write` */
  async end(): Promise<void> {
    this.#tokenizer.end();
    await this.#handleTokens();
    await this.#endText();
    const appended = new Mutations();
    await this.#call(this.#endHandlers, DocumentEnd, appended);
    await this.#putAll(appended.before);
    await this.#flush();
  }

  async #handleTokens(): Promise<void> {
    for (;;) {
      const token = this.#tokenizer.next();
      if (token === undefined) break;
      const work = this.#handle(token);
      if (work !== undefined) await work;
    }
    this.#putPassing();
    this.#queue.dropBefore(this.#tokenizer.consumed);
    await this.#flush();
  }

  /** Handles one token. Returns undefined if there is nothing to wait for. */
  #handle(token: HtmlToken): Promise<void> | undefined {
    if (token.kind === 'text') {
      if (hasActive(this.#textListeners)) return this.#handleText(token);
      return this.#pass(token);
    }
    if (this.#decoder !== undefined) return this.#handleAfterText(token);
    switch (token.kind) {
      case 'start tag':
        return this.#handleStartTag(token);
      case 'end tag':
        return this.#handleEndTag(token);
      case 'comment':
        if (hasActive(this.#commentListeners)) return this.#handleComment(token);
        break;
      case 'doctype':
        if (this.#doctypeHandlers.length > 0) return this.#handleDoctype(token);
    }
    return this.#pass(token);
  }

  async #handleAfterText(token: HtmlToken): Promise<void> {
    await this.#endText();
    await this.#handle(token);
  }

  #handleStartTag(token: StartTagToken): Promise<void> | undefined {
    if (this.#open === undefined) return this.#pass(token);
    let data: OpenData | undefined;
    const { matched, hasContent } = this.#open.enter(this.#candidate(token), ({ matched }) => {
      const listeners = matched.flatMap((number) => this.#listenersOfSelector[number]!);
      for (const listener of listeners) listener.userCount++;
      data = { listeners, removesContent: false, endTagChanges: undefined };
      return data;
    });
    const handlers = matched.flatMap((number) => this.#elementHandlers[number] ?? []);
    if (handlers.length === 0) return this.#pass(token);
    return this.#changeStartTag(token, handlers, hasContent, data);
  }

  async #changeStartTag(
    token: StartTagToken,
    handlers: readonly Handler[],
    hasContent: boolean,
    data: OpenData | undefined,
  ): Promise<void> {
    const tag = new EditedStartTag(token, this.#queue, this.#charset, hasContent);
    if (this.#removedCount > 0) tag.mutations.isRemoved = true;
    await this.#call(handlers, Element, tag);
    await this.#putChanged(tag.mutations, () => tag.write((bytes) => this.#put(bytes)));
    if (data === undefined) return;
    data.endTagChanges = tag.endTagChanges;
    data.removesContent = tag.removesContent;
    if (tag.removesContent) this.#removedCount++;
  }

  #handleEndTag(token: EndTagToken): Promise<void> | undefined {
    const closed = this.#open?.leave(token.tagName) ?? [];
    const allChanges: EndTagChanges[] = [];
    for (const { listeners, removesContent, endTagChanges } of closed) {
      for (const listener of listeners) listener.userCount--;
      if (removesContent) this.#removedCount--;
      if (endTagChanges !== undefined) allChanges.push(endTagChanges);
    }
    return allChanges.length === 0 ? this.#pass(token) : this.#changeEndTag(token, allChanges);
  }

  async #changeEndTag(token: EndTagToken, allChanges: readonly EndTagChanges[]): Promise<void> {
    const tag = new EditedEndTag(token, this.#queue, this.#charset);
    // If the tag closes several elements, only the content of the outermost is put around it, as in workerd.
    for (const { name, mutations, handler } of allChanges) {
      if (name !== undefined) tag.name = name;
      if (mutations !== undefined) tag.mutations = mutations;
      if (handler !== undefined) await this.#call([handler], EndTag, tag);
    }
    await this.#putChanged(tag.mutations, () => tag.write((bytes) => this.#put(bytes)));
  }

  async #handleComment(token: Range & { readonly text: Range }): Promise<void> {
    const text = this.#charset.decode(this.#queue.view(token.text));
    const comment = { text, isChanged: false, mutations: new Mutations() };
    await this.#call(activeHandlers(this.#commentListeners), Comment, comment);
    await this.#putChanged(comment.mutations, () => {
      if (comment.isChanged) this.#put(this.#charset.encode(`<!--${comment.text}-->`));
      else this.#put(this.#queue.slice(token));
    });
  }

  async #handleDoctype(token: DoctypeToken): Promise<void> {
    const text = (range: Range | undefined) =>
      range === undefined ? null : this.#charset.decode(this.#queue.view(range));
    const name = text(token.name);
    await this.#call(this.#doctypeHandlers, Doctype, {
      name: name === null ? null : lowerCased(name),
      publicId: text(token.publicId),
      systemId: text(token.systemId),
    });
    this.#pass(token);
  }

  async #handleText(token: Range): Promise<void> {
    this.#decoder ??= this.#charset.decoder();
    const text = this.#decoder.decode(this.#queue.view(token), { stream: true });
    if (text !== '') await this.#changeText(text, false);
  }

  /** Gives handlers the last chunk of a text, if they have seen the text before it. */
  async #endText(): Promise<void> {
    if (this.#decoder === undefined) return;
    const text = this.#decoder.decode();
    this.#decoder = undefined;
    await this.#changeText(text, true);
  }

  async #changeText(text: string, isLast: boolean): Promise<void> {
    const chunk: EditedText = { text, isLast, mutations: new Mutations() };
    await this.#call(activeHandlers(this.#textListeners), Text, chunk);
    await this.#putChanged(chunk.mutations, () => this.#put(this.#charset.encode(text)));
  }

  async #call<State>(
    handlers: readonly Handler[],
    Token: TokenClass<State>,
    state: State,
  ): Promise<void> {
    this.#putPassing();
    for (const handler of handlers) {
      const call: HandlerCall = { isOver: false };
      const token = new Token(CONSTRUCTOR_KEY, call, state) as never;
      try {
        const result = this.#sink.run(() => handler(token));
        if (isThenable(result)) await Promise.all([this.#flush(), result]);
      } finally {
        call.isOver = true;
      }
    }
  }

  #candidate({ tagName, namespace, isSelfClosing, attributes }: StartTagToken): Candidate {
    const view = (range: Range) => byteText(this.#queue.view(range));
    const attribute = (name: string) => {
      const found = attributes.find(
        (other) =>
          other.name.end - other.name.start === name.length &&
          lowerCased(view(other.name)) === name,
      );
      return found && view(found.value);
    };
    return { tagName, namespace, isSelfClosing, attribute };
  }

  // The methods below collect and write the output.

  #pass({ start, end }: Range): undefined {
    if (this.#removedCount > 0) return;
    if (this.#passingRange.end !== start) this.#putPassing();
    const from = this.#passingRange.end === start ? this.#passingRange.start : start;
    this.#passingRange = { start: from, end };
  }

  #putPassing(): void {
    const { start, end } = this.#passingRange;
    this.#passingRange = { start: end, end };
    if (end > start) this.#put(this.#queue.slice({ start, end }));
  }

  #put(bytes: Bytes): void {
    if (bytes.byteLength === 0) return;
    this.#output.push(bytes);
    this.#outputBytes += bytes.byteLength;
  }

  async #putChanged(mutations: Mutations, putSelf: () => void): Promise<void> {
    this.#putPassing();
    if (this.#removedCount > 0) return;
    await this.#putAll(mutations.before);
    if (mutations.isRemoved) await this.#putAll(mutations.replacement);
    else putSelf();
    await this.#putAll(mutations.after);
    if (this.#outputBytes >= OUTPUT_BYTES) await this.#flush();
  }

  async #putAll(contents: readonly Content[]): Promise<void> {
    for (const content of contents) {
      if (content.kind === 'text') this.#putText(content.text, content.isHtml);
      else await this.#putStream(content.stream, content.isHtml);
    }
  }

  #putText(text: string, isHtml: boolean): void {
    this.#put(this.#charset.encode(isHtml ? text : escapeText(text)));
  }

  async #putStream(stream: ReadableStream, isHtml: boolean): Promise<void> {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    const reader = stream.getReader() as ReadableStreamDefaultReader<BufferSource>;
    try {
      for (;;) {
        const { done, value } = await reader.read();
        this.#putText(done ? decoder.decode() : decoder.decode(value, { stream: true }), isHtml);
        await this.#flush();
        if (done) return;
      }
    } catch (error) {
      await reader.cancel(error);
      throw error;
    }
  }

  async #flush(): Promise<void> {
    const output = this.#output;
    if (output.length === 0) return;
    const bytes = new Uint8Array(this.#outputBytes);
    let at = 0;
    for (const piece of output) {
      bytes.set(piece, at);
      at += piece.byteLength;
    }
    this.#output = [];
    this.#outputBytes = 0;
    await this.#sink.write(bytes);
  }
}

function hasActive(listeners: readonly Listener[]): boolean {
  return listeners.some(({ userCount }) => userCount > 0);
}

function activeHandlers(listeners: readonly Listener[]): Handler[] {
  return listeners.filter(({ userCount }) => userCount > 0).map(({ handler }) => handler);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function';
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
