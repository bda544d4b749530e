// The start tags and end tags that handlers change, and the bytes that are written for them.
//
// Invariant: a tag is written with its original bytes unless a handler changed its name or attributes. In a changed
// tag, each attribute that no handler set keeps its original bytes.

import { type ByteQueue, byteText, lowerCased, type Range } from './byte-queue.ts';
import type { Charset } from './charset.ts';
import { type Content, Mutations } from './mutations.ts';
import type { EndTagToken, StartTagToken } from './tokenizer.ts';

type Bytes = Uint8Array<ArrayBuffer>;

interface Attribute {
  /** The name as the document spells it. */
  readonly name: Bytes;
  /** The name for comparisons: one character for each byte, in lower case. */
  readonly key: string;
  value: Bytes;
  /** The original bytes of name and value, or undefined once a handler has set the attribute. */
  raw: Bytes | undefined;
}

/** The attributes of a tag in their order. If a name occurs twice, handlers read and set the first attribute. */
class Attributes {
  readonly #all = new Set<Attribute>();
  readonly #byKey = new Map<string, Attribute[]>();

  [Symbol.iterator](): Iterator<Attribute> {
    return this.#all.values();
  }

  get size(): number {
    return this.#all.size;
  }

  add(attribute: Attribute): void {
    this.#all.add(attribute);
    const sameName = this.#byKey.get(attribute.key);
    if (sameName === undefined) this.#byKey.set(attribute.key, [attribute]);
    else sameName.push(attribute);
  }

  find(key: string): Attribute | undefined {
    return this.#byKey.get(key)?.[0];
  }

  /** Removes all attributes of the name. Returns false if there is none. */
  remove(key: string): boolean {
    for (const attribute of this.#byKey.get(key) ?? []) this.#all.delete(attribute);
    return this.#byKey.delete(key);
  }
}

/** The changes that are made to the element's end tag once it arrives. */
export interface EndTagChanges {
  readonly name: string | undefined;
  readonly mutations: Mutations | undefined;
  readonly handler: ((tag: unknown) => unknown) | undefined;
}

export class EditedStartTag {
  readonly mutations = new Mutations();
  readonly token: StartTagToken;
  readonly hasContent: boolean;
  readonly charset: Charset;
  /** The number of changes of attributes. An iterator throws if it has changed since the iterator was made. */
  changeCount = 0;
  removesContent = false;
  endTagHandler: ((tag: unknown) => unknown) | undefined;
  readonly #queue: ByteQueue;
  #name: Bytes;
  #endName: string | undefined;
  #endMutations: Mutations | undefined;
  #attributes: Attributes | undefined;
  #isSelfClosing: boolean;
  #isChanged = false;

  constructor(token: StartTagToken, queue: ByteQueue, charset: Charset, hasContent: boolean) {
    this.token = token;
    this.hasContent = hasContent;
    this.charset = charset;
    this.#queue = queue;
    this.#name = queue.view(token.name);
    this.#isSelfClosing = token.isSelfClosing;
  }

  get name(): string {
    return lowerCased(this.charset.decode(this.#name));
  }

  /** @throws TypeError if the name is not valid for a tag */
  rename(name: string): void {
    checkTagName(name);
    this.#name = this.charset.encode(name);
    if (this.hasContent) this.#endName = name;
    this.#isChanged = true;
  }

  get attributes(): readonly (readonly [name: string, value: string])[] {
    const { charset } = this;
    return [...this.#attributeList()].map(({ name, value }) => [
      lowerCased(charset.decode(name)),
      charset.decode(value),
    ]);
  }

  attribute(name: string): string | undefined {
    const found = this.#find(name);
    return found && this.charset.decode(found.value);
  }

  /** @throws TypeError if the name is not valid for an attribute */
  setAttribute(name: string, value: string): void {
    checkAttributeName(name);
    const encoded = this.charset.encode(value);
    const found = this.#find(name);
    if (found === undefined) {
      const encodedName = this.charset.encode(lowerCased(name));
      this.#attributeList().add({
        name: encodedName,
        key: byteText(encodedName),
        value: encoded,
        raw: undefined,
      });
    } else {
      found.value = encoded;
      found.raw = undefined;
    }
    this.#isChanged = true;
    this.changeCount++;
  }

