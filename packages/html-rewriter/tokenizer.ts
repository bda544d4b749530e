// Splits a stream of bytes into the tokens of HTML. It follows the tokenizer of the HTML standard as far as that
// decides where tokens begin and end.
//
// Invariants: the tokens of a stream, joined in their order, have all of its bytes. The time is in proportion to the
// number of bytes, even if each chunk is one byte. Text is passed on at once; an incomplete token of another kind is
// held. The tokenizer reads bytes, because in every encoding that is allowed, HTML's syntax has the bytes of ASCII.
// Only `TagContext` knows which elements are open.

import { type ByteQueue, byteText, lowerCased, type Range } from './byte-queue.ts';
import type { TagContext, TagNamespace, TextKind } from './tag-context.ts';

export interface AttributeRange {
  readonly name: Range;
  readonly value: Range;
  /** The whole attribute, from its name to the closing quote of its value. */
  readonly raw: Range;
}

export interface StartTagToken extends Range {
  readonly kind: 'start tag';
  readonly name: Range;
  /** The name in lower case, with one character for each byte. */
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

/** A token. Its ranges are valid until bytes are added to the queue. */
export type HtmlToken =
  | (Range & { readonly kind: 'text' })
  | StartTagToken
  | EndTagToken
  | (Range & { readonly kind: 'comment'; readonly text: Range })
  | DoctypeToken
  /** Other syntax, such as `]]>`, which no handler sees. It ends the text before it. */
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

const EMPTY_RANGE: Range = { start: 0, end: 0 };

/** A state of the tokenizer. It handles the byte at the present position: it moves on, or changes the state. */
type State = (byte: number) => void;

export class HtmlTokenizer {
  readonly #queue: ByteQueue;
  readonly #context: TagContext;
  #position = 0;
  #tokenStart = 0;
  #token: HtmlToken | undefined;
  #isEnded = false;
  /** True if the bytes end inside of a word such as `DOCTYPE`, so that more bytes are needed to recognise it. */
  #isWaiting = false;

  readonly #data: State = () => this.#textUpTo(LESS, this.#tagOpen);
  #state: State = this.#data;
  /** The state in which text goes on after the present markup. */
  #textState: State = this.#data;
  /** The kind of token that the bytes become if the stream ends here. */
  #tokenKindAtEnd: 'text' | 'tag' | 'comment' | 'doctype' = 'text';

  // These fields describe the tag, comment or doctype that is being read.
  #isEndTag = false;
  #partStart = 0;
  #name = EMPTY_RANGE;
  #attributes: AttributeRange[] = [];
  #attributeName = EMPTY_RANGE;
  #quote = 0;
  /** The number of bytes at the end of a comment that may begin its closing sequence: `-`, `--` or `--!`. */
  #closing = 0;
  #doctype: { name?: Range; publicId?: Range; systemId?: Range } = {};
  #doctypeIdName: 'publicId' | 'systemId' = 'publicId';

  /** The name of the last start tag, whose end tag ends raw text. */
  #lastStartTag = '';
  /**
   * 0 in a script, 1 in a comment of the script, 2 in a `<script>` in that comment (HTML standard, "script data
   * escaped").
   */
  #scriptDepth: 0 | 1 | 2 = 0;
  #dashCount = 0;

  constructor(queue: ByteQueue, context: TagContext) {
    this.#queue = queue;
    this.#context = context;
  }

  /** The position of the first byte that is not part of a returned token. */
  get consumed(): number {
    return this.#tokenStart;
  }

  /** Tells the tokenizer that no bytes follow. */
  end(): void {
    this.#isEnded = true;
  }

