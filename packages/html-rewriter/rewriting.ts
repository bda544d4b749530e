// One document on its way through a rewriter: finds the handlers of each token, calls them in order, and writes the
// token that they leave.
//
// Invariants: a byte that no handler saw is written as it came; a handler runs after the one before it has settled. The
// memory is bounded: an incomplete token has at most `HELD_BYTES_MAX` bytes, and open elements have a number.

import { ByteQueue, byteText, lowerCased, type Range } from './byte-queue.ts';
import type { Charset } from './charset.ts';
import { EditedEndTag, EditedStartTag, type EndTagWork } from './edited-tags.ts';
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
  Comment,
  Doctype,
  DocumentEnd,
  type EditedText,
  Element,
  EndTag,
  type HandlerCall,
  OF_REWRITER,
  Text,
} from './tokens.ts';

/** A handler, bound to the object that has it. */
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
  ...given: [internal: typeof OF_REWRITER, call: HandlerCall, state: State]
) => unknown;

/** As in workerd. */
const HELD_BYTES_MAX = 3 * 1024 * 1024;
/** Output is passed on in pieces of about this size. */
const OUTPUT_BYTES = 65_536;

/** Handlers of comments or text, with the number of open elements that each is for. */
interface Listener {
  readonly handler: Handler;
  userCount: number;
}

interface OpenData {
  readonly listeners: readonly Listener[];
  removesContent: boolean;
  atEnd: EndTagWork | undefined;
}

/** Where the document goes. */
export interface RewritingSink {
  /** Settles when more may be written. */
  write(bytes: Bytes): Promise<void>;
  /** Calls a handler in the context of the code that made the rewriter's response. */
  run(handler: () => unknown): unknown;
}

export class Rewriting {
  readonly #sink: RewritingSink;
  readonly #charset: Charset;
  readonly #queue = new ByteQueue();
  readonly #tokenizer: HtmlTokenizer;
  readonly #open: OpenElements<OpenData> | undefined;
  readonly #elementHandlers: readonly (Handler | undefined)[];
  /** By selector: the listeners inside of its elements. */
  readonly #inside: readonly (readonly Listener[])[];
  readonly #commentListeners: readonly Listener[];
  readonly #textListeners: readonly Listener[];
  readonly #doctypeHandlers: readonly Handler[];
  readonly #endHandlers: readonly Handler[];
  /** How many elements are open whose content is removed. */
  #removedCount = 0;
  #decoder: TextDecoder | undefined;
  #output: Bytes[] = [];
  #outputBytes = 0;
  /** Bytes that pass as they are, and are not in `#output` yet. */
  #passing: Range = { start: 0, end: 0 };

