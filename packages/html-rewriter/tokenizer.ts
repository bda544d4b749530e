// HTML's tokens in a stream of bytes: the tokenizer of the HTML standard, as far as it decides where tokens begin and end.
//
// Invariants: the tokens of a stream, one after the other, are its bytes. The time is in proportion to the bytes,
// however small the chunks are. Text is never kept; an incomplete token of another kind is. It reads bytes, not
// characters: in every encoding that is allowed, the bytes of HTML's syntax are those of ASCII. Does not know
// which elements are open: `TagContext` does.

import { type ByteQueue, byteText, lowerCased, type Range } from './byte-queue.ts';
import type { TagContext, TagNamespace, TextKind } from './tag-context.ts';

export interface AttributeRange {
  readonly name: Range;
  readonly value: Range;
  /** From the name to the closing quote of the value. */
  readonly raw: Range;
}

export interface StartTagToken extends Range {
  readonly kind: 'start tag';
  readonly name: Range;
  /** One character for each byte, in lower case. */
  readonly tagName: string;
  readonly namespace: TagNamespace;
  readonly attributes: readonly AttributeRange[];
  readonly isSelfClosing: boolean;
}

export interface EndTagToken extends Range {
  readonly kind: 'end tag';
  readonly name: Range;
  readonly tagName: string;
}

export interface DoctypeToken extends Range {
  readonly kind: 'doctype';
  readonly name?: Range;
  readonly publicId?: Range;
  readonly systemId?: Range;
}

/** Ranges hold until bytes are added to the queue. */
export type HtmlToken =
  | (Range & { readonly kind: 'text' })
  | StartTagToken
  | EndTagToken
  | (Range & { readonly kind: 'comment'; readonly text: Range })
  | DoctypeToken
  /** Bytes that no handler sees; they end the text before them. */
  | (Range & { readonly kind: 'other' });

const LESS = 0x3c;
const GREATER = 0x3e;
const SLASH = 0x2f;
const BANG = 0x21;
const DASH = 0x2d;
const EQUALS = 0x3d;
const QUESTION = 0x3f;
const DOUBLE_QUOTE = 0x22;
const SINGLE_QUOTE = 0x27;
const BRACKET = 0x5d;

const NOWHERE: Range = { start: 0, end: 0 };

/** Handles the byte at the position: moves on, or changes the state. */
type State = (byte: number) => void;

export class HtmlTokenizer {
  readonly #queue: ByteQueue;
  readonly #context: TagContext;
  #at = 0;
  #tokenStart = 0;
  #token: HtmlToken | undefined;
  #isEnded = false;
  /** A word has begun at the end of the bytes. */
  #isWaiting = false;

  readonly #data: State = () => this.#textUpTo(LESS, this.#tagOpen);
  #state: State = this.#data;
  /** The state of the text that the markup interrupts. */
  #textState: State = this.#data;
  /** The kind of token that the bytes are, if none follow. */
  #reading: 'text' | 'tag' | 'comment' | 'doctype' = 'text';

  // The tag, comment or doctype that is being read.
  #isEndTag = false;
  #partStart = 0;
  #name = NOWHERE;
  #attributes: AttributeRange[] = [];
  #attributeName = NOWHERE;
  #quote = 0;
  /** How many bytes at the end of a comment may be a part of its closing sequence: `-`, `--` or `--!`. */
  #closing = 0;
  #doctype: { name?: Range; publicId?: Range; systemId?: Range } = {};
  #idName: 'publicId' | 'systemId' = 'publicId';

  /** The name of the last start tag: raw text ends with its end tag. */
  #lastStartTag = '';
  /** 0: a script; 1: in a comment of it; 2: in a script in that comment (HTML standard, "script data escaped"). */
  #scriptDepth: 0 | 1 | 2 = 0;
  #dashCount = 0;

  constructor(queue: ByteQueue, context: TagContext) {
    this.#queue = queue;
    this.#context = context;
  }