  /**
   * Returns the next token, or undefined if more bytes are needed.
   *
   * @throws TypeError if a browser could read a tag otherwise
   */
  next(): HtmlToken | undefined {
    const queue = this.#queue;
    const { end } = queue;
    this.#token = undefined;
    this.#isWaiting = false;
    while (this.#position < end && !this.#isWaiting) {
      this.#state(queue.byteAt(this.#position));
      if (this.#token !== undefined) return this.#token;
    }
    if (this.#isEnded) this.#finish();
    else if (this.#state === this.#textState) this.#emitText();
    return this.#token;
  }

  /** Makes the last token, which the end of the stream completes. */
  #finish(): void {
    if (this.#tokenStart === this.#queue.end) return;
    this.#position = this.#queue.end;
    switch (this.#tokenKindAtEnd) {
      case 'text':
        this.#emitText();
        break;
      case 'tag':
        this.#emit({ kind: 'other' });
        break;
      case 'comment':
        this.#emitComment(this.#position - this.#closing);
        break;
      case 'doctype':
        if (this.#state === this.#doctypeName) this.#doctype.name = this.#rangeFromPartStart();
        if (this.#state === this.#doctypeId)
          this.#doctype[this.#doctypeIdName] = this.#rangeFromPartStart();
        this.#emitDoctype();
    }
  }

  /** Makes a token of the bytes since the last one. */
  #emit<Token extends { readonly kind: HtmlToken['kind'] }>(token: Token): void {
    this.#token = {
      ...token,
      start: this.#tokenStart,
      end: this.#position,
    } as unknown as HtmlToken;
    this.#tokenStart = this.#position;
    this.#tokenKindAtEnd = 'text';
  }

  #emitText(): void {
    if (this.#position > this.#tokenStart) this.#emit({ kind: 'text' });
  }

  #emitComment(textEnd: number): void {
    this.#emit({ kind: 'comment', text: { start: this.#partStart, end: textEnd } });
    this.#state = this.#textState;
  }

  #emitDoctype(): void {
    this.#emit({ kind: 'doctype', ...this.#doctype });
    this.#state = this.#textState;
  }

  #rangeFromPartStart(): Range {
    return { start: this.#partStart, end: this.#position };
  }

  /** Moves to the state in which a token of the kind `as` begins. */
  #begin(state: State, as: 'tag' | 'comment' | 'doctype'): void {
    this.#state = state;
    this.#tokenKindAtEnd = as;
  }

  #step(state: State = this.#state): void {
    this.#position++;
    this.#state = state;
  }