  removeAttribute(name: string): void {
    if (this.#attributeList().remove(this.#keyOf(name))) this.#isChanged = true;
    this.changeCount++;
  }

  before(content: readonly Content[]): void {
    this.mutations.before.push(...content);
  }

  after(content: readonly Content[]): void {
    (this.hasContent ? this.#endTagMutations() : this.mutations).after.unshift(...content);
  }

  prepend(content: readonly Content[]): void {
    if (!this.hasContent) return;
    this.#isSelfClosing = false;
    this.mutations.after.unshift(...content);
  }

  append(content: readonly Content[]): void {
    if (!this.hasContent) return;
    this.#isSelfClosing = false;
    this.#endTagMutations().before.push(...content);
  }

  setInnerContent(content: readonly Content[]): void {
    if (!this.hasContent) return;
    this.#removeContent();
    this.prepend(content);
  }

  replaceBy(content: readonly Content[]): void {
    this.mutations.replaceBy(content);
    this.#removeWithContent();
  }

  remove(): void {
    this.mutations.isRemoved = true;
    this.#removeWithContent();
  }

  removeTags(): void {
    this.mutations.isRemoved = true;
    if (this.hasContent) this.#endTagMutations().isRemoved = true;
  }

  get endTagChanges(): EndTagChanges | undefined {
    const name = this.#endName;
    const mutations = this.#endMutations;
    const handler = this.endTagHandler;
    return name === undefined && mutations === undefined && handler === undefined
      ? undefined
      : { name, mutations, handler };
  }

  write(write: (bytes: Bytes) => void): void {
    if (!this.#isChanged) {
      write(this.#queue.slice(this.token));
      return;
    }
    const { charset } = this;
    const writeText = (text: string) => write(charset.encode(text));
    writeText('<');
    write(this.#name.slice());
    const attributes = this.#attributeList();
    for (const { name, value, raw } of attributes) {
      writeText(' ');
      write((raw ?? name).slice());
      if (raw === undefined) {
        writeText('="');
        write(escapeQuotes(value));
        writeText('"');
      }
    }
    if (this.#isSelfClosing) writeText(attributes.size > 0 ? ' />' : '/>');
    else writeText('>');
  }

  #removeWithContent(): void {
    if (!this.hasContent) return;
    this.#removeContent();
    this.#endTagMutations().isRemoved = true;
  }

  #removeContent(): void {
    this.mutations.after = [];
    if (this.#endMutations !== undefined) this.#endMutations.before = [];
    this.removesContent = true;
  }

  #endTagMutations(): Mutations {
    this.#endMutations ??= new Mutations();
    return this.#endMutations;
  }

  #keyOf(name: string): string {
    return lowerCased(this.charset.byteTextOf(name));
  }

  #find(name: string): Attribute | undefined {
    return this.#attributeList().find(this.#keyOf(name));
  }

  #attributeList(): Attributes {
    if (this.#attributes !== undefined) return this.#attributes;
    const view = (range: Range) => this.#queue.view(range);
    this.#attributes = new Attributes();
    for (const { name, value, raw } of this.token.attributes) {
      const key = lowerCased(byteText(view(name)));
      this.#attributes.add({ name: view(name), key, value: view(value), raw: view(raw) });
    }
    return this.#attributes;
  }
}

export class EditedEndTag {
  mutations = new Mutations();
  readonly #token: EndTagToken;
  readonly #queue: ByteQueue;
  readonly #charset: Charset;
  #name: string | undefined;

  constructor(token: EndTagToken, queue: ByteQueue, charset: Charset) {
    this.#token = token;
    this.#queue = queue;
    this.#charset = charset;
  }

  get name(): string {
    return lowerCased(this.#name ?? this.#charset.decode(this.#queue.view(this.#token.name)));
  }

  set name(name: string) {
    this.#name = name;
  }

  write(write: (bytes: Bytes) => void): void {
    if (this.#name === undefined) write(this.#queue.slice(this.#token));
    else write(this.#charset.encode(`</${this.#name}>`));
  }
}

/** @throws TypeError if the name is empty, does not begin with a letter, or has a character that ends a name */
function checkTagName(name: string): void {
  if (name === '') throw parserError("Tag name can't be empty.");
  if (!/^[a-z]/i.test(name)) {
    throw parserError(
      'The first character of the tag name should be an ASCII alphabetical character.',
    );
  }
  const [forbidden] = /[ \n\r\t\f/>]/.exec(name) ?? [];
  if (forbidden !== undefined) {
    throw parserError(`\`${forbidden}\` character is forbidden in the tag name`);
  }
}

/** @throws TypeError if the name is empty, or has a character that ends a name */
function checkAttributeName(name: string): void {
  if (name === '') throw parserError("Attribute name can't be empty.");
  const [forbidden] = /[ \n\r\t\f/>=]/.exec(name) ?? [];
  if (forbidden !== undefined) {
    throw parserError(`\`${forbidden}\` character is forbidden in the attribute name`);
  }
}

function parserError(fact: string): TypeError {
  return new TypeError(`Parser error: ${fact}`);
}

const DOUBLE_QUOTE = 0x22;
const ESCAPED_QUOTE = new TextEncoder().encode('&quot;');

/** Escapes the double quotes in a value, which is written between double quotes. */
function escapeQuotes(value: Bytes): Bytes {
  if (!value.includes(DOUBLE_QUOTE)) return value.slice();
  return new Uint8Array(
    [...value].flatMap((byte) => (byte === DOUBLE_QUOTE ? [...ESCAPED_QUOTE] : [byte])),
  );
}
