// A tag while handlers change it, and the bytes it becomes.
//
// Invariant: a tag whose name and attributes nobody changed keeps its bytes; an attribute that was not set keeps its own.

import { type ByteQueue, byteText, lowerCased, type Range } from './byte-queue.ts';
import type { Charset } from './charset.ts';
import { type Content, Mutations } from './mutations.ts';
import type { EndTagToken, StartTagToken } from './tokenizer.ts';

type Bytes = Uint8Array<ArrayBuffer>;

interface Attribute {
  /** As it was written. */
  readonly name: Bytes;
  /** Characters are bytes, in lower case. */
  readonly key: string;
  value: Bytes;
  /** All of it, until it is set. */
  raw: Bytes | undefined;
}

/** The attributes of a tag, in their order. A name may come twice: the first is read and set. */
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
    const same = this.#byKey.get(attribute.key);
    if (same === undefined) this.#byKey.set(attribute.key, [attribute]);
    else same.push(attribute);
  }

  find(key: string): Attribute | undefined {
    return this.#byKey.get(key)?.[0];
  }

  /** False: there is none. */
  remove(key: string): boolean {
    for (const attribute of this.#byKey.get(key) ?? []) this.#all.delete(attribute);
    return this.#byKey.delete(key);
  }
}

/** Runs when the element's end tag comes. */
export interface EndTagWork {
  readonly name: string | undefined;
  readonly mutations: Mutations | undefined;
  readonly handler: ((tag: unknown) => unknown) | undefined;
}

export class EditedStartTag {
  readonly mutations = new Mutations();
  readonly token: StartTagToken;
  readonly hasContent: boolean;
  readonly charset: Charset;
  /** How often attributes were changed: iterators do not outlive it. */
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

  /** @throws TypeError */
  rename(name: string): void {
    checkTagName(name);
    this.#name = this.charset.encode(name);
    if (this.hasContent) this.#endName = name;
    this.#isChanged = true;
  }

  get attributes(): readonly (readonly [name: string, value: string])[] {
    const { charset } = this;
    return [...this.#list()].map(({ name, value }) => [
      lowerCased(charset.decode(name)),
      charset.decode(value),
    ]);
  }

  attribute(name: string): string | undefined {
    const found = this.#find(name);
    return found && this.charset.decode(found.value);
  }

  /** @throws TypeError */
  setAttribute(name: string, value: string): void {
    checkAttributeName(name);
    const encoded = this.charset.encode(value);
    const found = this.#find(name);
    if (found === undefined) {
      const written = this.charset.encode(lowerCased(name));
      this.#list().add({ name: written, key: byteText(written), value: encoded, raw: undefined });
    } else {
      found.value = encoded;
      found.raw = undefined;
    }
    this.#isChanged = true;
    this.changeCount++;
  }

  removeAttribute(name: string): void {
    if (this.#list().remove(this.#keyOf(name))) this.#isChanged = true;
    this.changeCount++;
  }

  before(content: readonly Content[]): void {
    this.mutations.before.push(...content);
  }

  after(content: readonly Content[]): void {
    (this.hasContent ? this.#end() : this.mutations).after.unshift(...content);
  }

  prepend(content: readonly Content[]): void {
    if (!this.hasContent) return;
    this.#isSelfClosing = false;
    this.mutations.after.unshift(...content);
  }

  append(content: readonly Content[]): void {
    if (!this.hasContent) return;
    this.#isSelfClosing = false;
    this.#end().before.push(...content);
  }

  setInnerContent(content: readonly Content[]): void {
    if (!this.hasContent) return;
    this.#removeContent();
    this.prepend(content);
  }

  replaceBy(content: readonly Content[]): void {
    this.mutations.replaceBy(content);
    this.#removeAll();
  }

  remove(): void {
    this.mutations.isRemoved = true;
    this.#removeAll();
  }

  removeTags(): void {
    this.mutations.isRemoved = true;
    if (this.hasContent) this.#end().isRemoved = true;
  }

  get endTagWork(): EndTagWork | undefined {
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
    const ascii = (text: string) => write(charset.encode(text));
    ascii('<');
    write(this.#name.slice());
    const attributes = this.#list();
    for (const { name, value, raw } of attributes) {
      ascii(' ');
      write((raw ?? name).slice());
      if (raw === undefined) {
        ascii('="');
        write(withoutQuotes(value));
        ascii('"');
      }
    }
    if (this.#isSelfClosing) ascii(attributes.size > 0 ? ' />' : '/>');
    else ascii('>');
  }

  #removeAll(): void {
    if (!this.hasContent) return;
    this.#removeContent();
    this.#end().isRemoved = true;
  }

  #removeContent(): void {
    this.mutations.after = [];
    if (this.#endMutations !== undefined) this.#endMutations.before = [];
    this.removesContent = true;
  }

  #end(): Mutations {
    this.#endMutations ??= new Mutations();
    return this.#endMutations;
  }

  #keyOf(name: string): string {
    return lowerCased(this.charset.byteTextOf(name));
  }

  #find(name: string): Attribute | undefined {
    return this.#list().find(this.#keyOf(name));
  }

  #list(): Attributes {
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

/** @throws TypeError */
function checkTagName(name: string): void {
  if (name === '') throw refused("Tag name can't be empty.");
  if (!/^[a-z]/i.test(name)) {
    throw refused('The first character of the tag name should be an ASCII alphabetical character.');
  }
  const [forbidden] = /[ \n\r\t\f/>]/.exec(name) ?? [];
  if (forbidden !== undefined) {
    throw refused(`\`${forbidden}\` character is forbidden in the tag name`);
  }
}

/** @throws TypeError */
function checkAttributeName(name: string): void {
  if (name === '') throw refused("Attribute name can't be empty.");
  const [forbidden] = /[ \n\r\t\f/>=]/.exec(name) ?? [];
  if (forbidden !== undefined) {
    throw refused(`\`${forbidden}\` character is forbidden in the attribute name`);
  }
}

function refused(fact: string): TypeError {
  return new TypeError(`Parser error: ${fact}`);
}

const DOUBLE_QUOTE = 0x22;
const ESCAPED_QUOTE = new TextEncoder().encode('&quot;');

/** The bytes of a value between double quotes. */
function withoutQuotes(value: Bytes): Bytes {
  if (!value.includes(DOUBLE_QUOTE)) return value.slice();
  return new Uint8Array(
    [...value].flatMap((byte) => (byte === DOUBLE_QUOTE ? [...ESCAPED_QUOTE] : [byte])),
  );
}