  constructor(all: readonly RewriterHandlers[], charset: Charset, sink: RewritingSink) {
    this.#sink = sink;
    this.#charset = charset;
    this.#tokenizer = new HtmlTokenizer(this.#queue, new TagContext());
    const ofElements = all.filter((handlers) => handlers.selector !== null);
    const ofDocument = all.filter((handlers) => handlers.selector === null);
    if (ofElements.length > 0) {
      this.#open = new OpenElements(
        ofElements.map(({ selector }) => selector),
        charset,
      );
    }
    this.#elementHandlers = ofElements.map(({ element }) => element);
    const listener = (handler: Handler | undefined, userCount: number): Listener[] =>
      handler === undefined ? [] : [{ handler, userCount }];
    const comments = ofElements.map((handlers) => listener(handlers.comments, 0));
    const text = ofElements.map((handlers) => listener(handlers.text, 0));
    this.#inside = ofElements.map((_, i) => [...comments[i]!, ...text[i]!]);
    // Handlers of the document come after those of elements.
    this.#commentListeners = [
      ...comments.flat(),
      ...ofDocument.flatMap((handlers) => listener(handlers.comments, 1)),
    ];
    this.#textListeners = [
      ...text.flat(),
      ...ofDocument.flatMap((handlers) => listener(handlers.text, 1)),
    ];
    this.#doctypeHandlers = ofDocument.flatMap(({ doctype }) => doctype ?? []);
    this.#endHandlers = ofDocument.flatMap(({ end }) => end ?? []).reverse();
  }

  /** Settles when everything that is complete has been written. @throws the error of a handler; TypeError */
  async write(chunk: Uint8Array): Promise<void> {
    const queue = this.#queue;
    if (queue.byteCount > 0 && queue.byteCount + chunk.byteLength > HELD_BYTES_MAX) {
      throw new TypeError(
        `Parser error: The memory limit has been exceeded: a tag, comment or doctype has more than ${HELD_BYTES_MAX} ` +
          'bytes.',
      );
    }
    queue.add(chunk);
    await this.#takeAll();
  }

  /** @throws as `write` */
  async end(): Promise<void> {
    this.#tokenizer.end();
    await this.#takeAll();
    await this.#endText();
    const appended = new Mutations();
    await this.#call(this.#endHandlers, DocumentEnd, appended);
    await this.#putAll(appended.before);
    await this.#flush();
  }

  async #takeAll(): Promise<void> {
    for (;;) {
      const token = this.#tokenizer.next();
      if (token === undefined) break;
      const work = this.#take(token);
      if (work !== undefined) await work;
    }
    this.#settlePassing();
    this.#queue.dropBefore(this.#tokenizer.consumed);
    await this.#flush();
  }

  /** Undefined if there is nothing to wait for. */
  #take(token: HtmlToken): Promise<void> | undefined {
    if (token.kind === 'text') {
      if (isHeard(this.#textListeners)) return this.#takeText(token);
      return this.#pass(token);
    }
    if (this.#decoder !== undefined) return this.#takeAfterText(token);
    switch (token.kind) {
      case 'start tag':
        return this.#takeStartTag(token);
      case 'end tag':
        return this.#takeEndTag(token);
      case 'comment':
        if (isHeard(this.#commentListeners)) return this.#takeComment(token);
        break;
      case 'doctype':
        if (this.#doctypeHandlers.length > 0) return this.#takeDoctype(token);
    }
    return this.#pass(token);
  }

  async #takeAfterText(token: HtmlToken): Promise<void> {
    await this.#endText();
    await this.#take(token);
  }

  #takeStartTag(token: StartTagToken): Promise<void> | undefined {
    if (this.#open === undefined) return this.#pass(token);
    let data: OpenData | undefined;
    const { matched, hasContent } = this.#open.enter(this.#candidate(token), ({ matched }) => {
      const listeners = matched.flatMap((number) => this.#inside[number]!);
      for (const listener of listeners) listener.userCount++;
      data = { listeners, removesContent: false, atEnd: undefined };
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
    data.atEnd = tag.endTagWork;
    data.removesContent = tag.removesContent;
    if (tag.removesContent) this.#removedCount++;
  }

  #takeEndTag(token: EndTagToken): Promise<void> | undefined {
    const closed = this.#open?.leave(token.tagName) ?? [];
    const works: EndTagWork[] = [];
    for (const { listeners, removesContent, atEnd } of closed) {
      for (const listener of listeners) listener.userCount--;
      if (removesContent) this.#removedCount--;
      if (atEnd !== undefined) works.push(atEnd);
    }
    return works.length === 0 ? this.#pass(token) : this.#changeEndTag(token, works);
  }

  async #changeEndTag(token: EndTagToken, works: readonly EndTagWork[]): Promise<void> {
    const tag = new EditedEndTag(token, this.#queue, this.#charset);
    // As in workerd, the tag has the content put around its own element, not around elements left open inside of it.
    for (const { name, mutations, handler } of works) {
      if (name !== undefined) tag.name = name;
      if (mutations !== undefined) tag.mutations = mutations;
      if (handler !== undefined) await this.#call([handler], EndTag, tag);
    }
    await this.#putChanged(tag.mutations, () => tag.write((bytes) => this.#put(bytes)));
  }

  async #takeComment(token: Range & { readonly text: Range }): Promise<void> {
    const text = this.#charset.decode(this.#queue.view(token.text));
    const comment = { text, isChanged: false, mutations: new Mutations() };
    await this.#call(heard(this.#commentListeners), Comment, comment);
    await this.#putChanged(comment.mutations, () => {
      if (comment.isChanged) this.#put(this.#charset.encode(`<!--${comment.text}-->`));
      else this.#put(this.#queue.slice(token));
    });
  }

  async #takeDoctype(token: DoctypeToken): Promise<void> {
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

  async #takeText(token: Range): Promise<void> {
    this.#decoder ??= this.#charset.decoder();
    const text = this.#decoder.decode(this.#queue.view(token), { stream: true });
    if (text !== '') await this.#changeText(text, false);
  }

  /** The last chunk of a text node, if handlers have seen its text. */
  async #endText(): Promise<void> {
    if (this.#decoder === undefined) return;
    const text = this.#decoder.decode();
    this.#decoder = undefined;
    await this.#changeText(text, true);
  }

  async #changeText(text: string, isLast: boolean): Promise<void> {
    const chunk: EditedText = { text, isLast, mutations: new Mutations() };
    await this.#call(heard(this.#textListeners), Text, chunk);
    await this.#putChanged(chunk.mutations, () => this.#put(this.#charset.encode(text)));
  }

  async #call<State>(
    handlers: readonly Handler[],
    Token: TokenClass<State>,
    state: State,
  ): Promise<void> {
    this.#settlePassing();
    for (const handler of handlers) {
      const call: HandlerCall = { isOver: false };
      const token = new Token(OF_REWRITER, call, state) as never;
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

  // Output

  #pass({ start, end }: Range): undefined {
    if (this.#removedCount > 0) return;
    if (this.#passing.end !== start) this.#settlePassing();
    const from = this.#passing.end === start ? this.#passing.start : start;
    this.#passing = { start: from, end };
  }

  #settlePassing(): void {
    const { start, end } = this.#passing;
    this.#passing = { start: end, end };
    if (end > start) this.#put(this.#queue.slice({ start, end }));
  }

  #put(bytes: Bytes): void {
    if (bytes.byteLength === 0) return;
    this.#output.push(bytes);
    this.#outputBytes += bytes.byteLength;
  }

  async #putChanged(mutations: Mutations, putSelf: () => void): Promise<void> {
    this.#settlePassing();
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
    this.#put(this.#charset.encode(isHtml ? text : escaped(text)));
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

function isHeard(listeners: readonly Listener[]): boolean {
  return listeners.some(({ userCount }) => userCount > 0);
}

function heard(listeners: readonly Listener[]): Handler[] {
  return listeners.filter(({ userCount }) => userCount > 0).map(({ handler }) => handler);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function';
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
