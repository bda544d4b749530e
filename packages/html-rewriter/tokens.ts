// The classes of the content tokens that handlers get, such as `Element` and `Text`. They are those of workerd.
//
// Invariant: a token is valid until its handler returns and the handler's promise settles. Afterwards every member
// throws.

import type * as contract from '@ctx-storage/core/contract';
import type { ContentOptions, HtmlContent } from '@ctx-storage/core/contract';
import { refuseToClone } from '@ctx-storage/core/values';
import type { EditedEndTag, EditedStartTag } from './edited-tags.ts';
import { givenContent, givenText, type Mutations, stringOf } from './mutations.ts';
import type { TagNamespace } from './tag-context.ts';

/** One call of a handler. Its tokens are valid until `isOver`. */
export interface HandlerCall {
  isOver: boolean;
}

/** The first argument of the constructors. Programs cannot make tokens, because they do not have this symbol. */
export const CONSTRUCTOR_KEY = Symbol();
type ConstructorKey = typeof CONSTRUCTOR_KEY;

class Token<State> {
  readonly #call: HandlerCall;
  readonly #state: State;

  constructor(...given: [ConstructorKey, HandlerCall, State]) {
    if (given[0] !== CONSTRUCTOR_KEY) throw new TypeError('Illegal constructor');
    [, this.#call, this.#state] = given;
  }

  /** @throws TypeError if the handler's call is over */
  protected static stateOf<State>(token: Token<State>): State {
    if (!token.#call.isOver) return token.#state;
    throw new TypeError(
      'This content token is no longer valid. Content tokens are only valid during the execution of the relevant ' +
        'content handler.',
    );
  }

  /** Returns the call of the handler to which a token belongs. */
  protected static callOf(token: Token<unknown>): HandlerCall {
    return token.#call;
  }
}

export class Element extends Token<EditedStartTag> implements contract.Element {
  get tagName(): string {
    return Token.stateOf(this).name;
  }

  set tagName(name: string) {
    Token.stateOf(this).rename(String(name));
  }

  get namespaceURI(): TagNamespace {
    return Token.stateOf(this).token.namespace;
  }

  get removed(): boolean {
    return Token.stateOf(this).mutations.isRemoved;
  }

  get attributes(): IterableIterator<[name: string, value: string]> {
    const tag = Token.stateOf(this);
    return new AttributesIterator(CONSTRUCTOR_KEY, Token.callOf(this), {
      tag,
      changeCount: tag.changeCount,
      remaining: tag.attributes.values(),
    }) as never;
  }

  getAttribute(...given: [name: string]): string | null {
    const tag = Token.stateOf(this);
    return tag.attribute(stringOf(given, methodCall('getAttribute'))) ?? null;
  }

  hasAttribute(...given: [name: string]): boolean {
    const tag = Token.stateOf(this);
    return tag.attribute(stringOf(given, methodCall('hasAttribute'))) !== undefined;
  }

  setAttribute(...given: [name: string, value: string]): this {
    const key = stringOf(given, methodCall('setAttribute'));
    Token.stateOf(this).setAttribute(key, stringOf(given, methodCall('setAttribute'), 2));
    return this;
  }

  removeAttribute(...given: [name: string]): this {
    Token.stateOf(this).removeAttribute(stringOf(given, methodCall('removeAttribute')));
    return this;
  }

  before(...given: [content: HtmlContent, options?: ContentOptions]): this {
    Token.stateOf(this).before(givenContent(given, methodCall('before')));
    return this;
  }

  after(...given: [content: HtmlContent, options?: ContentOptions]): this {
    Token.stateOf(this).after(givenContent(given, methodCall('after')));
    return this;
  }

  prepend(...given: [content: HtmlContent, options?: ContentOptions]): this {
    Token.stateOf(this).prepend(givenContent(given, methodCall('prepend')));
    return this;
  }

  append(...given: [content: HtmlContent, options?: ContentOptions]): this {
    Token.stateOf(this).append(givenContent(given, methodCall('append')));
    return this;
  }

  replace(...given: [content: HtmlContent, options?: ContentOptions]): this {
    Token.stateOf(this).replaceBy(givenContent(given, methodCall('replace')));
    return this;
  }

  setInnerContent(...given: [content: HtmlContent, options?: ContentOptions]): this {
    Token.stateOf(this).setInnerContent(givenContent(given, methodCall('setInnerContent')));
    return this;
  }

  remove(): this {
    Token.stateOf(this).remove();
    return this;
  }

  removeAndKeepContent(): this {
    Token.stateOf(this).removeTags();
    return this;
  }

  /** Sets the handler of the end tag, in place of an earlier one. @throws TypeError if the element has no end tag */
  onEndTag(...[handler]: [handler: (tag: contract.EndTag) => void | Promise<void>]): void {
    const tag = Token.stateOf(this);
    if (typeof handler !== 'function') {
      throw new TypeError(
        "Failed to execute 'onEndTag' on 'Element': parameter 1 is not of type 'function'.",
      );
    }
    if (!tag.hasContent) throw new TypeError('Parser error: No end tag.');
    tag.endTagHandler = handler as (tag: unknown) => unknown;
  }

  get [Symbol.toStringTag](): string {
    return 'Element';
  }
}

function methodCall(method: string, type = 'Element') {
  return { method, type };
}

interface Iteration {
  readonly tag: EditedStartTag;
  readonly changeCount: number;
  readonly remaining: Iterator<readonly [string, string]>;
}

class AttributesIterator extends Token<Iteration> {
  next(): { done: boolean; value?: [string, string] } {
    const { tag, changeCount, remaining } = Token.stateOf(this);
    if (tag.changeCount !== changeCount) {
      throw new Error(
        'The attributes of this element have been modified during iteration. You must create a new iterator after ' +
          'modifying attributes.',
      );
    }
    const { done, value } = remaining.next();
    return done ? { done: true } : { done: false, value: [value[0], value[1]] };
  }

  [Symbol.iterator](): this {
    return this;
  }

  get [Symbol.toStringTag](): string {
    return 'AttributesIterator';
  }
}

// The iterator inherits from the prototype of JavaScript's iterators, and so has the methods of the engine, such as
// `toArray`.
Object.setPrototypeOf(
  AttributesIterator.prototype,
  Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())),
);