  /** The first byte that belongs to no token yet. */
  get consumed(): number {
    return this.#tokenStart;
  }

  /** No bytes follow. */
  end(): void {
    this.#isEnded = true;
  }

  /** The next token; undefined until more bytes are there. @throws TypeError if the document is ambiguous */
  next(): HtmlToken | undefined {
    const queue = this.#queue;
    const { end } = queue;
    this.#token = undefined;
    this.#isWaiting = false;
    while (this.#at < end && !this.#isWaiting) {
      this.#state(queue.byteAt(this.#at));
      if (this.#token !== undefined) return this.#token;
    }
    if (this.#isEnded) this.#finish();
    else if (this.#state === this.#textState) this.#emitText();
    return this.#token;
  }

  /** The token that ends with the stream. */
  #finish(): void {
    if (this.#tokenStart === this.#queue.end) return;
    this.#at = this.#queue.end;
    switch (this.#reading) {
      case 'text':
        this.#emitText();
        break;
      case 'tag':
        this.#emit({ kind: 'other' });
        break;
      case 'comment':
        this.#emitComment(this.#at - this.#closing);
        break;
      case 'doctype':
        if (this.#state === this.#doctypeName) this.#doctype.name = this.#part();
        if (this.#state === this.#doctypeId) this.#doctype[this.#idName] = this.#part();
        this.#emitDoctype();
    }
  }

  /** The bytes from the last token to here. */
  #emit<Token extends { readonly kind: HtmlToken['kind'] }>(token: Token): void {
    this.#token = { ...token, start: this.#tokenStart, end: this.#at } as unknown as HtmlToken;
    this.#tokenStart = this.#at;
    this.#reading = 'text';
  }

  #emitText(): void {
    if (this.#at > this.#tokenStart) this.#emit({ kind: 'text' });
  }

  #emitComment(textEnd: number): void {
    this.#emit({ kind: 'comment', text: { start: this.#partStart, end: textEnd } });
    this.#state = this.#textState;
  }

  #emitDoctype(): void {
    this.#emit({ kind: 'doctype', ...this.#doctype });
    this.#state = this.#textState;
  }

  #part(): Range {
    return { start: this.#partStart, end: this.#at };
  }

  /** Moves to the state; `as`: the kind of token that has begun. */
  #begin(state: State, as: 'tag' | 'comment' | 'doctype'): void {
    this.#state = state;
    this.#reading = as;
  }

  #step(state: State = this.#state): void {
    this.#at++;
    this.#state = state;
  }