  /**
   * Returns whether the word is next, in any case unless `exactly`, or undefined if that depends on bytes that follow.
   */
  #matchesWord(word: string, how?: 'exactly'): boolean | undefined {
    for (let i = 0; i < word.length; i++) {
      if (this.#position + i === this.#queue.end) {
        this.#isWaiting = !this.#isEnded;
        return this.#isEnded ? false : undefined;
      }
      const byte = this.#queue.byteAt(this.#position + i);
      const isUpper = how !== 'exactly' && isLetter(byte);
      if ((isUpper ? byte & ~0x20 : byte) !== word.charCodeAt(i)) return false;
    }
    return true;
  }

  // The states below read text, including the text of scripts.

  /** Skips text up to the byte at which markup may begin, and changes to the state there. */
  #textUpTo(byte: number, state: State): void {
    this.#position = this.#queue.find(byte, this.#position);
    if (this.#position === this.#queue.end) return;
    this.#emitText();
    this.#state = state;
    if (state !== this.#cdataEnd) this.#position++;
  }

  /**
   * Makes a text token of the bytes, which turned out not to be markup. In workerd, too, they are a chunk of their own.
   */
  #continueAsText(): void {
    this.#emitText();
    this.#state = this.#textState;
  }

  readonly #plaintext: State = () => {
    this.#position = this.#queue.end;
  };

  readonly #cdata: State = () => this.#textUpTo(BRACKET, this.#cdataEnd);

  readonly #cdataEnd: State = () => {
    const isEnd = this.#matchesWord(']]>');
    if (isEnd === undefined) return;
    if (isEnd) {
      this.#position += 3;
      this.#textState = this.#data;
      this.#state = this.#data;
      this.#emit({ kind: 'other' });
    } else this.#step(this.#cdata);
  };

  /** The state of the content of elements that hold only text, such as `<style>`. */
  readonly #rawText: State = () => this.#textUpTo(LESS, this.#rawLess);

  readonly #rawLess: State = (byte) => {
    if (byte === SLASH) this.#step(this.#rawEndTagOpen);
    else this.#continueAsText();
  };

  readonly #rawEndTagOpen: State = (byte) => {
    if (!isLetter(byte)) return this.#continueAsText();
    this.#partStart = this.#position;
    this.#state = this.#rawEndTagName;
  };

  readonly #rawEndTagName: State = (byte) => {
    if (isLetter(byte)) return this.#step();
    const isEnd = isSpace(byte) || byte === SLASH || byte === GREATER;
    if (!isEnd || this.#nameOf(this.#rangeFromPartStart()) !== this.#lastStartTag)
      return this.#continueAsText();
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
    this.#partStart = this.#position;
    if (this.#scriptDepth === 0 && byte === BANG) this.#step(this.#scriptBang);
    else if (this.#scriptDepth === 1 && isLetter(byte)) this.#state = this.#scriptName;
    else if (byte !== SLASH) this.#continueAsText();
    else if (this.#scriptDepth < 2) this.#step(this.#rawEndTagOpen);
    else {
      this.#partStart++;
      this.#step(this.#scriptName);
    }
  };

  readonly #scriptBang: State = () => {
    const isComment = this.#matchesWord('--');
    if (isComment === undefined) return;
    if (isComment) {
      this.#scriptDepth = 1;
      this.#dashCount = 2;
      this.#position += 2;
    }
    this.#state = this.#script;
  };

  /** The state after `<` or `</` in a comment of a script, where the name `script` begins or ends an inner script. */
  readonly #scriptName: State = (byte) => {
    if (isLetter(byte)) return this.#step();
    const isEnd = isSpace(byte) || byte === SLASH || byte === GREATER;
    if (isEnd && this.#nameOf(this.#rangeFromPartStart()) === 'script') {
      this.#scriptDepth = this.#scriptDepth === 1 ? 2 : 1;
      this.#position++;
    }
    this.#state = this.#script;
  };

  // The states below read start tags and end tags.

  readonly #tagOpen: State = (byte) => {
    if (isLetter(byte)) this.#beginTag(false);
    else if (byte === SLASH) this.#step(this.#endTagOpen);
    else if (byte === BANG) {
      this.#position++;
      this.#beginComment(this.#declaration);
    } else if (byte === QUESTION) this.#beginComment(this.#bogusComment);
    else this.#continueAsText();
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
    this.#partStart = this.#position;
    this.#begin(this.#tagName, 'tag');
  }

  readonly #tagName: State = (byte) => {
    if (!isSpace(byte) && byte !== SLASH && byte !== GREATER) return this.#step();
    this.#name = this.#rangeFromPartStart();
    this.#attributes = [];
    this.#state = this.#beforeAttributeName;
  };

  readonly #beforeAttributeName: State = (byte) => {
    if (byte === GREATER) this.#emitTag(false);
    else if (byte === SLASH) this.#step(this.#selfClosing);
    else if (isSpace(byte)) this.#step();
    else {
      this.#partStart = this.#position;
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
    this.#attributeName = this.#rangeFromPartStart();
    this.#state = this.#afterAttributeName;
  };

  readonly #afterAttributeName: State = (byte) => {
    if (isSpace(byte)) this.#step();
    else if (byte === EQUALS) this.#step(this.#beforeAttributeValue);
    else this.#endAttribute(EMPTY_RANGE, this.#attributeName.end);
  };

  readonly #beforeAttributeValue: State = (byte) => {
    if (isSpace(byte)) return this.#step();
    if (byte === GREATER) {
      this.#endAttribute(EMPTY_RANGE, this.#attributeName.end);
      this.#emitTag(false);
      // As in workerd, the content is read as HTML, even that of a `<script>`, if the value of the last attribute is
      // missing.
      this.#textState = this.#data;
      this.#state = this.#data;
      return;
    }
    const isQuoted = byte === DOUBLE_QUOTE || byte === SINGLE_QUOTE;
    if (isQuoted) this.#quote = byte;
    if (isQuoted) this.#position++;
    this.#partStart = this.#position;
    this.#state = isQuoted ? this.#quotedValue : this.#plainValue;
  };

  readonly #quotedValue: State = () => {
    this.#position = this.#queue.find(this.#quote, this.#position);
    if (this.#position === this.#queue.end) return;
    const value = this.#rangeFromPartStart();
    this.#position++;
    this.#endAttribute(value, this.#position);
  };

  readonly #plainValue: State = (byte) => {
    if (isSpace(byte) || byte === GREATER)
      this.#endAttribute(this.#rangeFromPartStart(), this.#position);
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

  /** @throws TypeError if a browser could ignore the tag */
  #emitTag(isSelfClosing: boolean): void {
    const name = this.#name;
    const tagName = this.#nameOf(name);
    const attributes = this.#attributes;
    this.#position++;
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

  // The states below read comments, doctypes and CDATA sections.

  readonly #declaration: State = () => {
    const isComment = this.#matchesWord('--');
    const isDoctype = this.#matchesWord('DOCTYPE');
    const isCdata = this.#context.allowsCdata && this.#matchesWord('[CDATA[', 'exactly');
    if (isComment) {
      this.#position += 2;
      this.#beginComment(this.#comment);
    } else if (isDoctype) {
      this.#position += 7;
      this.#doctype = {};
      this.#begin(this.#beforeDoctypeName, 'doctype');
    } else if (isCdata) {
      this.#position += 7;
      this.#textState = this.#cdata;
      this.#state = this.#cdata;
      this.#emit({ kind: 'other' });
    } else if (!this.#isWaiting) this.#beginComment(this.#bogusComment);
  };

  #beginComment(state: State): void {
    this.#partStart = this.#position;
    this.#closing = 0;
    this.#begin(state, 'comment');
  }

  readonly #bogusComment: State = () => {
    this.#position = this.#queue.find(GREATER, this.#position);
    if (this.#position < this.#queue.end) this.#endComment(this.#position);
  };

  readonly #comment: State = (byte) => {
    const closing = this.#closing;
    if (byte === GREATER) {
      // `<!-->` and `<!--->` are complete comments, too.
      const isAbrupt = this.#position - this.#partStart === closing && closing < 2;
      if (closing >= 2 || isAbrupt) return this.#endComment(this.#position - closing);
      this.#closing = 0;
    } else if (byte === DASH) this.#closing = closing === 3 ? 1 : Math.min(closing + 1, 2);
    else this.#closing = byte === BANG && closing === 2 ? 3 : 0;
    this.#position++;
    if (this.#closing === 0) this.#position = this.#queue.find(DASH, this.#position);
  };

  #endComment(textEnd: number): void {
    this.#position++;
    this.#emitComment(textEnd);
  }

  #endDoctype(): void {
    this.#position++;
    this.#emitDoctype();
  }

  readonly #beforeDoctypeName: State = (byte) => {
    if (isSpace(byte)) this.#step();
    else if (byte === GREATER) this.#endDoctype();
    else {
      this.#partStart = this.#position;
      this.#step(this.#doctypeName);
    }
  };

  readonly #doctypeName: State = (byte) => {
    if (!isSpace(byte) && byte !== GREATER) return this.#step();
    this.#doctype.name = this.#rangeFromPartStart();
    this.#state = this.#afterDoctypeName;
  };

  readonly #afterDoctypeName: State = (byte) => {
    if (isSpace(byte)) return this.#step();
    if (byte === GREATER) return this.#endDoctype();
    const isPublic = this.#matchesWord('PUBLIC');
    const isSystem = this.#matchesWord('SYSTEM');
    if (this.#isWaiting) return;
    if (!isPublic && !isSystem) return this.#step(this.#bogusDoctype);
    this.#position += 6;
    this.#doctypeIdName = isPublic ? 'publicId' : 'systemId';
    this.#state = this.#beforeDoctypeId;
  };

  readonly #beforeDoctypeId: State = (byte) => {
    if (isSpace(byte)) this.#step();
    else if (byte === GREATER) this.#endDoctype();
    else if (byte === DOUBLE_QUOTE || byte === SINGLE_QUOTE) {
      this.#quote = byte;
      this.#step(this.#doctypeId);
      this.#partStart = this.#position;
    } else this.#step(this.#bogusDoctype);
  };

  readonly #doctypeId: State = (byte) => {
    if (byte !== this.#quote && byte !== GREATER) return this.#step();
    this.#doctype[this.#doctypeIdName] = this.#rangeFromPartStart();
    if (byte === GREATER) this.#endDoctype();
    else if (this.#doctypeIdName === 'systemId') this.#step(this.#bogusDoctype);
    else {
      this.#doctypeIdName = 'systemId';
      this.#step(this.#beforeDoctypeId);
    }
  };

  readonly #bogusDoctype: State = () => {
    this.#position = this.#queue.find(GREATER, this.#position);
    if (this.#position < this.#queue.end) this.#endDoctype();
  };
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09 || byte === 0x0c;
}

function isLetter(byte: number): boolean {
  return (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a);
}