export class EndTag extends Token<EditedEndTag> implements contract.EndTag {
  get name(): string {
    return Token.stateOf(this).name;
  }

  set name(name: string) {
    Token.stateOf(this).name = String(name);
  }

  before(...given: [content: HtmlContent, options?: ContentOptions]): this {
    const { mutations } = Token.stateOf(this);
    mutations.before.push(...givenContent(given, methodCall('before', 'EndTag')));
    return this;
  }

  after(...given: [content: HtmlContent, options?: ContentOptions]): this {
    const { mutations } = Token.stateOf(this);
    mutations.after.unshift(...givenContent(given, methodCall('after', 'EndTag')));
    return this;
  }

  remove(): this {
    Token.stateOf(this).mutations.isRemoved = true;
    return this;
  }

  get [Symbol.toStringTag](): string {
    return 'EndTag';
  }
}

/** The state of a comment that handlers change. */
export interface EditedComment {
  text: string;
  isChanged: boolean;
  readonly mutations: Mutations;
}

export class Comment extends Token<EditedComment> implements contract.Comment {
  get text(): string {
    return Token.stateOf(this).text;
  }

  set text(given: string) {
    const text = String(given);
    const comment = Token.stateOf(this);
    if (/-->|--!>|^-?>/.test(text)) {
      throw new TypeError(
        "Parser error: Comment text shouldn't contain a comment-closing sequence.",
      );
    }
    comment.text = text;
    comment.isChanged = true;
  }

  get removed(): boolean {
    return Token.stateOf(this).mutations.isRemoved;
  }

  before(...given: [content: string, options?: ContentOptions]): this {
    const { mutations } = Token.stateOf(this);
    mutations.before.push(...givenText(given, methodCall('before', 'Comment')));
    return this;
  }

  after(...given: [content: string, options?: ContentOptions]): this {
    const { mutations } = Token.stateOf(this);
    mutations.after.unshift(...givenText(given, methodCall('after', 'Comment')));
    return this;
  }

  replace(...given: [content: string, options?: ContentOptions]): this {
    const { mutations } = Token.stateOf(this);
    mutations.replaceBy(givenText(given, methodCall('replace', 'Comment')));
    return this;
  }

  remove(): this {
    Token.stateOf(this).mutations.isRemoved = true;
    return this;
  }

  get [Symbol.toStringTag](): string {
    return 'Comment';
  }
}

/** The state of a chunk of text that handlers change. */
export interface EditedText {
  readonly text: string;
  readonly isLast: boolean;
  readonly mutations: Mutations;
}

export class Text extends Token<EditedText> implements contract.Text {
  get text(): string {
    return Token.stateOf(this).text;
  }

  /** True for the last chunk of a text, which may be empty. */
  get lastInTextNode(): boolean {
    return Token.stateOf(this).isLast;
  }

  get removed(): boolean {
    return Token.stateOf(this).mutations.isRemoved;
  }

  before(...given: [content: HtmlContent, options?: ContentOptions]): this {
    const { mutations } = Token.stateOf(this);
    mutations.before.push(...givenContent(given, methodCall('before', 'Text')));
    return this;
  }

  after(...given: [content: HtmlContent, options?: ContentOptions]): this {
    const { mutations } = Token.stateOf(this);
    mutations.after.unshift(...givenContent(given, methodCall('after', 'Text')));
    return this;
  }

  replace(...given: [content: HtmlContent, options?: ContentOptions]): this {
    const { mutations } = Token.stateOf(this);
    mutations.replaceBy(givenContent(given, methodCall('replace', 'Text')));
    return this;
  }

  remove(): this {
    Token.stateOf(this).mutations.isRemoved = true;
    return this;
  }

  get [Symbol.toStringTag](): string {
    return 'Text';
  }
}

/** The state of a doctype. A part that the document lacks is null. */
export interface DoctypeParts {
  readonly name: string | null;
  readonly publicId: string | null;
  readonly systemId: string | null;
}

export class Doctype extends Token<DoctypeParts> implements contract.Doctype {
  get name(): string | null {
    return Token.stateOf(this).name;
  }

  get publicId(): string | null {
    return Token.stateOf(this).publicId;
  }

  get systemId(): string | null {
    return Token.stateOf(this).systemId;
  }

  get [Symbol.toStringTag](): string {
    return 'Doctype';
  }
}

export class DocumentEnd extends Token<Mutations> implements contract.DocumentEnd {
  append(...given: [content: string, options?: ContentOptions]): this {
    const { before } = Token.stateOf(this);
    before.push(...givenText(given, methodCall('append', 'DocumentEnd')));
    return this;
  }

  get [Symbol.toStringTag](): string {
    return 'DocumentEnd';
  }
}

refuseToClone(Element, AttributesIterator, EndTag, Comment, Text, Doctype, DocumentEnd);