  /** Whether the word is here, in any case of its letters or `exactly`; undefined while that depends on bytes that follow. */
  #isAt(word: string, how?: 'exactly'): boolean | undefined {
    for (let i = 0; i < word.length; i++) {
      if (this.#at + i === this.#queue.end) {
        this.#isWaiting = !this.#isEnded;
        return this.#isEnded ? false : undefined;
      }
      const byte = this.#queue.byteAt(this.#at + i);
      const isUpper = how !== 'exactly' && isLetter(byte);
      if ((isUpper ? byte & ~0x20 : byte) !== word.charCodeAt(i)) return false;
    }
    return true;
  }

  // Text

  /** Passes text; at the byte, markup may begin. */
  #textUpTo(byte: number, state: State): void {
    this.#at = this.#queue.find(byte, this.#at);
    if (this.#at === this.#queue.end) return;
    this.#emitText();
    this.#state = state;
    if (state !== this.#cdataEnd) this.#at++;
  }

  /** The bytes so far are text, a chunk of its own as in workerd. */
  #noMarkup(): void {
    this.#emitText();
    this.#state = this.#textState;
  }

  readonly #plaintext: State = () => {
    this.#at = this.#queue.end;
  };

  readonly #cdata: State = () => this.#textUpTo(BRACKET, this.#cdataEnd);

  readonly #cdataEnd: State = () => {
    const isEnd = this.#isAt(']]>');
    if (isEnd === undefined) return;
    if (isEnd) {
      this.#at += 3;
      this.#textState = this.#data;
      this.#state = this.#data;
      this.#emit({ kind: 'other' });
    } else this.#step(this.#cdata);
  };

  /** Of elements that hold text only. */
  readonly #rawText: State = () => this.#textUpTo(LESS, this.#rawLess);

  readonly #rawLess: State = (byte) => {
    if (byte === SLASH) this.#step(this.#rawEndTagOpen);
    else this.#noMarkup();
  };

  readonly #rawEndTagOpen: State = (byte) => {
    if (!isLetter(byte)) return this.#noMarkup();
    this.#partStart = this.#at;
    this.#state = this.#rawEndTagName;
  };

  readonly #rawEndTagName: State = (byte) => {
    if (isLetter(byte)) return this.#step();
    const isEnd = isSpace(byte) || byte === SLASH || byte === GREATER;
    if (!isEnd || this.#nameOf(this.#part()) !== this.#lastStartTag) return this.#noMarkup();
    this.#isEndTag = true;
    this.#begin(this.#tagName, 'tag');
  };

  readonly #script: State = (byte) => {
    if (this.#scriptDepth === 0) return this.#textUpTo(LESS, this.#scriptLess);
    if (byte === LESS) {
      this.#dashCount = 0;
      return this.#textUpTo(LESS, this.#scriptLess);
    }
    if (byte === GREATER && this.#dashCount >= 2) this.#scriptDepth = 0;
    this.#dashCount = byte === DASH ? this.#dashCount + 1 : 0;
    this.#step();
  };

  readonly #scriptLess: State = (byte) => {
    this.#partStart = this.#at;
    if (this.#scriptDepth === 0 && byte === BANG) this.#step(this.#scriptBang);
    else if (this.#scriptDepth === 1 && isLetter(byte)) this.#state = this.#scriptName;
    else if (byte !== SLASH) this.#noMarkup();
    else if (this.#scriptDepth < 2) this.#step(this.#rawEndTagOpen);
    else {
      this.#partStart++;
      this.#step(this.#scriptName);
    }
  };

  readonly #scriptBang: State = () => {
    const isComment = this.#isAt('--');
    if (isComment === undefined) return;
    if (isComment) {
      this.#scriptDepth = 1;
      this.#dashCount = 2;
      this.#at += 2;
    }
    this.#state = this.#script;
  };

  /** `<script` or `</script` within a comment. */
  readonly #scriptName: State = (byte) => {
    if (isLetter(byte)) return this.#step();
    const isEnd = isSpace(byte) || byte === SLASH || byte === GREATER;
    if (isEnd && this.#nameOf(this.#part()) === 'script') {
      this.#scriptDepth = this.#scriptDepth === 1 ? 2 : 1;
      this.#at++;
    }
    this.#state = this.#script;
  };

  // Tags

  readonly #tagOpen: State = (byte) => {
    if (isLetter(byte)) this.#beginTag(false);
    else if (byte === SLASH) this.#step(this.#endTagOpen);
    else if (byte === BANG) {
      this.#at++;
      this.#beginComment(this.#declaration);
    } else if (byte === QUESTION) this.#beginComment(this.#bogusComment);
    else this.#noMarkup();
  };

  readonly #endTagOpen: State = (byte) => {
    if (isLetter(byte)) this.#beginTag(true);
    else if (byte === GREATER) {
      this.#step(this.#textState);
      this.#emit({ kind: 'other' });
    } else this.#beginComment(this.#bogusComment);
  };

  #beginTag(isEndTag: boolean): void {
    this.#isEndTag = isEndTag;
    this.#partStart = this.#at;
    this.#begin(this.#tagName, 'tag');
  }

  readonly #tagName: State = (byte) => {
    if (!isSpace(byte) && byte !== SLASH && byte !== GREATER) return this.#step();
    this.#name = this.#part();
    this.#attributes = [];
    this.#state = this.#beforeAttributeName;
  };

  readonly #beforeAttributeName: State = (byte) => {
    if (byte === GREATER) this.#emitTag(false);
    else if (byte === SLASH) this.#step(this.#selfClosing);
    else if (isSpace(byte)) this.#step();
    else {
      this.#partStart = this.#at;
      this.#step(this.#attributeNameState);
    }
  };

  readonly #selfClosing: State = (byte) => {
    if (byte === GREATER) this.#emitTag(true);
    else this.#state = this.#beforeAttributeName;
  };

  readonly #attributeNameState: State = (byte) => {
    const isEnd = byte === EQUALS || byte === SLASH || byte === GREATER || isSpace(byte);
    if (!isEnd) return this.#step();
    this.#attributeName = this.#part();
    this.#state = this.#afterAttributeName;
  };

  readonly #afterAttributeName: State = (byte) => {
    if (isSpace(byte)) this.#step();
    else if (byte === EQUALS) this.#step(this.#beforeAttributeValue);
    else this.#endAttribute(NOWHERE, this.#attributeName.end);
  };

  readonly #beforeAttributeValue: State = (byte) => {
    if (isSpace(byte)) return this.#step();
    if (byte === GREATER) {
      this.#endAttribute(NOWHERE, this.#attributeName.end);
      this.#emitTag(false);
      // As in workerd, the content of an element without the last value is read as HTML, whatever it is.
      this.#textState = this.#data;
      this.#state = this.#data;
      return;
    }
    const isQuoted = byte === DOUBLE_QUOTE || byte === SINGLE_QUOTE;
    if (isQuoted) this.#quote = byte;
    if (isQuoted) this.#at++;
    this.#partStart = this.#at;
    this.#state = isQuoted ? this.#quotedValue : this.#plainValue;
  };

  readonly #quotedValue: State = () => {
    this.#at = this.#queue.find(this.#quote, this.#at);
    if (this.#at === this.#queue.end) return;
    const value = this.#part();
    this.#at++;
    this.#endAttribute(value, this.#at);
  };

  readonly #plainValue: State = (byte) => {
    if (isSpace(byte) || byte === GREATER) this.#endAttribute(this.#part(), this.#at);
    else this.#step();
  };

  #endAttribute(value: Range, end: number): void {
    const name = this.#attributeName;
    if (!this.#isEndTag) this.#attributes.push({ name, value, raw: { start: name.start, end } });
    this.#state = this.#beforeAttributeName;
  }

  #nameOf(range: Range): string {
    return lowerCased(byteText(this.#queue.view(range)));
  }

  /** @throws TypeError */
  #emitTag(isSelfClosing: boolean): void {
    const name = this.#name;
    const tagName = this.#nameOf(name);
    const attributes = this.#attributes;
    this.#at++;
    if (this.#isEndTag) {
      this.#context.endTag(tagName);
      this.#textState = this.#data;
      this.#emit({ kind: 'end tag', name, tagName });
    } else {
      const attribute = (named: string) => {
        const found = attributes.find((other) => this.#nameOf(other.name) === named);
        return found && this.#nameOf(found.value);
      };
      const { namespace, textKind } = this.#context.startTag({
        tagName,
        isSelfClosing,
        attribute,
      });
      this.#textState = this.#stateOf(textKind);
      this.#lastStartTag = tagName;
      this.#emit({ kind: 'start tag', name, tagName, namespace, attributes, isSelfClosing });
    }
    this.#state = this.#textState;
  }

  #stateOf(kind: TextKind): State {
    switch (kind) {
      case 'data':
        return this.#data;
      case 'plaintext':
        return this.#plaintext;
      case 'script':
        this.#scriptDepth = 0;
        return this.#script;
      default:
        return this.#rawText;
    }
  }

  // Comments and declarations

  readonly #declaration: State = () => {
    const isComment = this.#isAt('--');
    const isDoctype = this.#isAt('DOCTYPE');
    const isCdata = this.#context.allowsCdata && this.#isAt('[CDATA[', 'exactly');
    if (isComment) {
      this.#at += 2;
      this.#beginComment(this.#comment);
    } else if (isDoctype) {
      this.#at += 7;
      this.#doctype = {};
      this.#begin(this.#beforeDoctypeName, 'doctype');
    } else if (isCdata) {
      this.#at += 7;
      this.#textState = this.#cdata;
      this.#state = this.#cdata;
      this.#emit({ kind: 'other' });
    } else if (!this.#isWaiting) this.#beginComment(this.#bogusComment);
  };

  #beginComment(state: State): void {
    this.#partStart = this.#at;
    this.#closing = 0;
    this.#begin(state, 'comment');
  }

  readonly #bogusComment: State = () => {
    this.#at = this.#queue.find(GREATER, this.#at);
    if (this.#at < this.#queue.end) this.#endComment(this.#at);
  };

  readonly #comment: State = (byte) => {
    const closing = this.#closing;
    if (byte === GREATER) {
      // `<!-->` and `<!--->` are comments too.
      const isAbrupt = this.#at - this.#partStart === closing && closing < 2;
      if (closing >= 2 || isAbrupt) return this.#endComment(this.#at - closing);
      this.#closing = 0;
    } else if (byte === DASH) this.#closing = closing === 3 ? 1 : Math.min(closing + 1, 2);
    else this.#closing = byte === BANG && closing === 2 ? 3 : 0;
    this.#at++;
    if (this.#closing === 0) this.#at = this.#queue.find(DASH, this.#at);
  };

  #endComment(textEnd: number): void {
    this.#at++;
    this.#emitComment(textEnd);
  }

  #endDoctype(): void {
    this.#at++;
    this.#emitDoctype();
  }

  readonly #beforeDoctypeName: State = (byte) => {
    if (isSpace(byte)) this.#step();
    else if (byte === GREATER) this.#endDoctype();
    else {
      this.#partStart = this.#at;
      this.#step(this.#doctypeName);
    }
  };

  readonly #doctypeName: State = (byte) => {
    if (!isSpace(byte) && byte !== GREATER) return this.#step();
    this.#doctype.name = this.#part();
    this.#state = this.#afterDoctypeName;
  };

  readonly #afterDoctypeName: State = (byte) => {
    if (isSpace(byte)) return this.#step();
    if (byte === GREATER) return this.#endDoctype();
    const isPublic = this.#isAt('PUBLIC');
    const isSystem = this.#isAt('SYSTEM');
    if (this.#isWaiting) return;
    if (!isPublic && !isSystem) return this.#step(this.#bogusDoctype);
    this.#at += 6;
    this.#idName = isPublic ? 'publicId' : 'systemId';
    this.#state = this.#beforeDoctypeId;
  };

  readonly #beforeDoctypeId: State = (byte) => {
    if (isSpace(byte)) this.#step();
    else if (byte === GREATER) this.#endDoctype();
    else if (byte === DOUBLE_QUOTE || byte === SINGLE_QUOTE) {
      this.#quote = byte;
      this.#step(this.#doctypeId);
      this.#partStart = this.#at;
    } else this.#step(this.#bogusDoctype);
  };

  readonly #doctypeId: State = (byte) => {
    if (byte !== this.#quote && byte !== GREATER) return this.#step();
    this.#doctype[this.#idName] = this.#part();
    if (byte === GREATER) this.#endDoctype();
    else if (this.#idName === 'systemId') this.#step(this.#bogusDoctype);
    else {
      this.#idName = 'systemId';
      this.#step(this.#beforeDoctypeId);
    }
  };

  readonly #bogusDoctype: State = () => {
    this.#at = this.#queue.find(GREATER, this.#at);
    if (this.#at < this.#queue.end) this.#endDoctype();
  };
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09 || byte === 0x0c;
}

function isLetter(byte: number): boolean {
  return (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a);
}
